#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> codes_methods() { return {}; }

}  // namespace electorate::python
