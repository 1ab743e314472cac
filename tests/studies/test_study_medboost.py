"""The study of MedBoost: parts that do not overlap, choices by validation rows only, and a small run that resumes."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from electorate import AdaBoostRegressor
from electorate_studies import medboost as study
from electorate_studies.request import Request
from electorate_studies.runs import Outcome, Row, Unit, read_results

FOLDER = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not (FOLDER / "DATASETS.json").exists(), reason="the data sets are not here")


def numbered(n: int) -> study.Part:
    return study.Part(np.arange(n, dtype=float)[:, None], np.arange(n, dtype=float))


def test_the_parts_of_a_split_do_not_overlap() -> None:
    parts = study.split(numbered(400), 3, most=200)
    rows = np.concatenate([part.y for part in parts.values()])
    assert [len(part.y) for part in parts.values()] == [100, 30, 30, 40]
    assert len(np.unique(rows)) == 200
    assert not np.array_equal(study.split(numbered(400), 4)["train"].y, parts["train"].y)


def test_outliers_are_in_the_rows_to_fit_and_to_choose_by_only() -> None:
    parts = study.split(numbered(4000), 0, most=4000)
    bad = study.spoiled(parts, 0)
    for name in ("calibration", "test"):
        assert bad[name] is parts[name]
    for name in ("train", "validation"):
        moved = np.abs(bad[name].y - parts[name].y)
        assert 0.07 < np.mean(moved > 0) < 0.13
        assert moved[moved > 0].min() >= study.FAR * study.typical(parts["train"].y)


def test_rounds_are_chosen_by_the_validation_rows() -> None:
    parts = study.split(study.read("friedman1", FOLDER, 0), 0, most=200)
    model = AdaBoostRegressor(n_estimators=15).fit(parts["train"].X, parts["train"].y)
    figures = study.errors_by_rounds(model, parts)
    errors = {
        name: [np.abs(predicted - parts[name].y).mean() for predicted in model.staged_predict(parts[name].X)]
        for name in ("validation", "test")
    }
    best = int(np.argmin(errors["validation"]))
    assert figures["T"] == best + 1
    assert figures["chosen"] == pytest.approx(errors["test"][best])
    assert (figures["10"], figures["100"]) == (pytest.approx(errors["test"][9]), pytest.approx(errors["test"][-1]))


def made_up(name: str, split: int, end: float, spoiled: float) -> list[Row]:
    figures = {"10": 2.0, "100": 1.5, "1000": end, "end": end}
    outcomes = [
        Outcome(one, 1.0, 1.0, figures, voters=50)
        for one in ("MedBoost", "MedBoost, rho constant", "AdaBoost.R2", study.SQUARES)
    ]
    outcomes += [Outcome(study.OUTLIERS + "MedBoost", spoiled, 1.0), Outcome(study.OUTLIERS + study.SQUARES, 2.0, 1.0)]
    outcomes += [Outcome(study.INTERVALS + "MedBoost, conformal", 0.1, 1.0, {"width": 3.0 + split})]
    return [Row(Unit("1", name, split), one, "a commit") for one in outcomes]


def test_the_page_counts_what_holds_and_names_what_does_not() -> None:
    rows = [row for split in (0, 1) for row in made_up("abalone", split, 1.04, 1.2)]
    rows += [row for split in (0, 1) for row in made_up("concrete", split, 1.2, 2.5)]
    text = "\n".join(study.report(rows, study.FULL))
    assert "MedBoost: below 5% on 1 of 2; not on concrete." in text
    assert "rises less than that of least-squares boosting on 1 of 2; not on concrete." in text
    assert "| abalone | 90.0% | 3.5 (0.5) |" in text
    assert "MedBoost, conformal 90.00%" in text


@needs_data
def test_a_small_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "QUICK", study.Plan(1, 10, 120))
    request = Request("table 1", True, FOLDER, tmp_path, ("auto_mpg",))
    text = "\n".join(study.reproduce(request))
    stored = request.results("locmedboost")
    first, before = read_results(stored), stored.read_text(encoding="utf-8")
    assert all(name in text for name in ("auto_mpg", "AdaBoost.R2", "linear cost", "quantile boosting"))
    assert all(np.isfinite(row.outcome.error) for row in first)
    outside = [row.outcome for row in first if row.outcome.algorithm.startswith(study.INTERVALS)]
    assert len(outside) >= 3
    assert all(one.error <= 0.5 and one.chosen["width"] > 0 for one in outside)
    second = study.reproduce(replace(request, repeats=2))
    assert stored.read_text(encoding="utf-8").startswith(before)
    assert len(read_results(stored)) == 2 * len(first)
    assert study.reproduce(replace(request, render=True)) == second
