// Whole rounds of discrete AdaBoost with stumps, for two labels and one shard: what training/stagewise.py does round by round.
//
// Every number is computed by the operations of the Python rounds, in their order, so that both give the same bits.
#pragma once
#include <chrono>
#include <vector>

#include "electorate/rounds.hpp"
#include "electorate/search.hpp"

namespace electorate {

// As many rounds as there are places for; returns how many. It ends before a round that is not an ordinary one: no stump
// gains, one is perfect, or votes become too long.
//
// rate: steps are this times the log-odds; floor, log_full, spare, coarse: of the grid (training/scale.py); reach: what
// votes can come to, and `longest`, what they may not. sums[0, label, column, bin] and totals[0, label]: of the weights,
// before and after. By round: on_left[bin]; numbers[column, cut, total and wrong after it, sides[side, label]];
// reals[step, floor after it, seconds since the call].
inline i64 boost_stumps(const ShardArrays& shard, const ColumnLayout& columns, double rate, double floor, double log_full,
                        double spare, i64 coarse, double reach, double longest, Array<i64, 4> sums, Array<i64, 2> totals,
                        Array<bool, 2> on_left, Array<i64, 2> numbers, Array<double, 2> reals) {
  constexpr double units = 0x1p40;
  constexpr i64 most_tries = 2000;
  const auto start = std::chrono::steady_clock::now();
  const i64 n_labels = shard.rows.group.shape[0], width = on_left.shape[1];
  std::vector<double> gains(static_cast<std::size_t>(2 * n_labels));  // [label of the rows, leaf]
  std::vector<u8> leaf_of_code(static_cast<std::size_t>(width));
  i64 threshold[3];

  const auto sum = [&](Column column, Array<const double, 3> change) {
    const double formula[5] = {exponential, 0, floor, 0, 0};
    fill(totals, i64{0});
    return advance(shard.packed, shard.rows, column, {leaf_of_code.data(), {width}, {1}}, change,
                   {{formula, {1, 5}, {5, 1}}, 0, 0}, shard.state, shard.grids, totals, sums, true, 0, shard.grids.shape[1]);
  };

  i64 round = 0;
  for (; round < numbers.shape[0]; round++) {
    const i64 one = totals(0, 0), other = totals(0, 1);
    if (one == 0 || other == 0) break;
    const i64 best = best_threshold_of_two(sums[0], totals[0], columns.n_bins, columns.has_missing, columns.ordered,
                                           {threshold, {3}, {1}});
    if (best <= most(one, other)) break;
    const i64 column = threshold[0];
    const Array<i64, 2> sides{&numbers(round, 4), {2, 2}, {2, 1}};
    send_left(sums[0], columns.seen[column], column, threshold[1], columns.has_missing[column] ? threshold[2] : -1,
              on_left[round], sides);

    const i64 votes[2] = {sides(0, 1) > sides(0, 0), sides(1, 1) > sides(1, 0)};  // by leaf
    const i64 right = sides(0, votes[0]) + sides(1, votes[1]), wrong = sides(0, 1 - votes[0]) + sides(1, 1 - votes[1]);
    if (wrong == 0) break;
    const double odds = quotient(right, wrong), exact_step = odds > 1 ? rate * log(odds) : 0.0;
    if (!(exact_step < longest)) break;
    const double step = rint(exact_step * units) / units;
    if (!(step > 0) || reach + step >= longest) break;
    reach += step;

    double gain[2][2];  // [label, leaf]
    for (i64 label = 0; label < 2; label++)
      for (i64 leaf = 0; leaf < 2; leaf++) gain[label][leaf] = votes[leaf] == label ? step : -step;
    for (i64 k = 0; k < 2 * n_labels; k++) gains[static_cast<std::size_t>(k)] = gain[shard.rows.group[k / 2]][k % 2];
    for (i64 code = 0; code < width; code++) leaf_of_code[static_cast<std::size_t>(code)] = !on_left(round, code);

    floor = floor + log_full - log_total(sides, {gain[0], {2, 2}, {2, 1}}, spare);
    i64 missed = sum(column_at(shard.codes, column), {gains.data(), {1, n_labels, 2}, {2 * n_labels, 2, 1}});
    i64 total = totals(0, 0) + totals(0, 1), before = -1;
    for (i64 tries = 0; tries < most_tries && total < coarse && !(0 < total && total <= before); tries++) {
      const double finer = floor + log_full - log(static_cast<double>(total) + spare);
      if (finer == floor) break;
      floor = finer, before = total;
      missed = sum({}, {});
      total = totals(0, 0) + totals(0, 1);
    }
    numbers(round, 0) = column, numbers(round, 1) = threshold[1], numbers(round, 2) = total, numbers(round, 3) = missed;
    reals(round, 0) = step, reals(round, 1) = floor;
    reals(round, 2) = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return round;
}

}  // namespace electorate
