#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> quad_methods() { return {}; }

}  // namespace electorate::python
