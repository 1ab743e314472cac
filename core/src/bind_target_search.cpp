#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> target_search_methods() { return {}; }

}  // namespace electorate::python
