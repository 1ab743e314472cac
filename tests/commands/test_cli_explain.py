"""`electorate explain` on a model file and a table."""

import numpy as np
import pandas as pd
import pytest

from electorate import AdaBoostClassifier
from electorate.cli import main


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=50), "kind": rng.choice(["p", "q"], 50)})
    y = np.where(X["a"] > 0, "yes", "no")
    AdaBoostClassifier(n_estimators=3).fit(X, y).save(folder / "m.model")
    X.assign(label=y).to_csv(folder / "rows.csv", index=False)
    return str(folder / "m.model"), str(folder / "rows.csv")


def test_with_and_without_a_target(files, capsys):
    assert main(["explain", *files, "--target", "label", "--row", "2", "--top", "3"]) == 0
    text = capsys.readouterr().out
    assert "computed with labels" in text
    assert "Row 2:" in text
    assert main(["explain", *files]) == 0
    assert "own predictions" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "message"), [(["--row", "0"], "rows 1 to 50"), (["--top", "0"], "at least 1")])
def test_wrong_options(files, options, message, capsys):
    assert main(["explain", *files, *options]) == 1
    assert message in capsys.readouterr().err
