"""The check-up of a comparison: fitted on open rows, applied by every model, stored in the files."""

from pathlib import Path

import numpy as np
import pandas as pd

import electorate
from electorate.comparison.compare import check_open_rows
from electorate.comparison.folds import hold_out
from tests.data.checkup.messy import messy_table

ALGORITHMS = ["AdaBoost, stumps"]


def table(n_rows: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    case = messy_table("text id + free text + dollars + label spellings + constant", 0)
    return case.messy[0][:n_rows], case.messy[1][:n_rows]


def test_held_out_rows_do_not_change_the_cleaning() -> None:
    X, y = table()
    check = check_open_rows(X, y, "auto", (), lambda rows: hold_out(rows, 0.2, 0))
    target = np.char.strip(np.char.lower(y.astype(str)))
    codes = np.unique(target, return_inverse=True)[1]
    places = []

    def remember(rows):
        places.append(hold_out(rows, 0.2, 0))
        np.testing.assert_array_equal(rows.target, codes)
        return places[-1]

    again = check_open_rows(X, y, "auto", (), remember)
    assert again.cleaning == check.cleaning
    other = X.copy()
    other.loc[places[0][1], ["id", "note", "x0"]] = "nonsense"
    assert check_open_rows(other, y, "auto", (), remember).cleaning == check.cleaning


def test_models_and_files_take_the_raw_table(tmp_path: Path) -> None:
    X, y = table()
    found = electorate.compare(X, y, algorithms=ALGORITHMS, quick=True, n_jobs=1, folder=tmp_path / "c")
    assert {"id", "note", "x0", "unit"} <= {finding.column for finding in found.check_up}
    assert "identifier 'id'" in repr(found)
    assert "check_up(X, y).fit(" in found.code
    assert found.winner == ALGORITHMS[0]
    loaded = electorate.load(tmp_path / "c" / "winner.model")
    assert loaded.cleaning_ == found.check_up.cleaning
    np.testing.assert_array_equal(loaded.predict(X), found.model.predict(X))
    score = electorate.scores(loaded, X, y)
    assert score.metrics["error"].value < 0.2


def test_the_check_up_can_be_left_out() -> None:
    X, _ = table()
    target = X["x0"].str.startswith("$-").to_numpy()
    rows = X[["x1", "x2", "colour"]].assign(x0=target + X["x1"] / 1e4, id=np.arange(len(X)))
    found = electorate.compare(rows, target, algorithms=ALGORITHMS, quick=True, n_jobs=1, check_up=False)
    assert found.check_up.findings == []
    assert found.model.cleaning_ is None
    kept = electorate.compare(rows, target, algorithms=ALGORITHMS, quick=True, n_jobs=1, keep=["id"])
    assert "id" not in {finding.column for finding in kept.check_up}
