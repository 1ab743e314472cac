// Checks of the shapes of a shard's arrays, for the kernels of rows, nodes and rounds.
#pragma once
#include "electorate/leaves.hpp"
#include "electorate/partition.hpp"

#include "methods.hpp"

namespace electorate::python {

inline i64 columns_of(const Codes& codes) {
  return std::visit([](auto c) { return c.shape[0] * c.shape[2]; }, codes);
}

inline i64 rows_of(const Codes& codes) {
  return std::visit([](auto c) { return c.shape[1]; }, codes);
}

// Label k has the rows starts[k]..starts[k + 1] after low, of n_rows in all.
inline void check_starts(const Array<const i64, 1>& starts, i64 low, i64 n_rows) {
  for (i64 k = 0; k < starts.shape[0]; k++)
    require(0 <= starts[k] && 0 <= low && low + starts[k] <= n_rows, "rows of a label are out of range");
}

inline void check_node(const NodeArrays& nodes, i64 number, i64 n_rows) {
  require(0 <= number && number < nodes.low.shape[0] && number < nodes.starts.shape[0], "the number of a node is out of range");
  check_starts(nodes.starts[number], nodes.low[number], n_rows);
}

inline void check_nodes(const NodeArrays& nodes, const Array<const i64, 1>& numbers, i64 n_labels, i64 n_rows) {
  require(numbers.empty() || nodes.starts.shape[1] > n_labels, "every label needs a range of rows");
  for (i64 i = 0; i < numbers.shape[0]; i++) check_node(nodes, numbers[i], n_rows);
}

// The children of a level are written as its nodes are read, so that only the numbers are checked here.
inline void check_level(const LevelArrays& level, const Codes& codes, const Array<u32, 1>& order, const Array<u32, 1>& spare,
                        const NodeArrays& nodes, const Array<i64, 2>& rows) {
  const i64 n = level.node.shape[0], n_nodes = least(nodes.low.shape[0], nodes.starts.shape[0]);
  require(level.left.shape[0] >= n && level.right.shape[0] >= n && level.column.shape[0] >= n && level.on_left.shape[0] >= n,
          "a split has no numbers");
  require(n == 0 || (rows.shape[0] >= n && rows.shape[1] == 2 && nodes.starts.shape[1] > 0), "there is no place for numbers of rows");
  require(order.shape[0] <= rows_of(codes) && spare.shape[0] >= order.shape[0], "there are fewer codes than rows");
  for (i64 m = 0; m < n; m++) {
    for (i64 number : {level.node[m], level.left[m], level.right[m]})
      require(0 <= number && number < n_nodes, "the number of a node is out of range");
    require(0 <= level.column[m] && level.column[m] < columns_of(codes), "the column of a split is out of range");
  }
}

inline void check_walk(const Walk& walk, const Codes& codes, const Array<const u32, 1>& order, const NodeArrays& nodes,
                       const Array<i32, 1>& leaf) {
  const i64 n = walk.column.shape[0];
  require(walk.begins.shape[0] >= walk.numbers.shape[0], "a node has no first split");
  require(walk.on_left.shape[0] >= n && walk.children.shape[0] >= n, "a split has no sides");
  require(n == 0 || (walk.children.shape[1] == 2 && walk.children.stride[0] == 2), "a split has two sides");
  require(leaf.shape[0] >= order.shape[0] && rows_of(codes) >= order.shape[0], "there are fewer codes than rows");
  check_nodes(nodes, walk.numbers, 0, order.shape[0]);
  for (i64 s = 0; s < n; s++)
    require(0 <= walk.column[s] && walk.column[s] < columns_of(codes), "the column of a split is out of range");
}

inline void check_gains(const Array<const double, 3>& gains, const Array<const i64, 1>& starts, const Array<double, 2>& state) {
  require(gains.shape[0] == state.shape[0] && (gains.empty() || gains.shape[1] + 1 >= starts.shape[0]), "gains have a wrong shape");
  check_starts(starts, 0, state.shape[1]);
}

inline void check_groups(const Array<const i64, 1>& group, i64 n_groups) {
  for (i64 k = 0; k < group.shape[0]; k++) require(0 <= group[k] && group[k] < n_groups, "a group is out of range");
}

// Codes of n_rows rows may be summed as [group, column, code].
inline void check_sums(const PackedCodes& packed, const Array<const i64, 1>& group, i64 n_rows, i64 n_groups, i64 n_columns) {
  const auto [words, length] = std::visit([](auto c) { return std::pair(c.shape[0], c.shape[1]); }, packed);
  require(length >= n_rows, "there are fewer codes than rows");
  require(n_columns == words || n_columns == 4 * words, "histograms have other columns than the codes");
  check_groups(group, n_groups);
}

inline void check_advance(const RowArrays& rows, const Array<const double, 3>& gains, const Formulas& formulas,
                          const Array<double, 2>& state, const Array<i64, 2>& grids, const Array<i64, 2>& totals, i64 first_row,
                          i64 last_row) {
  const i64 n_channels = formulas.table.shape[0], n_labels = rows.group.shape[0];
  require(0 <= first_row && last_row <= state.shape[1] && last_row <= grids.shape[1], "rows are out of range");
  require(n_labels == 0 || rows.starts.shape[0] == n_labels + 1, "every label needs a range of rows");
  require(rows.real.empty() || rows.real.shape[0] >= last_row, "there are fewer weights than rows");
  require(rows.times.empty() || rows.times.shape[0] >= last_row, "there are fewer repetitions than rows");
  require(rows.counts.empty() || rows.counts.shape[0] >= last_row, "there are fewer counts than rows");
  require(gains.shape[0] <= state.shape[0] && (gains.empty() || gains.shape[1] >= n_labels), "gains have a wrong shape");
  require(formulas.table.shape[1] >= 5 || n_channels == 0, "a formula has five numbers");
  require(grids.shape[0] >= n_channels && totals.shape[0] >= n_channels, "there are fewer grids than channels");
  for (i64 c = 0; c < n_channels; c++)
    require(0 <= formulas.table(c, 1) && formulas.table(c, 1) < state.shape[0], "a formula has no row of the state");
  require(0 <= formulas.margin_row && formulas.margin_row < state.shape[0], "the margin has no row of the state");
  require(0 <= formulas.votes_row && (formulas.votes_row == 0 || formulas.votes_row + totals.shape[1] <= state.shape[0]),
          "votes have no row of the state");
  check_groups(rows.group, totals.shape[1]);
}

}  // namespace electorate::python
