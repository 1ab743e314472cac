#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> products_methods() { return {}; }

}  // namespace electorate::python
