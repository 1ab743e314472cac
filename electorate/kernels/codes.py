"""Values to bins: the code of every cell, the joint codes of bundled columns, and votes looked up by cell.

A block holds columns of raw values, block[column, row].
"""

import numpy as np

from electorate.kernels.compile import kernel


@kernel
def _count_edges_below(x, edges, depth, counts):
    """counts[row] = the number of edges below x[row], by binary search; edges: 2^depth, padded with +inf."""
    for i in range(x.shape[0]):
        counts[i] = 0
    step = np.int32(1) << np.int32(depth)
    while step > 1:
        step >>= 1
        for i in range(x.shape[0]):
            p = counts[i]
            counts[i] = p + (step if x[i] > edges[p + step - 1] else np.int32(0))


@kernel
def encode(block, edges, depths, missing, dest, out, scratch):
    """Write the bin of every cell: the number of edges below it, or `missing`.

    edges[column, 2^k] padded with +inf; depths[column] = bits to search; out[group, row of shard, column in group];
    dest[row] = row of shard, or -1 for a row that is left out.
    """
    per_group = out.shape[2]
    for j in range(block.shape[0]):
        x = block[j]
        _count_edges_below(x, edges[j], depths[j], scratch)
        column = out[j // per_group, :, j % per_group]
        for i in range(x.shape[0]):
            if dest[i] >= 0:
                column[dest[i]] = scratch[i] if x[i] == x[i] else missing


@kernel
def encode_array(array, edges, depths, missing, dest, out, block, scratch):
    """`encode` of array[row, column], through a block [column, row] that stays in the cache; False if one is infinite.

    Rows that are left out may be infinite.
    """
    some = False
    for low in range(0, array.shape[0], block.shape[1]):
        n_rows = min(block.shape[1], array.shape[0] - low)
        for i in range(n_rows):
            for j in range(array.shape[1]):
                block[j, i] = array[low + i, j]
                some |= np.abs(block[j, i]) == np.inf and dest[low + i] >= 0
        encode(block[:, :n_rows], edges, depths, missing, dest[low : low + n_rows], out, scratch[:n_rows])
    return not some


@kernel
def join(codes, columns, sizes, place, first, steps, count, dest, out):
    """Write the joint codes of columns that share a stored column, numbered as they occur; False if 256 are too few.

    From the joint code of the columns before it and its own digit (the last digit: a missing value, code 255) a column
    makes the next joint code, steps[first[j] + sizes[j] * code + digit], or -1. Size 0: it has a stored column alone.
    codes and out: [group, row, column in group]; dest[row] = row of out, or -1 for a row that is left out.
    """
    per_group = out.shape[2]
    for j in columns:
        mine = codes[j // per_group, :, j % per_group]
        joint = out[place[j] // per_group, :, place[j] % per_group]
        size = sizes[j]
        for i in range(dest.shape[0]):
            if dest[i] < 0:
                continue
            if size == 0:
                joint[dest[i]] = mine[i]
                continue
            digit = min(np.int64(mine[i]), size - 1)
            at = first[j] + size * np.int64(joint[dest[i]]) + digit
            if steps[at] < 0:
                if count[j] == 256:
                    return False
                steps[at] = count[j]
                count[j] += 1
            joint[dest[i]] = steps[at]
    return True


@kernel
def lookup(block, columns, edges, depths, first, tables, votes, scratch):
    """votes[output, row] += tables[output, first[j] + cell] for every column j that has a table.

    A cell is the number of edges below the value; the last cell of a column's table is for missing values.
    first has one entry more than columns.
    """
    for j in range(columns.shape[0]):
        x = block[columns[j]]
        _count_edges_below(x, edges[j], depths[j], scratch)
        absent = np.int32(first[j + 1] - first[j] - 1)
        for i in range(x.shape[0]):
            scratch[i] = scratch[i] if x[i] == x[i] else absent
        for k in range(votes.shape[0]):
            total = votes[k]
            table = tables[k, first[j] : first[j + 1]]
            for i in range(x.shape[0]):
                total[i] += table[scratch[i]]


@kernel
def climb(block, columns, first, edges, rises, absent, votes):
    """votes[output, row] += the rises at all edges below a value, or `absent` where it is missing.

    For (column, output) number n = j * outputs + output: edges and rises first[n]..first[n+1], and absent[n]. Every
    edge is compared with all rows of a block, four edges at a time: the fastest way for few edges.
    """
    outputs = votes.shape[0]
    rows = block.shape[1]
    zero = np.int64(0)
    for j in range(columns.shape[0]):
        x = block[columns[j]]
        for k in range(outputs):
            n = j * outputs + k
            total = votes[k]
            at = first[n]
            while at + 4 <= first[n + 1]:
                a, b, c, d = edges[at], edges[at + 1], edges[at + 2], edges[at + 3]
                e, f, g, h = rises[at], rises[at + 1], rises[at + 2], rises[at + 3]
                for i in range(rows):
                    v = x[i]
                    total[i] += (
                        (e if v > a else zero)
                        + (f if v > b else zero)
                        + (g if v > c else zero)
                        + (h if v > d else zero)
                    )
                at += 4
            while at < first[n + 1]:
                a, e = edges[at], rises[at]
                for i in range(rows):
                    total[i] += e if x[i] > a else zero
                at += 1
            gone = absent[n]
            if gone != 0:
                for i in range(rows):
                    total[i] += gone if x[i] != x[i] else zero
