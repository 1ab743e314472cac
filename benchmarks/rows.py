"""The rows of the speed and memory table: what each one runs, and the bars it is held to.

A row is a function of the sizes to run at; it returns its raw figures and its bars. Ratios are of
medians, and a bar whose contenders were not all there is left open (met: None).
"""

import sys
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

from clusters import HERE, PEERS
from contenders import ADABOOST, DISCRETE, GRADIENT_BOOSTERS, OURS, REAL, Setting
from processes import last_line, limited, work
from streams import MODELS, READING

Row = dict[str, Any]

# The gradient boosters' default rates learn less in a hundred stumps; time does not depend on it.
RATE = 0.5
OUR_IMPORT = "from electorate import AdaBoostClassifier"
THEIR_IMPORT = "import sklearn.ensemble"
WARM, ANEW = "electorate, highspy", "electorate, scipy"


class Size(NamedTuple):
    """How much to run: the full sizes of the bars, or tiny ones that only show that all runs."""

    quick: bool

    def rows(self, full: int) -> int:
        """`full`, or few enough rows for a quick run."""
        return min(full, 2_000) if self.quick else full

    def rounds(self, full: int) -> int:
        """`full`, or few enough rounds for a quick run."""
        return min(full, 10) if self.quick else full

    def repeats(self, full: int) -> int:
        """`full`, or one."""
        return 1 if self.quick else full


def fit_large(size: Size) -> Row:
    """Stumps, 100 rounds, 200,000 x 50, against the gradient boosters."""
    names = [OURS, *GRADIENT_BOOSTERS]
    one = _fit_pinned(size, names, 200_000, Setting(size.rounds(100), 1, RATE))
    two = _fit_fresh(size, names, 200_000, Setting(size.rounds(100), 2, RATE))
    return {
        "title": "fit, stumps, 100 rounds, 200,000 x 50",
        "one core": one,
        "two threads": two,
        "bars": [
            _faster("one core, against the fastest", one, GRADIENT_BOOSTERS, 3.5),
            _faster("two threads, against the fastest", two, GRADIENT_BOOSTERS, 3.0),
        ],
    }


def fit_adaboost(size: Size) -> Row:
    """Stumps, 100 rounds, 20,000 x 50, against scikit-learn's AdaBoost."""
    one = _fit_pinned(size, [OURS, ADABOOST], 20_000, Setting(size.rounds(100), 1))
    return {
        "title": "fit, stumps, 100 rounds, 20,000 x 50",
        "one core": one,
        "bars": [_faster("one core, against scikit-learn's AdaBoost", one, [ADABOOST], 100.0)],
    }


def fit_small(size: Size) -> Row:
    """Stumps, 100 rounds, 1,000 x 10, everything else at its default, all peers."""
    peers = [*GRADIENT_BOOSTERS, ADABOOST]
    given = Setting(size.rounds(100), None)
    one = _fit_pinned(size, [OURS, *peers], 1_000, given, columns=10, repeats=21)
    two = _fit_fresh(size, [OURS, *peers], 1_000, given, columns=10)
    return {
        "title": "fit, stumps, 100 rounds, 1,000 x 10, default parameters",
        "one core": one,
        "all cores": two,
        "bars": [
            _faster("one core, against the fastest", one, peers, 1.0),
            _faster("all cores, against the fastest", two, peers, 1.0),
        ],
    }


def fit_trees(size: Size) -> Row:
    """Trees of depth 4, 100 rounds, 200,000 x 50, against the gradient boosters."""
    names = [OURS, *GRADIENT_BOOSTERS]
    one = _fit_pinned(size, names, 200_000, Setting(size.rounds(100), 1, RATE, 4), repeats=3)
    two = _fit_fresh(size, names, 200_000, Setting(size.rounds(100), 2, RATE, 4))
    return {
        "title": "fit, trees of depth 4, 100 rounds, 200,000 x 50",
        "one core": one,
        "two threads": two,
        "bars": [
            _faster("one core, against the fastest", one, GRADIENT_BOOSTERS, 2.5),
            _faster("two threads, against the fastest", two, GRADIENT_BOOSTERS, 1.8),
        ],
    }


def fit_deep(size: Size) -> Row:
    """Trees of depth 10, 20 rounds, 80,000 x 30, with two and with five classes, against the gradient boosters."""
    names, given = [OURS, *GRADIENT_BOOSTERS], Setting(size.rounds(20), 1, RATE, 10)
    two = _fit_pinned(size, names, 80_000, given, columns=30)
    five = _fit_pinned(size, names, 80_000, given, columns=30, repeats=3, classes=5)
    return {
        "title": "fit, trees of depth 10, 20 rounds, 80,000 x 30",
        "two classes": two,
        "five classes": five,
        "bars": [
            _faster("one core, two classes, against the fastest", two, GRADIENT_BOOSTERS, 2.0),
            _faster("one core, five classes, against the fastest", five, GRADIENT_BOOSTERS, 2.0),
        ],
    }


def fit_real(size: Size) -> Row:
    """Real AdaBoost against discrete, the same voters: Gini stumps, 100 rounds, 200,000 x 50."""
    one = _fit_pinned(size, [DISCRETE, REAL], 200_000, Setting(size.rounds(100), 1))
    middle = {name: median(times) for name, times in one["seconds"].items()}
    ratio = middle[REAL] / middle[DISCRETE] if len(middle) == 2 else None
    return {
        "title": "fit, real AdaBoost against discrete, the same voters",
        "one core": one,
        "bars": [_at_most("real / discrete", ratio, 1.5, "x")],
    }


def predict(size: Size) -> Row:
    """predict_proba of 500 stumps on 1,000,000 x 50."""
    one = work(
        "predict",
        limited(1),
        pinned=True,
        names=[OURS, *GRADIENT_BOOSTERS],
        n=size.rows(1_000_000),
        n_train=size.rows(20_000),
        columns=50,
        setting=Setting(size.rounds(500), 1, RATE),
        repeats=size.repeats(5),
    )
    return {
        "title": "predict_proba, stumps, 500 rounds, 1,000,000 x 50",
        "one core": one,
        "bars": [
            _faster("one core, against CatBoost", one, ["CatBoost"], 2.5),
            _faster("one core, against XGBoost", one, ["XGBoost"], 8.0),
        ],
    }


def whole_round(size: Size) -> Row:
    """One whole stump round against its histogram pass alone (rounds.py)."""
    figures = work("rounds", limited(1), pinned=True, quick=size.quick)
    ratio = figures.get("ratio")
    return {
        "title": "a whole stump round",
        "figures": figures,
        "bars": [_at_most("round / histogram pass alone", ratio, 1.5, "x")],
    }


def columns(size: Size) -> Row:
    """The correlation of 5,000 columns of +-1 with a vector over 10,000 rows (voters.py)."""
    figures = work("families", limited(1), pinned=True, name="columns", quick=size.quick)
    return {
        "title": "columns of +-1, 10,000 x 5,000",
        "figures": figures,
        "bars": [_at_least("against NumPy's product in float64", figures["ratio"], 4.0)],
    }


def quadboost_lasso(size: Size) -> Row:
    """QuadBoost-L1 on 20,000 x 2,000 columns against scikit-learn's Lasso (quadboost.py)."""
    figures = work("quadboost", limited(1), pinned=True, name="lasso", quick=size.quick)
    return {
        "title": "QuadBoost-L1, 20,000 x 2,000",
        "figures": figures,
        "bars": [
            _at_least("columns of +-1, against Lasso at the tolerance that reaches 1e-6", figures["signs, ratio"], 1.0),
            _at_least("a path of 50, against 50 cold Lassos", figures["path, ratio"], 10.0),
            _at_most("real columns / Lasso", figures["reals, ratio"], 3.0, "x"),
        ],
    }


def quadboost_rounds(size: Size) -> Row:
    """100,000 rounds of vanilla QuadBoost on 1,000 voters: 50,000 rows against 500 (quadboost.py)."""
    figures = work("quadboost", limited(1), pinned=True, name="rounds", quick=size.quick)
    return {
        "title": "QuadBoost, pool of 1,000 voters, 100,000 rounds",
        "figures": figures,
        "bars": [_at_most("50,000 rows / 500 rows", figures["ratio"], 1.5, "x")],
    }


def rules(size: Size) -> Row:
    """A round of rules of three tests against one of trees of depth three, 100,000 x 50 (voters.py)."""
    figures = work("families", limited(1), pinned=True, name="rules", quick=size.quick)
    return {
        "title": "a round of rules of 3 tests, 100,000 x 50",
        "figures": figures,
        "bars": [_at_most("rules / trees of depth 3", figures["ratio"], 5.0, "x")],
    }


def fit_medboost(size: Size) -> Row:
    """MedBoost, trees of depth 3, 100 rounds, 100,000 x 20, against the absolute error (regressors.py)."""
    figures = work("regressors", limited(1), pinned=True, name="fit", quick=size.quick)
    return {
        "title": "fit, MedBoost, trees of depth 3, 100 rounds, 100,000 x 20",
        "figures": figures,
        "bars": [_at_least("one core, against HistGradientBoosting(absolute_error)", figures["ratio"], 1.0)],
    }


def predict_median(size: Size) -> Row:
    """The weighted median of 500 trees on 1,000,000 rows against their weighted sum (regressors.py)."""
    figures = work("regressors", limited(1), pinned=True, name="predict", quick=size.quick)
    return {
        "title": "median prediction, 500 trees, 1,000,000 rows",
        "figures": figures,
        "bars": [_at_most("median / weighted sum of the same trees", figures["ratio"], 5.0, "x")],
    }


def penalised(size: Size) -> Row:
    """EBBoost's stumps, and DeepBoost's trees of depth 5 up to 100 voters, 100,000 x 50 (voters.py)."""
    figures = work("families", limited(1), pinned=True, name="penalised", quick=size.quick)
    return {
        "title": "a round of EBBoost and of DeepBoost, 100,000 x 50",
        "figures": figures,
        "bars": [
            _at_most("EBBoost / AdaBoost, stumps", figures["ratio, EBBoost, stumps"], 2.5, "x"),
            _at_most("DeepBoost / AdaBoost, trees of depth 5", figures["ratio, DeepBoost, trees of depth 5"], 2.0, "x"),
        ],
    }


def start(size: Size) -> Row:
    """Import, and the first fit of 1,000 x 10 in a fresh process."""
    found = [work("first_fit", n=1_000, columns=10) for _ in range(size.repeats(7))]
    first, second = ([each[name] for each in found if each] for name in ("first", "second"))
    # Names of ours may load lazily, so what is timed is getting the class, not only the package.
    codes = [THEIR_IMPORT, OUR_IMPORT] if first else [THEIR_IMPORT]
    took = _import_times(codes, size.repeats(7))
    extra = median(took[OUR_IMPORT]) - median(took[THEIR_IMPORT]) if first else None
    imports = {f"{code}, s": times for code, times in took.items()}
    more = [one - other for one, other in zip(first, second, strict=True)]
    return {
        "title": "import; first fit of 1,000 x 10 in a fresh process",
        "figures": {**imports, "first fit, s": first, "second fit, s": second},
        "bars": [
            _at_most("import, beyond sklearn.ensemble", extra, 0.2, "s"),
            _at_most("first fit, beyond the second", _middle(more), 0.3, "s"),
        ],
    }


def predict_csv(size: Size) -> Row:
    """The command that predicts 1,000,000 rows of CSV, against a process in which pandas reads them (streams.py)."""
    found = work("streams", n=size.rows(1_000_000), repeats=size.repeats(7))
    middle = {name: median(times) for name, times in found["seconds"].items()}
    bars = [_at_least(f"{name}, against the reading alone", middle[READING] / middle[name], 1.0) for name in MODELS]
    figures = {f"{name}, s": times for name, times in found["seconds"].items()}
    figures |= {f"{name}, peak MiB": peak for name, peak in found["peak"].items()}
    return {"title": "electorate predict, 1,000,000 rows of CSV", "figures": figures, "bars": bars}


def memory(size: Size) -> Row:
    """Peak memory of a fit of 1,000,000 x 100 float32, input included."""
    found = {name: _memory_of(name, size) for name in [OURS, *GRADIENT_BOOSTERS]}
    missing = {name: f["missing"] for name, f in found.items() if "missing" in f}
    total = {n: (f["input"] + f["growth"]) / 2**20 for n, f in found.items() if n not in missing}
    sizes = next((f for f in found.values() if "input" in f), {"input": 0, "binned": 0})
    allowed = (1.5 * sizes["input"] + sizes["binned"]) / 2**20
    return {
        "title": "peak memory, fit of 1,000,000 x 100 float32",
        "memory": {"MiB": total, "missing": missing, "raw": found},
        "bars": [_at_most("1.5 x input + binned copy", total.get(OURS), allowed, "MiB")],
    }


def dask(size: Size) -> Row:
    """covtype, 200 rounds, on 2 Dask workers of one thread, against 2 threads here (clusters.py)."""
    figures: Row = {}
    bars: list[Row] = []
    for voters, depth, most in (("stumps", 1, 1.8), ("trees of depth 4", 4, 2.2)):
        found = [_on_cluster(size, n, depth) for n in (145_253, 290_506, 581_012)]
        for one in found:
            figures |= {f"{voters}, {one['n']} rows, {name}, s": took for name, took in one["seconds"].items()}
            figures |= {f"{voters}, {name}": why for name, why in one["missing"].items()}
        ratios = [_ratio(one) for one in found]
        bars += [
            _at_most(f"{voters}, Dask / here", ratios[-1], most, "x"),
            _faster(f"{voters}, against the faster of the peers", found[-1], PEERS, 1.0),
            _at_most(f"{voters}, that ratio / at a quarter of the rows", ratios[-1] / ratios[0], 1.0, "x"),
        ]
    return {"title": "Dask, covtype, 200 rounds, 2 workers of one thread", "figures": figures, "bars": bars}


def _on_cluster(size: Size, n: int, depth: int) -> Row:
    order: Row = {"n": size.rows(n), "rounds": size.rounds(200), "depth": depth, "repeats": size.repeats(3)}
    return dict(work("on_cluster", {}, **order))


def _ratio(found: Row) -> float:
    middle = {name: median(times) for name, times in found["seconds"].items()}
    return middle[OURS] / middle[HERE]


def lpboost(size: Size) -> Row:
    """LPBoost in nu, stumps, 200 rounds, 2,000 x 20: a live model against solving anew, whole fits."""
    order = {"n": size.rows(2_000), "columns": 20, "rounds": size.rounds(200), "repeats": size.repeats(3)}
    one = work("lpboost", limited(1), pinned=True, **order)
    middle = {name: median(times) for name, times in one["seconds"].items()}
    ratio = middle[ANEW] / middle[WARM] if len(middle) == 2 else None
    met = None if ratio is None else ratio >= 5.0
    bar = {"label": "highspy warm against linprog", "bar": ">= 5 x", "measured": ratio, "unit": "x", "met": met}
    return {"title": "LPBoost, 200 rounds, 2,000 x 20", "one core": one, "bars": [bar]}


ROWS: dict[str, Callable[[Size], Row]] = {
    "fit-large": fit_large,
    "fit-adaboost": fit_adaboost,
    "fit-small": fit_small,
    "fit-trees": fit_trees,
    "fit-deep": fit_deep,
    "fit-real": fit_real,
    "round": whole_round,
    "columns": columns,
    "rules": rules,
    "quadboost-lasso": quadboost_lasso,
    "quadboost-rounds": quadboost_rounds,
    "fit-medboost": fit_medboost,
    "penalised": penalised,
    "predict": predict,
    "predict-median": predict_median,
    "predict-csv": predict_csv,
    "start": start,
    "memory": memory,
    "dask": dask,
    "lpboost": lpboost,
}


def _fit_pinned(
    size: Size,
    names: list[str],
    n: int,
    given: Setting,
    *,
    columns: int = 50,
    repeats: int = 5,
    classes: int = 2,
) -> Row:
    """One process on one core, the contenders taking turns."""
    order = _fit_order(size, names, n, given, columns)
    variables = limited(given.threads)
    return dict(work("fit", variables, pinned=True, repeats=size.repeats(repeats), classes=classes, **order))


def _fit_fresh(size: Size, names: list[str], n: int, given: Setting, *, columns: int = 50) -> Row:
    """Seven fresh processes, every contender once in each, each time another one first."""
    order = _fit_order(size, names, n, given, columns)
    variables = limited(given.threads)
    found = [work("fit", variables, repeats=1, turn=k, **order) for k in range(size.repeats(7))]
    took = {name: [f["seconds"][name][0] for f in found] for name in found[0]["seconds"]}
    return {**found[0], "seconds": took}


def _fit_order(size: Size, names: list[str], n: int, given: Setting, columns: int) -> Row:
    rows = {"n": size.rows(n), "held_out": size.rows(50_000), "columns": columns}
    return {"names": names, "setting": given, **rows}


def _import_times(codes: list[str], repeats: int) -> dict[str, list[float]]:
    """Seconds that each import statement takes, a fresh interpreter each time, taking turns."""
    took: dict[str, list[float]] = {code: [] for code in codes}
    for _ in range(repeats):
        for code, times in took.items():
            timed = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
            times.append(float(last_line([sys.executable, "-c", timed], {})))
    return took


def _memory_of(name: str, size: Size) -> Row:
    given = Setting(size.rounds(100), None, RATE)
    return dict(work("memory", name=name, n=size.rows(1_000_000), columns=100, setting=given))


def _middle(times: list[float]) -> float | None:
    return median(times) if times else None


def _faster(label: str, found: Row, peers: list[str], least: float) -> Row:
    """A bar on how many times faster we are than the fastest of `peers`."""
    middle = {name: median(times) for name, times in found["seconds"].items() if times}
    there = {name: middle[name] for name in peers if name in middle}
    fastest = min(there, key=lambda name: there[name], default=None)
    ratio = there[fastest] / middle[OURS] if fastest and OURS in middle else None
    met = None if ratio is None or len(there) < len(peers) else ratio >= least
    bar = {"label": label, "bar": f">= {least:g} x", "measured": ratio, "unit": "x", "met": met}
    return {**bar, "against": fastest}


def _at_least(label: str, ratio: float, least: float) -> Row:
    """A bar from below on one ratio."""
    return {"label": label, "bar": f">= {least:g} x", "measured": ratio, "unit": "x", "met": ratio >= least}


def _at_most(label: str, measured: float | None, most: float, unit: str) -> Row:
    """A bar from above on one number."""
    met = None if measured is None else measured <= most
    bar = f"<= {most:.4g} {unit}"
    return {"label": label, "bar": bar, "measured": measured, "unit": unit, "met": met}
