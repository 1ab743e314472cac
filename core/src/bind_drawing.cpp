#include "electorate/drawing.hpp"

#include "methods.hpp"

namespace electorate::python {

std::vector<PyMethodDef> drawing_methods() { return {kernel<"fold_key", fold_key>(), kernel<"draw_columns", draw_columns>()}; }

}  // namespace electorate::python
