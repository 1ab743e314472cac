"""Stopping by rows that take no part: when it stops, what it keeps, what it hears, and which rows are set aside."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from training_cases import CLASSES, MODELS, ONE_OF_EACH, ONE_VS_REST, VALIDATED, few_distinct_rows, noisy, plain

from electorate import AdaBoostClassifier, AdaBoostRClassifier, RealAdaBoostClassifier, Trees
from electorate.data.all_reduce import run_locally
from electorate.data.split import DrawCandidates, candidate_steps, draw, hash_rows
from electorate.data.weights import read_weights
from electorate.training.worker_data import GivenRows, set_aside_steps


def listening(name: str, **more: Any) -> Any:
    given = {"early_stopping": True, "n_estimators": 200, "n_iter_no_change": 8, "random_state": 0, **more}
    return clone(MODELS[name]).set_params(**given)


def rows_aside(model: Any, X: Any, y: Any, weight: Any = None) -> np.ndarray:
    """The weight of every row among those that the fitted model set aside."""
    labels = np.searchsorted(model.classes_, y)
    table = X if isinstance(X, np.ndarray) else model._check_rows(X, reset=False)
    given = GivenRows(table, labels, np.ones(len(y)) if weight is None else weight)
    classes = labels, len(model.classes_)
    steps = set_aside_steps(given, model.validation_fraction, model._validation_seed, 0, classes)
    return run_locally(steps)[0]


def drawn(hashes: np.ndarray, times: np.ndarray, part: float) -> np.ndarray:
    """How many rows of one label are drawn, where all weights are equal."""
    return draw(DrawCandidates(hashes, times, np.zeros(len(times), dtype=np.int64)), part)


# ---------------------------------------------------------------- when it stops, what it keeps


@pytest.mark.parametrize("scoring", ["loss", "error"])
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_it_stops_and_keeps_the_rounds_up_to_the_best(name: str, n_classes: int, scoring: str) -> None:
    X, y = noisy(n_classes)
    model = listening(name, scoring=scoring).fit(X, y)
    assert model.stop_reason_ == "validation"
    history = model.history_
    runs = [np.arange(len(history["step"]))]
    if "label" in history:
        runs = [np.flatnonzero(history["label"] == label) for label in range(n_classes)]
    kept = []
    for rows in runs:
        scores = history["validation"][rows]
        best = int(np.argmin(scores))  # of equals, the first
        assert len(scores) == best + 1 + 8
        kept.append(best + 1)
    assert model.best_round_ == max(kept)
    assert len(model.steps_) == sum(kept) < len(history["step"])
    assert len(model.estimator_errors_) == len(model.steps_)
    assert model.ensemble_.rounds.max() == model.best_round_
    assert len(list(model.staged_predict(X))) == model.best_round_


@pytest.mark.parametrize("name", ONE_VS_REST)
def test_errors_are_those_of_the_voters_that_are_kept(name: str) -> None:
    X, y = noisy(3)
    model = listening(name).fit(X, y)
    history, ensemble = model.history_, model.ensemble_
    row_of = {pair: k for k, pair in enumerate(zip(history["n_voters"], history["label"], strict=True))}
    rows = [row_of[pair] for pair in zip(ensemble.rounds, ensemble.about, strict=True)]
    np.testing.assert_array_equal(model.estimator_errors_, history["error"][rows])
    np.testing.assert_array_equal(model.steps_, history["step"][rows])


def test_tol_and_patience() -> None:
    X, y = noisy(2)
    scores = listening("AdaBoost, stumps", n_iter_no_change=200).fit(X, y).history_["validation"]
    for tol, patience in ((0.0, 1), (0.0, 5), (0.005, 5), (0.05, 3), (10.0, 4)):
        best, best_round = scores[0], 1
        for number, score in enumerate(scores[1:], start=2):
            if score < best - tol:
                best, best_round = score, number
            if number - best_round >= patience:
                break
        model = listening("AdaBoost, stumps", n_iter_no_change=patience, tol=tol).fit(X, y)
        assert (model.best_round_, len(model.history_["step"])) == (best_round, number)
        np.testing.assert_array_equal(model.history_["validation"], scores[:number])


def test_without_early_stopping_nobody_listens() -> None:
    X, y = noisy(2)
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    assert "validation" not in model.history_
    assert not hasattr(model, "best_round_")


def test_the_best_round_may_be_the_last() -> None:
    X, y = noisy(2)
    model = AdaBoostClassifier(n_estimators=3, early_stopping=True).fit(X, y, X_val=X, y_val=y)
    assert (model.stop_reason_, model.best_round_) == ("n_estimators", 3)
    again = model.set_params(early_stopping=False).fit(X, y)
    assert not hasattr(again, "best_round_")


# ---------------------------------------------------------------- what it hears


def margins(model: Any, decision: np.ndarray, y: np.ndarray, voters: int) -> np.ndarray:
    """The margin of the papers, from what decision_function says; one column per class where those are fitted alone."""
    labels, n_classes = np.searchsorted(model.classes_, y), len(model.classes_)
    total = np.abs(model.steps_[:voters]).sum()
    if n_classes == 2:
        f = decision * total / 2 if isinstance(model, AdaBoostClassifier) else decision
        return np.where(labels == 1, f, -f)[:, None]
    if model._one_vs_rest:
        return np.where(labels[:, None] == np.arange(n_classes), decision, -decision)
    own = decision[np.arange(len(y)), labels]
    if isinstance(model, AdaBoostClassifier):
        return (2 * total * (n_classes - 1) / n_classes * own)[:, None]
    return (own / (n_classes - 1))[:, None]


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_the_mean_of_exp_minus_the_margin(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    X_val, y_val = noisy(n_classes, 90, seed=3)
    weight = np.random.default_rng(4).random(90)
    heard = clone(MODELS[name]).set_params(n_estimators=9, early_stopping=True, n_iter_no_change=50)
    heard.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
    longest = clone(MODELS[name]).set_params(n_estimators=9).fit(X, y)  # with the rounds after the best one
    for number, decision in enumerate(longest.staged_decision_function(X_val), start=1):
        loss = np.average(np.exp(-margins(longest, decision, y_val, number)), axis=0, weights=weight)
        said = heard.history_["validation"][heard.history_["n_voters"] == number]
        np.testing.assert_allclose(said, loss, rtol=1e-8)


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ["AdaBoost, stumps", "SAMME.R, trees"])
def test_the_error_is_that_of_the_predictions(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    X_val, y_val = noisy(n_classes, 90, seed=3)
    weight = np.random.default_rng(4).integers(0, 4, 90)
    given = {"X_val": X_val, "y_val": y_val, "sample_weight_val": weight}
    model = clone(MODELS[name]).set_params(n_estimators=9, early_stopping=True, n_iter_no_change=50, scoring="error")
    said = model.fit(X, y, **given).history_["validation"]
    longest = clone(MODELS[name]).set_params(n_estimators=9).fit(X, y)
    wrong = [np.average(predicted != y_val, weights=weight) for predicted in longest.staged_predict(X_val)]
    np.testing.assert_allclose(said, wrong, rtol=1e-12)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_label_may_be_absent_from_the_validation_rows(name: str) -> None:
    X, y = noisy(3)
    seen = y != "maybe"
    model = listening(name).fit(X, y, X_val=X[seen], y_val=y[seen])
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert np.all(np.isfinite(model.history_["validation"]))
    assert model.predict_proba(X).shape == (len(y), 3)


def test_what_is_refused() -> None:
    X, y = noisy(2)
    model = AdaBoostClassifier(n_estimators=3, early_stopping=True)
    with pytest.raises(
        ValueError, match=r"y_val has the label 'perhaps' in row 3, which is not one of \['no', 'yes'\]"
    ):
        model.fit(X, y, X_val=X, y_val=np.where(np.arange(len(y)) == 3, "perhaps", y))
    with pytest.raises(ValueError, match="X_val was given, but early_stopping is False"):
        AdaBoostClassifier().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="early_stopping is False"):
        AdaBoostClassifier().fit(X, y, y_val=y)
    for lone in ({"X_val": X}, {"y_val": y}, {"sample_weight_val": np.ones(len(y))}):
        with pytest.raises(ValueError, match="Pass X_val and y_val together"):
            model.fit(X, y, **lone)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, X_val=X, y_val=y[1:])
    with pytest.raises(ValueError, match="features"):
        model.fit(plain()[0], y, X_val=plain()[0][:, :2], y_val=y)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, y, X_val=X, y_val=y, sample_weight_val=-np.ones(len(y)))
    with pytest.raises(ValueError, match="only one sample"):
        model.fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("container", ["pandas", "polars", "sparse"])
def test_validation_rows_in_any_container(container: str) -> None:
    X, y = plain()
    X = np.nan_to_num(X)
    make = {"pandas": lambda X: noisy(2)[0], "polars": lambda X: pl.DataFrame(X), "sparse": sparse.csr_array}[container]
    given = make(X)
    model = listening("AdaBoost, stumps")
    same = model.fit(given, y, X_val=given, y_val=y).history_["validation"]
    np.testing.assert_allclose(same, model.history_["objective"], rtol=1e-9)


def test_through_the_metadata_of_a_pipeline() -> None:
    X, y = plain()
    X_val, y_val = plain(seed=5)
    weight = np.random.default_rng(0).random(len(y_val))
    scaled = StandardScaler().fit(X)
    alone = listening("AdaBoost, stumps")
    alone.fit(scaled.transform(X), y, X_val=scaled.transform(X_val), y_val=y_val, sample_weight_val=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        model = listening("AdaBoost, stumps").set_fit_request(X_val=True, y_val=True, sample_weight_val=True)
        pipeline = Pipeline([("scale", StandardScaler()), ("boost", model)], transform_input=["X_val"])
        pipeline.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
    assert pipeline[-1].digest_ == alone.digest_
    np.testing.assert_array_equal(pipeline[-1].history_["validation"], alone.history_["validation"])


# ---------------------------------------------------------------- which rows are set aside


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_rows_set_aside_take_no_part(name: str, n_classes: int) -> None:
    """Neither in bins nor in voters: the model is that of the other rows."""
    X, y = noisy(n_classes)
    rounds = 10
    model = listening(name, n_estimators=rounds, n_iter_no_change=100).fit(X, y)
    aside = rows_aside(model, X, y) > 0
    assert 0.09 * len(y) < aside.sum() < 0.12 * len(y)
    given = {"X_val": X[aside], "y_val": y[aside]}
    alone = clone(model).fit(X[~aside], y[~aside], **given)
    assert model.digest_ == alone.digest_
    np.testing.assert_array_equal(model.history_["validation"], alone.history_["validation"])
    if len(model.steps_) == rounds:  # nothing was cut off
        assert model.digest_ == clone(MODELS[name]).set_params(n_estimators=rounds).fit(X[~aside], y[~aside]).digest_


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_the_same_model_for_any_threads_shards_and_order(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    model = listening(name).fit(X, y, weight)
    for n_jobs, n_shards in ((1, 3), (2, 2), (3, 7)):
        other = clone(model).set_params(n_jobs=n_jobs)
        other._n_shards = n_shards
        other.fit(X, y, weight)
        assert other.digest_ == model.digest_
        np.testing.assert_array_equal(other.history_["validation"], model.history_["validation"])
    order = np.random.default_rng(2).permutation(len(y))
    assert clone(model).fit(X.iloc[order], y[order], weight[order]).digest_ == model.digest_
    repeated = np.repeat(np.arange(len(y)), weight)
    again = clone(model).fit(X.iloc[repeated], y[repeated])
    assert again.digest_ == model.digest_
    np.testing.assert_array_equal(again.history_["validation"], model.history_["validation"])


def test_another_seed_sets_other_rows_aside() -> None:
    X, y = noisy(2)
    drawn = {
        rows_aside(listening("AdaBoost, stumps", random_state=seed).fit(X, y), X, y).tobytes() for seed in range(5)
    }
    assert len(drawn) == 5


def test_every_row_has_the_same_chance() -> None:
    X, _ = plain(n=60)
    times = np.zeros(60)
    for seed in range(400):
        chosen = drawn(hash_rows(X, seed), np.ones(60, dtype=np.int64), 0.2)
        assert chosen.sum() == 12
        times += chosen
    assert times.min() > 40
    assert times.max() < 130  # 80 expected; eight would be one standard deviation


def test_equal_rows_are_on_both_sides() -> None:
    """A table of a few rows, each many times: neither side may lose one of them."""
    X = np.repeat([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 100, axis=0)
    chosen = drawn(hash_rows(X, 0), np.ones(300, dtype=np.int64), 0.1)
    assert chosen.reshape(3, 100).sum(axis=1).tolist() == [10, 10, 10]
    by_weight = drawn(hash_rows(X[::100], 0), np.full(3, 100), 0.1)
    assert by_weight.tolist() == [10, 10, 10]


@pytest.mark.parametrize(
    ("rows", "part", "expected"), [(1, 0.1, 0), (2, 0.1, 1), (2, 0.99, 1), (10, 0.1, 1), (11, 0.1, 2)]
)
def test_how_many_are_drawn(rows: int, part: float, expected: int) -> None:
    hashes = np.random.default_rng(0).integers(0, 2**64, rows, dtype=np.uint64)
    assert drawn(hashes, np.ones(rows, dtype=np.int64), part).sum() == expected


def test_rows_of_any_weight_are_drawn_whole() -> None:
    X, y = plain()
    weight = np.random.default_rng(0).random(len(y))
    model = listening("AdaBoost, stumps").fit(X, y, weight)
    heard = rows_aside(model, X, y, weight)
    assert set(np.unique(heard / weight)) == {0.0, 1.0}
    assert np.all(read_weights(weight).times == 1)


WEIGHTS_OF_EQUAL_ROWS = {
    "any": lambda weight: weight,
    "halves": lambda weight: np.ceil(6 * weight) / 2,
    "whole": lambda weight: np.ceil(6 * weight),
    "close": lambda weight: 1 + 1e-12 * weight,
}


@pytest.mark.parametrize("kind", WEIGHTS_OF_EQUAL_ROWS)
@pytest.mark.parametrize("use", VALIDATED)
def test_equal_rows_of_different_weights_in_any_order(use: str, kind: str) -> None:
    X, y, weight = few_distinct_rows()
    weight = WEIGHTS_OF_EQUAL_ROWS[kind](weight)
    model = clone(VALIDATED[use]).set_params(random_state=0).fit(X, y, weight)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        other = clone(model).set_params(n_jobs=1 + seed)
        if hasattr(other, "_n_shards"):
            other._n_shards = 1 + seed
        assert other.fit(X[order], y[order], weight[order]).digest_ == model.digest_


def test_draws_from_equal_rows_prefer_neither_light_nor_heavy_ones() -> None:
    X, _, weight = few_distinct_rows(4000)
    means = []
    for seed in range(20):
        rows = run_locally(candidate_steps(hash_rows(X, seed), read_weights(weight)))
        means.append(weight[draw(rows, 0.1) > 0].mean())
    error = weight.std() / np.sqrt(400 * 20)
    assert abs(np.mean(means) - weight.mean()) < 4 * error


def test_draws_from_equal_rows_do_not_depend_on_the_unit_of_the_weights() -> None:
    X, _, weight = few_distinct_rows()
    hashes = hash_rows(X, 0)
    expected = draw(run_locally(candidate_steps(hashes, read_weights(weight))), 0.2)
    for factor in (3.7, 1e-300, 2.0**40):
        chosen = draw(run_locally(candidate_steps(hashes, read_weights(weight * factor))), 0.2)
        np.testing.assert_array_equal(chosen, expected)


def test_whole_weights_stay_whole_on_both_sides() -> None:
    """49 * (1 / 49) is less than 1: the weights of the rows set aside must not be computed so."""
    X, y = plain(n=40)
    weight = np.full(40, 49.0)
    for part in (0.01, 0.1, 0.31):
        aside, _, _ = run_locally(set_aside_steps(GivenRows(X, y, weight), part, 0, 0, (y, 2)))
        np.testing.assert_array_equal(aside, np.rint(aside))


def test_hashes_tell_rows_apart_and_nothing_else() -> None:
    X, _ = noisy(2)
    numbers = X[["a", "b", "c", "count"]]
    hashes = hash_rows(numbers.to_numpy(dtype=np.float64), 7)
    model = AdaBoostClassifier(n_estimators=1).fit(numbers, np.arange(len(X)) % 2)
    for same in (numbers, pl.from_pandas(numbers)):
        np.testing.assert_array_equal(hash_rows(model._check_rows(same, reset=False), 7), hashes)
    for other in (hash_rows(numbers.to_numpy(dtype=np.float64), 8), hash_rows(-numbers.to_numpy(), 7)):
        assert not np.any(other == hashes)
    assert len(np.unique(hashes)) == len(hashes)
    texts = np.array([["a", "b"], ["a", "c"], ["a", "b"]], dtype=object)
    assert hash_rows(texts, 0)[0] == hash_rows(texts, 0)[2] != hash_rows(texts, 0)[1]


@pytest.mark.parametrize("model", [AdaBoostClassifier(), RealAdaBoostClassifier(), RealAdaBoostClassifier(step=1)])
def test_wrapped_voters_listen_too(model: Any) -> None:
    X, y = plain(3)
    X = np.nan_to_num(X)
    model = clone(model).set_params(estimator=DecisionTreeClassifier(max_depth=2), early_stopping=True, random_state=0)
    model.set_params(n_estimators=60, n_iter_no_change=4).fit(X, y)
    assert model.stop_reason_ == "validation"
    aside = rows_aside(model, X, y) > 0
    again = clone(model).fit(X[~aside], y[~aside], X_val=X[aside], y_val=y[aside])
    np.testing.assert_allclose(again.history_["validation"], model.history_["validation"], rtol=1e-9)
    assert again.best_round_ == model.best_round_


def test_adaboost_r_listens_to_the_votes_not_to_its_weights() -> None:
    """Its weights are products of their own; the loss heard is that of the votes."""
    X, y = noisy(2)
    model = AdaBoostRClassifier(Trees(2), n_estimators=8, early_stopping=True, n_iter_no_change=50)
    model.fit(X, y, X_val=X, y_val=y)
    loss = [np.mean(np.exp(-np.where(y == "yes", f, -f))) for f in model.staged_decision_function(X)]
    np.testing.assert_allclose(model.history_["validation"][: len(loss)], loss, rtol=1e-8)
    assert not np.allclose(model.history_["validation"], model.history_["objective"], rtol=1e-3)
