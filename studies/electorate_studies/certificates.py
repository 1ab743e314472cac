"""Bounds that are proved from the training rows alone, beside that of a held-out fifth, and their coverage.

`electorate reproduce certificates --table 1 [--quick]`: every classification set of the folder. A quarter of the rows
is never used before the end. Table 2: how often each bound is below the true risk where that is known, and how often
without the part of it that pays for the choice. Table 3: cross-fitting in 5, 10 and 20 parts, over several splits.
Results are stored line by line: an interrupted run resumes. At the end they are written as a CSV file, from which
`--render` makes the tables and the picture again.
"""

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from electorate import AdaBoostClassifier, CertifiedClassifier, CrossFittedClassifier
from electorate.theory.binomial import binomial_bound, priced_bound
from electorate_studies.binary_sets import listed_sets
from electorate_studies.certificate_aims import ALL_ROWS, BOUNDS, PARTS, Measured, aims, paired, parts_lines
from electorate_studies.certificate_coverage import SIMULATED, most_failures, simulate
from electorate_studies.request import PAPERS, Bools, Request, markdown_table, new_figure, paragraphs
from electorate_studies.runs import Lines, RowDict, stored
from electorate_studies.worlds import DELTA, worlds

OFFERS = PAPERS["certificates"]["offers"]
NEEDS_DATA = ("table 1", "table 3")
AT_ONCE = 500  # draws that are stored as one result
HEADS = (
    "data set | rows | baseline | held-out | five fifths | description | card | cross-fitted | "
    "test errors: these four, all rows"
)
SET = "data set"


@dataclass(frozen=True)
class Plan:
    """The most rows of a data set, the most of rows times classes, draws of a simulation, and rounds of AdaBoost.

    split_rows, splits: the most rows for several splits, and how many there are.
    """

    rows: int = 20_000
    cells: int = 60_000
    draws: int = 10_000
    split_rows: int = 6_000
    splits: int = 10
    rounds: int = 100


FULL = Plan()
QUICK = Plan(rows=300, draws=100, split_rows=300, splits=2, rounds=10)


# ---------------------------------------------------------------- tables 1 and 3: data sets


def data_sets(request: Request) -> list[RowDict]:
    """The classification sets that are tables, the smallest first."""

    def cells(one: RowDict) -> tuple[int, str]:
        return one["n_rows"] * one["n_features"] * len(one["classes"]), one["name"]

    return sorted(listed_sets(request, "classification"), key=cells)


def read_set(request: Request, about: RowDict, most: int) -> tuple[Any, Any]:
    """Up to so many rows in random order, categories as texts."""
    import pandas as pd

    table = pd.read_csv(request.data / about["file"])
    table = table.iloc[np.random.default_rng(0).permutation(len(table))[:most]].reset_index(drop=True)
    y = table.pop("target").to_numpy()
    for name in {*about["categorical"], *about["text_columns"]} & set(table.columns):
        column = table[name]
        table[name] = column.astype(object).where(column.isna(), column.astype(str)).astype("category")
    return table, y


def held_out(plain: Any, X: Any, y: Any, rest: Any, held: Any) -> tuple[float, Any]:
    """The bound by the held-out rows, and the model of the rest."""
    model = clone(plain).fit(X.iloc[rest], y[rest])
    wrong = int(np.count_nonzero(model.predict(X.iloc[held]) != y[held]))
    return binomial_bound(wrong, len(held), 1 - DELTA), model


def measure(X: Any, y: Any, rounds: int) -> RowDict:
    """Bounds from three quarters of the rows, errors on the last quarter."""
    from pandas.util import hash_pandas_object

    n = 3 * len(y) // 4
    train, test = (X.iloc[:n], y[:n]), (X.iloc[n:], y[n:])
    plain, rows = AdaBoostClassifier(n_estimators=rounds), np.arange(n)
    bound, model = held_out(plain, X, y, rows[n // 5 :], rows[: n // 5])
    fitted = {
        "held-out": model,
        "description": CertifiedClassifier(prior_rounds=rounds).fit(*train),
        "card": CertifiedClassifier(prior_rounds=0).fit(*train),
        "cross-fitted": CrossFittedClassifier(plain).fit(*train),
        ALL_ROWS: clone(plain).fit(*train),
    }
    missed = {name: model.predict(test[0]) != test[1] for name, model in fitted.items()}
    counts = np.unique(y[:n], return_counts=True)[1]
    described, card = fitted["description"].description_, fitted["card"].description_
    return {
        "rows": n,
        "classes": len(counts),
        "baseline": priced_bound(n - int(counts.max()), n, math.log(len(counts) / DELTA)),
        "held-out": bound,
        **{name: float(fitted[name].bound_) for name in BOUNDS[1:]},
        "errors": {name: float(np.mean(rows)) for name, rows in missed.items()},
        "paired": paired(missed["cross-fitted"], missed[ALL_ROWS]),
        "heavy": float(hash_pandas_object(train[0], index=False).value_counts().iloc[0] / n),
        "voters": described.voters,
        "prior voters": described.prior_voters,
        "card voters": card.voters,
        "card bits": card.bits,
        "fold errors": fitted["cross-fitted"].part_errors_.tolist(),
        "fold rows": fitted["cross-fitted"].part_rows_.tolist(),
    }


def measure_fifths(X: Any, y: Any, rounds: int) -> list[float]:
    """The held-out bound of each fifth of the same three quarters: one of them alone varies much."""
    rows, plain = np.arange(3 * len(y) // 4), AdaBoostClassifier(n_estimators=rounds)
    return [held_out(plain, X, y, np.setdiff1d(rows, fifth), fifth)[0] for fifth in np.array_split(rows, 5)]


def measure_parts(X: Any, y: Any, seed: int, rounds: int) -> RowDict:
    """One split: a held-out fifth of three quarters of the rows, cross-fitting, and errors on the last quarter."""
    order = np.random.default_rng([seed, 3]).permutation(len(y))
    n = 3 * len(y) // 4
    train, test = order[:n], order[n:]
    plain = AdaBoostClassifier(n_estimators=rounds)
    bound, model = held_out(plain, X, y, train[n // 5 :], train[: n // 5])

    def missed(model: Any) -> Bools:
        return np.asarray(model.predict(X.iloc[test]) != y[test])

    of_all = missed(clone(plain).fit(X.iloc[train], y[train]))
    found = {
        "rows": n,
        "held-out": bound,
        "error": float(of_all.mean()),
        "paired held-out": paired(missed(model), of_all),
    }
    for number in PARTS:
        model = CrossFittedClassifier(plain, n_folds=number).fit(X.iloc[train], y[train])
        found[f"bound {number}"] = float(model.bound_)
        found[f"errors {number}"] = model.part_errors_.tolist()
        found[f"paired {number}"] = paired(missed(model), of_all)
    return found


def _on_rows(measured: Any, read: Any, rounds: int) -> Any:
    return measured(*read(), rounds)


def plan_of(request: Request) -> Plan:
    return QUICK if request.quick else FULL


def lines_of(request: Request) -> Lines:
    """The stored results of a table."""
    return Lines(request.results(request.name, "jsonl"), request.render)


def table_1(request: Request) -> str:
    plan, lines = plan_of(request), lines_of(request)

    def computed() -> list[RowDict]:
        rows = []
        for about in data_sets(request):
            most = min(plan.rows, plan.cells // len(about["classes"]))
            read = lru_cache(partial(read_set, request, about, most))
            found = dict(lines.compute([about["name"]], partial(_on_rows, measure, read, plan.rounds)))
            key = [about["name"], "fifths"]
            five = lines.compute(key, partial(_on_rows, measure_fifths, read, plan.rounds))
            errors = {f"error, {kind}": error for kind, error in found.pop("errors").items()}
            rows.append({SET: about["name"], **found, **errors, "five": five})
        return sorted(rows, key=lambda row: row[SET])

    found = {row.pop(SET): row for row in stored(request, "certificates", computed, (SET,), lines=True)}
    rows = []
    for name, one in found.items():
        errors = ", ".join(f"{one[f'error, {kind}']:.3f}" for kind in (*BOUNDS, ALL_ROWS))
        first = f"{one['baseline']:.3f}", f"{one['held-out']:.3f}"
        five = f"{np.mean(one['five']):.3f} ({min(one['five']):.3f}-{max(one['five']):.3f})"
        rows.append([name, one["rows"], *first, five, *(f"{one[kind]:.3f}" for kind in BOUNDS[1:]), errors])
    draw(found, request)
    return "\n".join([*aims(found), *paragraphs(markdown_table(HEADS, rows, "lrrrrrrrl"))])


def draw(found: Measured, request: Request) -> None:
    """Bounds against the held-out one: certificates.png."""
    figure, ((axes,),) = new_figure(1, 1, (6.4, 6.0))
    references = [np.mean(one["five"]) for one in found.values()]
    for kind, mark in zip(BOUNDS[1:], "os^", strict=True):
        axes.plot(references, [one[kind] for one in found.values()], mark, label=kind, ms=4)
    top = max((one[kind] for one in found.values() for kind in BOUNDS), default=1.0)
    for factor, style in ((1.0, "-"), (1.25, "--"), (1.5, ":")):
        axes.plot([0, top], [0, factor * top], style, color="grey", lw=0.8, label=f"{factor:g} times")
    titles = {"xlabel": "bound from a held-out fifth (mean of five)", "ylabel": "bound from the training rows"}
    axes.set(xlim=(0, top), ylim=(0, top), **titles)
    axes.legend()
    figure.savefig(request.out / "certificates.png", dpi=110)


def table_3(request: Request) -> str:
    """Means over splits of the same rows: the first split of all data sets, then the second."""
    plan, lines = plan_of(request), lines_of(request)

    def measured(about: RowDict, seed: int) -> RowDict:
        most = min(plan.split_rows, plan.cells // len(about["classes"]) // 2)
        return measure_parts(*read_set(request, about, most), seed, plan.rounds)

    def computed() -> list[RowDict]:
        rows = []
        for seed, about in product(range(plan.splits), data_sets(request)):
            found = lines.compute([about["name"], seed], partial(measured, about, seed))
            rows.append({SET: about["name"], **found})
        return sorted(rows, key=lambda row: row[SET])

    found: dict[str, list[RowDict]] = {}
    for row in stored(request, "certificates", computed, (SET,), lines=True):
        found.setdefault(row.pop(SET), []).append(row)
    return "\n".join(parts_lines(found))


# ---------------------------------------------------------------- table 2: coverage


def table_2(request: Request) -> str:
    """In each world, how often a bound is below the risk, and in brackets how often it is without its price."""
    draws, columns, lines = plan_of(request).draws, ("bound", "world"), lines_of(request)

    def computed() -> list[RowDict]:
        counts: dict[tuple[str, str], dict[str, int]] = {}
        for kind, seed, name in product(SIMULATED, range(math.ceil(draws / AT_ONCE)), worlds()):
            if request.render and not lines.has([kind, name, seed]):
                continue
            found = lines.compute([kind, name, seed], partial(simulate, kind, name, min(draws, AT_ONCE), seed))
            sums = counts.setdefault((kind, name), dict.fromkeys(found, 0))
            counts[kind, name] = {key: sums[key] + found[key] for key in found}
        return [{**dict(zip(columns, key, strict=True)), **sums} for key, sums in counts.items()]

    cells: dict[str, list[str]] = {}
    for row in stored(request, "certificates", computed, columns, lines=True):
        fewer = f" of {row['draws']:,}" if row["draws"] < draws else ""
        cells.setdefault(row["bound"], []).append(f"{row['failed']:,} ({row['unpaid']:,}){fewer}")
    limit = f"{draws:,} draws in each world, or as many as it says; at most {most_failures(draws):,} of these may fail."
    table = markdown_table(" | ".join(["bound", *worlds()]), ([kind, *cells[kind]] for kind in cells), "lrrrrrr")
    return "\n".join(paragraphs(limit, table))


def reproduce(request: Request) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"table 1": table_1, "table 2": table_2, "table 3": table_3}[request.what](request)
