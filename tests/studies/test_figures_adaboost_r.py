"""Figures 5 and 6 of the AdaBoost_R paper in small: exact test graphs, the Bayes curve, all panels; and the claim."""

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate import AdaBoostRClassifier, Rules, margins
from electorate.cli import main
from electorate.simulate import XD6, LEDEven
from electorate.studies.adaboost_r_figures import (
    ALGORITHMS,
    PAPER,
    QUICK,
    Plan,
    claims,
    distance,
    figure_5,
    figure_6,
    left_area,
    one_fit,
    sweep,
    together,
    whole_law,
)
from electorate.studies.adaboost_r_illustrations import QUICK as FEW_ROUNDS
from electorate.studies.adaboost_r_illustrations import RATES, THETAS, local_graphs, stages
from electorate.theory.margins import Margins

mpl.use("Agg")
SMALL = Plan(max_terms=2, rounds=(3, 12), rows=80)


def test_the_papers_setting() -> None:
    assert Plan(max_terms=6, rounds=(20, 1000), rates=(0.1, 0.2, 0.3, 0.4), rows=300) == PAPER


@pytest.mark.parametrize(("figure", "problem"), [(figure_5, LEDEven), (figure_6, XD6)])
def test_one_call_gives_every_panel(figure, problem) -> None:
    study = figure(SMALL)
    assert len(study.figure_.axes) == 8
    assert set(study.test) == {(rate, rounds) for rate in SMALL.rates for rounds in SMALL.rounds}
    for (rate, _), graphs in study.test.items():
        assert list(graphs) == list(ALGORITHMS)
        bayes = study.bayes[rate]
        assert bayes.margin_error(-1e-12) == pytest.approx(problem(noise=rate).bayes_error())
        for graph in graphs.values():
            # no rule beats the Bayes rule; ties, a margin of 0, count as errors here
            assert graph.margin_error(0.0) >= bayes.margin_error(-1e-12) - 1e-12
            assert 0 <= left_area(graph) <= graph.margin_error(0.0) + 1e-12
    panel = study.figure_.axes[0]
    assert [line.get_label() for line in panel.lines[:4]] == [*ALGORITHMS, "Bayes rule"]
    assert len(list(study.facts())) == 8 * 3
    assert study.text().count("\n| ") == 8 * 3


def test_the_test_graph_is_that_of_drawn_rows() -> None:
    """The exact graph of a fitted model against 40,000 drawn rows."""
    problem = XD6(0.3)
    plan = replace(SMALL, max_terms=3)
    (_, _), (training, test) = one_fit("AdaBoost_R", problem, plan, 5)
    X, y = problem.sample(plan.rows, 5)
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
    both = together([one, other])
    np.testing.assert_allclose(both.margin_error(at), (one.margin_error(at) + other.margin_error(at)) / 2, atol=1e-9)


def test_adaboost_r_is_less_sure_of_wrong_labels_under_noise() -> None:
    """The paper's claim for theta <= 0, where it is clearest: large rules, many rounds, 40% noise on XD6."""
    study = figure_6(Plan(max_terms=6, rounds=(150,), rates=(0.4,), repeats=2))
    left = {name: left_area(graph) for name, graph in study.test[0.4, 150].items()}
    assert min(left, key=lambda name: left[name]) == "AdaBoost_R"
    assert left["AdaBoost_R"] < 0.8 * left["real AdaBoost"]


def test_the_sweep_counts_what_the_paper_says() -> None:
    facts = sweep(replace(SMALL, rates=(0.1, 0.4), repeats=2), terms=(1, 2))
    assert len(facts) == 2 * 2 * 2 * 2 * 2 * 3  # samples, r, domains, rates, rounds, algorithms
    lines = claims(facts).splitlines()
    assert len(lines) == 2 + 4
    for domain, r in {(fact["domain"], fact["r"]) for fact in facts}:
        mine = [fact for fact in facts if (fact["domain"], fact["r"]) == (domain, r)]
        wins = 0
        for at in range(0, len(mine), 3):
            assert mine[at]["rounds"] == mine[at + 2]["rounds"]
            areas = {fact["algorithm"]: fact["area left of 0"] for fact in mine[at : at + 3]}
            wins += min(areas, key=lambda name, areas=areas: areas[name]) == "AdaBoost_R"
            assert sum(fact["lowest"] for fact in mine[at : at + 3]) >= 1 - 1e-9  # somebody is lowest everywhere
        line = next(line for line in lines if line.startswith(f"| {domain} | {r} |"))
        assert line.split("|")[3:5] == [f" {len(mine) // 3} ", f" {wins / (len(mine) // 3):.0%} "]


def test_figure_2_the_bound_moves_to_the_right() -> None:
    """Theorem 1 for every theta; recomputed from the votes and the edges of the model itself."""
    few, many = stages(FEW_ROUNDS)
    X, y = XD6(noise=0.0).sample(FEW_ROUNDS.rows, 0)
    model = AdaBoostRClassifier(Rules(FEW_ROUNDS.max_terms), n_estimators=many.rounds).fit(X, y)
    scores = np.where(y == 1, 1, -1) * model.decision_function(X)
    observed = [np.mean(np.tanh(scores / 2) <= theta) for theta in THETAS.tolist()]
    np.testing.assert_allclose(many.margins.margin_error(THETAS), observed, atol=1e-12)
    factor = np.exp(-0.5 * np.sum(model.history_["edge"] ** 2))
    np.testing.assert_allclose(many.bound, np.maximum(1, (1 + THETAS) / (1 - THETAS)) * factor)
    assert few.violations == many.violations == 0


def test_figure_3_has_stairs_where_the_paper_says() -> None:
    for rate, graph in local_graphs().items():
        assert sorted(graph.values) == pytest.approx([2 * rate - 1, 1 - 2 * rate])
        assert graph.margin_error([-1.0, 0.0, 1.0]) == pytest.approx([0, rate, 1])
    assert set(local_graphs()) == set(RATES)


def test_the_command_writes_a_picture_and_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The domains are simulated: no data is needed."""
    assert QUICK.rows < PAPER.rows
    command = ["reproduce", "adaboost_r", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main([*command, "--list"]) == 0
    assert "--figure 5" in capsys.readouterr().out
    assert main([*command, "--figure", "6", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "out" / "adaboost_r-figure-6.png").stat().st_size > 10_000
    assert (tmp_path / "out" / "adaboost_r-figure-6.md").read_text() == printed.removesuffix("\n")
    assert "# AdaBoost_R, Figure 6: XD6" in printed
    assert "quick" in printed
    assert main([*command, "--figure", "7"]) == 1
