"""A round over the rows of a shard: the twins of weights.hpp, in plain NumPy."""

import numpy as np

from electorate.kernels.formulas import EXPONENTIAL, LINE, PENALISED, SIGMOID, SOFTPLUS, SQUARE
from electorate.kernels.reference.histograms import histogram, quantise
from electorate.kernels.reference.special import exp_of, log_of


def _of(function, x):
    out = np.empty_like(x)
    function(x, out)
    return out


def _softplus(v):
    x = _of(exp_of, -np.abs(v))
    return np.maximum(v, 0.0) + (_of(log_of, 1.0 + x) - ((1.0 + x - 1.0) - x) / (1.0 + x))


def evaluate(formula, s, first, a, b, c, out):
    if formula == EXPONENTIAL:
        out[:] = _of(exp_of, a - s)
    elif formula == PENALISED:
        e = _of(exp_of, np.minimum(-s - a, 340.0))
        out[:] = e * (b * e + (1.0 - b)) * c
    elif formula == SQUARE:
        e = np.minimum(first[: len(out)], 1e150)
        out[:] = e * e * a
    elif formula == SIGMOID:
        v = b - s
        out[:] = _of(exp_of, np.minimum(np.minimum(v, 0.0) + a, 700.0)) / (1.0 + _of(exp_of, -np.abs(v)))
    elif formula == SOFTPLUS:
        out[:] = a * _softplus(b - s)
    elif formula == LINE:
        out[:] = a + b * s


def advance(packed, rows, column, leaf_of_bin, gains, formulas, state, grids, totals, sums, clear, first_row, last_row):
    if clear:
        sums[:] = 0
    wrong = 0
    for label, group in enumerate(rows.group):
        low, high = max(rows.starts[label], first_row), min(rows.starts[label + 1], last_row)
        if low >= high:
            continue
        if len(gains):
            state[:, low:high] += gains[:, label, leaf_of_bin[column[low:high]]]
        values = np.empty((len(formulas.table), high - low))
        for c, (kind, row, a, b, factor) in enumerate(formulas.table.tolist()):
            evaluate(kind, state[int(row), low:high], values[0], a, b, factor, values[c])
            part, total = grids[c, low:high], np.zeros(1, dtype=np.int64)
            real = rows.real[low:high] if len(rows.real) else 1.0
            quantise(values[c] * real, rows.times[low:high], rows.scale, [0, high - low], part, total)
            totals[c, group] += total[0]
        for c in range(len(sums)):
            histogram(packed, grids[c], low, high, sums[c, group])
        if formulas.votes_row:
            missed = np.argmax(state[formulas.votes_row :, low:high], axis=0) != group
        else:
            margin = state[formulas.margin_row, low:high]
            missed = margin < 0 if group == 0 else margin <= 0
        wrong += int(rows.counts[low:high][missed].sum()) if len(rows.counts) else int(np.count_nonzero(missed))
    return wrong
