#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> values_methods() { return {}; }

}  // namespace electorate::python
