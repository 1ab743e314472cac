#include "checks.hpp"

namespace electorate::python {
namespace {

using WritableCodes = std::variant<Array<u32, 2>, Array<u16, 2>, Array<u8, 2>>;

void collect_rows_checked(PackedCodes packed, Array<const i64, 1> grid, Array<const u32, 1> order, NodeArrays nodes,
                          Array<const i64, 1> numbers, Array<const i64, 1> group, Array<u32, 1> rows, Array<i32, 1> place,
                          WritableCodes codes, Array<i32, 1> label, Array<i64, 1> weight) {
  check_nodes(nodes, numbers, group.shape[0], order.shape[0]);
  i64 n = 0;
  for (i64 i = 0; i < numbers.shape[0]; i++) n += nodes.starts(numbers[i], group.shape[0]) - nodes.starts(numbers[i], 0);
  require(rows.shape[0] >= n && place.shape[0] >= n && label.shape[0] >= n && weight.shape[0] >= n, "there are fewer places than rows");
  require(grid.shape[0] >= order.shape[0], "there are fewer numbers than rows");
  std::visit(
      [&](auto from, auto to) {
        if constexpr (std::is_same_v<typename decltype(from)::value_type, const typename decltype(to)::value_type>) {
          require(from.shape[1] >= order.shape[0], "there are fewer codes than rows");
          require(to.shape[0] >= n && to.shape[1] >= from.shape[0], "there are fewer places than codes");
          collect_rows(from, grid, order, nodes, numbers, group, rows, place, to, label, weight);
        } else {
          require(false, "codes must have the same type in both places");
        }
      },
      packed, codes);
}

void find_leaves_checked(Codes codes, Array<const u32, 1> order, NodeArrays nodes, Array<const i64, 1> numbers,
                         Array<const i64, 1> begins, Array<const i64, 1> column, Array<const bool, 2> on_left,
                         Array<const i64, 2> children, Array<i32, 1> leaf) {
  const Walk walk{numbers, begins, column, on_left, children};
  check_walk(walk, codes, order, nodes, leaf);
  std::visit([&](auto c) { find_leaves(c, order, nodes, walk, leaf); }, codes);
}

void add_leaf_gains_checked(Array<const i32, 1> leaf, Array<const double, 3> gains, Array<const i64, 1> starts,
                            Array<double, 2> state) {
  check_gains(gains, starts, state);
  require(leaf.shape[0] >= state.shape[1], "there are fewer leaves than rows");
  add_leaf_gains(leaf, gains, starts, state);
}

void add_tree_checked(Codes codes, Array<const u32, 1> order, NodeArrays nodes, Array<const i64, 1> numbers,
                      Array<const i64, 1> begins, Array<const i64, 1> column, Array<const bool, 2> on_left,
                      Array<const i64, 2> children, Array<i32, 1> leaf, Array<const double, 3> gains, Array<const i64, 1> starts,
                      Array<double, 2> state) {
  const Walk walk{numbers, begins, column, on_left, children};
  check_walk(walk, codes, order, nodes, leaf);
  check_gains(gains, starts, state);
  require(leaf.shape[0] >= state.shape[1], "there are fewer leaves than rows");
  add_tree(codes, order, nodes, walk, leaf, gains, starts, state);
}

}  // namespace

std::vector<PyMethodDef> leaves_methods() {
  return {
      kernel<"collect_rows", collect_rows_checked>(),
      kernel<"find_leaves", find_leaves_checked>(),
      kernel<"add_leaf_gains", add_leaf_gains_checked>(),
      kernel<"add_tree", add_tree_checked>(),
  };
}

}  // namespace electorate::python
