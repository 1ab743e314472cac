// The best split of a node for a numeric target: by MedBoost's edge over bins of the target, or by squared error.
//
// A label is a bin of the target, in order. Kind 0: a side is right on all bins of one window, window k being the bins
// reach[k]..k. Kind 1: it pays `rate` times the distance to its weighted median. Kind 2: it earns table[value, bin].
#pragma once
#include <tuple>

#include "electorate/search.hpp"

namespace electorate {

using Reals = Array<const double, 1>;
using RealTable = Array<const double, 2>;

// The most that one side can earn, less what it then loses, from the weight of each bin of the target.
inline double side_edge(i64 kind, Ints weights, Ints reach, Reals targets, double rate, RealTable table) {
  const i64 bins = weights.shape[0];
  if (bins == 0) return 0.0;
  const i64 total = sum_of(weights, 0, bins);
  if (kind == 0) {
    i64 heaviest = 0, inside = 0, first = 0;
    for (i64 k = 0; k < bins; k++) {
      inside += weights[k];
      for (; first < reach[k]; first++) inside -= weights[first];
      heaviest = most(heaviest, inside);
    }
    return static_cast<double>(heaviest - (total - heaviest));
  }
  if (kind == 1) {
    i64 middle = 0, so_far = weights[0];
    while (so_far < total - so_far && middle < bins - 1) so_far += weights[++middle];
    double distance = 0.0;
    for (i64 k = 0; k < bins; k++) distance += static_cast<double>(weights[k]) * std::fabs(targets[k] - targets[middle]);
    return static_cast<double>(total) - rate * distance;
  }
  double best = -infinity;
  for (i64 v = 0; v < table.shape[0]; v++) {
    double earned = 0.0;
    for (i64 k = 0; k < bins; k++) earned += static_cast<double>(weights[k]) * table(v, k);
    best = most(best, earned);
  }
  return best;
}

// ---------------------------------------------------------------- by the median, or by a table

// `side_edge` of kind 1 or 2 for one side of a cut, from here(label), its weight, and the sum of weight x target.
template <i64 kind>
class SideEdge {
 public:
  SideEdge(i64 labels, Reals targets, double rate, RealTable table)
      : labels(labels), targets(targets.data), rate(rate), n_values(kind == 2 ? table.shape[0] : 0),
        by_label(static_cast<std::size_t>(labels * n_values)), earned(static_cast<std::size_t>(n_values)) {
    for (i64 v = 0; v < n_values; v++)
      for (i64 k = 0; k < labels; k++) by_label[k * n_values + v] = table(v, k);
  }

  template <class Here>
  double operator()(Here here, i64 weight, double moment) {
    if constexpr (kind == 1) {  // only labels up to the median are read
      i64 so_far = 0, middle = 0;
      double some = 0.0;
      for (;; middle++) {
        const i64 mine = here(middle);
        so_far += mine;
        some += static_cast<double>(mine) * targets[middle];
        if (so_far >= weight - so_far || middle == labels - 1) break;
      }
      const double at = targets[middle], below = at * static_cast<double>(so_far) - some;
      const double distance = below + ((moment - some) - at * static_cast<double>(weight - so_far));
      return static_cast<double>(weight) - rate * distance;
    } else {  // all values at once, label by label
      double* __restrict sum = earned.data();
      const i64 n = n_values;
      for (i64 v = 0; v < n; v++) sum[v] = 0.0;
      for (i64 k = 0; k < labels; k++) {
        const double mine = static_cast<double>(here(k));
        const double* __restrict each = by_label.data() + k * n;
        for (i64 v = 0; v < n; v++) sum[v] += mine * each[v];
      }
      double best = -infinity;
      for (i64 v = 0; v < n; v++) best = most(best, sum[v]);
      return best;
    }
  }

 private:
  i64 labels;
  const double* targets;
  double rate;
  i64 n_values;
  std::vector<double> by_label, earned;  // [label, value]; [value]
};

// `best_target_threshold` of kind 1 or 2.
//
// For kind 1 the sums of weight x target are carried along, so that a side takes one pass over its labels.
template <i64 kind>
inline double best_by_cuts(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows,
                           i64 min_rows, Reals away, double rate, RealTable table, bool abstains, Array<i64, 1> found) {
  const i64 labels = sums.shape[0], width = sums.shape[2];
  const auto moment_of = [&](const i64* weights) {
    double moment = 0.0;
    for (i64 k = 0; k < labels; k++) moment += static_cast<double>(weights[k]) * away[k];
    return moment;
  };
  const auto weight_of = [&](const i64* weights) { return sum_of({weights, {labels}, {1}}, 0, labels); };
  const i64* __restrict all = totals.data;
  const i64 total = weight_of(all);
  const double all_moment = moment_of(all);
  const auto buffer = std::make_unique_for_overwrite<i64[]>(static_cast<std::size_t>((width + 2) * labels));
  i64 *const left = buffer.get(), *const none = left + labels, *const by_bin = left + 2 * labels;  // [bin, label]
  for (i64 k = 0; k < labels; k++) none[k] = 0;
  SideEdge<kind> edge_of(labels, away, rate, table);
  double best = -infinity;
  for (i64 j = 0; labels > 0 && j < n_bins.shape[0]; j++) {
    const Thresholds cuts(n_bins, has_missing, ordered, j);
    if (cuts.n_cuts == 0) continue;
    const i64* const at_missing = by_bin + (width - 1) * labels;
    for (i64 k = 0; k < labels; k++) {
      const i64* one = sums[k][j].data;
      for (i64 b = 0; b < cuts.n_bins; b++) by_bin[b * labels + k] = one[b];
      by_bin[(width - 1) * labels + k] = one[width - 1];
      left[k] = 0;
    }
    const i64 missing = weight_of(at_missing);
    const double missing_moment = moment_of(at_missing);
    i64 weight = 0;
    double moment = 0.0;
    for (i64 cut = 0; cut < cuts.n_cuts; cut++) {
      const i64* __restrict one = by_bin + cut * labels;
      const i64 before = weight;
      for (i64 k = 0; k < labels; k++) left[k] += one[k], weight += one[k];
      if constexpr (kind == 1)
        for (i64 k = 0; k < labels; k++) moment += static_cast<double>(one[k]) * away[k];
      if (weight == before) continue;  // a bin without weight is no place to cut
      for (i64 side = cuts.first_side(cut); side < 2; side++) {
        const i64 *__restrict upto = left, *__restrict more = side == 0 ? at_missing : none;
        const i64 here = side == 0 ? weight + missing : weight;
        const double here_moment = side == 0 ? moment + missing_moment : moment;
        if (here == 0 || here == total) continue;
        const double one_edge = edge_of([=](i64 k) { return upto[k] + more[k]; }, here, here_moment);
        const double other_edge =
            edge_of([=](i64 k) { return all[k] - (upto[k] + more[k]); }, total - here, all_moment - here_moment);
        const double edge = abstains ? most(one_edge, 0.0) + most(other_edge, 0.0) : one_edge + other_edge;
        if (edge > best && enough_rows(rows, j, cut, side, min_rows)) best = edge, note_threshold(found, j, cut, side);
      }
    }
  }
  return best;
}

// ---------------------------------------------------------------- by windows

// `best_target_threshold` of kind 0: all cuts of a column at once, window by window.
//
// Only labels and bins that weigh something are read: deep in a tree, far fewer than there are.
class WindowSearch {
 public:
  WindowSearch(Sums sums, Ints totals, Ints reach)
      : sums(sums), width(sums.shape[2]), all_upto{0}, miss_upto(static_cast<std::size_t>(totals.shape[0] + 1)) {
    for (i64 k = 0, at = 0; k < totals.shape[0]; k++, at = 0) {
      if (totals[k] <= 0) continue;
      present.push_back(k);
      while (present[at] < reach[k]) at++;
      opens.push_back(at);
      all_upto.push_back(all_upto.back() + totals[k]);
    }
    n_present = static_cast<i64>(present.size());
    buffer = std::make_unique_for_overwrite<i64[]>(static_cast<std::size_t>((n_present + 6) * width));
    place = buffer.get(), best = place + width, upto = best + 4 * width;
    for (i64 cut = 0; cut < width; cut++) upto[cut] = 0;
  }

  // The best edge of a column if it is above `least_edge`, else `least_edge`.
  double column(i64 j, const Thresholds& cuts, RowCounts rows, i64 min_rows, bool abstains, double least_edge,
                Array<i64, 1> found) {
    const i64 total = all_upto.back();
    find_cuts(j, cuts.n_cuts);
    find_windows(j, cuts);
    if (!abstains && most_at_cuts(cuts, total) <= least_edge) return least_edge;
    const i64* last = upto + n_present * width;
    for (i64 q = 0; q < n_cuts; q++) {
      const i64 cut = n_cuts == cuts.n_cuts ? q : place[q];
      if (last[q] == (q > 0 ? last[q - 1] : 0)) continue;  // a bin without weight is no place to cut
      for (i64 side = cuts.first_side(cut); side < 2; side++) {
        const i64 on_left = last[q] + (side == 0 ? miss_upto[n_present] : 0);
        if (on_left == 0 || on_left == total) continue;
        const i64 left = heaviest(side, 0)[q], right = heaviest(side, 1)[q];
        const double one = static_cast<double>(left - (on_left - left));
        const double other = static_cast<double>(right - (total - on_left - right));
        const double edge = abstains ? most(one, 0.0) + most(other, 0.0) : one + other;
        if (edge > least_edge && enough_rows(rows, j, cut, side, min_rows))
          least_edge = edge, note_threshold(found, j, cut, side);
      }
    }
    return least_edge;
  }

 private:
  Sums sums;
  i64 width, n_present, n_cuts = 0;
  std::vector<i64> present, opens;  // the labels that weigh something; the place there of the first one of the window
  std::vector<i64> all_upto, miss_upto;  // the weights before every one of them: of all rows, of the missing values
  std::unique_ptr<i64[]> buffer;
  i64 *place, *best, *upto;  // the bin of a cut; [missing on the right, side, cut]; [label, cut], weights left of a cut

  i64* heaviest(i64 side, i64 right) const { return best + (2 * side + right) * width; }

  // Where all labels are present, bins are not sought: all count, and `place` is not written.
  void find_cuts(i64 j, i64 cuts) {
    n_cuts = cuts;
    if (n_present == sums.shape[0]) return;
    i64* __restrict weight = best;
    for (i64 cut = 0; cut < cuts; cut++) weight[cut] = 0;
    for (const i64 label : present) {
      const i64* __restrict one = sums[label][j].data;
      for (i64 cut = 0; cut < cuts; cut++) weight[cut] += one[cut];
    }
    n_cuts = 0;
    for (i64 cut = 0; cut < cuts; cut++) {
      place[n_cuts] = cut;
      n_cuts += weight[cut] != 0;
    }
  }

  // The heaviest window on both sides of every cut.
  void find_windows(i64 j, const Thresholds& cuts) {
    const i64 n = n_cuts;
    for (i64 side = 0; side < 4; side++)
      for (i64 q = 0; q < n; q++) best[side * width + q] = 0;
    for (i64 i = 0; i < n_present; i++) {
      const i64* __restrict one = sums[present[i]][j].data;
      const i64* __restrict before = upto + i * width;
      i64* __restrict after = upto + (i + 1) * width;
      i64 so_far = 0;
      if (n == cuts.n_cuts) {
        for (i64 q = 0; q < n; q++) after[q] = before[q] + (so_far += one[q]);
      } else {
        for (i64 q = 0; q < n; q++) after[q] = before[q] + (so_far += one[place[q]]);
      }
      miss_upto[i + 1] = miss_upto[i] + (cuts.has_missing ? one[width - 1] : 0);
      if (i + 1 < n_present && opens[i + 1] == opens[i]) continue;  // the next window holds all of this one
      const i64* __restrict opened = upto + opens[i] * width;  // while the sums are in the cache
      const i64 whole = all_upto[i + 1] - all_upto[opens[i]];
      for (i64 side = cuts.first_side(); side < 2; side++) {
        i64 *__restrict left = heaviest(side, 0), *__restrict right = heaviest(side, 1);
        const i64 more = side == 0 ? miss_upto[i + 1] - miss_upto[opens[i]] : 0;
        for (i64 q = 0; q < n; q++) {
          const i64 window = after[q] - opened[q] + more;
          left[q] = most(left[q], window);
          right[q] = most(right[q], whole - window);
        }
      }
    }
  }

  // No less than the edge of any cut, whatever is rounded: most columns need no closer look.
  double most_at_cuts(const Thresholds& cuts, i64 total) const {
    i64 heavy = 0;
    for (i64 side = cuts.first_side(); side < 2; side++) {
      const i64 *__restrict left = heaviest(side, 0), *__restrict right = heaviest(side, 1);
      for (i64 q = 0; q < n_cuts; q++) heavy = most(heavy, left[q] + right[q]);
    }
    return static_cast<double>(2 * heavy - total) + 1e-15 * static_cast<double>(total);
  }
};

// Find the threshold with the largest edge, where each side predicts what earns it the most; see `side_edge`.
//
// away: the targets less one of them; sums of these lose no digits where all targets are far from 0.
// abstains: a side that would lose does not predict. A threshold that leaves one side without weight is left out.
// Ties: first column, first cut, missing on the left. found: column, cut, missing left. Returns the edge, or minus infinity.
inline double best_target_threshold(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows,
                                    i64 min_rows, i64 kind, Ints reach, Reals, Reals away, double rate, RealTable table,
                                    bool abstains, Array<i64, 1> found) {
  if (kind == 1)
    return best_by_cuts<1>(sums, totals, n_bins, has_missing, ordered, rows, min_rows, away, rate, table, abstains, found);
  if (kind == 2)
    return best_by_cuts<2>(sums, totals, n_bins, has_missing, ordered, rows, min_rows, away, rate, table, abstains, found);
  WindowSearch search(sums, totals, reach);
  double best = -infinity;
  for (i64 j = 0; j < n_bins.shape[0]; j++) {
    const Thresholds cuts(n_bins, has_missing, ordered, j);
    if (cuts.n_cuts > 0) best = search.column(j, cuts, rows, min_rows, abstains, best, found);
  }
  return best;
}

// First and last of the sorted targets within eps of one value, for the most weight; of equals the first.
//
// Most windows are skipped: one that ends in a block of rows weighs no more than the block and the blocks before it that
// are near enough.
inline std::tuple<i64, i64> best_window(Reals targets, Ints weights, double eps) {
  constexpr i64 window_rows = 64;  // rows of a block
  const i64 n = targets.shape[0], blocks = (n + window_rows - 1) / window_rows;
  std::vector<i64> upto(static_cast<std::size_t>(blocks + 1));
  for (i64 k = 0; k < blocks; k++)
    upto[k + 1] = upto[k] + sum_of(weights, k * window_rows, least((k + 1) * window_rows, n));
  const double rounding = n > 0 ? 1e-14 * (std::fabs(targets[0]) + std::fabs(targets[n - 1])) : 0.0;
  std::vector<i64> opens(static_cast<std::size_t>(blocks));  // the first block that a window which ends in a block may reach
  i64 fullest = 0;
  for (i64 k = 0, at = 0; k < blocks; k++) {
    const double start = targets[k * window_rows];
    while (at < k && start - targets[(at + 1) * window_rows] > 2.0 * eps * (1.0 + 1e-14) + rounding) at++;
    opens[k] = at;
    if (upto[k + 1] - upto[at] > upto[fullest + 1] - upto[opens[fullest]]) fullest = k;
  }
  const double near = 2.0 * eps * (1.0 - 1e-14) - rounding;  // up to this distance no rounding can matter
  i64 heaviest = -1, enough = -1;  // enough: what the fullest block comes to; lighter blocks are skipped
  i64 best_first = 0, best_last = 0;
  for (i64 turn = blocks > 4 ? -1 : 0; turn < blocks; turn++) {
    const i64 k = turn < 0 ? fullest : turn;
    if (upto[k + 1] - upto[opens[k]] < enough) continue;
    i64 first = opens[k] * window_rows, inside = upto[k] - upto[opens[k]];
    for (i64 last = k * window_rows; last < least(n, (k + 1) * window_rows); last++) {
      inside += weights[last];
      while (targets[last] - targets[first] > near) {
        const double middle = targets[first] + 0.5 * (targets[last] - targets[first]);
        if (targets[last] - middle <= eps && middle - targets[first] <= eps) break;
        inside -= weights[first++];
      }
      if (inside > heaviest) heaviest = inside, best_first = first, best_last = last;
    }
    if (turn < 0) enough = heaviest, heaviest = -1;
  }
  return {best_first, best_last};
}

// found[leaf, (first, last)]: the targets at both ends of the `best_window` of each leaf that has rows.
inline void best_windows(Reals targets, Ints weights, Ints ends, double eps, Array<double, 2> found) {
  for (i64 leaf = 0; leaf < ends.shape[0] - 1; leaf++) {
    const Reals mine = targets.slice(ends[leaf], ends[leaf + 1]);
    if (mine.shape[0] == 0) continue;
    const auto [first, last] = best_window(mine, weights.slice(ends[leaf], ends[leaf + 1]), eps);
    found(leaf, 0) = mine[first], found(leaf, 1) = mine[last];
  }
}

// found[leaf]: the weighted median of the sorted targets of each leaf that has rows, of two the lower.
inline void leaf_medians(Reals targets, Ints weights, Ints ends, Array<double, 1> found) {
  for (i64 leaf = 0; leaf < ends.shape[0] - 1; leaf++) {
    const double half = static_cast<double>(sum_of(weights, ends[leaf], ends[leaf + 1])) / 2;
    i64 so_far = 0;
    for (i64 i = ends[leaf]; i < ends[leaf + 1]; i++) {
      so_far += weights[i];
      if (static_cast<double>(so_far) < half) continue;
      found[leaf] = targets[i];
      break;
    }
  }
}

// ---------------------------------------------------------------- by squares

// Find the threshold that explains the most squares; sums[0, column, bin]: weights, sums[1]: of weight x target.
//
// A threshold that leaves one side without weight is left out. Ties: first column, first cut, missing on the left.
// found: column, cut, missing left. Returns the explained squares, minus infinity if there is no threshold.
inline double best_mean_threshold(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows,
                                  i64 min_rows, Array<i64, 1> found) {
  const i64 miss = sums.shape[2] - 1;
  double best = -infinity;
  for (i64 j = 0; j < n_bins.shape[0]; j++) {
    const Thresholds cuts(n_bins, has_missing, ordered, j);
    const i64 *weights = sums[0][j].data, *targets = sums[1][j].data;
    i64 weight = 0, target = 0;
    for (i64 cut = 0; cut < cuts.n_cuts; cut++) {
      weight += weights[cut];
      target += targets[cut];
      if (weights[cut] == 0 && targets[cut] == 0) continue;  // a bin without weight is no place to cut
      for (i64 side = cuts.first_side(cut); side < 2; side++) {
        const i64 here = side == 0 ? weight + weights[miss] : weight, there = totals[0] - here;
        const i64 moment = side == 0 ? target + targets[miss] : target;
        if (here <= 0 || there <= 0) continue;
        const double left = static_cast<double>(moment), right = static_cast<double>(totals[1] - moment);
        const double score = left * left / static_cast<double>(here) + right * right / static_cast<double>(there);
        if (score > best && enough_rows(rows, j, cut, side, min_rows)) best = score, note_threshold(found, j, cut, side);
      }
    }
  }
  return best;
}

}  // namespace electorate
