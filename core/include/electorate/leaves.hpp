// The rows of a grown tree: their codes for the driver, the leaf of each, and what the leaves add to their state.
#pragma once
#include <vector>

#include "electorate/layouts.hpp"

namespace electorate {

// How a tree sends rows on. Split s sends a row to children[s, 0] if on_left[s, code of column[s]], else to
// children[s, 1]: another split, or ~leaf. begins[i]: the same of the node numbers[i] of the growing tree.
struct Walk {
  Array<const i64, 1> numbers, begins, column;
  Array<const bool, 2> on_left;
  Array<const i64, 2> children;
};

// The rows of nodes numbers[i], node by node: their number, i, codes[row, word], label, and weight on the grid.
template <class T>
inline void collect_rows(Array<const T, 2> packed, Array<const i64, 1> grid, Array<const u32, 1> order, NodeArrays nodes,
                         Array<const i64, 1> numbers, Array<const i64, 1> group, Array<u32, 1> rows, Array<i32, 1> place,
                         Array<T, 2> codes, Array<i32, 1> label, Array<i64, 1> weight) {
  const i64 n_words = packed.shape[0], word = packed.stride[0];
  i64 at = 0;
  for (i64 i = 0; i < numbers.shape[0]; i++) {
    const Array<i64, 1> starts = nodes.starts[numbers[i]];
    const u32* mine = order.data + nodes.low[numbers[i]];
    for (i64 k = 0; k < group.shape[0]; k++) {
      for (i64 m = starts[k]; m < starts[k + 1]; m++, at++) {
        const i64 row = mine[m];
        rows.data[at] = mine[m];
        place.data[at] = static_cast<i32>(i);
        label.data[at] = static_cast<i32>(group.data[k]);
        weight.data[at] = grid.data[row];
        const T* from = packed.data + row;
        T* to = codes.data + at * codes.stride[0];
        for (i64 g = 0; g < n_words; g++) to[g] = from[g * word];
      }
    }
  }
}

// leaf[row] = the leaf of every row of some nodes.
template <class T>
inline void find_leaves(Array<T, 3> codes, Array<const u32, 1> order, NodeArrays nodes, const Walk& walk, Array<i32, 1> leaf) {
  struct Place {
    const T* codes;
    const bool* on_left;
  };
  const i64 per_group = codes.shape[2], step = codes.stride[1], n_ends = nodes.starts.shape[1];
  std::vector<Place> places;
  for (i64 s = 0; s < walk.column.shape[0]; s++)
    places.push_back({codes.data + walk.column[s] / per_group * codes.stride[0] + walk.column[s] % per_group, walk.on_left[s].data});
  const Place* place = places.data();
  const i64* children = walk.children.data;
  i32* __restrict leaf_of = leaf.data;
  for (i64 i = 0; i < walk.numbers.shape[0]; i++) {
    const u32* rows = order.data + nodes.low[walk.numbers[i]];
    const i64 n = nodes.starts(walk.numbers[i], n_ends - 1);
    for (i64 k = 0; k < n; k++) {
      const i64 row = rows[k];
      i64 at = walk.begins[i];
      while (at >= 0) at = children[2 * at + (place[at].on_left[place[at].codes[row * step]] ? 0 : 1)];
      leaf_of[row] = static_cast<i32>(~at);
    }
  }
}

// state[s, row] += gains[s, label, leaf of the row]; label k has the rows starts[k]..starts[k + 1].
inline void add_leaf_gains(Array<const i32, 1> leaf, Array<const double, 3> gains, Array<const i64, 1> starts,
                           Array<double, 2> state) {
  const i32* leaf_of = leaf.data;
  for (i64 s = 0; s < state.shape[0]; s++) {
    double* __restrict numbers = state[s].data;
    for (i64 label = 0; label + 1 < starts.shape[0]; label++) {
      const double* table = gains[s][label].data;
      for (i64 i = starts[label]; i < starts[label + 1]; i++) numbers[i] += table[leaf_of[i]];
    }
  }
}

// `find_leaves`, then `add_leaf_gains`.
inline void add_tree(Codes codes, Array<const u32, 1> order, NodeArrays nodes, const Walk& walk, Array<i32, 1> leaf,
                     Array<const double, 3> gains, Array<const i64, 1> starts, Array<double, 2> state) {
  std::visit([&](auto c) { find_leaves(c, order, nodes, walk, leaf); }, codes);
  add_leaf_gains(leaf, gains, starts, state);
}

}  // namespace electorate
