"""Distinct values of a column: their hashes, a table that counts them, and the groups of values that become bins.

Callers keep a call under 0.2 s, so that Ctrl-C works; this holds for all kernels that loop over rows.
"""

import numpy as np

from electorate.kernels.compile import kernel


@kernel
def mix(value):
    """A 64-bit hash of the bits of a float64 (splitmix64); different values have different hashes.

    It leaves out the constant that splitmix64 adds, so that mix(0.0) is 0, the smallest hash: a sketch always holds a
    spike at zero.
    """
    z = np.float64(value).view(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def hash_values(values):
    """`mix` of every value."""
    hashes = np.empty(values.shape[0], dtype=np.uint64)
    for i in range(values.shape[0]):
        hashes[i] = mix(values[i])
    return hashes


@kernel
def fold(values, hashes):
    """Fold one more number into the hash of every row; -0.0 is 0.0, and all missing values are equal."""
    for i in range(min(values.shape[0], hashes.shape[0])):
        value = values[i] + 0.0
        more = mix(value) if value == value else np.uint64(0xD1B54A32D192ED03)
        z = (hashes[i] ^ more) * np.uint64(0x9E3779B97F4A7C15)
        hashes[i] = z ^ (z >> np.uint64(32))


@kernel
def fold_rows(array, hashes):
    """`fold` of all columns of array[row, column], the first one first."""
    for i in range(array.shape[0]):
        z = hashes[i]
        for j in range(array.shape[1]):
            value = np.float64(array[i, j]) + 0.0
            more = mix(value) if value == value else np.uint64(0xD1B54A32D192ED03)
            z = (z ^ more) * np.uint64(0x9E3779B97F4A7C15)
            z ^= z >> np.uint64(32)
        hashes[i] = z


@kernel
def tally(values, weights, start, keys, totals, info, capacity):
    """Add values[start:] with their integer weights to a hash table of distinct values.

    Returns the next row to read, which is not the end if the table is at its capacity and another value comes.
    info: number of values in the table, weight of missing values, first infinite row (or -1).
    """
    if keys.shape[0] == 0:
        return start
    mask = np.uint64(keys.shape[0] - 1)
    n_keys = info[0]
    for i in range(start, values.shape[0]):
        weight = weights[i]
        value = values[i] + 0.0  # -0.0 is 0.0
        if weight == 0:
            continue
        if value != value:
            info[1] += weight
            continue
        if np.isinf(value):
            if info[2] < 0:
                info[2] = i
            continue
        slot = mix(value) & mask
        while totals[slot] != 0 and keys[slot] != value:
            slot = (slot + np.uint64(1)) & mask
        if totals[slot] == 0:
            if n_keys == capacity:
                info[0] = n_keys
                return i
            keys[slot] = value
            n_keys += 1
        totals[slot] += weight
    info[0] = n_keys
    return values.shape[0]


@kernel
def select(values, weights, start, limit, chosen, chosen_weights, info):
    """Copy the finite values[start:] whose hash is at most `limit`, with their weights; returns how many."""
    count = np.int64(0)
    for i in range(start, values.shape[0]):
        weight = weights[i]
        value = values[i] + 0.0
        if value != value:
            info[1] += weight
        elif np.isinf(value):
            if weight > 0 and info[2] < 0:
                info[2] = i
        else:
            chosen[count] = value
            chosen_weights[count] = weight
            count += np.int64(weight > 0) & np.int64(mix(value) <= limit)
    return count


@kernel
def cuts(weights, max_bins):
    """Last positions of at most max_bins consecutive groups of values.

    A heavy value, one that weighs more than a bin's share of the total, gets a group of its own; the light ones fill
    the other groups about equally. Where there are too few groups, runs of light values join the heavy one after them.
    """
    if max_bins < 1:
        return np.empty(0, dtype=np.int64)
    n = weights.shape[0]
    heavy = weights.sum() // max_bins
    extra = max_bins  # groups beyond one for each heavy value and each run of light ones
    rest = np.int64(0)  # weight of the light values that are in no group yet
    for i in range(n):
        if weights[i] > heavy:
            extra -= 1
        else:
            rest += weights[i]
            if i == n - 1 or weights[i + 1] > heavy:
                extra -= 1
    last = np.empty(max_bins, dtype=np.int64)
    used = 0
    inside = np.int64(0)
    share = -(-rest // max(extra + 1, 1))
    for i in range(n):
        if weights[i] <= heavy:
            inside += weights[i]
            if i < n - 1 and weights[i + 1] > heavy:
                if extra < 0:
                    extra += 1
                    continue
            elif i < n - 1:
                if extra <= 0 or inside < share:
                    continue
                extra -= 1
            rest -= inside
            share = -(-rest // max(extra + 1, 1))
        last[used] = i
        used += 1
        inside = np.int64(0)
    return last[:used]


@kernel
def first_infinite(block):
    """Column and row of the first infinite value of a block, or (-1, -1)."""
    for j in range(block.shape[0]):
        x = block[j]
        some = False
        for i in range(x.shape[0]):
            some |= np.abs(x[i]) == np.inf
        if some:
            for i in range(x.shape[0]):
                if np.abs(x[i]) == np.inf:
                    return j, i
    return -1, -1
