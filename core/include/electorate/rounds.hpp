// The exchanges of a round with all shards of a process, each as one call: tasks for a team of threads.
//
// Work on rows is divided by shards. Histograms are divided by shards and by columns: with fewer parts by rows there are
// fewer sums to clear and to add up; with fewer parts by columns, every row is read less often.
#pragma once
#include <span>

#include "electorate/leaves.hpp"
#include "electorate/partition.hpp"
#include "electorate/team.hpp"

namespace electorate {

constexpr i64 cells_per_task = 8192;

struct ShardArrays {
  Codes codes;
  PackedCodes packed;
  RowArrays rows;
  Array<double, 2> state;
  Array<i64, 2> grids;
  Array<u32, 1> order, spare;
  Array<i32, 1> leaf;  // spare, when no rows are parted
  NodeArrays nodes;
  static constexpr const char* name = "ShardArrays";
  static constexpr auto fields = std::tuple(&ShardArrays::codes, &ShardArrays::packed, &ShardArrays::rows, &ShardArrays::state,
                                            &ShardArrays::grids, &ShardArrays::order, &ShardArrays::spare, &ShardArrays::leaf,
                                            &ShardArrays::nodes);
};

struct AddedStump {
  i64 column;
  Array<const u8, 1> leaf_of_code;
  Array<const double, 3> gains;
  static constexpr const char* name = "AddedStump";
  static constexpr auto fields = std::tuple(&AddedStump::column, &AddedStump::leaf_of_code, &AddedStump::gains);
};

struct AddedTree : Walk {
  Array<const double, 3> gains;
  static constexpr const char* name = "AddedTree";
  static constexpr auto fields = std::tuple(&AddedTree::numbers, &AddedTree::begins, &AddedTree::column, &AddedTree::on_left,
                                            &AddedTree::children, &AddedTree::gains);
};

struct Tiles {
  i64 by_rows, by_columns;
  static constexpr const char* name = "Tiles";
  static constexpr auto fields = std::tuple(&Tiles::by_rows, &Tiles::by_columns);
};

// task(part, shards, low, high) for all parts by rows and by words of columns: some shards, and their words low..high.
template <class F>
void run_tiles(i64 n_threads, const std::vector<ShardArrays>& shards, const Tiles& tiles, F task) {
  const i64 n_shards = static_cast<i64>(shards.size());
  const i64 n_words = std::visit([](auto c) { return c.shape[0]; }, shards[0].packed);
  run(tiles.by_rows * tiles.by_columns, n_threads, [&](i64 number) {
    const i64 part = number / tiles.by_columns, words = number % tiles.by_columns;
    const i64 first = n_shards * part / tiles.by_rows, last = n_shards * (part + 1) / tiles.by_rows;
    task(part, std::span(shards.data() + first, shards.data() + last), n_words * words / tiles.by_columns,
         n_words * (words + 1) / tiles.by_columns);
  });
}

// task(low, high) for all cells, in ranges.
template <class F>
void run_cells(i64 n_threads, i64 n_cells, F task) {
  run((n_cells + cells_per_task - 1) / cells_per_task, n_threads,
      [&](i64 number) { task(number * cells_per_task, least((number + 1) * cells_per_task, n_cells)); });
}

template <class T, int N>
Array<T, 1> flat(const Array<T, N>& array) {
  return {array.data, {array.size()}, {1}};
}

// `advance` of all shards, after a stump or a tree.
//
// totals[shard, channel, group] and wrong[shard] get the sums of each shard, out[channel, group, column, code] the
// histograms of as many channels as it has. stack[part, channel, group, column, code]: a buffer, unused for one part.
inline void advance_all(i64 n_threads, const std::vector<ShardArrays>& shards, const AddedStump& stump, const AddedTree& tree,
                        const Formulas& formulas, const Tiles& tiles, Array<i64, 5> stack, Array<i64, 3> totals,
                        Array<i64, 1> wrong, Array<i64, 4> out) {
  run(static_cast<i64>(shards.size()), n_threads, [&](i64 k) {
    const ShardArrays& shard = shards[k];
    if (tree.gains.shape[0] > 0)
      add_tree(shard.codes, shard.order, shard.nodes, tree, shard.leaf, tree.gains, shard.rows.starts, shard.state);
    wrong[k] = advance(shard.packed, shard.rows, column_at(shard.codes, stump.column), stump.leaf_of_code, stump.gains,
                       formulas, shard.state, shard.grids, totals[k], {}, false, 0, shard.grids.shape[1]);
  });
  if (out.empty()) return;
  const i64 n_parts = tiles.by_rows, per_word = std::visit([](auto c) { return c.shape[2]; }, shards[0].codes);
  run_tiles(n_threads, shards, tiles, [&](i64 part, auto mine, i64 low, i64 high) {
    const Array<i64, 4> sums = n_parts == 1 ? out : stack[part];
    auto of = [&](i64 c, i64 group) { return sums[c][group].slice(low * per_word, high * per_word); };
    for (i64 c = 0; c < out.shape[0]; c++)
      for (i64 group = 0; group < out.shape[1]; group++) fill(of(c, group), i64{0});
    for (const ShardArrays& shard : mine) {
      const Array<const i64, 1> starts = shard.rows.starts;
      for (i64 label = 0; label < shard.rows.group.shape[0]; label++)
        for (i64 at = starts[label]; at < starts[label + 1]; at += rows_weighed)
          for (i64 c = 0; c < out.shape[0]; c++)
            std::visit(
                [&](auto words) {
                  const i64 end = least(at + rows_weighed, starts[label + 1]);
                  histogram(words.slice(low, high), shard.grids[c], at, end, of(c, shard.rows.group[label]));
                },
                shard.packed);
    }
  });
  if (n_parts == 1) return;
  const Array<const i64, 2> parts{stack.data, {n_parts, out.size()}, {out.size(), 1}};
  run_cells(n_threads, out.size(), [&](i64 low, i64 high) { add_up(parts, flat(out), low, high); });
}

// Part the rows of some nodes in all shards, and sum both children of each. fresh: of a new tree.
//
// less[split, group, column, code] gets the histograms of the children with fewer rows, left_is_less[split] whether those
// are the left ones, and rows[shard, split, side] the numbers of rows. wholes[split]: the histogram of the node;
// rests[split]: the place for that of the other child, perhaps the same. stack[part, split, group, column, code]: a buffer.
inline void split_all(i64 n_threads, const std::vector<ShardArrays>& shards, bool fresh, const LevelArrays& level,
                      const Tiles& tiles, Array<i64, 5> stack, const std::vector<Array<const i64, 3>>& wholes,
                      const std::vector<Array<i64, 3>>& rests, Array<i64, 4> less, Array<i64, 3> rows,
                      Array<bool, 1> left_is_less) {
  const i64 n_shards = static_cast<i64>(shards.size()), n_splits = level.node.shape[0], n_parts = tiles.by_rows;
  run(n_shards, n_threads, [&](i64 k) {
    const ShardArrays& shard = shards[k];
    if (fresh)
      for (i64 i = 0; i < shard.order.shape[0]; i++) shard.order[i] = static_cast<u32>(i);
    partition_nodes(shard.codes, shard.order, shard.spare, shard.nodes, level, rows[k]);
  });
  std::vector<i64> numbers;  // of the children with fewer rows
  for (i64 m = 0; m < n_splits; m++) {
    i64 n_left = 0, n_right = 0;
    for (i64 k = 0; k < n_shards; k++) n_left += rows(k, m, 0), n_right += rows(k, m, 1);
    left_is_less[m] = n_left <= n_right;
    numbers.push_back(left_is_less[m] ? level.left[m] : level.right[m]);
  }
  if (less.empty()) return;
  const i64 per_word = std::visit([](auto c) { return c.shape[2]; }, shards[0].codes);
  run_tiles(n_threads, shards, tiles, [&](i64 part, auto mine, i64 low, i64 high) {
    const Array<i64, 4> sums = n_parts == 1 ? less : stack[part];
    for (i64 m = 0; m < n_splits; m++) {
      auto of = [&](i64 group) { return sums[m][group].slice(low * per_word, high * per_word); };
      for (i64 group = 0; group < less.shape[1]; group++) fill(of(group), i64{0});
      for (const ShardArrays& shard : mine) {
        const i64 begin = shard.nodes.low[numbers[m]];
        const Array<i64, 1> starts = shard.nodes.starts[numbers[m]];
        const Array<const u32, 1> order = shard.order;
        for (i64 label = 0; label < shard.rows.group.shape[0]; label++)
          std::visit(
              [&](auto words) {
                histogram_of(words.slice(low, high), shard.grids[0], order, begin + starts[label], begin + starts[label + 1],
                             of(shard.rows.group[label]));
              },
              shard.packed);
      }
    }
  });
  const i64 n_cells = less.size() / n_splits;
  run_cells(n_threads, less.size(), [&](i64 low, i64 high) {
    if (n_parts > 1) add_up({stack.data, {n_parts, less.size()}, {less.size(), 1}}, flat(less), low, high);
    for (i64 m = low / n_cells; m * n_cells < high; m++) {
      const i64 begin = most(low - m * n_cells, i64{0}), end = least(high - m * n_cells, n_cells);
      const i64 *whole = wholes[m].data, *taken = less.data + m * n_cells;
      i64* rest = rests[m].data;
      for (i64 i = begin; i < end; i++) rest[i] = whole[i] - taken[i];
    }
  });
}

}  // namespace electorate
