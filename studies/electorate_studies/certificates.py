"""Bounds that are proved from the training rows alone, beside that of a held-out fifth, and their coverage.

`electorate reproduce certificates --table 1 [--quick]`: every classification set of the folder. A quarter of the rows
is never used before the end. Table 2: how often each bound is below the true risk where that is known, and how often
without the part of it that pays for the choice. Table 3: cross-fitting in 5, 10 and 20 parts, over several splits.
Results are stored line by line: an interrupted run resumes. At the end they are written as a CSV file, from which
`--render` makes the tables and the picture again.
"""

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from electorate import AdaBoostClassifier, CertifiedClassifier, CrossFittedClassifier
from electorate.theory.binomial import binomial_bound, priced_bound
from electorate.theory.cross_fit import heavy_share
from electorate_studies.certificate_aims import ALL_ROWS, BOUNDS, Measured, aims
from electorate_studies.certificate_coverage import SIMULATED, most_failures, simulate
from electorate_studies.part_counts import Found, hashes_of, paired, parts_aims, parts_table, split_parts
from electorate_studies.request import Lines, Request, markdown_table, stored_rows, write_rows
from electorate_studies.worlds import DELTA, worlds

OFFERS = {
    "table 1": "held-out, description and cross-fitted bounds, and test errors, on every classification set; a picture",
    "table 2": "how often each bound fails where the risk is known",
    "table 3": "bounds and test errors of cross-fitting in 5, 10 and 20 parts, means over several splits",
}
NEEDS_DATA = ("table 1", "table 3")
ROUNDS = 100
AT_ONCE = 500  # draws that are stored as one result
HEADS = (
    "data set | rows | baseline | held-out | five fifths | description | card | cross-fitted | "
    "test errors: these four, all rows"
)
SET = "data set"


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
    flat = {key: value for key, value in found.items() if key != "errors"}
    return {**flat, **{f"error, {kind}": error for kind, error in found["errors"].items()}, "five": fifths}


def table_1(request: Request) -> str:
    def computed() -> list[dict[str, Any]]:
        lines = _lines(request)
        found = {about["name"]: measure_set(request, about, lines) for about in data_sets(request)}
        return [{SET: name, **one} for name, one in sorted(found.items())]

    found = {row.pop(SET): row for row in _stored(request, computed, (SET,))}
    rows = []
    for name, one in found.items():
        errors = ", ".join(f"{one[f'error, {kind}']:.3f}" for kind in (*BOUNDS, ALL_ROWS))
        first = f"{one['baseline']:.3f}", f"{one['held-out']:.3f}"
        five = f"{np.mean(one['five']):.3f} ({min(one['five']):.3f}-{max(one['five']):.3f})"
        rows.append([name, one["rows"], *first, five, *(f"{one[kind]:.3f}" for kind in BOUNDS[1:]), errors])
    draw(found, request)
    return "\n".join([*aims(found), "", *markdown_table(HEADS, rows, "lrrrrrrrl")]) + "\n"


def _stored(request: Request, compute: Callable[[], list[dict[str, Any]]], texts: tuple[str, ...]) -> Any:
    """The rows of the CSV file of a table; they are computed and written unless it is only to be rendered.

    Without a CSV file, `--render` makes it from the lines that are stored.
    """
    path = request.results(f"certificates-{request.what.replace(' ', '-')}")
    if not (request.render and path.exists()):
        write_rows(path, compute())
    return stored_rows(path, texts)


def _lines(request: Request) -> Lines:
    """The stored results of a table."""
    name = request.what.replace(" ", "-") + ("-quick" if request.quick else "")
    return Lines(request.out / f"{name}.jsonl", request.render)


def draw(found: Measured, request: Request) -> None:
    """Bounds against the held-out one: certificates.png."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.subplots()
    references = [np.mean(one["five"]) for one in found.values()]
    for kind, mark in zip(BOUNDS[1:], "os^", strict=True):
        axes.plot(references, [one[kind] for one in found.values()], mark, label=kind, ms=4)
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


# ---------------------------------------------------------------- table 2: coverage


def table_2(request: Request) -> str:
    """In each world, how often a bound is below the risk, and in brackets how often it is without its price."""
    draws, columns = (QUICK if request.quick else FULL).draws, ("bound", "world")

    def computed() -> list[dict[str, Any]]:
        lines = _lines(request)
        counts: dict[tuple[str, str], dict[str, int]] = {}
        for kind, seed, name in product(SIMULATED, range(math.ceil(draws / AT_ONCE)), worlds()):
            if request.render and not lines.has([kind, name, seed]):
                continue
            found = lines.compute([kind, name, seed], partial(simulate, kind, name, min(draws, AT_ONCE), seed))
            sums = counts.setdefault((kind, name), dict.fromkeys(found, 0))
            counts[kind, name] = {key: sums[key] + found[key] for key in found}
        return [{**dict(zip(columns, key, strict=True)), **sums} for key, sums in counts.items()]

    cells: dict[str, list[str]] = {}
    for row in _stored(request, computed, columns):
        fewer = f" of {row['draws']:,}" if row["draws"] < draws else ""
        cells.setdefault(row["bound"], []).append(f"{row['failed']:,} ({row['unpaid']:,}){fewer}")
    limit = f"{draws:,} draws in each world, or as many as it says; at most {most_failures(draws):,} of these may fail."
    table = markdown_table(" | ".join(["bound", *worlds()]), ([kind, *cells[kind]] for kind in cells), "lrrrrrr")
    return "\n".join([limit, "", *table]) + "\n"


# ---------------------------------------------------------------- table 3: the number of parts


def measure_splits(request: Request) -> Found:
    """From the stored results, or computed: the first split of all data sets, then the second."""
    plan, rounds = (QUICK, 10) if request.quick else (FULL, ROUNDS)
    lines = _lines(request)
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

    def computed() -> list[dict[str, Any]]:
        return [{SET: name, **one} for name, splits in sorted(measure_splits(request).items()) for one in splits]

    found: Found = {}
    for row in _stored(request, computed, (SET,)):
        found.setdefault(row.pop(SET), []).append(row)
    return "\n".join([*parts_aims(found), "", *parts_table(found)]) + "\n"


def reproduce(request: Request) -> str:
    return {"table 1": table_1, "table 2": table_2, "table 3": table_3}[request.what](request)
