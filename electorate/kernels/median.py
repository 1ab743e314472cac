"""The vote by weighted median: weighted quantiles of the voters' values, row by row.

values[row, voter]; weights[row, voter], or one row for all; needs[row]: the weight up to the quantile.
"""

import numpy as np

from electorate.kernels.compile import kernel


@kernel
def vote_quantiles(values, weights, needs, sign, out):
    """out[row] = the smallest value (the largest for sign -1) up to which the weights come to needs[row].

    A need below 1 is 1; where the weights do not come to it, the last value. Partitions around a pivot, so that the
    time is linear in the voters.
    """
    voters = values.shape[1]
    if voters == 0:
        return
    value = np.empty(voters, dtype=np.float64)
    weight = np.empty(voters, dtype=np.int64)
    for i in range(values.shape[0]):
        mine = weights[i if weights.shape[0] > 1 else 0]
        for t in range(voters):
            value[t] = sign * values[i, t]
            weight[t] = mine[t]
        need = max(needs[i], np.int64(1))
        first, last = 0, voters - 1
        while True:
            a, b, c = value[first], value[(first + last) >> 1], value[last]
            pivot = max(min(a, b), min(max(a, b), c))
            below, equal = np.int64(0), np.int64(0)
            less, at, more = first, first, last
            while at <= more:
                v, w = value[at], weight[at]
                if v < pivot:
                    below += w
                    value[at], weight[at] = value[less], weight[less]
                    value[less], weight[less] = v, w
                    less += 1
                    at += 1
                elif v > pivot:
                    value[at], weight[at] = value[more], weight[more]
                    value[more], weight[more] = v, w
                    more -= 1
                else:
                    equal += w
                    at += 1
            if need <= below:
                last = less - 1
            elif need <= below + equal or more == last:
                out[i] = sign * pivot
                break
            else:
                need -= below + equal
                first = more + 1


@kernel
def place_quantiles(places, weights, needs, n_places, from_top, out):
    """As `vote_quantiles`, of values known by their places among n_places in order; out[row]: a place.

    Two passes over the voters: into buckets of places, then inside one bucket. from_top: for sign -1.
    """
    voters = places.shape[1]
    shift = 0
    while (1 << (2 * shift)) < n_places:
        shift += 1
    fine = 1 << shift
    coarse = ((n_places - 1) >> shift) + 1
    buckets = np.empty(coarse, dtype=np.int64)
    inside = np.empty(fine, dtype=np.int64)
    for i in range(places.shape[0]):
        mine = weights[i if weights.shape[0] > 1 else 0]
        values = places[i]
        buckets[:] = 0
        inside[:] = 0
        need = max(needs[i], np.int64(1))
        for t in range(voters):
            place = np.int64(values[t])
            buckets[(n_places - 1 - place if from_top else place) >> shift] += mine[t]
        bucket = 0
        while bucket < coarse - 1 and need > buckets[bucket]:
            need -= buckets[bucket]
            bucket += 1
        for t in range(voters):
            place = np.int64(values[t])
            place = n_places - 1 - place if from_top else place
            if place >> shift == bucket:
                inside[place - (bucket << shift)] += mine[t]
        at = 0
        while at < fine - 1 and need > inside[at]:
            need -= inside[at]
            at += 1
        found = min((bucket << shift) + at, n_places - 1)
        out[i] = n_places - 1 - found if from_top else found


@kernel
def insert_votes(values, weights, count, new_values, new_weights):
    """Insert one more voter's value and weight among the `count` of every row, which stay sorted by value."""
    if count >= values.shape[1]:
        return
    for i in range(values.shape[0]):
        v = new_values[i]
        row, mass = values[i], weights[i]
        at = count
        while at > 0 and row[at - 1] > v:
            row[at], mass[at] = row[at - 1], mass[at - 1]
            at -= 1
        row[at], mass[at] = v, new_weights[i]


@kernel
def sorted_quantiles(values, weights, count, needs, from_top, out):
    """As `vote_quantiles`, of the first `count` values of every row, which are sorted."""
    if count == 0:
        return
    for i in range(values.shape[0]):
        need = needs[i]
        at = count - 1 if from_top else 0
        step = -1 if from_top else 1
        for _ in range(count - 1):
            need -= weights[i, at]
            if need <= 0:
                break
            at += step
        out[i] = values[i, at]
