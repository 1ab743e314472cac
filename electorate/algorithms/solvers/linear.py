"""Linear programs of LPBoost, by HiGHS, from the side of the example weights: a new voter is one more row.

In C: max sum(w), awards w <= 1, 0 <= w <= cap. In nu: min gamma, awards w <= gamma, sum(w) = 1, 0 <= w <= cap.
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.optimize import linprog

from electorate.algorithms.lpboost import Margin
from electorate.exact import Floats

TOLERANCE = 1e-10  # of the solvers, for feasibility on either side
NOTHING = 1e-10  # a weight of a voter below this share of all is rounding


@dataclass(frozen=True)
class Solution:
    """alpha[voter] and, from the dual, weights[example]."""

    alpha: Floats
    weights: Floats

    @classmethod
    def within(cls, alpha: Floats, weights: Floats, margin: Margin) -> "Solution":
        """Inside the bounds that solvers respect only to a tolerance; voters of almost no weight have exactly none."""
        alpha = np.maximum(alpha, 0.0)
        alpha = np.where(alpha > NOTHING * max(1.0, alpha.sum()), alpha, 0.0)
        return cls(alpha, np.clip(weights, 0.0, margin.cap))


class Fresh:
    """The program over the voters added so far, solved from nothing each time, through SciPy.

    solve: None where the solver gave up; `status` has its message.
    """

    def __init__(self, margin: Margin) -> None:
        self.margin = margin
        self.rows: list[Floats] = []
        self.status = ""

    def add(self, awards: Floats) -> None:
        self.rows.append(awards)

    def solve(self) -> Solution | None:
        n, cap = len(self.margin.cap), self.margin.cap
        awards = np.array(self.rows).reshape(-1, n)
        program = {"c": -np.ones(n), "A_ub": awards, "b_ub": np.ones(len(awards))}
        program["bounds"] = np.stack([np.zeros(n), cap], axis=1)
        if self.margin.normalised:
            program |= {"c": np.append(np.zeros(n), 1.0), "b_ub": np.zeros(len(awards))}
            program |= {"A_ub": np.column_stack([awards, -np.ones(len(awards))])}
            program |= {"A_eq": np.append(np.ones(n), 0.0)[None], "b_eq": np.ones(1)}
            program["bounds"] = np.vstack([program["bounds"], [-np.inf, np.inf]])
        options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
        found = linprog(**program, method="highs-ds", options=options)
        self.status = str(found.message)
        return Solution.within(-found.ineqlin.marginals, found.x[:n], self.margin) if found.status == 0 else None


class Live:
    """The program as a live model of highspy: a new voter is a new row, and the simplex starts from its last basis."""

    def __init__(self, margin: Margin) -> None:
        highspy: Any = import_module("highspy")
        self.margin = margin
        self.n = len(margin.cap)
        self.n_voters = 0
        self.status = ""
        self.good = highspy.HighsModelStatus.kOptimal
        self.model = model = highspy.Highs()
        self.infinity = highspy.kHighsInf
        options = {"output_flag": False, "parallel": "off", "solver": "simplex", "simplex_strategy": 1}
        options |= {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
        for name, value in options.items():
            model.setOptionValue(name, value)
        self.variables = np.arange(self.n + margin.normalised, dtype=np.int32)
        model.addVars(self.n, np.zeros(self.n), np.minimum(margin.cap, self.infinity))
        cost = -np.ones(self.n)
        if margin.normalised:
            model.addVars(1, np.array([-self.infinity]), np.array([self.infinity]))
            model.addRow(1.0, 1.0, self.n, self.variables[:-1], np.ones(self.n))
            cost = np.append(np.zeros(self.n), 1.0)
        model.changeColsCost(len(cost), self.variables, cost)

    def add(self, awards: Floats) -> None:
        normalised = self.margin.normalised
        row = np.append(awards, -1.0) if normalised else np.asarray(awards, dtype=np.float64)
        used = np.flatnonzero(row)
        most = 0.0 if normalised else 1.0
        self.model.addRow(-self.infinity, most, len(used), self.variables[used], np.ascontiguousarray(row[used]))
        self.n_voters += 1

    def solve(self) -> Solution | None:
        for again in (False, True):
            if again:
                self.model.clearSolver()  # from nothing, where the last basis led astray
            self.model.run()
            if self.model.getModelStatus() == self.good:
                found = self.model.getSolution()
                rows = np.array(found.row_dual)[-self.n_voters :] if self.n_voters else np.empty(0)
                return Solution.within(-rows, np.array(found.col_value)[: self.n], self.margin)
        self.status = self.model.modelStatusToString(self.model.getModelStatus())
        return None


Master = Fresh | Live


def has_highspy() -> bool:
    return find_spec("highspy") is not None


def master_of(margin: Margin, solver: str) -> Master:
    """solver: "scipy", "highspy", or "auto", which takes highspy where it is installed."""
    if solver == "highspy" and not has_highspy():
        raise ImportError("solver='highspy' needs the package highspy: pip install electorate[lp], or solver='scipy'")
    return Live(margin) if solver != "scipy" and has_highspy() else Fresh(margin)
