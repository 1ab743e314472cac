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
MOST_ROWS = 2_000  # of a set, drawn anew in every split
PARTS = {"train": 0.5, "validation": 0.15, "calibration": 0.15, "test": 0.2}
SHARES = (0.25, 0.5, 1.0)  # of the median distance of the targets from their median: eps
ADAPTIVE: list[dict[str, Any]] = [{"rho": "adaptive", "nu": nu} for nu in (0.05, 0.2)]
CONSTANT: list[dict[str, Any]] = [{"rho": rho} for rho in (-0.6, -0.4, -0.2, 0.0, 0.2)]
LINEAR: list[dict[str, Any]] = [{"rho": "adaptive", "nu": nu} for nu in (0.2, 1.0)]
LINEAR_SPLITS = 5  # it takes half as long again as all the others
TRY_ROUNDS = 60  # in which eps and rho are chosen; the rounds are then chosen among all
AT = (10, 100, 1000)
COVERAGE = 0.9
INTERVAL_ROUNDS = 100  # of gradient boosting for intervals
OUTLIER_ROUNDS = 300  # among which T is chosen where there are outliers
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


@dataclass(frozen=True)
class Tried:
    """A choice of options, and its least error on the rows to choose by."""

    options: dict[str, Any]
    error: float


def tried(parts: Parts, cost: str, rules: list[dict[str, Any]], rounds: int) -> list[Tried]:
    """Every eps with every rule for rho, on the first rounds."""
    train, judged, scale = parts["train"], parts["validation"], typical(parts["train"].y)
    found = []
    for share, rule in product(SHARES, rules):
        options = {"cost": cost, "eps": share * scale, **rule}
        model = MedBoostRegressor(n_estimators=min(TRY_ROUNDS, rounds), n_jobs=1, **options).fit(train.X, train.y)
        error = min(float(np.abs(said - judged.y).mean()) for said in _stages(model, judged.X))
        found.append(Tried(options, error))
    return found


def best(found: list[Tried]) -> dict[str, Any]:
    return min(found, key=lambda one: one.error).options


def fit_medboost(parts: Parts, options: dict[str, Any], rounds: int) -> Curve:
    train = parts["train"]
    return curve(MedBoostRegressor(n_estimators=rounds, n_jobs=1, **options).fit(train.X, train.y), parts)


def medboosts(parts: Parts, rounds: int, linear: bool) -> tuple[dict[str, Curve], dict[str, dict[str, Any]]]:
    """MedBoost with eps and rho chosen among all, among constants only, and with the linear cost."""
    adaptive, constant = (tried(parts, "zero_one", rules, rounds) for rules in (ADAPTIVE, CONSTANT))
    options = {
        "MedBoost": best(adaptive + constant),
        "MedBoost, rho constant": best(constant),
    }
    if linear:
        options["MedBoost, linear cost"] = best(tried(parts, "linear", LINEAR, rounds))
    curves: dict[str, Curve] = {}
    for name, given in options.items():
        same = next((other for other in curves if options[other] == given), None)
        curves[name] = curves[same] if same is not None else fit_medboost(parts, given, rounds)
    return curves, options


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


def intervals(parts: Parts, options: dict[str, Any], rounds: int) -> dict[str, tuple[float, float]]:
    """Coverage and mean width on the test rows. options, rounds: of MedBoost, as they were chosen."""
    train, cal, test = parts["train"], parts["calibration"], parts["test"]
    model = MedBoostRegressor(n_estimators=rounds, n_jobs=1, **options).fit(train.X, train.y)
    found = {"MedBoost, conformal": model.calibrate(cal.X, cal.y).predict_interval(test.X, coverage=COVERAGE)}
    quantiles = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
    ends = [gradient(INTERVAL_ROUNDS, "quantile", q).fit(train.X, train.y) for q in quantiles]
    said = [[one.predict(part.X) for one in ends] for part in (cal, test)]
    found["quantile boosting"] = (said[1][0], said[1][1])
    score = np.sort(np.maximum(said[0][0] - cal.y, cal.y - said[0][1]))
    rank = math.ceil((len(cal.y) + 1) * COVERAGE)
    more = float(score[rank - 1]) if rank <= len(score) else math.inf
    found["quantile boosting, conformal"] = (said[1][0] - more, said[1][1] + more)
    mapie = by_mapie(parts)
    if mapie is not None:
        found["MAPIE, gradient boosting"] = mapie
    return {name: _judged(one, test.y) for name, one in found.items()}


def by_mapie(parts: Parts) -> tuple[Floats, Floats] | None:
    """MAPIE's split conformal intervals around gradient boosting by the absolute error; None if it is not installed."""
    if find_spec("mapie") is None:
        return None
    SplitConformalRegressor = import_module("mapie.regression").SplitConformalRegressor
    train, cal, test = parts["train"], parts["calibration"], parts["test"]
    model = gradient(INTERVAL_ROUNDS, "absolute_error").fit(train.X, train.y)
    mapie = SplitConformalRegressor(model, confidence_level=COVERAGE, prefit=True).conformalize(cal.X, cal.y)
    _, ends = mapie.predict_interval(test.X)
    return ends[:, 0, 0], ends[:, 1, 0]


def _judged(ends: tuple[Floats, Floats], y: Floats) -> tuple[float, float]:
    low, high = ends
    return float(np.mean((low <= y) & (y <= high))), float(np.mean(high - low))


# ---------------------------------------------------------------- the study


def unit(name: str, seed: int, folder: Path, rounds: int, most: int = MOST_ROWS) -> dict[str, Any]:
    """All figures of one split of one set."""
    began = time.process_time()
    parts = split(read(name, folder, seed), seed, most)
    curves, options = medboosts(parts, rounds, seed < LINEAR_SPLITS)
    curves |= fit_others(parts, rounds)
    chosen = {algorithm: one.chosen for algorithm, one in curves.items()}
    scale = typical(parts["train"].y)
    return {
        "set": name,
        "split": seed,
        "rows": len(parts["train"].y),
        "asked": rounds,
        "errors": {algorithm: one.figures() for algorithm, one in curves.items()},
        "options": {algorithm: {**one, "eps": one["eps"] / scale} for algorithm, one in options.items()},
        "spoiled": with_outliers(parts, seed, rounds),
        "intervals": intervals(parts, options["MedBoost"], chosen["MedBoost"]),
        "seconds": time.process_time() - began,
    }


def with_outliers(parts: Parts, seed: int, rounds: int) -> dict[str, float]:
    """Test errors at the chosen rounds, of models fitted and chosen on spoiled rows."""
    bad, few = spoiled(parts, seed), min(rounds, OUTLIER_ROUNDS)
    train = bad["train"]
    options = best(tried(bad, "zero_one", ADAPTIVE + CONSTANT, rounds))
    squares = gradient(few, "squared_error").fit(train.X, train.y)
    curves = {"MedBoost": fit_medboost(bad, options, few), "gradient boosting, least squares": curve(squares, bad)}
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
        f"anew in every split (this cuts abalone and california_housing); Friedman's sets have {FRIEDMAN_ROWS:,} new "
        "rows in every split. Trees of depth 3 everywhere. eps and rho by the least error on the rows to choose by "
        f"within {min(TRY_ROUNDS, rounds)} rounds (eps: {', '.join(map(str, SHARES))} times the median distance of the "
        f"targets from their median; rho: adaptive with nu {_values(ADAPTIVE, 'nu')}, or constant "
        f"{_values(CONSTANT, 'rho')}; linear cost, on the first {LINEAR_SPLITS} splits only: adaptive with nu "
        f"{_values(LINEAR, 'nu')}), then T among {rounds:,}; the others choose T only. "
        "Errors are mean absolute errors on the test rows, in units of the target, with standard errors over the "
        "splits. A run that ends by itself counts with its last round. The grids of eps and rho were settled after "
        "looking at curves, test errors among them, of the first split of abalone, concrete and friedman1, and of "
        "tries on auto_mpg: that split is one of those below.",
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


def _values(rules: list[dict[str, Any]], name: str) -> str:
    return ", ".join(str(rule[name]) for rule in rules)


def _mean(values: list[float]) -> str:
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{_short(float(np.mean(values)))} ({_short(float(f'{error:.2g}'))})"


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
            figures = [one["errors"][algorithm] for one in found if algorithm in one["errors"]]
            cells = [_mean([one[str(at)] for one in figures]) for at in shown]
            cells += [_mean([one["chosen"] for one in figures]), f"{np.median([one['T'] for one in figures]):.0f}"]
            lines.append(f"| {name} | {algorithm} | " + " | ".join(cells) + " |")
    return [*lines, "", *_beside(by_set)]


def _beside(by_set: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Where MedBoost errs less than each of the others, at the validated T."""
    algorithms = list(next(iter(by_set.values()))[0]["errors"])
    lines = []
    for other in (name for name in algorithms if not name.startswith("MedBoost")):
        less = [
            name
            for name, found in by_set.items()
            if np.mean([one["errors"]["MedBoost"]["chosen"] - one["errors"][other]["chosen"] for one in found]) < 0
        ]
        where = f" ({', '.join(less)})" if less else ""
        lines.append(f"- At the validated T, MedBoost errs less than {other} on {len(less)} of {len(by_set)}{where}.")
    return lines


def rise_at_end(found: list[dict[str, Any]], algorithm: str) -> float:
    """By how much the mean error at the end exceeds that at the validated rounds."""
    figures = [one["errors"][algorithm] for one in found if algorithm in one["errors"]]
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
    for algorithm in ("MedBoost", "MedBoost, rho constant"):
        bad = [name for name, found in by_set.items() if not rise_at_end(found, algorithm) < 0.05]
        lines += ["", f"{algorithm}: below 5% on {len(by_set) - len(bad)} of {len(by_set)}{_not_on(bad)}."]
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
        f"times the median distance of the targets from their median. Test errors at the T validated among "
        f"{OUTLIER_ROUNDS}, and the rise over those without outliers.",
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
        "calibrate, which serve nothing else. Quantile boosting: scikit-learn, 100 rounds, quantiles 0.05 and 0.95; "
        "MAPIE: split conformal around gradient boosting by the absolute error, 100 rounds"
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
