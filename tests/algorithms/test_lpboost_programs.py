"""The programs of LPBoost and RQPBoost against independent solutions: the primal program in full, and other solvers."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from electorate.algorithms.lpboost import hard, in_c, in_nu, margins_of
from electorate.algorithms.solvers import linear
from electorate.algorithms.solvers.linear import Fresh, Live
from electorate.algorithms.solvers.quadratic import solve_quadratic
from electorate.algorithms.totally_corrective import Quadratic

pytest.importorskip("highspy")
MASTERS = {"scipy": Fresh, "highspy": Live}


def pool(seed: int, n: int = 60, voters: int = 25, real: bool = False, noise: float = 0.15) -> tuple[Any, Any]:
    """awards[voter, example] and sample weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1.0, -1.0) * np.where(rng.random(n) < noise, -1, 1)
    cut = rng.normal(size=voters)
    said = np.tanh(X[:, rng.integers(0, 5, voters)] - cut) if real else np.sign(X[:, rng.integers(0, 5, voters)] - cut)
    return (said * y[:, None] * rng.choice([-1, 1], voters)).T, rng.integers(1, 4, n).astype(float)


def primal_in_c(awards: Any, cap: Any) -> float:
    """min sum(a) + cap xi, a awards + xi >= 1, written out."""
    voters, n = awards.shape
    costs = np.concatenate([np.ones(voters), cap])
    return float(linprog(costs, A_ub=-np.hstack([awards.T, np.eye(n)]), b_ub=-np.ones(n), method="highs-ipm").fun)


def primal_in_nu(awards: Any, cap: Any) -> float:
    """max rho - cap xi, a awards + xi >= rho, sum(a) = 1, written out; cap None: no xi."""
    voters, n = awards.shape
    slack = np.zeros((n, 0)) if cap is None else np.eye(n)
    costs = np.concatenate([np.zeros(voters), [] if cap is None else cap, [-1.0]])
    table = -np.hstack([awards.T, slack, -np.ones((n, 1))])
    total = np.concatenate([np.ones(voters), np.zeros(slack.shape[1] + 1)])[None]
    bounds = [(0, None)] * (len(costs) - 1) + [(None, None)]
    return -float(linprog(costs, A_ub=table, b_ub=np.zeros(n), A_eq=total, b_eq=[1], bounds=bounds).fun)


def solved(form: Any, awards: Any, master: str = "scipy") -> Any:
    program = MASTERS[master](form)
    for award in awards:
        program.add(award)
    solution = program.solve()
    assert solution is not None
    return solution


@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_both_forms_reach_the_primal_program(seed: int, real: bool, master: str) -> None:
    awards, mass = pool(seed, real=real)
    cases = [(in_c(mass, c), primal_in_c(awards, c * mass)) for c in (0.02, 0.1, 3.0)]
    cases += [(in_nu(mass, nu), primal_in_nu(awards, mass / (nu * mass.sum()))) for nu in (0.1, 0.5, 1.0)]
    cases += [(hard(mass), primal_in_nu(awards, None))]
    for form, expected in cases:
        solution = solved(form, awards, master)
        objective = form.primal(solution.alpha, margins_of(solution.alpha, awards, len(mass)))
        assert objective == pytest.approx(expected, abs=1e-8, rel=1e-8)
        bound = form.dual(solution.weights, float((awards @ solution.weights).max()))
        assert form.gap(objective, bound) < 1e-8
        assert np.all((solution.weights >= 0) & (solution.weights <= form.cap))


def test_a_live_model_agrees_with_solving_anew_after_every_voter() -> None:
    awards, mass = pool(7)
    for form in (in_c(mass, 0.1), in_nu(mass, 0.3), hard(mass)):
        fresh, live = Fresh(form), Live(form)
        for t, award in enumerate(awards, start=1):
            found = []
            for master in (fresh, live):
                master.add(award)
                solution = master.solve()
                assert solution is not None
                found.append(form.primal(solution.alpha, margins_of(solution.alpha, awards[:t], len(mass))))
            assert found[0] == pytest.approx(found[1], abs=1e-9, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_forms_correspond(seed: int) -> None:
    """C = D / beta: the optimum in C is 1 / beta, and alpha / rho is optimal there."""
    awards, mass = pool(seed, noise=0.05)
    awards = np.vstack([awards, -awards])
    for nu in (0.3, 0.6, 1.0):
        form, d = in_nu(mass, nu), 1 / (nu * mass.sum())
        solution = solved(form, awards)
        margins = margins_of(solution.alpha, awards, len(mass))
        beta = form.primal(solution.alpha, margins)
        if beta < 1e-6:
            continue
        alpha, c = solution.alpha / form.rho(margins), d / beta
        assert primal_in_c(awards, c * mass) == pytest.approx(1 / beta, rel=1e-8)
        there = in_c(mass, c)
        assert there.primal(alpha, margins_of(alpha, awards, len(mass))) == pytest.approx(1 / beta, rel=1e-8)


def test_a_weight_is_so_many_rows() -> None:
    awards, mass = pool(3)
    rows = np.repeat(np.arange(len(mass)), mass.astype(int))
    for make in (lambda s: in_c(s, 0.07), lambda s: in_nu(s, 0.4)):
        weighted, repeated = make(mass), make(np.ones(len(rows)))
        one, two = solved(weighted, awards), solved(repeated, awards[:, rows])
        first = weighted.primal(one.alpha, margins_of(one.alpha, awards, len(mass)))
        second = repeated.primal(two.alpha, margins_of(two.alpha, awards[:, rows], len(rows)))
        assert first == pytest.approx(second, abs=1e-9)


def test_the_form_in_c_is_empty_exactly_while_no_edge_is_worth_it() -> None:
    awards, mass = pool(1)
    largest = float((awards @ mass).max())  # m max|mu|
    for factor, empty in ((0.999, True), (1.001, False)):
        alpha = solved(in_c(mass, factor / largest), awards).alpha
        assert bool(np.any(alpha)) is not empty


# ---------------------------------------------------------------- the quadratic program


def by_slsqp(awards: Any, cap: Any) -> float:
    """min |a|^2 + cap xi over (a, xi), an independent solver on the program as it is written."""
    voters, n = awards.shape
    value = lambda v: v[:voters] @ v[:voters] + cap @ v[voters:]  # noqa: E731
    slope = lambda v: np.concatenate([2 * v[:voters], cap])  # noqa: E731
    table = np.hstack([awards.T, np.eye(n)])
    found = minimize(
        value,
        np.concatenate([np.full(voters, 0.1), np.ones(n)]),
        jac=slope,
        bounds=[(0, None)] * (voters + n),
        constraints={"type": "ineq", "fun": lambda v: table @ v - 1, "jac": lambda v: table},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    return float(found.fun)


def by_projected_gradient(awards: Any, cap: Any, steps: int = 200_000) -> float:
    """The dual optimum by Nesterov's method on the weights: slow, and nothing in common with ours."""
    rate = 2.0 / np.linalg.norm(awards, 2) ** 2
    w = ahead = 0.5 * cap
    for k in range(steps):
        step = ahead + rate * (1.0 - 0.5 * np.maximum(0.0, awards @ ahead) @ awards)
        after = np.clip(step, 0.0, cap)
        ahead, w = after + k / (k + 3) * (after - w), after
    return float(w.sum() - 0.25 * np.sum(np.maximum(0.0, awards @ w) ** 2))


@pytest.mark.parametrize("c", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("real", [False, True])
def test_rqp_against_slsqp(real: bool, c: float) -> None:
    awards, mass = pool(5, n=30, voters=12, real=real)
    found = solve_quadratic(awards, Quadratic(c * mass))
    assert found.converged
    assert found.objective == pytest.approx(by_slsqp(awards, c * mass), rel=1e-6, abs=1e-6)


def test_rqp_against_a_long_projected_gradient() -> None:
    awards, mass = pool(6, n=80, voters=20)
    found = solve_quadratic(awards, Quadratic(0.2 * mass))
    assert found.objective == pytest.approx(by_projected_gradient(awards, 0.2 * mass, 20_000), rel=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_rqp_kkt(seed: int) -> None:
    """Every condition of optimality, computed here; also for many voters, twice the same, and unequal weights."""
    awards, mass = pool(seed, n=100, voters=[3, 25, 150][seed % 3], real=seed % 2 == 1)
    awards = np.vstack([awards, awards[:2]])
    cap = [0.01, 1.0, 100.0][seed // 2] * mass
    found = solve_quadratic(awards, Quadratic(cap))
    margins = found.alpha @ awards
    assert np.all(found.alpha >= 0)
    assert np.all((found.weights >= 0) & (found.weights <= cap))
    slope = 2 * found.alpha - awards @ found.weights
    assert np.abs(np.minimum(slope, found.alpha)).max() < 1e-6  # alpha >= 0, slope >= 0, one of them 0
    short = 1.0 - margins
    assert np.abs(np.clip(found.weights + short, 0, cap) - found.weights).max() < 1e-6
    assert found.residual < 1e-6
    assert found.gap < 1e-8


def test_no_solver_is_asked_for_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "has_highspy", lambda: False)
    form = in_nu(np.ones(3), 0.5)
    assert isinstance(linear.master_of(form, "auto"), Fresh)
    with pytest.raises(ImportError, match=r"electorate\[lp\]"):
        linear.master_of(form, "highspy")
