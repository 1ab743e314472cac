// The best threshold of a node by windows of the target, from its rows, one column after another.
//
// Rows are sorted by label, so that a window is a range of rows. From one window to the next some rows enter the sums of
// the bins of a column and some leave. The sums up to every bin are what the window weighs on the left of a cut.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "electorate/search_layouts.hpp"

namespace electorate {

// Rows of some nodes of a growing tree. Vectors that a criterion does not need are empty.
struct NodeRows {
  Array<const i32, 1> place;  // of its node, among those nodes
  Array<const u32, 2> codes;  // [row, word of four columns]
  Array<const i32, 1> label;
  Ints weight, second;  // on the grid: the weight, and weight x target
  Array<const double, 1> share;  // the target, from 0 to 1
  Ints count;  // how many rows it stands for
  static constexpr const char* name = "NodeRows";
  static constexpr auto fields = std::tuple(&NodeRows::place, &NodeRows::codes, &NodeRows::label, &NodeRows::weight,
                                            &NodeRows::second, &NodeRows::share, &NodeRows::count);
};

// For the nodes of a tree, one after another; its memory is used again.
class NodeWindows {
 public:
  NodeWindows(i64 n_rows, i64 n_labels)
      : row(n_rows), word(n_rows), bin(n_rows), weight(n_rows), starts(n_labels + 1), windows(n_labels) {}

  // `best_target_threshold` of kind 0 from the rows of a node, if its edge is over `highest`; else returns `highest`.
  //
  // numbers: of the rows, see NodeSearch::weigh_rows; reach, totals: by label that is present.
  double best(const NodeRows& rows, Array<const u32, 1> mine, const ColumnLayout& columns, i64 min_rows, bool abstains,
              Ints reach, Ints totals, Array<const i64, 2> numbers, double highest,
              Array<i64, 1> found) {
    n_rows = mine.shape[0];
    sort_rows(mine, totals.shape[0], numbers[0].data, numbers[2].data);
    list_windows(reach, totals);
    all_rows = 0;
    for (i64 i = 0; i < (min_rows > 1 ? n_rows : 0); i++) all_rows += rows.count[mine[i]];
    found[0] = -1;
    for (i64 j = 0, loaded = -1; j < columns.n_bins.shape[0]; j++) {
      if (!columns.ordered[j]) continue;
      if (loaded != j / 4) {
        loaded = j / 4;
        for (i64 i = 0; i < n_rows; i++) word[i] = rows.codes(row[i], loaded);
      }
      const bool misses = list_bins(static_cast<int>(8 * (j % 4)));
      // without missing values both sides of them are the same, and the left is preferred
      const bool has_missing = columns.has_missing[j];
      for (int side = has_missing ? 0 : 1; side < (misses || !has_missing ? 2 : 1); side++) {
        weigh_windows(side == 0);
        highest = search_cuts(rows, min_rows, j, side, abstains, highest, found);
      }
      std::fill_n(in_bin, n_bins + 1, 0);
    }
    return highest;
  }

 private:
  static constexpr i64 n_codes = 256, missing_code = n_codes - 1;
  static constexpr i64 full = 8;  // bins are filled up to a multiple of it: loops are vectorised
  struct Window {
    i64 opens, closes, weight;  // its first row, the one after its last
  };

  // Sort rows and their weights by label; label k has the rows starts[k]..starts[k + 1].
  void sort_rows(Array<const u32, 1> mine, i64 n_labels, const i64* __restrict values, const i64* __restrict offset) {
    total = 0;
    std::fill(starts.begin(), starts.end(), 0);
    for (i64 i = 0; i < n_rows; i++) starts[offset[i] / n_codes + 1]++;
    for (i64 k = 0; k < n_labels; k++) starts[k + 1] += starts[k];
    for (i64 i = 0; i < n_rows; i++) {
      const i64 at = starts[offset[i] / n_codes]++;
      row[at] = mine[i];
      weight[at] = values[i];
      total += values[i];
    }
    for (i64 k = n_labels; k > 0; k--) starts[k] = starts[k - 1];
    starts[0] = 0;
  }

  // The windows that no other holds.
  void list_windows(Ints reach, Ints totals) {
    n_windows = 0;
    i64 inside = 0;
    for (i64 k = 0, first = 0; k < totals.shape[0]; k++) {
      inside += totals[k];
      while (first < reach[k]) inside -= totals[first++];
      if (k + 1 == totals.shape[0] || reach[k + 1] != reach[k])  // else the next one holds this one
        windows[n_windows++] = {starts[first], starts[k + 1], inside};
    }
  }

  // Number the codes that rows have, in order; missing values come last. Returns whether there are any.
  //
  // Sets bin, code_of, n_bins (without missing values), and adds the weights to in_bin.
  bool list_bins(int shift) {
    const u32* __restrict words = word.data();
    const i64* __restrict weights = weight.data();
    u8* __restrict bins = bin.data();
    alignas(8) u8 number[n_codes];
    for (i64 i = 0; i < n_rows; i++) met[(words[i] >> shift) & 255] = 1;
    constexpr u64 ones = 0x0101010101010101;
    u64 n_met = 0;
    for (i64 k = 0; k < n_codes; k += 8) {  // eight codes at a time: by the product a byte counts the flags up to it
      u64 flags;
      std::memcpy(&flags, met + k, 8);
      const u64 upto_each = flags * ones, numbers = upto_each - flags + n_met * ones;
      std::memcpy(number + k, &numbers, 8);
      n_met += upto_each >> 56;
    }
    std::fill_n(met, n_codes, u8{0});
    for (i64 i = 0; i < n_rows; i++) {
      const u32 code = (words[i] >> shift) & 255;
      const u8 b = number[code];
      bins[i] = b;
      code_of[b] = code;
      in_bin[b] += weights[i];
    }
    n_bins = number[missing_code];
    return static_cast<i64>(n_met) > n_bins;
  }

  // The heaviest window on the left and on the right of every cut, into on_left and on_right.
  void weigh_windows(bool missing_left) {
    const u8* __restrict bins = bin.data();
    const i64* __restrict weights = weight.data();
    i64* __restrict sum = sums;
    i64* __restrict so_far = upto;
    i64* __restrict left = on_left;
    i64* __restrict right = on_right;
    const i64 n = n_bins, filled = (n + full - 1) / full * full;
    std::fill_n(left, filled, 0);
    std::fill_n(right, filled, 0);
    i64 entered = 0, gone = 0;
    for (i64 w = 0; w < n_windows; w++) {
      const auto [opens, closes, whole] = windows[w];
      for (; entered < closes; entered++) sum[bins[entered]] += weights[entered];
      for (; gone < opens; gone++) sum[bins[gone]] -= weights[gone];
      i64 inside = missing_left ? sum[n] : 0;
      for (i64 b = 0; b < n; b++) {
        inside += sum[b];
        so_far[b] = inside;
      }
      for (i64 b = 0; b < filled; b++) {
        left[b] = most(left[b], so_far[b]);
        right[b] = most(right[b], whole - so_far[b]);
      }
    }
    std::fill_n(sum, n + 1, 0);
  }

  // Compare the cuts of a column with the best so far, an edge of `highest`; returns the larger edge.
  //
  // side: 1 for missing values on the right. Ties: the first cut, then missing values on the left.
  double search_cuts(const NodeRows& rows, i64 min_rows, i64 j, int side, bool abstains, double highest,
                     Array<i64, 1> found) {
    const double rounding = 1e-15 * static_cast<double>(total);  // sums of over 53 bits are rounded
    i64 before = side == 0 ? in_bin[n_bins] : 0;  // weight on the left of the cut
    for (i64 b = 0; b < n_bins; b++) {
      const i64 left = on_left[b], right = on_right[b];
      before += in_bin[b];
      if (!abstains && static_cast<double>((left + right) - (total - left - right)) + rounding < highest) continue;
      if (in_bin[b] == 0 || before == 0 || before == total) continue;  // no place to cut
      const double one = static_cast<double>(left - (before - left));
      const double other = static_cast<double>(right - (total - before - right));
      const double edge = abstains ? most(one, 0.0) + most(other, 0.0) : one + other;
      const i64 code = code_of[b];
      if (edge < highest || (edge == highest && !(found[0] == j && code < found[1]))) continue;
      if (min_rows > 1) {
        const i64 n_left = count_left(rows, j, code, side == 0);
        if (least(n_left, all_rows - n_left) < min_rows) continue;
      }
      highest = edge;
      found[0] = j, found[1] = code, found[2] = 1 - side;
    }
    return highest;
  }

  // How many rows those on the left of a cut stand for.
  i64 count_left(const NodeRows& rows, i64 j, i64 cut, bool missing_left) const {
    i64 n_left = 0;
    for (i64 i = 0; i < n_rows; i++) {
      const i64 code = (word[i] >> (8 * (j % 4))) & 255;
      if (code <= cut || (code == missing_code && missing_left)) n_left += rows.count[row[i]];
    }
    return n_left;
  }

  i64 n_rows = 0, n_windows = 0, n_bins = 0, all_rows = 0, total = 0;
  std::vector<u32> row, word;  // by label: the rows, and their codes of four columns
  std::vector<u8> bin;  // of every row
  std::vector<i64> weight, starts;
  std::vector<Window> windows;
  i64 on_left[n_codes], on_right[n_codes], upto[n_codes], code_of[n_codes];
  i64 sums[n_codes] = {}, in_bin[n_codes] = {};  // zero between two uses
  alignas(8) u8 met[n_codes] = {};  // likewise
};

}  // namespace electorate
