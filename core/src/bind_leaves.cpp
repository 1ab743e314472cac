#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> leaves_methods() { return {}; }

}  // namespace electorate::python
