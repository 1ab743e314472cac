"""Whole subtrees below small nodes, from their rows: a level costs its rows, and not a full histogram for every node.

A node is searched in compact histograms: only the labels and the bins that its rows have, some columns at a time. The
kernels of search.py and target_search.py find the same split there as in the full histogram, with the same score.
Thresholds by Gini for two labels, and by windows of the target, come from the rows: two_labels.py, node_windows.py.
`earning` is a TargetRule, or None for labels, for which the other half of the code is then not compiled.
"""

import numpy as np

from electorate.kernels.compile import inlined, kernel
from electorate.kernels.drawing import draw_columns, fold_key
from electorate.kernels.layouts import ColumnLayout, NodeRows
from electorate.kernels.node_windows import best_by_windows, window_buffers
from electorate.kernels.search import best_subset, best_threshold, is_pure, purest_subset, purest_threshold, purity
from electorate.kernels.target_search import best_mean_threshold, best_target_threshold, side_edge
from electorate.kernels.two_labels import best_of_two

EDGE, GINI, MATSUSHITA, TARGET, SQUARES = 0, 1, 2, 3, 4
COLUMNS_AT_ONCE = 16  # of a compact histogram: it stays in the second-level cache
N_CODES = 256
MISSING = N_CODES - 1
TOTAL, PRESENT, RANK, SOME, REACH = 0, 1, 2, 3, 4  # rows of `labels`; SOME: the totals of the labels that are present
TARGETS, AWAY, TABLE = 0, 1, 2  # rows of `reals`, by label that is present


@inlined
def _code_of(words, row, column):
    return (words[row, column // 4] >> np.uint32(8 * (column % 4))) & np.uint32(255)


# ---------------------------------------------------------------- the compact histogram of a node


@inlined
def _weigh_rows(criterion, rows, mine, rule, all_labels, labels, numbers):
    """Set the labels of the compact histogram, and what every row adds to which of them; returns how many labels.

    Labels without weight are left out, unless all_labels; of three or more at least three stay, since kernels treat
    two in a way of their own. By squares the labels are the weight and the weight x target.
    numbers: the value of every row, a second one, and where the cells of its label begin.
    """
    if criterion == SQUARES:
        labels[SOME, 0], labels[SOME, 1] = 0, 0
        for i in range(mine.shape[0]):
            row = mine[i]
            numbers[0, i] = rows.weight[row]
            numbers[1, i] = rows.weight[row] * rows.label[row] if rule.criterion == TARGET else rows.second[row]
            labels[SOME, 0] += numbers[0, i]
            labels[SOME, 1] += numbers[1, i]
            numbers[2, i] = 0
        return 2
    spare = min(rule.n_labels, 3)  # labels without weight that stay
    for k in range(rule.n_labels):
        spare -= int(labels[TOTAL, k] != 0)
    n_present = 0
    for k in range(rule.n_labels):
        labels[RANK, k] = 0
        if labels[TOTAL, k] == 0 and not all_labels:
            if spare <= 0:
                continue
            spare -= 1
        labels[RANK, k] = n_present
        labels[PRESENT, n_present] = k
        labels[SOME, n_present] = labels[TOTAL, k]
        n_present += 1
    for i in range(mine.shape[0]):
        numbers[0, i] = rows.weight[mine[i]]
        numbers[2, i] = N_CODES * labels[RANK, rows.label[mine[i]]]
    return n_present


@inlined
def _compact_rule(earning, n_present, labels, reals):
    """Set the windows, targets and table of the labels that are present."""
    for i in range(n_present):
        label = labels[PRESENT, i]
        at = 0
        while labels[PRESENT, at] < earning.reach[label]:
            at += 1
        labels[REACH, i] = at
        reals[TARGETS, i] = earning.targets[label]
        reals[AWAY, i] = earning.away[label]
        for v in range(earning.table.shape[0]):
            reals[TABLE + v, i] = earning.table[v, label]


@inlined
def _add_words(words, g, mine, numbers, channel, cells):
    """Add the values of rows to the cells of the four columns of a word."""
    byte = np.uint32(255)
    value, offset, more = numbers[channel], numbers[2], np.uint64(N_CODES * channel)
    first, second, third, fourth = cells[0], cells[1], cells[2], cells[3]
    for i in range(mine.shape[0]):
        word = words[mine[i], g]
        q = value[i]
        at = np.uint64(offset[i]) + more
        first[at + np.uint64(word & byte)] += q
        second[at + np.uint64((word >> np.uint32(8)) & byte)] += q
        third[at + np.uint64((word >> np.uint32(16)) & byte)] += q
        fourth[at + np.uint64(word >> np.uint32(24))] += q


@inlined
def _mark_words(words, g, mine, met):
    """Mark the codes of the four columns of a word that rows have."""
    byte = np.uint32(255)
    first, second, third, fourth = met[0], met[1], met[2], met[3]
    for i in range(mine.shape[0]):
        word = words[mine[i], g]
        first[word & byte] = 1
        second[(word >> np.uint32(8)) & byte] = 1
        third[(word >> np.uint32(16)) & byte] = 1
        fourth[word >> np.uint32(24)] = 1


@inlined
def _list_bins(met, n_bins, every, first_too, place):
    """Write the bins of a compact histogram into place: those met, or every one. Returns how many; met gets 0.

    first_too: bin 0, also if it is empty: missing values may go left of all others there.
    """
    if every:
        for code in range(n_bins):
            place[code] = code
        return n_bins
    bins = 0
    if first_too:
        met[0] = 1
    for code in range(n_bins):
        place[bins] = code
        bins += int(met[code])
        met[code] = 0
    met[MISSING] = 0
    return bins


@inlined
def _count_rows(rows, mine, j, place, n_bins, by_code, counts):
    """Write the numbers of rows of one column into counts[bin], the missing ones last. by_code: zeros, as after it."""
    for i in range(mine.shape[0]):
        by_code[np.int64(_code_of(rows.codes, mine[i], j))] += rows.count[mine[i]]
    counts[:] = 0
    for b in range(n_bins):
        counts[b] = by_code[place[b]]
        by_code[place[b]] = 0
    counts[counts.shape[0] - 1] = by_code[MISSING]
    by_code[MISSING] = 0


@kernel
def _histogram(
    channels, rows, mine, columns, first, last, n_labels, bins, count, numbers, cells, met, place, sums, counts
):
    """Write the compact histogram of the columns first..last into sums, flat [label, column, bin].

    place[column, bin]: the bin of the table; their number comes last. count: the rows too, into flat counts.
    """
    n_columns = last - first
    for g in range(first // 4, (last + 3) // 4):
        for channel in range(channels):
            _add_words(rows.codes, g, mine, numbers, channel, cells)
        every = True
        for j in range(4 * g, min(4 * g + 4, last)):
            every &= columns.n_bins[j] <= mine.shape[0]
        if not every:
            _mark_words(rows.codes, g, mine, met)
        for lane in range(4):
            j = 4 * g + lane
            if j >= last:  # only fills the word
                cells[lane] = 0
                met[lane] = 0
                continue
            bin_of, first_too = (
                place[j - first],
                columns.has_missing[j] and columns.ordered[j] and columns.n_bins[j] > 0,
            )
            n_bins = _list_bins(met[lane], columns.n_bins[j], every, first_too, bin_of)
            bin_of[N_CODES] = n_bins
            for k in range(n_labels):
                one = cells[lane, N_CODES * k : N_CODES * (k + 1)]
                out = sums[(k * n_columns + j - first) * bins : (k * n_columns + j - first + 1) * bins]
                if every:
                    for b in range(n_bins):
                        out[b] = one[b]
                        one[b] = 0
                else:
                    for b in range(n_bins):
                        out[b] = one[bin_of[b]]
                        one[bin_of[b]] = 0
                out[bins - 1] = one[MISSING]
                one[MISSING] = 0
            if count:
                here = counts[(j - first) * bins : (j - first + 1) * bins]
                _count_rows(rows, mine, j, bin_of, n_bins, cells[lane], here)


# ---------------------------------------------------------------- the best split of a node


@kernel
def _value(criterion, weights, earning, labels, reals):
    """The criterion of a leaf, from the weights of the labels that are present."""
    if earning is None:
        return purity(criterion, np.zeros_like(weights), weights)
    if criterion == SQUARES:
        target = np.float64(weights[1])
        return target * target / np.float64(weights[0]) if weights[0] > 0 else 0.0
    n = weights.shape[0]
    edge = side_edge(earning.kind, weights, labels[REACH, :n], reals[TARGETS, :n], earning.rate, reals[TABLE:, :n])
    return max(edge, 0.0) if earning.abstains else edge


@inlined
def _best_threshold(criterion, sums, some, layout, counts, least, earning, labels, reals, found):
    """The score of the best threshold of some columns."""
    if earning is None:
        return purest_threshold(sums, some, *layout, counts, least, criterion, found)
    if criterion == SQUARES:
        return best_mean_threshold(sums, some, *layout, counts, least, found)
    n = some.shape[0]
    how = (earning.kind, labels[REACH, :n], reals[TARGETS, :n], reals[AWAY, :n], earning.rate, reals[TABLE:, :n])
    return best_target_threshold(sums, some, *layout, counts, least, *how, earning.abstains, found)


@kernel
def _best_ordered_set(criterion, sums, some, layout, counts, least, earning, labels, reals, found, chosen):
    """The score of the best set of categories for numeric targets: in the order of their means, cut once."""
    n_bins, _, ordered = layout
    last = sums.shape[2] - 1
    order = np.empty(last + 1, dtype=np.int64)
    means = np.empty(last + 1, dtype=np.float64)
    left, right = np.empty_like(some), np.empty_like(some)
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if ordered[j]:
            continue
        n_present, all_rows = 0, np.int64(0)
        for c in range(n_bins[j] + 1):
            b = last if c == n_bins[j] else c
            weight, target = np.int64(0), np.int64(0)
            for k in range(sums.shape[0] if criterion == TARGET else 1):
                weight += sums[k, j, b]
                target += sums[k, j, b] * labels[PRESENT, k] if criterion == TARGET else sums[1, j, b]
            all_rows += counts[j, b] if counts.shape[0] > 0 else 0
            if weight > 0:
                mean, at = np.float64(target) / np.float64(weight), n_present
                while at > 0 and means[at - 1] > mean:
                    means[at], order[at] = means[at - 1], order[at - 1]
                    at -= 1
                means[at], order[at] = mean, b
                n_present += 1
        left[:] = 0
        n_rows = np.int64(0)
        for c in range(n_present - 1):
            for k in range(left.shape[0]):
                left[k] += sums[k, j, order[c]]
                right[k] = some[k] - left[k]
            if counts.shape[0] > 0:
                n_rows += counts[j, order[c]]
                if min(n_rows, all_rows - n_rows) < least:
                    continue
            score = _value(criterion, left, earning, labels, reals) + _value(criterion, right, earning, labels, reals)
            if score > most:
                most = score
                found[0] = j
                chosen[:] = False
                for e in range(c + 1):
                    chosen[order[e]] = True
    return most


@inlined
def _note_threshold(columns, column, cut, missing_left, on_left):
    """Write the bins on the left of a threshold; missing values that come later go as in `send_left`."""
    if not columns.has_missing[column]:
        more = np.int64(0)
        seen = columns.seen[columns.number[column]]
        for b in range(MISSING):
            more += seen[b] if b <= cut else -seen[b]
        missing_left = more >= 0
    for b in range(MISSING):
        on_left[b] = b <= cut
    on_left[MISSING] = missing_left


@inlined
def _note_set(columns, column, place, chosen, last, on_left):
    """Write the bins of a chosen set; missing values that come later go to the heavier side."""
    for b in range(N_CODES):
        on_left[b] = False
    for b in range(place[N_CODES]):
        on_left[place[b]] = chosen[b]
    on_left[MISSING] = chosen[last]
    if not columns.has_missing[column]:
        more = np.int64(0)
        seen = columns.seen[columns.number[column]]
        for b in range(MISSING):
            more += seen[b] if on_left[b] else -seen[b]
        on_left[MISSING] = more >= 0


@kernel
def _best_of(turn, criterion, sums, some, layout, counts, least, earning, labels, reals, found, chosen):
    """The best threshold, or in the second turn the best set: its score, or by the edge its weight."""
    score, weight = -np.inf, np.int64(-1)
    if turn == 0 and criterion == EDGE and earning is None:
        weight = best_threshold(sums, some, *layout, counts, least, found)
    elif turn == 0:
        score = _best_threshold(criterion, sums, some, layout, counts, least, earning, labels, reals, found)
    elif earning is not None:
        score = _best_ordered_set(criterion, sums, some, layout, counts, least, earning, labels, reals, found, chosen)
    elif criterion == EDGE:
        weight = best_subset(sums, *layout, counts, least, found)
    else:
        score = purest_subset(sums, some, layout[0], layout[2], counts, least, criterion, found, chosen)
    return score, weight


@kernel
def _best_from_rows(criterion, rows, mine, columns, rule, earning, some, most, buffers, found):
    """Whether this criterion needs no compact histograms for thresholds, and the score of the best one or `most`."""
    numbers, labels, n_labels = buffers[0], buffers[6], some.shape[0]
    if earning is None:
        if criterion == GINI and n_labels == 2 and rule.min_samples_leaf == 1:
            return True, best_of_two(rows, mine, columns, numbers, some, most, buffers[10], found)
    elif criterion == TARGET and earning.kind == 0:
        how = (earning.abstains, labels[REACH, :n_labels], some, numbers, buffers[9])
        return True, best_by_windows(rows, mine, columns, rule, *how, most, found)
    return False, most


@kernel
def _search(criterion, rows, mine, columns, rule, earning, buffers, on_left, best):
    """Find the split of the largest criterion: best gets its column and cut, on_left its bins. Whether it gains.

    Thresholds come before sets of categories. By the edge the scores are integers.
    """
    numbers, _, _, place, flat, flat_counts, labels, reals, chosen, _, _ = buffers
    n_columns, least, by_edge = columns.n_bins.shape[0], rule.min_samples_leaf, criterion == EDGE
    n_categories = 0
    for j in range(n_columns):
        n_categories += int(not columns.ordered[j])
    all_labels = rule.n_labels > 2 and n_categories > 0 and criterion in (GINI, MATSUSHITA)
    n_labels = _weigh_rows(criterion, rows, mine, rule, all_labels, labels, numbers)
    some, found = labels[SOME, :n_labels], np.zeros(3, dtype=np.int64)
    right, most, gains = np.int64(0), 0.0, False
    if earning is not None and criterion == TARGET:
        _compact_rule(earning, n_labels, labels, reals)
    if by_edge:
        for k in range(n_labels):
            right = max(right, some[k])
    else:
        most = _value(criterion, some, earning, labels, reals)
        most += abs(most) * 1e-12  # rounding alone is no gain
    by_rows, score = _best_from_rows(criterion, rows, mine, columns, rule, earning, some, most, buffers, found)
    if by_rows and score > most:
        most, gains = score, True
        best[0], best[1] = found[0], found[1]
        _note_threshold(columns, best[0], best[1], found[2] == 1, on_left)
    for turn in range(1 if by_rows else 0, 2 if n_categories > 0 else 1):
        for first in range(0, n_columns, COLUMNS_AT_ONCE):
            last = min(first + COLUMNS_AT_ONCE, n_columns)
            widest, wanted = 0, False
            for j in range(first, last):
                widest = max(widest, columns.n_bins[j])
                wanted |= columns.ordered[j] == (turn == 0)
            if not wanted:
                continue
            bins = 2 + min(widest, mine.shape[0])
            channels = 2 if criterion == SQUARES else 1
            _histogram(channels, rows, mine, columns, first, last, n_labels, bins, least > 1, *buffers[:6])
            sums = flat[: n_labels * (last - first) * bins].reshape(n_labels, last - first, bins)
            counted = last - first if least > 1 else 0
            counts = flat_counts[: counted * bins].reshape(counted, bins)
            n_bins = np.ascontiguousarray(place[: last - first, N_CODES])
            layout = (n_bins, columns.has_missing[first:last], columns.ordered[first:last])
            node = (sums, some, layout, counts, least, earning, labels, reals, found, chosen)
            score, weight = _best_of(turn, criterion, *node)
            if not (weight > right if by_edge else score > most):
                continue
            right, most, gains = weight, score, True
            column = found[0]
            best[0], best[1] = first + column, -1
            if turn == 0:
                best[1] = place[column, found[1]]
                _note_threshold(columns, best[0], best[1], found[2] == 1, on_left)
            else:
                if by_edge:
                    for b in range(bins):
                        chosen[b] = sums[found[1], column, b] > sums[found[2], column, b]
                _note_set(columns, best[0], place[column], chosen, bins - 1, on_left)
    return gains


# ---------------------------------------------------------------- nodes


@inlined
def _count(rows, mine):
    n_rows = np.int64(0)
    for i in range(mine.shape[0]):
        n_rows += rows.count[mine[i]]
    return n_rows


@inlined
def _is_final(rows, mine, rule, earning, labels, reals):
    """Whether a node without a gaining split is certain to stay a leaf, as nothing below it could gain."""
    if earning is None:
        return rule.criterion != MATSUSHITA and is_pure(labels[TOTAL, : rule.n_labels])
    if rule.criterion == SQUARES:
        low, high = np.inf, -np.inf
        for i in range(mine.shape[0]):
            low, high = min(low, rows.share[mine[i]]), max(high, rows.share[mine[i]])
        return low >= high
    most, n_present = 0.0, 0
    for k in range(rule.n_labels):
        each = 1.0
        if earning.kind == 2:
            each = -np.inf
            for v in range(earning.table.shape[0]):
                each = max(each, earning.table[v, k])
        most += np.float64(labels[TOTAL, k]) * (max(each, 0.0) if earning.abstains else each)
    while n_present < rule.n_labels and labels[RANK, labels[PRESENT, n_present]] == n_present:
        n_present += 1
    # callers decide on the few nodes that are closer to 1 - 1e-12 of it
    return most > 0 and _value(TARGET, labels[SOME, :n_present], earning, labels, reals) >= most * (1 - 0.5e-12)


@inlined
def _can_be_parted(rows, mine, columns, rule):
    """Whether some column has two bins with weight, and the rows are enough for two leaves."""
    if rule.min_samples_leaf > 1 and _count(rows, mine) // 2 < rule.min_samples_leaf:
        return False
    for j in range(columns.n_bins.shape[0]):
        only = np.int64(-1)
        for i in range(mine.shape[0]):
            if rows.weight[mine[i]] == 0:
                continue
            code = np.int64(_code_of(rows.codes, mine[i], j))
            if only >= 0 and code != only:
                return True
            only = code
    return False


@inlined
def _part_rows(rows, mine, column, on_left, squares, spare, sides):
    """Put the rows that go left first; both sides keep their order. sides[side, label]; returns how many go left."""
    for k in range(sides.shape[1]):
        sides[0, k], sides[1, k] = 0, 0
    n_left, n_right = 0, 0
    for i in range(mine.shape[0]):
        row = mine[i]
        side = 0 if on_left[_code_of(rows.codes, row, column)] else 1
        if squares:
            sides[side, 0] += rows.weight[row]
            sides[side, 1] += rows.second[row]
        else:
            sides[side, rows.label[row]] += rows.weight[row]
        mine[n_left] = row
        spare[n_right] = row
        n_left += 1 - side
        n_right += side
    for i in range(n_right):
        mine[n_left + i] = spare[i]
    return n_left


# ---------------------------------------------------------------- drawn columns


@inlined
def _picked_buffers(rows, n_rows, n_drawn):
    """Place for the rows of a node with the drawn columns only; vectors that are empty stay empty."""
    return NodeRows(
        rows.place[:0],
        np.zeros((n_rows, (n_drawn + 3) // 4), dtype=np.uint32),
        np.empty(n_rows, dtype=rows.label.dtype),
        np.empty(n_rows, dtype=np.int64),
        np.empty(min(n_rows, len(rows.second)), dtype=np.int64),
        np.empty(min(n_rows, len(rows.share)), dtype=np.float64),
        np.empty(min(n_rows, len(rows.count)), dtype=rows.count.dtype),
    )


@kernel
def _pick(rows, mine, drawn, picked):
    """Copy the rows of a node, of their codes only those of the drawn columns."""
    for i in range(mine.shape[0]):
        row = mine[i]
        for g in range(picked.codes.shape[1]):
            word = np.uint32(0)
            for lane in range(min(4, drawn.shape[0] - 4 * g)):
                word |= np.uint32(_code_of(rows.codes, row, drawn[4 * g + lane])) << np.uint32(8 * lane)
            picked.codes[i, g] = word
        picked.label[i], picked.weight[i] = rows.label[row], rows.weight[row]
        if len(picked.second) > 0:
            picked.second[i] = rows.second[row]
        if len(picked.share) > 0:
            picked.share[i] = rows.share[row]
        if len(picked.count) > 0:
            picked.count[i] = rows.count[row]


@kernel
def _search_drawn(criterion, rows, mine, columns, rule, earning, key, picked, buffers, on_left, best):
    """As `_search`, among columns drawn by the key of the node, from a copy of them."""
    drawn, n = np.empty(rule.n_drawn, dtype=np.int64), mine.shape[0]
    draw_columns(key, columns.n_bins.shape[0], drawn)
    _pick(rows, mine, drawn, picked)
    some = ColumnLayout(
        columns.n_bins[drawn], columns.has_missing[drawn], columns.ordered[drawn], columns.number[drawn], columns.seen
    )
    every = np.empty(n, dtype=mine.dtype)
    for i in range(n):
        every[i] = i
    gains = _search(criterion, picked, every, some, rule, earning, buffers, on_left, best)
    if gains:
        best[0] = drawn[best[0]]
    return gains


@kernel
def _best_split(rows, mine, columns, rule, earning, key, picked, buffers, on_left, best):
    """As `_search`: among the drawn columns; where none of these gains, among all."""
    criterion = rule.criterion
    if rule.n_drawn > 0 and _search_drawn(
        criterion, rows, mine, columns, rule, earning, key, picked, buffers, on_left, best
    ):
        return True
    return _search(criterion, rows, mine, columns, rule, earning, buffers, on_left, best)


# ---------------------------------------------------------------- growing


@inlined
def _enlarged(array, needed):
    """The array, or a copy of it that is long enough."""
    return array if needed <= array.shape[0] else np.concatenate((array, array))


@inlined
def _is_mixed(weights):
    """Whether more than one label weighs something."""
    present = 0
    for k in range(weights.shape[0]):
        present += int(weights[k] != 0)
    return present > 1


@kernel
def _stays_open(rows, mine, below, is_tied, columns, rule, earning, buffers, on_left, best):
    """Whether only looking ahead decides about a node where no split gains; it is a leaf if a finer one finds any."""
    is_open = False
    if below > 1 and not _is_final(rows, mine, rule, earning, buffers[6], buffers[7]):
        is_open = _can_be_parted(rows, mine, columns, rule)
    if is_open and not is_tied and rule.criterion in (EDGE, TARGET):
        finer = GINI if rule.criterion == EDGE else SQUARES
        is_open = not _search(finer, rows, mine, columns, rule, earning, buffers, on_left, best)
    return is_open


@inlined
def _node_buffers(n_rows, n_labels, at_once, bins, labels, reals):
    """What the search of a node writes into, used again for every node."""
    return (
        np.empty((3, n_rows), dtype=np.int64),  # numbers of the rows of a node: see _weigh_rows
        np.zeros((4, n_labels * N_CODES), dtype=np.int64),  # cells of four columns, zero between two uses
        np.zeros((4, N_CODES), dtype=np.uint8),  # codes met, zero between two uses
        np.empty((at_once, N_CODES + 1), dtype=np.int64),  # place: see _histogram
        np.empty(n_labels * at_once * bins, dtype=np.int64),
        np.empty(at_once * bins, dtype=np.int64),
        labels,
        reals,
        np.empty(N_CODES + 2, dtype=np.bool_),
        window_buffers(n_rows, n_labels),
        np.empty((2, 4, N_CODES), dtype=np.int64),  # cells of best_of_two
    )


@kernel
def grow_subtrees(rows, columns, rule, earning, order, ends, totals, levels, tied, keys):
    """Grow the trees below some nodes: node i has the rows order[ends[i]:ends[i + 1]], and may grow levels[i] levels.

    Returns the splits [split, (node, column, cut)], the bins on their left, the weights [split, side, label], and the
    nodes that are still open, [(node, first row, last row)]: none of their splits gains, and only looking ahead
    decides. The children of split s are the nodes n + 2 s and n + 2 s + 1 for n given nodes. Rows are put in order.
    keys: of the nodes, by which columns are drawn.
    """
    n_roots, n_rows, n_splits, n_open = ends.shape[0] - 1, 0, 0, 0
    for root in range(n_roots):
        n_rows = max(n_rows, ends[root + 1] - ends[root])
    n_labels, bins, n_columns = max(rule.n_labels, 3), min(N_CODES, n_rows) + 2, columns.n_bins.shape[0]
    at_once = min(n_columns, COLUMNS_AT_ONCE)
    labels = np.zeros((5, n_labels), dtype=np.int64)
    reals = np.zeros((TABLE + (0 if earning is None else earning.table.shape[0]), n_labels), dtype=np.float64)
    on_left, best = np.zeros(N_CODES, dtype=np.bool_), np.zeros(2, dtype=np.int64)
    buffers = _node_buffers(n_rows, n_labels, at_once, bins, labels, reals)
    splits, lefts = np.empty((64, 3), dtype=np.int64), np.empty((64, N_CODES), dtype=np.bool_)
    sums, opens = np.empty((64, 2, rule.n_labels), dtype=np.int64), np.empty((16, 3), dtype=np.int64)
    spare = np.empty(n_rows, dtype=order.dtype)
    waiting = np.empty((n_rows + 2, 4), dtype=np.int64)  # node, first row, last row, levels
    waiting_keys = np.empty(n_rows + 2, dtype=np.uint64)
    picked = _picked_buffers(rows, n_rows if rule.n_drawn > 0 else 0, rule.n_drawn)
    for root in range(n_roots):
        waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = root, ends[root], ends[root + 1], levels[root]
        waiting_keys[0] = keys[root]
        n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            node, below, key = waiting[n_waiting, 0], waiting[n_waiting, 3], waiting_keys[n_waiting]
            low, high = waiting[n_waiting, 1], waiting[n_waiting, 2]
            mine = order[low:high]
            for k in range(rule.n_labels):
                at = node - n_roots
                labels[TOTAL, k] = totals[node, k] if at < 0 else sums[at // 2, at % 2, k]
            if rule.min_samples_split > 2 and _count(rows, mine) < rule.min_samples_split:
                continue
            if not _best_split(rows, mine, columns, rule, earning, key, picked, buffers, on_left, best):
                if _stays_open(rows, mine, below, tied[root], columns, rule, earning, buffers, on_left, best):
                    opens = _enlarged(opens, n_open + 1)
                    opens[n_open, 0], opens[n_open, 1], opens[n_open, 2] = node, low, high
                    n_open += 1
                continue
            splits = _enlarged(splits, n_splits + 1)
            lefts = _enlarged(lefts, n_splits + 1)
            sums = _enlarged(sums, n_splits + 1)
            splits[n_splits, 0], splits[n_splits, 1], splits[n_splits, 2] = node, best[0], best[1]
            for b in range(N_CODES):
                lefts[n_splits, b] = on_left[b]
            sides, child = sums[n_splits], n_roots + 2 * n_splits
            middle = low + _part_rows(rows, mine, best[0], on_left, rule.criterion == SQUARES, spare, sides)
            n_splits += 1
            for side in range(1, -1, -1):
                if below > 1 and _is_mixed(sides[side]):
                    waiting[n_waiting, 0], waiting[n_waiting, 3] = child + side, below - 1
                    waiting_keys[n_waiting] = fold_key(key, np.uint64(1 + side))
                    waiting[n_waiting, 1] = middle if side == 1 else low
                    waiting[n_waiting, 2] = high if side == 1 else middle
                    n_waiting += 1
    return splits[:n_splits].copy(), lefts[:n_splits].copy(), sums[:n_splits].copy(), opens[:n_open].copy()
