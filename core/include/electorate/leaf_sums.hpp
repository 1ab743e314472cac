// Sums of the leaves that rows reach in trees on plain numbers, as those of scikit-learn's forests.
//
// Leaves are floats, added in the order of the trees, so that sums have the bits of scikit-learn's.
#pragma once
#include "electorate/array.hpp"

namespace electorate {

// A row of the structured array NODE of electorate/model/float_model.py. A child from 0 on is a node; -1 - j is leaf j.
// route: 1 if a missing value goes left, plus 2 times the set of categories of the node, or minus 2 for a threshold.
struct FloatNode {
  double threshold;
  i32 left, right, column, route;
};
static_assert(sizeof(FloatNode) == 24);

// totals[row, outputs[tree] + k] += values[the leaf that the row reaches in the tree, k]. rows[row, column]: NaN where
// missing. roots are numbered as children. The values of leaf j are row leaf[j] of `values`. sets: 32 categories per
// number; a one goes left.
inline void add_leaves(Array<const double, 2> rows, Array<const i32, 1> roots, Array<const i64, 1> outputs,
                       Array<const FloatNode, 1> nodes, Array<const u32, 2> sets, Array<const u32, 1> leaf,
                       Array<const double, 2> values, Array<double, 2> totals) {
  const i64 width = values.shape[1];
  const FloatNode* __restrict all = nodes.data;
  for (i64 t = 0; t < roots.shape[0]; t++) {
    for (i64 i = 0; i < rows.shape[0]; i++) {
      const double* __restrict row = rows.data + i * rows.stride[0];
      i64 at = roots[t];
      while (at >= 0) {
        const FloatNode& node = all[at];
        const double x = row[node.column];
        bool left;
        if (x != x) {
          left = (node.route & 1) != 0;
        } else if (node.route < 0) {
          left = x <= node.threshold;
        } else {
          const i64 code = static_cast<i64>(x);
          left = (sets(node.route >> 1, code >> 5) >> (code & 31)) & 1;
        }
        at = left ? node.left : node.right;
      }
      const double* __restrict value = values.data + leaf[-1 - at] * values.stride[0];
      double* __restrict total = totals.data + i * totals.stride[0] + outputs[t];
      for (i64 k = 0; k < width; k++) total[k] += value[k];
    }
  }
}

}  // namespace electorate
