"""Simulated problems: their Bayes rules against Monte Carlo, enumeration, and the published samples."""

import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from electorate.simulate import XD6, LEDEven, Parity, TwoNorm
from electorate.theory.margins import bayes_margins

DATA = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
checked = settings(derandomize=True, max_examples=15, deadline=None)
PROBLEMS: list[Any] = [LEDEven(), LEDEven(irrelevant=17), XD6(), Parity(), TwoNorm()]
NOISY: list[Any] = [
    LEDEven(0.1), LEDEven(0.4), LEDEven(0.2, 3), XD6(0.0), XD6(0.3), Parity(3, 2, 0.2), TwoNorm(), TwoNorm(5, 0.2),
]  # fmt: skip
DRAWN = 20_000


@pytest.mark.parametrize("problem", [*PROBLEMS, *NOISY], ids=repr)
def test_the_bayes_error_is_that_of_the_rule_on_drawn_rows(problem: Any) -> None:
    X, y = problem.sample(DRAWN, 1)
    wrong = np.mean(problem.predict(X) != y)
    error = problem.bayes_error()
    assert abs(wrong - error) <= 4 * np.sqrt(error * (1 - error) / DRAWN) + 1e-3


@pytest.mark.parametrize("problem", NOISY, ids=repr)
def test_the_bayes_margin_graph_is_that_of_drawn_rows(problem: Any) -> None:
    """Margins y (2 p - 1) of drawn rows and labels: their distribution is within 4 deviations everywhere."""
    X, y = problem.sample(DRAWN, 2)
    drawn = np.sort((2 * y - 1) * (2 * problem.probability(X) - 1))
    graph = problem.bayes_margins()
    thetas = np.linspace(-0.999, 0.999, 41) + 1e-7  # beside the atoms, which rounding would move
    expected = np.asarray(graph.margin_error(thetas))
    seen = np.searchsorted(drawn, thetas, side="right") / DRAWN
    assert np.all(np.abs(seen - expected) <= 4 * np.sqrt(expected * (1 - expected) / DRAWN) + 2e-3)
    assert np.all(np.diff(expected) >= -1e-12)
    assert graph.area == pytest.approx(1 - drawn.mean(), abs=4 * drawn.std() / np.sqrt(DRAWN) + 2e-3)
    assert graph.margin_error(-1e-9) <= problem.bayes_error() + 1e-6 <= graph.margin_error(1e-9) + 2e-6


@pytest.mark.parametrize("problem", NOISY, ids=repr)
def test_probabilities_are_calibrated(problem: Any) -> None:
    """Among rows of about the same probability, labels are as frequent as it says."""
    X, y = problem.sample(DRAWN, 3)
    p = problem.probability(X)
    assert np.all((p >= 0) & (p <= 1))
    parts = np.digitize(p, [0.1, 0.3, 0.5, 0.7, 0.9])
    for part in np.unique(parts):
        here = parts == part
        assert abs(y[here].mean() - p[here].mean()) <= 4.5 * np.sqrt(0.25 / here.sum())


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_a_seed_is_a_sample(problem: Any) -> None:
    one, again, other = problem.sample(50, 4), problem.sample(50, np.random.default_rng(4)), problem.sample(50, 5)
    np.testing.assert_array_equal(one[0], again[0])
    np.testing.assert_array_equal(one[1], again[1])
    assert not np.array_equal(one[0], other[0])
    assert set(one[1].tolist()) <= {0, 1}
    assert one[1].dtype == np.int64


# ---------------------------------------------------------------- bits, by enumeration


def test_led_is_the_sum_over_digits_and_inversions() -> None:
    """Every digit and every set of inverted segments, in plain Python."""
    lit = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]
    noise = 0.2
    joint: dict[tuple[tuple[int, ...], int], float] = {}
    for digit, segments in enumerate(lit):
        for inverted in product((0, 1), repeat=7):
            seen = tuple(int(s) ^ i for s, i in zip(segments, inverted, strict=True))
            chance = 0.1 * noise ** sum(inverted) * (1 - noise) ** (7 - sum(inverted))
            joint[seen, digit % 2] = joint.get((seen, digit % 2), 0.0) + chance
    rows = sorted({seen for seen, _ in joint})
    problem = LEDEven(noise)
    points, mass = problem.points()
    assert points.tolist() == [list(row) for row in rows]
    np.testing.assert_allclose(mass, [joint[row, 0] + joint[row, 1] for row in rows], rtol=1e-12)
    np.testing.assert_allclose(
        problem.probability(points), [joint[r, 1] / (joint[r, 0] + joint[r, 1]) for r in rows], rtol=1e-12
    )
    assert problem.bayes_error() == pytest.approx(sum(min(joint[r, 0], joint[r, 1]) for r in rows), rel=1e-12)
    assert LEDEven(0.2, 17).bayes_error() == problem.bayes_error()


def test_xd6_is_its_formula() -> None:
    X, mass = XD6(0.0).points()
    labels = [(a and b and c) or (d and e and f) or (g and h and i) for a, b, c, d, e, f, g, h, i, _ in X.tolist()]
    np.testing.assert_array_equal(XD6(0.0).probability(X), labels)
    assert mass.sum() == 1
    assert mass @ np.array(labels) == pytest.approx(1 - (7 / 8) ** 3)


@checked
@given(st.integers(1, 6), st.integers(0, 3), st.floats(0, 0.5))
def test_parity_and_noise(relevant: int, irrelevant: int, noise: float) -> None:
    """Of a noise eta on a certain label the error is eta, and the graph has a step of that height at -(1 - 2 eta)."""
    problem = Parity(relevant, irrelevant, noise)
    assert problem.bayes_error() == pytest.approx(noise)
    graph = problem.bayes_margins()
    X, mass = problem.points()
    assert mass.sum() == pytest.approx(1)
    assert problem.sample(5, 0)[0].shape == (5, relevant + irrelevant)
    np.testing.assert_allclose(problem.probability(X), np.where(X[:, :relevant].sum(axis=1) % 2, 1 - noise, noise))
    if 1e-6 < noise < 0.499:
        assert graph.margin_error(0.0) == pytest.approx(noise)
        assert graph.minimum == pytest.approx(2 * noise - 1)
    assert graph.area == pytest.approx(1 - (1 - 2 * noise) ** 2)


# ---------------------------------------------------------------- numbers, by densities


@pytest.mark.parametrize("columns", [2, 7])
def test_probabilities_are_those_of_the_densities(columns: int) -> None:
    X = np.random.default_rng(0).normal(size=(40, columns)) * 2
    a = 2 / np.sqrt(columns) * np.ones(columns)
    one, other = multivariate_normal(a).pdf(X), multivariate_normal(-a).pdf(X)
    np.testing.assert_allclose(TwoNorm(columns).probability(X), one / (one + other), rtol=1e-9, atol=1e-15)


def test_known_errors() -> None:
    """Breiman: twonorm 2.3%, which is Phi(-2)."""
    assert TwoNorm().bayes_error() == pytest.approx(norm.cdf(-2))
    assert TwoNorm(3).bayes_error() == pytest.approx(norm.cdf(-2))


@pytest.mark.skipif(not (DATA / "twonorm.csv.gz").exists(), reason="the data sets are not here")
def test_moments_are_those_of_the_published_sample() -> None:
    """The files are standardised: so is the drawn sample. Means and deviations of the classes agree."""
    table = pd.read_csv(DATA / "twonorm.csv.gz")
    theirs, label = table.iloc[:, :-1].to_numpy(), table["target"].to_numpy()
    X, y = TwoNorm().sample(len(table), 0)
    ours = (X - X.mean(axis=0)) / X.std(axis=0)
    moments = [
        sorted((part.mean().round(9), part.std().round(9)) for part in (rows[one], rows[~one]))
        for rows, one in ((theirs, label == 1), (ours, y == 1))
    ]
    np.testing.assert_allclose(moments[0], moments[1], atol=0.02)


def test_any_probability_gives_a_graph() -> None:
    """Four points by hand: margins 2 p - 1 with the probability of the label 1, the opposite with the other."""
    graph = bayes_margins([0.0, 0.25, 0.5, 1.0], [1, 2, 1, 4])
    assert graph.margin_error(-0.5) == pytest.approx(2 * 0.25 / 8)
    assert graph.margin_error(0.0) == pytest.approx((0.5 + 1) / 8)
    assert graph.margin_error(0.5) == pytest.approx(3 / 8)
    assert graph.margin_error(1.0) == 1
    assert graph.minimum == -0.5


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: XD6(noise=0.6), "noise=0.6"),
        (lambda: TwoNorm(noise=-0.1), "noise=-0.1"),
        (lambda: XD6().sample(0), "n=0"),
        (lambda: XD6().probability(np.zeros((2, 3))), "10 columns"),
        (lambda: XD6().probability(np.full((2, 10), 0.5)), "bits"),
        (lambda: LEDEven(irrelevant=17).points(), "2\\^24"),
        (lambda: Parity(relevant=0), "relevant=0"),
        (lambda: TwoNorm().probability(np.zeros(3)), "20 columns"),
        (lambda: bayes_margins([0.5, 1.5]), "from 0 to 1"),
        (lambda: bayes_margins([0.5], [-1.0]), "weights"),
    ],
)
def test_mistakes_are_named(call: Any, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        call()
