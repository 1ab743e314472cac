"""Figures of the DeepBoost and VadaBoost papers in small, on the papers' data: their numbers."""

import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from electorate.studies import deepboost_figures as deepboost
from electorate.studies import vadaboost_figures as vadaboost

mpl.use("Agg")
DATA = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here")


def test_deepboosts_trees_are_smaller_where_complexity_has_a_price() -> None:
    free = deepboost.figure_3(DATA, deepboost.Plan(depth=4, rounds=20, lam=0.0))
    dear = deepboost.figure_3(DATA, deepboost.Plan(depth=4, rounds=20, lam=0.01))
    assert dear.sizes["DeepBoost"].mean() < free.sizes["DeepBoost"].mean()


def test_vadaboost_needs_about_twice_adaboosts_rounds_at_lam_0() -> None:
    """Theorem 5, and what the paper sees in its Figure 2."""
    study = vadaboost.figure_2(DATA, vadaboost.Plan(rounds=150, rows=600, bins=8))
    costs = study.displays[0.0].costs
    for level in (0.1, 0.03):
        ada, vada = (vadaboost.rounds_to(cost, level * 600**2) for cost in costs.values())
        assert ada is not None
        assert vada is not None
        assert 1.5 <= vada / ada <= 3
    assert vadaboost.rounds_to([3.0, 2.0], 1.0) is None
    assert list(study.displays[0.5].costs) == ["AdaBoost, squared", "VadaBoost", "EBBoost"]
    assert np.all(np.diff(study.displays[0.5].costs["EBBoost"]) < 0)


def test_vadaboosts_bound_touches_its_cost_and_has_its_step_as_minimum() -> None:
    """Figure 1: U is above V and equal to it at 0 (Theorem 3); VadaBoost's step minimises U (Lemma 2)."""
    study = vadaboost.figure_1()
    for lam, (cost, bound) in study.costs.items():
        at_zero = int(np.argmin(np.abs(study.alphas)))
        assert np.all(bound >= cost * (1 - 1e-12))
        assert bound[at_zero] == pytest.approx(cost[at_zero], rel=1e-12)
        assert study.alphas[np.argmin(bound)] == pytest.approx(study.steps[lam], abs=0.0051)
    gaps = [np.max(bound / cost) for cost, bound in study.costs.values()]
    assert gaps[1] < gaps[0]  # the bound is closer for a larger lam
