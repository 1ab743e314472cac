"""A round over the rows of a shard: change the state, compute what the booster sums, round it to the grid, and sum.

Blocks of rows are small enough to stay in the cache from the first step to the last. Rows are sorted by label; label k
has the rows starts[k]..starts[k + 1] and counts as group[k].
"""

import numpy as np

from electorate.kernels.compile import inlined, kernel
from electorate.kernels.formulas import EXPONENTIAL, LINE, PENALISED, SIGMOID, SOFTPLUS, SQUARE
from electorate.kernels.histograms import histogram
from electorate.kernels.special import exp, log

ROWS_AT_ONCE = 8192


@inlined
def _softplus(v):
    """log(1 + exp(v)). log1p by Kahan's correction of log(1 + x)."""
    x = exp(-abs(v))
    u = 1.0 + x
    return max(v, 0.0) + (log(u) - ((u - 1.0) - x) / u)


@kernel
def evaluate(formula, s, first, a, b, c, out):
    """out[i] = the formula (see formulas.py) of s[i]. first: the values of the first channel, for its square."""
    if formula == EXPONENTIAL:
        for i in range(out.shape[0]):
            out[i] = exp(a - s[i])
    elif formula == PENALISED:
        for i in range(out.shape[0]):
            e = exp(min(-s[i] - a, 340.0))
            out[i] = e * (b * e + (1.0 - b)) * c
    elif formula == SQUARE:
        for i in range(out.shape[0]):
            e = min(first[i], 1e150)
            out[i] = e * e * a
    elif formula == SIGMOID:
        for i in range(out.shape[0]):
            v = b - s[i]
            out[i] = exp(min(min(v, 0.0) + a, 700.0)) / (1.0 + exp(-abs(v)))
    elif formula == SOFTPLUS:
        for i in range(out.shape[0]):
            out[i] = a * _softplus(b - s[i])
    elif formula == LINE:
        for i in range(out.shape[0]):
            out[i] = a + b * s[i]


@kernel
def _add_change(column, leaf_of_bin, gains, table, state, low, high):
    """state[s, low:high] += gains[s, leaf of the row's bin]. table[bin]: a buffer."""
    for s in range(gains.shape[0]):
        for b in range(leaf_of_bin.shape[0]):
            table[b] = gains[s, leaf_of_bin[b]]
        numbers = state[s]
        for i in range(low, high):
            numbers[i] += table[column[i]]


@kernel
def _count_wrong(state, margin_row, votes_row, label, counts, low, high):
    """How much counts that the ensemble gets wrong; a tie is the first label. votes_row: of the first label's votes.

    Where that is 0, the sign of the margin decides.
    """
    missed = np.zeros(high - low, dtype=np.bool_)
    if votes_row == 0:
        margin = state[margin_row, low:high]
        for i in range(high - low):
            missed[i] = margin[i] < 0.0 or (label > 0 and margin[i] == 0.0)
    else:  # label by label, so that every pass is over rows that lie side by side
        own = state[votes_row + label, low:high]
        for k in range(votes_row, state.shape[0]):
            other = state[k, low:high]
            if k < votes_row + label:
                for i in range(high - low):
                    missed[i] |= other[i] >= own[i]
            else:
                for i in range(high - low):
                    missed[i] |= other[i] > own[i]
    wrong = np.int64(0)
    for i in range(high - low):
        if missed[i]:
            wrong += counts[low + i] if counts.shape[0] > 0 else np.int64(1)
    return wrong


@kernel
def _quantise(values, rows, grid, low, high):
    """grid[low:high] = values, times the real weights, rounded to whole units, times how often a row counts."""
    if rows.real.shape[0] > 0:
        real = rows.real[low:high]
        for i in range(high - low):
            values[i] *= real[i]
    total = np.int64(0)
    numbers = grid[low:high]
    if rows.times.shape[0] == 0:
        for i in range(high - low):
            q = np.int64(np.rint(values[i] * rows.scale))
            numbers[i] = q
            total += q
    else:
        times = rows.times[low:high]
        for i in range(high - low):
            q = np.int64(np.rint(values[i] * rows.scale)) * times[i]
            numbers[i] = q
            total += q
    return total


@kernel
def advance(packed, rows, column, leaf_of_bin, gains, formulas, state, grids, totals, sums, clear, first_row, last_row):
    """One round over the rows first_row..last_row; returns how much counts that the ensemble gets wrong.

    rows: starts, group, real, times, counts and scale. column, leaf_of_bin, gains[state, label, leaf]: the stump that
    is added, unless gains are empty. formulas: of every channel, and the rows of the margin and of the votes.
    grids[channel] and totals[channel, label] get the numbers on the grid and their sums; sums[channel, label, column,
    bin] their histograms, of as many channels as it has, added to what it holds unless `clear`.
    """
    n_channels = formulas.table.shape[0]
    values = np.empty((n_channels, min(ROWS_AT_ONCE, last_row - first_row)), dtype=np.float64)
    table = np.empty(leaf_of_bin.shape[0], dtype=np.float64)
    wrong = np.int64(0)
    if clear:
        sums[:] = 0
    for label in range(rows.starts.shape[0] - 1):
        group = rows.group[label]
        for low in range(max(rows.starts[label], first_row), min(rows.starts[label + 1], last_row), ROWS_AT_ONCE):
            high = min(low + ROWS_AT_ONCE, rows.starts[label + 1], last_row)
            if gains.shape[0] > 0:
                _add_change(column, leaf_of_bin, gains[:, label], table, state, low, high)
            for c in range(n_channels):
                formula = formulas.table[c]
                s = state[np.int64(formula[1]), low:high]
                mine = values[c, : high - low]
                evaluate(np.int64(formula[0]), s, values[0], formula[2], formula[3], formula[4], mine)
            for c in range(n_channels):
                totals[c, group] += _quantise(values[c], rows, grids[c], low, high)
            for c in range(sums.shape[0]):
                histogram(packed, grids[c], low, high, sums[c, group])
            wrong += _count_wrong(state, formulas.margin_row, formulas.votes_row, group, rows.counts, low, high)
    return wrong
