"""The best thresholds of several nodes, node after node: the twin of node_search.hpp, in plain NumPy."""

import numpy as np

from electorate.kernels.reference.search import best_threshold, purest_threshold, purity, send_left

NO_ROWS = np.empty((0, 0), dtype=np.int64)


def search_nodes(n_threads, histograms, totals, columns, masks, criterion, splits, on_left, sides):
    splits[:, 0] = -1
    for m, histogram in enumerate(histograms):
        if np.count_nonzero(totals[m]) < 2:
            continue
        found = np.zeros(3, dtype=np.int64)
        limits = (columns.n_bins, columns.has_missing, masks.any(axis=0), NO_ROWS, 1)
        if criterion == 0:
            gains = best_threshold(histogram, totals[m], *limits, found) > totals[m].max()
        else:
            most = purity(criterion, np.zeros_like(totals[m]), totals[m])
            gains = purest_threshold(histogram, totals[m], *limits, criterion, found) > most + abs(most) * 1e-12
        if gains:
            column, cut, missing_left = found.tolist()
            splits[m] = column, cut
            side = missing_left if columns.has_missing[column] else -1
            send_left(histogram, columns.seen[column], column, cut, side, on_left[m], sides[m])
