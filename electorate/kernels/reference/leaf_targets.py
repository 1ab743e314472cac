"""Numeric targets by nodes and leaves: the twins of leaf_targets.hpp, in plain NumPy."""

from itertools import pairwise

import numpy as np

from electorate.kernels.reference.histograms import histogram_of
from electorate.kernels.reference.special import exp_of


def weigh_targets(of, rows, out):
    product = np.empty(len(rows))
    exp_of(of.floor - of.log[rows], product)
    for factor in (of.kappa, of.real):
        if len(factor):
            product *= factor[rows]
    share = np.zeros(len(rows))
    if of.high > of.low:
        share = np.clip((of.target[rows] - of.low) / (of.high - of.low), 0.0, 1.0)
    units = np.rint(product * share * of.scale).astype(np.int64)
    out[: len(rows)] = units * of.times[rows] if len(of.times) else units


def sum_targets(codes, grid, of, order, nodes, numbers, sums, clear):
    if clear:
        sums[:] = 0
    second = np.empty_like(grid)
    weigh_targets(of, np.arange(len(grid)), second)
    for number, (of_weight, of_target) in zip(numbers, sums, strict=True):
        low = nodes.low[number]
        histogram_of(codes, grid, order, low, low + nodes.starts[number, -1], of_weight)
        histogram_of(codes, second, order, low, low + nodes.starts[number, -1], of_target)


def _distinct(leaf, targets, weights, number):
    """Return the targets of one leaf in order and their weights."""
    values, place = np.unique(targets[leaf == number], return_inverse=True)
    mass = np.zeros(len(values), dtype=np.int64)
    np.add.at(mass, place, weights[leaf == number])
    return values, mass


def mass_up_to(leaf, targets, weights, points, ends, mass, following):
    for number, (low, high) in enumerate(pairwise(ends)):
        values, each = _distinct(leaf, targets, weights, number)
        at = np.searchsorted(values, points[low:high], side="right")
        mass[0, low:high], mass[1, low:high] = np.concatenate([[0], np.cumsum(each)])[at], at
        following[low:high] = np.append(values, np.inf)[at]


def targets_between(leaf, targets, weights, ranges, ends, found_leaf, found, mass):
    answer = []
    for number, (low, high) in enumerate(pairwise(ends)):
        for value, weight in zip(*_distinct(leaf, targets, weights, number), strict=True):
            if np.any((ranges[low:high, 0] < value) & (value <= ranges[low:high, 1])):
                answer.append((value, number, weight))
    first = {key: i for i, key in reversed(list(enumerate(zip(targets.tolist(), leaf.tolist(), strict=True))))}
    answer.sort(key=lambda one: first[float(one[0]), one[1]])
    for i, (value, number, weight) in enumerate(answer[: len(found)]):
        found_leaf[i], found[i], mass[i] = number, value, weight
    return len(answer)


def weigh_near(leaf, targets, weights, values, eps, found):
    near = np.abs(targets - values[leaf]) <= eps
    np.add.at(found, leaf, np.stack([np.where(near, weights, 0), weights], axis=1))


def targets_by_leaf(leaf, targets, weights, n_rows, targets_out, weights_out):
    order = np.argsort(leaf, kind="stable")
    n_rows[:] = np.bincount(leaf, minlength=len(n_rows))
    targets_out[:], weights_out[:] = targets[order], weights[order]
