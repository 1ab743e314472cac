"""How many data sets meet each aim of the study of certificates, by how much the others miss it, and what is chance.

Aims are about ratios to the bound of a held-out fifth. One fifth varies much, so ratios are also to the mean of the
bounds of five fifths. Test errors of two models are compared by the rows that only one of them gets wrong.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from electorate.certified.cross_fitted import HEAVY
from electorate.exact import Bools
from electorate_studies.part_counts import MORE, excess
from electorate_studies.request import markdown_table

BOUNDS = ("held-out", "description", "card", "cross-fitted")
ALL_ROWS = "all rows"
COUNTED = 20  # errors in every part from which on a cross-fitted bound should be within NEAR of the held-out one
NEAR, LESS_NEAR = 1.15, 1.3

Measured = dict[str, dict[str, Any]]  # by data set


class Aim(NamedTuple):
    """`some`: the sets that it is about. `met`: by set, for the mean of five fifths and for one fifth, or one row.

    `share`: of the sets that should meet it; 0: only reported.
    """

    text: str
    share: float
    some: Bools
    met: Bools

    def row(self) -> list[str]:
        met = np.atleast_2d(self.met) & self.some
        counts = [f"{int(one.sum())} of {int(self.some.sum())}" for one in met]
        results = ["met" if one.sum() >= self.share * self.some.sum() else "missed" for one in met]
        result = " / ".join(results) if self.share else ""
        needed = {0.0: "", 1.0: "all"}.get(self.share, f"{self.share:.0%}")
        return [self.text, needed, counts[0], counts[1] if len(counts) > 1 else "", result]


class Sets:
    """What was measured on all data sets, as arrays."""

    def __init__(self, found: Measured) -> None:
        self.names, self.found = list(found), list(found.values())
        self.rows, self.two = self.of("rows"), self.of("classes") == 2
        self.references = np.array([[float(np.mean(one["five"])) for one in self.found], self.of("held-out")])
        self.fewest = np.array([min(one["fold errors"]) for one in self.found])
        self.counted = (self.rows >= 2000) & (self.fewest >= COUNTED)
        self.others = ~self.counted & (self.fewest > 0)
        self.more = np.array([excess(one["paired"]) for one in self.found]).reshape(-1, 2)  # points, standard errors
        self.heavy = self.of("heavy") > HEAVY

    def of(self, key: str) -> NDArray[np.float64]:
        return np.array([one[key] for one in self.found], dtype=np.float64)


def aims(found: Measured) -> list[str]:
    """A table of the aims, and what is known about the sets that miss them."""
    sets = Sets(found)
    heads = "aim | sets needed | met (mean of five fifths) | met (one fifth) | result"
    rows = [aim.row() for aim in (*described_aims(sets), *cross_fitted_aims(sets))]
    return [*markdown_table(heads, rows, "lrrrl"), "", *ratios(sets), "", *beyond(sets), "", *test_errors(sets)]


def described_aims(sets: Sets) -> list[Aim]:
    every, found = np.ones(len(sets.names), dtype=np.bool_), []
    for kind, is_aim in (("description", 1.0), ("card", 0.0)):
        bounds = sets.of(kind)
        below, half = bounds < sets.of("baseline"), bounds < 0.5
        found += [
            Aim(f"{kind} below the baseline's bound, 500 rows or more", is_aim, sets.rows >= 500, below),
            Aim(f"{kind} below 1/2, two classes, 150 rows or more", is_aim, sets.two & (sets.rows >= 150), half),
            Aim(f"{kind} within 1.5 times the held-out bound", 0.75 * is_aim, every, bounds <= 1.5 * sets.references),
            Aim(f"{kind} within 1.25 times", 0.5 * is_aim, every, bounds <= 1.25 * sets.references),
        ]
    return found


def cross_fitted_aims(sets: Sets) -> list[Aim]:
    every, points, error = np.ones(len(sets.names), dtype=np.bool_), sets.more[:, 0], 2 * sets.more[:, 1]
    near, less_near = (sets.of("cross-fitted") <= factor * sets.references for factor in (NEAR, LESS_NEAR))
    large = f"2,000 rows, {COUNTED} errors or more in each part"
    errors = {kind: sets.of(f"error, {kind}") for kind in BOUNDS}
    below = [errors[kind] <= sets.of(kind) for kind in BOUNDS]
    return [
        Aim(f"cross-fitted within {NEAR} times, {large}", 1.0, sets.counted, near),
        Aim(f"cross-fitted within {LESS_NEAR} times, the others with errors in each part", 1.0, sets.others, less_near),
        Aim(f"the same, without inputs of over {HEAVY:.0%} of the rows", 1.0, sets.others & ~sets.heavy, less_near),
        Aim(f"cross-fitted within {LESS_NEAR} times, some part without errors", 0.0, sets.fewest == 0, less_near),
        Aim(f"test error at most {MORE} points above that of all rows", 1.0, every, points <= MORE),
        Aim(f"the same, without inputs of over {HEAVY:.0%} of the rows", 1.0, ~sets.heavy, points <= MORE),
        Aim(f"not beyond {MORE} points by more than two standard errors", 0.0, every, points - error <= MORE),
        Aim("all four test errors below their bounds", 0.0, every, np.all(below, axis=0)),
    ]


def ratios(sets: Sets) -> list[str]:
    """Medians, means of the errors, and how often the bound of another fifth is within the factor of one."""
    medians = (f"{np.median(sets.of(kind) / sets.references[0]):.2f} ({kind})" for kind in BOUNDS[1:])
    means = (f"{sets.of(f'error, {kind}').mean():.4f} ({kind})" for kind in (*BOUNDS, ALL_ROWS))
    lines = [
        f"- Median ratio to the mean of five held-out bounds: {', '.join(medians)}.",
        f"- Mean test error: {', '.join(means)}.",
    ]
    for factor, chosen in ((NEAR, sets.counted), (LESS_NEAR, sets.others)):
        cross, other = [], []
        for place in np.flatnonzero(chosen):
            one = sets.found[place]
            five = np.array(one["five"])
            cross += (one["cross-fitted"] <= factor * five).tolist()
            other += (five[:, None] <= factor * five)[~np.eye(len(five), dtype=np.bool_)].tolist()
        text = f"within {factor:g} times that of one of the five fifths"
        lines.append(
            f"- Sets with the aim of {factor:g}: the cross-fitted bound is {text} in {sum(cross)} of {len(cross)} "
            f"cases. The bound of another fifth is in {sum(other)} of {len(other)}."
        )
    return lines


def beyond(sets: Sets) -> list[str]:
    """The cross-fitted bounds that miss their factor, by the mean of five fifths or by one."""
    ratio = sets.of("cross-fitted") / sets.references
    factor = np.where(sets.counted, NEAR, LESS_NEAR)
    rows = []
    for place in np.flatnonzero((ratio > factor).any(axis=0) & (sets.fewest > 0)):
        one = sets.found[place]
        five = one["cross-fitted"] / np.array(one["five"])
        rows.append(
            [
                sets.names[place],
                one["rows"],
                ", ".join(map(str, one["fold errors"])),
                f"{factor[place]:g}",
                f"{ratio[0, place]:.2f}",
                f"{ratio[1, place]:.2f}",
                f"{five.min():.2f}-{five.max():.2f}",
                f"{100 * one['heavy']:.1f}%",
            ]
        )
    heads = "beyond the factor | rows | errors in the parts | factor | mean of five | one fifth | each of five | "
    return markdown_table(heads + "most frequent input", rows, "lrlrrrrr")


def test_errors(sets: Sets) -> list[str]:
    """The sets whose cross-fitted model has a larger test error by more than the aim, and how many are so by chance."""
    points, error = sets.more.T
    over = np.flatnonzero(points > MORE)
    order = over[np.argsort(-(points[over] / np.maximum(error[over], 1e-300)))]
    listed = ", ".join(f"{sets.names[place]} {points[place]:+.2f} ± {error[place]:.2f}" for place in order)
    total, total_error = excess([sum(one["paired"][place] for one in sets.found) for place in range(3)])
    chance = sum(more_by_chance(one["paired"]) for one in sets.found)
    return [
        f"- Test error more than {MORE} points above that of all rows (points ± paired standard error): {listed}.",
        f"- If both models were equally good on every set, {chance:.1f} sets would be beyond {MORE} points on average "
        f"(a row that only one of them gets wrong is a coin flip); {len(over)} are.",
        f"- All test rows together: {total:+.2f} ± {total_error:.2f} points.",
    ]


def more_by_chance(counts: list[int]) -> float:
    """The probability of so many points more for two models that are equally good, given the rows they differ on."""
    differing = counts[0] + counts[1]
    only_one = np.arange(differing + 1)
    is_more = 100 * (2 * only_one - differing) / counts[2] > MORE
    return float(binom.pmf(only_one, differing, 0.5)[is_more].sum())
