// Random columns for a node of a tree, by a hash of its place in the tree: the same on every engine.
#pragma once
#include "electorate/array.hpp"

namespace electorate {

constexpr u64 golden = 0x9E3779B97F4A7C15;

// The 64 bits of splitmix64 for one state.
inline u64 mixed_bits(u64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Fold a number into a key of 64 bits: the side of a child, or what tells two trees apart.
inline u64 fold_key(u64 key, u64 number) { return mixed_bits((key ^ number) * 0xD1342543DE82EF95 + golden); }

// Write as many of the columns as `drawn` is long, in ascending order; all sets of that size are equally likely.
inline void draw_columns(u64 key, i64 n_columns, Array<i64, 1> drawn) {
  const i64 n_drawn = drawn.shape[0];
  i64 taken = 0;
  u64 state = key;
  for (i64 column = 0; column < n_columns; column++) {
    state += golden;
    if (mixed_bits(state) % static_cast<u64>(n_columns - column) < static_cast<u64>(n_drawn - taken)) drawn[taken++] = column;
  }
}

}  // namespace electorate
