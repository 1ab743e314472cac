// Distinct values of a column: their hashes, a table that counts them, and the groups of values that become bins.
//
// Callers keep a call under 0.2 s, so that Ctrl-C works; this holds for all kernels that loop over rows.
#pragma once
#include <bit>
#include <tuple>
#include <vector>

#include "electorate/array.hpp"

namespace electorate {

// out[i] = mix(values[i]).
inline void hash_values(const double* __restrict values, i64 n, u64* __restrict out) {
  for (i64 i = 0; i < n; i++) out[i] = mix(values[i]);
}

// Fold one more number into the hash of every row.
inline void fold(Strided<const double> values, Array<u64, 1> hashes) {
  const double* __restrict from = values.data;
  u64* __restrict to = hashes.data;
  const i64 n = least(values.shape[0], hashes.shape[0]), stride = values.stride[0];
  for (i64 i = 0; i < n; i++) to[i] = folded(to[i], from[i * stride]);
}

// `fold` of all columns of array[row, column], the first one first. Several rows at a time: each number waits for the
// one before it in its row.
template <class T>
inline void fold_rows(Array<const T, 2> array, Array<u64, 1> hashes) {
  constexpr i64 together = 16;
  const i64 columns = array.shape[1], stride = array.stride[0];
  i64 i = 0;
  for (; i + together <= array.shape[0]; i += together) {
    const T* __restrict rows = array.data + i * stride;
    u64 some[together];
    for (i64 k = 0; k < together; k++) some[k] = hashes.data[i + k];
    for (i64 j = 0; j < columns; j++)
      for (i64 k = 0; k < together; k++) some[k] = folded(some[k], rows[k * stride + j]);
    for (i64 k = 0; k < together; k++) hashes.data[i + k] = some[k];
  }
  for (; i < array.shape[0]; i++)
    for (i64 j = 0; j < columns; j++) hashes[i] = folded(hashes[i], array(i, j));
}

// Add values[start:] with their integer weights to a hash table of distinct values. Returns the next row to read, which
// is not the end if the table is at its capacity and another value comes. info: number of values in the table, weight
// of missing values, first infinite row (or -1). The size of the table is a power of two, or 0.
inline i64 tally(Strided<const double> values, Array<const i64, 1> weights, i64 start, Array<double, 1> keys,
                 Array<i64, 1> totals, Array<i64, 1> info, i64 capacity) {
  if (keys.shape[0] == 0) return start;
  const u64 mask = static_cast<u64>(keys.shape[0]) - 1;
  for (i64 i = start; i < values.shape[0]; i++) {
    const i64 weight = weights[i];
    const double value = values[i] + 0.0;  // -0.0 is 0.0
    if (weight == 0) continue;
    if (value != value) {
      info[1] += weight;
      continue;
    }
    if (std::isinf(value)) {
      if (info[2] < 0) info[2] = i;
      continue;
    }
    u64 slot = mix(value) & mask;
    while (totals.data[slot] != 0 && keys.data[slot] != value) slot = (slot + 1) & mask;
    if (totals.data[slot] == 0) {
      if (info[0] == capacity) return i;
      keys.data[slot] = value;
      info[0]++;
    }
    totals.data[slot] += weight;
  }
  return values.shape[0];
}

// Copy the finite values[start:] whose hash is at most `limit`, with their weights; returns how many.
inline i64 select(Strided<const double> values, Array<const i64, 1> weights, i64 start, u64 limit, Array<double, 1> chosen,
                  Array<i64, 1> chosen_weights, Array<i64, 1> info) {
  i64 count = 0;
  for (i64 i = start; i < values.shape[0]; i++) {
    const i64 weight = weights[i];
    const double value = values[i] + 0.0;
    if (value != value) {
      info[1] += weight;
    } else if (std::isinf(value)) {
      if (weight > 0 && info[2] < 0) info[2] = i;
    } else {  // written always, counted where it is chosen: no branch to guess
      chosen[count] = value;
      chosen_weights[count] = weight;
      count += (weight > 0) & (mix(value) <= limit);
    }
  }
  return count;
}

// Last positions of at most max_bins consecutive groups of values. A heavy value, one that weighs more than a bin's
// share of the total, gets a group of its own; the light ones fill the other groups about equally. Where there are too
// few groups, runs of light values join the heavy one after them. No weight is negative.
inline std::vector<i64> cuts(Array<const i64, 1> weights, i64 max_bins) {
  std::vector<i64> last;
  if (max_bins < 1) return last;
  const i64 n = weights.shape[0];
  const i64* __restrict weight = weights.data;
  i64 total = 0;
  for (i64 i = 0; i < n; i++) total += weight[i];
  const i64 heavy = total / max_bins;
  i64 extra = max_bins - (n > 0);  // groups beyond one for each heavy value and each run of light ones
  i64 rest = 0;                    // weight of the light values that are in no group yet
  for (i64 i = 0; i < n; i++) rest += weight[i] <= heavy ? weight[i] : 0;
  for (i64 i = 0; i < n - 1; i++) extra -= (weight[i] > heavy) | (weight[i + 1] > heavy);
  const auto new_share = [&] {
    const i64 groups = most(extra + 1, i64{1});
    return rest / groups + (rest % groups > 0);
  };
  i64 inside = 0, share = new_share();
  for (i64 i = 0; i < n; i++) {
    if (weight[i] <= heavy) {
      inside += weight[i];
      const bool at_end = i == n - 1;
      if (!at_end && weight[i + 1] > heavy) {
        if (extra < 0) {
          extra++;
          continue;
        }
      } else if (!at_end) {
        if (inside < share || extra <= 0) continue;
        extra--;
      }
      rest -= inside;
      share = new_share();
    }
    last.push_back(i);
    inside = 0;
  }
  return last;
}

// Column and row of the first infinite value of a block, or (-1, -1).
inline std::tuple<i64, i64> first_infinite(Array<const double, 2> block) {
  for (i64 j = 0; j < block.shape[0]; j++) {
    const double* __restrict x = block[j].data;
    const i64 n = block.shape[1];
    i64 some = 0;  // as wide as the values, so that the loop is vectorised well
    for (i64 i = 0; i < n; i++) some |= std::fabs(x[i]) == infinity;
    for (i64 i = 0; some && i < n; i++)
      if (std::fabs(x[i]) == infinity) return {j, i};
  }
  return {-1, -1};
}

}  // namespace electorate
