// The best thresholds of several nodes, by the threads of a team: a task searches some columns of one node.
#pragma once
#include "electorate/search.hpp"
#include "electorate/team.hpp"

namespace electorate {

// Find the best threshold of every node.
//
// totals[node, label]; columns: a layout with `seen`; masks[part, column]: which columns a task searches, in their order.
// criterion 0: the weight that is right; 1 and 2: `purity`. splits[node] gets column and cut, column -1 where no split
// gains; on_left[node, bin]; sides[node, side, label].
inline void search_nodes(i64 n_threads, const std::vector<Sums>& histograms, Array<const i64, 2> totals,
                         const ColumnLayout& columns, Array<const bool, 2> masks, i64 criterion, Array<i64, 2> splits,
                         Array<bool, 2> on_left, Array<i64, 3> sides) {
  struct Found {
    i64 place[3];
    i64 weight;
    double purity;
  };
  const i64 n_nodes = totals.shape[0], n_parts = masks.shape[0];
  std::vector<Found> found(static_cast<std::size_t>(n_nodes * n_parts));
  run(n_nodes * n_parts, n_threads, [&](i64 number) {
    const i64 m = number / n_parts;
    const Flags mask = masks[number % n_parts];
    Found& mine = found[number];
    const Array<i64, 1> place{mine.place, {3}, {1}};
    if (criterion == 0)
      mine.weight = best_threshold(histograms[m], totals[m], columns.n_bins, columns.has_missing, mask, {}, 1, place);
    else
      mine.purity = purest_threshold(histograms[m], totals[m], columns.n_bins, columns.has_missing, mask, {}, 1, criterion, place);
  });
  for (i64 m = 0; m < n_nodes; m++) {
    i64 weight = 0, present = 0;
    for (i64 k = 0; k < totals.shape[1]; k++) weight = most(weight, totals(m, k)), present += totals(m, k) != 0;
    double pure = criterion == 0 ? 0.0 : purity(criterion, NoWeights{}, totals[m]);
    pure += std::fabs(pure) * 1e-12;  // rounding alone is no gain
    const Found* best = nullptr;  // of equals the first
    for (i64 part = 0; present > 1 && part < n_parts; part++) {
      const Found& each = found[m * n_parts + part];
      if (criterion == 0 ? each.weight > weight : each.purity > pure) best = &each, weight = each.weight, pure = each.purity;
    }
    splits(m, 0) = -1;
    if (best == nullptr) continue;
    const i64 column = best->place[0], cut = best->place[1];
    splits(m, 0) = column, splits(m, 1) = cut;
    const i64 missing_left = columns.has_missing[column] ? best->place[2] : -1;
    send_left(histograms[m], columns.seen[column], column, cut, missing_left, on_left[m], sides[m]);
  }
}

}  // namespace electorate
