#include "electorate/subtrees.hpp"

#include "methods.hpp"

namespace electorate::python {
namespace {

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

std::vector<PyMethodDef> subtrees_methods() { return {kernel<"grow_subtrees", grow_subtrees_checked>()}; }

}  // namespace electorate::python
