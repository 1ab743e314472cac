"""The vote by weighted median: the twins of median.hpp, in plain NumPy."""

import numpy as np


def vote_quantiles(values, weights, needs, sign, out):
    for i in range(len(values) if values.shape[1] else 0):
        order = np.argsort(sign * values[i], kind="stable")
        so_far = np.cumsum(weights[i if len(weights) > 1 else 0][order])
        out[i] = values[i][order[min(np.searchsorted(so_far, max(needs[i], 1)), len(order) - 1)]]


def place_quantiles(places, weights, needs, n_places, from_top, out):
    vote_quantiles(places, weights, needs, -1.0 if from_top else 1.0, out)


def insert_votes(values, weights, count, new_values, new_weights):
    for i in range(len(values) if count < values.shape[1] else 0):
        at = np.searchsorted(values[i, :count], new_values[i], side="right")
        values[i, : count + 1] = np.insert(values[i, :count], at, new_values[i])
        weights[i, : count + 1] = np.insert(weights[i, :count], at, new_weights[i])


def sorted_quantiles(values, weights, count, needs, from_top, out):
    for i in range(len(values) if count else 0):
        order = np.arange(count)[::-1] if from_top else np.arange(count)
        so_far = np.cumsum(weights[i, order])
        out[i] = values[i, order[min(np.searchsorted(so_far, needs[i]), count - 1)]]
