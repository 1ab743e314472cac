"""Sums of the leaves that rows reach in trees on plain numbers, as those of scikit-learn's forests.

Leaves are floats, added in the order of the trees, so that sums have the bits of scikit-learn's.
"""

from electorate.kernels.compile import kernel


@kernel
def add_leaves(rows, roots, outputs, nodes, sets, leaf, values, totals):
    """totals[row, outputs[tree] + k] += values[the leaf that the row reaches in the tree, k].

    rows[row, column]: NaN where missing. A root or child from 0 on is a node; -1 - j is leaf j, whose values are row
    leaf[j] of `values`. route: 1 if a missing value goes left, plus 2 times the set of categories of the node, or minus
    2 for a threshold. sets: 32 categories per number; a one goes left.
    """
    width = values.shape[1]
    for t in range(roots.shape[0]):
        first = outputs[t]
        for i in range(rows.shape[0]):
            node = roots[t]
            while node >= 0:
                route = nodes[node].route
                x = rows[i, nodes[node].column]
                if x != x:
                    left = (route & 1) != 0
                elif route < 0:
                    left = x <= nodes[node].threshold
                else:
                    code = int(x)
                    left = ((sets[route >> 1, code >> 5] >> (code & 31)) & 1) != 0
                node = nodes[node].left if left else nodes[node].right
            for k in range(width):
                totals[i, first + k] += values[leaf[-1 - node], k]
