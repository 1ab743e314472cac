"""Whole subtrees below small nodes: the twin of subtrees.hpp, from full histograms, in plain NumPy."""

from typing import Any

import numpy as np

from electorate.kernels.reference import drawing, search, target_search

EDGE, GINI, MATSUSHITA, TARGET, SQUARES = range(5)
NO_ROWS = np.zeros((0, 0), dtype=np.int64)


def grow_subtrees(rows, columns, rule, earning, order, ends, totals, levels, tied, keys):
    codes = rows.codes.view(np.uint8)
    splits: list[Any]
    splits, lefts, sums, still_open = [], [], [], []
    for root in range(len(ends) - 1):
        waiting = [(root, int(ends[root]), int(ends[root + 1]), int(levels[root]), totals[root], keys[root])]
        while waiting:
            node, low, high, below, weights, key = waiting.pop()
            mine = order[low:high]
            if rule.min_samples_split > 2 and rows.count[mine].sum() < rule.min_samples_split:
                continue
            found = None
            if rule.n_drawn > 0:
                found = _best(rule.criterion, rows, codes, mine, _drawn(columns, rule.n_drawn, key), rule, earning)
            if found is None:
                found = _best(rule.criterion, rows, codes, mine, columns, rule, earning)
            if found is None:
                if below > 1 and _stays_open(rows, codes, mine, columns, rule, earning, tied[root], weights):
                    still_open.append((node, low, high))
                continue
            column, cut, on_left = found
            left = on_left[codes[mine, column]]
            sides = [_weights(rows, side, rule) for side in (mine[left], mine[~left])]
            order[low:high] = np.concatenate([mine[left], mine[~left]])
            child, middle = len(ends) - 1 + 2 * len(splits), low + int(left.sum())
            splits.append((node, column, cut))
            lefts.append(on_left)
            sums.append(sides)
            if below > 1 and np.count_nonzero(sides[1]) > 1:
                waiting.append((child + 1, middle, high, below - 1, sides[1], drawing.fold_key(key, 2)))
            if below > 1 and np.count_nonzero(sides[0]) > 1:
                waiting.append((child, low, middle, below - 1, sides[0], drawing.fold_key(key, 1)))
    return (
        np.array(splits, dtype=np.int64).reshape(-1, 3),
        np.array(lefts, dtype=np.bool_).reshape(-1, 256),
        np.array(sums, dtype=np.int64).reshape(-1, 2, rule.n_labels),
        np.array(still_open, dtype=np.int64).reshape(-1, 3),
    )


def _drawn(columns, n_drawn, key):
    """The columns, without bins in those that are not drawn."""
    drawn = np.empty(n_drawn, dtype=np.int64)
    drawing.draw_columns(key, len(columns.n_bins), drawn)
    wanted = np.isin(np.arange(len(columns.n_bins)), drawn)
    n_bins, has_missing = np.where(wanted, columns.n_bins, 0), columns.has_missing & wanted
    return columns._replace(n_bins=n_bins, has_missing=has_missing, ordered=columns.ordered | ~wanted)


def _weights(rows, mine, rule):
    if rule.criterion == SQUARES:
        return np.array([rows.weight[mine].sum(), rows.second[mine].sum()])
    weights = np.zeros(rule.n_labels, dtype=np.int64)
    np.add.at(weights, rows.label[mine], rows.weight[mine])
    return weights


def _histogram(codes, mine, n_columns, labels, values, n_labels):
    found = np.zeros((n_labels, n_columns, 256), dtype=np.int64)
    np.add.at(found, (labels[mine, None], np.arange(n_columns), codes[mine, :n_columns]), values[mine, None])
    return found


def _best(criterion, rows, codes, mine, columns, rule, earning):
    """(column, cut, on_left) of the best split that gains, or None."""
    n_columns, zeros = len(columns.n_bins), np.zeros(len(rows.weight), dtype=np.int64)
    if criterion == SQUARES:
        second = rows.weight * rows.label if rule.criterion == TARGET else rows.second
        parts = (_histogram(codes, mine, n_columns, zeros, values, 1) for values in (rows.weight, second))
        histogram = np.concatenate(list(parts))
    else:
        histogram = _histogram(codes, mine, n_columns, rows.label, rows.weight, rule.n_labels)
    counted = rule.min_samples_leaf > 1
    n_rows = _histogram(codes, mine, n_columns, zeros, rows.count, 1)[0] if counted else NO_ROWS
    limit, layout, found = (n_rows, rule.min_samples_leaf), columns[:3], np.zeros(3, dtype=np.int64)
    totals, best = histogram[:, 0].sum(axis=1), None
    most = _value(criterion, totals, earning)
    most += 0 if criterion == EDGE else abs(most) * 1e-12
    given: Any = (histogram, totals, *layout, *limit)
    if criterion == EDGE:
        score = search.best_threshold(*(*given, found))
    elif criterion == SQUARES:
        score = target_search.best_mean_threshold(*(*given, found))
    elif criterion == TARGET:
        score = target_search.best_target_threshold(*(*given, *earning, found))
    else:
        score = search.purest_threshold(*(*given, criterion, found))
    if score > most:
        most, best = score, (int(found[0]), int(found[1]), _threshold(columns, *found))
    score, column, on_left = _best_set(criterion, histogram, totals, columns, limit, earning)
    if score > most:
        best = column, -1, _members(columns, column, on_left)
    return best


def _value(criterion, totals, earning):
    if criterion == EDGE:
        return totals.max()
    if criterion == SQUARES:
        return float(totals[1]) ** 2 / float(totals[0]) if totals[0] > 0 else 0.0
    if criterion == TARGET:
        kind, reach, targets, _, rate, table, abstains = earning
        edge = target_search.side_edge(kind, totals, reach, targets, rate, table)
        return max(edge, 0.0) if abstains else edge
    return search.purity(criterion, np.zeros_like(totals), totals)


def _best_set(criterion, histogram, totals, columns, limit, earning):
    n_rows, least = limit
    found, on_left = np.zeros(3, dtype=np.int64), np.zeros(256, dtype=np.bool_)
    if criterion == EDGE:
        given: Any = (histogram, *columns[:3], *limit)
        score = search.best_subset(*(*given, found))
        return score, int(found[0]), histogram[found[1], found[0]] > histogram[found[2], found[0]]
    if criterion in (GINI, MATSUSHITA):
        given = (histogram, totals, columns.n_bins, columns.ordered, *limit, criterion)
        score = search.purest_subset(*(*given, found, on_left))
        return score, int(found[0]), on_left
    best = (-np.inf, -1, on_left)
    for column in np.flatnonzero(~columns.ordered).tolist():
        sums = histogram[:, column]
        weights, targets = (
            (sums[0], sums[1]) if criterion == SQUARES else (sums.sum(axis=0), np.arange(len(sums)) @ sums)
        )
        present = np.flatnonzero(weights > 0)
        order = present[np.argsort(targets[present] / weights[present], kind="stable")]
        for place in range(1, len(order)):
            left = sums[:, order[:place]].sum(axis=1)
            some = n_rows[column, order[:place]].sum() if len(n_rows) else least
            every = n_rows[column].sum() if len(n_rows) else 2 * least
            score = _value(criterion, left, earning) + _value(criterion, totals - left, earning)
            if score > best[0] and min(some, every - some) >= least:
                best = score, column, np.isin(np.arange(256), order[:place])
    return best


def _threshold(columns, column, cut, missing_left):
    on_left = np.arange(256) <= cut
    on_left[-1] = missing_left
    if not columns.has_missing[column]:
        on_left[-1] = columns.seen[column, : cut + 1].sum() >= columns.seen[column, cut + 1 : -1].sum()
    return on_left


def _members(columns, column, on_left):
    if not columns.has_missing[column]:
        on_left[-1] = False
        on_left[-1] = columns.seen[column, on_left].sum() >= columns.seen[column, ~on_left].sum()
    return on_left


def _stays_open(rows, codes, mine, columns, rule, earning, tied, totals):
    criterion = rule.criterion
    if criterion in (EDGE, GINI) and search.is_pure(totals):
        return False
    if criterion == SQUARES and rows.share[mine].min(initial=np.inf) >= rows.share[mine].max(initial=-np.inf):
        return False
    if criterion == TARGET:
        each = earning.table.max(axis=0) if earning.kind == 2 else np.ones(len(totals))
        most = (np.maximum(each, 0.0) if earning.abstains else each) @ totals.astype(np.float64)
        if most > 0 and _value(TARGET, totals, earning) >= most * (1 - 0.5e-12):
            return False
    if rule.min_samples_leaf > 1 and rows.count[mine].sum() // 2 < rule.min_samples_leaf:
        return False
    weighed = codes[mine[rows.weight[mine] > 0]][:, : len(columns.n_bins)]
    if not np.any(weighed != weighed[:1]):
        return False
    if tied or criterion not in (EDGE, TARGET):
        return True
    return _best(GINI if criterion == EDGE else SQUARES, rows, codes, mine, columns, rule, earning) is None
