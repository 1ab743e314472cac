"""The page of the study of peers: ranks, the best peer of each data set, the aims, the results as CSV and a picture."""

import base64
import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from electorate import compare_over
from electorate.comparison.rows import Floats
from electorate.studies.request import Lines, markdown_table

PORTFOLIO, STACK = "electorate", "electorate, stacked"
Results = dict[tuple[str, str], list[dict[str, Any]]]  # by data set and method, in the order of the splits
FIELDS = ("split", "error", "auc", "log_loss", "mae", "rmse", "seconds", "chosen")


def complete(lines: Lines, flipped: float, sets: Iterable[str]) -> Results:
    """The results with one share of flipped labels, of the splits that all methods were run on."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    wanted = set(sets)
    for name, result in lines.found.items():
        data, split, share, method = json.loads(name)
        if share == flipped and data in wanted:
            found.setdefault((data, split), {})[method] = result | {"split": split}
    every = {method: None for results in found.values() for method in results}  # in order
    gathered: Results = {}
    for (data, _), results in sorted(found.items()):
        if len(results) == len(every):
            for method in every:
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
        return list(dict.fromkeys(method for _, method in self.results))

    @cached_property
    def peers(self) -> list[int]:
        """Their places among the names."""
        return [k for k, name in enumerate(self.names) if name not in {PORTFOLIO, STACK, *self.own}]

    def means(self, value: str) -> Floats:
        """[data set, method]: over the splits; rounded, so that as many wrong rows in all are the same mean."""
        rows = [[self.results[data, name] for name in self.names] for data in self.sets]
        return np.array([[np.mean([one[value] for one in cell]) for cell in row] for row in rows]).round(9)

    @cached_property
    def ranks(self) -> Floats:
        """The mean rank of each method over data sets; equals share their ranks."""
        means = self.means(self.loss)
        below = (means[:, None, :] < means[:, :, None]).sum(axis=2)
        equal = (means[:, None, :] == means[:, :, None]).sum(axis=2)
        return np.asarray((below + (equal + 1) / 2).mean(axis=0))

    def text(self) -> list[str]:
        return [*self._mean_table(), "", *self._by_set(), "", *self._aims(), ""]

    def _mean_table(self) -> list[str]:
        """Mean ranks over data sets, and means of what was measured."""
        means = self.means(self.loss)
        first = self.results[self.sets[0], self.names[0]][0]
        more = {name: self.means(name).mean(axis=0) for name in ("auc", "log_loss", "rmse", "seconds") if name in first}
        lines = [
            [
                self.names[k],
                f"{self.ranks[k]:.2f}",
                f"{means[:, k].mean():.4f}",
                *(f"{v[k]:.3f}" for v in more.values()),
            ]
            for k in np.argsort(self.ranks, kind="stable")
        ]
        splits = sorted({len(found) for found in self.results.values()})
        counted = f"{len(self.sets)} data sets, {' or '.join(map(str, splits))} split{'s' * (splits != [1])} of each."
        head = " | ".join(["method", "mean rank", self.loss, *more])
        table = [counted, "", *markdown_table(head, lines, "lrr" + "r" * len(more))]
        if len(self.sets) < 2:
            return table
        over = compare_over({"data": self.sets} | {name: means[:, k].tolist() for k, name in enumerate(self.names)})
        return [*table, "", "```", str(over), "```"]

    def gap(self, data: str, method: str) -> Gap:
        losses = {name: float(np.mean([one[self.loss] for one in self.results[data, name]])) for name in self.names}
        best = min((self.names[k] for k in self.peers), key=losses.__getitem__)
        mine, others = self.results[data, method], self.results[data, best]
        if "wrong" in mine[0]:  # by the test rows that one of the two predicts wrongly
            differ = [np.count_nonzero(_wrong(one) != _wrong(other)) for one, other in zip(mine, others, strict=True)]
            error = float(np.sqrt(sum(differ)) / sum(one["rows"] for one in mine))
        else:
            each = np.array([one[self.loss] - other[self.loss] for one, other in zip(mine, others, strict=True)])
            error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
        return Gap(losses[method], best, losses[best], error)

    def _by_set(self) -> list[str]:
        """For each data set: our portfolio and its stack beside the best peer."""
        lines = []
        for data in self.sets:
            gap, stacked = self.gap(data, PORTFOLIO), self.gap(data, STACK)
            numbers = [f"{gap.its:.4f}", f"{gap.mine - gap.its:+.4f}", f"{gap.error:.4f}"]
            lines.append([data, f"{gap.mine:.4f}", f"{stacked.mine:.4f}", gap.best, *numbers])
        head = f"data set | {PORTFOLIO} | stacked | best peer | its {self.loss} | difference | ±"
        return markdown_table(head, lines, "lrrlrrr")

    def _aims(self) -> list[str]:
        """What the study aims at, for the portfolio and for its stack, beside the best peer (in time, the slowest)."""
        seconds = self.means("seconds").mean(axis=0)
        slowest = max(self.peers, key=seconds.__getitem__)
        measured = {"mean rank": self.ranks}
        if self.loss == "error":
            measured |= {"mean error": self.means("error").mean(axis=0)}
            measured |= {"mean log loss": self.means("log_loss").mean(axis=0)}
        else:  # data sets have their own units
            measured |= {"geometric mean of the absolute error": np.exp(np.log(self.means("mae")).mean(axis=0))}
        lines = []
        for method in (PORTFOLIO, STACK):
            own = self.names.index(method)
            for aim, values in measured.items():
                best = min(self.peers, key=values.__getitem__)
                lines.append([method, aim, f"{values[own]:.4g}", f"{self.names[best]}: {values[best]:.4g}"])
            lines.append(
                [
                    method,
                    "mean seconds",
                    f"{seconds[own]:.1f}",
                    f"{self.names[slowest]}: {seconds[slowest]:.1f} (slowest)",
                ]
            )
            if self.loss == "error":
                gaps = {data: self.gap(data, method) for data in self.sets}
                behind = [f"{data} {gap}" for data, gap in gaps.items() if gap.is_behind(self.points / 100)]
                lines.append(
                    [
                        method,
                        f"sets behind by over {self.points} / 100 beyond 2 s.e.",
                        str(len(behind)),
                        "; ".join(behind),
                    ]
                )
        return markdown_table("method | aim | ours | best peer", lines, "llrl")


def _wrong(result: dict[str, Any]) -> Any:
    return np.unpackbits(np.frombuffer(base64.b64decode(result["wrong"]), dtype=np.uint8))


def write_csv(path: Path, found: dict[float, Results]) -> None:
    """One row per share of flipped labels, data set, method and split."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["flipped", "data", "method", *FIELDS])
        for flipped, results in found.items():
            for (data, method), splits in results.items():
                for one in splits:
                    values = [one.get(name, "") for name in FIELDS]
                    writer.writerow([flipped, data, method, *(_short(value) for value in values)])


def _short(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def draw_ranks(path: Path, pages: dict[str, Page]) -> None:
    """Mean ranks, a panel for each share of flipped labels; methods of this package have filled dots."""
    from matplotlib.figure import Figure

    tallest = max(len(page.names) for page in pages.values())
    figure = Figure(figsize=(3.6 * len(pages), 0.28 * tallest + 1), layout="constrained")
    for ax, (title, page) in zip(np.ravel(figure.subplots(1, len(pages), squeeze=False)), pages.items(), strict=True):
        order = np.argsort(-page.ranks, kind="stable")
        names, ranks = [page.names[k] for k in order], page.ranks[order]
        ours = [name in {PORTFOLIO, STACK, *page.own} for name in names]
        ax.hlines(range(len(names)), 1, ranks, color="0.85")
        ax.scatter(
            ranks, range(len(names)), c=["#0072B2" if one else "white" for one in ours], edgecolors="0.2", zorder=2
        )
        ax.set_yticks(range(len(names)), names, fontsize="small")
        ax.set(title=title, xlabel="mean rank (1 is best)", xlim=(1, None))
        ax.title.set_fontsize("medium")
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
