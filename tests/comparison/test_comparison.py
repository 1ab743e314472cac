"""Whole comparisons: an answer always, held-out rows, what is handed over, weights, groups, times, estimators."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import electorate
from electorate import AdaBoostClassifier, Trees
from electorate.comparison import folds
from electorate.comparison.algorithms import CLASSIFICATION, OURS, REGRESSION, Algorithm, Facts, applicable
from electorate.registry import ALGORITHMS
from electorate.theory.binomial import binomial_bound
from tests.comparison.small_comparisons import (
    NAMES,
    QUICK,
    answer_without_seconds,
    bare_rows,
    breast_cancer,
    make_stumps,
    noise,
    table_without_seconds,
    two_algorithms,
    two_sides,
)

LARGE = 2_100  # rows: some are held out


@pytest.fixture(scope="module")
def large():
    """A table with test rows."""
    return two_sides(LARGE)


@pytest.fixture(scope="module")
def tested(large, tmp_path_factory):
    """A comparison with test rows, and its folder."""
    folder = tmp_path_factory.mktemp("tested") / "c"
    return electorate.compare(*large, algorithms=two_algorithms(), folder=folder, seed=3, **QUICK), folder


@pytest.fixture(scope="module")
def small():
    """A comparison without test rows."""
    return electorate.compare(*breast_cancer(), algorithms=two_algorithms(), **QUICK)


# ---------------------------------------------------------------- an answer, always


def test_noise_has_no_evidence_but_a_model(tmp_path):
    X, y = noise()
    found = electorate.compare(X, y, algorithms=NAMES, folder=tmp_path / "c", **QUICK)
    assert found.evidence == "no evidence"
    assert "There is no evidence that it is better than guessing" in found.answer[1]
    assert found.winner != "majority class"
    assert electorate.load(tmp_path / "c" / "winner.model").digest_ == found.model.digest_
    assert found.estimate > 0.35


@pytest.mark.parametrize("prefer", ["accuracy", "speed", "readable"])
@pytest.mark.parametrize("seed", range(3))
def test_the_baseline_is_never_handed_over(prefer, seed):
    found = electorate.compare(*noise(60, seed), algorithms=NAMES[:1], prefer=prefer, stack=False, **QUICK)
    assert found.winner == NAMES[0]
    assert NAMES[0] in found.answer[0]


def test_a_model_that_beats_the_baseline_is_not_tied_with_it(tested, small):
    for found in (tested[0], small):
        assert found.evidence == "beyond doubt"
        assert found.ranking.baseline.verdict == "worse"
        assert found.ranking.baseline not in found.ranking.rivals


def test_an_estimator_that_fails_is_named_and_the_others_are_ranked():
    def fails(facts):
        raise RuntimeError("out of \x1b[31mluck")

    broken = Algorithm("broken", CLASSIFICATION, fails, ({},))
    found = electorate.compare(*breast_cancer(), algorithms=[*two_algorithms(), broken], **QUICK)
    assert "broken" not in found.columns["algorithm"]
    assert "failed: broken: RuntimeError: out of" in str(found)
    assert "\x1b" not in str(found)
    assert list(found.failed) == ["broken"]
    with pytest.raises(ValueError, match=r"no model could be trained\nbroken: RuntimeError"):
        electorate.compare(*breast_cancer(), algorithms=[broken], **QUICK)


@pytest.mark.parametrize("n_groups", [2, 3, 6])
def test_few_groups_have_an_answer(n_groups):
    X, y = two_sides(90)
    found = electorate.compare(X, y, group=np.arange(90) % n_groups, algorithms=NAMES[:1], **(QUICK | {"folds": 5}))
    assert found.winner == NAMES[0]
    assert not found.failed
    assert "split by group" in found.head


# ---------------------------------------------------------------- what is handed over


def test_the_model_can_be_recomputed_from_its_setting(tested, large):
    """On all rows, and without the test rows, which give the exact bound of Clopper and Pearson."""
    (found, folder), (X, y) = tested, large
    opened, held = folds.hold_out(bare_rows(y), None, 3)
    assert len(held) == round(0.2 * LARGE)
    algorithm = next(a for a in two_algorithms() if a.name == found.winner)
    model = algorithm.make(Facts([], 3)).set_params(**found.setting).fit(X[opened], y[opened])
    assert found.model_without_test_rows.digest_ == model.digest_
    errors = int(np.sum(model.predict(X[held]) != y[held]))
    assert found.bound == found.limit == binomial_bound(errors, len(held))
    assert found.model.digest_ == model.fit(X, y).digest_
    stored = electorate.load(folder / "winner-without-test-rows.model")
    again = int(np.sum(stored.predict(X[held]) != y[held]))
    assert stored.held_out_["bound"] == binomial_bound(again, len(held)) == found.bound
    assert (stored.held_out_["rows"], stored.held_out_["errors"]) == (len(held), errors)
    final = electorate.load(folder / "winner.model")
    assert final.held_out_["bound"] is None
    assert "no rows were held out" in final.held_out_["why"]
    assert final.digest_ == found.model.digest_


def test_the_code_trains_the_model(small):
    X, y = breast_cancer()
    found = electorate.compare(X, y, algorithms=NAMES[:1], stack=False, **QUICK)
    imports, expression = found.code.split("; ")
    names: dict = {}
    exec(imports, names)
    assert eval(expression, names, {"X": X, "y": y}).digest_ == found.model.digest_


def test_probabilities_are_calibrated_in_the_model_and_its_file(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    found = electorate.compare(X, y, algorithms=NAMES[:1], folder=tmp_path / "c", **QUICK)
    assert found.columns["log_loss"][0] < 0.25  # 0.4 without calibration
    stored = electorate.load(tmp_path / "c" / "winner.model")
    assert stored.temperature_ == found.model.temperature_ != 1
    assert np.array_equal(stored.predict_proba(X), found.model.predict_proba(X))


@pytest.mark.parametrize("peer", ["linear", "forest", "extra_trees", "hgb"])
@pytest.mark.parametrize("is_classifier", [True, False])
def test_a_model_of_scikit_learn_is_stored_when_it_wins(peer, is_classifier, tmp_path):
    X, y = two_sides(150)
    target = y if is_classifier else X[:, 0] + 0.1 * X[:, 1]
    found = electorate.compare(X, target, peers=[peer], algorithms=[], folder=tmp_path / "c", **QUICK)
    assert not found.failed
    assert found.winner not in ("majority class", "median")
    stored = electorate.load(tmp_path / "c" / "winner.model")
    assert np.array_equal(stored.predict(X), found.model.predict(X))


@pytest.mark.parametrize("name", [a.name for a in OURS if REGRESSION in a.tasks])
def test_regressors_are_compared_and_stored(name, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    found = electorate.compare(X, y, algorithms=[name], folder=tmp_path / "c", test_fraction=0.2, **QUICK)
    assert not found.failed
    assert found.columns["mae"][0] < 0.6
    assert np.isnan(found.bound)
    assert electorate.load(tmp_path / "c" / "winner.model").digest_ == found.model.digest_
    why = found.model_without_test_rows.held_out_["why"]
    assert "conformal" in why or "too few test rows" in why


# ---------------------------------------------------------------- reproducible


def test_the_same_seed_gives_the_same_answer(small):
    again = electorate.compare(*breast_cancer(), algorithms=two_algorithms(), **QUICK)
    assert table_without_seconds(again) == table_without_seconds(small)
    assert answer_without_seconds(again) == answer_without_seconds(small)
    assert again.model.digest_ == small.model.digest_
    other = electorate.compare(*breast_cancer(), algorithms=two_algorithms(), seed=1, **QUICK)
    assert table_without_seconds(other) != table_without_seconds(small)


def test_frames_lists_and_sparse_matrices_give_the_same(small):
    X, y = breast_cancer()
    for other in (sparse.csr_array(X), pd.DataFrame(X), X.tolist()):
        found = electorate.compare(other, y, algorithms=two_algorithms(), **QUICK)
        assert table_without_seconds(found) == table_without_seconds(small)


# ---------------------------------------------------------------- test rows


@pytest.mark.parametrize(("share", "n_test"), [(None, 0), (0.25, 30), (0, 0)])
def test_a_share_of_test_rows_may_be_named(share, n_test):
    found = electorate.compare(*breast_cancer(), algorithms=two_algorithms(), test_fraction=share, **QUICK)
    assert found.refits.n_test == n_test
    assert (found.model_without_test_rows is None) == (n_test == 0)
    assert np.isnan(found.bound) == (n_test == 0)
    assert ("held out and used once" in found.answer[-1]) == (n_test > 0)
    assert n_test or "no rows were held out" in found.answer[-1]


def test_labels_of_test_rows_choose_nothing(tested, large):
    """Other labels there: the same table, the same model without them, another bound."""
    X, y = large
    held = folds.hold_out(bare_rows(y), None, 3)[1]
    other = y.copy()
    other[held] = 1 - other[held]
    found = electorate.compare(X, other, algorithms=two_algorithms(), seed=3, **QUICK)
    assert table_without_seconds(found) == table_without_seconds(tested[0])
    assert found.model_without_test_rows.digest_ == tested[0].model_without_test_rows.digest_
    assert found.bound > 0.8


# ---------------------------------------------------------------- weights


def test_different_weights_have_no_exact_bound_wherever_they_differ(large):
    """Also if they are equal on the test rows."""
    X, y = large
    weight = np.ones(LARGE)
    weight[folds.hold_out(bare_rows(y), None, 0)[0][:50]] = 7.0
    found = electorate.compare(X, y, sample_weight=weight, algorithms=two_algorithms(), **QUICK)
    held_out = found.model_without_test_rows.held_out_
    assert held_out["bound"] is None
    assert "different weights" in held_out["why"]
    assert np.isnan(found.bound)
    assert found.limit < 0.3
    assert "errors are weighted" in str(found)


@pytest.mark.parametrize("size", [1.0, 3.0, 1e-310, 1e-300, 1e160])
def test_equal_weights_change_nothing(size, small):
    X, y = breast_cancer()
    equal = electorate.compare(X, y, sample_weight=np.full(len(y), size), algorithms=two_algorithms(), **QUICK)
    for name in ("error", "low", "high", "log_loss", "visible_difference"):
        assert equal.columns[name] == pytest.approx(small.columns[name], rel=1e-6)
    assert equal.columns["verdict"] == small.columns["verdict"]
    assert equal.evidence == small.evidence
    assert np.array_equal(equal.model.predict(X), small.model.predict(X))


def test_equal_weights_keep_the_exact_bound(large, tested):
    X, y = large
    equal = electorate.compare(X, y, sample_weight=np.full(LARGE, 2.0), algorithms=two_algorithms(), seed=3, **QUICK)
    assert equal.bound == tested[0].bound


def test_errors_are_weighted(tmp_path):
    """Of a single algorithm with one setting the table is the weighted error of the folds, up to the bootstrap."""
    X, y = two_sides(300)
    weight = np.random.default_rng(1).integers(1, 5, 300).astype(float)
    options = QUICK | {"folds": 3, "test_fraction": 0.2}
    found = electorate.compare(X, y, sample_weight=weight, algorithms=two_algorithms()[1:], stack=False, **options)
    opened, held = folds.hold_out(bare_rows(y), 0.2, 0)
    lost = np.empty(len(opened))
    for learn, test in folds.split(bare_rows(y[opened]), 3, 2, 0).levels[-1]:
        into, out = opened[learn], opened[test]
        model = AdaBoostClassifier(Trees(2), n_estimators=2).fit(X[into], y[into], sample_weight=weight[into])
        lost[test] = model.predict(X[out]) != y[out]
    assert found.estimate == pytest.approx(np.average(lost, weights=weight[opened]), abs=0.005)
    model = AdaBoostClassifier(Trees(2), n_estimators=2).fit(X[opened], y[opened], sample_weight=weight[opened])
    assert found.model_without_test_rows.digest_ == model.digest_
    wrong = model.predict(X[held]) != y[held]
    error = found.model_without_test_rows.held_out_["error"]
    assert error == pytest.approx(np.average(wrong, weights=weight[held]))


def test_rows_of_weight_0_are_left_out():
    X, y = breast_cancer()
    weight = np.random.default_rng(1).integers(1, 5, len(y)).astype(float)
    weight[::5] = 0
    used = weight > 0
    some = electorate.compare(X, y, sample_weight=weight, algorithms=two_algorithms(), **QUICK)
    same = electorate.compare(X[used], y[used], sample_weight=weight[used], algorithms=two_algorithms(), **QUICK)
    assert table_without_seconds(some) == table_without_seconds(same)


@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda w: w[:-1], "shape"), (lambda w: -w, "row 0 has"), (lambda w: 0 * w, "all weights are 0")],
)
def test_weights_are_checked(change, message):
    X, y = breast_cancer()
    with pytest.raises(ValueError, match=message):
        electorate.compare(X, y, sample_weight=change(np.ones(len(y))), **QUICK)


# ---------------------------------------------------------------- groups and times


def test_groups_and_times_have_no_exact_bound():
    X, y = two_sides(200)
    dates = np.datetime64("2026-01-01") + np.arange(len(y))
    for more, text in (({"group": np.arange(len(y)) // 5}, "group"), ({"time_column": dates}, "time")):
        found = electorate.compare(X, y, algorithms=NAMES[:1], test_fraction=0.2, **QUICK, **more)
        assert f"split by {text}" in found.head
        assert f"rows are split by {text}" in found.answer[-1]
        assert np.isnan(found.bound)
        assert f"split by {text}" in found.model_without_test_rows.held_out_["why"]
        assert found.winner == NAMES[0]


@pytest.mark.parametrize("make", [lambda d: d, lambda d: d.astype(str), lambda d: pd.Series(pd.to_datetime(d))])
def test_dates_of_any_kind_give_the_same_splits(make):
    X, y = two_sides(100)
    dates = np.datetime64("2026-01-01") + np.random.default_rng(0).permutation(100)
    one = electorate.compare(X, y, time_column=make(dates), algorithms=two_algorithms()[:1], **QUICK)
    other = electorate.compare(X, y, time_column=dates.astype(float), algorithms=two_algorithms()[:1], **QUICK)
    assert table_without_seconds(one) == table_without_seconds(other)


def test_a_column_of_times_stays_a_feature_and_is_proposed_where_it_is_missing():
    rng = np.random.default_rng(0)
    when = pd.date_range("2024-01-01", periods=240, freq="h")
    X = pd.DataFrame({"when": when.strftime("%d.%m.%Y %H:%M"), "x": rng.normal(size=240)})
    y = 5.0 * when.hour.to_numpy() + np.cumsum(rng.normal(size=240))
    some = {"algorithms": ["QuadBoost, regression"], **QUICK, "check_up": True}
    split = electorate.compare(X, y, time_column="when", **some)
    assert "split by time" in split.head
    assert "when (hour)" in split.model.feature_names_in_
    assert {one.kind for one in split.check_up} == {"date"}
    given = electorate.compare(X, y, time_column=X["when"], **some)
    assert table_without_seconds(given) == table_without_seconds(split)
    plain = electorate.compare(X, y, **some)
    assert [one for one in plain.answer if one.startswith("Later rows may be harder ('when': the rows are sorted")]
    numbered = electorate.compare(X.assign(when=np.arange(240)), y, time_column="when", **some)
    assert "when" in numbered.model.feature_names_in_
    with pytest.raises(ValueError, match="there is no column 'then' in X"):
        electorate.compare(X, y, time_column="then", **some)


def test_no_errors_are_suspicious_and_a_column_is_named():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 3, 200), "b": rng.integers(0, 3, 200), "c": rng.normal(size=200)})
    y = np.where(X["a"] > 1, "u", "v")
    some = {"algorithms": [DecisionTreeClassifier()], **QUICK, "check_up": True}
    (found,) = [one for one in electorate.compare(X, y, **some).answer if "suspicious" in one]
    assert found.startswith("No errors at all are suspicious: 'a' alone predicts the target.")
    both = electorate.compare(X, np.where(X["a"] > X["b"], "u", "v"), **some)
    (found,) = [one for one in both.answer if "suspicious" in one]
    assert "though no column alone predicts the target" in found
    assert both.limit == pytest.approx(1 - 0.05 ** (1 / 200))  # not 0: the limit of no errors in 200 rows
    noisy = electorate.compare(X, rng.permutation(y), **some)
    assert not [one for one in noisy.answer if "uspicious" in one]


def dates_without(values) -> np.ndarray:
    dates = np.datetime64("2026-01-01") + np.arange(120)
    dates = dates.astype("datetime64[ns]")
    dates[7] = values
    return dates


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"group": np.zeros(120), "time_column": np.zeros(120)}, "cannot be used together"),
        ({"group": np.zeros(5)}, "group has 5 values"),
        ({"group": np.zeros(120)}, "all rows are of one group"),
        ({"time_column": np.zeros(120)}, "one value only"),
        ({"time_column": np.full(120, np.nan)}, "no value in row 0"),
        ({"time_column": dates_without("NaT")}, "no value in row 7"),
        ({"time_column": pd.Series(dates_without("NaT"))}, "no value in row 7"),
        ({"time_column": np.array(["2026-01-01"] * 5 + [None] + ["2026-01-02"] * 114, dtype=object)}, "row 5"),
        ({"time_column": np.array(["soon"] * 120)}, "neither a date"),
        ({"metric": "rmse"}, "metric is 'rmse'"),
        ({"test_fraction": 1.0}, "test_fraction is 1.0"),
        ({"folds": 1}, "folds is 1"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"folds": 80}, "too many"),
        ({"task": "x"}, "task is 'x'"),
        ({"algorithms": ["x"]}, "called 'x'"),
        ({"algorithms": [RandomForestClassifier]}, "is no algorithm"),
        ({"peers": ["sgd"]}, "no peer is called 'sgd'"),
        ({"prefer": "cheap"}, "prefer is 'cheap': choose from accuracy, speed, readable"),
        ({"positive": "x"}, "positive is 'x': choose from 0, 1"),
    ],
)
def test_options_are_checked(more, message):
    with pytest.raises(ValueError, match=message):
        electorate.compare(*breast_cancer(), **(QUICK | more))


def test_data_are_checked():
    X, y = breast_cancer()
    with pytest.raises(ValueError, match="one class only"):
        electorate.compare(X, np.zeros(len(X), int), n_jobs=1)
    with pytest.raises(ValueError, match="too few"):
        electorate.compare(X[:10], np.arange(10) % 2, n_jobs=1)
    with pytest.raises(ValueError, match="what is to be predicted"):
        electorate.compare(X)
    X[5, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        electorate.compare(X, y, n_jobs=1)


# ---------------------------------------------------------------- any estimator


def test_any_estimator_can_be_compared(small):
    """Names of ours, scikit-learn's estimators, pipelines and pairs; names are given or derived."""
    X, y = breast_cancer()
    some = [
        *two_algorithms()[1:],
        RandomForestClassifier(n_estimators=5, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
        ("few leaves", RandomForestClassifier(n_estimators=3, max_leaf_nodes=2, random_state=0)),
    ]
    found = electorate.compare(X, y, algorithms=some, **QUICK)
    names = {"RandomForestClassifier", "LogisticRegression pipeline", "few leaves", "few trees"}
    assert names <= set(found.columns["algorithm"])
    assert not found.failed
    assert found.setting is not None
    with pytest.raises(ValueError, match=r"two algorithms have the name 'RandomForestClassifier'"):
        electorate.compare(X, y, algorithms=[RandomForestClassifier(), RandomForestClassifier()], **QUICK)


def test_an_estimator_gets_the_columns_as_they_are(tmp_path):
    frame = pd.DataFrame({"word": np.tile(["aa", "b"], 60), "x": np.arange(120.0)})
    y = np.where(frame["word"] == "aa", "yes", "no")

    def lengths(X):
        return X["word"].str.len().to_numpy()[:, None]

    reader = ("reader", make_pipeline(FunctionTransformer(lengths), LogisticRegression()))
    found = electorate.compare(frame, y, algorithms=[reader], folder=tmp_path / "c", **QUICK)
    assert found.winner == "reader"
    assert found.estimate == 0
    assert list(found.model.predict(frame)) == list(y)
    assert not (tmp_path / "c" / "winner.model").exists()
    assert "reader is not stored: it is no model of this package" in found.notes


def test_the_target_may_be_a_column_of_the_frame():
    X, y = breast_cancer()
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(kind=y)
    found = electorate.compare(frame, target="kind", algorithms=two_algorithms(), **QUICK)
    same = electorate.compare(frame.drop(columns="kind"), y, algorithms=two_algorithms(), **QUICK)
    assert table_without_seconds(found) == table_without_seconds(same)
    for given, message in (
        ({"target": "nothing"}, "no column 'nothing'"),
        ({"target": "kind", "y": y}, "not both"),
    ):
        with pytest.raises(ValueError, match=message):
            electorate.compare(frame, **given)
    with pytest.raises(ValueError, match="X is a ndarray"):
        electorate.compare(X, target="kind")


def test_every_algorithm_is_in_the_list():
    assert {a.make.estimator for a in OURS} == set(ALGORITHMS)
    assert {a.name for a in applicable("binary")} >= {"AdaBoost, stumps", "AdaBoost_R, trees", "random forest"}
    assert all(REGRESSION not in a.tasks for a in applicable("multiclass"))
    with pytest.raises(ValueError, match="no algorithm to compare for regression"):
        applicable("regression", [], [])


def test_no_two_settings_of_an_algorithm_make_the_same_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    quantity = X[:, 0] * X[:, 1] + rng.normal(size=150)
    for algorithm in OURS:
        target = quantity if REGRESSION in algorithm.tasks else quantity > 0
        fewer = {"n_estimators": 20} if algorithm.staged else {}
        settings = [one | fewer for one in algorithm.grid]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = [algorithm.build(setting, Facts([], 0)).fit(X, target) for setting in settings]
        outputs = {getattr(model, "predict_proba", model.predict)(X).tobytes() for model in fitted}
        assert len(outputs) == len(settings), algorithm.name


# ---------------------------------------------------------------- preferences


@pytest.mark.parametrize("peer", ["linear", "hgb"])
def test_the_code_of_a_peer_runs(peer):
    X, y = breast_cancer()
    found = electorate.compare(X, y, algorithms=[], peers=[peer], **QUICK)
    imports, expression = found.code.split("; ")
    names: dict = {"X": X, "y": y}
    exec(imports, names)
    assert np.array_equal(eval(expression, names).predict(X), found.model.predict(X))


@pytest.mark.parametrize("prefer", ["accuracy", "speed", "readable"])
def test_what_is_preferred_is_handed_over(prefer):
    """Among the models that tie with the best, or are within a point."""
    X, y = two_sides(300)
    found = electorate.compare(
        X, y, algorithms=[*NAMES, "AdaBoost_R, rules"], peers=["linear"], prefer=prefer, test_fraction=0.2, **QUICK
    )
    picks = found.ranking.picks
    if prefer == "accuracy":
        assert found.winner == picks["accuracy"].name
    else:
        wanted = picks[prefer]
        assert found.winner == wanted.name
        best = min(line.bound("error").value for line in found.ranking.lines)
        assert wanted.verdict != "worse" or wanted.bound("error").value <= best + 0.01
    if prefer == "readable":
        assert found.winner == "AdaBoost_R, rules"
        good = [line for line in found.ranking.lines if line.algorithm is not None and line.algorithm.readable]
        assert min(line.algorithm.readable for line in good) == 1
    if prefer == "speed":
        models = [line for line in found.ranking.lines if line is not found.ranking.baseline]
        least = min(line.bound("error").value for line in models)
        near = [line for line in models if line.bound("error").value <= least + 0.01]
        assert picks["speed"].predict_seconds == min(line.predict_seconds for line in near)
    assert found.bound > found.model_without_test_rows.held_out_["error"]  # of the model that was preferred
    assert type(found.model) is type(found.model_without_test_rows)


@pytest.mark.parametrize(("positive", "wanted"), [(None, "sick"), ("sick", "sick"), ("well", "well")])
def test_f1_is_about_the_rarer_class_or_the_one_that_is_named(positive, wanted):
    X, codes = make_classification(300, 4, weights=[0.8], flip_y=0.1, random_state=0)
    y = np.where(codes == 1, "sick", "well")
    options = QUICK | {"algorithms": NAMES[:1], "metric": "f1", "test_fraction": 0.2}
    found = electorate.compare(X, y, positive=positive, **options)
    assert list(found.classes)[1] == wanted
    assert set(found.model.predict(X)) <= {"sick", "well"}
    assert found.estimate > (0.85 if wanted == "well" else 0.3)
    assert found.estimate < (1.0 if wanted == "well" else 0.85)


# ---------------------------------------------------------------- metrics, classes, regression


def test_regression_is_ranked_by_absolute_error():
    X, y = load_diabetes(return_X_y=True)
    found = electorate.compare(X, y, algorithms=["QuadBoost, regression"], peers=["linear"], **QUICK)
    assert not found.failed
    assert 40 < found.columns["mae"][0] < 60
    assert found.columns["algorithm"][-1] == "median"
    assert found.columns["mae"][-1] == pytest.approx(np.mean(np.abs(y - np.median(y))), rel=0.05)
    assert np.isnan(found.bound)


@pytest.mark.parametrize("metric", ["auc", "log_loss", "balanced_error", "f1"])
def test_other_metrics_choose_and_rank(metric):
    found = electorate.compare(*load_iris(return_X_y=True), algorithms=NAMES[:1], metric=metric, **QUICK)
    assert next(iter(set(found.columns) & {metric})) == metric
    assert list(found.columns)[2] == metric
    assert np.isfinite(found.estimate)
    assert found.evidence == "beyond doubt"


def test_a_dask_or_lazy_frame_is_answered_in_one_line():
    dask = pytest.importorskip("dask.dataframe")
    X, y = breast_cancer()
    frame = dask.from_pandas(pd.DataFrame(X, columns=list("abcdef")), npartitions=2)
    with pytest.raises((TypeError, ValueError)) as raised:
        electorate.compare(frame, y, n_jobs=1)
    assert "\n" not in str(raised.value)


def test_an_algorithm_of_the_user_with_settings():
    own = Algorithm("mine", CLASSIFICATION, make_stumps, ({"n_estimators": 1}, {"n_estimators": 9}))
    found = electorate.compare(*breast_cancer(), algorithms=[own], **(QUICK | {"quick": False}))
    assert found.winner == "mine"
    assert found.setting in own.grid
    assert found.columns["settings_run"][0] == 2
