"""QuadBoost for real targets: trees against scikit-learn's, stages, files, going on, stopping, and the same bits."""

import io
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

import electorate
from electorate import Columns, KernelSections, Pool, QuadBoostRegressor, RegressionTrees
from electorate.data.weights import Weights
from electorate.families.means import Means
from electorate.modelfile import ModelFormatError
from electorate.training.quad_losses import group_quantiles

FAMILIES = {"pool": Pool(5), "columns": Columns(), "trees": RegressionTrees(2), "kernels": KernelSections()}
WAYS = {
    "vanilla": {},
    "l1-never": {"penalty": "l1", "lam": 0.1},
    "l2-cyclic": {"penalty": "l2", "lam": 0.3, "reweight": "cyclic"},
    "l2-shrunken": {"penalty": "l2", "lam": 0.3, "learning_rate": 0.25},
    "linf-greedy": {"penalty": "linf", "alpha_max": 20.0, "reweight": "greedy"},
    "absolute": {"loss": "absolute", "learning_rate": 0.5},
    "quantile": {"loss": "quantile", "quantile": 0.2},
}
SEARCHED = {"trees", "kernels"}
EVERY = [
    pytest.param(family, way, id=f"{family}-{way}")
    for family in FAMILIES
    for way in WAYS
    if (family in SEARCHED or "learning_rate" not in WAYS[way]) and (family == "trees" or "loss" not in WAYS[way])
]


def numbers(n: int = 120, columns: int = 6, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, columns)).round(2)
    return X, 1000 + 50 * X[:, 0] - 20 * np.sign(X[:, 1]) * X[:, 2] + 5 * rng.normal(size=n)


def model(family: str, way: str, **more: Any) -> QuadBoostRegressor:
    return QuadBoostRegressor(FAMILIES[family], **{"n_estimators": 12, "tol": 0.0, **WAYS[way], **more})


def losses(fitted: QuadBoostRegressor, y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """The loss of each row."""
    r = y - predicted
    return {
        "squared": r**2,
        "absolute": np.abs(r),
        "quantile": np.maximum(fitted.quantile * r, (fitted.quantile - 1) * r),
    }[fitted.loss]


def paid(fitted: QuadBoostRegressor) -> float:
    """The penalty; without re-weighting copies count apart."""
    apart = fitted.moves_.details[:, 1] * fitted.scale_ if fitted.reweight == "never" else fitted.steps_
    return {
        None: 0.0,
        "l1": 2 * fitted.lam * np.abs(apart).sum(),
        "l2": fitted.lam * (apart**2).sum(),
        "linf": 0.0,
    }[fitted.penalty]


# ---------------------------------------------------------------- trees


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("intercept", "rate"), [(False, 1.0), (True, 1.0), (True, 0.3)])
def test_trees_are_l2_boosting_by_scikit_learns(depth: int, weighted: bool, intercept: bool, rate: float) -> None:
    """Without a penalty every step is the tree itself, fitted to the residuals, times the learning rate."""
    X, y = numbers()
    y = y if intercept else y - 1000
    weight = np.random.default_rng(0).random(len(y)) if weighted else np.ones(len(y))
    model = QuadBoostRegressor(RegressionTrees(depth), n_estimators=5, fit_intercept=intercept, learning_rate=rate)
    fitted = model.fit(X, y, weight)
    f = np.full(len(y), np.average(y, weights=weight) if intercept else 0.0)
    for staged, error in zip(fitted.staged_predict(X), fitted.history_["train_error"], strict=True):
        f += rate * DecisionTreeRegressor(max_depth=depth).fit(X, y - f, weight).predict(X)
        np.testing.assert_allclose(staged, f, rtol=1e-8)
        assert error == pytest.approx(np.average((y - f) ** 2, weights=weight), rel=1e-8)


def test_trees_take_missing_values_and_categories() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    color = rng.choice(["red", "green", "blue"], 200)
    x = rng.normal(size=200)
    y = np.where(color == "red", 5.0, 0.0) + np.where(np.isnan(np.where(x > 1, np.nan, x)), 3.0, 0.0)
    frame = pd.DataFrame({"color": pd.Categorical(color), "x": np.where(x > 1, np.nan, x)})
    fitted = QuadBoostRegressor(RegressionTrees(2), n_estimators=5).fit(frame, y)
    np.testing.assert_allclose(fitted.predict(frame), y, atol=1e-6)
    unseen = pd.DataFrame({"color": ["yellow"], "x": [np.nan]})
    assert np.isfinite(fitted.predict(unseen)).all()


def test_least_squares_only() -> None:
    X, y = numbers()
    with pytest.raises(ValueError, match="least squares"):
        QuadBoostRegressor(RegressionTrees(criterion="edge")).fit(X, y)
    with pytest.raises(ValueError, match="RegressionTrees"):
        QuadBoostRegressor(electorate.Stumps()).fit(X, y)


@pytest.mark.parametrize("wrong", [{"reweight": "cyclic"}, {"estimator": Pool()}, {"estimator": Columns()}])
def test_shrinkage_needs_searched_voters_that_keep_their_weights(wrong: dict[str, Any]) -> None:
    X, y = numbers()
    with pytest.raises(ValueError, match="learning_rate=1"):
        QuadBoostRegressor(RegressionTrees(2), learning_rate=0.1).set_params(**wrong).fit(X, y)


# ---------------------------------------------------------------- absolute and quantile losses


def plain_quantile(values: np.ndarray, weight: np.ndarray, level: float) -> float:
    """The middle of all numbers that minimise the weighted loss; one of the values is at either end."""
    ends = [
        one
        for one in values.tolist()
        if weight[values <= one].sum() >= level * weight.sum() * (1 - 1e-12)
        and weight[values >= one].sum() >= (1 - level) * weight.sum() * (1 - 1e-12)
    ]
    return (min(ends) + max(ends)) / 2


@pytest.mark.parametrize("level", [0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_of_groups_minimise_the_loss(level: float, weighted: bool) -> None:
    rng = np.random.default_rng(4)
    values, group = rng.normal(size=90).round(1), rng.integers(0, 5, 90).astype(np.int32)
    group[group == 3] = 4  # a group without rows
    times = rng.integers(0, 4, 90)
    real = rng.random(90) if weighted else None
    means = Means(Weights(times, real, 30, float(times.sum())))
    found = group_quantiles(values, group, 5, means, level)
    weight = times * (1.0 if real is None else real)
    for k in range(5):
        mine = (group == k) & (times > 0)
        expected = plain_quantile(values[mine], weight[mine], level) if mine.any() else 0.0
        assert found[k] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize(("level", "rate"), [(0.5, 1.0), (0.5, 0.3), (0.8, 0.3)])
def test_sloped_losses_are_gradient_boosting_by_scikit_learns_trees(depth: int, level: float, rate: float) -> None:
    """A tree by least squares for the signs (Friedman 2001), then a weighted quantile of the residuals per leaf."""
    X, y = numbers()
    weight = np.random.default_rng(0).random(len(y))  # so that no two cuts are equally good
    given = {"loss": "absolute"} if level == 0.5 else {"loss": "quantile", "quantile": level}
    model = QuadBoostRegressor(RegressionTrees(depth), n_estimators=5, learning_rate=rate, **given)
    fitted = model.fit(X, y, weight)
    f = np.full(len(y), plain_quantile(y, weight, level))
    for staged, error in zip(fitted.staged_predict(X), fitted.history_["train_error"], strict=True):
        slopes = np.where(y > f + 1e-8, level, 0.0) - np.where(y < f - 1e-8, 1 - level, 0.0)
        tree = DecisionTreeRegressor(max_depth=depth, min_impurity_decrease=1e-9)  # no cuts by rounding
        leaf = tree.fit(X, slopes, weight).apply(X)
        for one in np.unique(leaf):
            rows = leaf == one
            f[rows] += rate * plain_quantile((y - f)[rows], weight[rows], level)
        np.testing.assert_allclose(staged, f, rtol=1e-8)
        assert error == pytest.approx(np.average(losses(fitted, y, f), weights=weight), rel=1e-8)


@pytest.mark.parametrize("way", ["absolute", "quantile"])
def test_sloped_losses_are_equivariant(way: str) -> None:
    """In the scale and the place of y; for the absolute loss in its sign too."""
    X, y = numbers()
    y = np.rint(y * 8) / 8
    plain = model("trees", way).fit(X, y).predict(X)
    np.testing.assert_array_equal(model("trees", way).fit(X, y * 2.0**30).predict(X), plain * 2.0**30)
    np.testing.assert_allclose(model("trees", way).fit(X, y + 4096.0).predict(X), plain + 4096.0, rtol=1e-9)
    if way == "absolute":
        np.testing.assert_allclose(model("trees", way).fit(X, -y).predict(X), -plain, rtol=1e-9)


def test_the_absolute_loss_is_the_quantile_loss_of_one_half() -> None:
    X, y = numbers()
    one = model("trees", "absolute").fit(X, y)
    other = model("trees", "absolute", loss="quantile", quantile=0.5).fit(X, y)
    assert one.digest_ == other.digest_
    np.testing.assert_allclose(one.history_["objective"], 2 * other.history_["objective"], rtol=1e-9)


def test_far_targets_do_not_move_the_absolute_loss() -> None:
    """Whatever lies above the rest may lie anywhere above it."""
    X, y = numbers()
    far = np.where(y == y.max(), y + 900.0, y)
    one = QuadBoostRegressor(RegressionTrees(2, min_samples_leaf=10), loss="absolute", n_estimators=1)
    rest = y < y.max()
    near, moved = one.fit(X, y).predict(X[rest]), one.fit(X, far).predict(X[rest])
    np.testing.assert_allclose(moved, near, rtol=1e-9)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantiles_have_their_share_of_rows_below(level: float) -> None:
    X, y = numbers(400)
    fitted = QuadBoostRegressor(
        RegressionTrees(2, min_samples_leaf=20), loss="quantile", quantile=level, learning_rate=0.2, n_estimators=60
    ).fit(X, y)
    assert np.mean(y <= fitted.predict(X)) == pytest.approx(level, abs=0.05)


@pytest.mark.parametrize("way", ["absolute", "quantile"])
def test_a_sloped_loss_of_equal_targets(way: str) -> None:
    X, _ = numbers(30)
    fitted = model("trees", way).fit(X, np.full(30, 7.5))
    assert fitted.stop_reason_ == "no_edge"
    np.testing.assert_array_equal(fitted.predict(X), np.full(30, 7.5))


@pytest.mark.parametrize(
    "wrong", [{"reweight": "cyclic"}, {"estimator": Pool()}, {"penalty": "l2"}, {"estimator": KernelSections()}]
)
def test_sloped_losses_need_trees_that_keep_their_weights(wrong: dict[str, Any]) -> None:
    X, y = numbers()
    with pytest.raises(ValueError, match="loss='squared'"):
        QuadBoostRegressor(RegressionTrees(2), loss="absolute").set_params(**wrong).fit(X, y)


# ---------------------------------------------------------------- stages, files, going on


@pytest.mark.parametrize(("family", "way"), EVERY)
def test_objective_stages_files_and_going_on(family: str, way: str, tmp_path: Any) -> None:
    X, y = numbers()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    whole = model(family, way).fit(X, y, weight)
    risk = np.average(losses(whole, y, whole.predict(X)), weights=weight)
    assert whole.history_["objective"][-1] == pytest.approx(risk + paid(whole), rel=1e-9)
    assert np.all(np.diff(whole.history_["objective"]) <= 0)
    stages = [staged.copy() for staged in whole.staged_predict(X)]
    np.testing.assert_array_equal(stages[-1], whole.predict(X))
    half = model(family, way, n_estimators=3).fit(X, y, weight)
    np.testing.assert_array_equal(half.predict(X), stages[2])
    half.save(tmp_path / "model")
    read = electorate.load(tmp_path / "model")
    assert read.digest_ == half.digest_ != whole.digest_
    assert read.get_params(deep=False).keys() == half.get_params(deep=False).keys()
    assert repr(read.estimator) == repr(half.estimator)
    np.testing.assert_array_equal(read.predict(X), half.predict(X))
    going = read.set_params(warm_start=True, n_estimators=12).fit(X, y, weight)
    assert going.digest_ == whole.digest_
    np.testing.assert_array_equal(going.history_["objective"], whole.history_["objective"])
    with pytest.raises(ValueError, match="warm start"):
        going.set_params(n_estimators=2).fit(X, y, weight)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_warm_start_refuses_other_targets(family: str) -> None:
    X, y = numbers()
    fitted = model(family, "vanilla", warm_start=True, n_estimators=3).fit(X, y)
    before = fitted.digest_
    for other in (y * 100, np.where(np.arange(len(y)) % 2, y, y[::-1])):
        with pytest.raises(ValueError, match="not those the model was fitted on"):
            fitted.set_params(n_estimators=5).fit(X, other)
    assert fitted.digest_ == before


def test_a_model_of_wrapped_regressors_has_no_file(tmp_path: Any) -> None:
    X, y = numbers()
    fitted = QuadBoostRegressor(Ridge(), n_estimators=3).fit(X, y)
    with pytest.raises(TypeError, match="no file format"):
        fitted.save(tmp_path / "model")
    going = QuadBoostRegressor(Ridge(), n_estimators=2, warm_start=True).fit(X, y).set_params(n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(going.predict(X), fitted.predict(X))


@pytest.mark.parametrize("family", FAMILIES)
def test_damaged_files_are_refused(family: str, tmp_path: Any) -> None:
    X, y = numbers()
    path = tmp_path / "model"
    model(family, "l2-cyclic", n_estimators=4).fit(X, y).save(path)
    whole = path.read_bytes()
    for place in np.linspace(0, len(whole) - 1, 60).astype(int).tolist():
        path.write_bytes(whole[:place])
        with pytest.raises(ModelFormatError):
            electorate.load(path)
        flipped = bytearray(whole)
        flipped[place] ^= 0x10
        path.write_bytes(bytes(flipped))
        with pytest.raises(ModelFormatError):
            electorate.load(path)


@pytest.mark.parametrize("change", [{"frame": [np.inf, 0.0]}, {"frame": [-1.0, 0.0]}, {"centres": 2.0}, {"steps": 3.0}])
def test_files_that_say_what_cannot_be(change: dict[str, Any], tmp_path: Any) -> None:
    from electorate import modelfile

    X, y = numbers()
    path = tmp_path / "model"
    model("pool", "vanilla").fit(X, y).save(path)
    contents = modelfile.read(path)
    arrays = {name: np.array(array) for name, array in contents.arrays.items()}
    for name, value in change.items():
        arrays[name] = np.array(value) if name == "frame" else np.full_like(arrays[name], value)
    modelfile.write(path, contents.kind, contents.meta, arrays)
    with pytest.raises(ModelFormatError):
        electorate.load(path)


class Fails(RegressorMixin, BaseEstimator):
    """A regressor that fails in its third fit."""

    fits = 0

    def fit(self, X: Any, y: Any) -> "Fails":
        Fails.fits += 1
        if Fails.fits == 3:
            raise RuntimeError("no more")
        self.tree_ = DecisionTreeRegressor(max_depth=1).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.tree_.predict(X)


def test_a_regressor_that_fails_leaves_the_rounds_before() -> None:
    X, y = numbers()
    Fails.fits = 0
    fitted = QuadBoostRegressor(Fails(), n_estimators=5)
    with pytest.raises(RuntimeError, match="no more") as caught:
        fitted.fit(X, y)
    assert "in round 3" in caught.value.__notes__[0]
    two = QuadBoostRegressor(DecisionTreeRegressor(max_depth=1), n_estimators=2).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X), two.predict(X))


# ---------------------------------------------------------------- stopping


@pytest.mark.parametrize(
    ("family", "way"),
    [(family, way) for family in FAMILIES for way in ("vanilla", "l2-cyclic")]
    + [("trees", "absolute"), ("trees", "quantile")],
)
def test_early_stopping(family: str, way: str) -> None:
    X, y = numbers(200)
    make = lambda **more: model(  # noqa: E731
        family,
        way,
        **{"n_estimators": 150, "early_stopping": True, "validation_fraction": 0.3, "random_state": 0, **more},
    )
    fitted = make().fit(X, y)
    scores = fitted.history_["validation"]
    assert fitted.best_round_ == int(np.argmin(scores)) + 1 == int(fitted.moves_.round.max())
    if fitted.stop_reason_ == "validation":
        assert len(scores) == fitted.best_round_ + 10
    order = np.random.default_rng(2).permutation(len(y))
    mixed = make().fit(X[order], y[order])
    assert mixed.digest_ == fitted.digest_
    np.testing.assert_array_equal(mixed.history_["validation"], scores)
    short = make(n_estimators=4, warm_start=True).fit(X, y)
    assert short.set_params(n_estimators=150).fit(X, y).digest_ == fitted.digest_


def test_the_score_to_stop_by_is_that_of_the_rows_set_aside() -> None:
    """Recomputed: the rows are those that a model without them does not know; found by their number and score."""
    from electorate.data.all_reduce import run_locally
    from electorate.training.worker_data import GivenRows, set_aside_steps

    X, y = numbers(150)
    fitted = QuadBoostRegressor(
        Pool(5), n_estimators=20, early_stopping=True, validation_fraction=0.2, n_iter_no_change=50, random_state=0
    ).fit(X, y)
    table = fitted._check_rows(X, reset=False)
    given = GivenRows(table, y, np.ones(len(y)))
    aside = run_locally(set_aside_steps(given, 0.2, fitted._validation_seed, 0))[0] > 0
    assert abs(int(aside.sum()) - 30) <= 1
    alone = QuadBoostRegressor(Pool(5), n_estimators=20).fit(X[~aside], y[~aside])
    expected = [np.mean((y[aside] - staged[aside]) ** 2) for staged in alone.staged_predict(X)]
    np.testing.assert_allclose(fitted.history_["validation"], expected, rtol=1e-9)


# ---------------------------------------------------------------- the same bits


@pytest.mark.parametrize(("family", "way"), EVERY)
def test_weights_are_rows_in_any_order_and_any_parts(family: str, way: str) -> None:
    X, y = numbers()
    times = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    np.random.default_rng(2).shuffle(rows)
    digest = model(family, way, n_estimators=6).fit(X, y, times).digest_
    assert model(family, way, n_estimators=6).fit(X[rows], y[rows]).digest_ == digest
    assert model(family, way, n_estimators=6).fit(X, y, np.ldexp(times.astype(float), -40)).digest_ == digest
    for jobs, shards in ((1, 5), (2, 1), (3, 7), (1, 200)):
        other = model(family, way, n_estimators=6, n_jobs=jobs)
        other._n_shards = shards
        assert other.fit(X, y, times).digest_ == digest


# ---------------------------------------------------------------- callbacks


@pytest.mark.parametrize("family", FAMILIES)
def test_callbacks_see_every_round(family: str, tmp_path: Any) -> None:
    X, y = numbers()
    path, bar = tmp_path / "checkpoint", io.StringIO()
    whole = model(family, "l2-cyclic", n_estimators=6).set_callbacks(electorate.ProgressBar(bar, every=0)).fit(X, y)
    assert all(f"round {k}/6" in bar.getvalue() for k in range(1, 7))
    short = model(family, "l2-cyclic", n_estimators=3).set_callbacks(electorate.Checkpoint(path, every=1)).fit(X, y)
    assert electorate.load(path).digest_ == short.digest_
    cut = model(family, "l2-cyclic", n_estimators=6).set_callbacks(electorate.Checkpoint(path)).fit(X, y)
    assert cut.digest_ == whole.digest_
    np.testing.assert_array_equal(cut.history_["objective"], whole.history_["objective"])
    limited = model(family, "vanilla").set_callbacks(electorate.TimeLimit(0.0)).fit(X, y)
    assert limited.stop_reason_ == "time_limit"
    assert len(limited.history_["step"]) == 1
    np.testing.assert_array_equal(limited.predict(X), next(model(family, "vanilla").fit(X, y).staged_predict(X)))
