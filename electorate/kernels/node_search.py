"""The best thresholds of several nodes, by the threads at a board: a task searches some columns of one node."""

import numpy as np

from electorate.kernels.compile import kernel
from electorate.kernels.search import best_threshold, purest_threshold, purity, send_left
from electorate.kernels.team import array_at, prepared, run_tasks


@kernel
def _search_part(number, group):
    """Task: the best threshold of one node among the columns of one mask."""
    nodes, like, totals, columns, masks, criterion, weights, purities, found, no_rows = group
    m, part = number // masks.shape[0], number % masks.shape[0]
    histogram, limits = array_at(nodes[m], like), (columns.n_bins, columns.has_missing, masks[part], no_rows, 1)
    if criterion == 0:
        weights[m, part] = best_threshold(histogram, totals[m], *limits, found[m, part])
    else:
        purities[m, part] = purest_threshold(histogram, totals[m], *limits, criterion, found[m, part])


@kernel
def _best_part(criterion, totals, weights, purities):
    """The part with the best threshold, of equals the first; -1 if none is better than no split."""
    best = -1
    if np.count_nonzero(totals) < 2:
        return best
    most_weight = totals.max()
    most = purity(criterion, np.zeros_like(totals), totals)
    most += abs(most) * 1e-12  # rounding alone is no gain
    for part in range(weights.shape[0]):
        if criterion == 0 and weights[part] > most_weight:
            best, most_weight = part, weights[part]
        elif criterion > 0 and purities[part] > most:
            best, most = part, purities[part]
    return best


@kernel
def search_nodes(board, nodes, like, totals, columns, masks, criterion, splits, on_left, sides):
    """Find the best threshold of every node; False if a task failed.

    nodes: the addresses of histograms like `like`; totals[node, label]; columns: a layout with `seen`; masks[part,
    column]: which columns a task searches, in their order. criterion 0: the weight that is right; 1 and 2: `purity`.
    splits[node] gets column and cut, column -1 where no split gains; on_left[node, bin]; sides[node, side, label].
    """
    n_nodes, n_parts = totals.shape[0], masks.shape[0]
    weights, purities = np.empty((n_nodes, n_parts), dtype=np.int64), np.empty((n_nodes, n_parts), dtype=np.float64)
    found, no_rows = np.zeros((n_nodes, n_parts, 3), dtype=np.int64), np.empty((0, 0), dtype=np.int64)
    group = (nodes, like, totals, columns, masks, criterion, weights, purities, found, no_rows)
    task, place = prepared(_search_part, group)
    good = run_tasks(board, n_nodes * n_parts, task, place)
    for m in range(n_nodes):
        part = _best_part(criterion, totals[m], weights[m], purities[m])
        splits[m, 0] = -1
        if part >= 0:
            column, cut, missing_left = found[m, part]
            splits[m, 0], splits[m, 1] = column, cut
            side = missing_left if columns.has_missing[column] else -1
            send_left(array_at(nodes[m], like), columns.seen[column], column, cut, side, on_left[m], sides[m])
    return good
