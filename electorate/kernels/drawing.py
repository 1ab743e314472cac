"""Random columns for a node of a tree, by a hash of its place in the tree: the same on every engine."""

import numpy as np

from electorate.kernels.compile import inlined, kernel


@inlined
def _mixed(z):
    """The 64 bits of splitmix64 for one state."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def fold_key(key, number):
    """Fold a number into a key of 64 bits: the side of a child, or what tells two trees apart."""
    return _mixed((key ^ np.uint64(number)) * np.uint64(0xD1342543DE82EF95) + np.uint64(0x9E3779B97F4A7C15))


@kernel
def draw_columns(key, n_columns, drawn):
    """Write len(drawn) of the columns in ascending order; all sets of that size are equally likely."""
    n_drawn, taken, state = drawn.shape[0], 0, np.uint64(key)
    for column in range(n_columns):
        state += np.uint64(0x9E3779B97F4A7C15)
        if _mixed(state) % np.uint64(n_columns - column) < np.uint64(n_drawn - taken):
            drawn[taken] = column
            taken += 1
