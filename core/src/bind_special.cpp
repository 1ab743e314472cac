#include "electorate/special.hpp"

#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> special_methods() {
  return {
      kernel<"exp", &electorate::exp>(),
      kernel<"log", &electorate::log>(),
      kernel<"log_total", log_total>(),
      kernel<"exp_of", exp_of>(),
      kernel<"log_of", log_of>(),
  };
}

}  // namespace electorate::python
