"""QuadBoost's rounds on a pool of voters, from the Gram matrix; equation numbers are those of the QuadBoost paper.

Kind of penalty: 0 none, 1 L1, 2 L2, 3 Linf. Mode: 0 a voter enters every round, 1 one enters and all are swept, 2 the
voter with the largest decrease moves. c: correlations with the residual; eta: mean squares of the voters.
"""

import numpy as np

from electorate.kernels.compile import inlined, kernel


@kernel
def quad_weight(kind, lam, most, pull, eta):
    """The best weight of a voter, eq. 6 to 9, on the grid of votes. pull: mu - M, with M of the other voters."""
    if eta <= 0.0:
        return 0.0
    if kind == 1:
        size = max(abs(pull) - lam, 0.0) / eta
        weight = size if pull > 0.0 else -size
    elif kind == 2:
        weight = pull / (eta + lam)
    elif kind == 3:
        weight = min(max(pull / eta, -most), most)
    else:
        weight = pull / eta
    return np.rint(weight * 1099511627776.0) / 1099511627776.0


@kernel
def quad_drop(kind, lam, c, eta, old, new):
    """The decrease of the objective when a voter's weight goes from old to new."""
    change = new - old
    drop = change * (2.0 * c - eta * change)
    if kind == 1:
        drop += 2.0 * lam * (abs(old) - abs(new))
    elif kind == 2:
        drop -= lam * change * (old + new)
    return drop


@kernel
def quad_best(kind, lam, most, mode, full, c, eta, weight):
    """The voter whose move lowers the objective most (the first of equals), by how much, and the largest |c|.

    full: no voter may enter. In mode 0 every voter enters anew, in mode 1 only those of weight 0.
    """
    best, drop, largest = -1, 0.0, 0.0
    for j in range(c.shape[0]):
        largest = max(largest, abs(c[j]))
        old = weight[j]
        if (mode == 1 and old != 0.0) or (full and mode != 0 and old == 0.0):
            continue
        if mode == 0:
            old = 0.0
        here = quad_drop(kind, lam, c[j], eta[j], old, quad_weight(kind, lam, most, c[j] + old * eta[j], eta[j]))
        if here > drop:
            best, drop = j, here
    return best, drop, largest


@kernel
def lasso_gap(lam, risk, residual, size, largest):
    """The duality gap of the Lasso, with the residual scaled into the dual set.

    residual: the mean of y (y - f); size: the sum of the weights' sizes; largest: of all correlations' sizes.
    """
    if risk <= 0.0:
        return max(2.0 * lam * size, 0.0)
    scale = residual / risk
    if largest > 0.0:
        scale = min(max(scale, -lam / largest), lam / largest)
    return max(risk + 2.0 * lam * size - 2.0 * scale * residual + scale * scale * risk, 0.0)


@kernel
def quad_gap(kind, lam, most, power, c, mu, weight):
    """A bound on how far the objective of these weights is above its minimum; infinite without a penalty.

    L1: the duality gap of the Lasso. L2: by strong convexity. Linf: what a
    linear function with the same slope could still gain in the box. power: the mean of y^2.
    """
    if kind == 0 or (kind == 2 and lam <= 0.0):
        return np.inf
    total = 0.0
    if kind == 1:
        residual, risk, size, largest = power, power, 0.0, 0.0  # residual: the mean of y (y - f)
        for j in range(c.shape[0]):
            largest = max(largest, abs(c[j]))
            if weight[j] != 0.0:
                residual -= weight[j] * mu[j]
                risk -= weight[j] * (mu[j] + c[j])
                size += abs(weight[j])
        return lasso_gap(lam, risk, residual, size, largest)
    for j in range(c.shape[0]):
        if kind == 2:
            slope = lam * weight[j] - c[j]
            total += slope * slope / lam
        else:
            total += 2.0 * (most * abs(c[j]) - c[j] * weight[j])
    return total


@inlined
def _stop_before(kind, lam, most, mode, tol, full, held, power, number, j, largest, c, mu, weight, slot):
    """Why round `number` stops before voter j moves: a code of `quad_rounds`, or 0 to go on."""
    if mode == 0 and kind == 1 and largest <= lam + tol:
        return 2
    bounded = mode == 1 or (mode == 2 and number % 16 == 1)
    if bounded and (kind == 1 or held > 0) and quad_gap(kind, lam, most, power, c, mu, weight) <= tol:
        return 2
    if j >= 0 and slot[j] < 0:
        return 1
    return 4 if mode == 0 and j >= 0 and weight[j] == 0.0 and full else 0


@inlined
def _set_weight(at, new, row, change, c, weight, held):
    """Set the weight of a voter and update the correlations by its Gram row; returns how many weights are not 0."""
    for i in range(c.shape[0]):
        c[i] -= change * row[i]
    held -= 1 if weight[at] != 0.0 else 0
    weight[at] = new
    return held + (1 if new != 0.0 else 0)


@kernel
def quad_rounds(
    kind, lam, most, mode, tol, most_voters, power, c, mu, eta, weight, gram, slot, first, last, places, moves, info
):
    """Rounds first..last on a pool; places[move]: round, voter; moves[move]: weight, step, edge, drop, voters after it.

    gram[slot[j]] is the row of voter j. Returns the round to continue with. info: moves made; why it ended (0: the
    rounds are done or the buffers full, 1: a row of the Gram matrix is wanted, 2: within tol, 3: no move lowers the
    objective, 4: most_voters reached); the voter whose row is wanted; voters of weight; and, where a sweep stopped for
    want of a row, to be passed in again: the next voter plus 1, whether any had moved in this round.
    """
    made = 0
    held = np.count_nonzero(weight)
    info[1], info[2] = 0, -1
    number = first
    while number <= last and made + held + 2 <= places.shape[0]:
        start, moved = info[4] - 1, info[5]
        info[4], info[5] = 0, 0
        j = -1
        if start < 0:
            moved = 0
            full = held >= most_voters
            j, drop, largest = quad_best(kind, lam, most, mode, full, c, eta, weight)
            info[1] = _stop_before(
                kind, lam, most, mode, tol, full, held, power, number, j, largest, c, mu, weight, slot
            )
            info[2] = j if info[1] == 1 else -1
            if info[1] != 0:
                break
        for k in range(start, weight.shape[0] if mode == 1 else 0):  # the chosen voter, then all that have a weight
            at = j if k < 0 else k
            if at < 0 or (k >= 0 and weight[at] == 0.0):
                continue
            old = 0.0 if mode == 0 else weight[at]
            pull = c[at] + old * eta[at]
            new = quad_weight(kind, lam, most, pull, eta[at])
            drop = quad_drop(kind, lam, c[at], eta[at], old, new)
            if new == old or drop <= 0.0:
                continue
            if slot[at] < 0:
                info[1], info[2], info[4], info[5] = 1, at, k + 1, moved
                break
            held = _set_weight(at, weight[at] + (new - old), gram[slot[at]], new - old, c, weight, held)
            places[made, 0], places[made, 1] = number, at
            moves[made, 0], moves[made, 1], moves[made, 2] = weight[at], new, pull
            moves[made, 3], moves[made, 4] = drop, held
            made += 1
            moved = 1
        if info[1] == 1:
            break
        if moved == 0:
            info[1] = 3
            break
        number += 1
    info[0], info[3] = made, held
    return number


@kernel
def quad_replay(kind, lam, mode, places, moves, c, eta, weight, gram, slot):
    """Repeat moves: their weights are moves[:, 0], the other columns are filled."""
    held = np.count_nonzero(weight)
    for n in range(places.shape[0]):
        at = places[n, 1]
        change = moves[n, 0] - weight[at]
        old = 0.0 if mode == 0 else weight[at]
        moves[n, 1], moves[n, 2] = old + change, c[at] + old * eta[at]
        moves[n, 3] = quad_drop(kind, lam, c[at], eta[at], old, old + change)
        held = _set_weight(at, moves[n, 0], gram[slot[at]], change, c, weight, held)
        moves[n, 4] = held
