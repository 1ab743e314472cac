// The purest threshold of a small node of two labels, from its rows, four columns at a time: see subtrees.hpp.
//
// Its histogram is full, but bin b is at the place with the two halves of the byte exchanged: cells[b % 16, b / 16]. The
// sums of 16 blocks of 16 bins are then sums of vectors, and only blocks that may have a better cut are read bin by bin.
#pragma once
#include "electorate/search.hpp"

namespace electorate {

constexpr i64 block_bins = 16;  // and so many blocks

class TwoLabelSearch {
 public:
  TwoLabelSearch(Ints totals, double best) : totals(totals), one(real(totals[0])), other(real(totals[1])), best(best) {}

  // The weights of the bins of a column, by place; true if one of its cuts is better, which `cut` and `side` then are.
  bool improve(i64* __restrict first, i64* __restrict second, i64 n_bins, bool has_missing) {
    constexpr i64 miss = n_codes - 1;
    to_beat = gain_to_beat(best, one, other);
    const i64 missing[2] = {first[miss], second[miss]};
    first[miss] = second[miss] = 0;
    sum_blocks(first, sums[0]);
    sum_blocks(second, sums[1]);
    bool marks[block_bins] = {};
    i64 n_marked = mark_blocks(0, 0, marks);
    if (has_missing) n_marked += mark_blocks(missing[0], missing[1], marks);
    if (n_marked == 0) return false;
    const i64 n_cuts = has_missing ? n_bins : n_bins - 1;
    bool better = false;
    for (i64 k = 0; block_bins * k < n_cuts; k++) {
      if (!marks[k]) continue;
      i64 a = sums[0][k], b = sums[1][k];
      for (i64 c = block_bins * k; c < least(block_bins * k + block_bins, n_cuts); c++) {
        const i64 at = block_bins * (c % block_bins) + k;
        a += first[at];
        b += second[at];
        if (first[at] == 0 && second[at] == 0) continue;  // the cut before it is the same split, and came first
        if (has_missing && c < n_bins - 1) better |= try_cut(a + missing[0], b + missing[1], c, 0);
        better |= try_cut(a, b, c, 1);  // missing values go right
      }
    }
    return better;
  }

  static constexpr i64 n_codes = block_bins * block_bins;
  Ints totals;
  double one, other, best, to_beat = 0.0;
  i64 cut = 0, side = 0;

 private:
  i64 sums[2][block_bins + 1];  // of all bins before a block

  static void sum_blocks(const i64* __restrict cells, i64* __restrict before) {
    i64 here[block_bins];
    for (i64 k = 0; k < block_bins; k++) here[k] = cells[k];
    for (i64 i = 1; i < block_bins; i++)
      for (i64 k = 0; k < block_bins; k++) here[k] += cells[block_bins * i + k];
    before[0] = 0;
    for (i64 k = 0; k < block_bins; k++) before[k + 1] = before[k] + here[k];
  }

  // Mark the blocks that may have a better cut; returns how many. more: weights that are on the left of all cuts.
  //
  // The score is a convex function of the weights on the left, so it is largest at a corner of the block.
  i64 mark_blocks(i64 more, i64 also_more, bool* __restrict marks) const {
    i64 found = 0;
    for (i64 k = 0; k < block_bins; k++) {
      const double a = real(sums[0][k] + more), last_a = real(sums[0][k + 1] + more);
      const double b = real(sums[1][k] + also_more), last_b = real(sums[1][k + 1] + also_more);
      const bool beats = may_beat(a, last_b, one, other, to_beat) | may_beat(last_a, b, one, other, to_beat) |
                         may_beat(a, b, one, other, to_beat) | may_beat(last_a, last_b, one, other, to_beat);
      marks[k] |= beats;
      found += beats;
    }
    return found;
  }

  bool try_cut(i64 here, i64 also_here, i64 at, i64 missing_right) {
    const double a = static_cast<double>(here), b = static_cast<double>(also_here);
    if (!may_beat(a, b, one, other, to_beat)) return false;
    const double there = static_cast<double>(totals[0] - here), also_there = static_cast<double>(totals[1] - also_here);
    const double score = purity_of_two(gini, a, there, b, also_there);
    if (!(score > best)) return false;
    best = score, to_beat = gain_to_beat(score, one, other);
    cut = at, side = missing_right;
    return true;
  }
};

// Find the threshold of the largest Gini score above `best`, as `purest_threshold`; returns its score, or `best`.
//
// codes[row, word of four columns]; mine: the rows of the node. numbers: of these rows, the weight in numbers[0], and
// 256 times the label in numbers[2]. cells: a buffer, [label, column of a word, bin]. found: column, cut, missing left.
template <class Row>
inline double best_of_two(Array<const u32, 2> codes, Array<Row, 1> mine, const ColumnLayout& columns,
                          Array<const i64, 2> numbers, Ints totals, double best, Array<i64, 3> cells, Array<i64, 1> found) {
  constexpr i64 n_codes = TwoLabelSearch::n_codes;
  TwoLabelSearch search(totals, best);
  const i64 n_columns = columns.n_bins.shape[0], n_rows = mine.shape[0], n_words = codes.stride[0];
  const Row* __restrict rows = mine.data;
  const i64 *__restrict weight = numbers[0].data, *__restrict label = numbers[2].data;
  for (i64 g = 0; 4 * g < n_columns; g++) {
    fill(cells, i64{0});
    const u32* __restrict words = codes.data + g;
    i64* __restrict first = cells.data;
    for (i64 i = 0; i < n_rows; i++) {
      const u32 given = words[static_cast<i64>(rows[i]) * n_words];
      const u32 word = ((given & 0x0F0F0F0F) << 4) | ((given >> 4) & 0x0F0F0F0F);
      const i64 q = weight[i];
      i64* __restrict at = first + 4 * label[i];
      at[word & 255] += q;
      at[n_codes + ((word >> 8) & 255)] += q;
      at[2 * n_codes + ((word >> 16) & 255)] += q;
      at[3 * n_codes + (word >> 24)] += q;
    }
    for (i64 j = 4 * g; j < least(4 * g + 4, n_columns); j++) {
      if (!columns.ordered[j] || columns.n_bins[j] == 0) continue;
      if (search.improve(&cells(0, j - 4 * g, 0), &cells(1, j - 4 * g, 0), columns.n_bins[j], columns.has_missing[j]))
        note_threshold(found, j, search.cut, search.side);
    }
  }
  return search.best;
}

}  // namespace electorate
