"""What the chosen model will lose on new rows: bootstrap bias corrected cross-validation.

BBC-CV of Tsamardinos, Greasidou and Borboudakis (2018): rows of the out-of-fold
predictions are drawn with replacement, the whole choice is made on the drawn rows, and the rows left out measure it.
The mean over draws is the estimate, and quantiles over draws are its interval. Nothing is trained.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from electorate.comparison.choice import Choice, Chooser, Rule
from electorate.comparison.metrics import METRICS
from electorate.exact import Bools, Floats, Ints

MOST_DRAWS, FEWEST_DRAWS = 500, 100
MOST_CELLS = 5e6  # draws x rows x classes
BLOCK_CELLS = 2e6  # draws x rows that are fitted together
MEANS = ("error", "log_loss", "mae")  # metrics that are means over rows of a function of the row
# Other metrics are measured in every fifth draw, or in a few where they are only a column of the table; in all draws
# if models are ranked by them.
SPARSE, SPARSER = 5, 25
WITH_CUT = ("error", "balanced_error", "f1")
RARE = 0.2  # a class with a smaller share of the rows: errors alone show little


@dataclass(frozen=True)
class LossInterval:
    """The estimate of a loss, its interval of 95%, and an upper limit of 95%."""

    value: float
    low: float
    high: float
    limit: float


@dataclass(frozen=True)
class Estimate:
    """choice: with all rows. bounds: by metric, as losses. row_losses: by metric, the mean of each row's losses over
    the draws that left it out; NaN for rows that were always drawn.
    """

    choice: Choice
    bounds: dict[str, LossInterval]
    row_losses: dict[str, Floats]


def n_draws_for(n_rows: int, n_classes: int) -> int:
    return int(np.clip(MOST_CELLS // (n_rows * max(1, n_classes - 1)), FEWEST_DRAWS, MOST_DRAWS))


def rarest_share(target: Ints) -> float:
    """The share of the rows that the rarest class has, times half the number of classes: 1/2 where all are even."""
    counts = np.bincount(target)
    counts = counts[counts > 0]
    return float(np.min(counts) / len(target) * len(counts) / 2)


def metrics_shown(chooser: Chooser) -> list[str]:
    """The metric asked for, the usual ones, and where a class is rare the balanced error."""
    table = chooser.table
    names = ["error", "log_loss", "auc"] if table.n_classes else ["mae", "rmse"]
    if table.n_classes and rarest_share(table.codes) < RARE:
        names.append("balanced_error")
    return list(dict.fromkeys([chooser.metric.name, *names]))


def evaluate(
    chooser: Chooser,
    rules: Sequence[Rule],
    *,
    metrics: Sequence[str] | None = None,
    n_draws: int | None = None,
    seed: int = 0,
    is_enough: Callable[[int], bool] | None = None,
) -> list[Estimate]:
    """The choice of each rule and what it loses; all rules are measured on the same draws.

    The first rule is the one whose choice is handed over. is_enough: asked after each draw, with their number so far.
    """
    table, rules = chooser.table, list(rules)
    names = metrics_shown(chooser) if metrics is None else list(metrics)
    n_draws = n_draws_for(table.n_rows, table.n_classes) if n_draws is None else n_draws
    loss_of = _RowLosses(chooser)
    values = np.full((len(rules), len(names), n_draws), np.nan)
    sums = np.zeros((len(rules), len(names), table.n_rows))
    times = np.zeros(sums.shape)
    sparse = SPARSER if table.n_classes and rarest_share(table.codes) >= RARE else SPARSE
    for i, (choices, parts) in enumerate(_choices(chooser, rules, n_draws, np.random.default_rng([seed, 5]))):
        rows = np.concatenate(parts)
        weight = table.share[rows]
        for m, name in enumerate(names):
            if not len(rows) or (name not in MEANS and table.n_classes and len(np.unique(table.codes[rows])) < 2):
                continue
            is_full = name in MEANS or i % sparse == 0
            for r in range(len(rules) if is_full else name == chooser.metric.name):
                times[r, m, rows] += 1
                losses = loss_of(name, [chosen[r] for chosen in choices], parts)
                values[r, m, i] = losses @ weight / weight.sum()
                sums[r, m, rows] += losses
        if is_enough is not None and is_enough(i + 1):
            break
    final = chooser.choose(np.ones(table.n_rows), rules)
    with np.errstate(invalid="ignore"):
        means = sums / np.where(times > 0, times, np.nan)
    return [
        Estimate(choice, dict(zip(names, map(_bound, drawn), strict=True)), dict(zip(names, of_rows, strict=True)))
        for choice, drawn, of_rows in zip(final, values, means, strict=True)
    ]


def _choices(
    chooser: Chooser, rules: list[Rule], n_draws: int, rng: np.random.Generator
) -> Iterator[tuple[list[list[Choice]], list[Ints]]]:
    """Return for each draw: [stage, rule] what is chosen, and [stage] the rows that measure it."""
    block = max(1, int(BLOCK_CELLS // chooser.table.n_rows))
    stages = _stages(chooser)
    for start in range(0, n_draws, block):
        counts = chooser.table.draw(min(block, n_draws - start), rng)
        drawn = [_drawn(counts, used) for used, _ in stages]
        fitted = [chooser.fit(rows) for rows in drawn]
        for i in range(len(counts)):
            choices = [chooser.choices(rows[i], f, i, rules) for rows, f in zip(drawn, fitted, strict=True)]
            yield choices, [np.flatnonzero((counts[i] == 0) & part) for _, part in stages]


def _stages(chooser: Chooser) -> list[tuple[Bools, Bools]]:
    """Which rows a choice may use, and which it is measured on: with ordered folds, earlier folds and the next."""
    table = chooser.table
    folds = np.unique(table.fold)
    if not table.ordered or len(folds) < 2:
        return [(np.ones(table.n_rows, dtype=np.bool_), np.ones(table.n_rows, dtype=np.bool_))]
    return [(table.fold < fold, table.fold == fold) for fold in folds[1:]]


def _drawn(counts: Floats, used: Bools) -> Floats:
    """The drawn rows among those that may be used; where a draw has none, all of them."""
    drawn = counts * used
    drawn[drawn.sum(axis=1) == 0] = used
    return drawn


class _RowLosses:
    """Losses of the rows left out. Those of metrics that are means are stored by choice, since choices repeat."""

    def __init__(self, chooser: Chooser) -> None:
        self.chooser = chooser
        self.of_all = lru_cache(max(8, int(MOST_CELLS // chooser.table.n_rows)))(self._of_all)

    def __call__(self, name: str, choices: list[Choice], parts: list[Ints]) -> Floats:
        if name == "auc" and all(c.members == (self.chooser.table.baseline,) for c in choices):
            return np.full(sum(map(len, parts)), 0.5)  # its decisions differ between folds only
        if name in MEANS:
            return np.concatenate([self.of_all(name, c)[rows] for c, rows in zip(choices, parts, strict=True)])
        decisions = [self._decision(name, c)[rows] for c, rows in zip(choices, parts, strict=True)]
        rows, table = np.concatenate(parts), self.chooser.table
        scored = replace(table.scored(table.scores[0], rows), scores=np.concatenate(decisions))
        return METRICS[name].losses(scored)

    def _of_all(self, name: str, choice: Choice) -> Floats:
        return METRICS[name].losses(self.chooser.table.scored(self._decision(name, choice)))

    def _decision(self, name: str, choice: Choice) -> Floats:
        return self.chooser.decision(choice) - (choice.cut if name in WITH_CUT else 0.0)


def _bound(values: Floats) -> LossInterval:
    values = values[~np.isnan(values)]
    if not len(values):
        return LossInterval(*[float("nan")] * 4)
    low, high, limit = np.quantile(values, [0.025, 0.975, 0.95])
    return LossInterval(float(values.mean()), float(low), float(high), float(limit))
