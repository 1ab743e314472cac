#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> leaf_sums_methods() { return {}; }

}  // namespace electorate::python
