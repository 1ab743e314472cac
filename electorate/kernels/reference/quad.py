"""QuadBoost's rounds on a pool: the twins of quad.hpp, in plain NumPy."""

import numpy as np


def quad_weight(kind, lam, most, pull, eta):
    pull, eta = np.asarray(pull, dtype=np.float64), np.asarray(eta, dtype=np.float64)
    some = np.where(eta > 0, eta, 1.0)
    best = [
        pull / some,
        np.sign(pull) * np.maximum(np.abs(pull) - lam, 0.0) / some,
        pull / (some + lam),
        np.clip(pull / some, -most, most),
    ][kind]
    return np.where(eta > 0, np.rint(best * 2.0**40) / 2.0**40, 0.0)[()]


def quad_drop(kind, lam, c, eta, old, new):
    change = new - old
    penalty = [0.0, 2 * lam * (np.abs(old) - np.abs(new)), -lam * change * (old + new), 0.0][kind]
    return change * (2 * c - eta * change) + penalty


def quad_best(kind, lam, most, mode, full, c, eta, weight):
    old = np.zeros_like(weight) if mode == 0 else weight
    drop = quad_drop(kind, lam, c, eta, old, quad_weight(kind, lam, most, c + old * eta, eta))
    left_out = (mode == 1) & (weight != 0) | bool(full and mode) & (weight == 0)
    drop = np.where(left_out, 0.0, drop)
    largest = float(np.abs(c).max(initial=0.0))
    if not np.any(drop > 0):
        return -1, 0.0, largest
    return int(np.argmax(drop)), float(drop.max()), largest


def lasso_gap(lam, risk, residual, size, largest):
    if risk <= 0:
        return 2 * lam * size
    scale = residual / risk if largest == 0 else np.clip(residual / risk, -lam / largest, lam / largest)
    return max(float(risk + 2 * lam * size - 2 * scale * residual + scale**2 * risk), 0.0)


def quad_gap(kind, lam, most, power, c, mu, weight):
    if kind == 0 or (kind == 2 and lam <= 0):
        return np.inf
    if kind == 2:
        return float(((lam * weight - c) ** 2 / lam).sum())
    if kind == 3:
        return float((2 * (most * np.abs(c) - c * weight)).sum())
    residual = power - weight @ mu
    risk = power - weight @ (mu + c)
    return lasso_gap(lam, risk, residual, np.abs(weight).sum(), np.abs(c).max(initial=0.0))


def quad_rounds(
    kind, lam, most, mode, tol, most_voters, power, c, mu, eta, weight, gram, slot, first, last, places, moves, info
):
    made = 0

    def move(number, at):
        """Move a voter where that lowers the objective; False if its Gram row is wanted and not there."""
        nonlocal made
        old = 0.0 if mode == 0 else weight[at]
        pull = c[at] + old * eta[at]
        new = quad_weight(kind, lam, most, pull, eta[at])
        drop = quad_drop(kind, lam, c[at], eta[at], old, new)
        if new == old or drop <= 0:
            return True
        if slot[at] < 0:
            return False
        c[:] -= (new - old) * gram[slot[at]]
        weight[at] += new - old
        places[made] = number, at
        moves[made] = weight[at], new, pull, drop, np.count_nonzero(weight)
        made += 1
        return True

    info[1:3] = 0, -1
    number = first
    while number <= last and made + np.count_nonzero(weight) + 2 <= len(places):
        start, before = int(info[4]) - 1, made - int(info[5])
        info[4:6] = 0
        if start < 0:
            full = np.count_nonzero(weight) >= most_voters
            j, _, largest = quad_best(kind, lam, most, mode, full, c, eta, weight)
            within = mode == 1 or (mode == 2 and number % 16 == 1)
            within = within and (kind == 1 or np.any(weight))
            within = within and quad_gap(kind, lam, most, power, c, mu, weight) <= tol
            if within or (mode == 0 and kind == 1 and largest <= lam + tol):
                info[1] = 2
            elif j >= 0 and slot[j] < 0:
                info[1:3] = 1, j
            elif mode == 0 and j >= 0 and weight[j] == 0 and full:
                info[1] = 4
            if info[1]:
                break
            if j >= 0:
                move(number, j)
        for k in range(max(start, 0), len(weight) if mode == 1 else 0):
            if weight[k] != 0 and not move(number, k):
                info[[1, 2, 4, 5]] = 1, k, k + 1, made > before
                break
        if info[1] == 0 and made == before:
            info[1] = 3
        if info[1]:
            break
        number += 1
    info[0], info[3] = made, np.count_nonzero(weight)
    return number


def quad_replay(kind, lam, mode, places, moves, c, eta, weight, gram, slot):
    for (_, at), row in zip(places, moves, strict=True):
        change = row[0] - weight[at]
        old = 0.0 if mode == 0 else weight[at]
        row[1:4] = old + change, c[at] + old * eta[at], quad_drop(kind, lam, c[at], eta[at], old, old + change)
        c -= change * gram[slot[at]]
        weight[at] = row[0]
        row[4] = np.count_nonzero(weight)
