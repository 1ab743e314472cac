// The best split of a node, from the weight of each label per column and bin: thresholds and sets of categories.
//
// sums[label, column, bin], the missing values in the last bin; totals[label]; rows[column, bin]: the number of rows, or
// empty, where no side needs min_rows rows. Ties: first column, first cut, missing values on the left.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "electorate/two_label_scores.hpp"

namespace electorate {

constexpr i64 bins_at_once = 8;

// The thresholds of a column: cut b sends the bins up to b to the left.
struct Thresholds {
  i64 n_bins, n_cuts;
  bool has_missing;

  Thresholds(Ints bins, Flags missing, Flags ordered, i64 column)
      : n_bins(bins[column]), n_cuts(0), has_missing(missing[column]) {
    if (ordered[column]) n_cuts = most(has_missing ? n_bins : n_bins - 1, i64{0});
  }

  // Side 0: missing values go left (not after the last bin: nothing would go right); side 1: right.
  i64 first_side() const { return has_missing ? 0 : 1; }
  i64 first_side(i64 cut) const { return has_missing && cut < n_bins - 1 ? 0 : 1; }
};

inline void note_threshold(Array<i64, 1> found, i64 column, i64 cut, i64 side) {
  found[0] = column, found[1] = cut, found[2] = 1 - side;
}

// sums[cut] = the sum of the bins up to cut.
inline void sum_cuts(const i64* __restrict bins, i64 n_cuts, i64* __restrict sums) {
  i64 so_far = 0;
  for (i64 cut = 0; cut < n_cuts; cut++) sums[cut] = so_far += bins[cut];
}

// a[low:high].sum()
inline i64 sum_of(Ints a, i64 low, i64 high) {
  i64 total = 0;
  for (i64 i = low; i < high; i++) total += a[i];
  return total;
}

// Whether both sides of a cut have min_rows rows; side 0: missing values go left.
inline bool enough_rows(RowCounts rows, i64 column, i64 cut, i64 side, i64 min_rows) {
  if (rows.shape[0] == 0) return true;
  const Ints mine = rows[column];
  const i64 n = mine.shape[0], left = sum_of(mine, 0, cut + 1) + (side == 0 ? mine[n - 1] : 0);
  return left >= min_rows && sum_of(mine, 0, n) - left >= min_rows;
}

// ---------------------------------------------------------------- by the weight that is right

// `best_threshold` for two labels and any number of rows, from the difference of the labels on the left alone.
//
// The best threshold of a column has the largest or the smallest difference. No cut in a block of bins has a larger one
// than the rises of its bins together. The column with the highest bound is read cut by cut first, then those that may
// do as well, in their order: of equals the first is wanted.
inline i64 best_threshold_of_two(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, Array<i64, 1> found) {
  const i64 miss = sums.shape[2] - 1, one = totals[0], other = totals[1], n_columns = n_bins.shape[0];
  std::vector<i64> bounds(static_cast<std::size_t>(n_columns), -1);
  for (i64 j = 0; j < n_columns; j++) {
    const Thresholds cuts(n_bins, has_missing, ordered, j);
    if (cuts.n_cuts == 0) continue;
    const i64* __restrict first = sums[0][j].data;
    const i64* __restrict second = sums[1][j].data;
    i64 more = 0, low = 0, high = 0;  // no cut at all: right on no more than no threshold
    const auto add_bins = [&](i64 from, i64 n) {
      i64 rises = 0, steps = 0;
      for (i64 b = from; b < from + n; b++) {
        const i64 step = second[b] - first[b];
        rises += most(step, i64{0}), steps += step;
      }
      low = least(low, more + (steps - rises));
      high = most(high, more + rises);
      more += steps;
    };
    i64 at = 0;
    for (; at + bins_at_once < cuts.n_bins; at += bins_at_once) add_bins(at, bins_at_once);
    add_bins(at, cuts.n_bins - 1 - at);
    i64 bound = most(right_of_two(low, one, other), right_of_two(high, one, other));
    const i64 missing = cuts.has_missing ? second[miss] - first[miss] : 0;
    if (cuts.has_missing) {
      const i64 last = more + second[cuts.n_bins - 1] - first[cuts.n_bins - 1];
      for (const i64 each : {low + missing, high + missing, last}) bound = most(bound, right_of_two(each, one, other));
    }
    bounds[static_cast<std::size_t>(j)] = bound;
  }
  i64 best = -1;
  const auto read = [&](i64 j) {
    const Thresholds cuts(n_bins, has_missing, ordered, j);
    const i64 *first = sums[0][j].data, *second = sums[1][j].data, missing = cuts.has_missing ? second[miss] - first[miss] : 0;
    i64 more = 0, low = 0, high = 0;  // what differs by at least so much is better
    const auto raise = [&](i64 right) {
      best = right;
      low = least(other - best - 1, least(i64{0}, other - one - 1));
      high = most(best - one + 1, most(i64{1}, other - one));
    };
    raise(best);
    for (i64 cut = 0; cut < cuts.n_cuts; cut++) {
      more += second[cut] - first[cut];
      for (i64 side = cuts.first_side(cut); side < 2; side++) {
        const i64 here = more + (side == 0 ? missing : 0);
        if (here <= low || here >= high) raise(right_of_two(here, one, other)), note_threshold(found, j, cut, side);
      }
    }
  };
  const auto top = std::max_element(bounds.begin(), bounds.end());
  if (top == bounds.end() || *top < 0) return best;
  read(top - bounds.begin());
  best = most(best - 1, i64{-1});
  for (i64 j = 0; j < n_columns; j++)
    if (bounds[static_cast<std::size_t>(j)] > best) read(j);
  return best;
}

// Find the threshold whose votes are right on the most weight, over all ordered columns.
//
// Each side votes for its heaviest label; a threshold whose sides vote for the same label is left out.
// found: column, cut, missing left. Returns the weight that is right, -1 if there is no threshold.
inline i64 best_threshold(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows, i64 min_rows,
                          Array<i64, 1> found) {
  if (sums.shape[0] == 2 && rows.shape[0] == 0)
    return best_threshold_of_two(sums, totals, n_bins, has_missing, ordered, found);
  const i64 labels = sums.shape[0], width = sums.shape[2];
  const auto buffer = std::make_unique_for_overwrite<i64[]>(static_cast<std::size_t>((labels + 4) * width));
  i64 *__restrict most_left = buffer.get(), *__restrict most_right = most_left + width;
  i64 *__restrict at_left = most_left + 2 * width, *__restrict at_right = most_left + 3 * width;  // the heaviest labels
  i64* const upto = most_left + 4 * width;  // [label, cut]
  i64 best = -1;
  for (i64 j = 0; j < n_bins.shape[0]; j++) {
    const Thresholds cuts(n_bins, has_missing, ordered, j);
    for (i64 k = 0; k < labels; k++) sum_cuts(sums[k][j].data, cuts.n_cuts, upto + k * width);
    i64 first_best = 0;  // in this column: of equals the first cut is wanted, and missing values on the left
    for (i64 side = cuts.first_side(); side < 2; side++) {
      for (i64 cut = 0; cut < cuts.n_cuts; cut++) most_left[cut] = most_right[cut] = -1, at_left[cut] = at_right[cut] = 0;
      for (i64 k = 0; k < labels; k++) {
        const i64 *__restrict left = upto + k * width, total = totals[k], missing = side == 0 ? sums(k, j, width - 1) : 0;
        for (i64 cut = 0; cut < cuts.n_cuts; cut++) {
          const i64 here = left[cut] + missing, there = total - here;
          at_left[cut] = here > most_left[cut] ? k : at_left[cut];
          most_left[cut] = most(most_left[cut], here);
          at_right[cut] = there > most_right[cut] ? k : at_right[cut];
          most_right[cut] = most(most_right[cut], there);
        }
      }
      for (i64 cut = 0; cut < cuts.n_cuts - (side == 0); cut++) {
        const i64 right = most_left[cut] + most_right[cut];
        const bool better = right > best || (right == best && side == 1 && cut < first_best);
        if (better && at_left[cut] != at_right[cut] && enough_rows(rows, j, cut, side, min_rows))
          best = right, first_best = cut, note_threshold(found, j, cut, side);
      }
    }
  }
  return best;
}

// Find the threshold for both children of a split whose four leaves are right on the most weight.
//
// left, whole[label, column, bin]: of the rows on the left of that split, and of all; totals_left, totals[label].
// taken: the column of that split, which is left out. Sums may be negative. found: column, cut, missing left.
// Returns the weight that is right, the lowest integer if there is no threshold.
inline i64 best_common_threshold(Sums left, Sums whole, Ints totals_left, Ints totals, Ints n_bins, Flags has_missing,
                                 Flags ordered, i64 taken, Array<i64, 1> found) {
  constexpr i64 lowest = std::numeric_limits<i64>::min();
  const i64 labels = whole.shape[0], width = whole.shape[2];
  const auto buffer = std::make_unique_for_overwrite<i64[]>(static_cast<std::size_t>((2 * labels + 4) * width));
  i64 *__restrict a = buffer.get(), *__restrict b = a + width;  // the heaviest labels of the four leaves
  i64 *__restrict c = a + 2 * width, *__restrict d = a + 3 * width, *const upto = a + 4 * width;  // [of which, label, cut]
  i64 best = lowest;
  for (i64 j = 0; labels > 0 && j < n_bins.shape[0]; j++) {
    const Thresholds cuts(n_bins, has_missing, ordered, j);
    if (j == taken) continue;
    for (i64 k = 0; k < labels; k++) {
      sum_cuts(left[k][j].data, cuts.n_cuts, upto + k * width);
      sum_cuts(whole[k][j].data, cuts.n_cuts, upto + (labels + k) * width);
    }
    i64 first_best = 0;
    for (i64 side = cuts.first_side(); side < 2; side++) {
      for (i64 cut = 0; cut < cuts.n_cuts; cut++) a[cut] = b[cut] = c[cut] = d[cut] = lowest;
      for (i64 k = 0; k < labels; k++) {
        const i64 *__restrict first = upto + k * width, *__restrict both = upto + (labels + k) * width;
        const i64 more = side == 0 ? left(k, j, width - 1) : 0, all_more = side == 0 ? whole(k, j, width - 1) : 0;
        const i64 total_left = totals_left[k], total_right = totals[k] - total_left;
        for (i64 cut = 0; cut < cuts.n_cuts; cut++) {
          const i64 here = first[cut] + more, rest = both[cut] + all_more - here;
          a[cut] = most(a[cut], here);
          b[cut] = most(b[cut], total_left - here);
          c[cut] = most(c[cut], rest);
          d[cut] = most(d[cut], total_right - rest);
        }
      }
      for (i64 cut = 0; cut < cuts.n_cuts - (side == 0); cut++) {
        const i64 right = a[cut] + b[cut] + c[cut] + d[cut];
        if (right > best || (right == best && side == 1 && cut < first_best))
          best = right, first_best = cut, note_threshold(found, j, cut, side);
      }
    }
  }
  return best;
}

// EBBoost's cost (3) at the best step over that of no step, for a voter that is right on these shares of w and w^2.
//
// spread: the mean of w^2 over the square of the mean of w.
inline double cost_at_best(double right, double right_squares, double lam, double spread) {
  const double wrong = 1.0 - right;
  const double ups = (1.0 - lam) * right * right + lam * (right_squares * spread);
  const double downs = (1.0 - lam) * wrong * wrong + lam * ((1.0 - right_squares) * spread);
  return 2.0 * std::sqrt(most(ups * downs, 0.0)) + 2.0 * (1.0 - lam) * right * wrong;
}

// Find the threshold of the lowest `cost_at_best` whose left side votes for label 1 and whose right side for 0.
//
// sums, squares[label, column, bin] and their totals[label]: of w and of w^2. found: column, cut, missing left.
// Returns the cost, infinity if there is no threshold.
inline double cheapest_threshold(Sums sums, Ints totals, Sums squares, Ints square_totals, Ints n_bins, Flags has_missing,
                                 Flags ordered, double lam, double spread, Array<i64, 1> found) {
  const i64 miss = sums.shape[2] - 1;
  const double all_weights = real(totals[0] + totals[1]), all_squares = real(square_totals[0] + square_totals[1]);
  double lowest = infinity;
  for (i64 j = 0; j < n_bins.shape[0]; j++) {
    const Thresholds cuts(n_bins, has_missing, ordered, j);
    const i64 *one = sums[0][j].data, *other = sums[1][j].data;
    const i64 *one_square = squares[0][j].data, *other_square = squares[1][j].data;
    i64 right = totals[0], up = square_totals[0];
    for (i64 cut = 0; cut < cuts.n_cuts; cut++) {
      right += other[cut] - one[cut];
      up += other_square[cut] - one_square[cut];
      for (i64 side = cuts.first_side(cut); side < 2; side++) {
        const i64 here = right + (side == 0 ? other[miss] - one[miss] : 0);
        const i64 above = up + (side == 0 ? other_square[miss] - one_square[miss] : 0);
        const double cost = cost_at_best(real(here) / all_weights, real(above) / all_squares, lam, spread);
        if (cost < lowest) lowest = cost, note_threshold(found, j, cut, side);
      }
    }
  }
  return lowest;
}

// Write the bins on_left of a split x <= cut, and the weights sides[side, label] on its two sides.
//
// Missing values go left if missing_left is 1, right if it is 0; if -1, to the side that is heavier in seen[bin].
inline void send_left(Sums histogram, Ints seen, i64 column, i64 cut, i64 missing_left, Array<bool, 1> on_left,
                      Array<i64, 2> sides) {
  const i64 miss = on_left.shape[0] - 1;
  if (miss < 0) return;
  const i64 end = least(cut + 1, miss);  // of the bins that go left
  if (missing_left < 0) missing_left = sum_of(seen, 0, end) >= sum_of(seen, end, miss);
  for (i64 b = 0; b < miss; b++) on_left[b] = b < end;
  on_left[miss] = missing_left == 1;
  for (i64 k = 0; k < histogram.shape[0]; k++) {
    const Ints mine = histogram[k][column];
    const i64 missing = mine[miss], left = sum_of(mine, 0, end), right = sum_of(mine, end, miss);
    sides(0, k) = left + (missing_left == 1 ? missing : 0);
    sides(1, k) = right + (missing_left == 1 ? 0 : missing);
  }
}

// ---------------------------------------------------------------- by purity

// Weights that are all 0, as an argument of `purity`.
struct NoWeights {
  i64 operator[](i64) const { return 0; }
};

// How well a split separates the labels, larger is better. Criterion 1: Gini; 2: Matsushita's error, negated.
//
// Gini: the sum over sides of sum_k w_k^2 / w. Matsushita: minus the sum over sides of sum_k sqrt(w_k (w - w_k)).
template <class Left>
inline double purity(i64 criterion, const Left& left, Ints totals) {
  double all_left = 0.0, all_right = 0.0;
  for (i64 k = 0; k < totals.shape[0]; k++) {
    all_left += static_cast<double>(left[k]);
    all_right += static_cast<double>(totals[k] - left[k]);
  }
  double score_left = 0.0, score_right = 0.0;  // one number per side: a split and its mirror image then tie to the bit
  for (i64 k = 0; k < totals.shape[0]; k++) {
    const double here = static_cast<double>(left[k]), there = static_cast<double>(totals[k] - left[k]);
    if (criterion == gini) {
      if (all_left > 0) score_left += here * here / all_left;
      if (all_right > 0) score_right += there * there / all_right;
    } else {
      score_left -= std::sqrt(here * most(all_left - here, 0.0));
      score_right -= std::sqrt(there * most(all_right - there, 0.0));
    }
  }
  return score_left + score_right;
}

// Whether one label has all of the weight but a millionth, for nodes where no split gains.
//
// A split that leaves the heaviest label on both sides gains the square of the share of the others by Gini's index.
// Below a millionth this is lost in rounding: that no split gains then does not mean that the node is balanced.
inline bool is_pure(Ints totals) {
  double weight = 0.0;
  for (i64 k = 0; k < totals.shape[0]; k++) weight += static_cast<double>(totals[k]);
  return weight <= purity(gini, NoWeights{}, totals) * (1 + 1e-6);
}

// The scores of all cuts of a column, and what they are computed from.
class CutScores {
 public:
  double* scores[2];  // missing values on the left, on the right

  CutScores(i64 criterion, Sums sums, Ints totals) : criterion(criterion), sums(sums), totals(totals) {
    const auto labels = static_cast<std::size_t>(sums.shape[0]), width = static_cast<std::size_t>(sums.shape[2]);
    weights = std::make_unique_for_overwrite<i64[]>(labels * width);
    reals = std::make_unique_for_overwrite<double[]>(6 * width);
    for (std::size_t side = 0; side < 2; side++) scores[side] = reals.get() + side * width;
  }

  // Of a column of two labels, as `purity_of_two`; false, without scores, if no cut can have one above `best`.
  bool of_two(i64 column, const Thresholds& cuts, double best) {
    const i64 *__restrict first = sums[0][column].data, *__restrict second = sums[1][column].data;
    i64 *__restrict here = on_left(0), *__restrict also_here = on_left(1), a = 0, b = 0;
    for (i64 cut = 0; cut < cuts.n_cuts; cut++) here[cut] = a += first[cut], also_here[cut] = b += second[cut];
    bool may_win = criterion != gini || best < 0;
    for (i64 side = cuts.first_side(); side < 2; side++) may_win = may_win || any_may_beat(best, column, cuts.n_cuts, side);
    for (i64 side = cuts.first_side(); may_win && side < 2; side++) {
      if (criterion == gini) score_two<gini>(column, cuts.n_cuts, side);
      else score_two<matsushita>(column, cuts.n_cuts, side);
    }
    return may_win;
  }

  // Of a column of any number of labels, by the operations of `purity`, label by label.
  void of_many(i64 column, const Thresholds& cuts) {
    const i64 labels = sums.shape[0], width = sums.shape[2], n = cuts.n_cuts;
    double *__restrict all_left = reals.get() + 2 * width, *__restrict all_right = all_left + width;
    double *__restrict left = all_left + 2 * width, *__restrict right = all_left + 3 * width;
    for (i64 k = 0; k < labels; k++) sum_cuts(sums[k][column].data, n, on_left(k));
    for (i64 side = cuts.first_side(); side < 2; side++) {
      for (i64 cut = 0; cut < n; cut++) all_left[cut] = all_right[cut] = left[cut] = right[cut] = 0.0;
      for (i64 k = 0; k < labels; k++) {
        const i64 *__restrict here = on_left(k), more = missing(k, column, side), total = totals[k] - more;
        for (i64 cut = 0; cut < n; cut++) all_left[cut] += real(here[cut] + more), all_right[cut] += real(total - here[cut]);
      }
      if (criterion == gini)  // a side without weight scores 0; any other has at least 1
        for (i64 cut = 0; cut < n; cut++) all_left[cut] = most(all_left[cut], 1.0), all_right[cut] = most(all_right[cut], 1.0);
      for (i64 k = 0; k < labels; k++) {
        const i64 *__restrict here = on_left(k), more = missing(k, column, side), total = totals[k] - more;
        if (criterion == gini) {
          for (i64 cut = 0; cut < n; cut++) {
            const double a = real(here[cut] + more), b = real(total - here[cut]);
            left[cut] += a * a / all_left[cut];
            right[cut] += b * b / all_right[cut];
          }
        } else {
          for (i64 cut = 0; cut < n; cut++) {
            const double a = real(here[cut] + more), b = real(total - here[cut]);
            left[cut] -= std::sqrt(a * most(all_left[cut] - a, 0.0));
            right[cut] -= std::sqrt(b * most(all_right[cut] - b, 0.0));
          }
        }
      }
      double* __restrict score = scores[side];
      for (i64 cut = 0; cut < n; cut++) score[cut] = left[cut] + right[cut];
    }
  }

 private:
  i64 criterion;
  Sums sums;
  Ints totals;
  std::unique_ptr<i64[]> weights;  // [label, cut]: left of the cut, without missing values
  std::unique_ptr<double[]> reals;

  i64* on_left(i64 label) const { return weights.get() + label * sums.shape[2]; }

  // The weight of the missing values that go left.
  i64 missing(i64 label, i64 column, i64 side) const { return side == 0 ? sums(label, column, sums.shape[2] - 1) : 0; }

  bool any_may_beat(double best, i64 column, i64 n_cuts, i64 side) const {
    const i64 *__restrict here = on_left(0), *__restrict also_here = on_left(1);
    const i64 more = missing(0, column, side), also_more = missing(1, column, side);
    const double one = real(totals[0]), other = real(totals[1]), to_beat = gain_to_beat(best, one, other);
    i64 better = 0;
    for (i64 cut = 0; cut < n_cuts; cut++)
      better += may_beat(real(here[cut] + more), real(also_here[cut] + also_more), one, other, to_beat);
    return better > 0;
  }

  template <i64 constant>  // lets the compiler vectorise the loop
  void score_two(i64 column, i64 n_cuts, i64 side) {
    const i64 *__restrict here = on_left(0), *__restrict also_here = on_left(1);
    const i64 more = missing(0, column, side), also_more = missing(1, column, side), one = totals[0], other = totals[1];
    double* __restrict score = scores[side];
    for (i64 cut = 0; cut < n_cuts; cut++) {
      const i64 a = here[cut] + more, b = also_here[cut] + also_more;
      score[cut] = purity_of_two(constant, real(a), real(one - a), real(b), real(other - b));
    }
  }
};

// As best_threshold, for the largest `purity`; minus infinity if there is no threshold.
inline double purest_threshold(Sums sums, Ints totals, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows,
                               i64 min_rows, i64 criterion, Array<i64, 1> found) {
  const bool two = sums.shape[0] == 2;
  CutScores parts(criterion, sums, totals);
  double best = -infinity;
  for (i64 j = 0; j < n_bins.shape[0]; j++) {
    const Thresholds cuts(n_bins, has_missing, ordered, j);
    if (cuts.n_cuts == 0 || (two && !parts.of_two(j, cuts, best))) continue;
    if (!two) parts.of_many(j, cuts);
    for (i64 cut = 0; cut < cuts.n_cuts; cut++) {
      for (i64 side = cuts.first_side(cut); side < 2; side++) {
        if (!(parts.scores[side][cut] > best)) continue;
        i64 moved = 0;  // an empty bin of this node: the cut before it is the same split, and came first
        for (i64 k = 0; k < sums.shape[0]; k++) moved |= sums(k, j, cut);
        if (moved != 0 && enough_rows(rows, j, cut, side, min_rows))
          best = parts.scores[side][cut], note_threshold(found, j, cut, side);
      }
    }
  }
  return best;
}

// ---------------------------------------------------------------- sets of categories

// Find the set of categories whose vote is right on the most weight, over all category columns.
//
// For two labels the best set holds the categories that are heavier in one than in the other, so every pair of labels
// is tried; ties: first column, then first pair. found: column, left label, right label; a category is on the left if
// it is heavier in the left label. Returns the weight that is right, or -1.
inline i64 best_subset(Sums sums, Ints n_bins, Flags has_missing, Flags ordered, RowCounts rows, i64 min_rows,
                       Array<i64, 1> found) {
  const i64 labels = sums.shape[0], miss = sums.shape[2] - 1;
  i64 best = -1;
  for (i64 j = 0; j < n_bins.shape[0]; j++) {
    if (ordered[j]) continue;
    for (i64 a = 0; a < labels; a++) {
      for (i64 b = a + 1; b < labels; b++) {
        const i64 *one = sums[a][j].data, *other = sums[b][j].data;
        i64 total = 0, categories[2] = {}, n_rows[2] = {};  // by side
        for (i64 c = 0; c < n_bins[j] + has_missing[j]; c++) {
          const i64 at = c == n_bins[j] ? miss : c, side = one[at] > other[at] ? 0 : 1;
          total += most(one[at], other[at]);
          categories[side]++;
          if (rows.shape[0] > 0) n_rows[side] += rows(j, at);
        }
        const bool enough = rows.shape[0] == 0 || least(n_rows[0], n_rows[1]) >= min_rows;
        if (categories[0] > 0 && categories[1] > 0 && total > best && enough)
          best = total, found[0] = j, found[1] = a, found[2] = b;
      }
    }
  }
  return best;
}

// As best_subset, for the largest `purity`: categories in the order of a label's share, cut once.
//
// For two labels this finds the best of all sets; for more, the best along each label's order. Missing values are one
// more category. on_left[bin] gets the set; found: column. Returns the purity, or minus infinity.
inline double purest_subset(Sums sums, Ints totals, Ints n_bins, Flags ordered, RowCounts rows, i64 min_rows, i64 criterion,
                            Array<i64, 1> found, Array<bool, 1> on_left) {
  const i64 labels = sums.shape[0], miss = sums.shape[2] - 1;
  std::vector<i64> here(static_cast<std::size_t>(labels));
  std::vector<std::pair<double, i64>> order;  // the share of the label in a category, and its bin
  double best = -infinity;
  for (i64 j = 0; j < n_bins.shape[0]; j++) {
    if (ordered[j]) continue;
    const i64 all_rows = rows.shape[0] > 0 ? sum_of(rows[j], 0, rows.shape[1]) : 0;
    for (i64 label = labels == 2 ? 1 : 0; label < labels; label++) {
      order.clear();
      for (i64 c = 0; c < n_bins[j] + 1; c++) {
        const i64 bin = c == n_bins[j] ? miss : c;
        double weight = 0.0;
        for (i64 k = 0; k < labels; k++) weight += static_cast<double>(sums(k, j, bin));
        if (weight > 0) order.emplace_back(static_cast<double>(sums(label, j, bin)) / weight, bin);
      }
      std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::fill(here.begin(), here.end(), 0);
      i64 n_rows = 0;
      for (std::size_t c = 0; c + 1 < order.size(); c++) {
        for (i64 k = 0; k < labels; k++) here[k] += sums(k, j, order[c].second);
        if (rows.shape[0] > 0) {
          n_rows += rows(j, order[c].second);
          if (n_rows < min_rows || all_rows - n_rows < min_rows) continue;
        }
        double score;
        if (labels == 2) {  // as for thresholds: the same split must get the same score
          const double a = static_cast<double>(here[0]), other_a = static_cast<double>(totals[0] - here[0]);
          const double b = static_cast<double>(here[1]), other_b = static_cast<double>(totals[1] - here[1]);
          score = purity_of_two(criterion, a, other_a, b, other_b);
        } else {
          score = purity(criterion, here, totals);
        }
        if (score <= best) continue;
        best = score;
        found[0] = j;
        fill(on_left, false);
        for (std::size_t e = 0; e <= c; e++) on_left[order[e].second] = true;
      }
    }
  }
  return best;
}

}  // namespace electorate
