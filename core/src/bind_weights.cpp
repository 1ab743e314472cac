#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> weights_methods() { return {}; }

}  // namespace electorate::python
