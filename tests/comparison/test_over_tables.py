"""Algorithms over several data sets: every test against SciPy, enumeration or published tables; the command."""

import itertools
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import electorate
from electorate.cli import main
from electorate.comparison import paired_tests as tests
from electorate.comparison.over_tables import Outcomes, compare_over, over_outcomes
from electorate_studies import quadboost_table2 as table2
from electorate_studies.pages import record

QUAD = ("QuadBoost-L1", "QuadBoost-L2", "QuadBoost-Linf", "QuadBoost")
differences = st.lists(st.sampled_from([-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=9)


@dataclass
class Found:
    """As a comparison is, for compare_over."""

    outcomes: Outcomes


def grid(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Errors without ties: [data set, algorithm]."""
    return np.random.default_rng(seed).permutation(n * k).reshape(n, k) / (n * k)


# ---------------------------------------------------------------- the Poisson binomial test


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_poisson_binomial_is_what_enumeration_gives(chances):
    law = np.zeros(len(chances) + 1)
    for outcome in itertools.product([0, 1], repeat=len(chances)):
        law[sum(outcome)] += math.prod(p if won else 1 - p for p, won in zip(chances, outcome, strict=True))
    assert tests.poisson_binomial(np.array(chances)) == pytest.approx(law, abs=1e-12)
    half = len(chances) / 2
    wanted = sum(p for wins, p in enumerate(law) if wins > half) + sum(p / 2 for w, p in enumerate(law) if w == half)
    assert tests.chance_of_majority(np.array(chances)) == pytest.approx(wanted, abs=1e-12)
    other = tests.chance_of_majority(1 - np.array(chances))
    assert tests.chance_of_majority(np.array(chances)) + other == pytest.approx(1)


def test_the_chance_on_one_data_set_is_that_of_a_beta():
    for wins, losses in [(0, 0), (3, 1), (10, 25), (0, 4)]:
        wanted = stats.beta(wins + 1, losses + 1).sf(0.5)
        assert tests.chance_of_better(wins, losses) == pytest.approx(wanted, rel=1e-12)
    with pytest.raises(ValueError, match="negative"):
        tests.chance_of_better(-1, 2)


def test_chances_of_all_pairings_are_the_ends_of_what_draws_give():
    rng = np.random.default_rng(0)
    low, high = tests.chances_of_all_pairings(6, 9, 20)
    for _ in range(200):
        a, b = np.arange(20) < 6, rng.permutation(20) < 9
        assert low <= tests.chance_of_better(np.sum(b & ~a), np.sum(a & ~b)) <= high
    assert tests.chance_of_better(3, 0) == high  # all errors of the one are errors of the other


# ---------------------------------------------------------------- QuadBoost's tables


def test_the_printed_risks_are_counts_over_the_test_rows():
    counts, n = table2.COUNTS, table2.TESTED
    assert np.max(np.abs(counts / n[:, None] - table2.RISKS)) < 0.00051


def test_table_2_between_the_quadboosts_follows_from_table_1():
    pairs = [pair for pair in table2.TABLE_2 if set(pair) <= set(QUAD)]
    assert len(pairs) == 6
    for pair in pairs:
        assert table2.if_independent(*pair) == pytest.approx(table2.TABLE_2[pair], abs=0.1)
        low, high = table2.possible(*pair)
        assert low <= table2.TABLE_2[pair] <= high


def test_the_rest_of_table_2_contradicts_table_1():
    """Seven of nine entries cannot be had from Table 1, whatever rows the errors are on."""
    impossible = []
    for pair, printed in table2.TABLE_2.items():
        low, high = table2.possible(*pair)
        if not low - 0.005 <= printed <= high + 0.005:
            impossible.append(pair)
    assert len(impossible) == 7
    assert all("LPBoost" in pair or "AdaBoost" in pair for pair in impossible)
    assert record(table2.gap("QuadBoost", "AdaBoost"), 0.0) == "15, 2, 8"  # the text's "wins or ties 17 times"
    assert np.count_nonzero(table2.gap("QuadBoost-L1", "LPBoost") <= 0) == 16
    assert table2.report().count("**no**") == 7


def test_compare_over_gives_the_same_from_the_plain_table():
    frame = pd.DataFrame(table2.RISKS, columns=table2.ALGORITHMS, index=list(table2.TABLE_1))
    found = compare_over(frame, rows=table2.TESTED)
    assert found.chance("QuadBoost-Linf", "QuadBoost") == pytest.approx(0.77, abs=0.02)  # risks as printed, not counts
    assert found.data_sets[0] == "australian"


# ---------------------------------------------------------------- two algorithms


@settings(max_examples=30, deadline=None)
@given(differences)
def test_sign_test_is_scipys(values):
    difference = np.array(values)
    wins, n = int(np.sum(difference < 0)), int(np.sum(difference != 0))
    wanted = stats.binomtest(wins, n, 0.5).pvalue if n else 1.0
    assert tests.sign_test(difference) == pytest.approx(wanted, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(differences)
def test_wilcoxon_is_what_all_signs_give(values):
    """Also with equal ranks, where SciPy's exact law does not hold."""
    difference = np.array([v for v in values if v])
    if not len(difference):
        assert tests.wilcoxon_test(np.array(values)) == 1
        return
    ranks = stats.rankdata(np.abs(difference))
    seen = min(ranks[difference > 0].sum(), ranks[difference < 0].sum())
    sums = [np.dot(ranks, signs) for signs in itertools.product([0, 1], repeat=len(ranks))]
    wanted = min(1.0, 2 * np.mean(np.array(sums) <= seen + 1e-9))
    assert tests.wilcoxon_test(np.array(values)) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("n", [6, 25, 50])
def test_wilcoxon_is_scipys_without_ties(n):
    difference = np.random.default_rng(n).normal(0.3, 1, n)
    wanted = stats.wilcoxon(difference, method="exact").pvalue
    assert tests.wilcoxon_test(difference) == pytest.approx(wanted, rel=1e-9)


def test_wilcoxon_of_many_is_scipys_approximation():
    difference = np.round(np.random.default_rng(0).normal(0.2, 1, 200), 1)
    wanted = stats.wilcoxon(difference, method="approx", correction=False).pvalue
    assert tests.wilcoxon_test(difference) == pytest.approx(wanted, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20))
def test_t_test_is_scipys(values):
    difference = np.array(values)
    if np.std(difference) < 1e-9:
        return
    assert tests.t_test(difference) == pytest.approx(stats.ttest_1samp(difference, 0).pvalue, rel=1e-6, abs=1e-12)


def test_without_a_difference_nothing_is_proved():
    nothing = np.zeros(5)
    assert tests.sign_test(nothing) == tests.wilcoxon_test(nothing) == tests.t_test(nothing) == 1
    assert tests.t_test(np.full(5, 0.25)) == 0
    assert tests.t_test(np.array([0.5])) == 1


# ---------------------------------------------------------------- all algorithms


@pytest.mark.parametrize(("n", "k", "digits"), [(5, 3, 3), (12, 4, 1), (25, 6, 1), (8, 3, 0)])
def test_friedman_is_scipys(n, k, digits):
    errors = np.random.default_rng(n).random((n, k)).round(digits)
    wanted = stats.friedmanchisquare(*errors.T)
    statistic, p = tests.friedman_test(errors)
    assert statistic == pytest.approx(wanted.statistic, rel=1e-9)
    assert p == pytest.approx(wanted.pvalue, rel=1e-9)
    assert tests.friedman_test(np.ones((4, 3))) == (0.0, 1.0)


def test_ranks_are_scipys():
    for values in ([3.0, 1.0, 2.0], [1.0, 1.0, 0.5, 1.0], [2.0]):
        assert list(tests.ranks_of(np.array(values))) == list(stats.rankdata(values))


@pytest.mark.parametrize(
    ("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (10, 3.164)]
)
def test_critical_differences_are_the_published_ones(k, q):
    """q at 5% of Table 5(a) of Demsar 2006."""
    assert tests.critical_difference(14, k) == pytest.approx(q * math.sqrt(k * (k + 1) / (6 * 14)), abs=0.001)


def test_nemenyi_agrees_with_its_critical_difference():
    errors = grid(12, 4)
    mean = tests.rank_rows(errors).mean(axis=0)
    p, apart = tests.nemenyi_test(errors), np.abs(mean[:, None] - mean)
    assert np.array_equal(p, p.T)
    assert np.array_equal(p < 0.05, apart > tests.critical_difference(12, 4))
    two = tests.nemenyi_test(grid(9, 2))[0, 1]  # of two: the normal test of their rank difference
    gap = np.abs(np.diff(tests.rank_rows(grid(9, 2)).mean(axis=0)))[0]
    assert two == pytest.approx(2 * stats.norm.sf(gap / math.sqrt(1 / 9)), rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_closed_testing_by_bonferroni(values):
    """A hypothesis is rejected if every set of hypotheses that holds it is, by Bonferroni: by enumeration."""
    p = np.array(values)
    for i, found in enumerate(tests.holm(p)):
        sets = [s for r in range(1, len(p) + 1) for s in itertools.combinations(range(len(p)), r) if i in s]
        assert found == pytest.approx(max(min(1.0, len(s) * min(p[list(s)])) for s in sets))


# ---------------------------------------------------------------- compare_over


def errors_table() -> dict[str, list]:
    return {"data": ["x", "y", "z"], "A": [0.1, 0.2, 0.3], "B": [0.2, 0.3, 0.3], "C": [0.3, 0.1, 0.4]}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, lambda t: pd.DataFrame(t).set_index("data")])
def test_a_table_of_any_kind(make):
    found = compare_over(make(errors_table()), rows=[50, 60, 70])
    assert found.data_sets == ["x", "y", "z"]
    assert found.algorithms == ["A", "B", "C"]
    assert found.pairs["wins"][0] == 2
    assert found.pairs["ties"][0] == 1
    chances = [tests.chance_if_independent(a, b, n) for a, b, n in [(0.1, 0.2, 50), (0.2, 0.3, 60), (0.3, 0.3, 70)]]
    assert found.chance("A", "B") == pytest.approx(tests.chance_of_majority(np.array(chances)))
    assert found.chance("A", "B") + found.chance("B", "A") == pytest.approx(1)
    assert len(found.frame) == 3
    assert "Poisson binomial" in str(found)


def test_rows_may_be_a_column_or_a_mapping():
    table = {**errors_table(), "n": [50, 60, 70]}
    wanted = compare_over(errors_table(), rows=[50, 60, 70]).chance("A", "C")
    assert compare_over(table, rows="n").chance("A", "C") == wanted
    assert compare_over(errors_table(), rows={"z": 70, "y": 60, "x": 50}).chance("A", "C") == wanted


def test_without_rows_the_other_tests_remain():
    found = compare_over(errors_table())
    assert math.isnan(found.chance("A", "B"))
    assert "Poisson" not in str(found)
    assert found.pairs["sign_p"][0] == pytest.approx(0.5)


def test_outcomes_row_by_row():
    rng = np.random.default_rng(0)
    outcomes = {
        name: {"A": rng.integers(0, 2, n), "B": np.ones(n, int), "C": rng.random(n) < 0.4}
        for name, n in [("x", 30), ("y", 40), ("z", 25), ("u", 31)]
    }
    found = compare_over(outcomes)
    chances = []
    for losses in outcomes.values():
        wins = np.sum((losses["A"] == 1) & ~losses["C"])
        chances.append(tests.chance_of_better(wins, np.sum((losses["A"] == 0) & losses["C"])))
    assert found.chance("C", "A") == pytest.approx(tests.chance_of_majority(np.array(chances)))
    frames = {name: pd.DataFrame(losses) for name, losses in outcomes.items()}
    assert compare_over(frames).chance("C", "A") == found.chance("C", "A")


def test_simulated_chances_match_the_exact_ones():
    """Losses of 0 and 2 give the same chances as 0 and 1, now by draws."""
    rng = np.random.default_rng(0)
    outcomes = {str(i): {"A": rng.random(60) < 0.3, "B": rng.random(60) < 0.4} for i in range(5)}
    exact = compare_over(outcomes).chance("A", "B")
    doubled = {name: {a: 2 * losses for a, losses in one.items()} for name, one in outcomes.items()}
    assert compare_over(doubled).chance("A", "B") == pytest.approx(exact, abs=0.03)
    assert "units" in str(compare_over(doubled))
    assert "units" not in str(compare_over(outcomes))


def test_rows_of_a_cross_validation_count_less():
    """By the factor for training that `compare` uses, for 0-1 losses and for others."""
    rng = np.random.default_rng(0)
    losses = (rng.random((2, 400)) < [[0.2], [0.25]]).astype(float)
    wins, lost = np.sum(losses[0] < losses[1]), np.sum(losses[0] > losses[1])
    for scale in (1.0, 3.0):
        found = over_outcomes(dict.fromkeys("ab", Outcomes(["A", "B"], scale * losses, None, 5)), 0)
        wanted = stats.beta((wins / 1.4) + 1, (lost / 1.4) + 1).sf(0.5)
        assert found.chances[0, 0, 1] == pytest.approx(wanted, abs=0.02)
        alone = over_outcomes(dict.fromkeys("ab", Outcomes(["A", "B"], scale * losses)), 0)
        assert alone.chances[0, 0, 1] == pytest.approx(stats.beta(wins + 1, lost + 1).sf(0.5), abs=0.02)


def test_weights_of_rows_count():
    """Equal weights, by draws, as none at all; and a row of weight 5 counts more than one of weight 1."""
    rng = np.random.default_rng(0)
    losses = {str(i): (rng.random((3, 80)) < 0.35).astype(float) for i in range(4)}
    names = ["A", "B", "C"]
    plain = compare_over({name: dict(zip(names, one, strict=True)) for name, one in losses.items()})
    equal = compare_over({name: Found(Outcomes(names, one, np.full(80, 2.0))) for name, one in losses.items()})
    for a, b in itertools.permutations(names, 2):
        assert equal.chance(a, b) == pytest.approx(plain.chance(a, b), abs=0.04)
        assert equal.chance(a, b) + equal.chance(b, a) == pytest.approx(1)
    one = np.array([[1.0] * 5 + [0.0] * 15, [0.0] * 5 + [1.0] * 5 + [0.0] * 10])
    heavy = np.array([1.0] * 5 + [5.0] * 5 + [1.0] * 10)
    found = compare_over({name: Found(Outcomes(["A", "B"], one, heavy)) for name in "xy"})
    assert found.errors.tolist() == [[pytest.approx(5 / 40), pytest.approx(25 / 40)]] * 2
    assert found.chance("A", "B") > 0.9


def test_an_algorithm_that_some_data_set_lacks_is_named():
    outcomes = {"x": {"A": [0, 1], "B": [1, 1], "C": [0, 0]}, "y": {"B": [1, 0], "A": [0, 0]}}
    found = compare_over(outcomes)
    assert found.left_out == ["C"]
    assert "left out" in str(found)
    assert set(found.algorithms) == {"A", "B"}


@pytest.mark.parametrize(
    ("table", "rows", "message"),
    [
        ({"data": ["x"], "A": [0.1], "B": [0.2]}, None, "at least two"),
        ({"data": ["x", "y"], "A": [0.1, 0.2]}, None, "1 algorithms"),
        ({"data": ["x", "y"], "A": [0.1, float("nan")], "B": [0.1, 0.1]}, None, "'A' on 'y' is nan"),
        ({"data": ["x", "y"], "A": [0.1, 5.0], "B": [0.1, 0.1]}, [9, 9], "'A' on 'y' is 5.0"),
        ({"data": ["x", "y"], "A": [0.1, 0.1], "B": [0.1, 0.1]}, [9], "1 numbers for 2"),
        ({"data": ["x", "y"], "A": [0.1, 0.1], "B": [0.1, 0.1]}, [9, 0], "'y': 0 is not a number"),
        ({"data": ["x", "y"], "A": [0.1, 0.1], "B": [0.1, 0.1]}, "n", "there is no such column"),
        ({"data": ["x", "x"], "A": [0.1, 0.1], "B": [0.1, 0.2]}, None, "the same name"),
        ({"x": {"A": [0, 1], "B": [1]}, "y": {"A": [0], "B": [1]}}, None, "'x': every algorithm"),
        ({"x": {"A": [0, -1], "B": [1, 1]}, "y": {"A": [0], "B": [1]}}, None, "'A' in row 1 is -1"),
    ],
)
def test_tables_are_checked(table, rows, message):
    with pytest.raises(ValueError, match=message):
        compare_over(table, rows)


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="dataframe"):
        compare_over(5)


def test_names_are_escaped():
    found = compare_over({"data": ["=1+1", "b"], "=A": [0.1, 0.2], "\x1b[31mB": [0.2, 0.3]})
    assert "\x1b" not in str(found)
    assert "\n=" not in found.errors_csv
    assert found.errors_csv.startswith("data,'=A")


# ---------------------------------------------------------------- compare TABLE TABLE ...

FEW = ["--folds", "2", "--quiet", "--algorithm", "QuadBoost, pool", "--algorithm", "VadaBoost, stumps"]


def write_table(path: Path, target: str, seed: int, n: int = 60) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(list("uvw"), n)})
    frame[target] = np.where(frame["a"] + rng.normal(size=n) > 0, "yes", "no")
    frame.to_csv(path, index=False)


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i, target in enumerate(["y", "y", "label"]):
        write_table(tmp_path / f"t{i}.csv", target, i)
    return tmp_path


def command(*arguments: str, cwd: Path) -> subprocess.Popen:
    home = str(Path(electorate.__file__).parent.parent)
    call = [sys.executable, "-m", "electorate", "compare", *arguments]
    return subprocess.Popen(
        call, cwd=cwd, env={**os.environ, "PYTHONPATH": home}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def test_several_tables_end_with_tests_over_them(tables, capsys):
    given = ["compare", "t0.csv", "t1.csv", "t2.csv:label", "--target", "y", "--jobs", "1", *FEW, "--no-stack"]
    assert main(given) == 0
    output = capsys.readouterr()
    assert "3 algorithms over 3 data sets" in output.out
    assert output.out.count("no rows were held out") == 3
    pairs = pd.read_csv("tables.compare/pairs.csv")
    errors = pd.read_csv("tables.compare/errors.csv")
    assert list(errors["data"]) == ["t0", "t1", "t2"]
    alone = pd.read_csv("tables.compare/t2.compare/results.csv").set_index("algorithm")["error"]
    together = errors.set_index("data").loc["t2"]  # means over rows; the others are means over draws
    assert together[alone.index].to_numpy() == pytest.approx(alone.to_numpy(), abs=0.02)
    assert main(given) == 0  # nothing is run again, and the end is the same
    again = capsys.readouterr().out
    assert again[again.index("3 algorithms over") :] == output.out[output.out.index("3 algorithms over") :]
    frames = [pd.read_csv(f"t{i}.csv") for i in range(3)]
    found = {
        f"t{i}": electorate.compare(f.iloc[:, :3], f.iloc[:, 3], algorithms=FEW[4::2], n_jobs=1, folds=2, stack=False)
        for i, f in enumerate(frames)
    }
    assert compare_over(found).pairs["chance_of_better"] == pytest.approx(list(pairs["chance_of_better"]))


@pytest.mark.process
def test_several_tables_resume_after_a_kill(tables, capsys):
    given = ["t0.csv", "t1.csv", "--target", "y", "--jobs", "1", *FEW, "--no-stack"]
    process = command(*given, cwd=tables)
    ended = time.monotonic() + 60
    while time.monotonic() < ended and not list(tables.glob("tables.compare/*/fits/*.fit")):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    output = []
    for more in ([], ["--out", "w"]):
        assert main(["compare", *given, *more]) == 0
        text = capsys.readouterr().out
        output.append(text[text.index("3 algorithms over") :])
    assert output[0] == output[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["t0.csv", "t2.csv", "--target", "y"], "no column is called 'y'"),
        (["t0.csv", "t2.csv:y", "--target", "y"], "no column is called 'y'"),
        (["t0.csv", "nowhere.csv", "--target", "y"], "nowhere.csv"),
        (["t0.csv", "-", "--target", "y"], "standard input cannot be one of several"),
        (["t0.csv", "sub/t0.csv", "--target", "y"], "the same name"),
        (["t0.csv", "t1.csv:a", "--target", "y"], "compare them separately"),
        (["t0.csv", "t1.csv"], "--target"),
    ],
)
def test_an_error_in_any_table_is_raised_before_the_work(tables, capsys, given, message):
    (tables / "sub").mkdir()
    write_table(tables / "sub" / "t0.csv", "y", 9)
    assert main(["compare", *given]) == 1
    assert message in capsys.readouterr().err
    assert not (tables / "tables.compare").exists()


def test_a_file_whose_name_has_a_colon_is_that_file(tables):
    os.rename("t2.csv", "t2.csv:label")
    assert main(["compare", "t2.csv:label", "--target", "label", "--jobs", "1", *FEW]) == 0


def test_the_page_and_the_study_show_the_same_table():
    from electorate_studies.quadboost import PUBLISHED

    page = (Path(__file__).parents[2] / "docs" / "over_data_sets.md").read_text()
    assert table2.report() in page
    assert sorted(line[1:] for line in table2.TABLE_1.values()) == sorted(PUBLISHED.values())
