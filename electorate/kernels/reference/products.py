"""Products of rows and columns: the twins of products.hpp, in plain NumPy."""

import numpy as np


def correlate_signs(bits, units, sums):
    signs = np.unpackbits(bits, axis=0, count=len(units), bitorder="little").astype(np.int64)
    sums += units @ signs


def count_differences(words, column, counts):
    differs = np.ascontiguousarray(words ^ words[column])
    counts[:] = np.unpackbits(differs.view(np.uint8), axis=1).sum(axis=1)


def correlate_reals(columns, units, times, sums):
    sums += (np.rint(columns * units).astype(np.int64) * times).sum(axis=1)


def inner_products(rows, others, out):
    out[:] = 0.0
    for x, y in zip(rows.T, others, strict=True):
        out += x[:, None] * y


def squared_distances(rows, others, out):
    out[:] = 0.0
    for x, y in zip(rows.T, others, strict=True):
        out += (x[:, None] - y) ** 2
