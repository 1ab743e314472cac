"""The kernels in plain NumPy: the same names and signatures as fast.py, written to be obviously right.

They say what the fast ones must do, and the tests hold the two against each other. Where a kernel fills a buffer
of its caller's (a hash table, `kept`, `scratch`), only what the docstring in fast.py promises is the same.
"""

from itertools import combinations, pairwise

import numpy as np

# ---------------------------------------------------------------- distinct values and bins


def mix(value):
    z = int(np.float64(value).view(np.uint64))
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return np.uint64(z ^ (z >> 31))


def hash_values(values):
    return np.array([mix(value) for value in values], dtype=np.uint64)


def fold(values, hashes):
    more = np.where(np.isnan(values), np.uint64(0xD1B54A32D192ED03), hash_values(values + 0.0))
    z = (hashes ^ more) * np.uint64(0x9E3779B97F4A7C15)
    hashes[:] = z ^ (z >> np.uint64(32))


def tally(values, weights, start, keys, totals, info, room):
    slot_of = {float(keys[slot]): int(slot) for slot in np.flatnonzero(totals)}
    stopped = len(values)
    for row in range(start, len(values)):
        value, weight = float(values[row]), int(weights[row])
        if weight == 0:
            continue
        if np.isnan(value):
            info[1] += weight
        elif np.isinf(value):
            info[2] = row if info[2] < 0 else info[2]
        elif value in slot_of:
            totals[slot_of[value]] += weight
        elif len(slot_of) == room:
            stopped = row
            break
        else:
            slot = int(np.flatnonzero(totals == 0)[0])
            slot_of[value] = slot
            keys[slot], totals[slot] = value + 0.0, weight
    info[0] = len(slot_of)
    return stopped


def select(values, weights, start, limit, kept, kept_weights, info):
    values, weights = values[start:] + 0.0, weights[start:]
    info[1] += weights[np.isnan(values)].sum()
    infinite = np.flatnonzero(np.isinf(values) & (weights > 0))
    if info[2] < 0 and len(infinite):
        info[2] = start + infinite[0]
    chosen = np.isfinite(values) & (weights > 0) & (hash_values(values) <= limit)
    count = np.count_nonzero(chosen)
    kept[:count] = values[chosen]
    kept_weights[:count] = weights[chosen]
    return count


def cuts(weights, max_bins):
    light = weights <= weights.sum() // max_bins
    changes = np.flatnonzero(np.diff(light, prepend=False, append=False))
    runs = changes.reshape(-1, 2).tolist()  # first position of each run of light values, and the one after it
    extra = max_bins - np.count_nonzero(~light) - len(runs)
    rest = weights[light].sum()
    last = np.flatnonzero(~light).tolist()
    for first, stop in runs:
        if extra < 0 and stop < len(weights):
            extra += 1  # into the group of the heavy value
            continue
        while first < stop:
            inside = np.cumsum(weights[first:stop])
            full = np.flatnonzero(inside * (extra + 1) >= rest)
            size = full[0] + 1 if extra > 0 and len(full) else stop - first
            last.append(first + size - 1)
            rest -= inside[size - 1]
            first += size
            extra -= first < stop
    return np.sort(np.array(last, dtype=np.int64))


def encode(block, edges, depths, missing, dest, out, scratch):
    per_group = out.shape[2]
    kept = dest >= 0
    for j, x in enumerate(block):
        codes = np.where(np.isnan(x), missing, np.searchsorted(edges[j, : 2 ** depths[j] - 1], x))
        out[j // per_group, dest[kept], j % per_group] = codes[kept]


def join(codes, columns, sizes, place, first, steps, count, dest, out):
    per_group = out.shape[2]
    kept = np.flatnonzero(dest >= 0)
    for j in columns:
        code = codes[j // per_group, kept, j % per_group].astype(np.int64)
        joint = out[place[j] // per_group, :, place[j] % per_group]
        if sizes[j]:
            at = first[j] + sizes[j] * joint[dest[kept]].astype(np.int64) + np.minimum(code, sizes[j] - 1)
            for step in dict.fromkeys(at[steps[at] < 0].tolist()):
                if count[j] == 256:
                    return False
                steps[step] = count[j]
                count[j] += 1
            code = steps[at]
        joint[dest[kept]] = code
    return True


def spread(sums, place, used, cell, out):
    for histogram, found in zip(sums, out, strict=True):
        for j, stored in enumerate(place):
            np.add.at(found, cell[j, : used[j]], histogram[stored, : used[j]])


def unpack(packed, cells, out):
    out[:] = 0
    out[:, cells] = packed


# ---------------------------------------------------------------- a round in a shard


def add_gains(column, leaf_of_bin, gains, starts, state):
    state += gains[:, _labels_of(starts), leaf_of_bin[column]]


def _labels_of(starts):
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


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


# ---------------------------------------------------------------- the rows of a node of a tree


def part(before, low, starts, column, on_left, order, spare, left_starts):
    rows = before[low : low + starts[-1]].copy()
    left = on_left[column[rows]]
    per_label = np.bincount(_labels_of(starts)[left], minlength=len(starts) - 1)
    left_starts[:] = np.concatenate([[0], np.cumsum(per_label)])
    order[low : low + starts[-1]] = np.concatenate([rows[left], rows[~left]])
    return np.count_nonzero(left)


def gather(grid, order, low, high, picked):
    picked[: high - low] = grid[order[low:high]]


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


def sum_signs(grid, award):
    return grid[award > 0].sum(), grid[award < 0].sum()


def tell(order, low, high, value, said):
    said[order[low:high]] = value


def add_gains_of(order, low, starts, column, side, gains, state):
    rows = order[low : low + starts[-1]]
    state[:, rows] += gains[:, _labels_of(starts), side[column[rows]]]


# ---------------------------------------------------------------- the search for a test


def _thresholds(n_bins, has_missing, ordered):
    """(column, cut, missing left) of every test, the preferred ones first."""
    for j in np.flatnonzero(ordered):
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            # missing values on the left need training to have had some, and another value on the right
            if has_missing[j] and cut < n_bins[j] - 1:
                yield j, cut, 1
            yield j, cut, 0


def _left(numbers, column, cut, missing_left):
    """The sum of numbers[..., column, bin] over the bins that go left."""
    return numbers[..., column, : cut + 1].sum(axis=-1) + missing_left * numbers[..., column, -1]


def _enough(rows, test, min_rows):
    if len(rows) == 0:
        return True
    column, cut, missing_left = test
    left = _left(rows, column, cut, missing_left)
    return min(left, rows[column].sum() - left) >= min_rows


def best_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found):
    def right(left):
        sides = left, totals - left
        return -1 if sides[0].argmax() == sides[1].argmax() else int(sides[0].max() + sides[1].max())

    most = -1
    for test in _thresholds(n_bins, has_missing, ordered):
        if _enough(rows, test, min_rows) and right(_left(sums, *test)) > most:
            most = right(_left(sums, *test))
            found[:3] = test
    return most


def best_common_threshold(left, whole, totals_left, totals, n_bins, has_missing, ordered, taken, found):
    most = -(2**63)
    for test in _thresholds(n_bins, has_missing, ordered):
        if test[0] == taken:
            continue
        right = 0
        for sums, total in ((left, totals_left), (whole - left, totals - totals_left)):
            below = _left(sums, *test)
            right += int(below.max() + (total - below).max())
        if right > most:
            most = right
            found[:3] = test
    return most


def right_of_two(more, totals):
    """From the four weights: the left side has none of one label."""
    left = np.array([max(-more, 0), max(more, 0)])
    sides = left, totals - left
    return -1 if sides[0].argmax() == sides[1].argmax() else sides[0].max() + sides[1].max()


def best_threshold_of_two(sums, totals, n_bins, has_missing, ordered, found):
    return best_threshold(sums, totals, n_bins, has_missing, ordered, np.zeros((0, 0), dtype=np.int64), 1, found)


def cheapest_threshold(sums, totals, squares, square_totals, n_bins, has_missing, ordered, lam, spread, found):
    least = np.inf
    for test in _thresholds(n_bins, has_missing, ordered):
        left, left_squares = _left(sums, *test), _left(squares, *test)
        right = (left[1] + totals[0] - left[0]) / totals.sum()
        right_squares = (left_squares[1] + square_totals[0] - left_squares[0]) / square_totals.sum()
        cost = cost_at_best(right, right_squares, lam, spread)
        if cost < least:
            least = cost
            found[:3] = test
    return least


def cost_at_best(right, right_squares, lam, spread):
    """V of (4) at its best alpha, over its value at 0 up to the common factor."""
    wrong, wrong_squares = 1.0 - right, 1.0 - right_squares
    ups = (1.0 - lam) * right * right + lam * (right_squares * spread)
    downs = (1.0 - lam) * wrong * wrong + lam * (wrong_squares * spread)
    return 2.0 * np.sqrt(max(ups * downs, 0.0)) + 2.0 * (1.0 - lam) * right * wrong


def send_left(histogram, seen, column, cut, missing_left, on_left, sides):
    on_left[:] = np.arange(len(on_left)) <= cut
    if missing_left < 0:
        values = seen[:-1]
        missing_left = values[on_left[:-1]].sum() >= values[~on_left[:-1]].sum()
    on_left[-1] = missing_left
    sides[0] = histogram[:, column, on_left].sum(axis=1)
    sides[1] = histogram[:, column, ~on_left].sum(axis=1)


def enough_rows(rows, column, rows_left, side, min_rows):
    left = rows_left + (rows[column, -1] if side == 0 else 0)
    return min(left, rows[column].sum() - left) >= min_rows


def purity(criterion, left, totals):
    sides = np.array([left, totals - left], dtype=np.float64)
    all_of = sides.sum(axis=1, keepdims=True)
    if criterion == 2:
        return -np.sqrt(sides * (all_of - sides)).sum()
    return np.sum(sides**2 / np.where(all_of > 0, all_of, 1.0))


def purity_of_two(criterion, here, there, also_here, also_there):
    return purity(criterion, np.array([here, also_here]), np.array([here + there, also_here + also_there]))


def purest_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, criterion, found):
    most = -np.inf
    for test in _thresholds(n_bins, has_missing, ordered):
        column, cut, _ = test
        if not sums[:, column, cut].any():
            continue  # a bin without weight is no place to cut
        score = purity(criterion, _left(sums, *test), totals)
        if score > most and _enough(rows, test, min_rows):
            most = score
            found[:3] = test
    return most


def purest_threshold_of_two(sums, totals, n_bins, has_missing, ordered, criterion, found):
    no_rows = np.zeros((0, 0), dtype=np.int64)
    return purest_threshold(sums, totals, n_bins, has_missing, ordered, no_rows, 1, criterion, found)


def score_cuts(criterion, first, second, more_first, more_second, totals, weights, scores):
    for cut in range(len(first)):
        left = np.array([first[: cut + 1].sum() + more_first, second[: cut + 1].sum() + more_second])
        scores[cut] = purity(criterion, left, totals)


def best_subset(sums, n_bins, has_missing, ordered, rows, min_rows, found):
    most = -1
    for j in np.flatnonzero(~ordered):
        bins = [*range(n_bins[j]), *([sums.shape[2] - 1] if has_missing[j] else [])]
        for a, b in combinations(range(len(sums)), 2):
            on_left = sums[a, j, bins] > sums[b, j, bins]
            if not on_left.any() or on_left.all():
                continue
            if len(rows) and min(rows[j, bins][on_left].sum(), rows[j, bins][~on_left].sum()) < min_rows:
                continue
            weight = int(np.maximum(sums[a, j, bins], sums[b, j, bins]).sum())
            if weight > most:
                most = weight
                found[:3] = (j, a, b)
    return most


def purest_subset(sums, totals, n_bins, ordered, rows, min_rows, criterion, found, on_left):
    most = -np.inf
    for j in np.flatnonzero(~ordered):
        bins = np.array([*range(n_bins[j]), sums.shape[2] - 1])
        bins = bins[sums[:, j, bins].sum(axis=0) > 0]
        for label in range(1 if len(sums) == 2 else 0, len(sums)):
            share = sums[label, j, bins] / sums[:, j, bins].sum(axis=0)
            in_order = bins[np.argsort(share, kind="stable")]
            for size in range(1, len(bins)):
                chosen = in_order[:size]
                score = purity(criterion, sums[:, j, chosen].sum(axis=1), totals)
                held = rows[j, chosen].sum() if len(rows) else 0
                if score > most and (len(rows) == 0 or min(held, rows[j].sum() - held) >= min_rows):
                    most = score
                    found[0] = j
                    on_left[:] = np.isin(np.arange(sums.shape[2]), chosen)
    return most


# ---------------------------------------------------------------- prediction by lookup


def lookup(block, columns, edges, depths, first, tables, votes, scratch):
    for j, column in enumerate(columns):
        x = block[column]
        cells = first[j] + np.searchsorted(edges[j, : 2 ** depths[j] - 1], x)
        votes += tables[:, np.where(np.isnan(x), first[j + 1] - 1, cells)]


def climb(block, columns, first, edges, rises, absent, votes):
    outputs = len(votes)
    for n in range(len(columns) * outputs):
        x = block[columns[n // outputs]]
        mine = slice(first[n], first[n + 1])
        votes[n % outputs] += (x[:, None] > edges[mine]) @ rises[mine] + np.where(np.isnan(x), absent[n], 0)


def first_infinite(block):
    infinite = np.argwhere(np.isinf(block))
    return tuple(infinite[0].tolist()) if len(infinite) else (-1, -1)


def walk(cells, offsets, place, cut, members, missing_left, children, sets, units, votes):
    def below(node, rows):
        if place[node] < 0:
            votes[:, rows] += units[node][:, None]
            return
        cell = cells[place[node], rows]
        asked = sets[members[node]][cell] if members[node] >= 0 else cell <= cut[node]
        left = np.where(cell < 0, missing_left[node], asked)
        below(root + children[node, 0], rows[left])
        below(root + children[node, 1], rows[~left])

    for root in offsets[:-1]:
        below(root, np.arange(cells.shape[1]))


def walk_ordered(cells, offsets, depths, place, low, cut, kids, units, votes, scratch):
    def below(node, rows):
        if kids[node, 0] == node:
            votes[:, rows] += units[node][:, None]
            return
        cell = cells[place[node], rows]
        left = (low[node] <= cell) & (cell <= cut[node])
        below(kids[node, 1], rows[left])
        below(kids[node, 0], rows[~left])

    for root in offsets[:-1]:
        below(root, np.arange(cells.shape[1]))


def cross_out(cells, first, last, tests, planes, leaf):
    kept = np.ones((cells.shape[1], 8 * tests.keep.shape[1]), dtype=np.bool_)
    for q in range(first, last):
        cell = cells[tests.place[q]]
        if tests.table[q] >= 0:
            left = tests.tables[tests.table[q]][cell] == 1
        else:
            left = (cell.astype(np.int64) + tests.shift[q]) % 256 <= tests.cut[q]
        right_keeps, left_keeps = np.unpackbits(tests.keep[q], axis=0, bitorder="little").astype(np.bool_).T
        kept &= np.where(left[:, None], left_keeps, right_keeps)
    leaf[:] = np.argmax(kept, axis=1)


def vote(cells, offsets, leaves, tests, units, votes, planes, leaf):
    for t, (first, last) in enumerate(pairwise(offsets)):
        cross_out(cells, first, last, tests, planes, leaf)
        votes += units[:, leaves[t] + leaf]


def say(cells, offsets, leaves, tests, values, said, planes, leaf):
    for t, (first, last) in enumerate(pairwise(offsets)):
        cross_out(cells, first, last, tests, planes, leaf)
        said[:, :, t] = values[:, leaves[t] + leaf]


# ---------------------------------------------------------------- voters as columns


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


# ---------------------------------------------------------------- QuadBoost on a pool


def quad_weight(kind, lam, most, pull, eta):
    pull, eta = np.asarray(pull, dtype=np.float64), np.asarray(eta, dtype=np.float64)
    some = np.where(eta > 0, eta, 1.0)
    best = [
        pull / some,
        np.sign(pull) * np.maximum(np.abs(pull) - lam, 0.0) / some,
        pull / (some + lam),
        np.clip(pull / some, -most, most),
    ][kind]
    return np.where(eta > 0, np.rint(best * 2.0**40) / 2.0**40, 0.0)[()]


def quad_drop(kind, lam, c, eta, old, new):
    change = new - old
    penalty = [0.0, 2 * lam * (np.abs(old) - np.abs(new)), -lam * change * (old + new), 0.0][kind]
    return change * (2 * c - eta * change) + penalty


def quad_best(kind, lam, most, mode, full, c, eta, weight):
    old = np.zeros_like(weight) if mode == 0 else weight
    drop = quad_drop(kind, lam, c, eta, old, quad_weight(kind, lam, most, c + old * eta, eta))
    left_out = (mode == 1) & (weight != 0) | bool(full and mode) & (weight == 0)
    drop = np.where(left_out, 0.0, drop)
    largest = float(np.abs(c).max(initial=0.0))
    if not np.any(drop > 0):
        return -1, 0.0, largest
    return int(np.argmax(drop)), float(drop.max()), largest


def quad_gap(kind, lam, most, power, c, mu, weight):
    if kind == 0 or (kind == 2 and lam <= 0):
        return np.inf
    if kind == 2:
        return float(((lam * weight - c) ** 2 / lam).sum())
    if kind == 3:
        return float((2 * (most * np.abs(c) - c * weight)).sum())
    heard = power - weight @ mu
    risk = power - weight @ (mu + c)
    size, largest = np.abs(weight).sum(), np.abs(c).max(initial=0.0)
    if risk <= 0:
        return 2 * lam * size
    scale = heard / risk if largest == 0 else np.clip(heard / risk, -lam / largest, lam / largest)
    return max(float(risk + 2 * lam * size - 2 * scale * heard + scale**2 * risk), 0.0)


def quad_rounds(
    kind, lam, most, mode, tol, most_voters, power, c, mu, eta, weight, gram, slot, first, last, places, moves, info
):
    made = 0

    def move(number, at):
        """False where its row is wanted and not there."""
        nonlocal made
        old = 0.0 if mode == 0 else weight[at]
        pull = c[at] + old * eta[at]
        new = quad_weight(kind, lam, most, pull, eta[at])
        drop = quad_drop(kind, lam, c[at], eta[at], old, new)
        if new != old and drop > 0:
            if slot[at] < 0:
                return False
            c[:] -= (new - old) * gram[slot[at]]
            weight[at] += new - old
            places[made] = number, at
            moves[made] = weight[at], new, pull, drop, np.count_nonzero(weight)
            made += 1
        return True

    def sweep(number, start, before):
        """All that have a weight, from `start` on; False if it was left for want of a row."""
        for k in range(start, len(weight)):
            if weight[k] != 0 and not move(number, k):
                info[[1, 2, 4, 5]] = 1, k, k + 1, made > before
                return False
        return True

    def why(number, j, largest):
        within = (mode == 1 or number % 16 == 1) and (kind == 1 or np.any(weight))
        if mode == 0 and kind == 1 and largest <= lam + tol:
            return 2
        if mode and within and quad_gap(kind, lam, most, power, c, mu, weight) <= tol:
            return 2
        if j >= 0 and slot[j] < 0:
            info[2] = j
            return 1
        return 4 if mode == 0 and j >= 0 and weight[j] == 0 and np.count_nonzero(weight) >= most_voters else 0

    info[1:3] = 0, -1
    number = first
    while number <= last and made + np.count_nonzero(weight) + 2 <= len(places):
        start, before = int(info[4]) - 1, made - int(info[5])
        info[4:6] = 0
        if start < 0:
            full = np.count_nonzero(weight) >= most_voters
            j, _, largest = quad_best(kind, lam, most, mode, full, c, eta, weight)
            info[1] = why(number, j, largest)
            if info[1]:
                break
            if j >= 0:
                move(number, j)
        if mode == 1 and not sweep(number, max(start, 0), before):
            break
        if made == before:
            info[1] = 3
            break
        number += 1
    info[0], info[3] = made, np.count_nonzero(weight)
    return number


def quad_replay(kind, lam, mode, places, moves, c, eta, weight, gram, slot):
    for (_, at), row in zip(places, moves, strict=True):
        change = row[0] - weight[at]
        old = 0.0 if mode == 0 else weight[at]
        row[1:4] = old + change, c[at] + old * eta[at], quad_drop(kind, lam, c[at], eta[at], old, old + change)
        c -= change * gram[slot[at]]
        weight[at] = row[0]
        row[4] = np.count_nonzero(weight)


# ---------------------------------------------------------------- the vote by weighted median


def vote_quantiles(values, weights, needs, sign, out):
    for i in range(len(values)):
        order = np.argsort(sign * values[i], kind="stable")
        so_far = np.cumsum(weights[i if len(weights) > 1 else 0][order])
        out[i] = values[i][order[min(np.searchsorted(so_far, max(needs[i], 1)), len(order) - 1)]]


def place_quantiles(places, weights, needs, n_places, from_top, out):
    vote_quantiles(places, weights, needs, -1.0 if from_top else 1.0, out)


def insert_votes(values, weights, count, new_values, new_weights):
    for i in range(len(values)):
        at = np.searchsorted(values[i, :count], new_values[i], side="right")
        values[i, : count + 1] = np.insert(values[i, :count], at, new_values[i])
        weights[i, : count + 1] = np.insert(weights[i, :count], at, new_weights[i])


def sorted_quantiles(values, weights, count, needs, from_top, out):
    for i in range(len(values)):
        order = np.arange(count)[::-1] if from_top else np.arange(count)
        so_far = np.cumsum(weights[i, order])
        out[i] = values[i, order[min(np.searchsorted(so_far, needs[i]), count - 1)]]


# ---------------------------------------------------------------- the search for a test of a target


def side_edge(kind, weights, reach, targets, rate, table):
    total = weights.sum()
    if kind == 0:
        windows = [weights[reach[k] : k + 1].sum() for k in range(len(weights))]
        return float(2 * max(windows) - total)
    if kind == 1:
        distances = np.abs(targets[:, None] - targets[None, :]) @ weights.astype(np.float64)
        return float(total) - rate * float(distances.min())
    return float((table @ weights.astype(np.float64)).max())


def best_window_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, reach, abstains, found):
    layout, nothing = (n_bins, has_missing, ordered), np.zeros((0, 0))
    return best_target_threshold(
        sums, totals, *layout, rows, min_rows, 0, reach, nothing, 0.0, nothing, abstains, found
    )


def distance_edge(totals, left, is_right, weight, moment, targets, rate):
    side = totals - left if is_right else left
    return side_edge(1, side, np.zeros(0), targets, rate, np.zeros((0, 0)))


def best_distance_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, targets, rate, abstains, found):
    layout, nothing = (n_bins, has_missing, ordered), np.zeros((0, 0))
    return best_target_threshold(
        sums, totals, *layout, rows, min_rows, 1, nothing, targets, rate, nothing, abstains, found
    )


def best_target_threshold(
    sums, totals, n_bins, has_missing, ordered, rows, min_rows, kind, reach, targets, rate, table, abstains, found
):
    most = -np.inf
    for test in _thresholds(n_bins, has_missing, ordered):
        column, cut, _ = test
        if not sums[:, column, cut].any():
            continue
        left = _left(sums, *test)
        if not left.any() or not (totals - left).any():
            continue
        sides = [side_edge(kind, side, reach, targets, rate, table) for side in (left, totals - left)]
        edge = sum(max(side, 0.0) if abstains else side for side in sides)
        if edge > most and _enough(rows, test, min_rows):
            most = edge
            found[:3] = test
    return most


def best_window(targets, weights, eps):
    best, most = (0, 0), -1
    for last in range(len(targets)):
        for first in range(last + 1):
            middle = targets[first] + 0.5 * (targets[last] - targets[first])
            if targets[last] - middle <= eps and middle - targets[first] <= eps:
                break
        if weights[first : last + 1].sum() > most:
            best, most = (first, last), weights[first : last + 1].sum()
    return best


def best_mean_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found):
    most = -np.inf
    for test in _thresholds(n_bins, has_missing, ordered):
        column, cut, _ = test
        left = _left(sums, *test)
        right = totals - left
        if not sums[:, column, cut].any() or left[0] <= 0 or right[0] <= 0:
            continue
        score = float(left[1]) ** 2 / float(left[0]) + float(right[1]) ** 2 / float(right[0])
        if score > most and _enough(rows, test, min_rows):
            most = score
            found[:3] = test
    return most
