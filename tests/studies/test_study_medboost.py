"""The study of MedBoost: parts that do not overlap, choices by validation rows only, and a small run that goes on."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from electorate import AdaBoostRegressor
from electorate.studies import medboost as study

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


def made_up(name: str, split: int, end: float, spoiled: float) -> dict[str, Any]:
    figures = {"10": 2.0, "100": 1.5, "1000": end, "chosen": 1.0, "end": end, "T": 50.0, "rounds": 1000.0}
    algorithms = ("MedBoost", "MedBoost, rho constant", "gradient boosting, least squares")
    return {
        "set": name,
        "split": split,
        "errors": dict.fromkeys(algorithms, figures),
        "spoiled": {"MedBoost": spoiled, "gradient boosting, least squares": 2.0},
        "intervals": {"MedBoost, conformal": [0.9, 3.0 + split]},
    }


def test_the_report_counts_what_holds_and_names_what_does_not() -> None:
    results = [made_up("abalone", split, 1.04, 1.2) for split in (0, 1)]
    results += [made_up("concrete", split, 1.2, 2.5) for split in (0, 1)]
    text = study.report(results, 1000)
    assert "MedBoost: below 5% on 1 of 2; not on concrete." in text
    assert "rises less than that of least-squares boosting on 1 of 2; not on concrete." in text
    assert "| abalone | 90.0% | 3.5 (0.5) |" in text
    assert "MedBoost, conformal 90.00%" in text


@needs_data
def test_a_small_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    stored = tmp_path / "medboost.jsonl"
    names = ["auto_mpg"]
    first = study.study(names, FOLDER, 1, 10, stored, most=120)
    lines = stored.read_text()
    results = study.study(names, FOLDER, 2, 10, stored, most=120)
    assert stored.read_text().startswith(lines)
    assert len(results) == 2
    assert results[:1] == [json.loads(line)[1] for line in lines.splitlines()] == json.loads(json.dumps(first))
    text = study.report(results, 10)
    assert all(name in text for name in (*names, "AdaBoost.R2", "linear cost", "quantile boosting"))
    for one in results:
        assert all(np.isfinite(list(figures.values())).all() for figures in one["errors"].values())
        assert all(0.5 <= coverage <= 1 and width > 0 for coverage, width in one["intervals"].values())
