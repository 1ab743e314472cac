// The vote by weighted median: weighted quantiles of the voters' values, row by row.
//
// values[row, voter]; weights[row, voter], or one row for all; needs[row]: the weight up to the quantile.
#pragma once
#include <cstring>
#include <vector>

#include "electorate/array.hpp"

namespace electorate {

// out[row] = the smallest value (the largest for sign -1) up to which the weights come to needs[row]. A need below 1 is 1;
// where the weights do not come to it, the last value. Partitions around a pivot, so that the time is linear in the
// voters.
inline void vote_quantiles(Array<const double, 2> values, Array<const i64, 2> weights, Array<const i64, 1> needs, double sign,
                           Array<double, 1> out) {
  struct Voter {
    double value;
    i64 weight;
  };
  const i64 voters = values.shape[1];
  if (voters == 0) return;
  std::vector<Voter> buffer(static_cast<std::size_t>(voters));
  Voter* of = buffer.data();
  for (i64 i = 0; i < values.shape[0]; i++) {
    const double* __restrict from = values[i].data;
    const i64* __restrict mine = weights[weights.shape[0] > 1 ? i : 0].data;
    for (i64 t = 0; t < voters; t++) of[t] = {sign * from[t], mine[t]};
    i64 need = most(needs[i], i64{1}), first = 0, last = voters - 1;
    while (true) {
      const double a = of[first].value, b = of[(first + last) >> 1].value, c = of[last].value;
      const double pivot = most(least(a, b), least(most(a, b), c));
      i64 below = 0, equal = 0, less = first, at = first, more = last;
      while (at <= more) {
        const Voter voter = of[at];
        if (voter.value < pivot) {
          below += voter.weight;
          of[at++] = of[less];
          of[less++] = voter;
        } else if (voter.value > pivot) {
          of[at] = of[more];
          of[more--] = voter;
        } else {
          equal += voter.weight;
          at++;
        }
      }
      if (need <= below) {
        last = less - 1;
      } else if (need <= below + equal || more == last) {
        out[i] = sign * pivot;
        break;
      } else {
        need -= below + equal;
        first = more + 1;
      }
    }
  }
}

// As `vote_quantiles`, of values known by their places among n_places in order; out[row]: a place. Two passes over the
// voters: into buckets of places, then inside one bucket. from_top: for sign -1.
inline void place_quantiles(Array<const double, 2> places, Array<const i64, 2> weights, Array<const i64, 1> needs,
                            i64 n_places, bool from_top, Array<i64, 1> out) {
  i64 shift = 0;
  while ((i64{1} << (2 * shift)) < n_places) shift++;
  const i64 fine = i64{1} << shift, coarse = ((n_places - 1) >> shift) + 1, voters = places.shape[1];
  std::vector<i64> buffer(static_cast<std::size_t>(coarse + fine));
  i64 *buckets = buffer.data(), *inside = buckets + coarse;
  const i64 start = from_top ? n_places - 1 : 0, direction = from_top ? -1 : 1;
  for (i64 i = 0; i < places.shape[0]; i++) {
    const double* __restrict of = places[i].data;
    const i64* __restrict mine = weights[weights.shape[0] > 1 ? i : 0].data;
    for (i64& sum : buffer) sum = 0;
    i64 need = most(needs[i], i64{1});
    for (i64 t = 0; t < voters; t++) buckets[(start + direction * static_cast<i64>(of[t])) >> shift] += mine[t];
    i64 bucket = 0;
    while (bucket < coarse - 1 && need > buckets[bucket]) need -= buckets[bucket++];
    for (i64 t = 0; t < voters; t++) {
      const i64 place = start + direction * static_cast<i64>(of[t]);
      if (place >> shift == bucket) inside[place - (bucket << shift)] += mine[t];
    }
    i64 at = 0;
    while (at < fine - 1 && need > inside[at]) need -= inside[at++];
    out[i] = start + direction * least((bucket << shift) + at, n_places - 1);
  }
}

// Insert one more voter's value and weight among the `count` of every row, which stay sorted by value.
inline void insert_votes(Array<double, 2> values, Array<i64, 2> weights, i64 count, Array<const double, 1> new_values,
                         Array<const i64, 1> new_weights) {
  if (count >= values.shape[1]) return;
  for (i64 i = 0; i < values.shape[0]; i++) {
    const double v = new_values[i];
    double* row = values[i].data;
    i64* mass = weights[i].data;
    i64 after = 0;
    for (i64 t = 0; t < count; t++) after += row[t] > v;
    const i64 at = count - after;
    std::memmove(row + at + 1, row + at, static_cast<std::size_t>(after) * sizeof(double));
    std::memmove(mass + at + 1, mass + at, static_cast<std::size_t>(after) * sizeof(i64));
    row[at] = v;
    mass[at] = new_weights[i];
  }
}

// As `vote_quantiles`, of the first `count` values of every row, which are sorted.
inline void sorted_quantiles(Array<const double, 2> values, Array<const i64, 2> weights, i64 count, Array<const i64, 1> needs,
                             bool from_top, Array<double, 1> out) {
  if (count == 0) return;
  const i64 step = from_top ? -1 : 1;
  for (i64 i = 0; i < values.shape[0]; i++) {
    i64 need = needs[i], at = from_top ? count - 1 : 0;
    for (i64 k = 1; k < count; k++) {
      need -= weights(i, at);
      if (need <= 0) break;
      at += step;
    }
    out[i] = values(i, at);
  }
}

}  // namespace electorate
