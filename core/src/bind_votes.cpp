#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> votes_methods() { return {}; }

}  // namespace electorate::python
