"""The twins of drawing.hpp."""

import numpy as np

WORD = 2**64


def _mixed(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def fold_key(key, number):
    return np.uint64(_mixed(((int(key) ^ (int(number) % WORD)) * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) % WORD))


def draw_columns(key, n_columns, drawn):
    taken: list[int] = []
    for column in range(n_columns):
        bits = _mixed((int(key) + (column + 1) * 0x9E3779B97F4A7C15) % WORD)
        if bits % (n_columns - column) < len(drawn) - len(taken):
            taken.append(column)
    drawn[:] = taken
