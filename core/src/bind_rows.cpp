// Rows of a shard: weights, histograms, nodes and rounds.
#include "electorate/histograms.hpp"
#include "electorate/stump_rounds.hpp"

#include "search_checks.hpp"

namespace electorate::python {
namespace {

i64 columns_of(const Codes& codes) {
  return std::visit([](auto c) { return c.shape[0] * c.shape[2]; }, codes);
}

i64 rows_of(const Codes& codes) {
  return std::visit([](auto c) { return c.shape[1]; }, codes);
}

// Label k has the rows starts[k]..starts[k + 1] after low, of n_rows in all.
void check_starts(const Array<const i64, 1>& starts, i64 low, i64 n_rows) {
  for (i64 k = 0; k < starts.shape[0]; k++)
    require(0 <= starts[k] && 0 <= low && low + starts[k] <= n_rows, "rows of a label are out of range");
}

void check_node(const NodeArrays& nodes, i64 number, i64 n_rows) {
  require(0 <= number && number < nodes.low.shape[0] && number < nodes.starts.shape[0], "the number of a node is out of range");
  check_starts(nodes.starts[number], nodes.low[number], n_rows);
}

void check_nodes(const NodeArrays& nodes, const Array<const i64, 1>& numbers, i64 n_labels, i64 n_rows) {
  require(numbers.empty() || nodes.starts.shape[1] > n_labels, "every label needs a range of rows");
  for (i64 i = 0; i < numbers.shape[0]; i++) check_node(nodes, numbers[i], n_rows);
}

// The children of a level are written as its nodes are read, so that only the numbers are checked here.
void check_level(const LevelArrays& level, const Codes& codes, const Array<u32, 1>& order, const Array<u32, 1>& spare,
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

void check_walk(const Walk& walk, const Codes& codes, const Array<const u32, 1>& order, const NodeArrays& nodes,
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

void check_gains(const Array<const double, 3>& gains, const Array<const i64, 1>& starts, const Array<double, 2>& state) {
  require(gains.shape[0] == state.shape[0] && (gains.empty() || gains.shape[1] + 1 >= starts.shape[0]), "gains have a wrong shape");
  check_starts(starts, 0, state.shape[1]);
}

void check_groups(const Array<const i64, 1>& group, i64 n_groups) {
  for (i64 k = 0; k < group.shape[0]; k++) require(0 <= group[k] && group[k] < n_groups, "a group is out of range");
}

// Codes of n_rows rows may be summed as [group, column, code].
void check_sums(const PackedCodes& packed, const Array<const i64, 1>& group, i64 n_rows, i64 n_groups, i64 n_columns) {
  const auto [words, length] = std::visit([](auto c) { return std::pair(c.shape[0], c.shape[1]); }, packed);
  require(length >= n_rows, "there are fewer codes than rows");
  require(n_columns == words || n_columns == 4 * words, "histograms have other columns than the codes");
  check_groups(group, n_groups);
}

void check_advance(const RowArrays& rows, const Array<const double, 3>& gains, const Formulas& formulas,
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

using Rows = std::variant<Array<const i64, 1>, Array<const u32, 1>>;

template <class Codes>
using Code = std::remove_const_t<typename Codes::value_type>;

// Codes, or the leaf of every row.
using CodesOrLeaves = std::variant<Array<const u32, 2>, Array<const u16, 2>, Array<const u8, 2>, Array<const i32, 2>>;

void histogram_any(CodesOrLeaves codes, Array<const i64, 1> grid, i64 low, i64 high, Array<i64, 2> sums) {
  std::visit([&](auto c) { histogram<Code<decltype(c)>>(c, grid, low, high, sums); }, codes);
}

void histogram_of_any(PackedCodes codes, Array<const i64, 1> grid, Rows order, i64 low, i64 high, Array<i64, 2> sums) {
  std::visit([&](auto c, auto rows) { histogram_of<Code<decltype(c)>, Code<decltype(rows)>>(c, grid, rows, low, high, sums); },
             codes, order);
}

void label_histograms_any(PackedCodes codes, Array<const i64, 1> grid, Array<const i64, 1> starts, Array<const i64, 1> group,
                          Array<i64, 3> sums, bool clear) {
  std::visit([&](auto c) { label_histograms<Code<decltype(c)>>(c, grid, starts, group, sums, clear); }, codes);
}

void node_histograms_any(PackedCodes codes, Array<const i64, 1> grid, Rows order, i64 low, Array<const i64, 1> starts,
                         Array<const i64, 1> group, Array<i64, 3> sums, bool clear) {
  std::visit(
      [&](auto c, auto rows) {
        node_histograms<Code<decltype(c)>, Code<decltype(rows)>>(c, grid, rows, low, starts, group, sums, clear);
      },
      codes, order);
}

i64 split_rows_checked(i64 low, Array<const i64, 1> starts, Column column, Array<const bool, 1> on_left, Array<u32, 1> order,
                       Array<u32, 1> spare, Array<i64, 1> left_starts) {
  require(starts.shape[0] > 0 && left_starts.shape[0] >= starts.shape[0], "every label needs a range of rows");
  check_starts(starts, low, order.shape[0]);
  require(spare.shape[0] >= starts[starts.shape[0] - 1], "the buffer is too small");
  return std::visit([&](auto c) { return split_rows(low, starts, c, on_left, order, spare, left_starts); }, column);
}

using WritableCodes = std::variant<Array<u32, 2>, Array<u16, 2>, Array<u8, 2>>;

void collect_rows_checked(PackedCodes packed, Array<const i64, 1> grid, Array<const u32, 1> order, NodeArrays nodes,
                          Array<const i64, 1> numbers, Array<const i64, 1> group, Array<u32, 1> rows, Array<i32, 1> place,
                          WritableCodes codes, Array<i32, 1> label, Array<i64, 1> weight) {
  check_nodes(nodes, numbers, group.shape[0], order.shape[0]);
  i64 n = 0;
  for (i64 i = 0; i < numbers.shape[0]; i++) n += nodes.starts(numbers[i], group.shape[0]) - nodes.starts(numbers[i], 0);
  require(least(rows.shape[0], place.shape[0]) >= n && least(label.shape[0], weight.shape[0]) >= n, "there are fewer places than rows");
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

template <class T, int N>
bool whole(const Array<T, N>& array) {
  if (array.empty()) return true;
  i64 size = 1;
  for (int k = N - 1; k >= 0; k--) {
    if (array.shape[k] > 1 && array.stride[k] != size) return false;
    size *= array.shape[k];
  }
  return true;
}

// sums[histogram, group, column, code], and a part of the stack for each part of the rows.
void check_tiles(const std::vector<ShardArrays>& shards, const Tiles& tiles, const Array<i64, 5>& stack, const Array<i64, 4>& sums) {
  require(!shards.empty(), "there is no shard");
  require(tiles.by_rows >= 1 && tiles.by_columns >= 1, "there must be at least one part");
  require(whole(sums) && whole(stack), "histograms must be contiguous");
  if (sums.empty()) return;
  for (int k = 0; k < 4 && tiles.by_rows > 1; k++)
    require(stack.shape[0] >= tiles.by_rows && stack.shape[k + 1] == sums.shape[k], "the buffer has another shape than the histograms");
  for (const ShardArrays& shard : shards) {
    check_sums(shard.packed, shard.rows.group, shard.grids.shape[1], sums.shape[1], sums.shape[2]);
    check_starts(shard.rows.starts, 0, shard.grids.shape[1]);
    require(columns_of(shard.codes) == sums.shape[2], "histograms have other columns than the codes");
  }
}

}  // namespace

std::vector<PyMethodDef> rows_methods() {
  return {
      kernel<"evaluate", evaluate>([](auto, auto state, auto first, auto, auto, auto, auto out) {
        require(state.shape[0] >= out.shape[0] && first.shape[0] >= out.shape[0], "there are fewer numbers than results");
      }),
      kernel<"advance", advance>([](auto packed, auto rows, auto column, auto, auto gains, auto formulas, auto state,
          auto grids, auto totals, auto sums, auto, auto first_row, auto last_row) {
        check_advance(rows, gains, formulas, state, grids, totals, first_row, last_row);
        require(std::visit([](auto c) { return c.shape[0]; }, column) >= last_row || gains.empty(), "the column is too short");
        require(sums.shape[0] <= grids.shape[0], "there are more histograms than channels");
        if (sums.shape[0] > 0) check_sums(packed, rows.group, last_row, sums.shape[1], sums.shape[2]);
      }),
      kernel<"quantise", quantise>(),
      kernel<"histogram", histogram_any>(),
      kernel<"histogram_of", histogram_of_any>(),
      kernel<"label_histograms", label_histograms_any>(),
      kernel<"node_histograms", node_histograms_any>(),
      kernel<"add_up", add_up>(),
      kernel<"spread", spread>(),
      kernel<"unpack", unpack>(),
      kernel<"split_rows", split_rows_checked>(),
      kernel<"partition_nodes", partition_nodes>([](auto codes, auto order, auto spare, auto nodes, auto splits, auto rows) {
        check_level(splits, codes, order, spare, nodes, rows);
      }),
      kernel<"sum_nodes", sum_nodes>([](auto codes, auto grids, auto order, auto nodes, auto numbers, auto group, auto sums,
          auto...) {
        require(grids.shape[0] > 0 && sums.shape[1] % grids.shape[0] == 0, "histograms need as many labels for every grid");
        require(sums.shape[0] >= numbers.shape[0], "there are fewer histograms than nodes");
        require(grids.shape[1] >= order.shape[0], "there are fewer numbers than rows");
        check_nodes(nodes, numbers, group.shape[0], order.shape[0]);
        if (!numbers.empty()) check_sums(codes, group, order.shape[0], sums.shape[1] / grids.shape[0], sums.shape[2]);
      }),
      kernel<"sum_signs", sum_signs>([](auto grid, auto award) {
        require(award.shape[0] >= grid.shape[0], "there are fewer awards than rows");
      }),
      kernel<"add_gains", add_gains>([](auto column, auto, auto gains, auto starts, auto state) {
        check_gains(gains, starts, state);
        const i64 n_rows = std::visit([](auto c) { return c.shape[0]; }, column);
        require(starts.empty() || n_rows >= starts[starts.shape[0] - 1], "the column is too short");
      }),
      kernel<"collect_rows", collect_rows_checked>(),
      kernel<"find_leaves", find_leaves_checked>(),
      kernel<"add_leaf_gains", add_leaf_gains>([](auto leaf, auto gains, auto starts, auto state) {
        check_gains(gains, starts, state);
        require(leaf.shape[0] >= state.shape[1], "there are fewer leaves than rows");
      }),
      kernel<"add_tree", add_tree_checked>(),
      kernel<"advance_all", advance_all>([](auto, const auto& shards, auto stump, auto tree, auto formulas, auto tiles,
          auto stack, auto totals, auto wrong, auto out) {
        check_tiles(shards, tiles, stack, out);
        require(totals.shape[0] >= static_cast<i64>(shards.size()) && wrong.shape[0] >= static_cast<i64>(shards.size()),
                "there are fewer totals than shards");
        for (std::size_t k = 0; k < shards.size(); k++) {
          const ShardArrays& shard = shards[k];
          const i64 n_rows = shard.grids.shape[1];
          check_advance(shard.rows, stump.gains, formulas, shard.state, shard.grids, totals[static_cast<i64>(k)], 0, n_rows);
          require(out.shape[0] <= shard.grids.shape[0], "there are more histograms than channels");
          const bool in_range = 0 <= stump.column && stump.column < columns_of(shard.codes) && rows_of(shard.codes) >= n_rows;
          require(stump.gains.empty() || in_range, "the column of the stump is out of range");
          if (tree.gains.empty()) continue;
          check_walk(tree, shard.codes, shard.order, shard.nodes, shard.leaf);
          check_gains(tree.gains, shard.rows.starts, shard.state);
          require(shard.leaf.shape[0] >= shard.state.shape[1], "there are fewer leaves than rows");
        }
      }),
      kernel<"split_all", split_all>([](auto, const auto& shards, auto, auto level, auto tiles, auto stack, const auto& wholes,
          const auto& rests, auto less, auto rows, auto left_is_less) {
        const i64 n_splits = level.node.shape[0];
        check_tiles(shards, tiles, stack, less);
        require(rows.shape[0] >= static_cast<i64>(shards.size()), "there is no place for numbers of rows");
        require(less.shape[0] == n_splits && left_is_less.shape[0] >= n_splits && wholes.size() == rests.size() &&
                    static_cast<i64>(rests.size()) == n_splits,
                "every split needs histograms");
        for (i64 m = 0; m < n_splits; m++)
          require(whole(wholes[m]) && whole(rests[m]) && wholes[m].size() == rests[m].size() && rests[m].size() == less[m].size(),
                  "histograms must be contiguous and of the same size");
        for (std::size_t k = 0; k < shards.size(); k++) {
          const ShardArrays& shard = shards[k];
          check_level(level, shard.codes, shard.order, shard.spare, shard.nodes, rows[static_cast<i64>(k)]);
          require(shard.grids.shape[0] > 0 && shard.grids.shape[1] >= shard.order.shape[0], "there are fewer numbers than rows");
          require(n_splits == 0 || shard.nodes.starts.shape[1] > shard.rows.group.shape[0], "every label needs a range of rows");
        }
      }),
      kernel<"boost_stumps", boost_stumps>([](const auto& shard, auto columns, auto, auto, auto, auto, auto, auto, auto, auto sums,
          auto totals, auto on_left, auto numbers, auto reals) {
        const i64 n = numbers.shape[0], n_columns = columns.n_bins.shape[0], n_rows = shard.grids.shape[1];
        const double formula[5] = {};
        i64 found[3];
        require(sums.shape[0] == 1 && sums.shape[1] == 2, "there must be two labels");
        require(totals.shape[0] == 1 && totals.shape[1] == 2, "there must be two labels");
        check_advance(shard.rows, {}, {{formula, {1, 5}, {5, 1}}, 0, 0}, shard.state, shard.grids, totals, 0, n_rows);
        check_starts(shard.rows.starts, 0, n_rows);
        check_sums(shard.packed, shard.rows.group, n_rows, 2, sums.shape[2]);
        check_node(sums[0], totals[0], columns.n_bins, columns.has_missing, columns.ordered, {}, {found, {3}, {1}});
        require(rows_of(shard.codes) >= n_rows && columns_of(shard.codes) >= n_columns, "there are fewer codes than cells");
        require(columns.seen.shape[0] >= n_columns && columns.seen.shape[1] + 1 >= sums.shape[3], "the numbers of bins differ");
        require(on_left.shape[0] >= n && on_left.shape[1] == sums.shape[3], "on_left is too small");
        require(numbers.shape[1] == 8 && reals.shape[0] >= n && reals.shape[1] == 3, "a round has eight numbers, three reals");
      }),
  };
}

}  // namespace electorate::python
