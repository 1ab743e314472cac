#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> leaf_targets_methods() { return {}; }

}  // namespace electorate::python
