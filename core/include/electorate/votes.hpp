// Prediction by trees: the leaf that a row reaches in every voter, and the sums of their votes.
//
// cells[place, row]: the cell of a value, the number of edges below it.
#pragma once
#include <tuple>

#include "electorate/array.hpp"

namespace electorate {

// Nodes of all voters. A node goes left if the cell is at most its cut, or in its set of categories; place is -1 at a
// leaf. children: counted from the voter's root.
struct TreeNodes {
  Array<const i32, 1> place, cut, members;
  Array<const bool, 1> missing_left;
  Array<const i32, 2> children;
  Array<const bool, 2> sets;
};

// votes[output, row] += units of the leaf that a row reaches in each voter. A cell is -1 where a value is missing.
inline void walk(Array<const i32, 2> cells, Array<const i64, 1> offsets, const TreeNodes& nodes, Array<const i64, 2> units,
                 Array<i64, 2> votes) {
  const i32 *place = nodes.place.data, *cut = nodes.cut.data, *members = nodes.members.data, *kids = nodes.children.data;
  const i64 kid_stride = nodes.children.stride[0], cell_stride = cells.stride[0], outputs = votes.shape[0];
  for (i64 t = 0; t + 1 < offsets.shape[0]; t++) {
    const i64 root = offsets[t];
    for (i64 i = 0; i < cells.shape[1]; i++) {
      i64 node = root;
      while (place[node] >= 0) {
        const i32 cell = cells.data[place[node] * cell_stride + i];
        const bool left = cell < 0              ? nodes.missing_left[node]
                          : members[node] >= 0 ? nodes.sets(members[node], cell)
                                                : cell <= cut[node];
        node = root + kids[node * kid_stride + !left];
      }
      for (i64 k = 0; k < outputs; k++) votes(k, i) += units(node, k);
    }
  }
}

// As `walk`, for voters with thresholds only: all rows of a block go down together, without branches. A cell goes left if
// low <= cell <= cut, so that a missing one (-1) does where low is -1. kids[node, 1 if left]: counted from the first node
// of all; a leaf leads to itself. Index: of 32 bits where all cells can be counted so, which are gathered at once.
template <class Index>
inline void walk_ordered(Array<const i32, 2> cells, Array<const i64, 1> offsets, Array<const i32, 1> depths,
                         Array<const i32, 1> places, Array<const i32, 1> lows, Array<const i32, 1> cuts,
                         Array<const i32, 2> kids, Array<const i64, 2> units, Array<i64, 2> votes, Array<i32, 1> scratch) {
  const Index rows = static_cast<Index>(cells.shape[1]), stride = static_cast<Index>(cells.stride[0]);
  const i64 unit_stride = units.stride[0];
  const i32* __restrict cell = cells.data;
  const i32* __restrict place = places.data;
  const i32* __restrict low = lows.data;
  const i32* __restrict cut = cuts.data;
  const i32* __restrict both = kids.data;
  i32* __restrict at = scratch.data;
  for (i64 t = 0; t + 1 < offsets.shape[0]; t++) {
    for (Index i = 0; i < rows; i++) at[i] = static_cast<i32>(offsets[t]);
    for (i32 level = 0; level < depths[t]; level++)
      for (Index i = 0; i < rows; i++) {
        const i32 node = at[i], mine = cell[place[node] * stride + i];
        at[i] = both[2 * node + ((mine >= low[node]) & (mine <= cut[node]))];
      }
    for (i64 k = 0; k < votes.shape[0]; k++) {
      i64* __restrict total = votes[k].data;
      const i64* __restrict unit = units.data + k;
      for (i64 i = 0; i < rows; i++) total[i] += unit[at[i] * unit_stride];
    }
  }
}

// The splits of trees of few leaves; see `Tests` in electorate/model/masks.py.
struct MaskTests {
  Array<const i32, 1> place;
  Array<const u8, 1> shift, cut;
  Array<const i32, 1> table;
  Array<const u8, 2> tables;
  Array<const i32, 2> span;
  Array<const u8, 3> keep;
  static constexpr const char* name = "Tests";
  static constexpr auto fields = std::tuple(&MaskTests::place, &MaskTests::shift, &MaskTests::cut, &MaskTests::table,
                                            &MaskTests::tables, &MaskTests::span, &MaskTests::keep);
};

// leaf[row] of a tree with the splits first..last: every split crosses out the leaves on the side not taken. cells:
// bytes, 255 where missing. planes[byte of leaves, row]: the leaves not crossed out, in the end a single bit.
inline void cross_out(Array<const u8, 2> cells, i64 first, i64 last, const MaskTests& tests, Array<u8, 2> planes,
                      Array<u8, 1> leaf) {
  const i64 rows = cells.shape[1];
  u8* __restrict mine = leaf.data;
  i64 used = 0;
  for (i64 q = first; q < last; q++) used = most(used, i64{tests.span(q, 1)});
  for (i64 p = 0; p < used; p++) {
    u8* __restrict plane = planes[p].data;
    for (i64 i = 0; i < rows; i++) plane[i] = 255;
  }
  for (i64 q = first; q < last; q++) {
    const u8* __restrict column = cells[tests.place[q]].data;
    const bool by_table = tests.table[q] >= 0;
    const u8 shift = tests.shift[q], cut = tests.cut[q];
    if (by_table) {
      const u8* __restrict goes_left = tests.tables[tests.table[q]].data;
      for (i64 i = 0; i < rows; i++) mine[i] = goes_left[column[i]];
    }
    for (i64 p = tests.span(q, 0); p < tests.span(q, 1); p++) {
      u8* __restrict plane = planes[p].data;
      const u8 right = tests.keep(q, p, 0), left = tests.keep(q, p, 1);
      if (by_table) {
        for (i64 i = 0; i < rows; i++) plane[i] &= mine[i] != 0 ? left : right;
      } else {
        for (i64 i = 0; i < rows; i++) plane[i] &= static_cast<u8>(column[i] + shift) <= cut ? left : right;
      }
    }
  }
  for (i64 i = 0; i < rows; i++) mine[i] = 0;
  for (i64 p = 0; p < used; p++) {
    const u8* __restrict plane = planes[p].data;
    const u8 base = static_cast<u8>(8 * p);
    for (i64 i = 0; i < rows; i++) {  // the number of the bit
      const u8 bit = plane[i];
      const u8 odd = (bit & 0xAA) != 0 ? 1 : 0, upper = (bit & 0xCC) != 0 ? 2 : 0, high = (bit & 0xF0) != 0 ? 4 : 0;
      mine[i] |= odd | upper | high | (bit != 0 ? base : u8{0});
    }
  }
}

// votes[output, row] += the units of the leaf that a row reaches in every tree (see electorate/model/masks.py).
// units[output, leaf] with the leaves of tree t from leaves[t] on; cells and planes as in `cross_out`.
inline void vote(Array<const u8, 2> cells, Array<const i64, 1> offsets, Array<const i64, 1> leaves, const MaskTests& tests,
                 Array<const i64, 2> units, Array<i64, 2> votes, Array<u8, 2> planes, Array<u8, 1> leaf) {
  for (i64 t = 0; t + 1 < offsets.shape[0]; t++) {
    cross_out(cells, offsets[t], offsets[t + 1], tests, planes, leaf);
    for (i64 k = 0; k < votes.shape[0]; k++) {
      i64* __restrict total = votes[k].data;
      const i64* __restrict mine = units[k].data + leaves[t];
      const u8* __restrict reached = leaf.data;
      for (i64 i = 0; i < cells.shape[1]; i++) total[i] += mine[reached[i]];
    }
  }
}

// out[output, row, voter] = the output of every tree, not their sum; as in `vote`.
inline void tree_outputs(Array<const u8, 2> cells, Array<const i64, 1> offsets, Array<const i64, 1> leaves,
                         const MaskTests& tests, Array<const double, 2> values, Array<double, 3> out, Array<u8, 2> planes,
                         Array<u8, 1> leaf) {
  for (i64 t = 0; t + 1 < offsets.shape[0]; t++) {
    cross_out(cells, offsets[t], offsets[t + 1], tests, planes, leaf);
    for (i64 k = 0; k < out.shape[0]; k++) {
      const double* __restrict mine = values[k].data + leaves[t];
      double* __restrict to = out[k].data + t;
      for (i64 i = 0; i < out.shape[1]; i++) to[i * out.stride[1]] = mine[leaf.data[i]];
    }
  }
}

}  // namespace electorate
