#include "checks.hpp"

namespace electorate::python {
namespace {

i64 split_rows_checked(i64 low, Array<const i64, 1> starts, Column column, Array<const bool, 1> on_left, Array<u32, 1> order,
                       Array<u32, 1> spare, Array<i64, 1> left_starts) {
  require(starts.shape[0] > 0 && left_starts.shape[0] >= starts.shape[0], "every label needs a range of rows");
  check_starts(starts, low, order.shape[0]);
  require(spare.shape[0] >= starts[starts.shape[0] - 1], "the buffer is too small");
  return std::visit([&](auto c) { return split_rows(low, starts, c, on_left, order, spare, left_starts); }, column);
}

void partition_nodes_checked(Codes codes, Array<u32, 1> order, Array<u32, 1> spare, NodeArrays nodes, LevelArrays splits,
                             Array<i64, 2> rows) {
  check_level(splits, codes, order, spare, nodes, rows);
  partition_nodes(codes, order, spare, nodes, splits, rows);
}

void sum_nodes_checked(PackedCodes codes, Array<const i64, 2> grids, Array<const u32, 1> order, NodeArrays nodes,
                       Array<const i64, 1> numbers, Array<const i64, 1> group, Array<i64, 4> sums, bool clear) {
  require(grids.shape[0] > 0 && sums.shape[1] % grids.shape[0] == 0, "histograms need as many labels for every grid");
  require(sums.shape[0] >= numbers.shape[0], "there are fewer histograms than nodes");
  require(grids.shape[1] >= order.shape[0], "there are fewer numbers than rows");
  check_nodes(nodes, numbers, group.shape[0], order.shape[0]);
  if (!numbers.empty()) check_sums(codes, group, order.shape[0], sums.shape[1] / grids.shape[0], sums.shape[2]);
  sum_nodes(codes, grids, order, nodes, numbers, group, sums, clear);
}

std::tuple<i64, i64> sum_signs_checked(Array<const i64, 1> grid, Array<const double, 1> award) {
  require(award.shape[0] >= grid.shape[0], "there are fewer awards than rows");
  return sum_signs(grid, award);
}

void add_gains_checked(Column column, Array<const u8, 1> leaf_of_code, Array<const double, 3> gains, Array<const i64, 1> starts,
                       Array<double, 2> state) {
  check_gains(gains, starts, state);
  const i64 n_rows = std::visit([](auto c) { return c.shape[0]; }, column);
  require(starts.empty() || n_rows >= starts[starts.shape[0] - 1], "the column is too short");
  add_gains(column, leaf_of_code, gains, starts, state);
}

}  // namespace

std::vector<PyMethodDef> partition_methods() {
  return {
      kernel<"split_rows", split_rows_checked>(),
      kernel<"partition_nodes", partition_nodes_checked>(),
      kernel<"sum_nodes", sum_nodes_checked>(),
      kernel<"sum_signs", sum_signs_checked>(),
      kernel<"add_gains", add_gains_checked>(),
  };
}

}  // namespace electorate::python
