"""Comparing algorithms: the splits, the cells, the statistics, resuming, time limits, what is stored."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from electorate.comparison.cells import Cell, Failed, Protocol
from electorate.comparison.race import Race
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_iris
from threadpoolctl import threadpool_limits

import electorate
from electorate import AdaBoostClassifier, ModelFormatError, Trees, modelfile
from electorate.comparison import cells, folds, journal, report
from electorate.comparison.algorithms import CLASSIFICATION, OURS, REGRESSION, Algorithm, Facts, Size, applicable
from electorate.comparison.journal import Journal
from electorate.comparison.metrics import METRICS, Scored
from electorate.comparison.paired_tests import chance_of_worse, posterior_means
from electorate.comparison.ranking import FoldRows, best_setting, nest, rank, standard_error
from electorate.comparison.rows import Rows, guess_task, read_rows, restore, store
from electorate.comparison.workers import Progress
from electorate.registry import ALGORITHMS
from electorate.theory.binomial import binomial_bound

TIMES = ("fit_seconds", "predict_ms_per_1000")
SOME = ["AdaBoost, stumps", "SAMME.R, trees"]


def small(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:n, :6], y[:n]


def ours(facts: Facts) -> AdaBoostClassifier:
    return AdaBoostClassifier(n_jobs=1)


def two_algorithms() -> list[Algorithm]:
    few, more = {"n_estimators": 2}, {"n_estimators": 5}
    trees = Algorithm("trees", CLASSIFICATION, lambda facts: AdaBoostClassifier(Trees(2), n_jobs=1), (few,))
    return [Algorithm("stumps", CLASSIFICATION, ours, (few, more)), trees]


def plan(algorithms: list[Algorithm], n_folds: int, n_classes: int = 2, metric: str = "error") -> Protocol:
    return Protocol(algorithms, n_folds, 0, n_classes, METRICS[metric])


def without_times(columns: dict[str, list]) -> str:
    return json.dumps({name: column for name, column in columns.items() if name not in TIMES})


# ---------------------------------------------------------------- splits


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=5, max_size=200), st.integers(2, 5), st.integers(0, 9))
def test_every_class_is_dealt_evenly(labels, n_parts, seed):
    target = np.array(labels)
    part = folds.deal(target, n_parts, np.random.default_rng(seed))
    for rows in [np.ones(len(target), bool), *(target == label for label in set(labels))]:
        sizes = np.bincount(part[rows], minlength=n_parts)
        assert sizes.max() - sizes.min() <= 1


def bare_rows(target, **more) -> Rows:
    return Rows(np.zeros((len(target), 1)), np.asarray(target), [], 0, **more)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=20, max_size=300), st.sampled_from([0.1, 0.2, 0.5]), st.integers(0, 9))
def test_locked_rows_are_a_share_of_every_class(labels, share, seed):
    target = np.array(labels)
    opened, locked = folds.lock(bare_rows(target), share, seed)
    assert sorted([*opened, *locked]) == list(range(len(target)))
    for label in set(labels):
        size = np.sum(target == label)
        assert abs(np.sum(target[locked] == label) - share * size) <= 1
    again = folds.lock(bare_rows(target), share, seed)
    assert np.array_equal(again[1], locked)


def test_inner_splits_stay_inside_and_cover():
    target = np.arange(300) % 3
    splits = folds.inner(bare_rows(target), 1, 0)
    assert len(splits) == 3
    assert sorted(np.concatenate([decide for _, decide in splits])) == list(range(300))
    assert len(folds.inner(bare_rows(np.arange(5000) % 2), 0, 0)) == 1
    for learn, decide in splits:
        assert not set(learn) & set(decide)


# ---------------------------------------------------------------- statistics


@pytest.mark.parametrize(("errors", "rows"), [(0, 10), (1, 10), (5, 100), (100, 100), (86, 440)])
def test_the_bound_is_scipys_and_exact(errors, rows):
    bound = binomial_bound(errors, rows)
    wanted = stats.binomtest(errors, rows, alternative="less").proportion_ci(0.95, method="exact").high
    assert bound == pytest.approx(wanted, rel=1e-9)
    if errors < rows:  # at the bound, so few errors have the probability 1 - confidence
        assert stats.binom.cdf(errors, rows, bound) == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize("bad", [(-1, 5), (6, 5), (0, 0)])
def test_a_bound_needs_rows(bad):
    with pytest.raises(ValueError, match="errors of"):
        binomial_bound(*bad)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 50), st.integers(1, 50))
def test_two_algorithms_have_the_chances_of_a_beta(first_only, second_only, both, none):
    """The share of the first's errors among the rows between them has a uniform prior and a Beta posterior."""
    a = [1.0] * first_only + [0.0] * second_only + [1.0] * both + [0.0] * none
    b = [0.0] * first_only + [1.0] * second_only + [1.0] * both + [0.0] * none
    means = posterior_means(np.array([a, b]), 0, draws=20_000)
    first_better = stats.beta(first_only + 1, second_only + 1).cdf(0.5)
    assert chance_of_worse(means, 0)[1] == pytest.approx(first_better, abs=0.02)


def test_one_row_proves_nothing():
    losses = np.zeros((2, 100))
    losses[0, 7] = 1
    means = posterior_means(losses, 0)
    assert chance_of_worse(means, 1)[0] == pytest.approx(0.75, abs=0.03)


def test_equal_algorithms_are_worse_with_a_chance_of_a_half():
    losses = np.random.default_rng(0).integers(0, 2, (1, 50)).astype(float)
    assert chance_of_worse(posterior_means(losses[[0, 0]], 0), 0)[1] == 0.5


def test_posterior_of_quantities_is_centred_and_as_wide_as_the_standard_error():
    losses = np.random.default_rng(0).exponential(size=(2, 500))
    means = posterior_means(losses, 0)
    assert means.mean(axis=0) == pytest.approx(losses.mean(axis=1), rel=0.03)
    assert means[:, 0].std() == pytest.approx(standard_error(losses[0]), rel=0.1)


# ---------------------------------------------------------------- cells


def test_order_runs_first_settings_everywhere_first():
    order = plan(two_algorithms(), 3).cells
    assert [cell.setting for cell in order] == [0] * 6 + [1] * 3
    assert [(c.algorithm, c.fold) for c in order[:4]] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert len(set(order)) == len(order)


def rows_of(X, y) -> tuple[Rows, int]:
    rows, classes = read_rows(X, y, "auto", "from_dtype")
    return rows, len(classes)


def test_a_cell_is_a_function_of_rows_and_seed():
    rows, n_classes = rows_of(*small())
    protocol = plan(two_algorithms(), 3, n_classes)
    one, two = (cells.run(Cell(1, 0, 1), rows, protocol) for _ in range(2))
    assert np.array_equal(one.inner, two.inner)
    assert np.array_equal(one.scores, two.scores)
    assert one.temperature == two.temperature


def test_cells_are_silent(recwarn):
    def warns(facts):
        warnings.warn("as always", stacklevel=2)
        return ours(facts)

    rows, n_classes = rows_of(*small())
    cells.run(Cell(0, 0, 0), rows, plan([Algorithm("a", CLASSIFICATION, warns, ({},))], 3, n_classes))
    assert not recwarn


def test_a_cell_is_what_the_estimator_does_on_the_training_rows():
    X, y = small()
    rows, n_classes = rows_of(X, y)
    protocol = plan(two_algorithms(), 3, n_classes)
    tested = cells.run(Cell(1, 0, 2), rows, protocol)
    learn, test = folds.split(rows, 3, 0, screens=False).folds[2]
    model = AdaBoostClassifier(Trees(2), n_estimators=2).fit(X[learn], y[learn])
    assert np.array_equal(tested.scores[:, 0], model.decision_function(X[test]))
    model.temperature_ = tested.temperature
    proba = model.predict_proba(X[test])
    scored = Scored(y[test], tested.scores, 2, tested.temperature)
    assert METRICS["error"].value(scored) == np.mean(model.predict(X[test]) != y[test])
    own = proba[np.arange(len(proba)), y[test]]
    assert METRICS["log_loss"].value(scored) == pytest.approx(-np.mean(np.log(own)))
    assert tested.size == 2


def test_nothing_is_learned_from_the_rows_of_the_fold():
    """Edges, categories, scales: whatever the tested rows hold, the inner loss and the other rows' fate stay."""
    X, y = small()
    X[:, 0] = np.arange(len(X)) % 7
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["a"] = frame["a"].astype(int).astype(str)
    rows, n_classes = rows_of(frame, y)
    protocol = plan(two_algorithms(), 3, n_classes)
    there = folds.split(rows, 3, 0, screens=False).folds[0][1]
    spoiled = rows.matrix.copy()
    spoiled[there[1:]] = 1e9 * np.arange(6)  # new categories, far values
    before = cells.run(Cell(0, 1, 0), rows, protocol)
    after = cells.run(Cell(0, 1, 0), Rows(spoiled, rows.target, rows.categorical, rows.widest), protocol)
    assert np.array_equal(after.inner, before.inner)
    assert after.scores[0] == before.scores[0]
    assert after.temperature == before.temperature


def test_a_column_that_could_only_leak_gains_nothing():
    """Names of rows, and ranks over all rows: useless unless something is fitted outside the fold."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    noise = rng.normal(size=300)
    frame = pd.DataFrame({"noise": noise, "name": [f"{label}-{i}" for i, label in enumerate(y)]})
    found = electorate.compare(frame, y, algorithms=two_algorithms(), n_jobs=1)
    assert min(found.columns["error"]) > 0.4


def test_codes_of_categories_and_texts_give_the_same_predictions():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(list("zyxab"), 200), "x": rng.normal(size=200)})
    frame.loc[3, "c"] = None
    y = np.where(frame["c"].isin(["z", "a"]), 1, 0)
    rows, _ = rows_of(frame, y)
    by_codes = AdaBoostClassifier(Trees(2), categorical_features=rows.categorical).fit(rows.matrix, y)
    by_texts = AdaBoostClassifier(Trees(2)).fit(frame, y)
    assert np.array_equal(by_codes.decision_function(rows.matrix), by_texts.decision_function(frame))


def test_a_class_missing_from_a_fold_and_one_class_alone():
    X = np.arange(60.0)[:, None]
    y = np.array([0] * 57 + [1, 2, 2])
    found = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=5)
    assert np.isfinite(found.columns["log_loss"]).all()


# ---------------------------------------------------------------- ranking


ZEROS = bare_rows(np.zeros(4, dtype=np.int64))


def outcome(inner: float, *losses: float) -> cells.Tested:
    """A cell whose rows are all of the first class."""
    return cells.Tested(np.array([inner]), np.array(losses)[:, None] - 0.5, 1.0, 1, 1.0, 1.0)


def race(protocol: Protocol) -> Race:
    return Race(protocol, frozenset())


def test_nested_choice_looks_at_inner_losses_only():
    found = {Cell(0, 0, 0): outcome(0.2, 1, 1), Cell(0, 1, 0): outcome(0.3, 0, 0), Cell(0, 0, 1): outcome(0.5, 0, 0)}
    found[Cell(0, 1, 1)] = outcome(0.4, 1, 0)
    assert [list(t.scores[:, 0] > 0) for t in nest(0, [0, 1], found).values()] == [[1, 1], [1, 0]]
    there = FoldRows(plan(two_algorithms(), 2), ZEROS)
    assert best_setting(0, [0, 1], found, there) == 1
    del found[Cell(0, 1, 1)]  # a setting that ran in some folds only is not compared
    assert best_setting(0, [0, 1], found, there) == 0


def test_ranking_uses_the_rows_all_have_and_names_the_rest():
    protocol = plan(two_algorithms(), 2)
    results = {Cell(0, 0, 0): outcome(0.1, 1, 0), Cell(1, 0, 0): outcome(0.1, 0, 0), Cell(0, 0, 1): outcome(0.1, 0, 0)}
    ranking = rank(race(protocol), results, ZEROS)
    assert [line.algorithm.name for line in ranking.lines] == ["trees", "stumps"]
    assert ranking.folds == [0]
    assert ranking.lines[1].error == 0.5
    assert set(ranking.not_run) == set(protocol.cells) - set(results)
    missing = report.missing(ranking, protocol)
    assert missing == ["not run: stumps: n_estimators=5", "not run: trees: n_estimators=2 in fold 2"]
    nothing = ["not run: stumps", "not run: trees", "not ranked (ran out of time): stumps; trees"]
    assert report.missing(rank(race(protocol), {}, ZEROS), protocol) == nothing
    apart = {Cell(0, 0, 0): outcome(0.1, 1, 0), Cell(1, 0, 1): outcome(0.1, 0, 0)}
    assert len(rank(race(protocol), apart, ZEROS).lines) == 1  # no fold in common: one of them stands alone
    results[Cell(1, 0, 0)] = Failed("no")
    ranking = rank(race(protocol), results, ZEROS)
    assert [a.name for a in ranking.left_out] == ["trees"]
    assert ranking.failed == {Cell(1, 0, 0): "no"}


def test_the_table_explains_its_verdicts():
    rng = np.random.default_rng(0)
    protocol, zeros = plan(two_algorithms(), 2), bare_rows(np.zeros(600, dtype=np.int64))
    lost = [(rng.random(300) < error).astype(float) for error in (0.1, 0.1, 0.5, 0.5)]
    results = {Cell(a, 0, f): outcome(0.1, *lost[2 * a + f]) for a in range(2) for f in range(2)}
    ranking, metric = rank(race(protocol), results, zeros), METRICS["error"]
    text = report.meaning(ranking, metric)
    assert '"real"' in text[0]
    assert '"tie"' in text[0]
    assert text[1] == "the lead of stumps over every other algorithm is real"
    assert report.columns(ranking, {}, metric)["difference_to_first"] == ["first", "real"]
    assert ranking.lines[0].chance_of_best >= 0.95
    same = {Cell(a, 0, f): outcome(0.1, *lost[f]) for a in range(2) for f in range(2)}
    tied = rank(race(protocol), same, zeros)
    assert report.columns(tied, {}, metric)["difference_to_first"] == ["first", "tie"]
    assert report.meaning(tied, metric)[1] == "tied with stumps: trees"
    assert [line.chance_of_best for line in tied.lines] == [0.5, 0.5]
    three = replace(tied, lines=[*tied.lines, tied.lines[1]])
    assert report.meaning(three, metric)[1].startswith("tied with stumps: all others;")


# ---------------------------------------------------------------- the whole


def test_the_winner_and_its_bound_can_be_recomputed(tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    found = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, seed=3, folder=tmp_path / "c")
    opened, locked = folds.lock(bare_rows(y.to_numpy()), 0.2, 3)
    name = found.winner
    algorithm = next(a for a in two_algorithms() if a.name == name)
    model = algorithm.make(Facts([], 3)).set_params(**found.setting).fit(X.iloc[opened], y.iloc[opened])
    errors = int(np.sum(model.predict(X.iloc[locked]) != y.iloc[locked]))
    assert model.digest_ == found.model_without_locked.digest_
    assert found.bound == binomial_bound(errors, len(locked))
    assert found.model.digest_ == model.fit(X, y).digest_
    assert found.frame["algorithm"][0] == name
    assert "at most" in str(found)
    stored = electorate.load(tmp_path / "c" / "winner-without-test-rows.model")
    assert stored.held_out_["bound"] == found.bound
    assert stored.held_out_["rows"] == len(locked)
    final = electorate.load(tmp_path / "c" / "winner.model")
    assert final.held_out_["bound"] is None
    assert "no rows were held out" in final.held_out_["why"]
    lines = (tmp_path / "c" / "results.csv").read_text().splitlines()
    assert len(lines) == 4  # with the majority class
    assert not (tmp_path / "c" / "rows").exists()


def test_a_statement_does_not_outlive_its_model(tmp_path):
    X, y = small()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    model.held_out_ = {"bound": 0.1, "digest": model.digest_}
    model.save(tmp_path / "m")
    assert electorate.load(tmp_path / "m").held_out_["bound"] == 0.1
    model.set_params(n_estimators=4).fit(X, y).save(tmp_path / "m")
    assert not hasattr(electorate.load(tmp_path / "m"), "held_out_")


@pytest.mark.parametrize("statement", [5, {"digest": "0"}, {"a": [1]}, {str(i): i for i in range(11)}])
def test_a_forged_statement_is_refused(tmp_path, statement):
    model = AdaBoostClassifier(n_estimators=3).fit(*small())
    model.save(tmp_path / "m")
    contents = modelfile.read(tmp_path / "m")
    modelfile.write(tmp_path / "m", contents.kind, {**contents.meta, "held_out": statement}, contents.arrays)
    with pytest.raises(ModelFormatError):
        electorate.load(tmp_path / "m")


def test_processes_find_what_this_process_finds(tmp_path):
    X, y = load_iris(return_X_y=True)
    here = electorate.compare(X, y, algorithms=SOME, n_jobs=1, folds=2, quick=True)
    there = electorate.compare(X, y, algorithms=SOME, n_jobs=2, folds=2, quick=True)
    assert without_times(there.columns) == without_times(here.columns)
    assert there.model.digest_ == here.model.digest_


def test_an_interrupted_run_resumes_to_the_same_table(tmp_path):
    X, y = small()
    whole = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=3)
    calls = []

    def breaks(facts):
        calls.append(1)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return ours(facts)

    stumps, trees = two_algorithms()
    broken = [Algorithm(stumps.name, stumps.tasks, breaks, stumps.grid), trees]
    with pytest.raises(KeyboardInterrupt):
        electorate.compare(X, y, algorithms=broken, n_jobs=1, folds=3, folder=tmp_path / "c")
    done = sorted((tmp_path / "c" / "cells").iterdir())
    assert 0 < len(done) < 9
    done[0].write_bytes(done[0].read_bytes()[:50])  # and the disk lost some of it
    again = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=3, folder=tmp_path / "c")
    assert without_times(again.columns) == without_times(whole.columns)
    assert again.model.digest_ == whole.model.digest_
    before = [os.stat(path).st_mtime_ns for path in done[1:]]
    electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=3, folder=tmp_path / "c")
    assert [os.stat(path).st_mtime_ns for path in done[1:]] == before  # nothing was run twice


def test_a_killed_run_resumes_to_the_same_table(tmp_path):
    X, y = load_iris(return_X_y=True)
    whole = electorate.compare(X, y, algorithms=SOME, n_jobs=1, folds=3, quick=True)
    program = (
        "import electorate; from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True);"
        f"electorate.compare(X, y, algorithms={SOME!r}, n_jobs=2, folds=3, quick=True, folder={str(tmp_path / 'c')!r})"
    )
    home = str(Path(electorate.__file__).parent.parent)
    process = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": home})
    ended = time.monotonic() + 60
    while time.monotonic() < ended and not list((tmp_path / "c").glob("cells/*.cell")):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    again = electorate.compare(X, y, algorithms=SOME, n_jobs=1, folds=3, quick=True, folder=tmp_path / "c")
    assert without_times(again.columns) == without_times(whole.columns)
    assert again.model.digest_ == whole.model.digest_


def test_a_folder_with_another_comparison_is_refused(tmp_path):
    X, y = small()
    electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=tmp_path / "c")
    with pytest.raises(ValueError, match="another seed"):
        electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=tmp_path / "c", seed=1)
    with pytest.raises(ValueError, match="other rows"):
        electorate.compare(X[:-1], y[:-1], algorithms=two_algorithms(), n_jobs=1, folds=2, folder=tmp_path / "c")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "thesis.txt").write_text("")
    with pytest.raises(ValueError, match="something else"):
        electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folder=tmp_path / "d")


def spoil(path: Path, **changes) -> None:
    """Rewrite a cell with other contents and a valid hash."""
    contents = modelfile.read(path)
    meta = {**contents.meta, **{k: v for k, v in changes.items() if k in contents.meta}}
    arrays = {**contents.arrays, **{k: v for k, v in changes.items() if k in contents.arrays}}
    modelfile.write(path, changes.get("kind", contents.kind), meta, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cell: {"scores": np.full_like(cell["scores"], np.nan)}, "scores[0, 0] is nan"),
        (lambda cell: {"scores": cell["scores"][:-1]}, "scores has the shape"),
        (lambda cell: {"scores": np.repeat(cell["scores"], 2, axis=1)}, "scores has the shape"),
        (lambda cell: {"inner": np.empty(0)}, "inner has the shape"),
        (lambda cell: {"temperature": -1.0}, "temperature is -1.0"),
        (lambda cell: {"kind": "another kind"}, "another kind"),
    ],
)
def test_a_damaged_cell_is_named_and_run_again(tmp_path, caplog, change, message):
    X, y = small()
    whole = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=tmp_path / "c")
    path = tmp_path / "c" / "cells" / "00001.cell"
    spoil(path, **change(modelfile.read(path).arrays))
    again = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=tmp_path / "c")
    assert without_times(again.columns) == without_times(whole.columns)
    (warning,) = caplog.messages
    assert str(path) in warning
    assert message in warning
    caplog.clear()
    electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=tmp_path / "c")
    assert not caplog.messages  # the file was mended


@pytest.mark.parametrize("written", [0, 1])
def test_a_run_killed_while_its_rows_are_stored_is_resumed(tmp_path, monkeypatch, written):
    X, y = small()
    whole = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2)

    def killed(rows, folder):
        store(rows, folder)
        for name in sorted(os.listdir(folder))[written:]:
            os.remove(os.path.join(folder, name))
        raise KeyboardInterrupt

    monkeypatch.setattr(journal, "store", killed)
    with pytest.raises(KeyboardInterrupt):
        electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=tmp_path / "c")
    monkeypatch.undo()
    again = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=tmp_path / "c")
    assert without_times(again.columns) == without_times(whole.columns)


def test_a_folder_without_a_plan_is_resumed_unless_it_holds_results(tmp_path):
    """Earlier versions stored the rows before the plan; a kill may also leave half a plan."""
    X, y = small()
    folder = tmp_path / "c"
    (folder / "cells").mkdir(parents=True)
    (folder / "rows").mkdir()
    (folder / "rows" / "matrix.npy").write_bytes(b"half")
    (folder / "comparison.json.tmp").write_text("{")
    electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=folder)
    (folder / "comparison.json").unlink()  # now its cells belong to no plan
    for name in ("results.csv", "winner.model", "winner-without-test-rows.model"):
        (folder / name).unlink()
    with pytest.raises(ValueError, match=r"00000\.cell.*no comparison\.json"):
        electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=folder)


def test_predictions_that_are_not_numbers_do_not_win():
    class Spoiled(AdaBoostClassifier):
        def decision_function(self, X):
            return super().decision_function(X) * np.nan

    spoiled = Algorithm("spoiled", CLASSIFICATION, lambda facts: Spoiled(n_jobs=1), ({"n_estimators": 2},))
    found = electorate.compare(*small(), algorithms=[spoiled, *two_algorithms()], n_jobs=1, folds=2)
    assert "spoiled" not in found.columns["algorithm"]
    assert "decision for test row 0 of the fold is nan" in str(found)
    assert "not ranked (failed): spoiled" in str(found)


def test_a_time_limit_stops_cells_and_names_them(tmp_path):
    X, y = small()

    def slow(facts):
        time.sleep(0.05)
        return ours(facts)

    stumps, trees = two_algorithms()
    both = [trees, Algorithm("slow", CLASSIFICATION, slow, stumps.grid)]
    part = electorate.compare(X, y, algorithms=both, n_jobs=1, folds=3, time_limit=0.5, folder=tmp_path / "c")
    assert 0 < len(part.not_run) < 12
    assert "not run: slow" in str(part)
    if part.ranking.lines:
        assert "of them run by all" in part.head
    more = electorate.compare(X, y, algorithms=both, n_jobs=1, folds=3, folder=tmp_path / "c")
    whole = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=3)
    assert not more.not_run
    assert sorted(more.columns["error"]) == sorted(whole.columns["error"])


class Screen(io.StringIO):
    """A stream that may be a terminal."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize("is_terminal", [False, True])
def test_progress_is_rewritten_on_a_terminal_and_rare_elsewhere(is_terminal, monkeypatch):
    protocol = plan(two_algorithms(), 2)
    now = iter(range(0, 100, 6))
    monkeypatch.setattr("electorate.comparison.workers.time.monotonic", lambda: next(now))
    screen = Screen(is_terminal)
    shown = Progress(race(protocol), {protocol.cells[0]: outcome(0.5, 0, 1)}, screen)
    shown.start(0, protocol.cells[1:])
    for cell in protocol.cells[1:4]:
        shown.done(cell, outcome(0.1, 0, 0))
    shown.end()
    written = screen.getvalue()
    assert written.startswith("resuming: 1 cells are done; best so far stumps 0.5000\n")
    assert written.count("[") == (3 if is_terminal else 2)
    assert "[3/5] trees, fold 2/2; best so far trees 0.1000; about 12 s left" in written
    assert written.endswith("\r") == is_terminal
    silent = Progress(race(protocol), {}, None)
    silent.start(0, protocol.cells)
    silent.done(protocol.cells[0], None)


def test_workers_are_stopped_at_the_deadline():
    X, y = load_breast_cancer(return_X_y=True)
    started = time.monotonic()
    part = electorate.compare(X, y, n_jobs=2, time_limit=0.2)  # less than a process takes to start
    assert time.monotonic() - started < 20
    assert part.not_run
    assert "nothing to rank" in str(part)
    with pytest.raises(ValueError, match="more time"):
        _ = part.winner


def test_an_estimator_that_fails_is_named_and_the_others_ranked():
    def fails(facts):
        raise RuntimeError("out of \x1b[31mluck")

    broken = Algorithm("broken", CLASSIFICATION, fails, ({},))
    found = electorate.compare(*small(), algorithms=[*two_algorithms(), broken], n_jobs=1, folds=2)
    assert len(found.columns["algorithm"]) == 3
    assert "failed: broken" in str(found)
    assert "\x1b" not in str(found)


def test_a_peer_that_wins_is_not_stored_under_the_name_of_the_winner(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    poor = [Algorithm("one stump", CLASSIFICATION, ours, ({"n_estimators": 1},))]
    with threadpool_limits(1):
        found = electorate.compare(X, y, algorithms=poor, peers=["hgb"], n_jobs=1, folds=2, folder=tmp_path / "c")
    assert found.winner == "HistGradientBoosting"
    assert set(found.bounds) == {"HistGradientBoosting", "one stump"}
    assert not (tmp_path / "c" / "winner.model").exists()
    stored = electorate.load(tmp_path / "c" / "best-of-electorate.model")
    assert stored.digest_ == found.models["one stump"][1].digest_
    assert found.best_of_ours == "one stump"
    assert "HistGradientBoostingClassifier(" in found.code
    with pytest.raises(ValueError, match="no peer is called 'sgd'"):
        electorate.compare(X, y, peers=["sgd"])


def test_regression_is_ranked_by_absolute_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    with threadpool_limits(1):
        found = electorate.compare(X, y, algorithms=[], peers=["hgb"], n_jobs=1, folds=2)
    assert found.columns["mae"][0] < 0.4
    assert np.isnan(found.bound)
    assert "abs. error" in str(found)
    assert "log loss" not in str(found)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 2], "classification"),
        ([0.0, 1.0], "classification"),
        ([0.5, 1.0], "regression"),
        (list(range(21)), "regression"),
    ],
)
def test_the_task_is_read_off_the_target(y, task):
    assert guess_task(y) == task


# ---------------------------------------------------------------- weights


def weights(n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(1, 5, n).astype(float)


def test_equal_weights_change_nothing_but_different_ones_do():
    X, y = small()
    plain = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2)
    equal = electorate.compare(X, y, sample_weight=np.ones(len(y)), algorithms=two_algorithms(), n_jobs=1, folds=2)
    assert equal.columns["error"] == pytest.approx(plain.columns["error"])
    assert equal.columns["standard_error"] == pytest.approx(plain.columns["standard_error"])
    assert equal.bound == plain.bound
    assert equal.model.digest_ == plain.model.digest_


def test_weighted_errors_are_those_of_weighted_models():
    X, y = small()
    weight = weights(len(y))
    found = electorate.compare(X, y, sample_weight=weight, algorithms=two_algorithms()[1:], n_jobs=1, folds=3)
    opened, locked = folds.lock(bare_rows(y), 0.2, 0)
    lost = np.empty(len(opened))
    for learn, test in folds.split(bare_rows(y[opened]), 3, 0, screens=False).folds:
        into, out = opened[learn], opened[test]
        model = AdaBoostClassifier(Trees(2), n_estimators=2).fit(X[into], y[into], sample_weight=weight[into])
        lost[test] = model.predict(X[out]) != y[out]
    assert found.columns["error"][0] == pytest.approx(np.average(lost, weights=weight[opened]))
    model = AdaBoostClassifier(Trees(2), n_estimators=2).fit(X[opened], y[opened], sample_weight=weight[opened])
    assert found.model_without_locked.digest_ == model.digest_
    wrong = model.predict(X[locked]) != y[locked]
    held_out = found.model_without_locked.held_out_
    assert held_out["error"] == pytest.approx(np.average(wrong, weights=weight[locked]))
    assert held_out["bound"] is None
    assert "does not apply" in held_out["why"]
    assert np.isnan(found.bound)
    assert "does not apply" in str(found)
    assert "errors are weighted" in str(found)


def test_rows_of_weight_0_are_left_out_and_processes_get_the_weights():
    X, y = small()
    weight = weights(len(y))
    weight[::5] = 0
    positive = weight > 0
    some = electorate.compare(X, y, sample_weight=weight, algorithms=SOME[:1], n_jobs=2, folds=2)
    same = electorate.compare(
        X[positive], y[positive], sample_weight=weight[positive], algorithms=SOME[:1], n_jobs=1, folds=2
    )
    assert without_times(some.columns) == without_times(same.columns)


def test_weighted_posterior_is_centred_and_as_wide_as_the_standard_error():
    rng = np.random.default_rng(0)
    losses, weight = rng.exponential(size=(2, 500)), rng.exponential(size=500)
    means = posterior_means(losses, 0, weight=weight)
    assert means.mean(axis=0) == pytest.approx(np.average(losses, axis=1, weights=weight), rel=0.03)
    assert means[:, 0].std() == pytest.approx(standard_error(losses[0], weight), rel=0.1)
    plain = posterior_means(losses, 0)
    assert posterior_means(losses, 0, weight=np.full(500, 3.0)) == pytest.approx(plain)


@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda w: w[:-1], "shape"), (lambda w: -w, "row 0 has"), (lambda w: 0 * w, "all weights are 0")],
)
def test_weights_are_checked(change, message):
    X, y = small()
    with pytest.raises(ValueError, match=message):
        electorate.compare(X, y, sample_weight=change(weights(len(y))), n_jobs=1)


# ---------------------------------------------------------------- inputs


def test_frames_and_sparse_matrices(tmp_path):
    from scipy import sparse

    X, y = small()
    wanted = electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2)
    for other in (sparse.csr_array(X), pd.DataFrame(X), X.tolist()):
        found = electorate.compare(other, y, algorithms=two_algorithms(), n_jobs=1, folds=2)
        assert without_times(found.columns) == without_times(wanted.columns)


def test_rows_survive_the_disk(tmp_path):
    from scipy import sparse

    X, y = small()
    for matrix in (X, sparse.csr_array(X)):
        rows, _ = rows_of(matrix, y)
        store(rows, str(tmp_path / str(type(matrix))))
        assert restore(str(tmp_path / str(type(matrix)))).digest() == rows.digest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"locked": 1.0}, "locked is 1.0"),
        ({"folds": 1}, "folds is 1"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"folds": 80}, "too many"),
        ({"task": "x"}, "task is 'x'"),
        ({"algorithms": ["x"]}, "called 'x'"),
    ],
)
def test_options_are_checked(change, message):
    with pytest.raises(ValueError, match=message):
        electorate.compare(*small(), n_jobs=1, **change)


def test_data_are_checked():
    X, y = small()
    with pytest.raises(ValueError, match="one class only"):
        electorate.compare(X, np.zeros(len(X), int), n_jobs=1)
    with pytest.raises(ValueError, match="too few"):
        electorate.compare(X[:10], np.arange(10) % 2, n_jobs=1)
    X[5, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        electorate.compare(X, y, n_jobs=1)
    with pytest.raises(ValueError, match="no algorithm to compare for regression"):
        electorate.compare(small()[0], np.linspace(0, 1, 120), algorithms=[], n_jobs=1)


def test_every_algorithm_of_the_list_can_be_made():
    for algorithm in OURS:
        for setting in algorithm.grid:
            model = algorithm.build(setting, Facts([1], 0))
            assert model.get_params()["n_estimators"] == setting["n_estimators"]
    assert {a.name for a in applicable("binary")} >= {"AdaBoost, stumps", "AdaBoost_R, trees"}
    names = [a.name for a in applicable("binary", size=Size(10**6))]
    assert "LPBoost, stumps" not in names
    named = applicable("binary", ["lpboost, stumps"], size=Size(10**6))
    assert [a.name for a in named] == ["majority class", "LPBoost, stumps"]
    assert all(REGRESSION not in a.tasks for a in applicable("multiclass"))


def test_no_two_settings_of_an_algorithm_make_the_same_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    quantity = X[:, 0] * X[:, 1] + rng.normal(size=150)
    for algorithm in OURS:
        target = quantity if REGRESSION in algorithm.tasks else quantity > 0
        models = [algorithm.build(setting, Facts([], 0)) for setting in algorithm.grid]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = [model.fit(X, target) for model in models]
        outputs = {getattr(model, "predict_proba", model.predict)(X).tobytes() for model in fitted}
        assert len(outputs) == len(models), algorithm.name


def test_every_registered_algorithm_is_in_the_list():
    assert {a.make.estimator for a in OURS} == set(ALGORITHMS)


def test_classes_count_as_rows_where_time_is_short():
    X, y = load_iris(return_X_y=True)
    X, y = np.repeat(X, 20, axis=0), np.repeat(y, 20)  # 3,000 rows of 3 classes: 9,000
    found = electorate.compare(X, y, n_jobs=1, time_limit=1e-9)
    names = [a.name for a in found.protocol.algorithms]
    assert "LPBoost, stumps" not in names
    assert "RLPBoost, stumps" in names


@pytest.mark.parametrize("name", [a.name for a in OURS if REGRESSION in a.tasks])
def test_regressors_are_compared_and_stored(name, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    found = electorate.compare(
        X, X[:, 0] + 0.1 * rng.normal(size=80), algorithms=[name], n_jobs=1, folds=2, folder=tmp_path / "c"
    )
    assert not found.failed
    assert found.columns["mae"][0] < 0.6
    if hasattr(found.model, "save"):
        stored = electorate.load(tmp_path / "c" / "winner.model")
        assert stored.digest_ == found.model.digest_
    assert "conformal" in str(found) or "too few test rows" in str(found)


def test_a_damaged_plan_is_reported(tmp_path):
    X, y = small()
    electorate.compare(X, y, algorithms=two_algorithms(), n_jobs=1, folds=2, folder=tmp_path / "c")
    (tmp_path / "c" / "comparison.json").write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        Journal(tmp_path / "c").read_plan()
