// A round over the rows of a shard: change the state, compute what the booster sums, round it to the grid, and sum.
//
// Blocks of rows are small enough to stay in the cache from the first step to the last. Rows are sorted by label; label k
// has the rows starts[k]..starts[k + 1] and counts as group[k].
#pragma once
#include <optional>
#include <vector>

#include "electorate/histograms.hpp"
#include "electorate/special.hpp"

namespace electorate {

constexpr i64 rows_weighed = 8192;  // at once
constexpr i64 few_rows = 16;  // of a label, on average: then states are the outer loop

// What a booster sums. table[channel]: the kind, the row of the state, and a, b and c.
struct Formulas {
  Array<const double, 2> table;
  i64 margin_row, votes_row;
  static constexpr const char* name = "Formulas";
  static constexpr auto fields = std::tuple(&Formulas::table, &Formulas::margin_row, &Formulas::votes_row);
};

// A column of codes of 8 or 16 bits.
using Column = std::variant<Strided<const u8>, Strided<const u16>>;

// The column with this number among codes[group, row, column of the group]; empty if there are no columns.
inline Column column_at(const Codes& codes, i64 number) {
  return std::visit(
      [number](auto c) -> Column {
        if (c.shape[0] == 0) return Strided<std::remove_reference_t<decltype(*c.data)>>{};
        return column_of(c[number / c.shape[2]], number % c.shape[2]);
      },
      codes);
}

template <int formula>
inline void fill_with(Array<const double, 1> state, Array<const double, 1> first, double a, double b, double c,
                      Array<double, 1> out) {
  const double *s = state.data, *values = first.data;
  double* to = out.data;
  for (i64 i = 0; i < out.shape[0]; i++) to[i] = value_of<formula>(s[i], formula == squared ? values[i] : 0.0, a, b, c);
}

// out[i] = the formula of s[i]. first: the values of the first channel.
inline void evaluate(i64 formula, Array<const double, 1> state, Array<const double, 1> first, double a, double b, double c,
                     Array<double, 1> out) {
  constexpr decltype(&fill_with<line>) fills[] = {fill_with<exponential>, fill_with<penalised>, fill_with<squared>,
                                                  fill_with<sigmoid>,     fill_with<soft_plus>, fill_with<line>};
  if (0 <= formula && formula <= line) fills[formula](state, first, a, b, c, out);
}

// state[s, low:high] += gains[s, label, leaf of the row's code]. table: a buffer for a number per code.
template <class T>
[[gnu::noinline]] void add_change(Strided<T> column, Array<const u8, 1> leaf_of_code, Array<const double, 3> gains, i64 label,
                       double* __restrict table, Array<double, 2> state, i64 low, i64 high) {
  const i64 step = column.stride[0];
  for (i64 s = 0; s < gains.shape[0]; s++) {
    const double* of_leaf = gains[s][label].data;
    for (i64 code = 0; code < leaf_of_code.shape[0]; code++) table[code] = of_leaf[leaf_of_code.data[code]];
    double* __restrict numbers = state[s].data;
    const T* codes = column.data;
    for (i64 i = low; i < high; i++) numbers[i] += table[codes[i * step]];
  }
}

// How much counts of what is missed among the rows low..high; no counts: every row is 1.
template <class F>
inline i64 count_where(Array<const i64, 1> counts, i64 low, i64 high, F missed) {
  i64 wrong = 0;
  const i64* count = counts.data;
  if (counts.shape[0] == 0) {
    for (i64 i = low; i < high; i++) wrong += missed(i) ? 1 : 0;
  } else {
    for (i64 i = low; i < high; i++) wrong += missed(i) ? count[i] : 0;
  }
  return wrong;
}

// How much counts that the ensemble gets wrong; a tie is the first label. votes_row: of the first label's votes. Where
// that is 0, the sign of the margin decides.
inline i64 count_wrong(Array<const double, 2> state, i64 margin_row, i64 votes_row, i64 label, Array<const i64, 1> counts,
                       i64 low, i64 high) {
  if (votes_row == 0) {
    const double* margin = state[margin_row].data;
    if (label == 0) return count_where(counts, low, high, [=](i64 i) { return margin[i] < 0.0; });
    return count_where(counts, low, high, [=](i64 i) { return margin[i] <= 0.0; });
  }
  u8 missed[rows_weighed] = {};  // label by label, so that every pass is over rows that lie side by side
  const double* own = state[votes_row + label].data + low;
  for (i64 k = votes_row; k < state.shape[0]; k++) {
    const double* other = state[k].data + low;
    if (k < votes_row + label) {
      for (i64 i = 0; i < high - low; i++) missed[i] |= other[i] >= own[i];
    } else {
      for (i64 i = 0; i < high - low; i++) missed[i] |= other[i] > own[i];
    }
  }
  return count_where(counts, low, high, [&missed, low](i64 i) { return missed[i - low] != 0; });
}

// The rows first_row..last_row where labels have few rows each: state by state, so that memory is read in its order.
struct ManyLabels {
  i64 low;
  std::vector<i32> label, group;  // of each row

  ManyLabels(const RowArrays& rows, i64 first_row, i64 last_row) : low(first_row) {
    for (i64 k = 0; k < rows.group.shape[0]; k++)
      for (i64 i = most(rows.starts[k], first_row); i < least(rows.starts[k + 1], last_row); i++)
        label.push_back(static_cast<i32>(k)), group.push_back(static_cast<i32>(rows.group[k]));
  }

  template <class T>
  void add_change(Strided<T> column, Array<const u8, 1> leaf_of_code, Array<const double, 3> gains, Array<double, 2> state) const {
    const i64 n = static_cast<i64>(label.size());
    std::vector<i64> at(label.size());  // of the gain of a row
    for (i64 i = 0; i < n; i++) at[i] = label[i] * gains.stride[1] + leaf_of_code[column[low + i]];
    for (i64 s = 0; s < gains.shape[0]; s++) {
      const double* gain = gains[s].data;
      double* numbers = state[s].data + low;
      for (i64 i = 0; i < n; i++) numbers[i] += gain[at[i]];
    }
  }

  // As `count_wrong`, for votes of every label.
  i64 count_wrong(Array<const double, 2> state, i64 votes_row, Array<const i64, 1> counts) const {
    const i64 n = static_cast<i64>(label.size());
    std::vector<double> own(label.size());
    std::vector<u8> missed(label.size());
    for (i64 i = 0; i < n; i++) own[i] = state(votes_row + group[i], low + i);
    for (i64 k = 0; k < state.shape[0] - votes_row; k++) {
      const double* other = state[votes_row + k].data + low;
      for (i64 i = 0; i < n; i++) missed[i] |= (other[i] > own[i]) | ((other[i] == own[i]) & (k < group[i]));
    }
    return count_where(counts, low, low + n, [&](i64 i) { return missed[i - low] != 0; });
  }
};

// One round over the rows first_row..last_row; returns how much counts that the ensemble gets wrong.
//
// column, leaf_of_code, gains[state, label, leaf]: the stump that is added, unless gains are empty. grids[channel] and
// totals[channel, group] get the numbers on the grid and their sums; sums[channel, group, column, code] their histograms,
// of as many channels as it has, added to what it holds unless `clear`.
inline i64 advance(PackedCodes packed, RowArrays rows, Column column, Array<const u8, 1> leaf_of_code,
                   Array<const double, 3> gains, Formulas formulas, Array<double, 2> state, Array<i64, 2> grids,
                   Array<i64, 2> totals, Array<i64, 4> sums, bool clear, i64 first_row, i64 last_row) {
  const i64 n_channels = formulas.table.shape[0], n = most(least(rows_weighed, last_row - first_row), i64{0});
  std::vector<double> values(static_cast<std::size_t>(n_channels * n)), table(static_cast<std::size_t>(leaf_of_code.shape[0]));
  i64 wrong = 0;
  if (clear) fill(sums, i64{0});
  std::optional<ManyLabels> many;
  if (formulas.votes_row > 0 && last_row - first_row < few_rows * rows.group.shape[0]) many.emplace(rows, first_row, last_row);
  if (many && gains.shape[0] > 0)
    std::visit([&](auto c) { many->add_change(c, leaf_of_code, gains, state); }, column);
  for (i64 label = 0; label < rows.group.shape[0]; label++) {
    const i64 group = rows.group[label], end = least(rows.starts[label + 1], last_row);
    for (i64 low = most(rows.starts[label], first_row); low < end; low += rows_weighed) {
      const i64 high = least(low + rows_weighed, end);
      if (!many && gains.shape[0] > 0)
        std::visit([&](auto c) { add_change(c, leaf_of_code, gains, label, table.data(), state, low, high); }, column);
      for (i64 c = 0; c < n_channels; c++) {
        const double* formula = formulas.table[c].data;
        evaluate(static_cast<i64>(formula[0]), state[static_cast<i64>(formula[1])].slice(low, high), {values.data(), {n}, {1}},
                 formula[2], formula[3], formula[4], {values.data() + c * n, {high - low}, {1}});
      }
      for (i64 c = 0; c < n_channels; c++) {
        double* mine = values.data() + c * n;
        if (rows.real.shape[0] > 0)
          for (i64 i = 0; i < high - low; i++) mine[i] *= rows.real.data[low + i];
        const i64 ends[] = {0, high - low};
        i64 total = 0;
        quantise({mine, {high - low}, {1}}, rows.times.shape[0] > 0 ? rows.times.slice(low, high) : rows.times, rows.scale,
                 {ends, {2}, {1}}, grids[c].slice(low, high), {&total, {1}, {1}});
        totals(c, group) += total;
      }
      for (i64 c = 0; c < sums.shape[0]; c++)
        std::visit([&](auto codes) { histogram(codes, grids[c], low, high, sums[c][group]); }, packed);
      if (!many) wrong += count_wrong(state, formulas.margin_row, formulas.votes_row, group, rows.counts, low, high);
    }
  }
  return many ? many->count_wrong(state, formulas.votes_row, rows.counts) : wrong;
}

}  // namespace electorate
