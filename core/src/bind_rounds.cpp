#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> rounds_methods() { return {}; }

}  // namespace electorate::python
