// Products of rows and columns: correlations of voters with the weights, Gram matrices of bits, kernel functions.
//
// All sums are exact integers, or floats in a fixed order, so that blocks of rows do not change a bit.
#pragma once
#include <bit>

#include "electorate/array.hpp"

namespace electorate {

// sums[column] += the units of all rows whose bit is set. bits[group, column]: 8 rows to a byte, the first in the lowest
// bit. The sums of all 256 bytes are tabled for four groups at a time; a column then costs one lookup for 8 rows.
inline void correlate_signs(Array<const u8, 2> bits, Array<const i64, 1> units, Array<i64, 1> sums) {
  i64 table[4][256];
  const i64 groups = bits.shape[0], columns = sums.shape[0];
  i64* __restrict total = sums.data;
  for (i64 low = 0; low < groups; low += 4) {
    const i64 many = least(i64{4}, groups - low);
    const u8* group[4];
    for (i64 g = 0; g < 4; g++) {  // beyond the last group, the table has zeros
      group[g] = bits.data + least(low + g, groups - 1) * bits.stride[0];
      table[g][0] = 0;
      for (i64 k = 0; k < 8; k++) {
        const i64 row = 8 * (low + g) + k, half = i64{1} << k;
        const i64 unit = g < many && row < units.shape[0] ? units[row] : 0;
        for (i64 b = 0; b < half; b++) table[g][half + b] = table[g][b] + unit;
      }
    }
    const u8 *__restrict a = group[0], *__restrict b = group[1], *__restrict c = group[2], *__restrict d = group[3];
    for (i64 j = 0; j < columns; j++) total[j] += table[0][a[j]] + table[1][b[j]] + table[2][c[j]] + table[3][d[j]];
  }
}

// counts[j] = the number of bits in which words[j] and words[column] differ.
inline void count_differences(Array<const u64, 2> words, i64 column, Array<i64, 1> counts) {
  const u64* mine = words[column].data;
  const i64 n = words.shape[1];
  for (i64 j = 0; j < words.shape[0]; j++) {
    const u64* other = words[j].data;
    i64 total = 0;
#pragma GCC unroll 8
    for (i64 k = 0; k < n; k++) total += std::popcount(mine[k] ^ other[k]);
    counts[j] = total;
  }
}

// sums[column] += times * rint(units * column) over rows: rounded row by row, so that their order has no effect.
inline void correlate_reals(Array<const double, 2> columns, Array<const double, 1> units, Array<const i64, 1> times,
                            Array<i64, 1> sums) {
  const double* __restrict unit = units.data;
  const i64* __restrict count = times.data;
  const i64 n = columns.shape[1];
  for (i64 j = 0; j < columns.shape[0]; j++) {
    const double* __restrict x = columns[j].data;
    i64 total = 0;
#ifdef __AVX512DQ__
    constexpr i64 at_once = 512;
    double rounded[at_once];  // apart from the conversion: g++ makes one call of both, which it does not vectorise
    for (i64 low = 0; low < n; low += at_once) {
      const i64 many = least(at_once, n - low);
      for (i64 i = 0; i < many; i++) rounded[i] = std::rint(unit[low + i] * x[low + i]);
      for (i64 i = 0; i < many; i++) total += count[low + i] * static_cast<i64>(rounded[i]);
    }
#else
    for (i64 i = 0; i < n; i++) total += count[i] * on_grid(unit[i] * x[i]);
#endif
    sums[j] += total;
  }
}

// out[i, m] = the sum over k, in order, of term(rows[i, k], others[k, m]): the same bits for any block of rows.
template <class Term>
inline void sum_of_terms(Array<const double, 2> rows, Array<const double, 2> others, Array<double, 2> out, Term term) {
  constexpr i64 at_once = 64;  // of the others, which stay in the cache for all rows
  for (i64 low = 0; low < out.shape[1]; low += at_once) {
    const i64 n = least(at_once, out.shape[1] - low);
    for (i64 i = 0; i < rows.shape[0]; i++) {
      double* __restrict total = out[i].data + low;
      const double* x = rows[i].data;
      const auto other = [&](i64 k) { return others.data + k * others.stride[0] + low; };
      for (i64 m = 0; m < n; m++) total[m] = 0.0;
      i64 k = 0;
      for (; k + 4 <= rows.shape[1]; k += 4) {
        const double *a = other(k), *b = other(k + 1), *c = other(k + 2), *d = other(k + 3);
        for (i64 m = 0; m < n; m++)
          total[m] = (((total[m] + term(x[k], a[m])) + term(x[k + 1], b[m])) + term(x[k + 2], c[m])) + term(x[k + 3], d[m]);
      }
      for (; k < rows.shape[1]; k++) {
        const double* y = other(k);
        for (i64 m = 0; m < n; m++) total[m] += term(x[k], y[m]);
      }
    }
  }
}

inline void inner_products(Array<const double, 2> rows, Array<const double, 2> others, Array<double, 2> out) {
  sum_of_terms(rows, others, out, [](double x, double y) { return x * y; });
}

inline void squared_distances(Array<const double, 2> rows, Array<const double, 2> others, Array<double, 2> out) {
  sum_of_terms(rows, others, out, [](double x, double y) { return (x - y) * (x - y); });
}

}  // namespace electorate
