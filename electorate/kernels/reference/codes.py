"""Values to bins, and votes looked up by cell: the twins of codes.hpp, in plain NumPy."""

import numpy as np


def encode(block, edges, depths, missing, dest, out, scratch):
    per_group = out.shape[2]
    used = dest >= 0
    for j, x in enumerate(block):
        codes = np.where(np.isnan(x), missing, np.searchsorted(edges[j, : 2 ** depths[j] - 1], x))
        out[j // per_group, dest[used], j % per_group] = codes[used]


def encode_array(array, edges, depths, missing, dest, out, block, scratch):
    block = array.T.astype(np.float64)
    encode(block, edges, depths, missing, dest, out, scratch)
    return not np.isinf(block[:, dest >= 0]).any()


def join(codes, columns, sizes, place, first, steps, count, dest, out):
    per_group = out.shape[2]
    used = np.flatnonzero(dest >= 0)
    for j in columns:
        code = codes[j // per_group, used, j % per_group].astype(np.int64)
        joint = out[place[j] // per_group, :, place[j] % per_group]
        if sizes[j]:
            at = first[j] + sizes[j] * joint[dest[used]].astype(np.int64) + np.minimum(code, sizes[j] - 1)
            for step in dict.fromkeys(at[steps[at] < 0].tolist()):
                if count[j] == 256:
                    return False
                steps[step] = count[j]
                count[j] += 1
            code = steps[at]
        joint[dest[used]] = code
    return True


def lookup(block, columns, edges, depths, first, tables, votes, scratch):
    for j, column in enumerate(columns):
        x = block[column]
        cells = first[j] + np.searchsorted(edges[j, : 2 ** depths[j] - 1], x)
        votes += tables[:, np.where(np.isnan(x), first[j + 1] - 1, cells)]


def climb(block, columns, first, edges, rises, absent, votes):
    outputs = len(votes)
    for n in range(len(columns) * outputs):
        x = block[columns[n // outputs]]
        mine = slice(first[n], first[n + 1])
        votes[n % outputs] += (x[:, None] > edges[mine]) @ rises[mine] + np.where(np.isnan(x), absent[n], 0)
