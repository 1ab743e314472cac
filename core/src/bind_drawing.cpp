#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> drawing_methods() { return {}; }

}  // namespace electorate::python
