#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> partition_methods() { return {}; }

}  // namespace electorate::python
