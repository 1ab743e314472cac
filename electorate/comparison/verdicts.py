"""Decides what is larger than chance: the lead over the baseline, and differences between models.

Losses are means over draws that left the row out, so that what was chosen on the rows has been paid for on others (see
`estimate`). A test divides the mean of the paired differences by its standard error over rows, enlarged for what
another training set would change. See docs/compare.md for what is assumed and benchmarks/VERDICTS.md for how often the
verdict is wrong.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from electorate.comparison.choice import MOST_MEMBERS, Chooser
from electorate.comparison.estimate import RARE, Estimate, n_draws_for, rarest_share
from electorate.comparison.out_of_fold import OutOfFold
from electorate.exact import Bools, Floats, Ints

TRAINING = 1.4  # variance of a mean difference over training sets and rows, relative to that over rows (measured)
OWN_RATIO, FEW_MODELS = 0.1, 0.05  # see `training_factors`; with these few equal models are told apart in 5% of runs
LEVEL = 0.05  # probability of any false "worse"
BEYOND_DOUBT = 0.001
DRAWS = 10_000
DROP = 0.99  # how sure it must be that a candidate is not the best

Grade = Literal["beyond doubt", "probably", "no evidence"]


# ---------------------------------------------------------------- against the baseline


@dataclass(frozen=True)
class Evidence:
    """That a model is better than the baseline: p is one-sided, by_metric before the correction for several tests."""

    grade: Grade
    p: float
    by_metric: dict[str, float]

    @property
    def is_better(self) -> bool:
        return self.grade != "no evidence"


def against_baseline(table: OutOfFold, model: Estimate, baseline: Estimate, metric: str) -> Evidence:
    """One test of the whole procedure. Its losses and those of the baseline are from the same draws.

    Where the rarest class has under a fifth of the rows and the metric is the error, the log loss is tested too, and
    the smaller p-value is doubled (Bonferroni): few models beat a small error by their errors.
    """
    names = [metric]
    if metric == "error" and rarest_share(table.codes) < RARE:
        names.append("log_loss")
    by_metric = {
        name: better_by_chance(np.array([model.row_losses[name], baseline.row_losses[name]]), table) for name in names
    }
    p = min(1.0, len(names) * min(by_metric.values()))
    return Evidence("beyond doubt" if p < BEYOND_DOUBT else "probably" if p < LEVEL else "no evidence", p, by_metric)


def better_by_chance(losses: Floats, table: OutOfFold) -> float:
    """The p-value of the first of two rows of losses being the lower one by chance; one-sided."""
    units, share, _ = by_unit(losses, table)
    if units.shape[1] < 2:
        return 1.0
    variance = TRAINING * _variances(covariance(units, share))[0, 1]
    lead = float((units[1] - units[0]) @ share)
    if variance <= 0:
        return 1.0  # the losses are equal
    return float(special.stdtr(_degrees(share), -lead / np.sqrt(variance)))


# ---------------------------------------------------------------- against the best


@dataclass(frozen=True)
class Differences:
    """best: of least mean loss, or the model asked for. worse: [model], than the best, beyond chance.

    visible: [model], the least difference to the best that would have been called worse.
    """

    best: int
    worse: Bools
    visible: Floats


def against_best(losses: Floats, table: OutOfFold, best: int | None = None, seed: int = 0) -> Differences:
    """Compare every model with the one of least mean loss. losses: [model, row], NaN for rows that were not measured.

    best: another model to compare with, the one that is handed over; then fewer are called worse.

    Multiple comparisons with the best (Hsu 1984, "Constrained simultaneous confidence intervals for multiple
    comparisons with the best"; Hsu 1996, chapter 4), strengthened so that equal models are not told apart either: the
    critical value is a quantile of the largest studentised difference to whichever of K equal models is first, by draws
    from the normal distribution with the models' covariance. Models that are worse leave, and the others are compared
    with the critical value of those that are left (Romano and Wolf 2005).
    """
    units, share, fold = by_unit(losses, table)
    means, n_models = units @ share, len(units)
    best = int(np.argmin(means)) if best is None else best
    worse = np.zeros(n_models, dtype=np.bool_)
    if n_models < 2 or units.shape[1] < 2:
        return Differences(best, worse, np.where(np.arange(n_models) == best, 0.0, np.inf))
    plain = covariance(units, share)
    variances = _variances(plain)
    error = np.sqrt(training_factors(units, share, fold)[best] * variances[best])
    gap = means - means[best]
    is_apart = gap > 1e-9 * np.abs(units) @ share  # more than rounding
    drawn = _noise(plain, _degrees(share), seed)
    limit = 0.0
    while np.sum(~worse) > 1:
        left = np.flatnonzero(~worse)
        limit = _largest_difference(drawn[:, left], np.sqrt(variances[np.ix_(left, left)]))
        new = ~worse & is_apart & (gap > limit * error)
        if not new.any():
            break
        worse |= new
    return Differences(best, worse, np.where(np.arange(n_models) == best, 0.0, limit * error))


def training_factors(units: Floats, share: Floats, fold: Ints) -> Floats:
    """[model, model]: by how much training enlarges the variance of a difference over rows.

    What all folds share cannot be seen in one table (Bengio and Grandvalet 2004): the constant is measured on fresh
    rows. Where folds differ by more than their rows explain, it is multiplied by the ratio of the two variances: the
    mean over all pairs, or a tenth of the way from there to the ratio of the pair. Five folds show little about one
    pair, so that with few models the ratio counts a little more.
    """
    folds, place = np.unique(fold, return_inverse=True)
    if len(folds) < 2:
        return np.full((len(units), len(units)), TRAINING)
    centred = units - (units @ share)[:, None]
    sums = np.array([np.bincount(place, share * losses) for losses in centred])
    between = len(folds) / (len(folds) - 1) * _variances(sums @ sums.T)
    within = _variances((centred * share**2) @ centred.T)
    differ = within > 1e-12 * np.max(within)
    ratio = np.where(differ, between / np.where(differ, within, 1.0), 0.0)
    typical = float(np.mean(ratio[differ])) if differ.any() else 0.0
    counted = np.maximum(typical, typical + OWN_RATIO * (ratio - typical)) * (1 + FEW_MODELS / max(1, len(units) - 1))
    return np.asarray(TRAINING * np.maximum(1.0, counted))


def _noise(plain: Floats, degrees: float, seed: int) -> Floats:
    """[draw, model]: mean losses of equal models."""
    rng = np.random.default_rng([seed, 3])
    values, axes = np.linalg.eigh(plain)
    drawn = rng.standard_normal((DRAWS, len(plain))) @ (np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T)
    return np.asarray(drawn / np.sqrt(rng.chisquare(degrees, (DRAWS, 1)) / degrees))


def _largest_difference(drawn: Floats, errors: Floats) -> float:
    """The quantile of the largest difference to the first of a draw, in units of its standard error."""
    first = np.argmin(drawn, axis=1)
    gaps = drawn - np.take_along_axis(drawn, first[:, None], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        largest = np.max(np.where(errors[first] > 0, gaps / errors[first], 0.0), axis=1)
    return float(np.quantile(largest, 1 - LEVEL))


# ---------------------------------------------------------------- candidates that may be dropped


def droppable(chooser: Chooser, protected: int = MOST_MEMBERS, seed: int = 0) -> Bools:
    """[candidate]: worse than the best so far in more than 99% of draws of the rows tested so far.

    BBCD-CV (Tsamardinos, Greasidou and Borboudakis 2018). For candidates of the leading algorithms, as
    many as `protected`, "the best" is the best of their own algorithm: it may become a member of a stack.
    """
    table, algorithm = chooser.table, chooser.algorithm
    fitted = chooser.fit(np.ones((1, table.n_rows)))
    losses = np.where(chooser.is_model, fitted.criterion[0], np.inf)
    order = np.argsort(losses, kind="stable")
    first = np.unique(algorithm[order], return_index=True)[1]
    reference = np.full(len(losses), order[0])
    for leader in order[np.sort(first)][:protected]:
        reference[algorithm == algorithm[leader]] = leader
    n_draws = n_draws_for(table.n_rows, table.n_classes)
    counts = table.draw(n_draws, np.random.default_rng([seed, 7]))
    if chooser.criterion == "log_loss":  # with the temperatures of all rows, which saves most of the time
        weight = counts * table.share
        rows = chooser.losses[np.arange(len(losses)), fitted.place[0]]
        drawn = (weight / weight.sum(axis=1, keepdims=True)) @ rows.T
    else:
        drawn = chooser.fit(counts).criterion
    return np.asarray(chooser.is_model & (np.mean(drawn > drawn[:, reference], axis=0) > DROP))


# ---------------------------------------------------------------- the covariance of mean losses


def by_unit(losses: Floats, table: OutOfFold) -> tuple[Floats, Floats, Ints]:
    """Mean losses of the groups (of the rows, without groups), their shares of the whole, and their folds."""
    measured = ~np.isnan(losses).any(axis=0)
    weight, losses, fold = table.share[measured], losses[:, measured], table.fold[measured]
    _, first, unit = np.unique(table.unit[measured], return_index=True, return_inverse=True)
    total = np.bincount(unit, weight)
    means = np.array([np.bincount(unit, weight * one) / total for one in losses])
    return means, total / total.sum(), fold[first]


def _degrees(share: Floats) -> float:
    return max(1.0, 1 / float(np.sum(share**2)) - 1)


def covariance(losses: Floats, share: Floats) -> Floats:
    """Return the covariance of the weighted mean losses, by leaving out one row at a time: this exposes heavy rows."""
    influence = (losses - (losses @ share)[:, None]) * (share / np.maximum(1 - share, 0.5))
    heaviest = int(np.argmax(share))
    if share[heaviest] > 0.5:  # the residual of such a row is inexact, or 0
        rest = np.where(np.arange(len(share)) == heaviest, 0.0, np.maximum(share, np.finfo(np.float64).tiny))
        influence[:, heaviest] = share[heaviest] * (losses[:, heaviest] - losses @ (rest / np.sum(rest)))
    return np.asarray(influence @ influence.T + np.diag(_smallest_contrasts(losses, share) ** 2))


def _variances(plain: Floats) -> Floats:
    """[model, model]: of the differences of mean losses."""
    spread = np.diag(plain)
    return np.asarray(np.maximum(spread[:, None] + spread - 2 * plain, 0.0) * (1 - np.eye(len(plain))))


def _smallest_contrasts(losses: Floats, share: Floats) -> Floats:
    """Return how much one more row on which a model alone errs would move its mean.

    It counts as much as a typical row (root mean square) of those that separate it from the nearest other model. With
    this term a few rows without a counterexample do not have a variance of 0 (the adjustment of Agresti and Min 2005
    for paired proportions).
    """
    nearest = np.zeros(len(losses))
    for a, own in enumerate(losses):
        moved = share * (losses - own)
        apart = np.sqrt(np.sum(moved**2, axis=1) / np.maximum(1, np.sum(moved != 0, axis=1)))
        nearest[a] = np.min(apart[apart > 0], initial=np.inf)
    return np.where(np.isinf(nearest), 0.0, nearest)
