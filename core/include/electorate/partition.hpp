// The rows of the nodes of a tree: parting them, summing the children, changing the state of the rows of a node.
//
// order: row numbers. Rows are sorted by label.
#pragma once
#include <algorithm>

#include "electorate/weights.hpp"

namespace electorate {

// Part the rows order[low:] of a node: those that go left come first; both sides keep their order. Returns how many.
//
// Label k has the rows starts[k]..starts[k + 1] after low; left_starts gets the same of the left side. spare: a buffer
// for the right side. Not inlined: among other variables these would not stay in registers.
template <class T>
[[gnu::noinline]] i64 split_rows(i64 low, Array<const i64, 1> starts, Strided<T> column, Array<const bool, 1> on_left,
                      Array<u32, 1> order, Array<u32, 1> spare, Array<i64, 1> left_starts) {
  const i64 step = column.stride[0], n_labels = starts.shape[0] - 1;
  const T* __restrict codes = column.data;
  const bool* __restrict goes_left = on_left.data;
  u32* parted = order.data + low;
  u32* __restrict right_rows = spare.data;
  i64 left = 0, right = 0;
  for (i64 label = 0; label < n_labels; label++) {
    left_starts[label] = left;
    for (i64 k = starts[label]; k < starts[label + 1]; k++) {
      const u32 row = parted[k];
      const i64 goes = goes_left[codes[static_cast<i64>(row) * step]];
      parted[left] = row;  // what stood there has been read; without branches this is 3 times as fast
      right_rows[right] = row;
      left += goes;
      right += 1 - goes;
    }
  }
  left_starts[n_labels] = left;
  std::copy(right_rows, right_rows + right, parted + left);
  return left;
}

// `split_rows` of several nodes, parents first: the low and starts of the children are written. rows[split, side]: how
// many rows.
inline void partition_nodes(Codes codes, Array<u32, 1> order, Array<u32, 1> spare, NodeArrays nodes, LevelArrays splits,
                            Array<i64, 2> rows) {
  for (i64 m = 0; m < splits.node.shape[0]; m++) {
    const i64 node = splits.node[m], left = splits.left[m], right = splits.right[m];
    const i64 low = nodes.low[node], n_ends = nodes.starts.shape[1];
    const Array<i64, 1> starts = nodes.starts[node], left_starts = nodes.starts[left];
    const i64 n_left = std::visit(
        [&](auto column) { return split_rows(low, starts, column, splits.on_left[m], order, spare, left_starts); },
        column_at(codes, splits.column[m]));
    for (i64 k = 0; k < n_ends; k++) nodes.starts(right, k) = starts[k] - left_starts[k];
    nodes.low[left] = low;
    nodes.low[right] = low + n_left;
    rows(m, 0) = n_left;
    rows(m, 1) = starts[n_ends - 1] - n_left;
  }
}

// Add to sums[node, label, column, code] the histograms of some nodes, grid after grid. clear: set the sums to 0 before.
inline void sum_nodes(PackedCodes codes, Array<const i64, 2> grids, Array<const u32, 1> order, NodeArrays nodes,
                      Array<const i64, 1> numbers, Array<const i64, 1> group, Array<i64, 4> sums, bool clear) {
  if (grids.shape[0] == 0) return;
  const i64 n_groups = sums.shape[1] / grids.shape[0];
  for (i64 m = 0; m < numbers.shape[0]; m++)
    for (i64 g = 0; g < grids.shape[0]; g++)
      std::visit(
          [&](auto c) {
            node_histograms(c, grids[g], order, nodes.low[numbers[m]], nodes.starts[numbers[m]], group,
                            sums[m].slice(g * n_groups, (g + 1) * n_groups), clear);
          },
          codes);
}

// The sums of the grid where the award is positive, and where it is negative.
inline std::tuple<i64, i64> sum_signs(Array<const i64, 1> grid, Array<const double, 1> award) {
  const i64* numbers = grid.data;
  const double* awards = award.data;
  i64 right = 0, wrong = 0;
  for (i64 i = 0; i < grid.shape[0]; i++) {
    const i64 number = numbers[i];
    right += awards[i] > 0 ? number : 0;
    wrong += awards[i] < 0 ? number : 0;
  }
  return {right, wrong};
}

// state[s, row] += gains[s, label of the row, leaf of its code].
inline void add_gains(Column column, Array<const u8, 1> leaf_of_code, Array<const double, 3> gains, Array<const i64, 1> starts,
                      Array<double, 2> state) {
  std::vector<double> table(static_cast<std::size_t>(leaf_of_code.shape[0]));
  for (i64 label = 0; label + 1 < starts.shape[0]; label++)
    std::visit(
        [&](auto c) { add_change(c, leaf_of_code, gains, label, table.data(), state, starts[label], starts[label + 1]); },
        column);
}

}  // namespace electorate
