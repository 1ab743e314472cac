#include "electorate/node_search.hpp"

#include "search_checks.hpp"

namespace electorate::python {
namespace {

void search_nodes_of(i64 n_threads, std::vector<Sums> histograms, Array<const i64, 2> totals, ColumnLayout columns,
                     Array<const bool, 2> masks, i64 criterion, Array<i64, 2> splits, Array<bool, 2> on_left,
                     Array<i64, 3> sides) {
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
  search_nodes(n_threads, histograms, totals, columns, masks, criterion, splits, on_left, sides);
}

}  // namespace

std::vector<PyMethodDef> node_search_methods() { return {kernel<"search_nodes", search_nodes_of>()}; }

}  // namespace electorate::python
