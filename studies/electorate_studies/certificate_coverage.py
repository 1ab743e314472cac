"""How often bounds are below a known risk, and how often they are without the part that pays for the choice.

Each function draws samples from a world and returns, for every draw, how far the bound is above the risk, and how far
the bound without its price is. Samples are counts of inputs and labels, and models are computed for all draws at once.
"""

import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import binom

from electorate import CertifiedClassifier
from electorate.theory import binomial, bounds, complexity, pac_bayes
from electorate.theory.binomial import binomial_bound
from electorate.theory.bounds import Counted, total
from electorate_studies.request import Floats, Ints
from electorate_studies.worlds import (
    BITS,
    DELTA,
    INPUTS,
    PARTS,
    SETTINGS,
    Gaps,
    World,
    adverse,
    routed_gaps,
    winner,
    worlds,
    wrong,
)

Simulated = Callable[[World, int, np.random.Generator], Gaps]
ROWS = 60  # of a sample
VOTE_ROWS = 400  # for the bounds of votes, which are 1 for fewer
MEDIAN_ROWS = 20_000  # for those of medians, likewise
CLIP = 0.01
FARTHER = 64.0  # times that a row outweighs one that differs in one more column
COSTS = np.array([[0.0, 0.2], [1.0, 0.0]])  # [label, prediction]

_exact = lru_cache(maxsize=None)(lambda errors, rows: binomial_bound(errors, rows, 1 - DELTA))


# ---------------------------------------------------------------- models, for all draws at once


def probabilities(world: World, counts: Ints) -> Floats:
    """[draw, input]: of label 1, by the nearest rows; 1/2 where these are as many of either label.

    A row counts 64^-(number of columns in which it differs), so that a nearer one outweighs all that are farther.
    """
    nearness = FARTHER ** -np.abs(world.inputs[:, None] - world.inputs).sum(axis=2)
    near = np.einsum("dxl,xz->dzl", counts, nearness, optimize=True)
    tiny = FARTHER**-BITS
    return np.asarray((near[:, :, 1] + tiny) / (near.sum(axis=2) + 2 * tiny))


def nearest(world: World, counts: Ints) -> Ints:
    """[draw, input]: the label of the nearest rows; 0 for a tie."""
    return (probabilities(world, counts) > 0.5).astype(np.int64)


def _counted(losses: Floats, counts: Ints) -> Floats:
    """The sum of losses [draw, input, label] over the rows of each draw."""
    return np.asarray((losses * counts).sum(axis=(1, 2)))


# ---------------------------------------------------------------- bounds on the risk


def held_out(world: World, draws: int, rng: np.random.Generator) -> Gaps:
    """Without: the model was trained on the rows that are counted, too."""
    fit, test = (world.counts(draws, ROWS // 2, rng) for _ in range(2))
    gaps = []
    for seen in (fit, fit + test):
        predicted = nearest(world, seen)
        errors = _counted(wrong(predicted), test)
        bound = np.array([_exact(int(count), ROWS // 2) for count in errors])
        gaps.append(bound - world.risk(predicted))
    return gaps[0], gaps[1]


def _described(model: CertifiedClassifier) -> Simulated:
    """Without: a model that was fixed before would have no bits to pay."""

    def simulated(world: World, draws: int, rng: np.random.Generator) -> Gaps:
        paid, unpaid = np.empty(draws), np.empty(draws)
        for place in range(draws):
            model.fit(*world.draw(ROWS, rng))
            about, risk = model.description_, float(world.risk(model.predict(world.inputs)))
            paid[place] = model.bound_ - risk
            unpaid[place] = _exact(about.errors, about.rows) - risk
        return paid, unpaid

    return simulated


def _card(voters: int, max_depth: int = 1) -> CertifiedClassifier:
    """All voters are chosen by the rows that count."""
    return CertifiedClassifier(
        n_estimators=voters, max_terms=1, max_depth=max_depth, prior_rounds=0, prior_fractions=(0.2,)
    )


def cross_fitted(world: World, draws: int, rng: np.random.Generator) -> Gaps:
    """Without: every part is answered by a model that was trained on it, too."""
    counts, part = world.counts(draws, ROWS, rng), world.part()
    whole, routed = nearest(world, counts), np.zeros((draws, INPUTS), dtype=np.int64)
    for number in range(PARTS):
        here = part == number
        routed[:, here] = nearest(world, counts * ~here[:, None])[:, here]
    rows = np.stack([counts[:, part == number].sum(axis=(1, 2)) for number in range(PARTS)], axis=1)
    gaps = []
    for predicted in (routed, whole):
        lost = (wrong(predicted) * counts).sum(axis=2)
        errors = np.stack([lost[:, part == number].sum(axis=1) for number in range(PARTS)], axis=1).astype(np.int64)
        gaps.append(routed_gaps(world, predicted, errors, rows, DELTA))
    return gaps[0], gaps[1]


# ---------------------------------------------------------------- bounds on votes over fixed columns


def _rows_of(values: Floats, counts: Ints) -> Floats:
    """One number per row, from values [input, label]."""
    return np.repeat(values.ravel(), counts.ravel())


def votes(world: World, counts: Ints, rate: float) -> tuple[Floats, Floats]:
    """Weights [draw, column] of columns as +-1, and margins [draw, input, label].

    rate: of the Gibbs vote, whose weights are exp(rate |edge|); 0: the weights are the edges.
    Ties count as errors, as the bounds count them.
    """
    outputs, labels = 2 * world.inputs - 1, np.array([-1.0, 1.0])
    edges = np.einsum("dxl,xj,l->dj", counts, outputs, labels) / counts.sum(axis=(1, 2))[:, None]
    weights = edges
    if rate:
        size = np.abs(edges)
        weights = np.where(edges < 0, -1.0, 1.0) * np.exp(rate * (size - size.max(axis=1, keepdims=True)))
    f = weights @ outputs.T / np.maximum(np.abs(weights).sum(axis=1), 1e-300)[:, None]
    return weights, f[:, :, None] * labels


def _of_votes(kind: str, rows: int, rate: float) -> Simulated:
    """Without: the observed part of the bound alone, which has no term for the choice of weights."""
    bound, without = VOTES[kind]

    def simulated(world: World, draws: int, rng: np.random.Generator) -> Gaps:
        counts = world.counts(draws, rows, rng)
        weights, margins = votes(world, counts, rate)
        risks, gaps = world.mean((margins <= 0).astype(np.float64)), []
        for w, values, count, risk in zip(weights, margins, counts, risks, strict=True):
            m = _rows_of(values, count)
            terms = bound(w, m)
            unpaid = terms[without] if isinstance(without, str) else float(np.mean(m <= without))
            if kind == "vote, hinge loss":  # without its price, any norm is free
                norms = (1.0, bounds.NORMS[-1])
                unpaid = min(float(np.mean(bounds.HINGE.clipped(norm * m))) for norm in norms)
            gaps.append((total(terms) - risk, unpaid - risk))
        return tuple(np.array(gaps).T)

    return simulated


def _weighed(weights: Floats, margins: Floats) -> pac_bayes.WeighedVote:
    return pac_bayes.WeighedVote.of(margins, weights, BITS)


def _columns(margins: Floats) -> Counted:
    return Counted(complexity.massart(len(margins), complexity.log_columns(BITS)))


def _variance(weights: Floats, margins: Floats) -> Any:
    count = bounds.log_votes(2 * len(margins), BITS, BITS, complexity.log_columns(BITS)) + bounds.log_sizes(BITS, BITS)
    return bounds.bernstein_bound((margins <= 0).astype(np.float64), count, DELTA)


# The bound, and what it is without its price: one of its terms, or the margin error at a theta (drawing many voters, or
# votes as near as one likes, costs nothing then).
VOTES: dict[str, tuple[Callable[[Floats, Floats], Any], str | float]] = {
    "PAC-Bayes": (lambda w, m: pac_bayes.gibbs_bound(_weighed(w, m), DELTA), "twice the loss"),
    "PAC-Bayes, margins": (lambda w, m: pac_bayes.margin_bound(_weighed(w, m), DELTA), 2.0**-7),
    "tandem": (lambda w, m: pac_bayes.tandem_bound(_weighed(w, m), DELTA), "tandem loss"),
    "Chebyshev-Cantelli": (lambda w, m: pac_bayes.cantelli_bound(_weighed(w, m), DELTA), "variance"),
    "Dirichlet margins": (lambda w, m: pac_bayes.dirichlet_bound(_weighed(w, m), DELTA), 2.0**-8),
    "vote, hinge loss": (lambda w, m: bounds.vote_bound(m, BITS, _columns(m), DELTA), 0.0),
    "margins": (lambda w, m: bounds.deep_bound(m, np.ones(1), [_columns(m)], DELTA), 2.0**-19),
    "variance": (_variance, 0.0),
}


def median_tubes(world: World, draws: int, rng: np.random.Generator) -> Gaps:
    """The weighted median of columns and their complements as predictions of the label: an error is more than 1/4.

    A column of negative weight stands for its complement. The rows in which less than half of the votes is on the side
    of the label, or half of them, are those of `votes`. Without: the observed part alone.
    """
    counts = world.counts(draws, MEDIAN_ROWS, rng)
    _, margins = votes(world, counts, 0.0)
    risks, paid, unpaid = world.mean((margins <= 0).astype(np.float64)), np.empty(draws), np.empty(draws)
    counted = Counted(complexity.massart(MEDIAN_ROWS, math.log((MEDIAN_ROWS + 1) * 2 * BITS)))
    for place in range(draws):
        shares, observed = counts[place] / MEDIAN_ROWS, margins[place]

        def robust_error(rho: float, shares: Floats = shares, observed: Floats = observed) -> float:
            return float(shares[observed <= rho].sum())

        paid[place] = total(bounds.median_bound(robust_error, MEDIAN_ROWS, counted, DELTA)) - risks[place]
        unpaid[place] = robust_error(2.0**-19) - risks[place]
    return paid, unpaid


# ---------------------------------------------------------------- bounds on other losses


def _of_losses(kind: str) -> Simulated:
    """Without: the model was trained on the rows that are counted, too."""

    def simulated(world: World, draws: int, rng: np.random.Generator) -> Gaps:
        fit, test = (world.counts(draws, ROWS, rng) for _ in range(2))
        each = [zip(probabilities(world, n), test, strict=True) for n in (fit, fit + test)]
        paid, unpaid = (np.array([LOSSES[kind](world, p, counted) for p, counted in pairs]) for pairs in each)
        return paid, unpaid

    return simulated


def _of_classes(world: World, p: Floats, test: Ints) -> Floats:
    """The gap of every class; their limits hold together."""
    lost = wrong(p > 0.5)
    errors, rows = (lost * test).sum(axis=0).astype(int).tolist(), test.sum(axis=0).tolist()
    return binomial.class_limits(errors, rows, DELTA) - (lost * world.joint).sum(axis=0) / world.joint.sum(axis=0)


def _mean_gap(world: World, losses: Floats, test: Ints, largest: float = 1.0) -> float:
    """losses: [input, label]"""
    return total(binomial.mean_bound(_rows_of(losses, test), DELTA, largest)) - float(world.mean(losses))


def _log(world: World, p: Floats, test: Ints) -> float:
    losses = binomial.clipped_log_losses(np.stack([1 - p, p], axis=1), CLIP)
    return _mean_gap(world, losses, test, -math.log(CLIP))


def _interval(world: World, p: Floats, test: Ints) -> float:
    """From 0 to 1, or one of them where one label has three quarters of the nearest rows: how often it misses."""
    outside = np.stack([p > 0.75, p < 0.25], axis=1).astype(np.float64)
    missed = int((outside * test).sum())
    return binomial_bound(missed, int(test.sum()), 1 - DELTA) - float(world.mean(outside))


def _auc(world: World, p: Floats, test: Ints) -> float:
    """A sample of one class proves nothing."""
    later = (p[:, None] < p).astype(np.float64) + 0.5 * (p[:, None] == p)  # [positive input, negative input]
    shares = world.joint / world.joint.sum(axis=0)
    truth = float(shares[:, 1] @ later @ shares[:, 0])
    fewer = int(test.sum(axis=0).min())
    if not fewer:
        return 1 - truth
    scores = np.concatenate([np.repeat(p, test[:, 0]), np.repeat(p, test[:, 1])])
    losses = binomial.misranked(scores, np.arange(len(scores)) >= test[:, 0].sum())
    return total(binomial.mean_bound(losses, DELTA, 1.0, fewer)) - truth


LOSSES: dict[str, Callable[[World, Floats, Ints], float]] = {
    "error of every class": lambda world, p, test: float(np.min(_of_classes(world, p, test))),
    "balanced error": lambda world, p, test: float(np.mean(_of_classes(world, p, test))),
    "cost": lambda world, p, test: _mean_gap(world, COSTS[:, (p > 0.5).astype(int)].T, test, float(COSTS.max())),
    "log loss": _log,
    "absolute error": lambda world, p, test: _mean_gap(world, np.stack([p, 1 - p], axis=1), test),  # of the label by p
    "interval coverage": _interval,
    "1 - AUC": _auc,
}


# ---------------------------------------------------------------- all of them

SIMULATED: dict[str, Simulated] = {
    "held-out": held_out,
    "cross-fitted": cross_fitted,
    "cross-fitted, adverse learner": adverse,
    f"winner of {SETTINGS} settings": winner,
    **{kind: _of_votes(kind, ROWS, 2.0 * ROWS) for kind in list(VOTES)[:5]},
    **{kind: _of_votes(kind, VOTE_ROWS, 0.0) for kind in list(VOTES)[5:]},
    **{kind: _of_losses(kind) for kind in LOSSES},
    "median, tubes": median_tubes,
    "description": _described(_card(2)),
    "description, trees of depth 2": _described(_card(1, 2)),
    "description, trees of depth 3": _described(_card(1, 3)),
}


def simulate(kind: str, name: str, draws: int, seed: int = 0) -> dict[str, Any]:
    """How often the bound, and the bound without its price, are below the risk in the world of this name."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of heavy inputs
        paid, unpaid = SIMULATED[kind](worlds()[name], draws, rng)
    return {"draws": draws, "failed": int((paid < 0).sum()), "unpaid": int((unpaid < 0).sum())}


def most_failures(draws: int) -> int:
    """The 99.9% quantile of the failures of a bound that fails with probability delta."""
    return int(binom.ppf(0.999, draws, DELTA))
