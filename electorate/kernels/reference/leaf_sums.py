"""Sums of the leaves that rows reach in trees on plain numbers: the twin of leaf_sums.hpp."""

import numpy as np


def add_leaves(rows, roots, outputs, nodes, sets, leaf, values, totals):
    width = values.shape[1]
    for root, first in zip(roots, outputs, strict=True):
        place = np.full(len(rows), root)
        while np.any(place >= 0):
            going = np.flatnonzero(place >= 0)
            node = nodes[place[going]]
            x = rows[going, node["column"]]
            left = x <= node["threshold"]
            by_set = np.flatnonzero((node["route"] >= 0) & ~np.isnan(x))
            codes = x[by_set].astype(np.int64)
            left[by_set] = (sets[node["route"][by_set] >> 1, codes >> 5] >> (codes & 31)) & 1 == 1
            left = np.where(np.isnan(x), node["route"] & 1 == 1, left)
            place[going] = np.where(left, node["left"], node["right"])
        totals[:, first : first + width] += values[leaf[-1 - place]]
