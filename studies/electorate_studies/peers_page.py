"""The page of the study of peers: ranks, the best peer of each data set, the aims, the results as CSV and a picture."""

import base64
import csv
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from electorate import compare_over
from electorate.exact import Floats
from electorate_studies.request import markdown_table

PORTFOLIO, STACK = "electorate", "electorate, stacked"
SLOW = "EBM"  # is not run on all data sets
Stored = dict[str, dict[str, Any]]  # by data set, split, share of flipped labels and method, as JSON
Results = dict[tuple[str, str], list[dict[str, Any]]]  # by data set and method, in the order of the splits
KEY = ("data", "split", "flipped", "method")
NUMBERS = ("error", "auc", "log_loss", "mae", "rmse", "seconds")
TEXTS = ("chosen", "wrong")
FIELDS = (*NUMBERS, "rows", *TEXTS)


def complete(stored: Stored, flipped: float, sets: Iterable[str]) -> Results:
    """The results with one share of flipped labels, of the splits that all methods were run on, but for the slow one.

    The slow one is included on those of these splits that it was run on.
    """
    found: dict[tuple[str, int], dict[str, Any]] = {}
    wanted = set(sets)
    for name, result in stored.items():
        data, split, share, method = json.loads(name)
        if share == flipped and data in wanted:
            found.setdefault((data, split), {})[method] = result | {"split": split}
    every = {method for results in found.values() for method in results} - {SLOW}
    gathered: Results = {}
    for (data, _), results in sorted(found.items()):
        if every <= set(results):
            for method in sorted(results):
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
    def peers(self) -> list[int]:
        """Their places among the names."""
        return [k for k, name in enumerate(self.names) if name not in {PORTFOLIO, STACK, *self.own}]

    def means(self, value: str) -> Floats:
        """[data set, method]: over the splits; rounded, so that as many wrong rows in all are the same mean."""
        rows = [[self.results[data, name] for name in self.names] for data in self.sets]
        return np.array([[np.mean([one[value] for one in cell]) for cell in row] for row in rows]).round(9)

    @cached_property
    def ranks(self) -> Floats:
        return self.ranks_among(range(len(self.names)))

    def ranks_among(self, places: Iterable[int]) -> Floats:
        """The mean rank over data sets of each of these methods among them; equals share their ranks."""
        means = self.means(self.loss)[:, list(places)]
        below = (means[:, None, :] < means[:, :, None]).sum(axis=2)
        equal = (means[:, None, :] == means[:, :, None]).sum(axis=2)
        return np.asarray((below + (equal + 1) / 2).mean(axis=0))

    def text(self) -> list[str]:
        return [*self._mean_table(), "", *self._by_set(), "", *self._aims(), "", *self._slow_table()]

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
        splits = sorted({self.n_splits(data) for data in self.sets})
        counted = f"{len(self.sets)} data sets, {' or '.join(map(str, splits))} split{'s' * (splits != [1])} of each."
        head = " | ".join(["method", "mean rank", self.loss, *more])
        table = [counted, "", *markdown_table(head, lines, "lrr" + "r" * len(more))]
        if len(self.sets) < 2:
            return table
        over = compare_over({"data": self.sets} | {name: means[:, k].tolist() for k, name in enumerate(self.names)})
        return [*table, "", "```", str(over), "```"]

    def n_splits(self, data: str) -> int:
        return len(self.results[data, PORTFOLIO])

    def gap(self, data: str, method: str) -> Gap:
        losses = {name: float(np.mean([one[self.loss] for one in self.results[data, name]])) for name in self.names}
        best = min((self.names[k] for k in self.peers), key=losses.__getitem__)
        pairs = list(zip(self.results[data, method], self.results[data, best], strict=True))
        error = float("nan")
        if self.loss == "error":  # by the test rows that one of the two predicts wrongly, of the splits that have them
            known = [(mine, other) for mine, other in pairs if "wrong" in mine and "wrong" in other]
            differ = sum(np.count_nonzero(_wrong(mine) != _wrong(other)) for mine, other in known)
            if known:
                one_split = np.sqrt(differ * len(known)) / sum(mine["rows"] for mine, _ in known)
                error = float(one_split / np.sqrt(len(pairs)))
        elif len(pairs) > 1:
            each = np.array([mine[self.loss] - other[self.loss] for mine, other in pairs])
            error = float(np.std(each, ddof=1) / np.sqrt(len(each)))
        return Gap(losses[method], best, losses[best], error)

    def _by_set(self) -> list[str]:
        """For each data set: our portfolio and its stack beside the best peer."""
        lines = []
        for data in self.sets:
            gap, stacked = self.gap(data, PORTFOLIO), self.gap(data, STACK)
            numbers = [f"{gap.its:.4f}"]
            for one in (gap, stacked):
                numbers += [f"{one.mine - one.its:+.4f}", "" if math.isnan(one.error) else f"{one.error:.4f}"]
            lines.append([data, self.n_splits(data), f"{gap.mine:.4f}", f"{stacked.mine:.4f}", gap.best, *numbers])
        head = f"data set | splits | {PORTFOLIO} | stacked | best peer | its {self.loss} | {PORTFOLIO} - best | ±"
        return markdown_table(f"{head} | stacked - best | ±", lines, "lrrrlrrrrr")

    def _slow_table(self) -> list[str]:
        """The slow method on the splits that it was run on, beside ours and the best peer."""
        lines, numbers = [], []
        for data in self.sets:
            found = self.results.get((data, SLOW), [])
            if found:
                splits = {one["split"] for one in found}
                losses = {
                    name: float(np.mean([one[self.loss] for one in self.results[data, name] if one["split"] in splits]))
                    for name in (*self.names, SLOW)
                }
                best = min((self.names[k] for k in self.peers), key=losses.__getitem__)
                seconds = float(np.mean([one["seconds"] for one in found]))
                numbers.append([*(losses[name] for name in (SLOW, PORTFOLIO, STACK, best)), seconds])
                shown = [f"{value:.4f}" for value in numbers[-1][:4]]
                lines.append([data, *shown[:3], best, shown[3], f"{seconds:.0f}"])
        if not lines:
            return []
        means = np.mean(numbers, axis=0)
        shown = [f"{value:.4f}" for value in means[:4]]
        lines.append(["mean", *shown[:3], "", shown[3], f"{means[4]:.0f}"])
        head = f"data set | {SLOW} | {PORTFOLIO} | stacked | best other peer | its {self.loss} | seconds of {SLOW}"
        title = f"{SLOW} on {len(lines) - 1} of these data sets, beside the others on the same splits:"
        return [title, "", *markdown_table(head, lines, "lrrrlrr"), ""]

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
            alone = self.ranks_among([own, *self.peers])  # without our other methods
            best = int(np.argmin(alone[1:]))
            lines.append(
                [
                    method,
                    "mean rank among the peers only",
                    f"{alone[0]:.4g}",
                    f"{self.names[self.peers[best]]}: {alone[1 + best]:.4g}",
                ]
            )
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
            gaps = {data: self.gap(data, method) for data in self.sets if self.loss == "error"}
            known = {data: gap for data, gap in gaps.items() if not math.isnan(gap.error)}
            if known:
                behind = [f"{data} {gap}" for data, gap in known.items() if gap.is_behind(self.points / 100)]
                aim = f"sets behind by over {self.points} / 100 beyond 2 s.e., of {len(known)} with a standard error"
                lines.append([method, aim, str(len(behind)), "; ".join(behind)])
        return markdown_table("method | aim | ours | best peer", lines, "llrl")


def rank_summary(pages: dict[str, Page]) -> list[str]:
    """The mean ranks with each share of flipped labels, and their mean."""
    ranks = {title: dict(zip(page.names, page.ranks, strict=True)) for title, page in pages.items()}
    names = [name for name in next(iter(ranks.values())) if all(name in one for one in ranks.values())]
    rows = sorted(([float(one[name]) for one in ranks.values()], name) for name in names)
    rows.sort(key=lambda row: np.mean(row[0]))
    lines = [[name, *(f"{rank:.2f}" for rank in (*each, np.mean(each)))] for each, name in rows]
    return markdown_table(" | ".join(["mean rank", *pages, "mean"]), lines, "l" + "r" * (len(pages) + 1))


def _wrong(result: dict[str, Any]) -> Any:
    return np.unpackbits(np.frombuffer(base64.b64decode(result["wrong"]), dtype=np.uint8))


def write_csv(path: Path, stored: Stored) -> None:
    """One row per data set, split, share of flipped labels and method.

    rows, wrong: the number of test rows, and a bit for each that is 1 if it is predicted wrongly, as base 64.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*KEY, *FIELDS])
        by_key = {tuple(json.loads(name)): result for name, result in stored.items()}
        for key in sorted(by_key, key=lambda key: (key[2], key[0], key[1], key[3])):
            writer.writerow([*key, *(_short(by_key[key].get(name, "")) for name in FIELDS)])


def read_csv(path: Path) -> Stored:
    """The results of such a file; none if there is no file."""
    if not path.exists():
        return {}
    stored = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = [row["data"], int(row["split"]), float(row["flipped"]), row["method"]]
            values: dict[str, Any] = {name: float(row[name]) for name in NUMBERS if row[name]}
            values |= {"rows": int(row["rows"])} if row.get("rows") else {}
            stored[json.dumps(key)] = values | {name: row[name] for name in TEXTS if row.get(name)}
    return stored


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
