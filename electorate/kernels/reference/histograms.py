"""Exact sums per label, column and bin: the twins of histograms.hpp, in plain NumPy."""

from itertools import pairwise

import numpy as np


def quantise(channel, times, scale, starts, grid, totals):
    units = np.rint(channel * scale).astype(np.int64)
    grid[:] = units * times if len(times) else units
    totals[:] = [grid[low:high].sum() for low, high in pairwise(starts)]


def histogram(codes, grid, low, high, sums):
    if len(sums) != len(codes):
        codes = np.concatenate([[words >> 8 * place & 255 for place in range(4)] for words in codes.astype(np.uint32)])
    for column, total in zip(codes, sums, strict=True):
        np.add.at(total, column[low:high], grid[low:high])


def histogram_of(codes, grid, order, low, high, sums):
    rows = order[low:high]
    histogram(codes[:, rows], grid[rows], 0, high - low, sums)


def label_histograms(codes, grid, starts, group, sums, clear):
    node_histograms(codes, grid, np.arange(len(grid)), 0, starts, group, sums, clear)


def node_histograms(codes, grid, order, low, starts, group, sums, clear):
    if clear:
        sums[:] = 0
    for label, mine in enumerate(group):
        histogram_of(codes, grid, order, low + starts[label], low + starts[label + 1], sums[mine])


def add_up(stack, out, low, high):
    out[low:high] = stack[:, low:high].sum(axis=0)


def spread(sums, place, used, cell, out):
    for histogram, found in zip(sums, out, strict=True):
        for j, stored in enumerate(place):
            np.add.at(found, cell[j, : used[j]], histogram[stored, : used[j]])


def unpack(packed, cells, out):
    out[:] = 0
    out[:, cells] = packed
