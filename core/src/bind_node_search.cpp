#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> node_search_methods() { return {}; }

}  // namespace electorate::python
