"""Callbacks in scikit-learn's protocol: ours, scikit-learn's own, anybody's; fits that break off and are resumed."""

import copy
import io
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from after_round import AfterRound, stop_with
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from training_cases import CLASSES, MODELS, ONE_OF_EACH, ONE_VS_REST, assert_same, noisy, plain

from electorate import (
    AdaBoostClassifier,
    Checkpoint,
    LocMedBoostRegressor,
    MedBoostRegressor,
    ProgressBar,
    RealAdaBoostClassifier,
    RegressionTrees,
    TimeLimit,
    load,
)
from electorate.engines.memory import Threads
from electorate.modelfile import ModelFormatError
from electorate.training import callbacks

needs_sklearn_callbacks = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="scikit-learn has callbacks of its own from 1.9 on"
)


def names_left(model: Any) -> set[str]:
    """What a fit has put on the estimator, beside its parameters."""
    return set(vars(model)) - set(model.get_params(deep=False)) - {"_skl_callbacks"}


def fitted(model: Any, X: Any, y: Any, *given: Any) -> Any:
    return clone(model).set_callbacks(*given).fit(X, y)


# ---------------------------------------------------------------- the protocol


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_task_per_round(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes, 100)
    watcher = AfterRound(lambda number: False)
    model = fitted(clone(MODELS[name]).set_params(n_estimators=7), X, y, watcher)
    assert watcher.rounds == len(model.history_["step"])
    assert watcher.calls == ["setup", "begin", *["begin", "end"] * watcher.rounds, "end", "teardown"]
    assert model.digest_ == fitted(clone(MODELS[name]).set_params(n_estimators=7), X, y).digest_


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_callback_may_stop_the_rounds(name: str) -> None:
    X, y = noisy(2)
    model = fitted(MODELS[name], X, y, AfterRound(lambda number: number == 6))
    assert model.stop_reason_ == "callback"
    assert model.digest_ == fitted(clone(MODELS[name]).set_params(n_estimators=6), X, y).digest_


@pytest.mark.parametrize("n_classes", CLASSES)
def test_a_callback_is_given_the_model_so_far(n_classes: int) -> None:
    X, y = noisy(n_classes)
    seen = []

    class Watcher(AfterRound):
        def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any, y: Any, fitted_estimator: Any) -> None:
            if context.task_name == "round":
                seen.append((fitted_estimator.predict(X) == y).mean())
                assert estimator is not fitted_estimator

    model = fitted(AdaBoostClassifier(n_estimators=12), X, y, Watcher(lambda number: False))
    assert seen == list(model.staged_score(X, y))


@needs_sklearn_callbacks
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_VS_REST)
def test_scikit_learns_scoring_monitor(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes, 100)
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    model = fitted(clone(MODELS[name]).set_params(n_estimators=5), X, y, monitor)
    rows = [row for row in monitor.get_logs(select="most_recent").data if row["task_name"] == "round"]
    assert len(rows) == len(model.history_["step"])
    assert rows[-1]["accuracy"] == model.score(X, y)


@needs_sklearn_callbacks
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_scikit_learns_progress_bar(name: str, n_classes: int, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar as RichProgressBar

    X, y = noisy(n_classes, 100)
    fitted(clone(MODELS[name]).set_params(n_estimators=5), X, y, RichProgressBar())
    shown = capsys.readouterr().out
    assert type(MODELS[name]).__name__ in shown
    assert "100%" in shown


class Propagated(AfterRound):
    max_propagation_depth = None


@needs_sklearn_callbacks
@pytest.mark.parametrize("n_classes", CLASSES)
def test_callbacks_of_a_search_reach_its_models(n_classes: int) -> None:
    X, y = plain(n_classes)
    watcher = Propagated(lambda number: False)
    search = GridSearchCV(RealAdaBoostClassifier(n_estimators=4), {"learning_rate": [0.5, 1]}, cv=2)
    search.set_callbacks(watcher).fit(X, y)
    fits = 2 * 2 + 1
    assert watcher.rounds == fits * 4 * (1 if n_classes == 2 else 3)
    assert watcher.calls[0] == "setup"
    assert watcher.calls.count("setup") == watcher.calls.count("teardown") == 1
    assert not hasattr(search.best_estimator_, "_skl_callbacks")
    assert not hasattr(search.best_estimator_, "_hooks")


@needs_sklearn_callbacks
def test_callbacks_of_a_pipeline_reach_its_model() -> None:
    X, y = plain()
    watcher = Propagated(lambda number: number == 3)
    model = make_pipeline(StandardScaler(), AdaBoostClassifier()).set_callbacks(watcher).fit(X, y)
    assert model[-1].stop_reason_ == "callback"
    assert len(model[-1].steps_) == 3


# ---------------------------------------------------------------- nothing stays behind


def faults() -> dict[str, Callable[[Any, Any, Any], Any]]:
    """Ways in which a fit with a checkpoint may end."""
    return {
        "well": lambda model, X, y: model.fit(X, y),
        "bad labels": lambda model, X, y: model.fit(X, y[1:]),
        "bad weights": lambda model, X, y: model.fit(X, y, -np.ones(len(y))),
        "other data": lambda model, X, y: model.fit(X.assign(a=-X["a"]), y),
        "an error": lambda model, X, y: _with(model, stop_with(RuntimeError("stop"), 3)).fit(X, y),
        "Ctrl-C": lambda model, X, y: _with(model, stop_with(KeyboardInterrupt(), 3)).fit(X, y),
    }


def _with(model: Any, callback: Any) -> Any:
    return model.set_callbacks(*model._skl_callbacks, callback)


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("fault", faults())
def test_nothing_of_a_fit_stays_on_the_estimator(fault: str, resumed: bool, tmp_path: Path) -> None:
    X, y = noisy(3)
    path = tmp_path / "checkpoint"
    model = RealAdaBoostClassifier(n_estimators=4)
    if resumed:
        fitted(clone(model).set_params(n_estimators=2), X, y, Checkpoint(path))
    model.set_callbacks(Checkpoint(path), ProgressBar(io.StringIO()), TimeLimit(100))
    if fault == "well" or (fault == "other data" and not resumed):
        faults()[fault](model, X, y)
        assert names_left(model) >= {"ensemble_", "classes_"}
    else:
        with pytest.raises((ValueError, RuntimeError, KeyboardInterrupt)):
            faults()[fault](model, X, y)
    assert [name for name in names_left(model) if not name.endswith("_")] == []
    model.set_callbacks().fit(X, y)
    assert model.digest_ == clone(model).set_callbacks().fit(X, y).digest_


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("estimator", [LocMedBoostRegressor(), MedBoostRegressor(RegressionTrees(3))])
def test_callbacks_change_nothing_where_a_first_voter_is_too_good(
    estimator: Any, early_stopping: bool, tmp_path: Path
) -> None:
    """On small tables eps="auto" is often too large: then rounds are done again with smaller ones."""
    again = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(12, 2)), rng.normal(size=12).round(1)
        model = clone(estimator).set_params(n_estimators=3, early_stopping=early_stopping, random_state=0)
        alone = clone(model).fit(X, y)
        again += alone.eps_ < 0.3 * np.median(np.abs(y - np.median(y)))  # it begins at half
        for callback in (TimeLimit(100), Checkpoint(tmp_path / f"{seed}", every=1), AfterRound(lambda number: False)):
            assert fitted(model, X, y, callback).digest_ == alone.digest_
    assert again > 0


def test_nothing_stays_when_a_checkpoint_cannot_be_written(tmp_path: Path) -> None:
    X, y = noisy(2)
    model = AdaBoostClassifier(n_estimators=15).set_callbacks(Checkpoint(tmp_path / "no such folder" / "checkpoint"))
    with pytest.raises(OSError, match="no such folder"):
        model.fit(X, y)
    assert [name for name in names_left(model) if not name.endswith("_")] == []


@pytest.mark.parametrize("n_classes", CLASSES)
def test_models_with_callbacks_can_be_copied(n_classes: int, tmp_path: Path) -> None:
    X, y = noisy(n_classes)
    model = AdaBoostClassifier(n_estimators=3)
    model.set_callbacks(Checkpoint(tmp_path / "checkpoint"), ProgressBar(io.StringIO()), TimeLimit(100)).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model).fit(X, y)):
        assert other.digest_ == model.digest_
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


# ---------------------------------------------------------------- a progress line


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_the_progress_line(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    file = io.StringIO()
    model = clone(MODELS[name]).set_params(n_estimators=6, early_stopping=True, n_iter_no_change=20, random_state=0)
    model = fitted(model, X, y, ProgressBar(file, every=0))
    lines = file.getvalue().split("\r")[1:]
    assert lines[0].startswith("[####....................] round 1/6  error 0.")
    assert lines[-1].startswith("[########################] round 6/6  error ")
    assert lines[-1].endswith("0 s left \n")
    row = {name: column[-1] for name, column in model.history_.items()}
    assert f"error {row['train_error']:.4f}  validation {row['validation']:.4f} " in lines[-1]


def test_the_progress_line_goes_to_stderr_and_not_too_often(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = noisy(2)
    fitted(AdaBoostClassifier(n_estimators=30), X, y, ProgressBar(every=1000))
    said = capsys.readouterr()
    assert said.out == ""
    assert 1 <= said.err.count("\r") <= 2
    assert "round 30/30" in said.err


def test_a_progress_line_that_cannot_be_written_ends_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    X, y = noisy(2)
    model = AdaBoostClassifier(n_estimators=3)
    digest = model.fit(X, y).digest_
    assert fitted(model, X, y, ProgressBar(Gone(), every=0)).digest_ == digest
    monkeypatch.setattr("sys.stderr", None)  # it was closed when Python started
    assert fitted(model, X, y, ProgressBar(every=0)).digest_ == digest


@pytest.mark.parametrize("y", [np.tile([0, 1], 10), np.zeros(20)])
def test_a_progress_line_without_rounds(y: np.ndarray) -> None:
    file = io.StringIO()
    model = fitted(AdaBoostClassifier(), np.ones((20, 2)), y, ProgressBar(file, every=0))
    assert model.stop_reason_ == "no_edge"
    assert file.getvalue() == ""


# ---------------------------------------------------------------- a time limit


class Clock:
    """A second for every look at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_time_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(monotonic=Clock().monotonic))
    X, y = noisy(2)
    limit = TimeLimit(5)
    model = fitted(MODELS[name], X, y, limit)
    assert model.stop_reason_ == "time_limit"
    assert len(model.steps_) == 5
    assert model.digest_ == fitted(clone(MODELS[name]).set_params(n_estimators=5), X, y).digest_
    # the next fit has its own time
    assert len(clone(model).set_params(n_estimators=3).fit(X, y).steps_) == 3
    assert clone(model).set_params(n_estimators=3).fit(X, y).stop_reason_ == "n_estimators"


@pytest.mark.parametrize("name", ONE_VS_REST)
def test_classes_share_the_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all of it goes to the first class."""
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(monotonic=Clock().monotonic))
    X, y = noisy(3)
    model = fitted(MODELS[name], X, y, TimeLimit(30))
    assert model.stop_reason_ == "time_limit"
    assert np.bincount(model.ensemble_.about).tolist() == [10, 10, 10]


def test_a_time_limit_of_nothing_leaves_one_round() -> None:
    X, y = noisy(2)
    assert len(fitted(AdaBoostClassifier(), X, y, TimeLimit(0)).steps_) == 1


# ---------------------------------------------------------------- checkpoints


def resumable(name: str, early_stopping: bool, rounds: int = 12) -> Any:
    more = {"early_stopping": True, "n_iter_no_change": 4, "random_state": 0} if early_stopping else {}
    return clone(MODELS[name]).set_params(n_estimators=rounds, **more)


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_after_any_round_a_fit_can_be_resumed(name: str, n_classes: int, early_stopping: bool, tmp_path: Path) -> None:
    error = KeyboardInterrupt() if early_stopping == (n_classes == 2) else RuntimeError("stop")
    X, y = noisy(n_classes, 120)
    model = resumable(name, early_stopping)
    whole = fitted(model, X, y)
    for at in range(1, len(whole.history_["step"]) + 1):
        path = tmp_path / f"checkpoint {at}"
        with pytest.raises(type(error)):
            fitted(model, X, y, Checkpoint(path, every=100), stop_with(error, at))
        rest = AfterRound(lambda number: False)
        assert_same(fitted(model, X, y, Checkpoint(path), rest), whole)
        # a class that stopped by validation goes on from its best round; else no round is done twice
        assert early_stopping or rest.rounds == len(whole.history_["step"]) - at


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ["AdaBoost, stumps", "AdaBoost_R, trees"])
def test_ctrl_c_in_the_middle_of_a_round(
    name: str, n_classes: int, early_stopping: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole rounds are saved, not halves: in training as in validation."""
    X, y = noisy(n_classes, 120)
    model = resumable(name, early_stopping, rounds=4)
    whole, advance = fitted(model, X, y), Threads.advance
    for at in range(1, 100):
        path, left = tmp_path / f"checkpoint {at}", at

        def interrupted(self: Any, *given: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return advance(self, *given, **more)

        monkeypatch.setattr(Threads, "advance", interrupted)
        try:
            fitted(model, X, y, Checkpoint(path))
            break
        except KeyboardInterrupt:
            monkeypatch.setattr(Threads, "advance", advance)
            assert_same(fitted(model, X, y, Checkpoint(path)), whole)
    assert at > 4


KILLED = """
import os, signal, sys
sys.path[:0] = {folders!r}
from test_callbacks import AfterRound, resumable
from training_cases import noisy
from electorate import Checkpoint

kill = lambda number: number == {at} and os.kill(os.getpid(), signal.SIGKILL)
X, y = noisy({n_classes}, 120)
resumable({name!r}, True).set_callbacks(Checkpoint({path!r}, every=3), AfterRound(kill)).fit(X, y)
"""


@pytest.mark.process
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize(("name", "n_classes", "at"), [("AdaBoost, trees", 2, 5), ("Real AdaBoost, stumps", 3, 16)])
def test_a_killed_fit_can_be_resumed(name: str, n_classes: int, at: int, tmp_path: Path) -> None:
    path = str(tmp_path / "checkpoint")
    given = {"folders": [str(folder) for folder in Path(__file__).parents[:3]], "path": path}
    script = KILLED.format(name=name, n_classes=n_classes, at=at, **given)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert os.listdir(tmp_path) == ["checkpoint"]
    X, y = noisy(n_classes, 120)
    model = resumable(name, True)
    rest = AfterRound(lambda number: False)
    assert_same(fitted(model, X, y, Checkpoint(path), rest), fitted(model, X, y))
    assert rest.rounds < len(fitted(model, X, y).history_["step"])


def test_a_finished_fit_is_read_from_its_checkpoint(tmp_path: Path) -> None:
    X, y = noisy(2)
    checkpoint, rest = Checkpoint(tmp_path / "checkpoint"), AfterRound(lambda number: False)
    whole = fitted(AdaBoostClassifier(n_estimators=25), X, y, checkpoint)
    assert_same(fitted(AdaBoostClassifier(n_estimators=25), X, y, checkpoint, rest), whole)
    assert rest.rounds == 0
    more = fitted(AdaBoostClassifier(n_estimators=30, n_jobs=2), X, y, checkpoint, rest)
    assert_same(more, fitted(AdaBoostClassifier(n_estimators=30), X, y))
    assert rest.rounds == 5


def test_the_rows_set_aside_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    """Also where random_state names none."""
    X, y = noisy(2)
    model = AdaBoostClassifier(n_estimators=10, early_stopping=True, n_iter_no_change=20)
    checkpoint = Checkpoint(tmp_path / "checkpoint", every=1)
    with pytest.raises(RuntimeError):
        fitted(model, X, y, checkpoint, stop_with(RuntimeError(), 4))
    seen = load(checkpoint.path).history_["validation"]
    assert len(seen) == 4
    np.testing.assert_array_equal(fitted(model, X, y, checkpoint).history_["validation"][:4], seen)


def test_an_old_checkpoint_survives_a_save_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(2)
    path = tmp_path / "checkpoint"
    fitted(AdaBoostClassifier(n_estimators=5), X, y, Checkpoint(path))
    before = path.read_bytes()

    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        fitted(AdaBoostClassifier(n_estimators=10), X, y, Checkpoint(path))
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["checkpoint"]
    assert_same(
        fitted(AdaBoostClassifier(n_estimators=10), X, y, Checkpoint(path)),
        fitted(AdaBoostClassifier(n_estimators=10), X, y),
    )


@pytest.mark.parametrize(
    "other",
    [
        AdaBoostClassifier(learning_rate=0.5),
        AdaBoostClassifier(MODELS["AdaBoost, trees"].estimator),
        AdaBoostClassifier(max_bins=20),
        AdaBoostClassifier(class_weight="balanced"),
        AdaBoostClassifier(early_stopping=True),
        AdaBoostClassifier(random_state=1),
        RealAdaBoostClassifier(),
        RealAdaBoostClassifier(step=1),
    ],
)
def test_checkpoints_of_other_parameters_are_refused(other: Any, tmp_path: Path) -> None:
    X, y = noisy(2)
    path = tmp_path / "checkpoint"
    fitted(AdaBoostClassifier(n_estimators=3), X, y, Checkpoint(path))
    before = path.read_bytes()
    with pytest.raises(ModelFormatError, match="other parameters"):
        fitted(other, X, y, Checkpoint(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_checkpoints_of_other_data_are_refused(name: str, tmp_path: Path) -> None:
    X, y = noisy(3)
    path = tmp_path / "checkpoint"
    fitted(AdaBoostClassifier(n_estimators=3), X, y, Checkpoint(path))
    before = path.read_bytes()
    for other, labels in (
        (X.assign(a=X["a"] + 1), y),
        (X[:-1], y[:-1]),
        (X, y[::-1]),
        (X, np.where(y == "no", "x", y)),
    ):
        with pytest.raises(ValueError, match="not those the model was fitted on"):
            fitted(AdaBoostClassifier(n_estimators=5), other, labels, Checkpoint(path))
    assert path.read_bytes() == before


def test_a_damaged_checkpoint_is_refused_by_name(tmp_path: Path) -> None:
    X, y = noisy(2)
    path = tmp_path / "checkpoint"
    path.write_bytes(b"not a model")
    with pytest.raises(ModelFormatError, match="checkpoint"):
        fitted(AdaBoostClassifier(), X, y, Checkpoint(path))


def test_wrapped_voters_have_no_checkpoints(tmp_path: Path) -> None:
    """They are told before the first round."""
    X, y = plain()
    rounds = AfterRound(lambda number: False)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1))
    with pytest.raises(TypeError, match="DecisionTreeClassifier"):
        fitted(model, X, y, Checkpoint(tmp_path / "checkpoint"), rounds)
    assert rounds.rounds == 0


def test_a_checkpoint_belongs_to_one_model(tmp_path: Path) -> None:
    X, y = plain()
    search = GridSearchCV(AdaBoostClassifier(), {"learning_rate": [0.5, 1]})
    with pytest.raises(TypeError, match="not on GridSearchCV"):
        search.set_callbacks(Checkpoint(tmp_path / "checkpoint")).fit(X, y)
