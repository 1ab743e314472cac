"""Numeric targets by the nodes and leaves of a tree: sums of weight x target, and what lies up to points of a leaf.

leaf[row]: of rows with targets in ascending order, so that the rows of every leaf are in order too.
"""

import numpy as np

from electorate.kernels.compile import inlined, kernel
from electorate.kernels.special import exp

ROWS_PICKED = 4096  # rows of a node at a time: their numbers stay in the cache for all columns


@kernel
def weigh_targets(of, rows, out):
    """out[k] = weight x target of row rows[k] on the grid; of: TargetWeights."""
    width = of.high - of.low
    values = np.empty((3, min(ROWS_PICKED, rows.shape[0])), dtype=np.float64)  # exponents, factors, products
    for at in range(0, rows.shape[0], ROWS_PICKED):
        mine = rows[at : at + ROWS_PICKED]
        n = mine.shape[0]
        power, share, product = values[0], values[1], values[2]
        for k in range(n):
            power[k] = of.floor - of.log[mine[k]]
            share[k] = min(max((of.target[mine[k]] - of.low) / width, 0.0), 1.0) if width > 0 else 0.0
        for k in range(n):  # without gathering, so that it is vectorised
            product[k] = exp(power[k])
        for factor in (of.kappa, of.real):
            for k in range(n if factor.shape[0] > 0 else 0):
                product[k] *= factor[mine[k]]
        for k in range(n):
            out[at + k] = np.int64(np.rint(product[k] * share[k] * of.scale))
        for k in range(n if of.times.shape[0] > 0 else 0):
            out[at + k] *= of.times[mine[k]]


@inlined
def _add_words(words, rows, weight, second, sums, more):
    """Add two numbers of every row to the four columns of a word."""
    byte = np.uint32(255)
    first, second_column, third, fourth = sums[0], sums[1], sums[2], sums[3]
    fifth, sixth, seventh, eighth = more[0], more[1], more[2], more[3]
    for k in range(rows.shape[0]):
        word = np.uint32(words[rows[k]])
        a, b = word & byte, (word >> np.uint32(8)) & byte
        c, d = (word >> np.uint32(16)) & byte, word >> np.uint32(24)
        first[a] += weight[k]
        second_column[b] += weight[k]
        third[c] += weight[k]
        fourth[d] += weight[k]
        fifth[a] += second[k]
        sixth[b] += second[k]
        seventh[c] += second[k]
        eighth[d] += second[k]


@kernel
def sum_targets(codes, grid, of, order, nodes, numbers, sums, clear):
    """Add to sums[node, (weight, weight x target), column, bin] the histograms of some nodes.

    grid: the weights. clear: set the sums to 0 before.
    """
    weight = np.empty(ROWS_PICKED, dtype=np.int64)
    second = np.empty(ROWS_PICKED, dtype=np.int64)
    if clear:
        sums[:] = 0
    for m in range(numbers.shape[0]):
        low = nodes.low[numbers[m]]
        high = low + nodes.starts[numbers[m], -1]
        for at in range(low, high, ROWS_PICKED):
            rows = order[at : min(at + ROWS_PICKED, high)]
            for k in range(rows.shape[0]):
                weight[k] = grid[rows[k]]
            weigh_targets(of, rows, second)
            if sums.shape[2] == codes.shape[0]:
                for j in range(codes.shape[0]):
                    for k in range(rows.shape[0]):
                        sums[m, 0, j, codes[j, rows[k]]] += weight[k]
                        sums[m, 1, j, codes[j, rows[k]]] += second[k]
                continue
            for g in range(codes.shape[0]):
                part = slice(4 * g, 4 * g + 4)
                _add_words(codes[g], rows, weight, second, sums[m, 0, part], sums[m, 1, part])


@kernel
def mass_up_to(leaf, targets, weights, points, ends, mass, following):
    """mass[(weight, distinct targets), point] of a leaf up to each of its points; following: the next target, or inf.

    Leaf i has the points ends[i]..ends[i + 1], in ascending order.
    """
    n_leaves = ends.shape[0] - 1
    at = ends[:n_leaves].copy()
    so_far = np.zeros((2, n_leaves), dtype=np.int64)
    last = np.full(n_leaves, -np.inf)
    for i in range(targets.shape[0]):
        k, target = leaf[i], targets[i]
        while at[k] < ends[k + 1] and points[at[k]] < target:
            mass[0, at[k]], mass[1, at[k]], following[at[k]] = so_far[0, k], so_far[1, k], target
            at[k] += 1
        so_far[0, k] += weights[i]
        so_far[1, k] += np.int64(target != last[k])
        last[k] = target
    for k in range(n_leaves):
        for rest in range(at[k], ends[k + 1]):
            mass[0, rest], mass[1, rest], following[rest] = so_far[0, k], so_far[1, k], np.inf


@kernel
def targets_between(leaf, targets, weights, ranges, ends, found_leaf, found, mass):
    """Distinct targets of every leaf inside its ranges, with their weights; returns how many there are.

    Leaf i has the ranges[k, (above, up to)], ends[i]..ends[i + 1], ascending and apart. Where the arrays of the answer
    are too short, the rest is only counted.
    """
    at = ends[:-1].copy()
    place = np.full(at.shape[0], -1)
    last = np.full(at.shape[0], -np.inf)
    n = 0
    for i in range(targets.shape[0]):
        k, target = leaf[i], targets[i]
        while at[k] < ends[k + 1] and ranges[at[k], 1] < target:
            at[k] += 1
        if at[k] == ends[k + 1] or target <= ranges[at[k], 0]:
            continue
        if target != last[k]:
            last[k], place[k] = target, n
            n += 1
            if n <= found.shape[0]:
                found_leaf[n - 1], found[n - 1], mass[n - 1] = k, target, 0
        if place[k] < found.shape[0]:
            mass[place[k]] += weights[i]
    return n


@kernel
def weigh_near(leaf, targets, weights, values, eps, found):
    """found[leaf, (weight within eps of its value, all weight)], added to what it holds."""
    for i in range(targets.shape[0]):
        k = leaf[i]
        found[k, 0] += weights[i] if np.abs(targets[i] - values[k]) <= eps else np.int64(0)
        found[k, 1] += weights[i]


@kernel
def targets_by_leaf(leaf, targets, weights, n_rows, targets_out, weights_out):
    """The targets and weights of the rows, leaf by leaf, each in their order; n_rows[leaf]: how many."""
    place = np.empty(n_rows.shape[0], dtype=np.uint64)
    n_rows[:] = 0
    for i in range(leaf.shape[0]):
        n_rows[leaf[i]] += 1
    at = np.uint64(0)
    for number in range(n_rows.shape[0]):
        place[number] = at
        at += np.uint64(n_rows[number])
    for i in range(leaf.shape[0]):
        at = place[leaf[i]]
        targets_out[at], weights_out[at] = targets[i], weights[i]
        place[leaf[i]] = at + np.uint64(1)
