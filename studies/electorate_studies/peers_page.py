"""The page of the study of peers: ranks, the best peer of each data set, the aims, and a picture."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from electorate import compare_over
from electorate_studies.pages import mean_and_error
from electorate_studies.quadboost_table2 import unpacked
from electorate_studies.request import Floats, markdown_table, new_figure, paragraphs
from electorate_studies.runs import RowDict

PORTFOLIO, STACK = "electorate", "electorate, stacked"
SLOW = "EBM"  # is not run on all data sets
Results = dict[tuple[str, str], list[RowDict]]  # by data set and method, in the order of the splits


def complete(rows: Iterable[RowDict], flipped: float, sets: Iterable[str]) -> Results:
    """The results with one share of flipped labels, of the splits that all methods were run on, but for the slow one.

    The slow one is included on those of these splits that it was run on.
    """
    found: dict[tuple[str, int], dict[str, RowDict]] = {}
    wanted = set(sets)
    for row in rows:
        if row["flipped"] == flipped and row["data"] in wanted:
            found.setdefault((row["data"], row["split"]), {})[row["method"]] = row
    every = {method for results in found.values() for method in results} - {SLOW}
    gathered: Results = {}
    for (data, _), results in sorted(found.items()):
        for method in sorted(results) if every <= set(results) else ():
            gathered.setdefault((data, method), []).append(results[method])
    return gathered


@dataclass(frozen=True)
class Gap:
    """One of our methods and the best peer on a data set; error: the standard error of the difference."""

    mine: float
    best: str
    its: float
    error: float

    def is_behind(self, by: float) -> bool:
        """By more than so much, beyond two standard errors."""
        return self.mine - self.its > by + 2 * self.error

    def __str__(self) -> str:
        return f"{100 * (self.mine - self.its):+.1f} ± {100 * self.error:.1f}"


@dataclass(frozen=True)
class Page:
    """Results with one share of flipped labels. loss: what methods are ranked by. own: algorithms of this package.

    points: how far behind the best peer an error may be.
    """

    results: Results
    loss: str
    own: set[str]
    points: int = 1

    @cached_property
    def sets(self) -> list[str]:
        return list(dict.fromkeys(data for data, _ in self.results))

    @cached_property
    def names(self) -> list[str]:
        """The methods that were run on all data sets."""
        return list(dict.fromkeys(method for _, method in self.results if method != SLOW))

    @cached_property
    def peers(self) -> list[str]:
        return [name for name in self.names if name not in {PORTFOLIO, STACK, *self.own}]

    def means(self, value: str) -> dict[str, Floats]:
        """By method, of every data set: over the splits; rounded, so that as many wrong rows in all are the same."""
        each = {name: [[one[value] for one in self.results[data, name]] for data in self.sets] for name in self.names}
        return {name: np.array([np.mean(cell) for cell in of]).round(9) for name, of in each.items()}

    @cached_property
    def ranks(self) -> dict[str, float]:
        return self.ranks_among(self.names)

    def ranks_among(self, names: Sequence[str]) -> dict[str, float]:
        """The mean rank over data sets of each of these methods among them; equals share their ranks."""
        losses = self.means(self.loss)
        means = np.stack([losses[name] for name in names], axis=1)
        below = (means[:, None, :] < means[:, :, None]).sum(axis=2)
        equal = (means[:, None, :] == means[:, :, None]).sum(axis=2)
        return dict(zip(names, (below + (equal + 1) / 2).mean(axis=0).tolist(), strict=True))

    def text(self) -> list[str]:
        return [*self._mean_table(), *self._by_set(), *self._aims(), *self._slow_table()]

    def _mean_table(self) -> list[str]:
        """Mean ranks over data sets, and means of what was measured."""
        known = [
            name for name in ("auc", "log_loss", "rmse", "seconds") if name in self.results[self.sets[0], STACK][0]
        ]
        losses, more, lines = self.means(self.loss), [self.means(name) for name in known], []
        for name in sorted(self.names, key=self.ranks.__getitem__):
            figures = [f"{of[name].mean():.3f}" for of in more]
            lines.append([name, f"{self.ranks[name]:.2f}", f"{losses[name].mean():.4f}", *figures])
        splits = sorted({self.n_splits(data) for data in self.sets})
        counted = f"{len(self.sets)} data sets, {' or '.join(map(str, splits))} split{'s' * (splits != [1])} of each."
        table = markdown_table(" | ".join(["method", "mean rank", self.loss, *known]), lines, "lrr" + "r" * len(known))
        columns: dict[str, Any] = {"data": self.sets} | {name: of.tolist() for name, of in losses.items()}
        over = ["```", str(compare_over(columns)), "```"] if len(self.sets) > 1 else ""
        return paragraphs(counted, table, over)

    def n_splits(self, data: str) -> int:
        return len(self.results[data, PORTFOLIO])

    def mean_on(self, data: str, method: str, splits: Iterable[int]) -> float:
        """The mean loss of a method on some splits of a data set."""
        wanted = set(splits)
        return float(np.mean([one[self.loss] for one in self.results[data, method] if one["split"] in wanted]))

    def best_peer(self, data: str, splits: Iterable[int]) -> tuple[str, float]:
        losses = {name: self.mean_on(data, name, splits) for name in self.peers}
        best = min(losses, key=losses.__getitem__)
        return best, losses[best]

    def gap(self, data: str, method: str) -> Gap:
        splits = [one["split"] for one in self.results[data, method]]
        best, its = self.best_peer(data, splits)
        pairs = list(zip(self.results[data, method], self.results[data, best], strict=True))
        _, error, _ = mean_and_error([one[self.loss] - other[self.loss] for one, other in pairs])
        if self.loss == "error":  # by the test rows that one of the two predicts wrongly, of the splits that have them
            known = [both for both in pairs if all("wrong" in one for one in both)]
            differ = sum(np.count_nonzero(unpacked(one["wrong"]) != unpacked(other["wrong"])) for one, other in known)
            rows = sum(one["rows"] for one, _ in known)
            error = math.sqrt(differ * len(known) / len(pairs)) / rows if known else math.nan
        return Gap(self.mean_on(data, method, splits), best, its, error)

    def _by_set(self) -> list[str]:
        """For each data set: our portfolio and its stack beside the best peer."""
        lines = []
        for data in self.sets:
            gap, stacked = self.gap(data, PORTFOLIO), self.gap(data, STACK)
            figures = [f"{gap.its:.4f}"]
            for one in (gap, stacked):
                figures += [f"{one.mine - one.its:+.4f}", "" if math.isnan(one.error) else f"{one.error:.4f}"]
            lines.append([data, self.n_splits(data), f"{gap.mine:.4f}", f"{stacked.mine:.4f}", gap.best, *figures])
        head = f"data set | splits | {PORTFOLIO} | stacked | best peer | its {self.loss} | {PORTFOLIO} - best | ±"
        return paragraphs(markdown_table(f"{head} | stacked - best | ±", lines, "lrrrlrrrrr"))

    def _slow_table(self) -> list[str]:
        """The slow method on the splits that it was run on, beside ours and the best peer."""
        names, figures, bests = [data for data in self.sets if (data, SLOW) in self.results], [], []
        for data in names:
            found = self.results[data, SLOW]
            splits = [one["split"] for one in found]
            best, its = self.best_peer(data, splits)
            ours = [self.mean_on(data, name, splits) for name in (SLOW, PORTFOLIO, STACK)]
            figures.append([*ours, its, float(np.mean([one["seconds"] for one in found]))])
            bests.append(best)
        if not names:
            return []
        lines = []
        for data, best, of in zip([*names, "mean"], [*bests, ""], [*figures, np.mean(figures, axis=0)], strict=True):
            shown = [f"{value:.4f}" for value in of[:4]]
            lines.append([data, *shown[:3], best, shown[3], f"{of[4]:.0f}"])
        head = f"data set | {SLOW} | {PORTFOLIO} | stacked | best other peer | its {self.loss} | seconds of {SLOW}"
        title = f"{SLOW} on {len(names)} of these data sets, beside the others on the same splits:"
        return paragraphs(title, markdown_table(head, lines, "lrrrlrr"))

    def _aims(self) -> list[str]:
        """What the study aims at, for the portfolio and for its stack, beside the best peer (in time, the slowest)."""
        seconds = {name: of.mean() for name, of in self.means("seconds").items()}
        slowest = max(self.peers, key=seconds.__getitem__)
        measured = {"mean rank": self.ranks}
        if self.loss == "error":
            for aim, value in (("mean error", "error"), ("mean log loss", "log_loss")):
                measured[aim] = {name: float(of.mean()) for name, of in self.means(value).items()}
        else:  # data sets have their own units
            geometric = {name: float(np.exp(np.log(of).mean())) for name, of in self.means("mae").items()}
            measured["geometric mean of the absolute error"] = geometric
        lines = []
        for method in (PORTFOLIO, STACK):
            alone = self.ranks_among([method, *self.peers])  # without our other methods
            for aim, values in {"mean rank among the peers only": alone, **measured}.items():
                best = min(self.peers, key=values.__getitem__)
                lines.append([method, aim, f"{values[method]:.4g}", f"{best}: {values[best]:.4g}"])
            took = f"{slowest}: {seconds[slowest]:.1f} (slowest)"
            lines.append([method, "mean seconds", f"{seconds[method]:.1f}", took])
            gaps = {data: self.gap(data, method) for data in self.sets if self.loss == "error"}
            known = {data: gap for data, gap in gaps.items() if not math.isnan(gap.error)}
            if known:
                behind = [f"{data} {gap}" for data, gap in known.items() if gap.is_behind(self.points / 100)]
                aim = f"sets behind by over {self.points} / 100 beyond 2 s.e., of {len(known)} with a standard error"
                lines.append([method, aim, str(len(behind)), "; ".join(behind)])
        return paragraphs(markdown_table("method | aim | ours | best peer", lines, "llrl"))


def rank_summary(pages: dict[str, Page]) -> list[str]:
    """The mean ranks with each share of flipped labels, and their mean."""
    names = [name for name in next(iter(pages.values())).names if all(name in page.ranks for page in pages.values())]
    rows = [[page.ranks[name] for page in pages.values()] for name in names]
    each = sorted(zip(rows, names, strict=True), key=lambda row: (np.mean(row[0]), row))
    lines = [[name, *(f"{rank:.2f}" for rank in (*of, np.mean(of)))] for of, name in each]
    return paragraphs(markdown_table(" | ".join(["mean rank", *pages, "mean"]), lines, "l" + "r" * (len(pages) + 1)))


def draw_ranks(pages: dict[str, Page]) -> Any:
    """Mean ranks, a panel for each share of flipped labels; methods of this package have filled dots."""
    tallest = max(len(page.names) for page in pages.values())
    figure, (panels,) = new_figure(1, len(pages), (3.6 * len(pages), 0.28 * tallest + 1))
    for panel, (title, page) in zip(panels, pages.items(), strict=True):
        names = sorted(page.names, key=page.ranks.__getitem__, reverse=True)
        ranks, own = [page.ranks[name] for name in names], {PORTFOLIO, STACK, *page.own}
        colors = ["#0072B2" if name in own else "white" for name in names]
        panel.hlines(range(len(names)), 1, ranks, color="0.85")
        panel.scatter(ranks, range(len(names)), c=colors, edgecolors="0.2", zorder=2)
        panel.set_yticks(range(len(names)), names, fontsize="small")
        panel.set(xlabel="mean rank (1 is best)", xlim=(1, None))
        panel.set_title(title, fontsize="medium")
    return figure
