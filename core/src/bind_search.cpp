// The best splits of nodes, and subtrees.
#include "electorate/node_search.hpp"
#include "electorate/search.hpp"
#include "electorate/subtrees.hpp"
#include "electorate/target_search.hpp"

#include "search_checks.hpp"

namespace electorate::python {
namespace {

using Found = Array<i64, 1>;

double purity_of(i64 criterion, Strided<const i64> left, Ints totals) {
  require(left.shape[0] == totals.shape[0], "left and totals differ in length");
  return purity(criterion, left, totals);
}

void check_rule(i64 labels, i64 kind, Ints reach, Reals targets, RealTable table) {
  require(0 <= kind && kind <= 2, "kind must be 0, 1 or 2");
  require(reach.shape[0] >= labels && targets.shape[0] >= labels, "there are more labels than targets");
  require(table.shape[0] == 0 || table.shape[1] >= labels, "there are more labels than columns of the table");
  for (i64 k = 0; k < labels; k++) require(0 <= reach[k] && reach[k] <= k, "a window ends before it begins");
}

void check_leaves(Reals targets, Ints weights, Ints ends) {
  require(targets.shape[0] == weights.shape[0], "targets and weights differ in length");
  for (i64 leaf = 0; leaf < ends.shape[0]; leaf++)
    require((leaf == 0 ? 0 : ends[leaf - 1]) <= ends[leaf] && ends[leaf] <= targets.shape[0], "ends must ascend");
}

void require_below(const auto& values, i64 limit, const char* what) {
  bool good = true;
  for (i64 i = 0; i < values.shape[0]; i++) good &= static_cast<u64>(values[i]) < static_cast<u64>(limit);
  require(good, what);
}

void check_rows(const NodeRows& rows, const SplitRule& rule) {
  const i64 n = rows.codes.shape[0];
  require(rows.weight.shape[0] == n, "rows differ in length");
  if (rule.criterion == by_squares) {
    require(rows.second.shape[0] == n && rows.share.shape[0] == n, "rows differ in length");
  } else {
    require(rows.label.shape[0] == n, "rows differ in length");
    require_below(rows.label, rule.n_labels, "a label is out of range");
  }
  const bool counted = rule.min_samples_leaf > 1 || rule.min_samples_split > 2;
  require(!counted || rows.count.shape[0] == n, "rows differ in length");
}

void check_columns(const ColumnLayout& columns, i64 n_words) {
  const i64 n = columns.n_bins.shape[0];
  require(n <= 4 * n_words, "there are more columns than codes");
  require(columns.has_missing.shape[0] == n && columns.ordered.shape[0] == n && columns.number.shape[0] == n,
          "columns differ in length");
  require(n == 0 || columns.seen.shape[1] == 256, "seen is not of 256 bins");
  require_below(columns.n_bins, 256, "a column has more than 255 bins");
  require_below(columns.number, columns.seen.shape[0], "a column has no weights of bins");
}

void check_rule(const SplitRule& rule, const std::optional<TargetRule>& earning, i64 n_columns) {
  require(by_edge <= rule.criterion && rule.criterion <= by_squares, "there is no such criterion");
  require(rule.n_labels >= (rule.criterion == by_squares ? 2 : 0), "there are too few labels");
  require(rule.n_drawn >= 0 && rule.n_drawn <= n_columns, "more columns are drawn than there are");
  require(earning.has_value() == (rule.criterion >= by_target), "only numeric targets have a TargetRule");
  if (rule.criterion != by_target) return;
  const i64 n = rule.n_labels;
  require(earning->reach.shape[0] == n && earning->targets.shape[0] == n && earning->away.shape[0] == n &&
              (earning->table.shape[0] == 0 || earning->table.shape[1] == n),
          "the TargetRule is not for as many labels");
  for (i64 k = 0; k < n; k++) require(earning->reach[k] <= k, "a window opens after its last label");
}

using Grown = std::tuple<Made<i64, 2>, Made<bool, 2>, Made<i64, 3>, Made<i64, 2>>;

Grown grow_subtrees_checked(NodeRows rows, ColumnLayout columns, SplitRule rule, std::optional<TargetRule> earning,
                            Array<u32, 1> order, Ints ends, Array<const i64, 2> totals, Ints levels, Flags tied,
                            Array<const u64, 1> keys) {
  check_rows(rows, rule);
  check_columns(columns, rows.codes.shape[1]);
  check_rule(rule, earning, columns.n_bins.shape[0]);
  const i64 n_nodes = ends.shape[0] - 1;
  require(n_nodes >= 0 && totals.shape[0] == n_nodes && totals.shape[1] == rule.n_labels && levels.shape[0] == n_nodes &&
              tied.shape[0] == n_nodes && keys.shape[0] == n_nodes,
          "nodes differ in number");
  require(ends[0] >= 0 && ends[n_nodes] <= order.shape[0], "ends is out of range");
  for (i64 node = 0; node < n_nodes; node++) require(ends[node] <= ends[node + 1], "ends must ascend");
  require_below(order, rows.codes.shape[0], "a row number is out of range");
  Subtrees grown = grow_subtrees(rows, columns, rule, earning, order, ends, totals, levels, tied, keys);
  const i64 n_splits = static_cast<i64>(grown.splits.size()) / 3, n_open = static_cast<i64>(grown.opens.size()) / 3;
  return {{{n_splits, 3}, std::move(grown.splits)},
          {{n_splits, 256}, std::move(grown.lefts)},
          {{n_splits, 2, rule.n_labels}, std::move(grown.sums)},
          {{n_open, 3}, std::move(grown.opens)}};
}

}  // namespace

std::vector<PyMethodDef> search_methods() {
  return {
      kernel<"best_threshold", best_threshold>([](auto sums, auto totals, auto n_bins, auto has_missing, auto ordered,
          auto rows, auto, auto found) {
        check_node(sums, totals, n_bins, has_missing, ordered, rows, found);
      }),
      kernel<"best_common_threshold", best_common_threshold>([](auto left, auto whole, auto totals_left, auto totals,
          auto n_bins, auto has_missing, auto ordered, auto, auto found) {
        check_node(whole, totals, n_bins, has_missing, ordered, {}, found);
        check_node(left, totals_left, n_bins, has_missing, ordered, {}, found);
        require(left.shape[0] == whole.shape[0] && left.shape[2] == whole.shape[2], "left and whole differ in shape");
      }),
      kernel<"cheapest_threshold", cheapest_threshold>([](auto sums, auto totals, auto squares, auto square_totals,
          auto n_bins, auto has_missing, auto ordered, auto, auto, auto found) {
        check_node(sums, totals, n_bins, has_missing, ordered, {}, found);
        check_node(squares, square_totals, n_bins, has_missing, ordered, {}, found);
        require(sums.shape[0] == 2 && squares.shape[0] == 2, "sums and squares are of two labels");
        require(sums.shape[2] == squares.shape[2], "sums and squares differ in shape");
      }),
      kernel<"cost_at_best", cost_at_best>(),
      kernel<"send_left", send_left>([](auto histogram, auto seen, auto column, auto cut, auto, auto on_left, auto sides) {
        const i64 bins = on_left.shape[0];
        require(0 <= column && column < histogram.shape[1] && cut >= -1, "there is no such threshold");
        require(bins == 0 || (seen.shape[0] >= bins - 1 && histogram.shape[2] == bins), "the numbers of bins differ");
        require(sides.shape[0] >= 2 && sides.shape[1] >= histogram.shape[0], "sides is too small");
      }),
      kernel<"purity", purity_of>(),
      kernel<"is_pure", is_pure>(),
      kernel<"purest_threshold", purest_threshold>([](auto sums, auto totals, auto n_bins, auto has_missing, auto ordered,
          auto rows, auto, auto, auto found) {
        check_node(sums, totals, n_bins, has_missing, ordered, rows, found);
      }),
      kernel<"best_subset", best_subset>([](auto sums, auto n_bins, auto has_missing, auto ordered, auto rows, auto,
          auto found) {
        check_columns(sums, n_bins, has_missing, ordered, rows);
        require(found.shape[0] >= 3, "found has less than three cells");
      }),
      kernel<"purest_subset", purest_subset>([](auto sums, auto totals, auto n_bins, auto ordered, auto rows, auto, auto,
          auto found, auto on_left) {
        check_node(sums, totals, n_bins, ordered, ordered, rows, found);
        require(on_left.shape[0] == sums.shape[2], "on_left and sums differ in the number of bins");
      }),
      kernel<"side_edge", side_edge>([](auto kind, auto weights, auto reach, auto targets, auto, auto table) {
        check_rule(weights.shape[0], kind, reach, targets, table);
      }),
      kernel<"best_target_threshold", best_target_threshold>([](auto sums, auto totals, auto n_bins, auto has_missing,
          auto ordered, auto rows, auto, auto kind, auto reach, auto, auto away, auto, auto table, auto, auto found) {
        check_node(sums, totals, n_bins, has_missing, ordered, rows, found);
        require(totals.shape[0] == sums.shape[0], "totals and sums differ in the number of labels");
        check_rule(sums.shape[0], kind, reach, away, table);
      }),
      kernel<"best_mean_threshold", best_mean_threshold>([](auto sums, auto totals, auto n_bins, auto has_missing,
          auto ordered, auto rows, auto, auto found) {
        check_node(sums, totals, n_bins, has_missing, ordered, rows, found);
        require(sums.shape[0] == 2, "sums must be of the weight and of weight x target");
      }),
      kernel<"best_window", best_window>([](auto targets, auto weights, auto...) {
        check_leaves(targets, weights, {});
      }),
      kernel<"best_windows", best_windows>([](auto targets, auto weights, auto ends, auto, auto found) {
        check_leaves(targets, weights, ends);
        require(found.shape[0] >= ends.shape[0] - 1 && found.shape[1] >= 2, "found is too small");
      }),
      kernel<"leaf_medians", leaf_medians>([](auto targets, auto weights, auto ends, auto found) {
        check_leaves(targets, weights, ends);
        require(found.shape[0] >= ends.shape[0] - 1, "found is too short");
      }),
      kernel<"search_nodes", search_nodes>([](auto, const auto& histograms, auto totals, auto columns, auto masks, auto,
          auto splits, auto on_left, auto sides) {
        const i64 n_nodes = totals.shape[0], n_labels = totals.shape[1], n_columns = columns.n_bins.shape[0];
        require(static_cast<i64>(histograms.size()) == n_nodes, "histograms and totals differ in length");
        require(masks.shape[1] >= n_columns, "masks has too few columns");
        require(splits.shape[0] >= n_nodes && splits.shape[1] >= 2, "splits is too small");
        require(sides.shape[0] >= n_nodes && sides.shape[1] >= 2 && sides.shape[2] >= n_labels, "sides is too small");
        require(on_left.shape[0] >= n_nodes, "on_left is too short");
        for (const Sums& histogram : histograms) {
          require(histogram.shape[0] == n_labels, "histograms and totals differ in the number of labels");
          check_columns(histogram, columns.n_bins, columns.has_missing, columns.ordered, {});
          require(on_left.shape[1] == histogram.shape[2], "on_left and histograms differ in the number of bins");
          require(columns.seen.shape[0] >= n_columns && columns.seen.shape[1] >= histogram.shape[2] - 1, "seen is too small");
        }
      }),
      kernel<"grow_subtrees", grow_subtrees_checked>(),
  };
}

}  // namespace electorate::python
