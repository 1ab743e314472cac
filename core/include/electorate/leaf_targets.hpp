// Numeric targets by the nodes and leaves of a tree: sums of weight x target, and what lies up to points of a leaf.
//
// leaf[row]: of rows with targets in ascending order, so that the rows of every leaf are in order too.
#pragma once
#include <vector>

#include "electorate/histograms.hpp"
#include "electorate/special.hpp"

namespace electorate {

// Of every row its weight exp(floor - log) x kappa x real, which counts `times`, and its target from low to high. kappa,
// real and times may be empty: 1.
struct TargetWeights {
  Array<const double, 1> log, target, kappa, real;
  Array<const i64, 1> times;
  double floor, low, high, scale;
  static constexpr const char* name = "TargetWeights";
  static constexpr auto fields =
      std::tuple(&TargetWeights::log, &TargetWeights::target, &TargetWeights::kappa, &TargetWeights::real,
                 &TargetWeights::times, &TargetWeights::floor, &TargetWeights::low, &TargetWeights::high, &TargetWeights::scale);
};

// out[k] = weight x target of row rows[k] on the grid.
inline void weigh_targets(const TargetWeights& of, const u32* __restrict rows, i64 n_rows, i64* __restrict out) {
  constexpr i64 at_once = 1024;
  double product[at_once], share[at_once];
  const double width = of.high - of.low, low = of.low, floor = of.floor, scale = of.scale;
  for (i64 at = 0; at < n_rows; at += at_once) {
    const u32* __restrict mine = rows + at;
    const i64 n = least(at_once, n_rows - at);
    for (i64 k = 0; k < n; k++) {
      product[k] = floor - of.log.data[mine[k]];
      share[k] = width > 0 ? least(most((of.target.data[mine[k]] - low) / width, 0.0), 1.0) : 0.0;
    }
    for (i64 k = 0; k < n; k++) product[k] = exp(product[k]);  // without gathering, so that it is vectorised
    for (const auto& factor : {of.kappa, of.real})
      for (i64 k = 0; k < (factor.empty() ? 0 : n); k++) product[k] *= factor.data[mine[k]];
    for (i64 k = 0; k < n; k++) out[at + k] = on_grid(product[k] * share[k] * scale);
    for (i64 k = 0; k < (of.times.empty() ? 0 : n); k++) out[at + k] *= of.times.data[mine[k]];
  }
}

// Add to sums[node, (weight, weight x target), column, bin] the histograms of some nodes. grid: the weights. clear: set
// the sums to 0 before.
template <class T>
inline void sum_targets(Array<const T, 2> codes, Array<const i64, 1> grid, const TargetWeights& of, Array<const u32, 1> order,
                        const NodeArrays& nodes, Array<const i64, 1> numbers, Array<i64, 4> sums, bool clear) {
  i64 weight[rows_picked], second[rows_picked];
  if (clear) fill(sums, i64{0});
  for (i64 m = 0; m < numbers.shape[0]; m++) {
    const i64 low = nodes.low[numbers[m]], high = low + nodes.starts(numbers[m], nodes.starts.shape[1] - 1);
    for (i64 at = low; at < high; at += rows_picked) {
      const u32* __restrict rows = order.data + at;
      const i64 n = least(rows_picked, high - at);
      for (i64 k = 0; k < n; k++) weight[k] = grid.data[rows[k]];
      weigh_targets(of, rows, n, second);
      const auto row_of = [rows](i64 k) { return static_cast<i64>(rows[k]); };
      add_rows<T>(codes, weight, n, row_of, sums[m][0]);
      add_rows<T>(codes, second, n, row_of, sums[m][1]);
    }
  }
}

// mass[(weight, distinct targets), point] of a leaf up to each of its points; following: the next target, or infinity.
// Leaf i has the points ends[i]..ends[i + 1], in ascending order.
inline void mass_up_to(Array<const i32, 1> leaf, Array<const double, 1> targets, Array<const i64, 1> weights,
                       Array<const double, 1> points, Array<const i64, 1> ends, Array<i64, 2> mass, Array<double, 1> following) {
  struct Leaf {
    i64 at, end, weight, distinct;
    double last;
  };
  std::vector<Leaf> leaves;
  for (i64 k = 0; k + 1 < ends.shape[0]; k++) leaves.push_back({ends[k], ends[k + 1], 0, 0, -infinity});
  const auto note = [&](Leaf& mine, double next) {
    mass(0, mine.at) = mine.weight, mass(1, mine.at) = mine.distinct;
    following[mine.at++] = next;
  };
  for (i64 i = 0; i < targets.shape[0]; i++) {
    Leaf& mine = leaves[static_cast<std::size_t>(leaf[i])];
    const double target = targets[i];
    while (mine.at < mine.end && points[mine.at] < target) note(mine, target);
    mine.weight += weights[i];
    mine.distinct += target != mine.last;
    mine.last = target;
  }
  for (Leaf& mine : leaves)
    while (mine.at < mine.end) note(mine, infinity);
}

// Distinct targets of every leaf inside its ranges, with their weights; returns how many there are. Leaf i has the
// ranges[k, (above, up to)], ends[i]..ends[i + 1], ascending and apart. Where the arrays of the answer are too short, the
// rest is only counted.
inline i64 targets_between(Array<const i32, 1> leaf, Array<const double, 1> targets, Array<const i64, 1> weights,
                           Array<const double, 2> ranges, Array<const i64, 1> ends, Array<i64, 1> found_leaf,
                           Array<double, 1> found, Array<i64, 1> mass) {
  struct Leaf {
    i64 at, end, place;
    double last;
  };
  std::vector<Leaf> leaves;
  for (i64 k = 0; k + 1 < ends.shape[0]; k++)
    leaves.push_back({ends[k], ends[k + 1], -1, -std::numeric_limits<double>::infinity()});
  const i64 room = found.shape[0];
  i64 n = 0;
  for (i64 i = 0; i < targets.shape[0]; i++) {
    Leaf& mine = leaves[static_cast<std::size_t>(leaf[i])];
    const double target = targets[i];
    while (mine.at < mine.end && ranges(mine.at, 1) < target) mine.at++;
    if (mine.at == mine.end || target <= ranges(mine.at, 0)) continue;
    if (target != mine.last) {
      mine.last = target, mine.place = n++;
      if (mine.place < room) found_leaf[mine.place] = leaf[i], found[mine.place] = target, mass[mine.place] = 0;
    }
    if (mine.place < room) mass[mine.place] += weights[i];
  }
  return n;
}

// found[leaf, (weight within eps of its value, all weight)], added to what it holds.
inline void weigh_near(Array<const i32, 1> leaf, Array<const double, 1> targets, Array<const i64, 1> weights,
                       Strided<const double> values, double eps, Array<i64, 2> found) {
  for (i64 i = 0; i < targets.shape[0]; i++) {
    const i64 k = leaf[i];
    found(k, 0) += std::fabs(targets[i] - values[k]) <= eps ? weights[i] : 0;
    found(k, 1) += weights[i];
  }
}

// The targets and weights of the rows, leaf by leaf, each in their order; n_rows[leaf]: how many.
inline void targets_by_leaf(Array<const i32, 1> leaf, Array<const double, 1> targets, Array<const i64, 1> weights,
                            Array<i64, 1> n_rows, Array<double, 1> targets_out, Array<i64, 1> weights_out) {
  fill(n_rows, i64{0});
  for (i64 i = 0; i < leaf.shape[0]; i++) n_rows[leaf[i]]++;
  std::vector<i64> place;
  i64 at = 0;
  for (i64 k = 0; k < n_rows.shape[0]; at += n_rows[k++]) place.push_back(at);
  for (i64 i = 0; i < leaf.shape[0]; i++) {
    at = place[static_cast<std::size_t>(leaf[i])]++;
    targets_out[at] = targets[i], weights_out[at] = weights[i];
  }
}

}  // namespace electorate
