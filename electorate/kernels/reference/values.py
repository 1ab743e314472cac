"""Distinct values of a column: the twins of values.hpp, in plain NumPy."""

import numpy as np


def mix(value):
    z = int(np.float64(value).view(np.uint64))
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return np.uint64(z ^ (z >> 31))


def hash_values(values):
    return np.array([mix(value) for value in values], dtype=np.uint64)


def fold(values, hashes):
    values = values[: len(hashes)]
    more = np.where(np.isnan(values), np.uint64(0xD1B54A32D192ED03), hash_values(values + 0.0))
    z = (hashes ^ more) * np.uint64(0x9E3779B97F4A7C15)
    hashes[:] = z ^ (z >> np.uint64(32))


def fold_rows(array, hashes):
    for column in array.T:
        fold(column.astype(np.float64), hashes)


def tally(values, weights, start, keys, totals, info, capacity):
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
        elif len(slot_of) == capacity:
            stopped = row
            break
        else:
            slot = int(np.flatnonzero(totals == 0)[0])
            slot_of[value] = slot
            keys[slot], totals[slot] = value + 0.0, weight
    info[0] = len(slot_of)
    return stopped


def select(values, weights, start, limit, chosen, chosen_weights, info):
    values, weights = values[start:] + 0.0, weights[start:]
    info[1] += weights[np.isnan(values)].sum()
    infinite = np.flatnonzero(np.isinf(values) & (weights > 0))
    if info[2] < 0 and len(infinite):
        info[2] = start + infinite[0]
    here = np.isfinite(values) & (weights > 0) & (hash_values(values) <= limit)
    count = np.count_nonzero(here)
    chosen[:count] = values[here]
    chosen_weights[:count] = weights[here]
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


def first_infinite(block):
    infinite = np.argwhere(np.isinf(block))
    return tuple(infinite[0].tolist()) if len(infinite) else (-1, -1)
