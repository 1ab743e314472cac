"""The study of the LocMedBoost paper's theorems: its parts by themselves, and a small run that goes on."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from electorate.cli import main
from electorate_studies import locmedboost as study
from electorate_studies.request import Request
from electorate_studies.runs import stored_rows

mpl.use("Agg")
NOWHERE = Path("no data needed")


def test_the_largest_margin_of_a_small_game() -> None:
    """Matching pennies has the value 0; a voter that is right everywhere has the margin 1."""
    game = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert study.largest_margin(game) == pytest.approx(0)
    assert study.largest_margin(np.column_stack([game, [1.0, 1.0]])) == pytest.approx(1)


def test_some_voter_is_within_eps_on_every_row() -> None:
    rng = np.random.default_rng(0)
    outputs, y = rng.normal(size=(50, 7)), rng.normal(size=50)
    outputs[rng.random(outputs.shape) < 0.1] = np.nan
    eps = study.reachable_eps(outputs, y)
    assert study.largest_margin(study.awards(outputs, y, eps)) > -1 + 1e-9
    assert np.all((np.abs(outputs - y[:, None]) <= eps).any(axis=1))
    assert not np.all((np.abs(outputs - y[:, None]) < eps).any(axis=1))


def test_voters_are_fitted_to_other_rows() -> None:
    fit, others = study.some_rows("friedman1", NOWHERE, 40)
    assert not set(map(tuple, fit.X)) & set(map(tuple, others.X))
    outputs = study.predictions(study.trees(others, 5), fit.X, abstain=True)
    assert outputs.shape == (40, 5)
    np.testing.assert_allclose(np.isnan(outputs).mean(axis=0), study.ABSTAINS, atol=0.05)


def test_a_bound_that_fails_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = partial(study.some_rows, "friedman1", NOWHERE, 40)
    model, rhos = study.theorem_1_models(study.QUICK)["MedBoost"], np.linspace(-1, 1, 3)
    assert study.check_theorem_1(model, draw, rhos)["violations"] == 0
    monkeypatch.setattr(type(model), "error_bounds", lambda self, rho: np.zeros((3, len(self.steps_))))
    assert study.check_theorem_1(model, draw, rhos)["violations"] > 0


@pytest.mark.parametrize(
    ("what", "stored"),
    [("theorem 1", 4), ("theorem 2", 5), ("lemma 1", 5), ("figure 1", 1), *((f"theorem {n}", 1) for n in (3, 4, 5))],
)
def test_the_quick_version_holds_and_goes_on(what: str, stored: int, tmp_path: Path) -> None:
    request = Request(what, True, NOWHERE, tmp_path, ("friedman1",))
    text = study.reproduce(request)
    assert "small version" in text
    assert "NO" not in text
    assert study.reproduce(request) == text
    assert len((tmp_path / "locmedboost.jsonl").read_text().splitlines()) == stored


def test_both_sides_of_theorem_2_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = partial(study.some_rows, "friedman1", NOWHERE, 40)
    found = study.check_theorem_2(study.SETTINGS[0], study.QUICK, draw, 0.4)
    assert max(found[side] for side in study.SIDES) <= 1e-9
    monkeypatch.setattr("electorate.theory.training.lemma_1", lambda edge, rho: np.full(len(edge), -30.0))
    assert study.check_theorem_2(study.SETTINGS[0], study.QUICK, draw, 0.4)["E_rho of each round"] > 0
    monkeypatch.setattr("electorate.theory.training.theorem_2", lambda edge, rho: np.zeros(len(edge)))
    broken = study.check_theorem_2(study.SETTINGS[0], study.QUICK, draw, 0.4)
    assert broken["rows not above the target margin"] > 0


def test_figure_1_in_numpy_is_the_regressor() -> None:
    draw = partial(study.some_rows, "friedman1", NOWHERE, 60)
    found = study.check_figure_1(study.QUICK, draw, 0.4)
    assert found["rounds"] > 3
    assert found["edge"] <= 1e-12
    assert found["step"] <= 1e-6
    assert found["median"] == 0


def test_figure_2_has_two_panels() -> None:
    figure = study.draw_lines(study.nine_lines())
    assert [ax.get_title()[:3] for ax in figure.axes] == ["(a)", "(b)"]
    figure.canvas.draw()


def test_figure_2_is_drawn_from_its_file(tmp_path: Path) -> None:
    request = Request("figure 2", False, NOWHERE, tmp_path)
    study.reproduce(request)
    rows = stored_rows(tmp_path / "locmedboost-figure-2.csv", ())
    assert rows == study.nine_lines()
    picture = (tmp_path / "locmedboost-figure-2.png").read_bytes()
    study.reproduce(replace(request, render=True))
    assert (tmp_path / "locmedboost-figure-2.png").read_bytes() == picture


def test_the_command_offers_theorems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "locmedboost", "--list"]) == 0
    listed = capsys.readouterr().out
    assert [listed.count(f"--{kind}") for kind in ("theorem", "lemma", "figure")] == [5, 1, 2]
    assert main(["reproduce", "locmedboost", "--theorem", "3", "--quick", "--out", str(tmp_path)]) == 0
    assert "| 200 |" in (tmp_path / "locmedboost-theorem-3.md").read_text()
    assert main(["reproduce", "locmedboost", "--theorem", "9"]) == 1
