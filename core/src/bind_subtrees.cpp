#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> subtrees_methods() { return {}; }

}  // namespace electorate::python
