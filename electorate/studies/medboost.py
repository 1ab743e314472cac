"""MedBoost on eight problems: error by rounds beside AdaBoost.R2 and gradient boosting, outliers, intervals.

`python -m electorate.studies.medboost --splits 20 --rounds 1000 --out FOLDER` reads the sets from the folder named by
ELECTORATE_DATA (default ../shared/data). What is done is kept in FOLDER/medboost.jsonl; the command goes on from it.
"""

import argparse
import json
import math
import os
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor

from electorate import AdaBoostRegressor, MedBoostRegressor

Floats = NDArray[np.float64]
SETS = (
    "abalone",
    "boston_housing",
    "concrete",
    "auto_mpg",
    "california_housing",
    "friedman1",
    "friedman2",
    "friedman3",
)
FRIEDMAN = {  # how they are made, and the noise: Breiman's
    "friedman1": (make_friedman1, 1.0),
    "friedman2": (make_friedman2, 125.0),
    "friedman3": (make_friedman3, 0.1),
}
FRIEDMAN_ROWS = 2_000
MOST_ROWS = 5_000  # of a set, drawn anew in every split
PARTS = {"train": 0.5, "validation": 0.15, "calibration": 0.15, "test": 0.2}
SHARES = (0.125, 0.25, 0.5, 1.0)  # of the median distance of the targets from their median: eps
RULES: dict[str, list[dict[str, Any]]] = {
    "zero_one": [
        *({"rho": "adaptive", "nu": nu} for nu in (0.05, 0.2, 0.5)),
        *({"rho": rho} for rho in (-0.7, -0.4, -0.1, 0.2)),
    ],
    "linear": [{"rho": "adaptive", "nu": nu} for nu in (0.05, 0.2, 0.5, 1.0)],
}
TRY_ROUNDS = 100  # in which eps and rho are chosen; the rounds are then chosen among all
AT = (10, 100, 1000)
COVERAGE = 0.9
BAD = 0.1  # of the rows that are fitted, with targets that are far off
FAR = 20.0  # times the median distance


@dataclass(frozen=True)
class Part:
    X: Floats
    y: Floats


Parts = dict[str, Part]


# ---------------------------------------------------------------- data


def read(name: str, folder: Path, seed: int) -> Part:
    """A set; categories as codes in their order. Friedman's are drawn anew."""
    if name in FRIEDMAN:
        make, noise = FRIEDMAN[name]
        return Part(*make(n_samples=FRIEDMAN_ROWS, noise=noise, random_state=seed))
    import pandas as pd

    table = pd.read_csv(folder / f"{name}.csv.gz")
    columns = [_numbers(table[column]) for column in table.columns[:-1]]
    return Part(np.stack(columns, axis=1), table["target"].to_numpy(dtype=np.float64))


def _numbers(column: Any) -> Floats:
    if column.dtype.kind in "iufb":
        return np.asarray(column.to_numpy(), dtype=np.float64)
    codes = np.asarray(column.astype("category").cat.codes.to_numpy(), dtype=np.float64)
    return np.where(codes < 0, np.nan, codes)


def split(data: Part, seed: int, most: int = MOST_ROWS) -> Parts:
    """Four parts at random: to fit, to choose by, to calibrate, to test."""
    order = np.random.default_rng(seed).permutation(len(data.y))[:most]
    ends = np.rint(np.cumsum([0.0, *PARTS.values()]) * len(order)).astype(np.int64)
    rows = {name: order[low:high] for name, low, high in zip(PARTS, ends, ends[1:], strict=False)}
    return {name: Part(data.X[mine], data.y[mine]) for name, mine in rows.items()}


def spoiled(parts: Parts, seed: int) -> Parts:
    """A tenth of the rows to fit and to choose by get targets that are far off, either way."""
    rng = np.random.default_rng(seed)
    far = FAR * typical(parts["train"].y)
    changed = dict(parts)
    for name in ("train", "validation"):
        y = parts[name].y.copy()
        bad = rng.random(len(y)) < BAD
        y[bad] += far * rng.choice([-1.0, 1.0], int(bad.sum())) * (1 + rng.random(int(bad.sum())))
        changed[name] = Part(parts[name].X, y)
    return changed


def typical(y: Floats) -> float:
    """The median distance from the median."""
    return float(np.median(np.abs(y - np.median(y)))) or 1.0


# ---------------------------------------------------------------- contenders


@dataclass(frozen=True)
class Curve:
    """Mean absolute errors by rounds, and the model."""

    validation: Floats
    test: Floats
    model: Any

    @property
    def chosen(self) -> int:
        """The rounds with the least error on the rows to choose by."""
        return int(np.argmin(self.validation)) + 1

    def figures(self) -> dict[str, float]:
        """After 10, 100, ... rounds, or all there are; at the chosen rounds; at the end."""
        last = len(self.test)
        by_rounds = {str(at): float(self.test[min(at, last) - 1]) for at in AT}
        more = {"chosen": float(self.test[self.chosen - 1]), "end": float(self.test[-1])}
        return {**by_rounds, **more, "T": float(self.chosen), "rounds": float(last)}


def curve(model: Any, parts: Parts) -> Curve:
    """Of a fitted model; of one without voters, its one prediction."""
    judged, tested = parts["validation"], parts["test"]
    cut = len(judged.y)
    X = np.concatenate([judged.X, tested.X])
    errors = [
        (np.abs(said[:cut] - judged.y).mean(), np.abs(said[cut:] - tested.y).mean()) for said in _stages(model, X)
    ]
    both = np.array(errors, dtype=np.float64)
    return Curve(both[:, 0], both[:, 1], model)


def _stages(model: Any, X: Floats) -> Any:
    some = False
    for said in model.staged_predict(X):
        some = True
        yield said
    if not some:
        yield model.predict(X)


def fit_medboost(parts: Parts, cost: str, rounds: int) -> tuple[Curve, dict[str, Any]]:
    """eps and rho by the rows to choose by, in the first rounds; then all rounds."""
    train, scale = parts["train"], typical(parts["train"].y)
    best: tuple[float, dict[str, Any]] = (math.inf, {})
    for share, rule in product(SHARES, RULES[cost]):
        options = {"cost": cost, "eps": share * scale, "n_jobs": 1, **rule}
        model = MedBoostRegressor(n_estimators=min(TRY_ROUNDS, rounds), **options).fit(train.X, train.y)
        judged = parts["validation"]
        error = min(float(np.abs(said - judged.y).mean()) for said in _stages(model, judged.X))
        if error < best[0]:
            best = error, options
    model = MedBoostRegressor(n_estimators=rounds, **best[1]).fit(train.X, train.y)
    return curve(model, parts), {"eps": best[1]["eps"] / scale, "rho": best[1]["rho"], "nu": best[1].get("nu")}


def fit_others(parts: Parts, rounds: int) -> dict[str, Curve]:
    train = parts["train"]
    models = {
        "AdaBoost.R2": AdaBoostRegressor(n_estimators=rounds, n_jobs=1),
        "gradient boosting, absolute error": gradient(rounds, "absolute_error"),
        "gradient boosting, least squares": gradient(rounds, "squared_error"),
    }
    return {name: curve(model.fit(train.X, train.y), parts) for name, model in models.items()}


def gradient(rounds: int, loss: str, quantile: float | None = None) -> Any:
    return HistGradientBoostingRegressor(
        loss=loss, quantile=quantile, max_iter=rounds, max_depth=3, early_stopping=False
    )


# ---------------------------------------------------------------- intervals


def intervals(parts: Parts, options: dict[str, Any], chosen: dict[str, int]) -> dict[str, tuple[float, float]]:
    """Coverage and mean width on the test rows. chosen: rounds of MedBoost and of gradient boosting."""
    train, cal, test = parts["train"], parts["calibration"], parts["test"]
    model = MedBoostRegressor(n_estimators=chosen["MedBoost"], n_jobs=1, **options).fit(train.X, train.y)
    found = {"MedBoost, conformal": model.calibrate(cal.X, cal.y).predict_interval(test.X, coverage=COVERAGE)}
    low, high = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
    ends = [gradient(100, "quantile", q).fit(train.X, train.y) for q in (low, high)]
    said = [[one.predict(part.X) for one in ends] for part in (cal, test)]
    found["quantile boosting"] = (said[1][0], said[1][1])
    score = np.maximum(said[0][0] - cal.y, cal.y - said[0][1])
    rank = math.ceil((len(cal.y) + 1) * COVERAGE)
    more = float(np.sort(score)[rank - 1]) if rank <= len(score) else math.inf
    found["quantile boosting, conformal"] = (said[1][0] - more, said[1][1] + more)
    mapie = by_mapie(parts, chosen["gradient boosting, absolute error"])
    if mapie is not None:
        found["MAPIE, gradient boosting"] = mapie
    return {name: _judged(one, test.y) for name, one in found.items()}


def by_mapie(parts: Parts, rounds: int) -> tuple[Floats, Floats] | None:
    """MAPIE's split conformal intervals around gradient boosting by the absolute error; None if it is not installed."""
    if find_spec("mapie") is None:
        return None
    SplitConformalRegressor = import_module("mapie.regression").SplitConformalRegressor
    train, cal, test = parts["train"], parts["calibration"], parts["test"]
    model = gradient(rounds, "absolute_error").fit(train.X, train.y)
    mapie = SplitConformalRegressor(model, confidence_level=COVERAGE, prefit=True).conformalize(cal.X, cal.y)
    _, ends = mapie.predict_interval(test.X)
    return ends[:, 0, 0], ends[:, 1, 0]


def _judged(ends: tuple[Floats, Floats], y: Floats) -> tuple[float, float]:
    low, high = ends
    return float(np.mean((low <= y) & (y <= high))), float(np.mean(high - low))


# ---------------------------------------------------------------- the study


def unit(name: str, seed: int, folder: Path, rounds: int, most: int = MOST_ROWS) -> dict[str, Any]:
    """All figures of one split of one set."""
    began = time.perf_counter()
    parts = split(read(name, folder, seed), seed, most)
    median, options = fit_medboost(parts, "zero_one", rounds)
    linear, linear_options = fit_medboost(parts, "linear", rounds)
    curves = {"MedBoost": median, "MedBoost, linear cost": linear, **fit_others(parts, rounds)}
    scale = typical(parts["train"].y)
    given = {"cost": "zero_one", "eps": options["eps"] * scale, "rho": options["rho"]}
    if options["nu"] is not None:
        given["nu"] = options["nu"]
    chosen = {algorithm: one.chosen for algorithm, one in curves.items()}
    return {
        "set": name,
        "split": seed,
        "rows": len(parts["train"].y),
        "asked": rounds,
        "errors": {algorithm: one.figures() for algorithm, one in curves.items()},
        "options": {"MedBoost": options, "MedBoost, linear cost": linear_options},
        "spoiled": with_outliers(parts, seed, rounds),
        "intervals": intervals(parts, given, chosen),
        "seconds": time.perf_counter() - began,
    }


def with_outliers(parts: Parts, seed: int, rounds: int) -> dict[str, float]:
    """Test errors at the chosen rounds, of models fitted and chosen on spoiled rows."""
    bad = spoiled(parts, seed)
    train = bad["train"]
    median, _ = fit_medboost(bad, "zero_one", rounds)
    squares = curve(gradient(rounds, "squared_error").fit(train.X, train.y), bad)
    absolute = curve(gradient(rounds, "absolute_error").fit(train.X, train.y), bad)
    curves = {
        "MedBoost": median,
        "gradient boosting, least squares": squares,
        "gradient boosting, absolute error": absolute,
    }
    return {algorithm: one.figures()["chosen"] for algorithm, one in curves.items()}


def study(
    names: list[str], folder: Path, splits: int, rounds: int, kept: Path, most: int = MOST_ROWS
) -> list[dict[str, Any]]:
    """All units; those that were done before are not done again."""
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {(one["set"], one["split"], one["asked"]) for one in done}
    for seed, name in product(range(splits), names):
        if (name, seed, rounds) in known:
            continue
        done.append(unit(name, seed, folder, rounds, most))
        with kept.open("a") as file:
            file.write(json.dumps(done[-1]) + "\n")
        print(f"split {seed}, {name}: {done[-1]['seconds']:.1f} s", file=sys.stderr, flush=True)
    return [one for one in done if one["set"] in names and one["split"] < splits and one["asked"] == rounds]


# ---------------------------------------------------------------- the report


def report(results: list[dict[str, Any]], rounds: int) -> str:
    names = [name for name in SETS if any(one["set"] == name for one in results)]
    by_set = {name: [one for one in results if one["set"] == name] for name in names}
    counts = sorted({len(found) for found in by_set.values()})
    lines = [
        "# MedBoost beside AdaBoost.R2 and gradient boosting",
        "",
        f"By `python -m electorate.studies.medboost`. Random splits per set: {', '.join(map(str, counts))}; half of "
        f"the rows to fit, 15% to choose by, 15% to calibrate, 20% to test; at most {MOST_ROWS:,} rows of a set, drawn "
        f"anew in every split (this cuts california_housing); Friedman's sets have {FRIEDMAN_ROWS:,} new rows in every "
        "split. Trees of depth 3 everywhere. eps and rho by the least error on the rows to choose by within "
        f"{min(TRY_ROUNDS, rounds)} rounds ({len(SHARES)} x {len(RULES['zero_one'])} tries, {len(SHARES)} x "
        f"{len(RULES['linear'])} for the linear cost), then T among {rounds:,}; the others choose T only. Errors are "
        "mean absolute errors on the test rows, in units of the target, with standard errors over the splits. A run "
        "that ends by itself counts with its last round.",
        "",
        *_error_table(by_set, rounds),
        "",
        *_end_table(by_set, rounds),
        "",
        *_outlier_table(by_set),
        "",
        *_interval_table(by_set),
    ]
    return "\n".join(lines) + "\n"


def _mean(values: list[float]) -> str:
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{_short(float(np.mean(values)))} ({_short(float(error))})"


def _short(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _error_table(by_set: dict[str, list[dict[str, Any]]], rounds: int) -> list[str]:
    shown = [at for at in AT if at <= rounds] or [AT[0]]
    lines = [
        "## Error by rounds",
        "",
        "| set | algorithm | " + " | ".join(f"{at:,} rounds" for at in shown) + " | at validated T | T (median) |",
        "|---|---|" + "---|" * (len(shown) + 2),
    ]
    for name, found in by_set.items():
        for algorithm in found[0]["errors"]:
            figures = [one["errors"][algorithm] for one in found]
            cells = [_mean([one[str(at)] for one in figures]) for at in shown]
            cells += [_mean([one["chosen"] for one in figures]), f"{np.median([one['T'] for one in figures]):.0f}"]
            lines.append(f"| {name} | {algorithm} | " + " | ".join(cells) + " |")
    return lines


def rise_at_end(found: list[dict[str, Any]], algorithm: str) -> float:
    """By how much the mean error at the end exceeds that at the validated rounds."""
    figures = [one["errors"][algorithm] for one in found]
    return float(np.mean([one["end"] for one in figures]) / np.mean([one["chosen"] for one in figures]) - 1)


def _end_table(by_set: dict[str, list[dict[str, Any]]], rounds: int) -> list[str]:
    algorithms = list(next(iter(by_set.values()))[0]["errors"])
    lines = [
        f"## The end ({rounds:,} rounds) against the validated T",
        "",
        "By how much the mean error at the end exceeds that at the validated T.",
        "",
        "| set | " + " | ".join(algorithms) + " |",
        "|---|" + "---|" * len(algorithms),
    ]
    for name, found in by_set.items():
        cells = [f"{100 * rise_at_end(found, algorithm):+.1f}%" for algorithm in algorithms]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    good = [name for name, found in by_set.items() if rise_at_end(found, "MedBoost") < 0.05]
    bad = [name for name in by_set if name not in good]
    lines += ["", f"MedBoost: below 5% on {len(good)} of {len(by_set)}{_not_on(bad)}."]
    return lines


def _not_on(names: list[str]) -> str:
    return f"; not on {', '.join(names)}" if names else ""


def rises(found: list[dict[str, Any]], algorithm: str) -> float:
    """By how much the mean error rises when a tenth of the targets is far off."""
    clean = np.mean([one["errors"][algorithm]["chosen"] for one in found])
    return float(np.mean([one["spoiled"][algorithm] for one in found]) / clean - 1)


def _outlier_table(by_set: dict[str, list[dict[str, Any]]]) -> list[str]:
    algorithms = list(next(iter(by_set.values()))[0]["spoiled"])
    lines = [
        "## 10% gross outliers",
        "",
        f"A tenth of the targets of the rows to fit and to choose by is moved, up or down, by {FAR:g} to {2 * FAR:g} "
        "times the median distance of the targets from their median. Test errors at the validated T, and the rise over "
        "those without outliers.",
        "",
        "| set | " + " | ".join(f"{algorithm} | rise" for algorithm in algorithms) + " |",
        "|---|" + "---|---|" * len(algorithms),
    ]
    for name, found in by_set.items():
        cells = [
            f"{_mean([one['spoiled'][algorithm] for one in found])} | {100 * rises(found, algorithm):+.0f}%"
            for algorithm in algorithms
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    squares = "gradient boosting, least squares"
    bad = [name for name, found in by_set.items() if not rises(found, "MedBoost") < rises(found, squares)]
    lines += [
        "",
        f"MedBoost with the 0-1 cost rises less than least-squares boosting on {len(by_set) - len(bad)} of "
        f"{len(by_set)}{_not_on(bad)}.",
    ]
    return lines


def _interval_table(by_set: dict[str, list[dict[str, Any]]]) -> list[str]:
    algorithms = list(next(iter(by_set.values()))[0]["intervals"])
    lines = [
        "## Intervals for 90%",
        "",
        "Coverage of the test rows and mean width (standard errors over the splits). Conformal ones use the rows to "
        "calibrate, which serve nothing else. Quantile boosting: scikit-learn, 100 rounds, quantiles 0.05 and 0.95"
        + ("." if any("MAPIE" in name for name in algorithms) else "; MAPIE was not installed."),
        "",
        "| set | " + " | ".join(f"{algorithm}: coverage | width" for algorithm in algorithms) + " |",
        "|---|" + "---|---|" * len(algorithms),
    ]
    for name, found in by_set.items():
        cells = []
        for algorithm in algorithms:
            figures = [one["intervals"][algorithm] for one in found]
            cells.append(f"{100 * np.mean([f[0] for f in figures]):.1f}% | {_mean([f[1] for f in figures])}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    everything = [one["intervals"] for found in by_set.values() for one in found]
    means = [f"{name} {100 * np.mean([one[name][0] for one in everything]):.2f}%" for name in algorithms]
    lines += ["", "Mean coverage over all splits and sets: " + "; ".join(means) + "."]
    return lines


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args(arguments)
    folder = Path(os.environ.get("ELECTORATE_DATA", "../shared/data"))
    options.out.mkdir(parents=True, exist_ok=True)
    results = study(options.sets, folder, options.splits, options.rounds, options.out / "medboost.jsonl")
    (options.out / "MEDBOOST.md").write_text(report(results, options.rounds))
    print(report(results, options.rounds))


if __name__ == "__main__":
    main()
