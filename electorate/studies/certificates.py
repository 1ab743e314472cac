"""Bounds that are proved from the training rows alone, beside that of a held-out fifth, and their coverage.

`electorate reproduce certificates --table 1 [--quick]`: every classification set of the folder. A quarter of the rows
is never used before the end. Table 2: how often each bound is below the true risk where that is known, and how often
without the part of it that pays for the choice. Table 3: cross-fitting in five and ten parts, over several splits.
Results are stored line by line: an interrupted run resumes.
"""

import json
import math
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from electorate import AdaBoostClassifier, CertifiedClassifier, CrossFittedClassifier
from electorate.certified.cross_fitted import HEAVY
from electorate.studies.certificate_coverage import SIMULATED, most_failures, simulate
from electorate.studies.part_counts import MORE, Found, excess, hashes_of, paired, parts_aims, parts_table, split_parts
from electorate.studies.request import Lines, Request, markdown_table
from electorate.studies.worlds import DELTA, worlds
from electorate.theory.binomial import binomial_bound, priced_bound
from electorate.theory.cross_fit import heavy_share

OFFERS = {
    "table 1": "held-out, description and cross-fitted bounds, and test errors, on every classification set; a picture",
    "table 2": "how often each bound fails where the risk is known",
    "table 3": "bounds and test errors of cross-fitting in five and in ten parts, means over several splits",
}
NEEDS_DATA = ("table 1", "table 3")
ROUNDS = 100
AT_ONCE = 500  # draws that are stored as one result
HEADS = (
    "data set | rows | baseline | held-out | five fifths | description | card | cross-fitted | "
    "test errors: these four, all rows"
)
BOUNDS = ("held-out", "description", "card", "cross-fitted")


@dataclass(frozen=True)
class Plan:
    """The most rows of a data set, the most of rows times classes, and the draws of a simulation.

    split_rows, splits: the most rows for several splits, and how many there are.
    """

    rows: int = 20_000
    cells: int = 60_000
    draws: int = 10_000
    split_rows: int = 6_000
    splits: int = 10


FULL = Plan()
QUICK = Plan(rows=300, draws=100, split_rows=300, splits=2)


# ---------------------------------------------------------------- table 1: data sets


def data_sets(request: Request) -> list[dict[str, Any]]:
    """The classification sets that are tables, the smallest first."""
    listed = json.loads((request.data / "DATASETS.json").read_text(encoding="utf-8"))["datasets"]
    tables = [one for one in listed if one["task"] == "classification" and one["file"].endswith(".csv.gz")]
    chosen = [one for one in tables if not request.only or one["name"] in request.only]
    return sorted(chosen, key=lambda one: (one["n_rows"] * one["n_features"] * len(one["classes"]), one["name"]))


def read_set(request: Request, about: dict[str, Any], most: int) -> tuple[Any, NDArray[Any]]:
    """Up to so many rows in random order, categories as texts."""
    import pandas as pd

    table = pd.read_csv(request.data / about["file"])
    table = table.iloc[np.random.default_rng(0).permutation(len(table))[:most]].reset_index(drop=True)
    y = table.pop("target").to_numpy()
    for name in {*about["categorical"], *about["text_columns"]} & set(table.columns):
        column = table[name]
        table[name] = column.astype(object).where(column.isna(), column.astype(str)).astype("category")
    return table, y


def measure(X: Any, y: NDArray[Any], rounds: int) -> dict[str, Any]:
    """Bounds from three quarters of the rows, errors on the last quarter."""
    n = 3 * len(y) // 4
    train, test = (X.iloc[:n], y[:n]), (X.iloc[n:], y[n:])
    plain, fifth = AdaBoostClassifier(n_estimators=rounds), n // 5
    fitted = {
        "held-out": clone(plain).fit(X.iloc[fifth:n], y[fifth:n]),
        "description": CertifiedClassifier(prior_rounds=rounds).fit(*train),
        "card": CertifiedClassifier(prior_rounds=0).fit(*train),
        "cross-fitted": CrossFittedClassifier(plain).fit(*train),
        "all rows": clone(plain).fit(*train),
    }
    missed = {name: model.predict(test[0]) != test[1] for name, model in fitted.items()}
    wrong = int(np.count_nonzero(fitted["held-out"].predict(X.iloc[:fifth]) != y[:fifth]))
    classes, counts = np.unique(y[:n], return_counts=True)
    card = fitted["card"].description_
    return {
        "rows": n,
        "classes": len(classes),
        "baseline": priced_bound(n - int(counts.max()), n, math.log(len(classes) / DELTA)),
        "held-out": binomial_bound(wrong, fifth, 1 - DELTA),
        **{name: float(fitted[name].bound_) for name in BOUNDS[1:]},
        "errors": {name: float(np.mean(rows)) for name, rows in missed.items()},
        "paired": paired(missed["cross-fitted"], missed["all rows"]),
        "heavy": heavy_share(hashes_of(train[0])),
        "voters": fitted["description"].description_.voters,
        "prior voters": fitted["description"].description_.prior_voters,
        "card voters": card.voters,
        "card bits": card.bits,
        "fold errors": fitted["cross-fitted"].part_errors_.tolist(),
        "fold rows": fitted["cross-fitted"].part_rows_.tolist(),
    }


def measure_fifths(X: Any, y: NDArray[Any], rounds: int) -> list[float]:
    """The held-out bound of each fifth of the same three quarters: one of them alone varies much."""
    n = 3 * len(y) // 4
    bounds = []
    for fifth in np.array_split(np.arange(n), 5):
        rest = np.setdiff1d(np.arange(n), fifth)
        model = AdaBoostClassifier(n_estimators=rounds).fit(X.iloc[rest], y[rest])
        wrong = int(np.count_nonzero(model.predict(X.iloc[fifth]) != y[fifth]))
        bounds.append(binomial_bound(wrong, len(fifth), 1 - DELTA))
    return bounds


def measure_set(request: Request, about: dict[str, Any], lines: Lines) -> dict[str, Any]:
    """From the stored results, or computed."""
    plan, rounds = (QUICK, 10) if request.quick else (FULL, ROUNDS)
    table: list[Any] = []

    def read_once() -> tuple[Any, NDArray[Any]]:
        if not table:
            table.extend(read_set(request, about, min(plan.rows, plan.cells // len(about["classes"]))))
        return table[0], table[1]

    name = about["name"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = lines.compute([name], lambda: measure(*read_once(), rounds))
        fifths = lines.compute([name, "fifths"], lambda: measure_fifths(*read_once(), rounds))
    return {**found, "five": fifths, "fifths": float(np.mean(fifths))}


def table_1(request: Request) -> str:
    lines = Lines(request.out / f"table-1{'-quick' if request.quick else ''}.jsonl")
    found = {about["name"]: measure_set(request, about, lines) for about in data_sets(request)}
    rows = []
    for name, one in sorted(found.items()):
        errors = ", ".join(f"{one['errors'][kind]:.3f}" for kind in (*BOUNDS, "all rows"))
        first = f"{one['baseline']:.3f}", f"{one['held-out']:.3f}"
        five = f"{one['fifths']:.3f} ({min(one['five']):.3f}-{max(one['five']):.3f})"
        rows.append([name, one["rows"], *first, five, *(f"{one[kind]:.3f}" for kind in BOUNDS[1:]), errors])
    picture = draw(found, request)
    parts = [
        *markdown_table(HEADS, rows, "lrrrrrrrl"),
        "",
        *aims(found),
        "",
        f"![Each bound beside the held-out one]({picture})",
    ]
    return "\n".join(parts) + "\n"


def aims(found: dict[str, dict[str, Any]]) -> list[str]:
    """How many data sets meet each aim; ratios are to the mean of five held-out bounds, and to that of one fifth."""
    of = {key: np.array([one[key] for one in found.values()]) for key in ("rows", "classes", "baseline", *BOUNDS)}
    errors = {key: np.array([one["errors"][key] for one in found.values()]) for key in (*BOUNDS, "all rows")}
    fewest = np.array([min(one["fold errors"]) for one in found.values()])
    every, large, two = np.ones(len(found), dtype=np.bool_), of["rows"] >= 500, of["classes"] == 2
    counted = (of["rows"] >= 2000) & (fewest >= 20)
    references = np.array([[one["fifths"] for one in found.values()], of["held-out"]])

    def line(text: str, some: Any, met: Any) -> str:
        """met: for one reference, or for both."""
        of_each = [f"{int((some & each).sum())} of {int(some.sum())}" for each in np.atleast_2d(met)]
        return f"- {text}: {of_each[0]}" + (f" (one fifth: {of_each[1]})" if len(of_each) > 1 else "")

    lines = []
    for kind in ("description", "card"):
        lines += [
            line(f"{kind} below the baseline's bound, 500 rows or more", large, of[kind] < of["baseline"]),
            line(f"{kind} below 1/2, two classes and 150 rows or more", two & (of["rows"] >= 150), of[kind] < 0.5),
            line(f"{kind} within 1.5 times the held-out bound", every, of[kind] <= 1.5 * references),
            line(f"{kind} within 1.25 times the held-out bound", every, of[kind] <= 1.25 * references),
        ]
    ratio = of["cross-fitted"] / references
    heavy = np.array([one["heavy"] > HEAVY for one in found.values()])
    more = np.array([excess(one["paired"]) for one in found.values()])  # [set]: points, and their standard error
    above = np.any([errors[kind] > of[kind] for kind in BOUNDS], axis=0)
    return [
        *lines,
        line("cross-fitted within 1.15 times, 2,000 rows and 20 errors or more in each part", counted, ratio <= 1.15),
        line(
            "cross-fitted within 1.3 times, the others with errors in each part", ~counted & (fewest > 0), ratio <= 1.3
        ),
        line("cross-fitted within 1.3 times, some part without errors", fewest == 0, ratio <= 1.3),
        *noise(found, counted, fewest > 0),
        line(
            "test error of the cross-fitted model at most 0.3 points above that of all rows", every, more[:, 0] <= MORE
        ),
        line("the same, without sets where one input has over 5% of the rows", ~heavy, more[:, 0] <= MORE),
        line("beyond 0.3 points by more than two standard errors", every, more[:, 0] - 2 * more[:, 1] > MORE),
        line("below 0.3 points by more than two standard errors", every, more[:, 0] + 2 * more[:, 1] < MORE),
        line("a test error above its bound (four bounds each)", every, above),
    ]


def noise(found: dict[str, dict[str, Any]], counted: Any, some: Any) -> list[str]:
    """How often a bound is within its factor of that of one fifth: the cross-fitted one, and that of another fifth."""
    lines = []
    for factor, chosen in ((1.15, counted), (1.3, ~counted & some)):
        cross, other = [], []
        for one in (one for one, is_chosen in zip(found.values(), chosen, strict=True) if is_chosen):
            five = np.array(one["five"])
            cross += (one["cross-fitted"] <= factor * five).tolist()
            other += (five[:, None] <= factor * five)[~np.eye(len(five), dtype=np.bool_)].tolist()
        text = (
            f"{sum(cross)} of {len(cross)} for the cross-fitted bound, {sum(other)} of {len(other)} for another fifth"
        )
        lines.append(f"- these sets, within {factor:g} times the bound of any one of the five fifths: {text}")
    return lines


def draw(found: dict[str, dict[str, Any]], request: Request) -> str:
    """Bounds against the held-out one."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.subplots()
    for kind, mark in zip(BOUNDS[1:], "os^", strict=True):
        axes.plot(
            [one["fifths"] for one in found.values()], [one[kind] for one in found.values()], mark, label=kind, ms=4
        )
    top = max((one[kind] for one in found.values() for kind in BOUNDS), default=1.0)
    for factor, style in ((1.0, "-"), (1.25, "--"), (1.5, ":")):
        axes.plot([0, top], [0, factor * top], style, color="grey", lw=0.8, label=f"{factor:g} times")
    axes.set(
        xlim=(0, top),
        ylim=(0, top),
        xlabel="bound from a held-out fifth (mean of five)",
        ylabel="bound from the training rows",
    )
    axes.legend()
    request.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(request.out / "certificates.png", dpi=110)
    return "certificates.png"


# ---------------------------------------------------------------- table 2: coverage


def table_2(request: Request) -> str:
    """In each world, how often a bound is below the risk, and in brackets how often it is without its price."""
    draws = (QUICK if request.quick else FULL).draws
    lines, rows = Lines(request.out / f"table-2{'-quick' if request.quick else ''}.jsonl", request.render), []
    for kind in SIMULATED:
        cells = []
        for name in worlds():
            parts = [
                lines.compute([kind, name, seed], partial(simulate, kind, name, min(draws, AT_ONCE), seed))
                for seed in range(math.ceil(draws / AT_ONCE))
            ]
            failed, unpaid = (sum(part[key] for part in parts) for key in ("failed", "unpaid"))
            cells.append(f"{failed:,} ({unpaid:,})")
        rows.append([kind, *cells])
    head = " | ".join(["bound", *worlds()])
    limit = f"{draws:,} draws in each world; at most {most_failures(draws):,} may fail."
    return "\n".join([limit, "", *markdown_table(head, rows, "l" + "r" * len(worlds()))]) + "\n"


# ---------------------------------------------------------------- table 3: the number of parts


def measure_splits(request: Request) -> Found:
    """From the stored results, or computed: the first split of all data sets, then the second."""
    plan, rounds = (QUICK, 10) if request.quick else (FULL, ROUNDS)
    lines = Lines(request.out / f"table-3{'-quick' if request.quick else ''}.jsonl")
    found: Found = {}

    def measured(about: dict[str, Any], seed: int) -> dict[str, Any]:
        most = min(plan.split_rows, plan.cells // len(about["classes"]) // 2)
        return split_parts(*read_set(request, about, most), seed, rounds)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed, about in product(range(plan.splits), data_sets(request)):
            name = about["name"]
            found.setdefault(name, []).append(lines.compute([name, seed], partial(measured, about, seed)))
    return found


def table_3(request: Request) -> str:
    """Means over splits of the same rows."""
    found = measure_splits(request)
    heads, rows = parts_table(found)
    return "\n".join([*markdown_table(heads, rows, "l" + "r" * 10), "", *parts_aims(found)]) + "\n"


def reproduce(request: Request) -> str:
    return {"table 1": table_1, "table 2": table_2, "table 3": table_3}[request.what](request)
