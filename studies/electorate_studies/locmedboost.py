"""The theorems of the LocMedBoost paper as experiments: robust training error, minimum margin, generalisation.

`electorate reproduce locmedboost [--theorem N | --lemma 1 | --figure N | --table 1]`. The paper has no experiments of
its own; "table 1" has errors on regression problems (studies/electorate_studies/medboost.py).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize_scalar
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from electorate import Columns, LocMedBoostRegressor, MedBoostRegressor, RegressionTrees
from electorate.report import QuantilesDisplay
from electorate_studies import medboost
from electorate_studies.binary_sets import with_files
from electorate_studies.medboost import Part, read, typical
from electorate_studies.request import PAPERS, Floats, Request, markdown_table, new_figure, paragraphs, text
from electorate_studies.runs import Lines, stored

OFFERS = PAPERS["locmedboost"]["offers"]
NEEDS_DATA = ("figure 1", "lemma 1", "theorem 1", "theorem 2", "table 1")
WHOLE = ("all",)
DELTA = 0.05
LINEAR_FROM = -10.0
ABSTAINS = 0.2  # of the predictions that are left out, where voters abstain
BUMPS: dict[str, Any] = {"confidence_by": "bumps", "n_bumps": 3, "random_state": 0}
Draw = Callable[[], tuple[Part, Part]]  # rows, and others, on which the voters of a finite set are fitted


@dataclass(frozen=True)
class Plan:
    """Sizes of the experiments. rows: per set; voters: of the finite set; sizes: training rows for Theorem 3."""

    sets: tuple[str, ...] = ("boston_housing", "auto_mpg", "concrete", "friedman1", "friedman3")
    rows: int = 200
    rounds: int = 100
    rhos: int = 11
    voters: int = 60
    nus: tuple[float, ...] = (0.2, 0.1)
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)


FULL = Plan()
QUICK = Plan(("friedman1",), rows=60, rounds=20, rhos=9, voters=12, nus=(0.4,), sizes=(200,))


# ---------------------------------------------------------------- rows and finite sets of voters


def problems(request: Request, plan: Plan) -> dict[str, Draw]:
    """How to draw rows of those asked for, or the plan's, if their files are in the folder; to render, of all."""
    names = request.choose(plan.sets, medboost.SETS)
    names = names if request.render else with_files(names, medboost.FILES, request)
    return {name: partial(some_rows, name, request.data, plan.rows) for name in names}


def some_rows(name: str, folder: Path, n: int, seed: int = 0) -> tuple[Part, Part]:
    """Return n rows to fit and n others, on which the voters of a finite set are fitted."""
    data = read(name, folder, seed)
    n = min(n, len(data.y) // 2)
    order = np.random.default_rng(seed).permutation(len(data.y))
    first, second = (Part(data.X[rows], data.y[rows]) for rows in (order[:n], order[n : 2 * n]))
    return first, second


def trees(rows: Part, n_voters: int, seed: int = 0) -> list[DecisionTreeRegressor]:
    """Return trees of depth 1 to 4, each fitted to rows drawn with replacement."""
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(0, len(rows.y), len(rows.y)) for _ in range(n_voters)]
    models = [DecisionTreeRegressor(max_depth=1 + k % 4, random_state=k) for k in range(n_voters)]
    return [model.fit(np.nan_to_num(rows.X[d]), rows.y[d]) for model, d in zip(models, drawn, strict=True)]


def predictions(voters: list[DecisionTreeRegressor], X: Floats, abstain: bool = False) -> Floats:
    """[row, voter]; with `abstain`, each voter leaves out a fifth of the rows, at one end of a column of its own."""
    X = np.nan_to_num(X)
    outputs = np.column_stack([voter.predict(X) for voter in voters])
    for k in range(len(voters) if abstain else 0):
        column = X[:, k % X.shape[1]]
        outputs[column < np.quantile(column, ABSTAINS), k] = np.nan
    return outputs


def reachable_eps(outputs: Floats, y: Floats) -> float:
    """The least eps that has some voter within it on every row: then rho* is above -1."""
    return float(np.nanmin(np.abs(outputs - y[:, None]), axis=1).max())


def awards(outputs: Floats, y: Floats, eps: float) -> Floats:
    """kappa theta of eq. 4 for the 0-1 cost: [row, voter]."""
    return np.where(np.isnan(outputs), 0.0, np.where(np.abs(outputs - y[:, None]) <= eps, 1.0, -1.0))


def largest_margin(earned: Floats) -> float:
    """rho*: the largest minimum margin of any convex weights of the voters, by linear programming."""
    n, n_voters = earned.shape
    found = linprog(
        np.concatenate([np.zeros(n_voters), [-1.0]]),
        A_ub=np.hstack([-earned, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=np.concatenate([np.ones(n_voters), [0.0]])[None],
        b_eq=[1.0],
        bounds=[(0, None)] * n_voters + [(None, None)],
        method="highs",
    )
    if found.status != 0:
        raise RuntimeError(f"HiGHS did not solve the program of the largest margin: {found.message}")
    return float(-found.fun)


def rounds_allowed(earned: Floats, weight: Floats, nu: float) -> int:
    """ceil(A^2 log n / (2 nu^2)) + 1; with sample weights log n is log(1 / min s_i)."""
    spread = float(earned.max() - earned.min())
    return math.ceil(spread**2 * math.log(weight.sum() / weight.min()) / (2 * nu**2)) + 1


# ---------------------------------------------------------------- Theorem 1


def theorem_1_models(plan: Plan) -> dict[str, Any]:
    trees, options = RegressionTrees(2), dict[str, Any](n_estimators=plan.rounds)
    return {
        "MedBoost": MedBoostRegressor(trees, **options),
        "MedBoost, linear cost": MedBoostRegressor(trees, cost="linear", nu=0.5, **options),
        "LocMedBoost, abstaining": LocMedBoostRegressor(trees, **options),
        "LocMedBoost, bumps": LocMedBoostRegressor(trees, **BUMPS, **options),
    }


def check_theorem_1(model: Any, draw: Draw, rhos: Floats) -> dict[str, float]:
    """Compare L^(rho) of eq. 9 with the product of E_rho, for every rho after every round. draw(): rows, and others."""
    rows, _ = draw()
    fitted = model.fit(rows.X, rows.y)
    seen = np.array([list(fitted.staged_robust_error(rows.X, rows.y, rho)) for rho in rhos.tolist()])
    bound = fitted.error_bounds(rhos)
    useful = bound < 1
    return {
        "rounds": seen.shape[1],
        "pairs": seen.size,
        "violations": int(np.count_nonzero(seen > bound + 1e-9)),
        "useful": float(useful.mean()),
        "distance": float(np.median((bound - seen)[useful])) if useful.any() else math.nan,
        "largest rho": float(rhos[useful[:, -1]].max()) if useful[:, -1].any() else math.nan,
    }


def theorem_1(request: Request, plan: Plan, lines: Lines) -> list[str]:
    table = []
    for (name, draw), (title, model) in product(problems(request, plan).items(), theorem_1_models(plan).items()):
        rhos = np.linspace(LINEAR_FROM if model.cost == "linear" else -1.0, 1.0, plan.rhos)
        found = lines.compute(["1", plan.rows, name, title], partial(check_theorem_1, model, draw, rhos))
        counts = (f"{found[k]:,.0f}" for k in ("rounds", "pairs", "violations"))
        shares = (f"{found['useful']:.0%}", f"{found['distance']:.3f}", f"{found['largest rho']:.2f}")
        table.append([name, title, *counts, *shares])
    head = "set | algorithm | rounds | pairs | violations | bound below 1 | distance | largest rho"
    about = text("theorem 1", rows=plan.rows, rhos=plan.rhos, low=f"{LINEAR_FROM:g}")
    return paragraphs(about, markdown_table(head, table, "llrrrrrr"))


# ---------------------------------------------------------------- Theorem 2 and its corollaries


@dataclass(frozen=True)
class Setting:
    """What the minimum margin is followed under. rule: of rho; "constant" is Corollary 1."""

    title: str
    rule: str
    weighted: bool = False
    abstain: bool = False


SETTINGS = (
    Setting("adaptive", "adaptive"),
    Setting("lowest edge", "lowest_edge"),
    Setting("constant, rho* - nu", "constant"),
    Setting("adaptive, weights 1 to 5", "adaptive", weighted=True),
    Setting("adaptive, voters abstain", "adaptive", abstain=True),
)


SIDES = ("E_rho of each round", "rows not above the target margin", "rows")  # of Lemma 1 and of Theorem 2


def check_theorem_2(setting: Setting, plan: Plan, draw: Draw, nu: float) -> dict[str, float]:
    """Follow the minimum margin for as many rounds as the theorem allows. draw(): rows, and those for the voters."""
    part, others = draw()
    outputs = predictions(trees(others, plan.voters), part.X, setting.abstain)
    weight = np.ones(len(part.y))
    if setting.weighted:
        weight = np.random.default_rng(0).integers(1, 6, len(part.y)).astype(np.float64)
    eps = reachable_eps(outputs, part.y)
    earned = awards(outputs, part.y, eps)
    goal, most = largest_margin(earned), rounds_allowed(earned, weight, nu)
    rho: Any = goal - nu if setting.rule == "constant" else setting.rule
    kind = LocMedBoostRegressor if setting.abstain else MedBoostRegressor
    fitted = kind(Columns(), eps=eps, rho=rho, nu=nu, n_estimators=most).fit(outputs, part.y, weight)
    margins = fitted.history_["min_margin"]
    there = margins > goal - nu
    away = np.flatnonzero(~there)
    excess = {one.name: one.observed - one.predicted for one in fitted.convergence().predictions}
    missed = margins < fitted.history_["target_margin"] - 1e-9
    excess["rows"] = missed * weight.min() / weight.sum() - fitted.history_["objective"]
    return {
        **{name: float(excess[name].max()) for name in SIDES},
        "goal": goal,
        "allowed": most,
        "rounds": len(margins),
        "first": int(np.argmax(there)) + 1 if there.any() else math.nan,
        "for good": int(away[-1]) + 2 if len(away) else 1,
        "least": float(margins[-1]),
    }


def theorem_2(request: Request, plan: Plan, lines: Lines) -> list[str]:
    table = []
    for (name, draw), setting, nu in product(problems(request, plan).items(), SETTINGS, plan.nus):
        make = partial(check_theorem_2, setting, plan, draw, nu)
        found = lines.compute(["2", plan.rows, plan.voters, name, setting.title, nu, "sides"], make)
        away = found["least"] - found["goal"]
        counts = (f"{found[k]:,.0f}" for k in ("allowed", "first", "for good"))
        sides = [found[side] for side in SIDES]
        holds = "yes" if away > -nu and max(sides) <= 1e-9 else "NO"
        ends = (f"{found['least']:.4f}", f"{away:.4f}", *(f"{side:.0e}" for side in sides), holds)
        table.append([name, setting.title, f"{nu:g}", f"{found['goal']:.4f}", *counts, *ends])
    head = "set | rho | nu | rho* | allowed | first | for good | margin at the bound | margin - rho*"
    body = markdown_table(f"{head} | Lemma 1 | product | rows | holds", table, "llrrrrrrrrrr")
    return paragraphs(text("theorem 2", voters=plan.voters), body)


# ---------------------------------------------------------------- Theorems 3, 4 and 5


BOUNDS = {3: "median, finitely many voters", 4: "median, tubes", 5: "median, smooth confidences"}
DIMENSIONS = {4: 11, 5: 17}  # of linear regressors of ten columns; of trees of depth 2, (2^2 + 1) log2(10 + 1)


def check_generalisation(number: int, n: int, plan: Plan) -> dict[str, float]:
    """The bound of a theorem, and the error on as many new rows of friedman1."""
    sizes = {1: 2_000, 2: n, 3: n}  # by seed
    fixed, train, test = (Part(*make_friedman1(size, noise=1.0, random_state=seed)) for seed, size in sizes.items())
    eps, rounds = 2 * typical(train.y), plan.rounds
    X, X_test = train.X, test.X
    model: Any = MedBoostRegressor(LinearRegression() if number == 4 else Columns(), eps=eps, n_estimators=rounds)
    if number == 3:
        voters = trees(fixed, plan.voters)
        X, X_test = predictions(voters, train.X), predictions(voters, test.X)
    elif number == 5:
        model = LocMedBoostRegressor(RegressionTrees(2), eps=eps, n_estimators=rounds, **BUMPS)
    fitted = model.fit(X, train.y)
    own = DIMENSIONS.get(number)
    bound = fitted.certificate(train=(X, train.y), eps=eps, delta=DELTA, pseudo_dimension=own)[BOUNDS[number]]
    return {
        "eps": eps,
        "bound": float(bound.value) if bound.value is not None else math.nan,
        "train": float(np.mean(np.abs(fitted.predict(X) - train.y) > eps)),
        "test": float(np.mean(np.abs(fitted.predict(X_test) - test.y) > eps)),
    }


def generalisation(number: int, request: Request, plan: Plan, lines: Lines) -> list[str]:
    table = []
    for n in plan.sizes:
        key = ["3", plan.voters, n] if number == 3 else [str(number), n]
        found = lines.compute(key, partial(check_generalisation, number, n, plan))
        numbers = (f"{found[k]:.4f}" for k in ("eps", "train", "test", "bound"))
        holds = "-" if number == 5 else "yes" if found["test"] <= found["bound"] else "NO"
        table.append([f"{n:,}", *numbers, holds])
    voters = text(f"voters of theorem {number}", voters=plan.voters, p=DIMENSIONS.get(number))
    head = "training rows | eps | training error | test error | bound | holds"
    about = text("generalisation", voters=voters, sure=f"{1 - DELTA:g}")
    return paragraphs(about, markdown_table(head, table, "rrrrr"))


# ---------------------------------------------------------------- Figures 1 and 2


def check_figure_1(plan: Plan, draw: Draw, nu: float) -> dict[str, float]:
    """The lines of Figure 1 in NumPy, with the regressor's voters: how far its edges, steps and medians differ."""
    part, others = draw()
    outputs = predictions(trees(others, plan.voters), part.X)
    eps = reachable_eps(outputs, part.y)
    fitted = MedBoostRegressor(Columns(), eps=eps, nu=nu, n_estimators=plan.rounds).fit(outputs, part.y)
    earned, steps = awards(outputs, part.y, eps), fitted.steps_
    h = np.column_stack([voter.predict(outputs) for voter in fitted.estimators_])
    w, edges, sizes = np.full(len(part.y), 1 / len(part.y)), [], []  # line 1
    for t, alpha in enumerate(steps):  # line 2
        theta = awards(h[:, [t]], part.y, eps)[:, 0]  # line 5; kappa = 1
        edges.append(np.max(earned.T @ w) - theta @ w)  # line 3: BASE searches all voters
        log_loss = partial(_log_loss, theta=theta - (theta @ w - nu), w=w)
        sizes.append(minimize_scalar(log_loss, (0, 1), method="brent", tol=1e-10).x - alpha)
        w = w * np.exp(-alpha * theta)  # line 13
        w /= w.sum()
    order = np.argsort(h, axis=1, kind="stable")
    above = steps.sum() - np.cumsum(steps[order], axis=1)  # of the steps of larger outputs: eq. 7 at rho = 0
    median = np.take_along_axis(h, order, axis=1)[np.arange(len(h)), np.argmax(above < steps.sum() / 2, axis=1)]
    apart = {"edge": edges, "step": sizes, "median": median - fitted.predict(outputs)}
    return {"rounds": len(steps), **{name: float(np.max(np.abs(of))) for name, of in apart.items()}}


def _log_loss(alpha: float, theta: Floats, w: Floats) -> float:
    """Line 7: the log of E_rho (5). theta: less rho."""
    return float(np.log(w @ np.exp(-alpha * theta)))


def figure_1(request: Request, plan: Plan, lines: Lines) -> list[str]:
    table = []
    for (name, draw), nu in product(problems(request, plan).items(), plan.nus):
        make = partial(check_figure_1, plan, draw, nu)
        found = lines.compute(["figure 1", plan.rows, plan.voters, name, nu], make)
        numbers = (f"{found[k]:.1e}" for k in ("edge", "step", "median"))
        table.append([name, f"{nu:g}", f"{found['rounds']:.0f}", *numbers])
    body = markdown_table("set | nu | rounds | edges | steps | medians", table, "lrrrrr")
    return paragraphs(text("figure 1 of locmedboost"), body)


def nine_lines() -> list[dict[str, Any]]:
    """x and the outputs of nine voters. The paper gives no numbers: the lines are ours."""
    x, slopes = np.linspace(0.0, 1.0, 200), np.array([0.9, -0.3, 0.5, -0.7, 0.2, 0.8, -0.5, 0.1, -0.4])
    lines = np.linspace(-0.4, 0.4, 9) + np.outer(x - 0.5, slopes)
    return [{"x": at, "lines": of} for at, of in zip(x.tolist(), lines.tolist(), strict=True)]


def figure_2(request: Request, plan: Plan, lines: Lines) -> list[str]:
    """The picture, from the lines in a CSV file: equal weights, rho / c = 0.25; in (b) beside a target."""
    picture = replace(request, what="figure 2")
    figure = draw_lines(stored(picture, "locmedboost", nine_lines))
    return [text("figure 2 of locmedboost", name=picture.save(figure, "locmedboost")), ""]


def draw_lines(rows: list[dict[str, Any]]) -> Any:
    x, outputs = np.array([one["x"] for one in rows]), np.array([one["lines"] for one in rows])
    figure, ((left, right),) = new_figure(1, 2, (10, 4), sharey=True)
    first, at = QuantilesDisplay.from_voters(x, outputs, rho=0.25).plot(left), int(0.7 * len(x))
    near = float(x[at]), float(first.middle[at]) - 0.02, 0.16
    QuantilesDisplay.from_voters(x, outputs, rho=0.25, target=near).plot(right)
    left.set_title("(a) quantiles of the vote", fontsize="medium")
    right.set_title("(b) rho-robust and eps-precise at y", fontsize="medium")
    left.set_ylim(-1.15, 0.9)
    return figure


# ---------------------------------------------------------------- the command


THEOREMS: dict[str, Any] = {
    "figure 1": figure_1,
    "figure 2": figure_2,
    "theorem 1": theorem_1,
    "theorem 2": theorem_2,
    **{f"theorem {number}": partial(generalisation, number) for number in (3, 4, 5)},
}


def reproduce(request: Request) -> str:
    """For `electorate reproduce locmedboost`: the tables of all theorems and of the regression problems, or one."""
    plan, lines = (QUICK if request.quick else FULL), Lines(request.out / "locmedboost.jsonl", request.render)
    small = "A small version: few rows, rounds and voters." if request.quick else ""
    page = paragraphs("# LocMedBoost", small, text("locmedboost"))
    asked = "theorem 2" if request.what == "lemma 1" else request.what
    for name in THEOREMS if asked == "all" else (asked,):
        if name in THEOREMS:
            page += [f"## {name.capitalize()}", "", *THEOREMS[name](request, plan, lines)]
    page += medboost.reproduce(request) if request.what in ("all", "table 1") else []
    return "\n".join(page)
