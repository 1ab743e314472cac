"""How many data sets meet each aim of the study of certificates, by how much the others miss it, and what is chance.

Aims are about ratios to the bound of a held-out fifth. One fifth varies much, so ratios are also to the mean of the
bounds of five fifths. Test errors of two models are compared by the rows that only one of them gets wrong. With more
parts, cross-fitting leaves more rows for each model, and fewer to count its errors on.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from electorate_studies.request import Bools, Floats, markdown_table, paragraphs, text

BOUNDS = ("held-out", "description", "card", "cross-fitted")
ALL_ROWS = "all rows"
COUNTED = 20  # errors in every part from which on a cross-fitted bound should be within NEAR of the held-out one
NEAR, LESS_NEAR = 1.15, 1.3
MORE = 0.3  # points of test error that a cross-fitted model may lose
HEAVY = 0.05  # of the rows with one input: CrossFittedClassifier warns of more

Measured = dict[str, dict[str, Any]]  # by data set


def paired(one: Bools, other: Bools) -> list[int]:
    """How many rows only the first model gets wrong, how many only the second, and how many rows there are."""
    return [int(np.sum(one & ~other)), int(np.sum(other & ~one)), len(one)]


def excess(counts: list[int]) -> tuple[float, float]:
    """The difference of two errors in points, and its standard error."""
    only_one, only_other, rows = counts
    mean = (only_one - only_other) / rows
    return 100 * mean, 100 * math.sqrt(max((only_one + only_other) / rows - mean**2, 0.0) / rows)


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

    def of(self, key: str) -> Floats:
        return np.array([one[key] for one in self.found], dtype=np.float64)


def aims(found: Measured) -> list[str]:
    """A table of the aims, and what is known about the sets that miss them."""
    sets = Sets(found)
    heads = "aim | sets needed | met (mean of five fifths) | met (one fifth) | result"
    rows = [aim.row() for aim in (*described_aims(sets), *cross_fitted_aims(sets))]
    return paragraphs(markdown_table(heads, rows, "lrrrl"), ratios(sets), beyond(sets), test_errors(sets))


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
        near = f"within {factor:g} times that of one of the five fifths"
        lines.append(
            f"- Sets with the aim of {factor:g}: the cross-fitted bound is {near} in {sum(cross)} of {len(cross)} "
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
        five, errors = one["cross-fitted"] / np.array(one["five"]), ", ".join(map(str, one["fold errors"]))
        shown = *(f"{x:.2f}" for x in ratio[:, place]), f"{five.min():.2f}-{five.max():.2f}"
        heavy = f"{100 * one['heavy']:.1f}%"
        rows.append([sets.names[place], one["rows"], errors, f"{factor[place]:g}", *shown, heavy])
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


# ---------------------------------------------------------------- table 3: the number of parts

PARTS = (5, 10, 20)
PART_AIMS = text("aims of parts").split("; ")
Splits = list[dict[str, Any]]


def _mean(splits: Splits, key: str) -> float:
    return float(np.mean([one[key] for one in splits]))


def _more(splits: Splits, key: str) -> tuple[float, float]:
    """Points of test error more than with all rows: the mean over the splits, and its standard error.

    Splits of the same rows are dependent: a variance of 1 / J + test rows / training rows times that of a split (Nadeau
    and Bengio 2003).
    """
    points = [excess(one[key])[0] for one in splits]
    if len(points) < 2:
        return points[0], math.nan
    of_test = splits[0][key][2] / splits[0]["rows"]
    return float(np.mean(points)), float(np.std(points, ddof=1) * math.sqrt(1 / len(points) + of_test))


def parts_lines(found: dict[str, Splits]) -> list[str]:
    """How many sets meet each aim, by means over the splits, and which do not; then a row for every data set."""
    columns, missed = zip(*(_aims_of(found, number) for number in PARTS), strict=True)
    held_out = np.mean([_more(splits, "paired held-out")[0] for splits in found.values()])
    last = f"- The models of the held-out bounds, trained on four fifths: mean difference {held_out:+.2f} points."
    rows = []
    for name, splits in sorted(found.items()):
        reference, error = _mean(splits, "held-out"), _mean(splits, "error")
        bounds = [f"{(b := _mean(splits, f'bound {k}')):.3f} ({b / reference:.2f})" for k in PARTS]
        more = [f"{x:+.2f} ± {se:.2f}" for x, se in (_more(splits, f"paired {k}") for k in PARTS)]
        counted = float(np.mean([one["errors 5"] for one in splits]))
        rows.append([name, splits[0]["rows"], f"{counted:.0f}", f"{reference:.3f}", *bounds, f"{error:.3f}", *more])
    parts, apart = (" | ".join(f"{number} parts{what}" for number in PARTS) for what in ("", ", points more"))
    heads = f"data set | rows | errors in a part of five | held-out | {parts} | test error, all rows | {apart}"
    first = markdown_table(f"means over the splits | {parts}", zip(PART_AIMS, *columns, strict=True), "lrrr")
    return paragraphs(first, [*missed, last], markdown_table(heads, rows, "lrrrrrrrrrr"))


def _aims_of(found: dict[str, Splits], number: int) -> tuple[list[str], str]:
    """The figures for so many parts, and a sentence about the sets that miss an aim."""
    every, names = list(found.values()), np.array(list(found))
    rows = np.array([splits[0]["rows"] for splits in every])
    fewest = np.array([np.mean([min(one["errors 5"]) for one in splits]) for splits in every])
    ratio = np.array([_mean(splits, f"bound {number}") / _mean(splits, "held-out") for splits in every])
    points, error = np.array([_more(splits, f"paired {number}") for splits in every]).T
    counted = (rows >= 2000) & (fewest >= COUNTED)
    far = np.where(counted, ratio > NEAR, ratio > LESS_NEAR)
    worse, is_sure = points > MORE, points - 2 * error > MORE
    cells = [f"{int((some & ~far).sum())} of {int(some.sum())}" for some in (counted, ~counted & (fewest >= 1))]
    cells += [f"{int((~worse).sum())} of {len(every)}", str(int(is_sure.sum()))]
    cells += [f"{points.mean():+.2f}", f"{np.median(ratio):.2f}"]
    beyond = [f"{names[k]} {ratio[k]:.2f}" for k in np.flatnonzero(far & (fewest >= 1))]
    larger = [f"{names[k]} {points[k]:+.2f} ± {error[k]:.2f}" for k in np.flatnonzero(is_sure)]
    return cells, (
        f"- {number} parts, beyond the factor: {', '.join(beyond) or 'none'}. Test error more than {MORE} points above "
        f"by more than two standard errors: {', '.join(larger) or 'none'}."
    )
