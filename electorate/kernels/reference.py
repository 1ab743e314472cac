"""The kernels in plain NumPy: the same names and signatures as fast.py, written to be obviously right.

They say what the fast ones must do, and the tests hold the two against each other. Where a kernel fills a buffer
of its caller's (a hash table, `kept`, `scratch`), only what the docstring in fast.py promises is the same.
"""

from itertools import pairwise

import numpy as np

# ---------------------------------------------------------------- distinct values and bins


def mix(value):
    bits = int(np.float64(value).view(np.uint64))
    z = (bits + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return np.uint64(z ^ (z >> 31))


def hash_values(values):
    return np.array([mix(value) for value in values], dtype=np.uint64)


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


# ---------------------------------------------------------------- a round in a shard


def add_gains(column, leaf_of_bin, gains, starts, state):
    label = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    state += gains[:, label, leaf_of_bin[column]]


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


# ---------------------------------------------------------------- the search over stumps


def best_threshold(sums, totals, n_bins, has_missing, ordered, found):
    bins = np.arange(sums.shape[2])
    tests = []
    for j in np.flatnonzero(ordered):
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            for missing_left in (1, 0):
                # missing values on the left need training to have had some, and another value on the right
                if missing_left and (not has_missing[j] or cut == n_bins[j] - 1):
                    continue
                left = sums[:, j, bins <= cut].sum(axis=1) + missing_left * sums[:, j, -1]
                right = totals - left
                if left.argmax() != right.argmax():
                    weight = int(left.max() + right.max())
                    tests.append((weight, -j, -cut, missing_left, left.argmax(), right.argmax()))
    if not tests:
        return -1
    weight, j, cut, *rest = max(tests, key=lambda test: test[:4])
    found[:5] = (-j, -cut, *rest)
    return weight


def best_subset(sums, n_bins, has_missing, ordered, found):
    labels = len(sums)
    tests = []
    for j in np.flatnonzero(~ordered):
        bins = [*range(n_bins[j]), *([sums.shape[2] - 1] if has_missing[j] else [])]
        for a in range(labels):
            for b in range(a + 1, labels):
                on_left = sums[a, j, bins] > sums[b, j, bins]
                if on_left.any() and not on_left.all():
                    weight = int(np.maximum(sums[a, j, bins], sums[b, j, bins]).sum())
                    tests.append((weight, -j, -a, -b))
    if not tests:
        return -1
    weight, j, a, b = max(tests)
    found[:3] = (-j, -a, -b)
    return weight


# ---------------------------------------------------------------- prediction by lookup


def lookup(block, columns, edges, depths, first, tables, votes, scratch):
    for j, column in enumerate(columns):
        x = block[column]
        cells = first[j] + np.searchsorted(edges[j, : 2 ** depths[j] - 1], x)
        votes += tables[:, np.where(np.isnan(x), first[j + 1] - 1, cells)]


def first_infinite(block):
    infinite = np.argwhere(np.isinf(block))
    return tuple(infinite[0].tolist()) if len(infinite) else (-1, -1)
