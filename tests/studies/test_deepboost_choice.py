"""Tables 2 and 3 of DeepBoost with one choice for all folds."""

import numpy as np
import pytest

from electorate_studies import deepboost as study
from electorate_studies import deepboost_variants as choice
from electorate_studies.binary_sets import BinarySet
from electorate_studies.runs import Outcome, Row, Unit


def outcome(algorithm: str, found: list[list[float]], rows: tuple[int, int] = (10, 20)) -> Outcome:
    best = min(found, key=lambda one: one[0])
    return Outcome(algorithm, best[1] / rows[1], 1.0, {"rows": list(rows), "candidates": found}, best[2], best[3])


FOLDS = [
    [[1, 8, 3.0, 50], [2, 2, 7.0, 90]],  # alone this fold takes the first candidate, and the next one the second
    [[5, 6, 3.0, 60], [1, 4, 7.0, 80]],
]


def test_the_candidate_with_the_fewest_validation_errors_is_used_in_all_folds() -> None:
    best, error, size, voters, _ = choice.common_choice([outcome("AdaBoost", found) for found in FOLDS])
    assert (best, size, voters) == (1, 7.0, 85.0)
    assert error == pytest.approx((2 / 20 + 4 / 20) / 2)


def test_validation_rows_count_once_and_test_folds_the_same() -> None:
    both = [
        outcome("A", [[3, 1, 3.0, 1], [0, 2, 3.0, 1]], (10, 10)),
        outcome("A", [[0, 1, 3, 1], [2, 2, 3, 1]], (20, 20)),
    ]
    once = choice.common_choice(both)
    assert once[:2] == (1, pytest.approx((2 / 10 + 2 / 20) / 2))
    assert once.lowest == pytest.approx((1 / 10 + 1 / 20) / 2)  # of the other candidate
    tied = [outcome("A", [[2, 1, 3.0, 1], [2, 0, 3.0, 1]])]
    assert choice.common_choice(tied).best == 0


def test_the_page_sets_both_choices_beside_the_published_error() -> None:
    rows = [
        Row(Unit("6", "german", fold), outcome(algorithm, found), "c")
        for fold, found in enumerate(FOLDS)
        for algorithm in study.ALGORITHMS["2"]
    ]
    lines = choice.choice_lines(rows, study.ALGORITHMS, study.PUBLISHED)
    (line,) = [line for line in lines if line.startswith("| german")]
    assert line.startswith("| german | 2 | 30.00 / 15.00 / 15.00 / 23.90; 7.0 / 3; 85.0 / 91.3 |")
    (line,) = [line for line in lines if line.startswith("| mean of the errors")]
    assert line.endswith("| 30.00 / 15.00 / 15.00 / 23.90 | 30.00 / 15.00 / 15.00 / 23.40 |")
    assert not any(line.startswith("| Table 3") for line in lines)
    assert choice.choice_lines([], study.ALGORITHMS, study.PUBLISHED) == []


def test_a_folds_own_choice_is_that_of_the_table() -> None:
    """AdaBoost has the same candidates in both; all their errors are stored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    data = BinarySet(X, (X[:, 0] * X[:, 1] > 0).astype(np.int64))
    grids = study.Grids(rounds=6, depths=(1, 2, 3), prices=(1e-3, 1e-4))
    unit = Unit("2", "german", 0)
    first, second, third = study.run_choice(data, unit, grids)
    usual = study.run_algorithm(data, unit, "AdaBoost", grids)
    assert (first.error, first.size, first.voters) == (usual.error, pytest.approx(usual.size, abs=0.01), usual.voters)
    counts = [len(one.chosen["candidates"]) for one in (first, second, third)]
    assert counts == [3, 3, 3]  # of beta and lam the values in PRICES only
