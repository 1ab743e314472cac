#include "electorate/target_search.hpp"

#include "search_checks.hpp"

namespace electorate::python {
namespace {

void check_rule(i64 labels, i64 kind, Ints reach, Reals targets, RealTable table) {
  require(0 <= kind && kind <= 2, "kind must be 0, 1 or 2");
  require(reach.shape[0] >= labels && targets.shape[0] >= labels, "there are more labels than targets");
  require(table.shape[0] == 0 || table.shape[1] >= labels, "there are more labels than columns of the table");
  for (i64 k = 0; k < labels; k++) require(0 <= reach[k] && reach[k] <= k, "a window ends before it begins");
}

double side_edge_of(i64 kind, Ints weights, Ints reach, Reals targets, double rate, RealTable table) {
  check_rule(weights.shape[0], kind, reach, targets, table);
  return side_edge(kind, weights, reach, targets, rate, table);
}

double best_target_threshold_of(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows,
                                i64 min_rows, i64 kind, Ints reach, Reals targets, Reals away, double rate,
                                RealTable table, bool abstains, Array<i64, 1> found) {
  check_node(sums, totals, n_bins, has_missing, ordered, rows, found);
  require(totals.shape[0] == sums.shape[0], "totals and sums differ in the number of labels");
  check_rule(sums.shape[0], kind, reach, away, table);
  return best_target_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, kind, reach, targets, away, rate,
                               table, abstains, found);
}

double best_mean_threshold_of(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows,
                              i64 min_rows, Array<i64, 1> found) {
  check_node(sums, totals, n_bins, has_missing, ordered, rows, found);
  require(sums.shape[0] == 2, "sums must be of the weight and of weight x target");
  return best_mean_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found);
}

void check_leaves(Reals targets, Ints weights, Ints ends) {
  require(targets.shape[0] == weights.shape[0], "targets and weights differ in length");
  for (i64 leaf = 0; leaf < ends.shape[0]; leaf++)
    require((leaf == 0 ? 0 : ends[leaf - 1]) <= ends[leaf] && ends[leaf] <= targets.shape[0], "ends must ascend");
}

std::tuple<i64, i64> best_window_of(Reals targets, Ints weights, double eps) {
  check_leaves(targets, weights, {});
  return best_window(targets, weights, eps);
}

void best_windows_of(Reals targets, Ints weights, Ints ends, double eps, Array<double, 2> found) {
  check_leaves(targets, weights, ends);
  require(found.shape[0] >= ends.shape[0] - 1 && found.shape[1] >= 2, "found is too small");
  best_windows(targets, weights, ends, eps, found);
}

void leaf_medians_of(Reals targets, Ints weights, Ints ends, Array<double, 1> found) {
  check_leaves(targets, weights, ends);
  require(found.shape[0] >= ends.shape[0] - 1, "found is too short");
  leaf_medians(targets, weights, ends, found);
}

}  // namespace

std::vector<PyMethodDef> target_search_methods() {
  return {
      kernel<"side_edge", side_edge_of>(),
      kernel<"best_target_threshold", best_target_threshold_of>(),
      kernel<"best_mean_threshold", best_mean_threshold_of>(),
      kernel<"best_window", best_window_of>(),
      kernel<"best_windows", best_windows_of>(),
      kernel<"leaf_medians", leaf_medians_of>(),
  };
}

}  // namespace electorate::python
