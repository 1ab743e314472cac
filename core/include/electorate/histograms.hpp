// Exact sums per label, column and bin: int64 on a fixed grid, so that neither threads nor shards change a bit.
//
// codes of 8 bits come as words of four columns, codes[word, row]; wider codes as codes[column, row].
#pragma once
#include <vector>

#include "electorate/layouts.hpp"

namespace electorate {

constexpr i64 rows_picked = 4096;  // rows of a node at a time: their numbers stay in the cache for all columns
constexpr i64 cells_at_once = 1024;  // of sums that are added up

// grid[i] = rint(channel[i] * scale) * times[i] (times 1 where `times` is empty); totals[label] = its sums.
inline void quantise(Array<const double, 1> channel, Array<const i64, 1> times, double scale, Array<const i64, 1> starts,
                     Array<i64, 1> grid, Array<i64, 1> totals) {
  const double* values = channel.data;
  i64* numbers = grid.data;
  for (i64 label = 0; label < totals.shape[0]; label++) {
    i64 total = 0;
    const i64 low = starts[label], high = starts[label + 1];
    if (times.shape[0] == 0) {
      for (i64 i = low; i < high; i++) {
        const i64 q = on_grid(values[i] * scale);
        numbers[i] = q;
        total += q;
      }
    } else {
      const i64* counts = times.data;
      for (i64 i = low; i < high; i++) {
        const i64 q = on_grid(values[i] * scale) * counts[i];
        numbers[i] = q;
        total += q;
      }
    }
    totals[label] = total;
  }
}

// sums[column, bin] += numbers[k] for the code of row `row_of(k)`, k from 0 to n.
template <class T, class RowOf>
inline void add_rows(Array<const T, 2> codes, const i64* __restrict numbers, i64 n, RowOf row_of, Array<i64, 2> sums) {
  if (sums.shape[0] == codes.shape[0]) {
    for (i64 j = 0; j < codes.shape[0]; j++) {
      const T* __restrict column = codes[j].data;
      i64* __restrict total = sums[j].data;
      for (i64 k = 0; k < n; k++) total[column[row_of(k)]] += numbers[k];
    }
    return;
  }
  if constexpr (std::is_same_v<T, u32>) {
    for (i64 g = 0; g < codes.shape[0]; g++) {
      const u32* __restrict words = codes[g].data;
      i64* __restrict first = sums[4 * g].data;
      i64* __restrict second = sums[4 * g + 1].data;
      i64* __restrict third = sums[4 * g + 2].data;
      i64* __restrict fourth = sums[4 * g + 3].data;
      for (i64 k = 0; k < n; k++) {
        const u32 word = words[row_of(k)];
        const i64 q = numbers[k];
        first[word & 255] += q;
        second[(word >> 8) & 255] += q;
        third[(word >> 16) & 255] += q;
        fourth[word >> 24] += q;
      }
    }
  }
}

// sums[column, bin] += grid over rows low..high.
template <class T>
inline void histogram(Array<const T, 2> codes, Array<const i64, 1> grid, i64 low, i64 high, Array<i64, 2> sums) {
  if (low < high) add_rows<T>(codes, grid.data + low, high - low, [low](i64 k) { return low + k; }, sums);
}

// `histogram` over the rows order[low:high].
template <class T, class Row>
inline void histogram_of(Array<const T, 2> codes, Array<const i64, 1> grid, Array<const Row, 1> order, i64 low, i64 high,
                         Array<i64, 2> sums) {
  i64 picked[rows_picked];
  for (i64 at = low; at < high; at += rows_picked) {
    const Row* rows = order.data + at;
    const i64 n = least(rows_picked, high - at);
    for (i64 k = 0; k < n; k++) picked[k] = grid[static_cast<i64>(rows[k])];
    add_rows<T>(codes, picked, n, [rows](i64 k) { return static_cast<i64>(rows[k]); }, sums);
  }
}

// Add to sums[group[label]] the `histogram` of the rows of every label; starts[k]..starts[k + 1] are those of label k.
// clear: set the sums to 0 before.
template <class T, class Add>
inline void by_group(Array<const i64, 1> starts, Array<const i64, 1> group, Array<i64, 3> sums, bool clear, Add add) {
  i64 cleared = 0;  // groups ascend with their first label
  for (i64 label = 0; label < group.shape[0]; label++) {
    for (; clear && group[label] >= cleared; cleared++) fill(sums[cleared], i64{0});  // just before it is used
    if (starts[label] < starts[label + 1]) add(starts[label], starts[label + 1], sums[group[label]]);
  }
}

template <class T>
inline void label_histograms(Array<const T, 2> codes, Array<const i64, 1> grid, Array<const i64, 1> starts,
                             Array<const i64, 1> group, Array<i64, 3> sums, bool clear) {
  by_group<T>(starts, group, sums, clear,
              [&](i64 low, i64 high, Array<i64, 2> mine) { histogram<T>(codes, grid, low, high, mine); });
}

// As `label_histograms`, for the rows order[low:] of one node; grid: of all rows.
template <class T, class Row>
inline void node_histograms(Array<const T, 2> codes, Array<const i64, 1> grid, Array<const Row, 1> order, i64 low,
                            Array<const i64, 1> starts, Array<const i64, 1> group, Array<i64, 3> sums, bool clear) {
  by_group<T>(starts, group, sums, clear, [&](i64 first, i64 last, Array<i64, 2> mine) {
    histogram_of<T, Row>(codes, grid, order, low + first, low + last, mine);
  });
}

// out[low:high] = the sums over all shards of stack[shard, low:high].
inline void add_up(Array<const i64, 2> stack, Array<i64, 1> out, i64 low, i64 high) {
  for (i64 at = low; at < high; at += cells_at_once) {
    const i64 n = least(cells_at_once, high - at);
    i64* __restrict total = out.data + at;
    for (i64 i = 0; i < n; i++) total[i] = 0;
    for (i64 shard = 0; shard < stack.shape[0]; shard++) {
      const i64* __restrict more = stack[shard].data + at;
      for (i64 i = 0; i < n; i++) total[i] += more[i];
    }
  }
}

// Of several histograms: out[cell of a column's code] += the sums of that code in the stored column.
inline void spread(Array<const i64, 3> sums, Array<const i64, 1> place, Array<const i64, 1> used, Array<const u32, 2> cell,
                   Array<i64, 2> out) {
  for (i64 h = 0; h < sums.shape[0]; h++)
    for (i64 j = 0; j < place.shape[0]; j++)
      for (i64 code = 0; code < used[j]; code++) out(h, cell(j, code)) += sums(h, place[j], code);
}

// Of several histograms: out[cells[i]] = packed[i], and 0 elsewhere; cells ascend.
inline void unpack(Array<const i64, 2> packed, Array<const i64, 1> cells, Array<i64, 2> out) {
  for (i64 h = 0; h < packed.shape[0]; h++) {
    fill(out[h], i64{0});
    for (i64 i = 0; i < cells.shape[0]; i++) out(h, cells[i]) = packed(h, i);
  }
}

}  // namespace electorate
