"""MedBoost on eight problems: error by rounds beside AdaBoost.R2 and gradient boosting, outliers, intervals.

`python -m electorate.studies.medboost --splits 20 --rounds 1000 --out FOLDER` reads the sets from the folder named by
ELECTORATE_DATA (default ../shared/data). Results are stored in FOLDER/medboost.jsonl; the command resumes from it.
"""

import argparse
import math
import os
import sys
import time
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor

from electorate import AdaBoostRegressor, MedBoostRegressor
from electorate.studies.request import Floats, Lines, markdown_table, numbers

FRIEDMAN = {  # how they are made, and the noise: Breiman's
    "friedman1": (make_friedman1, 1.0),
    "friedman2": (make_friedman2, 125.0),
    "friedman3": (make_friedman3, 0.1),
}
SETS = ("abalone", "boston_housing", "concrete", "auto_mpg", "california_housing", *FRIEDMAN)
FRIEDMAN_ROWS = 2_000
MOST_ROWS = 2_000  # of a set, drawn again in every split
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
SQUARES = "gradient boosting, least squares"


class Part(NamedTuple):
    X: Floats
    y: Floats


Parts = dict[str, Part]
Result = dict[str, Any]
Errors = dict[str, dict[str, float]]  # by algorithm
BySet = dict[str, list[Result]]


# ---------------------------------------------------------------- data


def read(name: str, folder: Path, seed: int) -> Part:
    """A set; categories as codes in their order. Friedman's are drawn by the seed."""
    if name in FRIEDMAN:
        make, noise = FRIEDMAN[name]
        return Part(*make(n_samples=FRIEDMAN_ROWS, noise=noise, random_state=seed))
    import pandas as pd

    table = pd.read_csv(folder / f"{name}.csv.gz")
    return Part(numbers(table), table["target"].to_numpy(dtype=np.float64))


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


# ---------------------------------------------------------------- algorithms


def errors_by_rounds(model: Any, parts: Parts) -> dict[str, float]:
    """Mean absolute test errors of a fitted model: after 10, 100, ... rounds, or all there are; at the end.

    T: the rounds with the least error on the rows to choose by; "chosen" is the test error there.
    """
    judged, tested = parts["validation"], parts["test"]
    both = [np.split(found, [len(judged.y)]) for found in _stages(model, np.concatenate([judged.X, tested.X]))]
    chosen = int(np.argmin([np.abs(first - judged.y).mean() for first, _ in both])) + 1
    errors = [float(np.abs(second - tested.y).mean()) for _, second in both]
    by_rounds = {str(at): errors[min(at, len(errors)) - 1] for at in AT}
    more = {"chosen": errors[chosen - 1], "end": errors[-1], "T": float(chosen), "rounds": float(len(errors))}
    return {**by_rounds, **more}


def _stages(model: Any, X: Floats) -> list[Floats]:
    """The predictions after every round; of a model without voters, its one prediction."""
    return list(model.staged_predict(X)) or [model.predict(X)]


def fit_medboost(part: Part, options: dict[str, Any], rounds: int) -> Any:
    return MedBoostRegressor(n_estimators=rounds, n_jobs=1, **options).fit(*part)


def best_options(parts: Parts, cost: str, rules: list[dict[str, Any]], rounds: int) -> tuple[float, dict[str, Any]]:
    """Of every eps with every rule for rho: the least error on the rows to choose by, early on, and its options."""
    train, judged, scale = parts["train"], parts["validation"], typical(parts["train"].y)
    found = []
    for share, rule in product(SHARES, rules):
        options = {"cost": cost, "eps": share * scale, **rule}
        model = fit_medboost(train, options, min(TRY_ROUNDS, rounds))
        error = min(float(np.abs(predicted - judged.y).mean()) for predicted in _stages(model, judged.X))
        found.append((error, options))
    return min(found, key=itemgetter(0))


def medboosts(parts: Parts, rounds: int, linear: bool) -> tuple[Errors, dict[str, dict[str, Any]]]:
    """MedBoost with eps and rho chosen among all, among constants only, and with the linear cost."""
    adaptive, constant = (best_options(parts, "zero_one", rules, rounds) for rules in (ADAPTIVE, CONSTANT))
    options = {"MedBoost": min(adaptive, constant, key=itemgetter(0))[1], "MedBoost, rho constant": constant[1]}
    if linear:
        options["MedBoost, linear cost"] = best_options(parts, "linear", LINEAR, rounds)[1]
    errors: Errors = {}
    for name, given in options.items():
        same = next((errors[other] for other in errors if options[other] == given), None)
        errors[name] = same or errors_by_rounds(fit_medboost(parts["train"], given, rounds), parts)
    return errors, options


def fit_others(parts: Parts, rounds: int) -> Errors:
    models = {
        "AdaBoost.R2": AdaBoostRegressor(n_estimators=rounds, n_jobs=1),
        "gradient boosting, absolute error": gradient(rounds, "absolute_error"),
        SQUARES: gradient(rounds, "squared_error"),
    }
    return {name: errors_by_rounds(model.fit(*parts["train"]), parts) for name, model in models.items()}


def gradient(rounds: int, loss: str, quantile: float | None = None) -> Any:
    options = {"loss": loss, "quantile": quantile, "max_depth": 3, "early_stopping": False}
    return HistGradientBoostingRegressor(max_iter=rounds, **options)


# ---------------------------------------------------------------- intervals


def intervals(parts: Parts, options: dict[str, Any], rounds: int) -> dict[str, tuple[float, float]]:
    """Coverage and mean width on the test rows. options, rounds: of MedBoost, as they were chosen."""
    train, cal, test = parts["train"], parts["calibration"], parts["test"]
    model = fit_medboost(train, options, rounds).calibrate(*cal)
    found = {"MedBoost, conformal": model.predict_interval(test.X, coverage=COVERAGE)}
    quantiles = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)
    ends = [gradient(INTERVAL_ROUNDS, "quantile", q).fit(*train) for q in quantiles]
    (low_cal, high_cal), (low, high) = ([one.predict(part.X) for one in ends] for part in (cal, test))
    found["quantile boosting"] = (low, high)
    score = np.sort(np.maximum(low_cal - cal.y, cal.y - high_cal))
    rank = math.ceil((len(cal.y) + 1) * COVERAGE)
    more = float(score[rank - 1]) if rank <= len(score) else math.inf
    found["quantile boosting, conformal"] = (low - more, high + more)
    if find_spec("mapie") is not None:  # MAPIE's split conformal intervals
        SplitConformalRegressor = import_module("mapie.regression").SplitConformalRegressor
        boosted = gradient(INTERVAL_ROUNDS, "absolute_error").fit(*train)
        mapie = SplitConformalRegressor(boosted, confidence_level=COVERAGE, prefit=True).conformalize(*cal)
        _, both = mapie.predict_interval(test.X)
        found["MAPIE, gradient boosting"] = (both[:, 0, 0], both[:, 1, 0])
    y = test.y
    return {name: (float(np.mean((a <= y) & (y <= b))), float(np.mean(b - a))) for name, (a, b) in found.items()}


# ---------------------------------------------------------------- the study


def unit(name: str, seed: int, folder: Path, rounds: int, most: int = MOST_ROWS) -> Result:
    """All figures of one split of one set."""
    began = time.process_time()
    parts = split(read(name, folder, seed), seed, most)
    errors, options = medboosts(parts, rounds, seed < LINEAR_SPLITS)
    errors |= fit_others(parts, rounds)
    scale = typical(parts["train"].y)
    return {
        "set": name,
        "split": seed,
        "rows": len(parts["train"].y),
        "asked": rounds,
        "errors": errors,
        "options": {algorithm: {**one, "eps": one["eps"] / scale} for algorithm, one in options.items()},
        "spoiled": with_outliers(parts, seed, rounds),
        "intervals": intervals(parts, options["MedBoost"], int(errors["MedBoost"]["T"])),
        "seconds": time.process_time() - began,
    }


def with_outliers(parts: Parts, seed: int, rounds: int) -> dict[str, float]:
    """Test errors at the chosen rounds, of models fitted and chosen on spoiled rows."""
    bad, few = spoiled(parts, seed), min(rounds, OUTLIER_ROUNDS)
    options = best_options(bad, "zero_one", ADAPTIVE + CONSTANT, rounds)[1]
    squares = gradient(few, "squared_error").fit(*bad["train"])
    models = {"MedBoost": fit_medboost(bad["train"], options, few), SQUARES: squares}
    return {algorithm: errors_by_rounds(model, bad)["chosen"] for algorithm, model in models.items()}


def study(
    names: list[str], folder: Path, splits: int, rounds: int, stored: Path, most: int = MOST_ROWS
) -> list[Result]:
    """All results; those that are stored are not computed again."""
    lines, results = Lines(stored), []
    for seed, name in product(range(splits), names):
        known = len(lines.found)
        results.append(lines.compute([name, seed, rounds], partial(unit, name, seed, folder, rounds, most)))
        if len(lines.found) > known:
            print(f"split {seed}, {name}: {results[-1]['seconds']:.1f} s", file=sys.stderr, flush=True)
    return results


# ---------------------------------------------------------------- the report


def report(results: list[Result], rounds: int) -> str:
    names = [name for name in SETS if any(one["set"] == name for one in results)]
    by_set = {name: [one for one in results if one["set"] == name] for name in names}
    counts = sorted({len(found) for found in by_set.values()})
    lines = [
        "# MedBoost compared with AdaBoost.R2 and gradient boosting",
        "",
        f"By `python -m electorate.studies.medboost`. Random splits per set: {', '.join(map(str, counts))}; 50% "
        f"training, 15% validation, 15% calibration and 20% test rows; at most {MOST_ROWS:,} rows of "
        "a set, drawn again "
        f"in every split (this reduces abalone and california_housing); Friedman's sets have {FRIEDMAN_ROWS:,} new "
        "rows in every split. All trees have depth 3. eps and rho have the lowest error on the validation rows "
        f"within {min(TRY_ROUNDS, rounds)} rounds (eps: {', '.join(map(str, SHARES))} times the median distance of the "
        f"targets from their median; rho: adaptive with nu {_values(ADAPTIVE, 'nu')}, or constant "
        f"{_values(CONSTANT, 'rho')}; linear cost, on the first {LINEAR_SPLITS} splits only: adaptive with nu "
        f"{_values(LINEAR, 'nu')}), then T among {rounds:,}; the others choose T only. "
        "Errors are mean absolute errors on the test rows, in units of the target, with standard errors over the "
        "splits. A run that stops early counts with its last round. The grids of eps and rho were chosen after "
        "looking at curves (also of test errors) of the first split of abalone, concrete and friedman1, and at "
        "trials on auto_mpg. This split is included below.",
    ]
    parts = (_error_table(by_set, rounds), _end_table(by_set, rounds), _outlier_table(by_set), _interval_table(by_set))
    return "\n".join([*lines, *(line for part in parts for line in ("", *part))]) + "\n"


def _values(rules: list[dict[str, Any]], name: str) -> str:
    return ", ".join(str(rule[name]) for rule in rules)


def _mean(values: list[float]) -> str:
    """The mean, and its standard error in brackets."""
    spread = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    both = float(np.mean(values)), float(f"{spread:.2g}")
    mean, error = ("-" if math.isnan(x) else f"{x:.4g}" if abs(x) < 10_000 else f"{x:,.0f}" for x in both)
    return f"{mean} ({error})"


def _chosen(found: list[Result], algorithm: str, what: str = "chosen") -> list[float]:
    """Errors at the validated rounds, or others, of the splits that have them."""
    return [one["errors"][algorithm][what] for one in found if algorithm in one["errors"]]


def _rise(found: list[Result], algorithm: str, errors: list[float]) -> float:
    """By how much the mean of the errors exceeds that at the validated rounds."""
    return float(np.mean(errors) / np.mean(_chosen(found, algorithm)) - 1)


def _algorithms(by_set: BySet, part: str) -> list[str]:
    return list(next(iter(by_set.values()))[0][part])


def _count(by_set: BySet, bad: list[str]) -> str:
    """On how many sets something holds, and where it does not."""
    return f"{len(by_set) - len(bad)} of {len(by_set)}" + (f"; not on {', '.join(bad)}" if bad else "")


def _error_table(by_set: BySet, rounds: int) -> list[str]:
    at = [number for number in AT if number <= rounds] or [AT[0]]
    head = f"set | algorithm | {' | '.join(f'{number:,} rounds' for number in at)} | at validated T | T (median)"
    rows = []
    for name, found in by_set.items():
        for algorithm in found[0]["errors"]:
            cells = [_mean(_chosen(found, algorithm, what)) for what in (*map(str, at), "chosen")]
            rows.append([name, algorithm, *cells, f"{np.median(_chosen(found, algorithm, 'T')):.0f}"])
    lines = ["## Error by rounds", "", *markdown_table(head, rows), ""]
    for other in (name for name in _algorithms(by_set, "errors") if not name.startswith("MedBoost")):
        gaps = {name: np.subtract(_chosen(found, "MedBoost"), _chosen(found, other)) for name, found in by_set.items()}
        less = [name for name, gap in gaps.items() if np.mean(gap) < 0]
        where = f" ({', '.join(less)})" if less else ""
        lines.append(
            f"- At the validated T, the error of MedBoost is lower than that of {other} on "
            f"{len(less)} of {len(by_set)}{where}."
        )
    return lines


def _end_table(by_set: BySet, rounds: int) -> list[str]:
    algorithms = _algorithms(by_set, "errors")
    rises = {
        name: {one: _rise(found, one, _chosen(found, one, "end")) for one in algorithms}
        for name, found in by_set.items()
    }
    rows = [[name, *(f"{100 * rise:+.1f}%" for rise in rise_of.values())] for name, rise_of in rises.items()]
    what = "By how much the mean error at the end exceeds that at the validated T."
    table = markdown_table(" | ".join(["set", *algorithms]), rows)
    lines = [f"## The end ({rounds:,} rounds) against the validated T", "", what, "", *table]
    for algorithm in ("MedBoost", "MedBoost, rho constant"):
        bad = [name for name in by_set if not rises[name][algorithm] < 0.05]
        lines += ["", f"{algorithm}: below 5% on {_count(by_set, bad)}."]
    return lines


def _outlier_table(by_set: BySet) -> list[str]:
    algorithms, rows, bad = _algorithms(by_set, "spoiled"), [], []
    for name, found in by_set.items():
        errors = {algorithm: [one["spoiled"][algorithm] for one in found] for algorithm in algorithms}
        rises = {algorithm: _rise(found, algorithm, errors[algorithm]) for algorithm in algorithms}
        rows.append([name, *(cell for a in algorithms for cell in (_mean(errors[a]), f"{100 * rises[a]:+.0f}%"))])
        if not rises["MedBoost"] < rises[SQUARES]:
            bad.append(name)
    return [
        "## 10% gross outliers",
        "",
        f"A tenth of the training and validation targets is moved, up or down, by {FAR:g} to {2 * FAR:g} "
        f"times the median distance of the targets from their median. Test errors at the T validated among "
        f"{OUTLIER_ROUNDS}, and their increase over the errors without outliers.",
        "",
        *markdown_table(" | ".join(["set", *(f"{algorithm} | rise" for algorithm in algorithms)]), rows),
        "",
        "The error of MedBoost with the 0-1 cost rises less than that of least-squares boosting on "
        f"{_count(by_set, bad)}.",
    ]


def _interval_table(by_set: BySet) -> list[str]:
    algorithms, rows = _algorithms(by_set, "intervals"), []
    for name, found in by_set.items():
        figures = [np.array([one["intervals"][algorithm] for one in found]).T for algorithm in algorithms]
        cells = [(f"{100 * np.mean(coverage):.1f}%", _mean(width.tolist())) for coverage, width in figures]
        rows.append([name, *(cell for pair in cells for cell in pair)])
    every = [one["intervals"] for found in by_set.values() for one in found]
    means = [f"{name} {100 * np.mean([one[name][0] for one in every]):.2f}%" for name in algorithms]
    return [
        "## Intervals for 90%",
        "",
        "Coverage of the test rows and mean width (standard errors over the splits). Conformal intervals use the "
        "calibration rows, which are used for nothing else. Quantile boosting: scikit-learn, 100 "
        "rounds, quantiles 0.05 and 0.95; "
        "MAPIE: split conformal around gradient boosting by the absolute error, 100 rounds"
        + ("." if any("MAPIE" in name for name in algorithms) else "; MAPIE was not installed."),
        "",
        *markdown_table(" | ".join(["set", *(f"{algorithm}: coverage | width" for algorithm in algorithms)]), rows),
        "",
        "Mean coverage over all splits and sets: " + "; ".join(means) + ".",
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args(arguments)
    folder = Path(os.environ.get("ELECTORATE_DATA", "../shared/data"))
    results = study(options.sets, folder, options.splits, options.rounds, options.out / "medboost.jsonl")
    text = report(results, options.rounds)
    (options.out / "MEDBOOST.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
