#include "electorate/stump_rounds.hpp"

#include "checks.hpp"
#include "search_checks.hpp"

namespace electorate::python {
namespace {

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

void advance_all_checked(i64 n_threads, std::vector<ShardArrays> shards, AddedStump stump, AddedTree tree, Formulas formulas,
                         Tiles tiles, Array<i64, 5> stack, Array<i64, 3> totals, Array<i64, 1> wrong, Array<i64, 4> out) {
  check_tiles(shards, tiles, stack, out);
  require(totals.shape[0] >= static_cast<i64>(shards.size()) && wrong.shape[0] >= static_cast<i64>(shards.size()),
          "there are fewer totals than shards");
  for (std::size_t k = 0; k < shards.size(); k++) {
    const ShardArrays& shard = shards[k];
    const i64 n_rows = shard.grids.shape[1];
    check_advance(shard.rows, stump.gains, formulas, shard.state, shard.grids, totals[static_cast<i64>(k)], 0, n_rows);
    require(out.shape[0] <= shard.grids.shape[0], "there are more histograms than channels");
    require(stump.gains.empty() || (0 <= stump.column && stump.column < columns_of(shard.codes) && rows_of(shard.codes) >= n_rows),
            "the column of the stump is out of range");
    if (tree.gains.empty()) continue;
    check_walk(tree, shard.codes, shard.order, shard.nodes, shard.leaf);
    check_gains(tree.gains, shard.rows.starts, shard.state);
    require(shard.leaf.shape[0] >= shard.state.shape[1], "there are fewer leaves than rows");
  }
  advance_all(n_threads, shards, stump, tree, formulas, tiles, stack, totals, wrong, out);
}

void split_all_checked(i64 n_threads, std::vector<ShardArrays> shards, bool fresh, LevelArrays level, Tiles tiles,
                       Array<i64, 5> stack, std::vector<Array<const i64, 3>> wholes, std::vector<Array<i64, 3>> rests,
                       Array<i64, 4> less, Array<i64, 3> rows, Array<bool, 1> left_is_less) {
  const i64 n_splits = level.node.shape[0];
  check_tiles(shards, tiles, stack, less);
  require(rows.shape[0] >= static_cast<i64>(shards.size()), "there is no place for numbers of rows");
  require(less.shape[0] == n_splits && left_is_less.shape[0] >= n_splits && wholes.size() == rests.size() &&
              static_cast<i64>(rests.size()) == n_splits,
          "every split needs histograms");
  for (i64 m = 0; m < n_splits; m++)
    require(whole(wholes[m]) && whole(rests[m]) && wholes[m].size() == less[m].size() && rests[m].size() == less[m].size(),
            "histograms must be contiguous and of the same size");
  for (std::size_t k = 0; k < shards.size(); k++) {
    const ShardArrays& shard = shards[k];
    check_level(level, shard.codes, shard.order, shard.spare, shard.nodes, rows[static_cast<i64>(k)]);
    require(shard.grids.shape[0] > 0 && shard.grids.shape[1] >= shard.order.shape[0], "there are fewer numbers than rows");
    require(n_splits == 0 || shard.nodes.starts.shape[1] > shard.rows.group.shape[0], "every label needs a range of rows");
  }
  split_all(n_threads, shards, fresh, level, tiles, stack, wholes, rests, less, rows, left_is_less);
}

i64 boost_stumps_checked(ShardArrays shard, ColumnLayout columns, double rate, double floor, double log_full, double spare,
                         i64 coarse, double reach, double longest, Array<i64, 4> sums, Array<i64, 2> totals,
                         Array<bool, 2> on_left, Array<i64, 2> numbers, Array<double, 2> reals) {
  const i64 n = numbers.shape[0], n_columns = columns.n_bins.shape[0], n_rows = shard.grids.shape[1];
  const double formula[5] = {};
  i64 found[3];
  require(sums.shape[0] == 1 && sums.shape[1] == 2 && totals.shape[0] == 1 && totals.shape[1] == 2, "there must be two labels");
  check_advance(shard.rows, {}, {{formula, {1, 5}, {5, 1}}, 0, 0}, shard.state, shard.grids, totals, 0, n_rows);
  check_starts(shard.rows.starts, 0, n_rows);
  check_sums(shard.packed, shard.rows.group, n_rows, 2, sums.shape[2]);
  check_node(sums[0], totals[0], columns.n_bins, columns.has_missing, columns.ordered, {}, {found, {3}, {1}});
  require(rows_of(shard.codes) >= n_rows && columns_of(shard.codes) >= n_columns, "there are fewer codes than rows or columns");
  require(columns.seen.shape[0] >= n_columns && columns.seen.shape[1] + 1 >= sums.shape[3], "the numbers of bins differ");
  require(on_left.shape[0] >= n && on_left.shape[1] == sums.shape[3], "on_left is too small");
  require(numbers.shape[1] == 8 && reals.shape[0] >= n && reals.shape[1] == 3, "a round has eight numbers and three reals");
  return boost_stumps(shard, columns, rate, floor, log_full, spare, coarse, reach, longest, sums, totals, on_left, numbers, reals);
}

}  // namespace

std::vector<PyMethodDef> rounds_methods() {
  return {kernel<"advance_all", advance_all_checked>(), kernel<"split_all", split_all_checked>(),
          kernel<"boost_stumps", boost_stumps_checked>()};
}

}  // namespace electorate::python
