"""Bounds that are proved from the training rows alone, beside that of a held-out fifth, and their coverage.

`electorate reproduce certificates --table 1 [--quick]`: every classification set of the folder. A quarter of the rows
is never used before the end. Table 2: how often each bound is below the true risk where that is known, and how often
without the part of it that pays for the choice. Results are stored line by line: an interrupted run resumes.
"""

import json
import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from electorate import AdaBoostClassifier, CertifiedClassifier, CrossFittedClassifier
from electorate.studies.request import Lines, Request, markdown_table
from electorate.theory.binomial import binomial_bound, priced_bound
from electorate.theory.bounds import total
from electorate.theory.cross_fit import routed_bound

OFFERS = {
    "table 1": "held-out, description and cross-fitted bounds, and test errors, on every classification set; a picture",
    "table 2": "how often each bound fails where the risk is known",
}
NEEDS_DATA = ("table 1",)
DELTA = 0.05
ROUNDS = 100
AT_ONCE = 500  # draws that are stored as one result
HEADS = "data set | rows | baseline | held-out | description | card | cross-fitted | test errors: these four, all rows"
BOUNDS = ("held-out", "description", "card", "cross-fitted")
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """The most rows of a data set, and the draws of a simulation."""

    rows: int = 20_000
    draws: int = 10_000


FULL = Plan()
QUICK = Plan(rows=300, draws=100)


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
    errors = {name: float(np.mean(model.predict(test[0]) != test[1])) for name, model in fitted.items()}
    wrong = int(np.count_nonzero(fitted["held-out"].predict(X.iloc[:fifth]) != y[:fifth]))
    classes, counts = np.unique(y[:n], return_counts=True)
    card = fitted["card"].description_
    return {
        "rows": n,
        "classes": len(classes),
        "baseline": priced_bound(n - int(counts.max()), n, math.log(len(classes) / DELTA)),
        "held-out": binomial_bound(wrong, fifth, 1 - DELTA),
        **{name: float(fitted[name].bound_) for name in BOUNDS[1:]},
        "errors": errors,
        "voters": fitted["description"].description_.voters,
        "prior voters": fitted["description"].description_.prior_voters,
        "card voters": card.voters,
        "card bits": card.bits,
        "fold errors": fitted["cross-fitted"].part_errors_.tolist(),
    }


def measure_set(request: Request, about: dict[str, Any], most: int, rounds: int) -> dict[str, Any]:
    return measure(*read_set(request, about, most), rounds)


def table_1(request: Request) -> str:
    plan, rounds = (QUICK, 10) if request.quick else (FULL, ROUNDS)
    lines, found = Lines(request.out / f"table-1{'-quick' if request.quick else ''}.jsonl"), {}
    for about in data_sets(request):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[about["name"]] = lines.compute(
                [about["name"]], partial(measure_set, request, about, plan.rows, rounds)
            )
    rows = []
    for name, one in sorted(found.items()):
        errors = ", ".join(f"{one['errors'][kind]:.3f}" for kind in (*BOUNDS, "all rows"))
        rows.append([name, one["rows"], *(f"{one[kind]:.3f}" for kind in ("baseline", *BOUNDS)), errors])
    picture = draw(found, request)
    parts = [
        *markdown_table(HEADS, rows, "lrrrrrrl"),
        "",
        *aims(found),
        "",
        f"![Each bound beside the held-out one]({picture})",
    ]
    return "\n".join(parts) + "\n"


def aims(found: dict[str, dict[str, Any]]) -> list[str]:
    """How many data sets meet each aim."""
    of = {key: np.array([one[key] for one in found.values()]) for key in ("rows", "classes", "baseline", *BOUNDS)}
    errors = {key: np.array([one["errors"][key] for one in found.values()]) for key in (*BOUNDS, "all rows")}
    fewest = np.array([min(one["fold errors"]) for one in found.values()])
    every, large, two = np.ones(len(found), dtype=np.bool_), of["rows"] >= 500, of["classes"] == 2
    counted = (of["rows"] >= 2000) & (fewest >= 20)
    lines = []
    for kind in ("description", "card"):
        lines += [
            (f"{kind} below the baseline's bound, 500 rows or more", large, of[kind] < of["baseline"]),
            (f"{kind} below 1/2, two classes and 150 rows or more", two & (of["rows"] >= 150), of[kind] < 0.5),
            (f"{kind} within 1.5 times the held-out bound", every, of[kind] <= 1.5 * of["held-out"]),
            (f"{kind} within 1.25 times the held-out bound", every, of[kind] <= 1.25 * of["held-out"]),
        ]
    ratio = of["cross-fitted"] / of["held-out"]
    near = errors["cross-fitted"] <= errors["all rows"] + 0.003
    above = np.any([errors[kind] > of[kind] for kind in BOUNDS], axis=0)
    lines += [
        ("cross-fitted within 1.15 times, 2,000 rows and 20 errors or more in each part", counted, ratio <= 1.15),
        ("cross-fitted within 1.3 times, the others with errors in each part", ~counted & (fewest > 0), ratio <= 1.3),
        ("cross-fitted within 1.3 times, some part without errors", fewest == 0, ratio <= 1.3),
        ("test error of the cross-fitted model at most 0.3 points above that of all rows", every, near),
        ("a test error above its bound (four bounds each)", every, above),
    ]
    return [f"- {text}: {int((some & met).sum())} of {int(some.sum())}" for text, some, met in lines]


def draw(found: dict[str, dict[str, Any]], request: Request) -> str:
    """Bounds against the held-out one."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.subplots()
    for kind, mark in zip(BOUNDS[1:], "os^", strict=True):
        axes.plot(
            [one["held-out"] for one in found.values()], [one[kind] for one in found.values()], mark, label=kind, ms=4
        )
    top = max((one[kind] for one in found.values() for kind in BOUNDS), default=1.0)
    for factor, style in ((1.0, "-"), (1.25, "--"), (1.5, ":")):
        axes.plot([0, top], [0, factor * top], style, color="grey", lw=0.8, label=f"{factor:g} times")
    axes.set(xlim=(0, top), ylim=(0, top), xlabel="bound from a held-out fifth", ylabel="bound from the training rows")
    axes.legend()
    request.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(request.out / "certificates.png", dpi=110)
    return "certificates.png"


# ---------------------------------------------------------------- table 2: coverage


class World(NamedTuple):
    """Inputs with their probabilities, and that of label 1 given each: the risk of any predictor is a finite sum."""

    inputs: NDArray[np.float64]
    shares: NDArray[np.float64]
    positive: NDArray[np.float64]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], Ints]:
        chosen = rng.choice(len(self.shares), n, p=self.shares)
        return self.inputs[chosen], (rng.random(n) < self.positive[chosen]).astype(np.int64)

    def risk(self, predicted: Ints) -> float:
        """predicted: for every input."""
        return float(self.shares @ np.where(predicted == 1, 1 - self.positive, self.positive))


def worlds() -> dict[str, World]:
    """Coins, heavy imbalance, and an input that holds two fifths of the rows; values repeat, so that cuts tie."""
    bits = np.array([[(number >> place) & 1 for place in range(7)] for number in range(128)], dtype=np.float64)
    even = np.full(128, 1 / 128)
    heavy = np.where(np.arange(128) == 5, 0.4, 0.6 / 127)
    return {
        "coins": World(bits, even, np.full(128, 0.5)),
        "imbalance": World(bits, even, np.full(128, 0.04)),
        "duplicates": World(bits, heavy, np.where(bits[:, 0] + bits[:, 1] > 1, 0.9, 0.2)),
    }


def held_out(world: World, X: Any, y: Ints) -> tuple[float, float, float]:
    """The bound, the bound on rows that took part, and the risk (of the first model, of the second: the larger)."""
    tree, n = DecisionTreeClassifier(random_state=0), len(y) // 2
    first, whole = clone(tree).fit(X[n:], y[n:]), clone(tree).fit(X, y)
    fair = binomial_bound(int((first.predict(X[:n]) != y[:n]).sum()), n, 1 - DELTA)
    unfair = binomial_bound(int((whole.predict(X[:n]) != y[:n]).sum()), n, 1 - DELTA)
    risks = [world.risk(model.predict(world.inputs)) for model in (first, whole)]
    return fair - risks[0], unfair - risks[1], risks[0]


def description(world: World, X: Any, y: Ints) -> tuple[float, float, float]:
    model = CertifiedClassifier(n_estimators=2, max_terms=1, prior_rounds=0, prior_fractions=(0.2,)).fit(X, y)
    about, risk = model.description_, world.risk(model.predict(world.inputs))
    return model.bound_ - risk, binomial_bound(about.errors, about.rows, 1 - DELTA) - risk, risk


def cross_fitted(world: World, X: Any, y: Ints) -> tuple[float, float, float]:
    """Without: every part is answered by a model that was trained on it."""
    tree = DecisionTreeClassifier(random_state=0)
    model = CrossFittedClassifier(tree, n_folds=3).fit(X, y)
    risk = world.risk(model.predict(world.inputs))
    whole, part = clone(tree).fit(X, y), model._parts(X)[1]
    seen = np.bincount(part[whole.predict(X) != y], minlength=3)
    unfair = total(routed_bound(seen.tolist(), model.part_rows_.tolist(), DELTA))
    return model.bound_ - risk, unfair - world.risk(whole.predict(world.inputs)), risk


SIMULATED = {"held-out": held_out, "description": description, "cross-fitted": cross_fitted}


def simulate(kind: str, world: World, draws: int, n: int = 60, seed: int = 0) -> dict[str, Any]:
    """How often the bound, and the bound without its price, are below the risk."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of heavy inputs
        found = np.array([SIMULATED[kind](world, *world.draw(n, rng)) for _ in range(draws)])
    return {"draws": draws, "failed": int((found[:, 0] < 0).sum()), "unpaid": int((found[:, 1] < 0).sum())}


def most_failures(draws: int) -> int:
    """The 99.9% quantile of the failures of a bound that fails with probability delta."""
    return int(binom.ppf(0.999, draws, DELTA))


def table_2(request: Request) -> str:
    draws = (QUICK if request.quick else FULL).draws
    lines, rows = Lines(request.out / f"table-2{'-quick' if request.quick else ''}.jsonl"), []
    for kind in SIMULATED:
        for name, world in worlds().items():
            parts = [
                lines.compute([kind, name, seed], partial(simulate, kind, world, min(draws, AT_ONCE), seed=seed))
                for seed in range(math.ceil(draws / AT_ONCE))
            ]
            failed, unpaid = (sum(part[key] for part in parts) for key in ("failed", "unpaid"))
            rows.append([kind, name, draws, failed, most_failures(draws), unpaid])
    head = "bound | world | draws | failed | at most | failed without its price"
    return "\n".join(markdown_table(head, rows, "llrrrr")) + "\n"


def reproduce(request: Request) -> str:
    return {"table 1": table_1, "table 2": table_2}[request.what](request)
