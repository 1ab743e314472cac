// Values to bins: the code of every cell, the joint codes of bundled columns, and votes looked up by cell.
//
// A block holds columns of raw values, block[column, row].
#pragma once
#include <array>
#include <utility>

#include "electorate/array.hpp"

namespace electorate {

// counts[row] = the number of edges below x[row], by binary search; edges: 2^depth, padded with +inf.
inline void count_edges_below(const double* __restrict x, i64 n, const double* __restrict edges, i64 depth,
                              i32* __restrict counts) {
  for (i64 i = 0; i < n; i++) counts[i] = 0;
  for (i32 step = (i32{1} << depth) >> 1; step > 0; step >>= 1) {
    const double* __restrict middle = edges + (step - 1);
    for (i64 i = 0; i < n; i++) counts[i] += x[i] > middle[counts[i]] ? step : 0;
  }
}

// Write the bin of every cell: the number of edges below it, or `missing`. edges[column, 2^k] padded with +inf;
// depths[column] = bits to search; out[group, row of shard, column in group]; dest[row] = row of shard, or -1 for a row
// that is left out.
template <class Code>
inline void encode(Array<const double, 2> block, Array<const double, 2> edges, Array<const i64, 1> depths, i64 missing,
                   Array<const i64, 1> dest, Array<Code, 3> out, Array<i32, 1> scratch) {
  const i64 n = block.shape[1], per_group = out.shape[2], stride = out.stride[1];
  const i64* __restrict to = dest.data;
  const i32* __restrict counts = scratch.data;
  const Code absent = static_cast<Code>(missing);
  for (i64 j = 0; j < block.shape[0]; j++) {
    const double* __restrict x = block[j].data;
    count_edges_below(x, n, edges[j].data, depths[j], scratch.data);
    Code* __restrict column = out[j / per_group].data + j % per_group;
    for (i64 i = 0; i < n; i++)
      if (to[i] >= 0) column[to[i] * stride] = x[i] == x[i] ? static_cast<Code>(counts[i]) : absent;
  }
}

// `encode` of array[row, column], through a block [column, row] that stays in the cache; false if one is infinite. Rows
// that are left out may be infinite.
template <class T, class Code>
inline bool encode_array(Array<const T, 2> array, Array<const double, 2> edges, Array<const i64, 1> depths, i64 missing,
                         Array<const i64, 1> dest, Array<Code, 3> out, Array<double, 2> block, Array<i32, 1> scratch) {
  bool some = false;
  for (i64 low = 0; low < array.shape[0]; low += block.shape[1]) {
    const i64 n = least(block.shape[1], array.shape[0] - low);
    for (i64 i = 0; i < n; i++) {
      const T* __restrict row = array.data + (low + i) * array.stride[0];
      double* __restrict to = block.data + i;
      bool mine = false;
      for (i64 j = 0; j < array.shape[1]; j++) {
        const double value = row[j];
        to[j * block.stride[0]] = value;
        mine |= std::fabs(value) == std::numeric_limits<double>::infinity();
      }
      some |= mine && dest[low + i] >= 0;
    }
    Array<double, 2> part = block;
    part.shape[1] = n;
    encode<Code>(part, edges, depths, missing, dest.slice(low, low + n), out, scratch);
  }
  return !some;
}

// Write the joint codes of columns that share a stored column, numbered as they occur; false if 256 are too few. From
// the joint code of the columns before it and its own digit (the last digit: a missing value, code 255) a column makes
// the next joint code, steps[first[j] + sizes[j] * code + digit], or -1. Size 0: it has a stored column alone. codes and
// out: [group, row, column in group]; dest[row] = row of out, or -1 for a row that is left out.
inline bool join(Array<const u8, 3> codes, Array<const i64, 1> columns, Array<const i64, 1> sizes, Array<const i64, 1> place,
                 Array<const i64, 1> first, Array<i16, 1> steps, Array<i64, 1> count, Array<const i64, 1> dest,
                 Array<u8, 3> out) {
  const i64 n = dest.shape[0], per_group = out.shape[2], from_stride = codes.stride[1], stride = out.stride[1];
  const i64* __restrict to = dest.data;
  for (i64 c = 0; c < columns.shape[0]; c++) {
    const i64 j = columns[c], size = sizes[j];
    const u8* __restrict mine = codes[j / per_group].data + j % per_group;
    u8* __restrict joint = out[place[j] / per_group].data + place[j] % per_group;
    i16* __restrict next = steps.data + first[j];
    i64 met = count[j];
    for (i64 i = 0; i < n; i++) {
      if (to[i] < 0) continue;
      u8& code = joint[to[i] * stride];
      if (size == 0) {
        code = mine[i * from_stride];
        continue;
      }
      i16& step = next[size * code + least(i64{mine[i * from_stride]}, size - 1)];
      if (step < 0) {
        if (met == 256) return false;
        step = static_cast<i16>(met);
        count[j] = ++met;
      }
      code = static_cast<u8>(step);
    }
  }
  return true;
}

// votes[output, row] += tables[output, first[j] + cell] for every column j that has a table. A cell is the number of
// edges below the value; the last cell of a column's table is for missing values. first has one entry more than columns.
inline void lookup(Array<const double, 2> block, Array<const i64, 1> columns, Array<const double, 2> edges,
                   Array<const i64, 1> depths, Array<const i64, 1> first, Array<const i64, 2> tables, Array<i64, 2> votes,
                   Array<i32, 1> scratch) {
  const i64 n = block.shape[1];
  i32* __restrict cells = scratch.data;
  for (i64 j = 0; j < columns.shape[0]; j++) {
    const double* __restrict x = block[columns[j]].data;
    count_edges_below(x, n, edges[j].data, depths[j], cells);
    const i32 absent = static_cast<i32>(first[j + 1] - first[j] - 1);
    for (i64 i = 0; i < n; i++) cells[i] = x[i] == x[i] ? cells[i] : absent;
    for (i64 k = 0; k < votes.shape[0]; k++) {
      i64* __restrict total = votes[k].data;
      const i64* __restrict table = tables[k].data + first[j];
      for (i64 i = 0; i < n; i++) total[i] += table[cells[i]];
    }
  }
}

// total[row] += the rises at n edges that are below x[row], and `absent` where it is missing.
template <i64 n, bool with_absent>
inline void climb_edges(const double* __restrict x, i64 rows, const double* edges, const i64* rises, i64 absent,
                        i64* __restrict total) {
  double edge[n + 1];
  i64 rise[n + 1];
  for (i64 k = 0; k < n; k++) edge[k] = edges[k], rise[k] = rises[k];
  for (i64 i = 0; i < rows; i++) {
    const double v = x[i];
    i64 sum = total[i];
    if constexpr (with_absent) sum += v != v ? absent : 0;
    for (i64 k = 0; k < n; k++) sum += v > edge[k] ? rise[k] : 0;
    total[i] = sum;
  }
}

// votes[output, row] += the rises at all edges below a value, or `absent` where it is missing. For (column, output)
// number n = j * outputs + output: edges and rises first[n]..first[n+1], and absent[n]. Every edge is compared with all
// rows of a block, four edges at a time: the fastest way for few edges.
inline void climb(Array<const double, 2> block, Array<const i64, 1> columns, Array<const i64, 1> first,
                  Array<const double, 1> edges, Array<const i64, 1> rises, Array<const i64, 1> absent, Array<i64, 2> votes) {
  constexpr auto fewer_edges = []<i64... n>(std::integer_sequence<i64, n...>) {
    return std::array{&climb_edges<n, true>...};
  }(std::make_integer_sequence<i64, 4>());
  const i64 outputs = votes.shape[0], rows = block.shape[1];
  for (i64 j = 0; j < columns.shape[0]; j++) {
    const double* x = block[columns[j]].data;
    for (i64 k = 0; k < outputs; k++) {
      const i64 n = j * outputs + k, last = first[n + 1];
      i64 at = first[n];
      const i64 rest = (last - at) % 4;
      if (rest > 0 || absent[n] != 0)
        fewer_edges[static_cast<std::size_t>(rest)](x, rows, edges.data + at, rises.data + at, absent[n], votes[k].data);
      for (at += rest; at < last; at += 4) climb_edges<4, false>(x, rows, edges.data + at, rises.data + at, 0, votes[k].data);
    }
  }
}

}  // namespace electorate
