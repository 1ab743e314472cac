"""Messy tables: the check-up names what is wrong, and models lose no more than two points against the clean table."""

import numpy as np
import pytest

import electorate
from tests.data.checkup.messy import CASES, N_TRAIN, messy_table

MOST_LOST = 0.02
SEEDS = 20


def test_there_are_fifty() -> None:
    assert len(CASES) >= 50


def errors_of(case: str, seed: int) -> tuple[float, float]:
    """Test errors on the clean and on the messy table; the check-up is of the training rows.

    With a third class, SAMME on stumps is another algorithm: AdaBoost_R, one class against the rest, is not.
    """
    table = messy_table(case, seed)
    (X, y), (frame, labels) = table.clean, table.messy
    found = electorate.check_up(frame[:N_TRAIN], labels[:N_TRAIN])
    named = {(finding.kind, finding.column) for finding in found}
    assert set(table.named) <= named, case
    kind = electorate.AdaBoostRClassifier if "rare class" in case else electorate.AdaBoostClassifier
    errors = []
    for check, rows, target in ((electorate.inspection.CheckUp([], None), X, y), (found, frame, labels)):
        model = check.fit(kind(n_estimators=50), rows[:N_TRAIN], target[:N_TRAIN])
        wrong = model.predict(rows[N_TRAIN:]) != check.clean_target(target[N_TRAIN:])
        errors.append(float(np.mean(wrong)))
    return errors[0], errors[1]


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_named_and_costs_little(case: str) -> None:
    clean, messy = np.mean([errors_of(case, seed) for seed in range(3)], axis=0)
    assert messy <= clean + MOST_LOST + 0.01  # of three seeds


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_twenty_seeds(case: str) -> None:
    clean, messy = np.mean([errors_of(case, seed) for seed in range(SEEDS)], axis=0)
    assert messy <= clean + MOST_LOST


def test_a_clean_table_has_no_finding_and_no_cleaning() -> None:
    from tests.data.checkup.messy import clean_table

    found = electorate.check_up(*clean_table(0, 400))
    assert found.findings == []
    assert found.cleaning is None
    assert repr(found) == "check-up: nothing found"
