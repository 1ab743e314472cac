"""Every booster on every family over bins: bits, files, stages, importances, texts, warm start, early stopping."""

import operator

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from training_cases import noisy, plain

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Checkpoint,
    PairedStumps,
    Pool,
    RealAdaBoostClassifier,
    Rules,
    Stumps,
    Trees,
    Union,
    load,
    modelfile,
)
from electorate.inspection import rule_table
from electorate.modelfile import ModelFormatError
from tests.common import checks
from tests.common.engines import ENGINES

FAMILIES = {
    "paired": PairedStumps(),
    "pool": Pool(4),
    "rules": Rules(3),
    "union": Union([Stumps(), Rules(2), PairedStumps(), Trees(2, min_samples_leaf=3)]),
}
BOOSTERS = {
    "AdaBoost": AdaBoostClassifier(n_estimators=8),
    "Real AdaBoost": RealAdaBoostClassifier(n_estimators=8),
    "SAMME.R": RealAdaBoostClassifier(n_estimators=8, step=1),
    "AdaBoost_R": AdaBoostRClassifier(n_estimators=8),
}
PAIRS = [(b, f) for b in BOOSTERS for f in FAMILIES if (b, f) != ("SAMME.R", "pool")]
CHECKS = [checks.check_weight_is_repetition, checks.check_rows_permuted, checks.check_any_parts]


def make(booster, family, **parameters):
    return clone(BOOSTERS[booster]).set_params(estimator=clone(FAMILIES[family]), **parameters)


@pytest.mark.parametrize(("booster", "family"), PAIRS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bits(booster, family, n_classes):
    X, y = noisy(n_classes, 120)
    for check in CHECKS:
        check(ENGINES["threads"], make(booster, family, n_estimators=3), X, y)


@pytest.mark.parametrize(("booster", "family"), PAIRS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fitted_model_can_do_all_that_others_can(booster, family, n_classes, tmp_path):
    X, y = noisy(n_classes, 160)
    model = make(booster, family).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.digest_ == model.digest_
    assert repr(again) == repr(model)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    stages = list(model.staged_decision_function(X))
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))
    assert model.feature_importances_.shape == (5,)
    assert model.feature_importances_.sum() == pytest.approx(1)
    warm = make(booster, family, n_estimators=3, warm_start=True).fit(X, y)
    assert warm.set_params(n_estimators=8).fit(X, y).digest_ == model.digest_
    early = make(booster, family, n_estimators=30, early_stopping=True, n_iter_no_change=2, random_state=0).fit(X, y)
    assert early.best_round_ == early.ensemble_.rounds[-1]
    table = rule_table(model, X)
    assert len(table.to_text().splitlines()) == len(table) == len(table.to_frame())
    assert 0 <= min(table.columns["coverage"]) <= max(table.columns["coverage"]) <= 1
    assert all(voter.to_text() for voter in model.estimators_)


def test_checkpoints_of_a_union(tmp_path):
    X, y = noisy(2, 120)
    model = make("AdaBoost", "union")
    whole = clone(model).fit(X, y).digest_
    part = clone(model).set_params(n_estimators=4)
    part.set_callbacks(Checkpoint(tmp_path / "c")).fit(X, y)
    rest = clone(model)
    assert rest.set_callbacks(Checkpoint(tmp_path / "c")).fit(X, y).digest_ == whole


def test_families_can_be_searched():
    X, y = plain(2, 120)
    grid = GridSearchCV(AdaBoostClassifier(Rules(), n_estimators=3), {"estimator__max_terms": [1, 2]}, cv=2).fit(X, y)
    assert grid.best_params_["estimator__max_terms"] in (1, 2)


@pytest.mark.parametrize("family", [Rules(0), Rules(leaves="sure"), PairedStumps("some"), Pool(0), Union([Rules(0)])])
def test_parameters_are_checked(family):
    X, y = plain(2, 60)
    with pytest.raises(ValueError, match="must be"):
        AdaBoostClassifier(family).fit(X, y)


def test_pairings_that_cannot_work_say_why():
    X, y = plain(2, 60)
    with pytest.raises(ValueError, match=r"RealAdaBoostClassifier\(step=1\) cannot boost Pool: SAMME.R"):
        RealAdaBoostClassifier(Pool(), step=1).fit(X, y)
    with pytest.raises(ValueError, match=r"RealAdaBoostClassifier\(step=1\) cannot boost Rules"):
        RealAdaBoostClassifier(Rules(leaves="label"), step=1).fit(X, y)
    with pytest.raises(ValueError, match="another Union"):
        AdaBoostClassifier(Union([Stumps(), Union([Stumps()])])).fit(X, y)
    with pytest.raises(ValueError, match="Union has no families"):
        AdaBoostClassifier(Union()).fit(X, y)


def test_real_boosters_on_a_pool_are_discrete_adaboost():
    """Lemma 1 of the AdaBoost_R paper: for outputs +-1."""
    X, y = noisy(2)
    votes = [make(b, "pool", n_estimators=15).fit(X, y) for b in ("AdaBoost", "Real AdaBoost", "AdaBoost_R")]
    for model in votes[1:]:
        np.testing.assert_allclose(model.steps_, votes[0].steps_, rtol=1e-9)
        np.testing.assert_array_equal(model.predict(X), votes[0].predict(X))


def test_log_odds_of_rules_have_the_step_1():
    """Unsmoothed half log-odds are the best outputs of a rule: real AdaBoost's step is exactly 1."""
    X, y = noisy(2, 1500)
    model = RealAdaBoostClassifier(Rules(2, smoothing=0), n_estimators=4, max_bins=8).fit(X, y)
    np.testing.assert_allclose(model.steps_, 1, rtol=1e-6)


def test_infinite_rules_move_only_the_weights_of_adaboost_r():
    """Pure sides of an unsmoothed rule: the step 0, as the paper codes infinity."""
    X, y = noisy(2)
    model = AdaBoostRClassifier(Rules(3, smoothing=0), n_estimators=20).fit(X, y)
    assert np.any(model.steps_ == 0)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert np.all(np.diff(model.history_["objective"]) < 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_exact_bins_and_odd_tables(family):
    """16 bits; a column without values, one of one value, one class, one row, texts with many levels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=600), "none": np.nan, "one": 1.0})
    X["text"] = [f"level {k}" for k in rng.integers(0, 300, 600)]
    y = (X["a"] > 0).to_numpy() ^ (rng.random(600) < 0.2)
    model = make("AdaBoost", family, max_bins="exact", n_estimators=3).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.feature_importances_[1] == 0
    assert np.all(np.isfinite(model.decision_function(X.assign(text="unseen", a=np.nan))))
    assert make("AdaBoost", family).fit(X[:1], y[:1]).stop_reason_ == "no_edge"
    assert make("AdaBoost", family).fit(X[["none", "one"]], y).predict(X[["none", "one"]]).shape == (600,)


@pytest.mark.parametrize(
    "estimator",
    [
        {"family": "Union", "parameters": {"families": 5}},
        {"family": "Union", "parameters": {"families": [{"family": "Columns", "parameters": {}}]}},
        {"family": "Columns", "parameters": {}},
        {"family": "Rules", "parameters": {"max_terms": -1}},
        {"family": "Rules", "parameters": {"terms": 1}},
        {"family": "os", "parameters": {}},
        {"family": 7, "parameters": {}},
        {"family": "Pool", "parameters": [1]},
    ],
)
def test_files_with_impossible_families_are_refused(estimator, tmp_path):
    X, y = plain(2, 60)
    make("AdaBoost", "rules", n_estimators=2).fit(X, y).save(tmp_path / "model")
    contents = modelfile.read(tmp_path / "model")
    contents.meta["parameters"]["estimator"] = estimator
    modelfile.write(tmp_path / "model", contents.kind, contents.meta, contents.arrays)
    with pytest.raises(ModelFormatError):
        load(tmp_path / "model")


# ---------------------------------------------------------------- words


def test_rules_can_be_read():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 60, 400), "job": rng.choice(["clerk", "baker", "smith"], 400)})
    y = np.where((X["age"] <= 40) & (X["job"] == "clerk"), "yes", "no")
    model = AdaBoostClassifier(Rules(2), n_estimators=1).fit(X, y)
    inside = float(np.mean(y == "yes"))
    assert model.estimators_[0].to_text() in (
        "if age <= 40.5 and job = 'clerk': 'yes', else 'no'",
        "if job = 'clerk' and age <= 40.5: 'yes', else 'no'",
    )
    frame = rule_table(model, X).to_frame()
    assert frame["coverage"][0] == pytest.approx(inside)
    assert frame["then"][0] == "'yes'"
    assert rule_table(model).columns.keys() == {"voter", "step", "rule", "then", "otherwise"}


def holds(text, row):
    """A test of a rule, read from its words."""
    if text.startswith("("):
        return any(holds(part, row) for part in text.strip("()").split(" or "))
    if " or " in text:
        return any(holds(part, row) for part in text.split(" or "))
    name, rest = text.split(" ", 1)
    value = row[name]
    missing = value is None or value != value
    if rest == "is missing":
        return missing
    if rest == "is not missing":
        return not missing
    if rest.startswith("is not "):
        return missing or repr(value) != rest[7:]
    if missing:
        return False
    if rest.startswith("= "):
        return repr(value) == rest[2:]
    if rest.startswith("in {"):
        return repr(value) in rest[4:-1].split(", ")
    word, number = rest.split(" ")
    return {"<=": operator.le, "<": operator.lt, ">": operator.gt, ">=": operator.ge}[word](value, float(number))


@pytest.mark.parametrize("family", ["rules", "paired", "union", "pool"])
def test_words_say_what_voters_do(family):
    """Coverage and votes, recomputed from the words alone."""
    X, y = noisy(2, 100, seed=3)
    X["kind"] = X["kind"].cat.rename_categories(lambda text: text.replace(" ", ""))
    model = make("AdaBoost", family).fit(X, y)
    rows = [{name: value for name, value in zip(X.columns, row, strict=True)} for row in X.itertuples(index=False)]
    table = rule_table(model, X)
    tests = [rule.split(" and ") for rule in table.columns["rule"]]
    covered = [np.mean([all(holds(test, row) for test in rule) for row in rows]) for rule in tests]
    np.testing.assert_allclose(table.columns["coverage"], covered, atol=1e-12)
    for voter in model.estimators_:
        said = [line.removeprefix("if ") for line in voter.to_text().splitlines()]
        predicted = voter.predict(X)
        for row, label in zip(rows, predicted, strict=True):
            assert repr(str(label)) == spoken(said, row)


def spoken(lines, row):
    for line in lines:
        rule, rest = line.rsplit(": ", 1) if ", else " not in line else line.split(": ", 1)
        then, _, otherwise = rest.partition(", else ")
        if all(holds(test, row) for test in rule.split(" and ")):
            return then
        if otherwise:
            return otherwise
    raise AssertionError("no line holds")
