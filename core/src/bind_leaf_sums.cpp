#include "electorate/leaf_sums.hpp"

#include "methods.hpp"

namespace electorate::python {

template <>
struct From<Array<const FloatNode, 1>> {
  static bool accept(PyObject* object, Array<const FloatNode, 1>& view) {
    if (!PyArray_Check(object)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_NDIM(array) != 1 || PyArray_TYPE(array) != NPY_VOID || !PyArray_ISCARRAY_RO(array)) return false;
    if (PyArray_ITEMSIZE(array) != static_cast<npy_intp>(sizeof(FloatNode))) return false;
    view = {static_cast<const FloatNode*>(PyArray_DATA(array)), {PyArray_DIM(array, 0)}, {1}};
    return true;
  }
  static std::string expected() { return "a contiguous array of nodes"; }
};

namespace {

void add_leaves_checked(Array<const double, 2> rows, Array<const i32, 1> roots, Array<const i64, 1> outputs,
                        Array<const FloatNode, 1> nodes, Array<const u32, 2> sets, Array<const u32, 1> leaf,
                        Array<const double, 2> values, Array<double, 2> totals) {
  require(totals.shape[0] >= rows.shape[0] && outputs.shape[0] >= roots.shape[0], "rows or trees do not fit");
  for (i64 t = 0; t < roots.shape[0]; t++)
    require(outputs[t] >= 0 && outputs[t] + values.shape[1] <= totals.shape[1], "there are too few totals");
  add_leaves(rows, roots, outputs, nodes, sets, leaf, values, totals);
}

}  // namespace

std::vector<PyMethodDef> leaf_sums_methods() { return {kernel<"add_leaves", add_leaves_checked>()}; }

}  // namespace electorate::python
