"""Prediction by trees: the twins of votes.hpp, in plain NumPy."""

from itertools import pairwise

import numpy as np


def walk(cells, offsets, place, cut, members, missing_left, children, sets, units, votes):
    def below(node, rows):
        if place[node] < 0:
            votes[:, rows] += units[node][:, None]
            return
        cell = cells[place[node], rows]
        left = sets[members[node]][cell] if members[node] >= 0 else cell <= cut[node]
        left = np.where(cell < 0, missing_left[node], left)
        below(root + children[node, 0], rows[left])
        below(root + children[node, 1], rows[~left])

    for root in offsets[:-1]:
        below(root, np.arange(cells.shape[1]))


def walk_ordered(cells, offsets, depths, place, low, cut, kids, units, votes, scratch):
    def below(node, rows):
        if kids[node, 0] == node:
            votes[:, rows] += units[node][:, None]
            return
        cell = cells[place[node], rows]
        left = (low[node] <= cell) & (cell <= cut[node])
        below(kids[node, 1], rows[left])
        below(kids[node, 0], rows[~left])

    for root in offsets[:-1]:
        below(root, np.arange(cells.shape[1]))


def cross_out(cells, first, last, tests, planes, leaf):
    left_over = np.ones((cells.shape[1], 8 * tests.keep.shape[1]), dtype=np.bool_)
    for q in range(first, last):
        cell = cells[tests.place[q]]
        if tests.table[q] >= 0:
            left = tests.tables[tests.table[q]][cell] == 1
        else:
            left = (cell.astype(np.int64) + tests.shift[q]) % 256 <= tests.cut[q]
        right_keeps, left_keeps = np.unpackbits(tests.keep[q], axis=0, bitorder="little").astype(np.bool_).T
        left_over &= np.where(left[:, None], left_keeps, right_keeps)
    leaf[:] = np.argmax(left_over, axis=1)


def vote(cells, offsets, leaves, tests, units, votes, planes, leaf):
    for t, (first, last) in enumerate(pairwise(offsets)):
        cross_out(cells, first, last, tests, planes, leaf)
        votes += units[:, leaves[t] + leaf]


def tree_outputs(cells, offsets, leaves, tests, values, out, planes, leaf):
    for t, (first, last) in enumerate(pairwise(offsets)):
        cross_out(cells, first, last, tests, planes, leaf)
        out[:, :, t] = values[:, leaves[t] + leaf]
