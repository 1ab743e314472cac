"""Exact sums per label, column and bin: the twins of kernels/histograms.py, in plain NumPy."""

from itertools import pairwise

import numpy as np


def quantise(channel, times, scale, starts, grid, totals):
    units = np.rint(channel * scale).astype(np.int64)
    grid[:] = units * times if len(times) else units
    totals[:] = [grid[low:high].sum() for low, high in pairwise(starts)]


def histogram8(codes, grid, low, high, sums):
    for g, words in enumerate(codes):
        for place in range(4):
            histogram16((words >> 8 * place & 255)[None], grid, low, high, sums[4 * g + place, None])


def histogram16(codes, grid, low, high, sums):
    for column, total in zip(codes, sums, strict=False):
        np.add.at(total, column[low:high], grid[low:high])


def histogram8_of(codes, grid, order, low, high, sums):
    rows = order[low:high]
    histogram8(codes[:, rows], grid[rows], 0, high - low, sums)


def histogram16_of(codes, grid, order, low, high, sums):
    rows = order[low:high]
    histogram16(codes[:, rows], grid[rows], 0, high - low, sums)


def histograms8(codes, grid, starts, sums):
    sums[:] = 0
    for label in range(len(starts) - 1):
        histogram8(codes, grid, starts[label], starts[label + 1], sums[label])


def histograms8_of(codes, grid, order, low, starts, sums, whole):
    sums[:] = 0
    for label in range(len(starts) - 1):
        first, last = low + starts[label], low + starts[label + 1]
        histogram8_of(codes, grid, order, first, last, sums[label])
    if len(whole):
        whole -= sums


def spread(sums, place, used, cell, out):
    for histogram, found in zip(sums, out, strict=True):
        for j, stored in enumerate(place):
            np.add.at(found, cell[j, : used[j]], histogram[stored, : used[j]])


def unpack(packed, cells, out):
    out[:] = 0
    out[:, cells] = packed
