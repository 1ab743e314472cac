"""Stacks: their weights, their files, and what they share with other models."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import electorate
from electorate import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    MedBoostRegressor,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    StackedClassifier,
    StackedRegressor,
    Trees,
    modelfile,
)
from electorate.commands.verify import facts
from electorate.data.weights import read_weights
from electorate.estimators import stack_weights as weights
from electorate.estimators.stack_weights import TrainingRows
from electorate.model.decisions import ABSENT, for_all_classes
from electorate.modelfile import ModelFormatError

SMALL = [("stumps", AdaBoostClassifier(n_estimators=5)), ("trees", RealAdaBoostClassifier(Trees(2), n_estimators=3))]
NUMBERS = [("median", AdaBoostRegressor(n_estimators=3)), ("sum", QuadBoostRegressor(n_estimators=5))]


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :8], np.array(["benign", "malignant"])[1 - y]


@parametrize_with_checks([StackedClassifier(SMALL, n_folds=2), StackedRegressor(NUMBERS, n_folds=2)])
def test_scikit_learn(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_those_of_least_squares_without_negative_ones(n_classes):
    rng = np.random.default_rng(n_classes)
    proba = rng.dirichlet(np.ones(n_classes), size=(4, 300))
    codes = np.argmax(proba[0] + proba[1] + 0.3 * rng.random((300, n_classes)), axis=1)
    weight = rng.integers(1, 4, 300).astype(float)
    shares = weights.weigh_probabilities(proba, codes, weight, lam=0.0)
    root = np.sqrt(np.repeat(weight, n_classes))
    wanted = np.where(np.arange(n_classes) == codes[:, None], 1.0, -1.0).ravel()
    best = nnls(root[:, None] * (2 * proba - 1).reshape(4, -1).T, root * wanted)[0]
    assert shares == pytest.approx(best / best.sum(), abs=1e-10)


def test_weights_of_predictions_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    target = rng.normal(5, 20, 400)
    predicted = target + rng.normal(size=(3, 400)) * np.array([[2.0], [4.0], [8.0]])
    shares = weights.weigh_predictions(predicted, target, None, lam=0.0)
    best = np.linalg.lstsq((predicted - target.mean()).T, target - target.mean(), rcond=None)[0]
    assert shares == pytest.approx(best / best.sum(), abs=1e-10)
    assert np.argmax(shares) == 0
    for factor, shift in ((7, -3), (2.0**900, 0), (2.0**-900, 0)):
        moved = weights.weigh_predictions(factor * predicted + shift, factor * target + shift, None, lam=0.0)
        assert moved == pytest.approx(shares, abs=1e-10)


def least_squares_problem(rng, kind):
    """[column, row], target, weights: columns that may be equal, opposite, nearly equal, 0 or sums of others."""
    n_columns, n_rows = int(rng.integers(2, 12)), int(rng.integers(3, 60))
    columns = rng.normal(size=(n_columns, n_rows)) * 10.0 ** rng.integers(-3, 4, size=(n_columns, 1))
    last = {
        "equal": columns[0],
        "opposite": -2 * columns[0],
        "nearly equal": columns[0] * (1 + 1e-5 * rng.normal(size=n_rows)),
        "zero": np.zeros(n_rows),
        "a sum": columns[0] + columns[-2],
    }
    columns[-1] = last.get(kind, columns[-1])
    share = np.maximum(0, rng.normal(size=n_columns)) / np.maximum(np.abs(columns).max(axis=1), 1e-9)
    target = share @ columns + rng.normal(size=n_rows) * rng.choice([0.0, 0.1, 1.0])
    return columns, target, rng.integers(1, 4, n_rows).astype(float)


@pytest.mark.parametrize("kind", ["any", "equal", "opposite", "nearly equal", "zero", "a sum"])
@pytest.mark.parametrize("lam", [0.0, 1e-3, 0.1])
def test_weights_are_the_minimum(kind, lam):
    """By the Karush-Kuhn-Tucker conditions, and no worse than SciPy's solver of non-negative least squares.

    For SciPy, the penalty is one more row, s sum(alpha) with the target -lam / s: its square is 2 lam sum(alpha), and a
    constant, and (s sum(alpha))^2, which is too small to matter.
    """
    rng = np.random.default_rng([int(1000 * lam), len(kind)])
    for _ in range(25):
        columns, target, weight = least_squares_problem(rng, kind)
        alpha = weights.penalised_least_squares(columns, target, read_weights(weight), lam)
        share = weight / weight.sum()
        size = np.sqrt((share * columns**2).sum(axis=1))
        slope = columns @ (share * (target - alpha @ columns)) - lam
        near = 1e-9 * size * np.sqrt(share @ target**2)
        assert np.all(alpha >= 0)
        assert np.all(slope <= near)
        assert np.all(np.abs(slope[alpha > 0]) <= near[alpha > 0])

        def objective(alpha, columns=columns, target=target, share=share):
            return share @ (target - alpha @ columns) ** 2 + 2 * lam * alpha.sum()

        root, s = np.sqrt(share), 1e-4
        rows = np.vstack([(root * columns).T, np.full(len(columns), s)])
        assert objective(alpha) <= objective(nnls(rows, np.append(root * target, -lam / s))[0]) + 1e-9


def test_a_penalty_leaves_models_out():
    rng = np.random.default_rng(1)
    p = rng.random(400)
    noisy = np.clip(p + 0.3 * rng.normal(size=400), 0, 1)
    proba = np.stack([np.column_stack([1 - one, one]) for one in (p, noisy)])
    codes = (rng.random(400) < p).astype(np.int64)
    assert np.count_nonzero(weights.weigh_probabilities(proba, codes, None, lam=0.2)) == 1


def test_without_help_of_any_model_the_best_one_has_all_the_weight():
    wrong = np.stack([np.tile([0.9, 0.1], (20, 1)), np.tile([0.6, 0.4], (20, 1))])
    assert weights.weigh_probabilities(wrong, np.ones(20, dtype=np.int64), None, lam=0.0).tolist() == [0.0, 1.0]


def test_predictions_that_are_no_numbers_are_refused():
    predicted = np.array([[1.0, 2.0, 3.0], [1.0, np.inf, 3.0]])
    with pytest.raises(ValueError, match="model 2 of the stack has predictions that are not finite"):
        weights.weigh_predictions(predicted, np.array([1.0, 2.0, 4.0]), None, 0.0)


# ---------------------------------------------------------------- order and weights of the rows


def stack_and_rows(which, n_rows=120):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n_rows, 4))
    score = X[:, 0] + X[:, 1] ** 2 + 1.5 * rng.normal(size=n_rows)
    if which == "numbers":
        named = [*NUMBERS, ("median of trees", MedBoostRegressor(RegressionTrees(2), n_estimators=5))]
        return StackedRegressor(named, n_folds=3, lam=0.0), X, score
    y = np.digitize(score, [1.0] if which == "two classes" else [0.5, 1.5])
    return StackedClassifier([*SMALL, ("quad", QuadBoostClassifier(n_estimators=5))], n_folds=3, lam=0.0), X, y


def outputs_of(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("which", ["two classes", "three classes", "numbers"])
@pytest.mark.parametrize("weighing", ["equal", "whole", "real"])
def test_the_order_of_the_rows_does_not_matter(which, weighing):
    stack, X, y = stack_and_rows(which)
    rng = np.random.default_rng(0)
    weight = {"equal": None, "whole": rng.integers(0, 4, len(y)).astype(float), "real": rng.random(len(y))}[weighing]
    first = clone(stack).fit(X, y, sample_weight=weight)
    assert len(first.names_) > 1  # else there would be nothing to weigh
    for _ in range(3):
        order = rng.permutation(len(y))
        other = clone(stack).fit(X[order], y[order], sample_weight=None if weight is None else weight[order])
        assert other.digest_ == first.digest_
        assert getattr(other, "temperature_", None) == getattr(first, "temperature_", None)
        assert np.array_equal(outputs_of(other, X[order]), outputs_of(first, X)[order])


@pytest.mark.parametrize("which", ["two classes", "three classes", "numbers"])
def test_a_row_of_weight_k_is_k_rows(which):
    stack, X, y = stack_and_rows(which)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = clone(stack).fit(X, y, sample_weight=weight)
    repeated = clone(stack).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.digest_ == repeated.digest_
    assert np.array_equal(outputs_of(weighted, X), outputs_of(repeated, X))


# ---------------------------------------------------------------- folds


def test_folds_depend_on_the_contents_of_rows_only():
    rng = np.random.default_rng(0)
    X, codes = rng.integers(0, 5, (60, 2)).astype(float), rng.integers(0, 2, 60)
    order = rng.permutation(60)

    def parts(X, codes):
        part = np.empty(len(codes))
        for number, (_, rows) in enumerate(TrainingRows(X, codes, None).folds(codes, 3)):
            part[rows] = number
        return part

    part = parts(X, codes)
    assert np.array_equal(parts(X[order], codes[order]), part[order])
    for row in range(60):
        same = np.all(X[row] == X, axis=1) & (codes == codes[row])
        assert len(set(part[same])) == 1


def test_no_row_is_predicted_by_a_model_that_was_trained_on_it():
    class Remembers(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            self.seen_ = set(X[:, 0].tolist())
            return super().fit(X, y)

    X, y = np.arange(40.0)[:, None], np.arange(40) % 2

    def predict(model, X):
        assert not model.seen_ & set(X[:, 0].tolist())
        return X

    rows = TrainingRows(X, y, None)
    assert np.array_equal(rows.cross_predict(Remembers(), y, 4, predict, 1), X)


def test_classes_that_a_fold_lacks():
    assert for_all_classes([1.0, -2.0], np.array([0, 2]), 3).tolist() == [[0, ABSENT, 1], [0, ABSENT, -2]]
    assert for_all_classes([[0.0], [0.0]], np.array([1]), 2).tolist() == [[-ABSENT], [-ABSENT]]
    assert for_all_classes([[0.0]], np.array([1]), 3).tolist() == [[ABSENT, 0, ABSENT]]
    X = np.random.default_rng(0).normal(size=(31, 2))
    model = StackedClassifier(SMALL).fit(X, np.append(np.arange(30) % 3, 3))  # one row of the last class
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)


# ---------------------------------------------------------------- the model


def test_the_mean_of_calibrated_probabilities():
    X, y = cancer()
    model = StackedClassifier(SMALL).fit(X, y)
    mean = sum(w * one.predict_proba(X) for w, one in zip(model.weights_, model.estimators_, strict=True))
    odds = np.log(mean[:, 1] / mean[:, 0])
    assert model.decision_function(X) == pytest.approx(odds)
    assert model.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-model.temperature_ * odds)))
    assert all(hasattr(one, "temperature_") for one in model.estimators_)
    assert model.weights_.sum() == pytest.approx(1)
    assert model.summary_.startswith(f"{model.weights_.max():.3f} ")


def test_a_stack_of_models_of_different_columns_is_better_than_each():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = (X.sum(axis=1) + 0.2 * rng.normal(size=800) > 0).astype(np.int64)
    named = [(f"column {k}", make_pipeline(FunctionTransformer(Take(k)), LogisticRegression())) for k in (0, 1)]
    model = StackedClassifier(named).fit(X[::2], y[::2])
    losses = [log_loss(y[1::2], one.predict_proba(X[1::2])) for one in model.estimators_]
    assert log_loss(y[1::2], model.predict_proba(X[1::2])) < 0.8 * min(losses)


@dataclasses.dataclass
class Take:
    column: int

    def __call__(self, X):
        return X[:, [self.column]]


def test_given_weights_need_no_cross_validation():
    X, y = load_diabetes(return_X_y=True)
    model = StackedRegressor([*NUMBERS, ("linear", Ridge())], weights=[1, 0, 3]).fit(X, y)
    assert model.names_ == ["median", "linear"]
    alone = [one.fit(X, y).predict(X) for one in (AdaBoostRegressor(n_estimators=3), Ridge())]
    assert model.predict(X) == pytest.approx(0.25 * alone[0] + 0.75 * alone[1])
    for bad in ([1, 2], [0, 0, 0], [1, -1, 1]):
        with pytest.raises(ValueError, match="weight"):
            StackedRegressor([*NUMBERS, ("linear", Ridge())], weights=bad).fit(X, y)


def test_bad_lists_of_models_are_refused():
    for bad in ([], [AdaBoostClassifier()], [("a", AdaBoostClassifier)], [("a__b", AdaBoostClassifier())]):
        with pytest.raises(ValueError, match=r"pairs|class|__"):
            StackedClassifier(bad).fit([[0.0], [1.0]], [0, 1])
    model = StackedClassifier(SMALL).set_params(stumps__n_estimators=2)
    assert model.get_params()["stumps"].n_estimators == 2


@pytest.mark.parametrize("weights", [None, [1, 1]])
def test_models_without_probabilities_are_refused_before_any_fit(weights):
    class Fails(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError

    stack = StackedClassifier([("first", Fails()), ("linear", Ridge())], weights=weights)
    with pytest.raises(TypeError, match="'linear' is a Ridge, which has no predict_proba"):
        stack.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("which", ["two classes", "three classes", "numbers"])
def test_files(which, tmp_path):
    if which == "numbers":
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        model = StackedRegressor(NUMBERS).fit(X, y)
    else:
        X, y = cancer() if which == "two classes" else load_iris(return_X_y=True)
        model = StackedClassifier(SMALL).fit(X, y)
    model.save(tmp_path / "stack.model")
    again = electorate.load(tmp_path / "stack.model")
    assert again.digest_ == model.digest_
    outputs = "predict" if which == "numbers" else "predict_proba"
    assert np.array_equal(getattr(again, outputs)(X), getattr(model, outputs)(X))
    again.save(tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == (tmp_path / "stack.model").read_bytes()
    assert again.set_params(lam=0.1).fit(X, y).names_
    assert facts(model)["models"][0].endswith(model.names_[0])


def test_models_of_other_packages_have_no_file(tmp_path):
    X, y = cancer()
    model = StackedClassifier([("linear", LogisticRegression(max_iter=10_000))]).fit(X, y)
    with pytest.raises(TypeError, match=r"'linear' is a LogisticRegression.*skops"):
        model.save(tmp_path / "stack.model")
    assert not hasattr(model, "digest_")


def test_hostile_files(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "stack.model"
    StackedClassifier(SMALL).fit(X, y).save(path)
    good = modelfile.read(path)
    one_class = modelfile.read_bytes(good.arrays["model.0"].tobytes(), "model 0")
    nested = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    other = np.frombuffer(
        modelfile.write_bytes(one_class.kind, {**one_class.meta, "n_features": 3}, one_class.arrays), dtype=np.uint8
    )
    labels = {"dtype": "<i8", "labels": [0, 1, 5]}
    for change, why in (
        ({"arrays": {**good.arrays, "model.0": nested}}, "part of a stack"),
        ({"arrays": {**good.arrays, "model.0": other}}, r"."),
        ({"arrays": {**good.arrays, "model.0": good.arrays["model.0"][:-1]}}, "cut short"),
        ({"arrays": {**good.arrays, "weights": good.arrays["weights"] / 2}}, "add up to 1"),
        ({"arrays": {name: a for name, a in good.arrays.items() if name != "model.1"}}, "model.1"),
        ({"meta": {**good.meta, "names": ["a", "a"]}}, "distinct"),
        ({"meta": {**good.meta, "parameters": {"n_folds": 0, "lam": 0.1}}}, "n_folds"),
        ({"meta": {**good.meta, "n_features": 7}}, "columns"),
        ({"meta": {**good.meta, "classes": labels}}, "other classes"),
        ({"kind": "StackedRegressor"}, "other classes"),
    ):
        bad = dataclasses.replace(good, **change)
        modelfile.write(path, bad.kind, bad.meta, bad.arrays)
        with pytest.raises(ModelFormatError, match=why):
            electorate.load(path)


# ---------------------------------------------------------------- certificate and explanation


def test_certificate_on_held_out_rows():
    X, y = cancer()
    model = StackedClassifier(SMALL).fit(X[:300], y[:300])
    found = model.certificate(heldout=(X[300:], y[300:]), train=(X[:300], y[:300]))
    errors = int(np.sum(model.predict(X[300:]) != y[300:]))
    assert f"{errors} errors of {len(y) - 300}" in found.best.source
    assert any("complex" in bound.status for bound in found.risk)
    with pytest.raises(ValueError, match="took part"):
        model.certificate(heldout=(X[299:], y[299:]))


def test_explanation_names_the_models_and_their_weights():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = StackedClassifier(SMALL).fit(X, y)
    found = electorate.explain(model, X, y)
    assert dict(found.models) == dict(zip(model.names_, model.weights_, strict=True))
    assert "stumps" in str(found)
    assert found.importances.split == pytest.approx(model.feature_importances_)
    with pytest.raises(TypeError, match="one of the estimators_"):
        electorate.explain(model, X, y, row=0)


def test_a_cleaning_belongs_to_the_stack(tmp_path):
    X, y = cancer()
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).assign(
        id=[f"C-{k:04d}" for k in range(len(y))], x0=[f"{value:.2f} kg" for value in X[:, 0]]
    )
    check = electorate.check_up(frame, y)
    model = check.fit(StackedClassifier(SMALL), frame, y)
    model.save(tmp_path / "stack.model")
    again = electorate.load(tmp_path / "stack.model")
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert again.digest_ == model.digest_
