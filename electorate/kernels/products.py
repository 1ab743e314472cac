"""Products of rows and columns: correlations of voters with the weights, Gram matrices of bits, kernel functions.

All sums are exact integers, or floats in a fixed order, so that blocks of rows do not change a bit.
"""

import numpy as np

from electorate.kernels.compile import kernel


@kernel
def correlate_signs(bits, units, sums):
    """sums[column] += the units of all rows whose bit is set.

    bits[group, column]: 8 rows to a byte, the first in the lowest bit. The sums of all 256 bytes are tabled for four
    groups at a time; a column then costs one lookup for 8 rows.
    """
    table = np.zeros((4, 256), dtype=np.int64)
    groups = bits.shape[0]
    for low in range(0, groups, 4):
        many = min(4, groups - low)
        for g in range(4):
            table[g] = 0
            for k in range(8):
                row = 8 * (low + g) + k
                unit = units[row] if g < many and row < units.shape[0] else np.int64(0)
                half = 1 << k
                for b in range(half):
                    table[g, half + b] = table[g, b] + unit
        first, second, third, fourth = table[0], table[1], table[2], table[3]
        if many == 4:
            a, b, c, d = bits[low], bits[low + 1], bits[low + 2], bits[low + 3]
            for j in range(sums.shape[0]):
                sums[j] += first[a[j]] + second[b[j]] + third[c[j]] + fourth[d[j]]
        else:
            for g in range(many):
                for j in range(sums.shape[0]):
                    sums[j] += table[g, bits[low + g, j]]


@kernel
def count_differences(words, column, counts):
    """counts[j] = the number of bits in which words[j] and words[column] differ."""
    mine = words[column]
    for j in range(words.shape[0]):
        other = words[j]
        total = np.int64(0)
        for k in range(mine.shape[0]):
            z = mine[k] ^ other[k]
            z = z - ((z >> np.uint64(1)) & np.uint64(0x5555555555555555))
            z = (z & np.uint64(0x3333333333333333)) + ((z >> np.uint64(2)) & np.uint64(0x3333333333333333))
            z = (z + (z >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            total += np.int64((z * np.uint64(0x0101010101010101)) >> np.uint64(56))
        counts[j] = total


@kernel
def correlate_reals(columns, units, times, sums):
    """sums[column] += times * rint(units * column) over rows: rounded row by row, so that their order has no effect."""
    for j in range(columns.shape[0]):
        x = columns[j]
        total = np.int64(0)
        for i in range(x.shape[0]):
            total += times[i] * np.int64(np.rint(units[i] * x[i]))
        sums[j] += total


@kernel
def inner_products(rows, others, out):
    """out[i, m] = the sum over k, in order, of rows[i, k] * others[k, m]: the same bits for any block of rows."""
    for i in range(rows.shape[0]):
        total = out[i]
        total[:] = 0.0
        for k in range(rows.shape[1]):
            x = rows[i, k]
            y = others[k]
            for m in range(total.shape[0]):
                total[m] += x * y[m]


@kernel
def squared_distances(rows, others, out):
    """out[i, m] = the sum over k, in order, of (rows[i, k] - others[k, m])^2."""
    for i in range(rows.shape[0]):
        total = out[i]
        total[:] = 0.0
        for k in range(rows.shape[1]):
            x = rows[i, k]
            y = others[k]
            for m in range(total.shape[0]):
                apart = x - y[m]
                total[m] += apart * apart
