#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> search_methods() { return {}; }

}  // namespace electorate::python
