"""Figures 5 and 6 of the AdaBoost_R paper in small: exact test graphs, the Bayes curve, all panels; and the claim."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate import AdaBoostRClassifier, Rules, margins
from electorate.cli import main
from electorate.simulate import XD6, LEDEven
from electorate.theory.margins import Margins
from electorate_studies.adaboost_r_figures import (
    ALGORITHMS,
    GRID,
    PAPER,
    QUICK,
    Plan,
    claims,
    distance,
    draw,
    left_area,
    one_fit,
    plateau_lines,
    run_unit,
    units,
    whole_law,
)
from electorate_studies.figures import FEW_ROUNDS, NOISE, THETAS, graph_of, local_graphs, observed, stages, violations
from electorate_studies.request import Request
from electorate_studies.runs import Row

mpl.use("Agg")
SMALL = Plan((1, 2), (3, 12), (20, 40), rates=(0.1, 0.4), rows=80, samples=1)


def request(what: str, tmp_path: Path) -> Request:
    return Request(what, False, tmp_path, tmp_path)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """Every unit of both figures, for all r."""
    every = units(request("table 5", tmp_path_factory.mktemp("out")), SMALL)
    return [Row(unit, outcome, "") for unit in every for outcome in run_unit(unit, SMALL)]


def test_the_papers_setting(tmp_path: Path) -> None:
    assert PAPER.terms == (2, 3, 4, 5, 6)
    assert (PAPER.rounds[0], PAPER.rounds[-1], PAPER.rows) == (20, 1000, 300)
    shown = units(request("figure 5", tmp_path), PAPER)
    every = units(request("table 5", tmp_path), PAPER)
    assert set(shown) < set(every)
    assert {unit.data for unit in shown} == {f"r = 6, noise {rate}%" for rate in (10, 20, 30, 40)}
    assert max(PAPER.many) == 50_000


@pytest.mark.parametrize(("number", "problem"), [(5, LEDEven), (6, XD6)])
def test_a_picture_has_every_panel_and_the_stored_graphs(number: int, problem: type, rows: list[Row]) -> None:
    figure = draw(rows, number, "test", SMALL)
    assert len(figure.axes) == 4
    for panel, (rounds, rate) in zip(figure.axes, [(3, 0.1), (3, 0.4), (12, 0.1), (12, 0.4)], strict=True):
        assert [line.get_label() for line in panel.lines[:4]] == [*ALGORITHMS, "Bayes rule"]
        for line in panel.lines[:3]:
            unit = str(number), f"r = 2, noise {rate:.0%}", 0
            algorithm = f"{line.get_label()}, T = {rounds}"
            stored = next(row.outcome for row in rows if row.unit == unit and row.outcome.algorithm == algorithm)
            np.testing.assert_array_equal(line.get_ydata(), stored.chosen["test"])
            assert stored.chosen["bayes"] == pytest.approx(problem(noise=rate).bayes_error(), abs=1e-5)
            # no rule beats the Bayes rule; ties, a margin of 0, count as errors here
            assert stored.error >= stored.chosen["bayes"] - 1e-5
            assert 0 <= stored.chosen["left"] <= stored.error + 1e-5
    assert len(draw(rows, number, "training", SMALL).axes[0].lines) == 3 + 1


def test_the_test_graph_is_that_of_drawn_rows() -> None:
    """The exact graph of a fitted model against 40,000 drawn rows."""
    problem = XD6(0.3)
    (_, _), (training, test) = one_fit("AdaBoost_R", problem, SMALL, 3, (3, 12), 5)
    X, y = problem.sample(SMALL.rows, 5)
    model = AdaBoostRClassifier(Rules(3), n_estimators=12).fit(X, y)
    np.testing.assert_array_equal(training.values, margins(model, X, y, kind="logistic").values)
    drawn = margins(model, *problem.sample(40_000, 6), kind="logistic")
    thetas = np.linspace(-0.95, 0.95, 39)
    exact = test.margin_error(thetas)
    assert np.all(np.abs(drawn.margin_error(thetas) - exact) <= 4 * np.sqrt(exact * (1 - exact) / 40_000) + 1e-9)


def test_the_whole_law_is_a_distribution() -> None:
    X, y, mass = whole_law(LEDEven(0.1))
    assert mass.sum() == pytest.approx(1)
    assert mass[y == 1].sum() == pytest.approx(0.5)  # five of ten digits are odd
    assert len(X) == len(y) == 256


graphs = st.lists(st.floats(-1, 1), min_size=1, max_size=12).map(
    lambda values: Margins(np.array(values), np.ones(len(values)), np.array(values), "logistic")
)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(graphs, graphs)
def test_areas_and_distances(one: Margins, other: Margins) -> None:
    """Against a fine sum; the distance is one, and no less than the difference of the areas."""
    at = np.linspace(-1, 1, 20_001)[:-1] + 1e-9
    apart = np.abs(one.margin_error(at) - other.margin_error(at)).mean() * 2
    assert distance(one, other) == pytest.approx(apart, abs=4e-3)
    assert distance(one, other) == pytest.approx(distance(other, one), abs=1e-12)
    assert distance(one, one) == 0
    assert distance(one, other) >= abs(one.area - other.area) - 1e-12
    assert left_area(one) == pytest.approx(one.margin_error(at[at < 0]).mean(), abs=2e-3)


def test_adaboost_r_is_less_sure_of_wrong_labels_under_noise() -> None:
    """The paper's claim for theta <= 0, where it is clearest: large rules, many rounds, 40% noise on XD6."""
    areas = {name: left_area(one_fit(name, XD6(0.4), PAPER, 6, (150,), 0)[0][1]) for name in ALGORITHMS}
    assert min(areas, key=lambda name: areas[name]) == "AdaBoost_R"
    assert areas["AdaBoost_R"] < 0.8 * areas["real AdaBoost"]


def test_claims_are_counted_from_the_rows(rows: list[Row]) -> None:
    assert len(rows) == 2 * 2 * 2 * 2 * 3  # domains, r, rates, rounds, algorithms
    found = claims(rows)
    assert {what: len(of) for what, of in found.items()} == {
        f"{d}, r = {r}": 4 for d in ("LEDeven", "XD6") for r in (1, 2)
    }
    for domain, number in (("LEDeven", "5"), ("XD6", "6")):
        for r in (1, 2):
            held = 0
            for rate, rounds in ((0.1, 3), (0.1, 12), (0.4, 3), (0.4, 12)):
                mine = [
                    row.outcome
                    for row in rows
                    if row.unit == (number, f"r = {r}, noise {rate:.0%}", 0)
                    and row.outcome.algorithm.endswith(f"T = {rounds}")
                ]
                assert sum(one.chosen["lowest"] for one in mine) >= 1 - 1e-4  # somebody is lowest everywhere
                best = min(mine, key=lambda one: one.chosen["left"])
                held += best.algorithm.startswith("AdaBoost_R")
            counted = found[f"{domain}, r = {r}"]["least area left of 0"]
            assert (sum(counted), len(counted)) == (held, 4)


def test_the_long_run_has_adaboost_r_alone(tmp_path: Path) -> None:
    unit = units(request("table 6", tmp_path), SMALL)[0]
    found = run_unit(unit, SMALL)
    assert [one.algorithm for one in found] == ["AdaBoost_R, T = 20", "AdaBoost_R, T = 40"]
    line = plateau_lines([Row(unit, one, "") for one in found])[2]
    low, high = np.interp((0.1, 0.9), GRID, found[0].chosen["training"])
    assert f"| {low:.3f} | {high - low:.3f} |" in line


def test_figure_2_the_bound_moves_to_the_right() -> None:
    """Theorem 1 for every theta; recomputed from the votes and the edges of the model itself."""
    few, many = stages(Path(), **FEW_ROUNDS)
    X, y = XD6(noise=0.0).sample(FEW_ROUNDS["rows"], 0)
    model = AdaBoostRClassifier(Rules(3), n_estimators=many["rounds"]).fit(X, y)
    scores = np.where(y == 1, 1, -1) * model.decision_function(X)
    np.testing.assert_allclose(observed(many), [np.mean(np.tanh(scores / 2) <= theta) for theta in THETAS.tolist()])
    factor = np.exp(-0.5 * np.sum(model.history_["edge"] ** 2))
    np.testing.assert_allclose(many["bound"], np.maximum(1, (1 + THETAS) / (1 - THETAS)) * factor)
    assert violations(few) == violations(many) == 0
    assert violations({**many, "bound": [0.0] * len(THETAS)}) > 0


def test_figure_3_has_stairs_where_the_paper_says() -> None:
    for one in local_graphs(Path()):
        rate, graph = one["eta"], graph_of(one)
        assert sorted(graph.values) == pytest.approx([2 * rate - 1, 1 - 2 * rate])
        assert graph.margin_error([-1.0, 0.0, 1.0]) == pytest.approx([0, rate, 1])
    assert [one["eta"] for one in local_graphs(Path())] == list(NOISE)


def test_the_command_writes_a_picture_and_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The domains are simulated: no data is needed."""
    assert QUICK.rows < PAPER.rows
    command = ["reproduce", "adaboost_r", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main([*command, "--list"]) == 0
    assert "--figure 5" in capsys.readouterr().out
    assert main([*command, "--figure", "6", "--quick"]) == 0
    printed = capsys.readouterr().out
    for name in ("adaboost_r-figure-6.png", "adaboost_r-training-figure-6.png", "adaboost_r-figures-quick.csv"):
        assert (tmp_path / "out" / name).stat().st_size > 10_000
    assert (tmp_path / "out" / "adaboost_r-figure-6.md").read_text() == printed.removesuffix("\n")
    assert "# AdaBoost_R, figure 6: margin graphs on XD6" in printed
    assert "quick" in printed
    assert main([*command, "--figure", "7"]) == 1
