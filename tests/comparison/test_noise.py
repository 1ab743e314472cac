"""A few runs of the study of the choice (benchmarks/choice.py), most where there is nothing to learn."""

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*stumps have two leaves")
SEEDS = range(10)  # two tables of every kind of target


@pytest.fixture(scope="module")
def study():
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        import choice
    finally:
        sys.path.remove(folder)
    return choice


def test_noise_is_seldom_called_better_than_guessing(study):
    found = [run for seed in SEEDS if (run := study.run_noise(seed, most=300)) is not None]
    assert len({run["kind"] for run in found}) == 5
    assert sum(run["grade"] != "no evidence" for run in found) <= 2
    assert all(run["grade"] != "beyond doubt" for run in found)


@pytest.mark.parametrize("cell", ["power 0.12 300 1", "six strong 300 1"])
def test_a_signal_is_called_better(study, cell):
    part, world, n, seed = cell.split()
    assert study.Cell(part, world, int(n), int(seed)).run()["p"] < 0.05


def test_a_study_that_is_stopped_has_runs_of_everything(study):
    """And in the end all runs that the page speaks of."""
    every = list(study.cells())
    parts = ("noise", "default", "power", "six", "mixed", "many", "nested")
    assert {cell.part for cell in every[:100]} == set(parts)
    counts = {part: sum(cell.part == part for cell in every) for part in parts}
    assert counts == {
        "noise": 200,
        "default": 200,
        "power": 4_500,
        "six": 6_000,
        "mixed": 240,
        "many": 4_000,
        "nested": 400,
    }
    assert len({cell.key for cell in every}) == len(every)
