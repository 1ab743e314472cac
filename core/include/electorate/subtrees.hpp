// Whole subtrees below small nodes, from their rows: a level costs its rows, and not a full histogram for every node.
//
// A node is searched in compact histograms: only the labels and the bins that its rows have, some columns at a time. The
// kernels of search.hpp and target_search.hpp find the same split there as in the full histogram, with the same score.
// Thresholds by Gini for two labels, and by windows of the target, come from the rows: two_labels.hpp, node_windows.hpp.
#pragma once
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "electorate/drawing.hpp"
#include "electorate/node_windows.hpp"
#include "electorate/search.hpp"
#include "electorate/target_search.hpp"
#include "electorate/two_labels.hpp"

namespace electorate {

constexpr i64 by_edge = 0, by_target = 3, by_squares = 4;  // criteria besides gini and matsushita
constexpr i64 columns_at_once = 16;  // of a compact histogram: it stays in the second-level cache

// The rows and columns that a split is sought in: of a node, or a copy of them with drawn columns.
struct Node {
  const NodeRows& rows;
  const ColumnLayout& columns;
  Array<const u32, 1> mine;

  i64 n() const { return mine.shape[0]; }
  i64 n_columns() const { return columns.n_bins.shape[0]; }
  i64 code(i64 row, i64 column) const { return (rows.codes(row, column / 4) >> (8 * (column % 4))) & 255; }
  // How many rows of the table they stand for.
  i64 count() const {
    i64 n_rows = 0;
    for (i64 i = 0; i < n(); i++) n_rows += rows.count[mine[i]];
    return n_rows;
  }
};

template <class T>
Array<T, 1> view(std::vector<T>& values, i64 n) {
  return {values.data(), {n}, {1}};
}

// Finds the best split of nodes, one after another; its memory is used again.
class NodeSearch {
 public:
  // The split that was found: its column, the last bin on the left or -1 for a set, and the bins on the left.
  i64 column = 0, cut = 0;
  bool on_left[256] = {};
  std::vector<i64> totals;  // the weights of the labels of the node, set by callers

  NodeSearch(const SplitRule& rule, const std::optional<TargetRule>& earning, i64 n_rows, i64 n_columns)
      : totals(most<i64>(rule.n_labels, 3)), rule(rule), earning(earning), n_rows(n_rows), width(n_codes * size()),
        memory(3 * n_rows), cells(4 * width), sums(size() * least(n_columns, columns_at_once) * most_bins()),
        counts(least(n_columns, columns_at_once) * most_bins()), present(size()), rank(size()), some(size()),
        left(size()), right(size()), reach(size()), targets(size()), away(size()),
        table(earning ? earning->table.shape[0] * size() : 0),
        windows(rule.criterion == by_target && earning->kind == 0 ? n_rows : 0, size()) {}

  // Find the split of the largest criterion; whether it gains. Thresholds come before sets of categories.
  bool search(i64 criterion, const Node& node) {
    const ColumnLayout& columns = node.columns;
    const i64 n_columns = node.n_columns(), min_rows = rule.min_samples_leaf;
    const i64 n_categories = std::count(columns.ordered.data, columns.ordered.data + n_columns, false);
    weigh_rows(criterion, node, rule.n_labels > 2 && n_categories > 0 && (criterion == gini || criterion == matsushita));
    if (criterion == by_target) compact_rule();
    const Ints weights = view(some, n_some);
    Score best;
    if (criterion == by_edge) {
      best.right = most<i64>(0, *std::max_element(some.begin(), some.begin() + n_some));
    } else {
      best.value = value(criterion, weights);
      best.value += std::abs(best.value) * 1e-12;  // rounding alone is no gain
    }
    bool gains = false;
    const bool of_two = criterion == gini && n_some == 2 && min_rows == 1;
    const bool by_windows = criterion == by_target && earning->kind == 0;
    if (of_two || by_windows) {  // thresholds need no compact histogram
      const double score =
          of_two ? best_of_two(node.rows.codes, node.mine, columns, numbers(), weights, best.value, two_cells(), found())
                 : windows.best(node.rows, node.mine, columns, min_rows, earning->abstains, compact.reach, weights,
                                numbers(), best.value, found());
      if (score > best.value) {
        best.value = score;
        gains = true;
        note_threshold(columns, at[0], at[1], at[2] == 1);
      }
    }
    for (int turn = of_two || by_windows ? 1 : 0; turn < (n_categories > 0 ? 2 : 1); turn++) {
      for (i64 first = 0; first < n_columns; first += columns_at_once) {
        const i64 last = least(first + columns_at_once, n_columns);
        i64 widest = 0;
        bool wanted = false;
        for (i64 j = first; j < last; j++) {
          widest = most(widest, columns.n_bins[j]);
          wanted |= columns.ordered[j] == (turn == 0);
        }
        if (!wanted) continue;
        const i64 bins = 2 + least(widest, node.n());
        const Part part = histogram(criterion == by_squares ? 2 : 1, node, first, last, bins);
        const Score score = turn == 0 ? best_threshold_of(criterion, part) : best_set_of(criterion, part);
        if (!(criterion == by_edge ? score.right > best.right : score.value > best.value)) continue;
        best = score;
        gains = true;
        if (turn == 0)
          note_threshold(columns, first + at[0], place[at[0]][at[1]], at[2] == 1);
        else
          note_set(columns, first + at[0], place[at[0]], n_bins[at[0]], bins - 1);
      }
    }
    return gains;
  }

  // Whether a node without a gaining split is certain to stay a leaf, as nothing below it could gain.
  bool is_final(const Node& node) {
    if (!earning) return rule.criterion != matsushita && is_pure(view(totals, rule.n_labels));
    if (rule.criterion == by_squares) {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      for (i64 i = 0; i < node.n(); i++) {
        const double share = node.rows.share[node.mine[i]];
        low = least(low, share), high = most(high, share);
      }
      return low >= high;
    }
    double could_be = 0.0;
    for (i64 k = 0; k < rule.n_labels; k++) {
      double each = 1.0;
      if (earning->kind == 2) {
        each = -std::numeric_limits<double>::infinity();
        for (i64 v = 0; v < earning->table.shape[0]; v++) each = most(each, earning->table(v, k));
      }
      could_be += static_cast<double>(totals[k]) * (earning->abstains ? most(each, 0.0) : each);
    }
    // callers decide on the few nodes that are closer to 1 - 1e-12 of it
    return could_be > 0 && value(by_target, view(some, n_some)) >= could_be * (1 - 0.5e-12);
  }

  // Whether some column has two bins with weight, and the rows are enough for two leaves.
  bool can_be_parted(const Node& node) const {
    if (rule.min_samples_leaf > 1 && node.count() / 2 < rule.min_samples_leaf) return false;
    for (i64 j = 0; j < node.n_columns(); j++) {
      i64 only = -1;
      for (i64 i = 0; i < node.n(); i++) {
        if (node.rows.weight[node.mine[i]] == 0) continue;
        const i64 code = node.code(node.mine[i], j);
        if (only >= 0 && code != only) return true;
        only = code;
      }
    }
    return false;
  }

 private:
  static constexpr i64 n_codes = 256, missing_code = n_codes - 1;

  struct Score {
    double value = -std::numeric_limits<double>::infinity();
    i64 right = -1;  // by the edge: the weight that is right
  };
  // The compact histogram of some columns.
  struct Part {
    Sums sums;  // [label, column, bin]
    Ints n_bins;
    Flags has_missing, ordered;
    RowCounts counts;  // [column, bin], or empty
  };

  i64 size() const { return static_cast<i64>(totals.size()); }
  i64 most_bins() const { return least(n_codes, n_rows) + 2; }
  Array<i64, 2> numbers() { return {memory.data(), {3, n_rows}, {n_rows, 1}}; }
  Array<i64, 3> two_cells() { return {two, {2, 4, n_codes}, {4 * n_codes, n_codes, 1}}; }
  Array<i64, 1> found() { return {at, {3}, {1}}; }

  // ------------------------------------------------------------ the compact histogram of a node

  // Set the labels of the compact histogram, and what every row adds to which of them.
  //
  // Labels without weight are left out, unless all_labels; of three or more at least three stay, since kernels treat
  // two in a way of their own. By squares the labels are the weight and the weight x target.
  // numbers: the value of every row, a second one, and where the cells of its label begin.
  void weigh_rows(i64 criterion, const Node& node, bool all_labels) {
    const NodeRows& rows = node.rows;
    const u32* __restrict mine = node.mine.data;
    const i64* __restrict weight = rows.weight.data;
    i64* __restrict first = memory.data();
    i64* __restrict second = first + n_rows;
    i64* __restrict offset = second + n_rows;
    const i64 n = node.n();
    for (i64 i = 0; i < n; i++) first[i] = weight[mine[i]];
    if (criterion == by_squares) {
      for (i64 i = 0; i < n; i++) {
        const u32 row = mine[i];
        second[i] = rule.criterion == by_target ? weight[row] * rows.label[row] : rows.second[row];
        offset[i] = 0;
      }
      some[0] = std::accumulate(first, first + n, i64{0});
      some[1] = std::accumulate(second, second + n, i64{0});
      n_some = 2;
      return;
    }
    i64 spare = least<i64>(rule.n_labels, 3);  // labels without weight that stay
    for (i64 k = 0; k < rule.n_labels; k++) spare -= totals[k] != 0;
    n_some = 0;
    for (i64 k = 0; k < rule.n_labels; k++) {
      rank[k] = 0;
      if (totals[k] == 0 && !all_labels && spare-- <= 0) continue;
      rank[k] = n_some;
      present[n_some] = k;
      some[n_some++] = totals[k];
    }
    const i32* __restrict label = rows.label.data;
    const i64* __restrict ranks = rank.data();
    for (i64 i = 0; i < n; i++) offset[i] = n_codes * ranks[label[mine[i]]];
  }

  // Set the windows, targets and table of the labels that are present.
  void compact_rule() {
    i64 opens = 0;
    for (i64 i = 0; i < n_some; i++) {
      const i64 label = present[i];
      while (opens > 0 && present[opens - 1] >= earning->reach[label]) opens--;
      while (present[opens] < earning->reach[label]) opens++;
      reach[i] = opens;
      targets[i] = earning->targets[label];
      away[i] = earning->away[label];
      for (i64 v = 0; v < earning->table.shape[0]; v++) table[v * size() + i] = earning->table(v, label);
    }
    compact = {earning->kind, view(reach, n_some), view(targets, n_some), view(away, n_some), earning->rate,
               {table.data(), {earning->table.shape[0], n_some}, {size(), 1}}, earning->abstains};
  }

  // Add the values of rows to the cells of the columns of a word, and mark the codes met.
  template <int lanes>
  void add_word(const Node& node, i64 word, int channels, bool mark) {
    const u32* __restrict words = node.rows.codes.data + word;
    const u32* __restrict mine = node.mine.data;
    const i64 n = node.n(), stride = node.rows.codes.stride[0], step = width;
    i64* __restrict offset = memory.data() + 2 * n_rows;
    for (int channel = 0; channel < channels; channel++) {
      const i64* __restrict value = memory.data() + channel * n_rows;
      i64* __restrict cell = cells.data() + n_codes * channel;
      for (i64 i = 0; i < n; i++) {
        const u32 codes = words[mine[i] * stride];
        const i64 q = value[i];
        i64* here = cell + offset[i];
        for (int lane = 0; lane < lanes; lane++) here[lane * step + ((codes >> (8 * lane)) & 255)] += q;
      }
    }
    for (i64 i = 0; i < (mark ? n : 0); i++) {
      const u32 codes = words[mine[i] * stride];
      for (int lane = 0; lane < lanes; lane++) met[lane][(codes >> (8 * lane)) & 255] = 1;
    }
  }

  // Write the bins of a compact histogram into place: those met, or every one. Returns how many; met gets 0.
  //
  // first_too: bin 0, also if it is empty: missing values may go left of all others there.
  static i64 list_bins(u8* __restrict met, i64 n_bins, bool every, bool first_too, u8* __restrict place) {
    if (every) {
      for (i64 code = 0; code < n_bins; code++) place[code] = static_cast<u8>(code);
      return n_bins;
    }
    i64 bins = 0;
    if (first_too) met[0] = 1;
    for (i64 code = 0; code < n_bins; code++) {
      place[bins] = static_cast<u8>(code);
      bins += met[code];
      met[code] = 0;
    }
    met[missing_code] = 0;
    return bins;
  }

  // The compact histogram of the columns first..last, and of their rows too where leaves need some. Sets place and n_bins.
  Part histogram(int channels, const Node& node, i64 first, i64 last, i64 bins) {
    const ColumnLayout& columns = node.columns;
    const i64 n_columns = last - first;
    const bool count = rule.min_samples_leaf > 1;
    for (i64 word = first / 4; 4 * word < last; word++) {
      const i64 end = least(4 * word + 4, last);
      bool every = true;
      for (i64 j = 4 * word; j < end; j++) every &= columns.n_bins[j] <= node.n();
      switch (end - 4 * word) {
        case 4: add_word<4>(node, word, channels, !every); break;
        case 3: add_word<3>(node, word, channels, !every); break;
        case 2: add_word<2>(node, word, channels, !every); break;
        default: add_word<1>(node, word, channels, !every);
      }
      for (i64 j = 4 * word; j < end; j++) {
        const u8* bin_of = place[j - first];
        const bool first_too = columns.has_missing[j] && columns.ordered[j] && columns.n_bins[j] > 0;
        const i64 n = n_bins[j - first] = list_bins(met[j % 4], columns.n_bins[j], every, first_too, place[j - first]);
        i64* lane = cells.data() + (j % 4) * width;
        for (i64 k = 0; k < n_some; k++)
          take_cells(lane + n_codes * k, bin_of, n, every, sums.data() + (k * n_columns + j - first) * bins, bins);
        if (!count) continue;
        for (i64 i = 0; i < node.n(); i++) lane[node.code(node.mine[i], j)] += node.rows.count[node.mine[i]];
        take_cells(lane, bin_of, n, every, counts.data() + (j - first) * bins, bins);
      }
    }
    return {{sums.data(), {n_some, n_columns, bins}, {n_columns * bins, bins, 1}},
            {n_bins, {n_columns}, {1}},
            columns.has_missing.slice(first, last),
            columns.ordered.slice(first, last),
            {counts.data(), {count ? n_columns : 0, bins}, {bins, 1}}};
  }

  // Move the cells of the codes place[bin] to out[bin], the missing values to the last one; what is moved gets 0.
  static void take_cells(i64* __restrict cell, const u8* place, i64 n, bool every, i64* __restrict out, i64 bins) {
    if (every) {
      std::copy_n(cell, n, out);
      std::fill_n(cell, n, 0);
    } else {
      for (i64 b = 0; b < n; b++) {
        out[b] = cell[place[b]];
        cell[place[b]] = 0;
      }
    }
    std::fill(out + n, out + bins - 1, 0);
    out[bins - 1] = cell[missing_code];
    cell[missing_code] = 0;
  }

  // ------------------------------------------------------------ the best split of a node

  // The criterion of a leaf, from the weights of the labels that are present.
  double value(i64 criterion, Ints weights) {
    if (!earning) return purity(criterion, NoWeights{}, weights);
    if (criterion == by_squares) {
      const double target = static_cast<double>(weights[1]);
      return weights[0] > 0 ? target * target / static_cast<double>(weights[0]) : 0.0;
    }
    const double edge = side_edge(compact.kind, weights, compact.reach, compact.targets, compact.rate, compact.table);
    return compact.abstains ? most(edge, 0.0) : edge;
  }

  Score best_threshold_of(i64 criterion, const Part& part) {
    const auto& [sums, n_bins, has_missing, ordered, counts] = part;
    const Ints weights = view(some, n_some);
    const i64 min_rows = rule.min_samples_leaf;
    Score score;
    if (criterion == by_edge)
      score.right = best_threshold(sums, weights, n_bins, has_missing, ordered, counts, min_rows, found());
    else if (!earning)
      score.value = purest_threshold(sums, weights, n_bins, has_missing, ordered, counts, min_rows, criterion, found());
    else if (criterion == by_squares)
      score.value = best_mean_threshold(sums, weights, n_bins, has_missing, ordered, counts, min_rows, found());
    else
      score.value = best_target_threshold(sums, weights, n_bins, has_missing, ordered, counts, min_rows, compact.kind,
                                          compact.reach, compact.targets, compact.away, compact.rate, compact.table,
                                          compact.abstains, found());
    return score;
  }

  Score best_set_of(i64 criterion, const Part& part) {
    const auto& [sums, n_bins, has_missing, ordered, counts] = part;
    const i64 min_rows = rule.min_samples_leaf;
    Score score;
    if (earning) {
      score.value = best_ordered_set(criterion, part);
    } else if (criterion == by_edge) {
      score.right = best_subset(sums, n_bins, has_missing, ordered, counts, min_rows, found());
      for (i64 b = 0; b < (score.right >= 0 ? sums.shape[2] : 0); b++)
        chosen[b] = sums(at[1], at[0], b) > sums(at[2], at[0], b);
    } else {
      const Array<bool, 1> bins{chosen, {n_codes + 2}, {1}};
      score.value = purest_subset(sums, view(some, n_some), n_bins, ordered, counts, min_rows, criterion, found(), bins);
    }
    return score;
  }

  // The score of the best set of categories for numeric targets: in the order of their means, cut once.
  double best_ordered_set(i64 criterion, const Part& part) {
    const auto& [sums, n_bins, has_missing, ordered, counts] = part;
    const bool of_labels = criterion == by_target;
    const i64 miss = sums.shape[2] - 1;
    i64 order[n_codes + 2];
    double means[n_codes + 2];
    double best = -std::numeric_limits<double>::infinity();
    for (i64 j = 0; j < n_bins.shape[0]; j++) {
      if (ordered[j]) continue;
      i64 n_present = 0, all_rows = 0;
      for (i64 c = 0; c < n_bins[j] + 1; c++) {
        const i64 b = c == n_bins[j] ? miss : c;
        i64 weight = 0, target = 0;
        for (i64 k = 0; k < (of_labels ? n_some : 1); k++) {
          weight += sums(k, j, b);
          target += of_labels ? sums(k, j, b) * present[k] : sums(1, j, b);
        }
        if (!counts.empty()) all_rows += counts(j, b);
        if (weight <= 0) continue;
        const double mean = static_cast<double>(target) / static_cast<double>(weight);
        i64 to = n_present++;
        for (; to > 0 && means[to - 1] > mean; to--) means[to] = means[to - 1], order[to] = order[to - 1];
        means[to] = mean, order[to] = b;
      }
      std::fill(left.begin(), left.end(), 0);
      i64 rows_left = 0;
      for (i64 c = 0; c < n_present - 1; c++) {
        for (i64 k = 0; k < n_some; k++) {
          left[k] += sums(k, j, order[c]);
          right[k] = some[k] - left[k];
        }
        if (!counts.empty()) {
          rows_left += counts(j, order[c]);
          if (least(rows_left, all_rows - rows_left) < rule.min_samples_leaf) continue;
        }
        const double score = value(criterion, view(left, n_some)) + value(criterion, view(right, n_some));
        if (!(score > best)) continue;
        best = score;
        at[0] = j;
        std::fill(std::begin(chosen), std::end(chosen), false);
        for (i64 e = 0; e <= c; e++) chosen[order[e]] = true;
      }
    }
    return best;
  }

  // Set the split to a threshold. Missing values that only come later go to the heavier side.
  void note_threshold(const ColumnLayout& columns, i64 j, i64 last, bool missing_left) {
    column = j, cut = last;
    for (i64 b = 0; b < missing_code; b++) on_left[b] = b <= cut;
    on_left[missing_code] = columns.has_missing[j] ? missing_left : left_is_heavier(columns);
  }

  // Set the split to the chosen bins; place: what they are in the table, `last` being the missing values.
  void note_set(const ColumnLayout& columns, i64 j, const u8* place, i64 n, i64 last) {
    column = j, cut = -1;
    std::fill(std::begin(on_left), std::end(on_left), false);
    for (i64 b = 0; b < n; b++) on_left[place[b]] = chosen[b];
    on_left[missing_code] = columns.has_missing[j] ? chosen[last] : left_is_heavier(columns);
  }

  bool left_is_heavier(const ColumnLayout& columns) const {
    const i64* seen = columns.seen[columns.number[column]].data;
    i64 more = 0;
    for (i64 b = 0; b < missing_code; b++) more += on_left[b] ? seen[b] : -seen[b];
    return more >= 0;
  }

  const SplitRule& rule;
  const std::optional<TargetRule>& earning;
  i64 n_rows, width;  // at most, of a node; cells of a column
  std::vector<i64> memory;  // of numbers
  std::vector<i64> cells;  // [column of a word, label, code], zero between two uses
  std::vector<i64> sums, counts;
  std::vector<i64> present, rank, some;  // labels with weight, the place of every label among them, their totals
  i64 n_some = 0;  // how many there are
  std::vector<i64> left, right, reach;
  std::vector<double> targets, away, table;
  TargetRule compact;  // of the labels that are present
  NodeWindows windows;
  u8 met[4][n_codes] = {};  // codes, zero between two uses
  u8 place[columns_at_once][n_codes];  // the bin of the table of every bin of a compact histogram
  i64 n_bins[columns_at_once];
  i64 two[8 * n_codes];  // cells of best_of_two
  i64 at[3] = {};  // what a search found
  bool chosen[n_codes + 2] = {};
};

// ---------------------------------------------------------------- drawn columns

// A copy of the rows of a node, of their codes only those of some columns.
class DrawnNode {
 public:
  DrawnNode(i64 n_rows, i64 n_drawn)
      : n_drawn(n_drawn), n_words((n_drawn + 3) / 4), words(n_rows * n_words), every(n_rows), label(n_rows), weight(n_rows),
        second(n_rows), count(n_rows), share(n_rows), drawn(n_drawn), n_bins(n_drawn), number(n_drawn),
        flags(new bool[2 * n_drawn]) {
    std::iota(every.begin(), every.end(), 0u);
  }

  // Copy the rows of a node, for columns drawn by its key.
  Node draw(const Node& node, u64 key) {
    draw_columns(key, node.n_columns(), view(drawn, n_drawn));
    for (i64 i = 0; i < node.n(); i++) {
      for (i64 word = 0; word < n_words; word++) {
        u32 codes = 0;
        for (i64 j = 4 * word; j < least(4 * word + 4, n_drawn); j++)
          codes |= static_cast<u32>(node.code(node.mine[i], drawn[j])) << (8 * (j % 4));
        words[i * n_words + word] = codes;
      }
    }
    const NodeRows& from = node.rows;
    const Array<const u32, 2> codes{words.data(), {node.n(), n_words}, {n_words, 1}};
    rows = {from.place, codes, copied(from.label, node.mine, label), copied(from.weight, node.mine, weight),
            copied(from.second, node.mine, second), copied(from.share, node.mine, share),
            copied(from.count, node.mine, count)};
    const Array<bool, 1> has_missing{flags.get(), {n_drawn}, {1}}, ordered{flags.get() + n_drawn, {n_drawn}, {1}};
    for (i64 j = 0; j < n_drawn; j++) {
      n_bins[j] = node.columns.n_bins[drawn[j]], number[j] = node.columns.number[drawn[j]];
      has_missing[j] = node.columns.has_missing[drawn[j]], ordered[j] = node.columns.ordered[drawn[j]];
    }
    columns = {view(n_bins, n_drawn), has_missing, ordered, view(number, n_drawn), node.columns.seen};
    return {rows, columns, view(every, node.n())};
  }

  i64 column(i64 j) const { return drawn[j]; }

 private:
  // Vectors that are empty stay empty.
  template <class T>
  static Array<const T, 1> copied(Array<const T, 1> from, Array<const u32, 1> mine, std::vector<T>& to) {
    const i64 n = from.empty() ? 0 : mine.shape[0];
    for (i64 i = 0; i < n; i++) to[i] = from[mine[i]];
    return view(to, n);
  }

  i64 n_drawn, n_words;
  std::vector<u32> words, every;
  std::vector<i32> label;
  std::vector<i64> weight, second, count;
  std::vector<double> share;
  std::vector<i64> drawn, n_bins, number;
  std::unique_ptr<bool[]> flags;
  NodeRows rows;
  ColumnLayout columns;
};

// ---------------------------------------------------------------- growing

// The splits of some trees, in the order in which they were found.
struct Subtrees {
  std::vector<i64> splits;  // [split, (node, column, cut)]
  std::vector<u8> lefts;  // [split, bin]: whether it goes left
  std::vector<i64> sums;  // [split, side, label]: weights
  std::vector<i64> opens;  // [(node, first row, last row)]: nodes where only looking ahead decides
};

// Put the rows that go left first; both sides keep their order. sides[side, label]; returns how many go left.
inline i64 part_rows(const NodeRows& rows, Array<u32, 1> mine, i64 column, const bool* on_left, bool squares, i64 n_labels,
                     u32* __restrict spare, i64* __restrict sides) {
  const u32* __restrict words = rows.codes.data + column / 4;
  const i64* __restrict weight = rows.weight.data;
  const i64 stride = rows.codes.stride[0];
  const int shift = static_cast<int>(8 * (column % 4));
  u32* order = mine.data;
  i64 n_left = 0, n_right = 0;
  for (i64 i = 0; i < mine.shape[0]; i++) {
    const u32 row = order[i];
    const i64 side = !on_left[(words[row * stride] >> shift) & 255];
    if (squares) {
      sides[side * n_labels] += weight[row];
      sides[side * n_labels + 1] += rows.second[row];
    } else {
      sides[side * n_labels + rows.label[row]] += weight[row];
    }
    order[n_left] = row;
    spare[n_right] = row;
    n_left += 1 - side;
    n_right += side;
  }
  std::copy_n(spare, n_right, order + n_left);
  return n_left;
}

// Whether only looking ahead decides about a node where no split gains; it is a leaf if a finer criterion finds any.
inline bool stays_open(NodeSearch& search, const Node& node, const SplitRule& rule, i64 levels, bool is_tied) {
  if (levels <= 1 || search.is_final(node) || !search.can_be_parted(node)) return false;
  if (is_tied || (rule.criterion != by_edge && rule.criterion != by_target)) return true;
  return !search.search(rule.criterion == by_edge ? gini : by_squares, node);
}

// Grow the trees below some nodes: node i has the rows order[ends[i]..ends[i + 1]], and may grow levels[i] levels.
//
// The children of split s are the nodes n + 2 s and n + 2 s + 1 for n given nodes. `opens` are nodes of which no split
// gains. Rows are put in order. keys: of the nodes, by which columns are drawn. earning: for numeric targets.
inline Subtrees grow_subtrees(const NodeRows& rows, const ColumnLayout& columns, const SplitRule& rule,
                              const std::optional<TargetRule>& earning, Array<u32, 1> order, Ints ends,
                              Array<const i64, 2> totals, Ints levels, Flags tied, Array<const u64, 1> keys) {
  struct Waiting {
    i64 node, low, high, levels;
    u64 key;
  };
  const i64 n_roots = ends.shape[0] - 1, n_labels = rule.n_labels;
  i64 n_rows = 0;
  for (i64 root = 0; root < n_roots; root++) n_rows = most(n_rows, ends[root + 1] - ends[root]);
  NodeSearch search(rule, earning, n_rows, columns.n_bins.shape[0]);
  DrawnNode drawn(rule.n_drawn > 0 ? n_rows : 0, rule.n_drawn);
  std::vector<u32> spare(n_rows);
  std::vector<Waiting> waiting;
  Subtrees grown;
  for (i64 root = 0; root < n_roots; root++) {
    waiting.push_back({root, ends[root], ends[root + 1], levels[root], keys[root]});
    while (!waiting.empty()) {
      const Waiting here = waiting.back();
      waiting.pop_back();
      const Node node{rows, columns, order.slice(here.low, here.high)};
      const i64* weights = here.node < n_roots ? totals[here.node].data : &grown.sums[(here.node - n_roots) * n_labels];
      std::copy_n(weights, n_labels, search.totals.begin());
      if (rule.min_samples_split > 2 && node.count() < rule.min_samples_split) continue;
      bool gains = rule.n_drawn > 0 && search.search(rule.criterion, drawn.draw(node, here.key));
      if (gains)
        search.column = drawn.column(search.column);
      else  // where no drawn column gains, all are searched
        gains = search.search(rule.criterion, node);
      if (!gains) {
        if (stays_open(search, node, rule, here.levels, tied[root]))
          grown.opens.insert(grown.opens.end(), {here.node, here.low, here.high});
        continue;
      }
      const i64 child = n_roots + 2 * static_cast<i64>(grown.splits.size() / 3);
      grown.splits.insert(grown.splits.end(), {here.node, search.column, search.cut});
      grown.lefts.insert(grown.lefts.end(), std::begin(search.on_left), std::end(search.on_left));
      grown.sums.resize(grown.sums.size() + 2 * n_labels);
      i64* sides = grown.sums.data() + grown.sums.size() - 2 * n_labels;
      const i64 middle = here.low + part_rows(rows, order.slice(here.low, here.high), search.column, search.on_left,
                                              rule.criterion == by_squares, n_labels, spare.data(), sides);
      for (int side = 1; side >= 0; side--) {
        const i64* mine = sides + side * n_labels;
        const bool is_mixed = n_labels - std::count(mine, mine + n_labels, 0) > 1;
        if (here.levels > 1 && is_mixed)
          waiting.push_back({child + side, side == 1 ? middle : here.low, side == 1 ? here.high : middle, here.levels - 1,
                             fold_key(here.key, 1 + side)});
      }
    }
  }
  return grown;
}

}  // namespace electorate
