"""Regressors that go on: warm starts, callbacks, checkpoints, rows to stop by; files, memory; the same on Dask."""

import importlib.util
import io
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from after_round import AfterRound, stop_with
from dask_cluster import cuts, scattered
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from electorate import (
    AdaBoostRegressor,
    Checkpoint,
    Columns,
    LocMedBoostRegressor,
    MedBoostRegressor,
    Pool,
    ProgressBar,
    RegressionTrees,
    TimeLimit,
    load,
)
from electorate.data import inputs
from electorate.modelfile import ModelFormatError
from electorate.training import callbacks

TREES = {
    "MedBoost": MedBoostRegressor(),
    "lowest edge, linear": MedBoostRegressor(RegressionTrees(2), rho="lowest_edge", cost="linear"),
    "least squares": MedBoostRegressor(RegressionTrees(2, criterion="squared_error"), rho=-0.5),
    "abstaining": LocMedBoostRegressor(),
    "bumps": LocMedBoostRegressor(confidence_by="bumps", n_bumps=2, random_state=0),
    "AdaBoost.R2": AdaBoostRegressor(loss="square"),
}
WRAPPED = {
    "wrapped": MedBoostRegressor(DecisionTreeRegressor(max_depth=2), random_state=0),
    "wrapped, drawn": AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), random_state=0),
}
MODELS = {**TREES, **WRAPPED}


def noisy(seed: int = 0, n: int = 120) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Missing values, outliers, whole weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    y = 2 * np.abs(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(2, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.integers(0, 4, n)


def rows_for(name: str, *given: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, weight = noisy(*given)
    return (np.nan_to_num(X) if name in WRAPPED else X), y, weight


def fitted(model: Any, rows: Any, *rounds: int, **more: Any) -> Any:
    """Fitted with so many rounds, and then warm with so many more."""
    model = clone(model).set_params(warm_start=len(rounds) > 1)
    for n_estimators in rounds:
        model.set_params(n_estimators=n_estimators).fit(*rows, **more)
    return model


def assert_same(one: Any, other: Any, X: Any) -> None:
    """The same model, and the same story but for the time it took."""
    if one.vote_.trees is not None:
        assert one.digest_ == other.digest_
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.stop_reason_ == other.stop_reason_
    assert getattr(one, "best_round_", None) == getattr(other, "best_round_", None)
    assert one.history_.keys() == other.history_.keys()
    for name in one.history_.keys() - {"seconds"}:
        np.testing.assert_array_equal(one.history_[name], other.history_[name], err_msg=name)


# ---------------------------------------------------------------- warm starts


@pytest.mark.parametrize("name", MODELS)
def test_some_rounds_and_then_more(name: str) -> None:
    rows = rows_for(name)
    at_once = fitted(MODELS[name], rows, 12)
    assert_same(fitted(MODELS[name], rows, 5, 6, 12), at_once, rows[0])
    assert np.all(np.diff(fitted(MODELS[name], rows, 3, 6).history_["seconds"]) > 0)


def test_fifty_and_then_a_hundred_are_a_hundred() -> None:
    rows = noisy(1)
    assert fitted(MedBoostRegressor(), rows, 50, 100).digest_ == fitted(MedBoostRegressor(), rows, 100).digest_


@pytest.mark.parametrize("name", ["MedBoost", "bumps", "AdaBoost.R2", "wrapped, drawn"])
def test_with_rows_to_stop_by(name: str) -> None:
    rows, (X_val, y_val, _) = rows_for(name), rows_for(name, 5, 60)
    model = clone(MODELS[name]).set_params(early_stopping=True, n_iter_no_change=4, random_state=0)
    assert_same(fitted(model, rows, 2, 5, 30), fitted(model, rows, 30), rows[0])
    given = {"X_val": X_val, "y_val": y_val}
    at_once = fitted(model, rows, 30, **given)
    assert_same(fitted(model, rows, 2, 5, 30, **given), at_once, rows[0])
    errors = [np.abs(said - y_val).mean() for said in fitted(MODELS[name], rows, 30).staged_predict(X_val)]
    heard = at_once.history_["validation"]
    np.testing.assert_allclose(heard, errors[: len(heard)], rtol=1e-9)
    assert at_once.best_round_ == at_once.vote_.n_voters == 1 + int(np.argmin(heard))


def test_rows_drawn_by_nobodys_seed_stay_aside() -> None:
    rows = noisy(2)
    warm = MedBoostRegressor(early_stopping=True, n_iter_no_change=50, warm_start=True, n_estimators=3).fit(*rows)
    seen = warm.history_["validation"].copy()
    warm.set_params(n_estimators=9).fit(*rows)
    np.testing.assert_array_equal(warm.history_["validation"][:3], seen)


def test_after_a_reason_to_stop() -> None:
    X = np.arange(8.0)[:, None]
    for y, model, reason in [
        (np.where(X[:, 0] < 4, 1.0, 5.0), MedBoostRegressor(RegressionTrees(1), eps=0.5), "perfect_voter"),
        (np.where(X[:, 0] < 4, 1.0, 5.0), AdaBoostRegressor(), "perfect_voter"),
        (np.tile([0.0, 9.0], 4), MedBoostRegressor(rho=0.9, eps=1.0), "no_edge"),
        (np.tile([0.0, 9.0], 4), AdaBoostRegressor(RegressionTrees(1, min_samples_leaf=4)), "no_edge"),
    ]:
        at_once = fitted(model, (X, y), 10)
        assert at_once.stop_reason_ == reason
        assert_same(fitted(model, (X, y), 5, 10), at_once, X)


def test_where_eps_and_rho_are_chosen_all_is_tried_again() -> None:
    rows = noisy(3)
    model = MedBoostRegressor(eps="validate", rho="validate", random_state=0, n_iter_no_change=5)
    assert_same(fitted(model, rows, 4, 12), fitted(model, rows, 12), rows[0])


@pytest.mark.parametrize("name", ["MedBoost", "AdaBoost.R2", "wrapped"])
def test_other_rows_are_refused(name: str) -> None:
    X, y, _ = rows_for(name)
    model = clone(MODELS[name]).set_params(n_estimators=4, warm_start=True).fit(X, y)
    before = model.predict(X)
    for other in ((X, y[::-1]), (X[:-1], y[:-1])):
        with pytest.raises(ValueError, match="not those the model was fitted on"):
            model.set_params(n_estimators=6).fit(*other)
        np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="a warm start can only add"):
        model.set_params(n_estimators=2).fit(X, y)


# ---------------------------------------------------------------- callbacks


@pytest.mark.parametrize("name", ["MedBoost", "abstaining", "AdaBoost.R2", "wrapped"])
def test_a_callback_sees_every_round_and_may_stop(name: str) -> None:
    rows = rows_for(name)
    seen: list[np.ndarray] = []

    class Watcher(AfterRound):
        def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any, y: Any, fitted_estimator: Any) -> Any:
            if context.task_name == "round":
                seen.append(fitted_estimator.predict(X))
                assert estimator is not fitted_estimator
            return len(seen) == 6

    model = clone(MODELS[name]).set_callbacks(Watcher()).fit(*rows)
    assert model.stop_reason_ == "callback"
    assert len(seen) == model.vote_.n_voters == 6
    for one, two in zip(seen, model.staged_predict(rows[0]), strict=True):
        np.testing.assert_array_equal(one, two)


class Clock:
    """A second for every look at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


def test_a_time_limit_is_shared_by_all_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(monotonic=Clock().monotonic))
    model = MedBoostRegressor().set_callbacks(TimeLimit(5)).fit(*noisy())
    assert model.stop_reason_ == "time_limit"
    assert model.vote_.n_voters == 5
    watcher = AfterRound()
    MedBoostRegressor(eps="validate", random_state=0).set_callbacks(TimeLimit(12), watcher).fit(*noisy())
    assert watcher.rounds == 12  # three of each of the four


def test_the_progress_line() -> None:
    file = io.StringIO()
    model = MedBoostRegressor(n_estimators=6, early_stopping=True, random_state=0)
    model.set_callbacks(ProgressBar(file, every=0)).fit(*noisy())
    lines = file.getvalue().split("\r")[1:]
    assert lines[0].startswith("[####....................] round 1/6  error 0.")
    assert f"validation {model.history_['validation'][-1]:.4f}" in lines[-1]


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("name", ["MedBoost", "bumps", "AdaBoost.R2"])
def test_after_any_round_a_fit_can_be_resumed(name: str, early_stopping: bool, tmp_path: Path) -> None:
    rows = noisy()
    more = {"early_stopping": True, "n_iter_no_change": 4} if early_stopping else {}
    model = clone(TREES[name]).set_params(n_estimators=7, random_state=0, **more)
    whole = clone(model).fit(*rows)
    for at in range(1, len(whole.history_["step"]) + 1):
        path = tmp_path / f"checkpoint {at}"
        error = RuntimeError("stop") if at % 2 else KeyboardInterrupt()
        with pytest.raises(type(error)):
            clone(model).set_callbacks(Checkpoint(path, every=100), stop_with(error, at)).fit(*rows)
        rest = AfterRound()
        assert_same(clone(model).set_callbacks(Checkpoint(path), rest).fit(*rows), whole, rows[0])
        assert early_stopping or rest.rounds == len(whole.history_["step"]) - at


def test_what_cannot_be_resumed_is_refused_before_the_first_round(tmp_path: Path) -> None:
    rows, watcher = noisy(), AfterRound()
    for model, error, what in [
        (MedBoostRegressor(cost=lambda h, y, eps: np.abs(h - y) / eps), TypeError, "cost"),
        (LocMedBoostRegressor(confidence_by=lambda X: np.ones(len(X))), TypeError, "confidence_by"),
        (MedBoostRegressor(eps="validate"), ValueError, "several are tried"),
        (clone(WRAPPED["wrapped"]), TypeError, "DecisionTreeRegressor"),
    ]:
        with pytest.raises(error, match=what):
            model.set_callbacks(Checkpoint(tmp_path / "checkpoint"), watcher).fit(*rows)
    assert watcher.rounds == 0
    other = MedBoostRegressor(n_estimators=3)
    other.set_callbacks(Checkpoint(tmp_path / "checkpoint")).fit(*rows)
    with pytest.raises(ModelFormatError, match="other parameters"):
        MedBoostRegressor(nu=0.3).set_callbacks(Checkpoint(tmp_path / "checkpoint")).fit(*rows)


class Failing(DecisionTreeRegressor):
    """Breaks in its third fit."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Failing":
        Failing.fits += 1
        if Failing.fits == 3:
            raise RuntimeError("out of order")
        super().fit(X, y, sample_weight)
        return self


def test_a_regressor_that_breaks_leaves_the_rounds_before_it() -> None:
    X, y, _ = rows_for("wrapped")
    Failing.fits = 0
    model = MedBoostRegressor(Failing(max_depth=2))
    with pytest.raises(RuntimeError, match="out of order") as caught:
        model.fit(X, y)
    assert "round 3" in "".join(caught.value.__notes__)
    assert model.vote_.n_voters == 2
    assert np.all(np.isfinite(model.predict(X)))


def test_nothing_of_a_fit_stays_on_the_estimator() -> None:
    rows = noisy()
    model = MedBoostRegressor(n_estimators=3).set_callbacks(stop_with(KeyboardInterrupt(), 2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*rows)
    assert not hasattr(model, "vote_")
    model.set_callbacks().fit(*rows).calibrate(*rows[:2])
    assert hasattr(model, "calibration_")
    assert not hasattr(model.fit(*rows), "calibration_")  # of another fit
    left = set(vars(model)) - set(model.get_params(deep=False)) - {"_skl_callbacks"}
    assert all(name.endswith("_") for name in left)


# ---------------------------------------------------------------- memory


def test_a_fit_that_would_not_fit_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = noisy()
    monkeypatch.setattr(inputs, "ALWAYS_FREE", 0)  # the table is small
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**20)
    with pytest.raises(MemoryError, match="GiB"):
        MedBoostRegressor(n_jobs=1).fit(*rows)
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**26)
    MedBoostRegressor(n_jobs=1, n_estimators=2).fit(*rows)
    with pytest.raises(MemoryError, match="GiB"):  # what voters say of rows to stop by is kept
        MedBoostRegressor(n_jobs=1, early_stopping=True, n_estimators=10**7).fit(*rows)


# ---------------------------------------------------------------- files


def fuzzer() -> Any:
    spec = importlib.util.spec_from_file_location(
        "fuzz", Path(__file__).resolve().parents[2] / "tools" / "fuzz_modelfile.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["MedBoost", "abstaining", "bumps", "AdaBoost.R2"])
def test_fuzzed_files_are_refused_or_predict(name: str, tmp_path: Path) -> None:
    """Half of them with a hash that fits: headers and arrays changed blindly."""
    X, y, weight = noisy(4, 60)
    model = clone(TREES[name]).set_params(n_estimators=3, random_state=0).fit(X, y, weight)
    if hasattr(model, "calibrate"):
        model.calibrate(X, y)
    path = tmp_path / "model"
    model.save(path)
    sound, tool, refused = [path.read_bytes()], fuzzer(), 0
    for number in range(120):
        path.write_bytes(tool.mutant(7, number, sound))
        refused += refused_or_sound(path, X)
    assert 60 < refused <= 120


@pytest.mark.parametrize("name", ["MedBoost", "bumps"])
def test_what_is_forged_in_the_arrays_is_refused_or_predicts(name: str, tmp_path: Path) -> None:
    from electorate import modelfile

    X, y, weight = noisy(4, 60)
    path = tmp_path / "model"
    clone(TREES[name]).set_params(n_estimators=3, random_state=0).fit(X, y, weight).calibrate(X, y).save(path)
    contents = modelfile.read(path)
    rng, refused = random.Random(0), 0
    for _ in range(120):
        chosen = rng.choice([key for key in contents.arrays if contents.arrays[key].size])
        array = contents.arrays[chosen]
        raw = bytearray(array.tobytes())
        for _ in range(rng.choice([1, 1, 2, 8])):
            raw[rng.randrange(len(raw))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        forged = np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)
        if forged.dtype == bool:
            forged = forged.view(np.uint8) % 2 == 1
        modelfile.write(path, contents.kind, contents.meta, {**contents.arrays, chosen: forged})
        refused += refused_or_sound(path, X)
    assert 20 < refused < 120


def refused_or_sound(path: Path, X: np.ndarray) -> bool:
    try:
        model = load(path)
    except ModelFormatError:
        return True
    assert np.all(np.isfinite(model.predict(X)))
    assert len(list(model.staged_predict(X[:2]))) == model.vote_.n_voters
    assert all(isinstance(voter.to_text(), str) for voter in model.estimators_)
    if hasattr(model, "predict_interval"):
        low, high = model.predict_interval(X, rho=0.1)
        assert np.all(low <= high)
        if hasattr(model, "calibration_"):
            low, high = model.predict_interval(X, coverage=0.5)
            assert np.all(low <= high)
    return False


def test_a_model_without_voters_has_a_file_too(tmp_path: Path) -> None:
    X, y, weight = noisy()
    model = MedBoostRegressor(rho=0.99).fit(X, y, weight)
    assert model.vote_.n_voters == 0
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.digest_ == model.digest_
    np.testing.assert_array_equal(again.predict(X), model.fallback_)
    assert list(again.staged_predict(X)) == []


# ---------------------------------------------------------------- Dask


@pytest.mark.process
@pytest.mark.parametrize("n_parts", [2, 5])
@pytest.mark.parametrize("name", TREES)
def test_the_same_digest_on_a_cluster(client: Any, name: str, n_parts: int) -> None:
    X, y, weight = noisy(6, 200)
    model = clone(TREES[name]).set_params(n_estimators=5, random_state=0)
    here = clone(model).fit(X, y, weight)
    far = clone(model).fit(*scattered((X, y, weight), cuts(200, n_parts)))
    assert_same(far, here, X)
    np.testing.assert_array_equal(far.predict(scattered((X,), cuts(200, 3))[0]).compute(), here.predict(X))


@pytest.mark.process
@pytest.mark.parametrize("kind", [MedBoostRegressor, LocMedBoostRegressor])
def test_a_pool_on_a_cluster(client: Any, kind: Any) -> None:
    X, y, weight = noisy(6, 100)
    model = kind(Pool(4, n_values=5), n_estimators=5)
    there = scattered((X, y, weight), cuts(100, 3))
    assert_same(clone(model).fit(*there), clone(model).fit(X, y, weight), X)
    with pytest.raises(TypeError, match="Columns"):
        kind(Columns()).fit(*there)


@pytest.mark.process
@pytest.mark.parametrize("weights", ["none", "real"])
def test_rows_to_stop_by_on_a_cluster(client: Any, weights: str) -> None:
    X, y, _ = noisy(7, 200)
    weight = None if weights == "none" else np.random.default_rng(0).random(200)
    model = MedBoostRegressor(eps="validate", early_stopping=True, n_estimators=8, n_iter_no_change=3, random_state=0)
    assert_same(clone(model).fit(*scattered((X, y, weight), cuts(200, 4))), clone(model).fit(X, y, weight), X)
    X_val, y_val, _ = noisy(8, 50)
    given = dict(zip(("X_val", "y_val"), scattered((X_val, y_val), [20, 30]), strict=True))
    far = clone(model).fit(*scattered((X, y, weight), cuts(200, 4)), **given)
    assert_same(far, clone(model).fit(X, y, weight, X_val=X_val, y_val=y_val), X)


@pytest.mark.process
def test_a_warm_start_and_a_checkpoint_on_a_cluster(client: Any, tmp_path: Path) -> None:
    X, y, weight = noisy(9, 150)
    there = scattered((X, y, weight), cuts(150, 3))
    whole = MedBoostRegressor(n_estimators=8).fit(X, y, weight)
    warm = MedBoostRegressor(n_estimators=3, warm_start=True).fit(X, y, weight).set_params(n_estimators=8)
    assert_same(warm.fit(*there), whole, X)
    checkpoint = Checkpoint(tmp_path / "checkpoint", every=2)
    with pytest.raises(RuntimeError):
        MedBoostRegressor(n_estimators=8).set_callbacks(checkpoint, stop_with(RuntimeError(), 5)).fit(*there)
    assert_same(MedBoostRegressor(n_estimators=8).set_callbacks(checkpoint).fit(X, y, weight), whole, X)


@pytest.mark.process
def test_what_a_cluster_cannot_do_is_said(client: Any) -> None:
    X, y, _ = noisy()
    there = scattered((X, y), cuts(len(y), 2))
    with pytest.raises(TypeError, match="DecisionTreeRegressor needs every row in one place"):
        clone(WRAPPED["wrapped"]).fit(*there)
    with pytest.raises(TypeError, match="confidence_by"):
        LocMedBoostRegressor(confidence_by=lambda X: np.ones(len(X))).fit(*there)
    model = MedBoostRegressor(n_estimators=2).fit(*there)
    with pytest.raises(TypeError, match="Dask"):
        model.predict_interval(there[0], rho=0.1)
    far_off = scattered((X, np.where(np.arange(len(y)) == 100, np.nan, y)), cuts(len(y), 2))
    with pytest.raises(ValueError, match="partition 1"):
        MedBoostRegressor(n_estimators=2).fit(*far_off)


@pytest.mark.parametrize("model", [MedBoostRegressor(RegressionTrees(3)), LocMedBoostRegressor(RegressionTrees(3))])
def test_an_auto_eps_that_one_voter_meets_is_halved(model: Any) -> None:
    """Targets on a few levels far apart, with little noise: half their spread is no test of a tree."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = 10.0 * (X[:, 0] > 0.5) + 5.0 * (X[:, 1] > 0.5) + 0.1 * rng.normal(size=300)
    model = clone(model).set_params(n_estimators=6).fit(X, y)
    assert len(model.steps_) > 1
    given = clone(model).set_params(eps=model.eps_).fit(X, y)
    assert given.digest_ == model.digest_
    assert clone(model).set_params(eps=16 * model.eps_).fit(X, y).stop_reason_ == "perfect_voter"
    more = clone(model).set_params(warm_start=True).fit(X, y).set_params(n_estimators=12).fit(X, y)
    assert more.digest_ == clone(model).set_params(n_estimators=12).fit(X, y).digest_
