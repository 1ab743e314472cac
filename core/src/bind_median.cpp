#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> median_methods() { return {}; }

}  // namespace electorate::python
