"""Figures of the DeepBoost and VadaBoost papers in small, on the papers' data: their numbers."""

import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from electorate import margins
from electorate.cli import main
from electorate_studies import figures

mpl.use("Agg")
DATA = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here")


def test_deepboosts_trees_are_smaller_where_complexity_has_a_price() -> None:
    free, dear = (
        np.mean([one["nodes"] for one in figures.tree_nodes(DATA, depth=4, rounds=20, lam=lam)]) for lam in (0.0, 0.01)
    )
    assert dear < free


def test_margins_of_figure_4_are_those_of_the_models() -> None:
    found = figures.sorted_margins(DATA, depth=3, rounds=15)
    X, y = figures.nine_tenths(DATA)
    for one, (name, model) in zip(found, figures.boosted_trees(3, 15).items(), strict=True):
        values = margins(model.fit(X, y), X, y).values
        assert one["algorithm"] == name
        np.testing.assert_allclose(one["margins"], np.sort(values), atol=1e-6)
        facts = figures.facts(found)[name]
        assert facts["minimum"] == pytest.approx(values.min(), abs=1e-6)
        assert facts["median"] == pytest.approx(np.median(values), abs=1e-6)


def test_vadaboost_needs_about_twice_adaboosts_rounds_at_lam_0() -> None:
    """Theorem 5, and what the paper sees in its Figure 2."""
    found = figures.cost_curves(DATA, rounds=150, rows=600, bins=8)
    costs = {(one["lam"], one["algorithm"]): one["cost"] for one in found}
    for level in (0.1, 0.03):
        names = "AdaBoost, squared", "VadaBoost"
        ada, vada = (figures.rounds_to(costs[0.0, name], level * 600**2) for name in names)
        assert ada is not None
        assert vada is not None
        assert 1.5 <= vada / ada <= 3
    assert figures.rounds_to([3.0, 2.0], 1.0) is None
    assert [name for lam, name in costs if lam == 0.5] == ["AdaBoost, squared", "VadaBoost", "EBBoost"]
    assert np.all(np.diff(costs[0.5, "EBBoost"]) < 0)


def test_vadaboosts_bound_touches_its_cost_and_has_its_step_as_minimum() -> None:
    """Figure 1: U is above V and equal to it at 0 (Theorem 3); VadaBoost's step minimises U (Lemma 2)."""
    found = figures.bounds(figures.bound_curves(DATA))
    for of in found.values():
        at_zero = int(np.argmin(np.abs(of["alpha"])))
        assert np.all(of["U"] >= of["V"] * (1 - 1e-12))
        assert of["U"][at_zero] == pytest.approx(of["V"][at_zero], rel=1e-12)
        assert of["alpha"][np.argmin(of["U"])] == pytest.approx(of["step"][0], abs=0.0051)
    gaps = [np.max(of["U"] / of["V"]) for of in found.values()]
    assert gaps[1] < gaps[0]  # the bound is closer for a larger lam


@pytest.mark.parametrize(("paper", "number"), [("deepboost", 3), ("deepboost", 4), ("vadaboost", 1), ("vadaboost", 2)])
def test_a_picture_is_drawn_again_from_its_file(paper: str, number: int, tmp_path: Path) -> None:
    """The numbers are stored; --render draws from them, without the data."""
    where = ["reproduce", paper, "--figure", str(number), "--quick", "--out", str(tmp_path)]
    assert main([*where, "--data", str(DATA)]) == 0
    picture, page = tmp_path / f"{paper}-figure-{number}.png", tmp_path / f"{paper}-figure-{number}.md"
    first = picture.read_bytes(), page.read_text(encoding="utf-8")
    picture.unlink()
    assert main([*where, "--render", "--data", str(tmp_path / "none")]) == 0
    assert (picture.read_bytes(), page.read_text(encoding="utf-8")) == first
