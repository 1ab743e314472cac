"""Whole subtrees below small nodes, from their rows: a level costs its rows, and not a full histogram for every node.

A node is searched in compact histograms: only the labels and the bins that its rows have, some columns at a time. The
kernels of search.py and target_search.py find the same split there as in the full histogram, with the same score.
"""

from typing import Any, NamedTuple

import numpy as np

from electorate.kernels import search, target_search
from electorate.kernels.compile import kernel

EDGE, GINI, MATSUSHITA, TARGET, SQUARES = 0, 1, 2, 3, 4
COLUMNS_AT_ONCE = 16  # of a compact histogram: it stays in the second-level cache
BYTE_CODES = 256


class Buffers(NamedTuple):
    """Reused by all nodes. cells and met are zero between two uses."""

    cells: Any  # [column of a word, label x code]: sums
    met: Any  # [column of a word, code]: whether a row has it
    codes: Any  # [row]: of one column
    sums: Any  # compact: [label, column, bin], flat
    counts: Any  # compact: rows by [column, bin], flat
    place: Any  # [column, bin of the compact histogram]: bin
    n_bins: Any  # [column]
    value: Any  # [channel, row]
    offset: Any  # [row]: where the cells of its label begin
    totals: Any  # [label], all labels
    present: Any  # [label of the compact histogram]: label
    rank: Any  # [label]: its place there
    some: Any  # [label of the compact histogram]: its total
    reach: Any  # as in the rule, for the labels that are present
    targets: Any
    away: Any
    table: Any
    best: Any  # column, cut (-1: a set), missing left
    on_left: Any  # by bin: the best split
    chosen: Any  # by bin of the compact histogram: a set of categories


@kernel
def _new_buffers(n_columns, width, n_rows, rule):
    """Buffers for nodes of up to n_rows rows."""
    labels = max(rule.n_labels, 3)
    bins = min(width + 1, n_rows + 3)
    at_once = min(n_columns, COLUMNS_AT_ONCE)
    n_codes = BYTE_CODES if width == BYTE_CODES else 0
    return Buffers(
        np.zeros((4, labels * n_codes), dtype=np.int64),
        np.zeros((4, n_codes), dtype=np.uint8),
        np.empty(n_rows, dtype=np.int64),
        np.empty(labels * at_once * bins, dtype=np.int64),
        np.empty(at_once * bins, dtype=np.int64),
        np.empty((at_once, bins), dtype=np.int64),
        np.empty(at_once, dtype=np.int64),
        np.empty((2, n_rows), dtype=np.int64),
        np.empty(n_rows, dtype=np.int64),
        np.empty(rule.n_labels, dtype=np.int64),
        np.empty(labels, dtype=np.int64),
        np.empty(rule.n_labels, dtype=np.int64),
        np.empty(labels, dtype=np.int64),
        np.empty(labels, dtype=np.int64),
        np.empty(labels, dtype=np.float64),
        np.empty(labels, dtype=np.float64),
        np.empty((rule.table.shape[0], labels), dtype=np.float64),
        np.empty(3, dtype=np.int64),
        np.empty(width, dtype=np.bool_),
        np.empty(bins, dtype=np.bool_),
    )


@kernel
def _code_of(codes, row, column, in_words):
    """The code of one column; in_words: four codes of a byte to a word."""
    if in_words:
        return np.int64((codes[row, column // 4] >> np.uint32(8 * (column % 4))) & np.uint32(255))
    return np.int64(codes[row, column])


# ---------------------------------------------------------------- the compact histogram of a node


@kernel
def _weigh_rows(criterion, rows, mine, rule, all_labels, buffers):
    """Set the labels of the compact histogram, and what every row adds to which of them; returns how many labels.

    Labels without weight are left out, unless all_labels; of three or more at least three stay, since kernels treat
    two in a way of their own. By squares the labels are the weight and the weight x target.
    """
    value, rank = buffers.value, buffers.rank
    if criterion == SQUARES:
        buffers.some[:2] = 0
        for i in range(mine.shape[0]):
            row = mine[i]
            value[0, i] = rows.weight[row]
            value[1, i] = rows.weight[row] * rows.label[row] if rule.criterion == TARGET else rows.second[row]
            buffers.some[0] += value[0, i]
            buffers.some[1] += value[1, i]
            buffers.offset[i] = 0
        return 2
    spare = min(rule.n_labels, 3)  # labels without weight that stay
    for k in range(rule.n_labels):
        spare -= int(buffers.totals[k] != 0)
    n_present = 0
    for k in range(rule.n_labels):
        rank[k] = 0
        if buffers.totals[k] == 0 and not all_labels:
            if spare <= 0:
                continue
            spare -= 1
        rank[k] = n_present
        buffers.present[n_present] = k
        buffers.some[n_present] = buffers.totals[k]
        n_present += 1
    for i in range(mine.shape[0]):
        value[0, i] = rows.weight[mine[i]]
        buffers.offset[i] = rank[rows.label[mine[i]]]
    if criterion == TARGET:
        _compact_rule(rule, n_present, buffers)
    return n_present


@kernel
def _compact_rule(rule, n_present, buffers):
    """Set the windows, targets and table of the labels that are present."""
    for i in range(n_present):
        label = buffers.present[i]
        at = 0
        while buffers.present[at] < rule.reach[label]:
            at += 1
        buffers.reach[i] = at
        buffers.targets[i] = rule.targets[label]
        buffers.away[i] = rule.away[label]
        for v in range(rule.table.shape[0]):
            buffers.table[v, i] = rule.table[v, label]


@kernel
def _add_words(words, g, mine, value, offset, more, cells):
    """Add the values of rows to the cells of the four columns of a word."""
    byte = np.uint32(255)
    first, second, third, fourth = cells[0], cells[1], cells[2], cells[3]
    for i in range(mine.shape[0]):
        word = np.uint32(words[mine[i], g])
        q = value[i]
        at = np.uint64(BYTE_CODES * (offset[i] + more))
        first[at + np.uint64(word & byte)] += q
        second[at + np.uint64((word >> np.uint32(8)) & byte)] += q
        third[at + np.uint64((word >> np.uint32(16)) & byte)] += q
        fourth[at + np.uint64(word >> np.uint32(24))] += q


@kernel
def _mark_words(words, g, mine, met):
    """Mark the codes of the four columns of a word that rows have."""
    byte = np.uint32(255)
    first, second, third, fourth = met[0], met[1], met[2], met[3]
    for i in range(mine.shape[0]):
        word = np.uint32(words[mine[i], g])
        first[word & byte] = 1
        second[(word >> np.uint32(8)) & byte] = 1
        third[(word >> np.uint32(16)) & byte] = 1
        fourth[word >> np.uint32(24)] = 1


@kernel
def _list_bins(met, n_bins, every, first_too, place):
    """Write the bins of a compact histogram into place: those met, or every one. Returns how many; met gets 0.

    first_too: bin 0, also if it is empty: missing values may go left of all others there.
    """
    bins = 0
    if first_too and n_bins > 0:
        met[0] = 1
    for code in range(n_bins):
        place[bins] = code
        bins += 1 if every else int(met[code])
        met[code] = 0
    met[met.shape[0] - 1] = 0
    return bins


@kernel
def _move_cells(cells, place, n_bins, sums):
    """Move the cells of one column into sums[label, bin], the missing ones last; cells get 0."""
    for k in range(sums.shape[0]):
        mine, out = cells[k * BYTE_CODES : (k + 1) * BYTE_CODES], sums[k]
        for b in range(n_bins):
            out[b] = mine[place[b]]
            mine[place[b]] = 0
        out[out.shape[0] - 1] = mine[BYTE_CODES - 1]
        mine[BYTE_CODES - 1] = 0


@kernel
def _sum_words(criterion, words, mine, columns, first, last, every, sums, buffers):
    """Fill sums[label, column, bin] for codes that are four to a word."""
    for g in range(first // 4, (last + 3) // 4):
        for channel in range(2 if criterion == SQUARES else 1):
            _add_words(words, g, mine, buffers.value[channel], buffers.offset, channel, buffers.cells)
        if not every:
            _mark_words(words, g, mine, buffers.met)
        for lane in range(4):
            j = 4 * g + lane
            if j >= last:  # only fills the word
                buffers.cells[lane] = 0
                buffers.met[lane] = 0
                continue
            place, first_too = buffers.place[j - first], columns.has_missing[j] and columns.ordered[j]
            bins = _list_bins(buffers.met[lane], columns.n_bins[j], every, first_too, place)
            _move_cells(buffers.cells[lane], place, bins, sums[:, j - first])
            buffers.n_bins[j - first] = bins


@kernel
def _sum_codes(criterion, codes, mine, columns, first, last, sums, buffers):
    """`_sum_words` for wider codes, one to a cell: the bins are found by sorting."""
    missing = columns.seen.shape[1] - 1
    sums[:] = 0
    for j in range(first, last):
        place, out = buffers.place[j - first], sums[:, j - first]
        for i in range(mine.shape[0]):
            buffers.codes[i] = codes[mine[i], j]
        bins = 0
        if columns.has_missing[j] and columns.ordered[j] and columns.n_bins[j] > 0:
            place[0] = 0
            bins = 1
        ascending = np.sort(buffers.codes[: mine.shape[0]])
        for i in range(ascending.shape[0]):
            if ascending[i] < missing and (bins == 0 or ascending[i] > place[bins - 1]):
                place[bins] = ascending[i]
                bins += 1
        buffers.n_bins[j - first] = bins
        for i in range(mine.shape[0]):
            code = buffers.codes[i]
            b = out.shape[1] - 1 if code == missing else np.searchsorted(place[:bins], code)
            for channel in range(2 if criterion == SQUARES else 1):
                out[buffers.offset[i] + channel, b] += buffers.value[channel, i]


@kernel
def _count_rows(rows, mine, columns, first, last, in_words, counts, buffers):
    """Fill counts[column, bin] with the numbers of rows."""
    missing = columns.seen.shape[1] - 1
    counts[:] = 0
    for j in range(first, last):
        place = buffers.place[j - first, : buffers.n_bins[j - first]]
        for i in range(mine.shape[0]):
            code = _code_of(rows.codes, mine[i], j, in_words)
            b = counts.shape[1] - 1 if code == missing else np.searchsorted(place, code)
            counts[j - first, b] += rows.count[mine[i]]


@kernel
def _histogram(criterion, rows, mine, columns, first, last, n_labels, rule, buffers):
    """The compact histogram of the columns first..last, [label, column, bin], and of the rows, [column, bin]."""
    most = columns.n_bins[first:last].max()
    bins = 2 + min(most, mine.shape[0])
    sums = buffers.sums[: n_labels * (last - first) * bins].reshape(n_labels, last - first, bins)
    in_words = columns.seen.shape[1] == BYTE_CODES
    if in_words:
        _sum_words(criterion, rows.codes, mine, columns, first, last, mine.shape[0] >= most, sums, buffers)
    else:
        _sum_codes(criterion, rows.codes, mine, columns, first, last, sums, buffers)
    counts = buffers.counts[:0].reshape(0, 0)
    if rule.min_samples_leaf > 1:
        counts = buffers.counts[: (last - first) * bins].reshape(last - first, bins)
        _count_rows(rows, mine, columns, first, last, in_words, counts, buffers)
    return sums, counts


# ---------------------------------------------------------------- the best split of a node


@kernel
def _value(criterion, weights, rule, buffers):
    """The criterion of a leaf, from the weights of the labels that are present."""
    n = weights.shape[0]
    if criterion == SQUARES:
        target = np.float64(weights[1])
        return target * target / np.float64(weights[0]) if weights[0] > 0 else 0.0
    if criterion == TARGET:
        reach, targets, table = buffers.reach[:n], buffers.targets[:n], buffers.table[:, :n]
        edge = target_search.side_edge(rule.kind, weights, reach, targets, rule.rate, table)
        return max(edge, 0.0) if rule.abstains else edge
    return search.purity(criterion, np.zeros_like(weights), weights)


@kernel
def _best_threshold(criterion, sums, some, layout, counts, rule, buffers, found):
    """The score of the best threshold of a block of columns."""
    n_bins, has_missing, ordered = layout
    least = rule.min_samples_leaf
    if criterion == SQUARES:
        return target_search.best_mean_threshold(sums, some, n_bins, has_missing, ordered, counts, least, found)
    if criterion == TARGET:
        n = some.shape[0]
        return target_search.best_target_threshold(
            sums,
            some,
            n_bins,
            has_missing,
            ordered,
            counts,
            least,
            rule.kind,
            buffers.reach[:n],
            buffers.targets[:n],
            buffers.away[:n],
            rule.rate,
            buffers.table[:, :n],
            rule.abstains,
            found,
        )
    return search.purest_threshold(sums, some, n_bins, has_missing, ordered, counts, least, criterion, found)


@kernel
def _best_set(criterion, sums, some, layout, counts, rule, buffers, found):
    """The score of the best set of categories of a block of columns, and the set, in buffers.chosen."""
    n_bins, _, ordered = layout
    if criterion in (GINI, MATSUSHITA):
        return search.purest_subset(
            sums, some, n_bins, ordered, counts, rule.min_samples_leaf, criterion, found, buffers.chosen
        )
    last = sums.shape[2] - 1
    weights, targets = np.zeros(last + 1, dtype=np.int64), np.zeros(last + 1, dtype=np.int64)
    left = np.empty_like(some)
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if ordered[j]:
            continue
        weights[:] = 0
        targets[:] = 0
        for c in range(n_bins[j] + 1):
            b = last if c == n_bins[j] else c
            for k in range(sums.shape[0] if criterion == TARGET else 1):
                weights[b] += sums[k, j, b]
                targets[b] += sums[k, j, b] * buffers.present[k] if criterion == TARGET else sums[1, j, b]
        present = np.flatnonzero(weights > 0)
        order = present[np.argsort(targets[present] / weights[present], kind="mergesort")]
        left[:] = 0
        n_rows = np.int64(0)
        for c in range(order.shape[0] - 1):
            left += sums[:, j, order[c]]
            if counts.shape[0] > 0:
                n_rows += counts[j, order[c]]
                if min(n_rows, counts[j].sum() - n_rows) < rule.min_samples_leaf:
                    continue
            score = _value(criterion, left, rule, buffers) + _value(criterion, some - left, rule, buffers)
            if score > most:
                most = score
                found[0] = j
                buffers.chosen[:] = False
                buffers.chosen[order[: c + 1]] = True
    return most


@kernel
def _note_threshold(columns, first, found, buffers):
    """Write the threshold that was found into best and on_left; missing values that come later go as in `send_left`."""
    column, cut, missing = first + found[0], buffers.place[found[0], found[1]], columns.seen.shape[1] - 1
    seen = columns.seen[column]
    missing_left = found[2] == 1
    if not columns.has_missing[column]:
        missing_left = seen[: cut + 1].sum() >= seen[cut + 1 : missing].sum()
    buffers.best[0], buffers.best[1] = column, cut
    buffers.on_left[: cut + 1] = True
    buffers.on_left[cut + 1 :] = False
    buffers.on_left[missing] = missing_left


@kernel
def _note_set(columns, first, column, last_bin, buffers):
    """Write the chosen set into best and on_left; missing values that come later go to the heavier side."""
    seen, on_left, missing = columns.seen[first + column], buffers.on_left, columns.seen.shape[1] - 1
    on_left[:] = False
    for b in range(buffers.n_bins[column]):
        on_left[buffers.place[column, b]] = buffers.chosen[b]
    on_left[missing] = buffers.chosen[last_bin]
    if not columns.has_missing[first + column]:
        here = np.int64(0)
        for b in range(missing):
            here += seen[b] if on_left[b] else -seen[b]
        on_left[missing] = here >= 0
    buffers.best[0], buffers.best[1] = first + column, -1


@kernel
def _search(criterion, rows, mine, columns, rule, buffers):
    """Find the split of the largest criterion, in best and on_left; whether it gains. Thresholds before sets."""
    n_columns = columns.n_bins.shape[0]
    all_labels = rule.n_labels > 2 and criterion != TARGET and not columns.ordered.all()
    n_labels = _weigh_rows(criterion, rows, mine, rule, all_labels, buffers)
    some = buffers.some[:n_labels]
    none = _value(criterion, some, rule, buffers)
    none += abs(none) * 1e-12  # rounding alone is no gain
    most, found = none, np.zeros(3, dtype=np.int64)
    for categories in range(1 if columns.ordered.all() else 2):
        for first in range(0, n_columns, COLUMNS_AT_ONCE):
            last = min(first + COLUMNS_AT_ONCE, n_columns)
            ordered = columns.ordered[first:last]
            if (categories == 1 and ordered.all()) or (categories == 0 and not ordered.any()):
                continue
            sums, counts = _histogram(criterion, rows, mine, columns, first, last, n_labels, rule, buffers)
            layout = (buffers.n_bins[: last - first], columns.has_missing[first:last], ordered)
            if categories == 1:
                score = _best_set(criterion, sums, some, layout, counts, rule, buffers, found)
                if score > most:
                    most = score
                    _note_set(columns, first, found[0], sums.shape[2] - 1, buffers)
            else:
                score = _best_threshold(criterion, sums, some, layout, counts, rule, buffers, found)
                if score > most:
                    most = score
                    _note_threshold(columns, first, found, buffers)
    return most > none


@kernel
def _search_by_edge(rows, mine, columns, rule, buffers):
    """`_search` by the weight on which votes are right: its scores are integers."""
    n_columns = columns.n_bins.shape[0]
    n_labels = _weigh_rows(EDGE, rows, mine, rule, False, buffers)
    some = buffers.some[:n_labels]
    none = some.max()
    most, found, least = none, np.zeros(3, dtype=np.int64), rule.min_samples_leaf
    for categories in range(1 if columns.ordered.all() else 2):
        for first in range(0, n_columns, COLUMNS_AT_ONCE):
            last = min(first + COLUMNS_AT_ONCE, n_columns)
            ordered, has_missing = columns.ordered[first:last], columns.has_missing[first:last]
            if (categories == 1 and ordered.all()) or (categories == 0 and not ordered.any()):
                continue
            sums, counts = _histogram(EDGE, rows, mine, columns, first, last, n_labels, rule, buffers)
            n_bins = buffers.n_bins[: last - first]
            if categories == 1:
                score = search.best_subset(sums, n_bins, has_missing, ordered, counts, least, found)
                if score > most:
                    most = score
                    for b in range(sums.shape[2]):
                        buffers.chosen[b] = sums[found[1], found[0], b] > sums[found[2], found[0], b]
                    _note_set(columns, first, found[0], sums.shape[2] - 1, buffers)
            else:
                score = search.best_threshold(sums, some, n_bins, has_missing, ordered, counts, least, found)
                if score > most:
                    most = score
                    _note_threshold(columns, first, found, buffers)
    return most > none


# ---------------------------------------------------------------- nodes


@kernel
def _gains(rows, mine, columns, rule, buffers):
    if rule.criterion == EDGE:
        return _search_by_edge(rows, mine, columns, rule, buffers)
    return _search(rule.criterion, rows, mine, columns, rule, buffers)


@kernel
def _is_final(rows, mine, rule, buffers):
    """Whether a node without a gaining split is certain to stay a leaf, as nothing below it could gain."""
    if rule.criterion == SQUARES:
        low, high = np.inf, -np.inf
        for i in range(mine.shape[0]):
            low, high = min(low, rows.share[mine[i]]), max(high, rows.share[mine[i]])
        return low >= high
    if rule.criterion != TARGET:
        return False
    most = 0.0
    for k in range(rule.n_labels):
        each = rule.table[:, k].max() if rule.kind == 2 else 1.0
        most += np.float64(buffers.totals[k]) * (max(each, 0.0) if rule.abstains else each)
    n_labels = _weigh_rows(TARGET, rows, mine, rule, False, buffers)
    # callers decide on the few nodes that are closer to 1 - 1e-12 of it
    return most > 0 and _value(TARGET, buffers.some[:n_labels], rule, buffers) >= most * (1 - 0.5e-12)


@kernel
def _can_be_parted(rows, mine, columns, rule):
    """Whether some column has two bins with weight, and the rows are enough for two leaves."""
    in_words = columns.seen.shape[1] == BYTE_CODES
    if rule.min_samples_leaf > 1:
        n_rows = np.int64(0)
        for i in range(mine.shape[0]):
            n_rows += rows.count[mine[i]]
        if n_rows // 2 < rule.min_samples_leaf:
            return False
    for j in range(columns.n_bins.shape[0]):
        only = np.int64(-1)
        for i in range(mine.shape[0]):
            if rows.weight[mine[i]] == 0:
                continue
            code = _code_of(rows.codes, mine[i], j, in_words)
            if only >= 0 and code != only:
                return True
            only = code
    return False


@kernel
def _stays_open(rows, mine, columns, rule, tied, buffers):
    """Whether a node without a gaining split may still be split: by looking ahead, or, where tied, more finely."""
    if _is_final(rows, mine, rule, buffers) or not _can_be_parted(rows, mine, columns, rule):
        return False
    if tied or (rule.criterion != EDGE and rule.criterion != TARGET):
        return True
    return not _search(GINI if rule.criterion == EDGE else SQUARES, rows, mine, columns, rule, buffers)


@kernel
def _part_rows(rows, mine, column, in_words, on_left, squares, spare, sides):
    """Put the rows that go left first; both sides keep their order. sides[side, label]; returns how many go left."""
    sides[:] = 0
    n_left, n_right = 0, 0
    for i in range(mine.shape[0]):
        row = mine[i]
        side = 0 if on_left[_code_of(rows.codes, row, column, in_words)] else 1
        if squares:
            sides[side, 0] += rows.weight[row]
            sides[side, 1] += rows.second[row]
        else:
            sides[side, rows.label[row]] += rows.weight[row]
        mine[n_left] = row
        spare[n_right] = row
        n_left += 1 - side
        n_right += side
    mine[n_left:] = spare[:n_right]
    return n_left


@kernel
def _enlarged(array, needed):
    """The array, or a copy of it that is long enough."""
    return array if needed <= array.shape[0] else np.concatenate((array, array))


@kernel
def _put(waiting, at, node, low, high, below):
    waiting[at, 0], waiting[at, 1], waiting[at, 2], waiting[at, 3] = node, low, high, below


@kernel
def _enough_to_split(rows, mine, least):
    if least <= 2:
        return True
    n_rows = np.int64(0)
    for i in range(mine.shape[0]):
        n_rows += rows.count[mine[i]]
    return n_rows >= least


@kernel
def grow_subtrees(rows, columns, rule, order, ends, totals, levels, tied):
    """Grow the trees below some nodes: node i has the rows order[ends[i]:ends[i + 1]], and may grow levels[i] levels.

    Returns the splits [split, (node, column, cut)], the bins on their left, the weights [split, side, label], and the
    nodes that are still open, [(node, first row, last row)]: none of their splits gains, and only looking ahead
    decides. The children of split s are the nodes n + 2 s and n + 2 s + 1 for n given nodes. Rows are put in order.
    """
    n_roots, width = ends.shape[0] - 1, columns.seen.shape[1]
    n_rows = 0
    for root in range(n_roots):
        n_rows = max(n_rows, ends[root + 1] - ends[root])
    buffers = _new_buffers(columns.n_bins.shape[0], width, n_rows, rule)
    splits, n_splits = np.empty((64, 3), dtype=np.int64), 0
    lefts = np.empty((64, width), dtype=np.bool_)
    sums = np.empty((64, 2, rule.n_labels), dtype=np.int64)
    opens, n_open = np.empty((16, 3), dtype=np.int64), 0
    spare = np.empty(n_rows, dtype=order.dtype)
    waiting = np.empty((n_rows + 1, 4), dtype=np.int64)  # node, first row, last row, levels
    in_words, squares = width == BYTE_CODES, rule.criterion == SQUARES
    for root in range(n_roots):
        _put(waiting, 0, root, ends[root], ends[root + 1], levels[root])
        n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            node, below = waiting[n_waiting, 0], waiting[n_waiting, 3]
            low, high = waiting[n_waiting, 1], waiting[n_waiting, 2]
            mine = order[low:high]
            buffers.totals[:] = totals[node] if node < n_roots else sums[(node - n_roots) // 2, (node - n_roots) % 2]
            if not _enough_to_split(rows, mine, rule.min_samples_split):
                continue
            if not _gains(rows, mine, columns, rule, buffers):
                if below > 1 and _stays_open(rows, mine, columns, rule, tied[root], buffers):
                    opens = _enlarged(opens, n_open + 1)
                    opens[n_open, 0], opens[n_open, 1], opens[n_open, 2] = node, low, high
                    n_open += 1
                continue
            splits, lefts, sums = (
                _enlarged(splits, n_splits + 1),
                _enlarged(lefts, n_splits + 1),
                _enlarged(sums, n_splits + 1),
            )
            splits[n_splits, 0], splits[n_splits, 1], splits[n_splits, 2] = node, buffers.best[0], buffers.best[1]
            lefts[n_splits] = buffers.on_left
            sides, child = sums[n_splits], n_roots + 2 * n_splits
            middle = low + _part_rows(rows, mine, buffers.best[0], in_words, buffers.on_left, squares, spare, sides)
            n_splits += 1
            if below > 1 and np.count_nonzero(sides[1]) > 1:
                _put(waiting, n_waiting, child + 1, middle, high, below - 1)
                n_waiting += 1
            if below > 1 and np.count_nonzero(sides[0]) > 1:
                _put(waiting, n_waiting, child, low, middle, below - 1)
                n_waiting += 1
    return splits[:n_splits].copy(), lefts[:n_splits].copy(), sums[:n_splits].copy(), opens[:n_open].copy()
