"""Certificates of fitted models: what is collected from them, what is refused, what they remember of their rows."""

import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path

import dask.array
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import electorate
from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    AdaBoostRegressor,
    Columns,
    DeepBoostClassifier,
    EBBoostClassifier,
    KernelSections,
    LocMedBoostRegressor,
    LPBoostClassifier,
    MedBoostRegressor,
    PairedStumps,
    Pool,
    QuadBoostClassifier,
    QuadBoostClassifierCV,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    RLPBoostClassifier,
    Rules,
    Stumps,
    Trees,
    Union,
    VadaBoostClassifier,
    certificate,
    thin,
)
from electorate.cli import main
from electorate.data.seen_rows import MOST_MARKS, Seen, marks_of
from electorate.inspection import convergence
from electorate.inspection.certificates import tube_margins
from electorate.inspection.complexity_classes import PAIRS, STUMPS, TESTS, parts_of, rules_class, trees_class
from electorate.theory.binomial import binomial_bound
from electorate.theory.certificate import Certificate

RISKS = {"vote, hinge loss", "margins", "variance"}


def rows(n=300, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.3, n), np.linspace(-1, 1, classes + 1)[1:-1])
    return X, y


def targets(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.abs(X[:, 1]) + rng.normal(0, 0.2, n)


CLASSIFIERS = {
    "AdaBoost": AdaBoostClassifier(n_estimators=8),
    "AdaBoost-trees": AdaBoostClassifier(Trees(3), n_estimators=8),
    "AdaBoost-pairs": AdaBoostClassifier(PairedStumps(), n_estimators=8),
    "AdaBoost-rules": AdaBoostClassifier(Rules(3), n_estimators=8),
    "AdaBoost-pool": AdaBoostClassifier(Pool(5), n_estimators=8),
    "AdaBoost-union": AdaBoostClassifier(Union([Stumps(), Rules(2), Trees(2)]), n_estimators=8),
    "Real": RealAdaBoostClassifier(Trees(2), n_estimators=8),
    "AdaBoost_R": AdaBoostRClassifier(n_estimators=8),
    "Vada": VadaBoostClassifier(n_estimators=8),
    "EB": EBBoostClassifier(n_estimators=8),
    "Deep": DeepBoostClassifier(Union([Stumps(), PairedStumps()]), n_estimators=8),
    "Quad": QuadBoostClassifier(n_estimators=8),
    "Quad-L1": QuadBoostClassifier(penalty="l1", lam=0.05, reweight="cyclic"),
    "LP": LPBoostClassifier(tol=1e-3),
    "RLP": RLPBoostClassifier(n_estimators=8),
    "kernels": AdaBoostRClassifier(KernelSections(), n_estimators=8),
}


# ---------------------------------------------------------------- every classifier


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_parts_of_a_vote_are_the_vote(name):
    """f out of the distinct voters, each at most 1 in size, with the weights that the certificate gives them."""
    X, y = rows()
    model = clone(CLASSIFIERS[name]).fit(X, y)
    parts = parts_of(model.ensemble_)
    f = model._votes(X)[0] / 2.0**40
    again = np.zeros(len(y))
    for voter, step in zip(parts.voters, parts.steps, strict=True):
        if hasattr(model.ensemble_, "fitted"):
            said = np.asarray(model.ensemble_.fitted[voter].outputs(X), dtype=float)
        else:
            alone = model.ensemble_.only(voter)
            read = model._reader(model._check_rows(X, reset=False))
            said = alone.votes(len(y), read, electorate.threads.ThreadPool(1))[0] / 2.0**40
            leaves = alone.value[alone.column < 0, 0]
            said = said / np.copysign(np.abs(leaves).max(), leaves[np.flatnonzero(leaves)[0]])
        assert np.abs(said).max() <= 1 + 1e-12
        again += step * (said if not hasattr(model.ensemble_, "fitted") else said * np.sign(_sign(model, voter)))
    np.testing.assert_allclose(again, f, rtol=0, atol=1e-9)
    assert parts.norm <= np.abs(model.ensemble_.steps).sum() * 40
    assert parts.count <= model.ensemble_.n_voters
    assert parts.dimension >= parts.count


def _sign(model, voter):
    fitted = model.ensemble_.fitted[voter]
    return getattr(fitted, "factor", getattr(fitted, "sign", 1))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_has_a_certificate(name, tmp_path):
    X, y = rows(500)
    model = clone(CLASSIFIERS[name]).fit(X[:350], y[:350])
    found = model.certificate(train=(X[:350], y[:350]), heldout=(X[350:], y[350:]))
    assert isinstance(found, Certificate)
    wrong = int(np.sum(model.predict(X[350:]) != y[350:]))
    assert found["held-out rows"].value == pytest.approx(binomial_bound(wrong, 150, 0.95))
    assert {bound.name for bound in found.risk} >= RISKS
    applying = [bound for bound in found.risk if bound.applies]
    assert all(math.isfinite(bound.value) and bound.assumptions for bound in applying)
    for bound in applying:
        assert bound.status == ("proved" if bound.value < 1 else "vacuous")
    offered = sum(bound.offered for bound in applying)
    assert found.best.delta == pytest.approx(0.05 / offered)
    assert found.best.value == pytest.approx(binomial_bound(wrong, 150, 1 - 0.05 / offered))
    for bound in found.training:
        if bound.value is not None and "as observed" in bound.terms:
            assert bound.terms["as observed"] <= bound.value + 1e-9
    text = str(found)
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 120
    json.dumps(found.to_dict())
    assert len(found.to_frame()) == len(found.bounds)
    model.save(tmp_path / "model")
    again = certificate(electorate.load(tmp_path / "model"), train=(X[:350], y[:350]), heldout=(X[350:], y[350:]))
    assert again.to_dict() == found.to_dict()


def test_the_margins_of_a_certificate_are_those_of_the_vote():
    """Recomputed from the voters: y sum alpha h / sum alpha; the margin bound from them by hand."""
    X, y = rows(4000)
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    signs = np.where(y == 1, 1, -1)
    distinct = {}
    for voter, step in zip(model.estimators_, model.steps_, strict=True):
        said = np.where(voter.predict(X) == 1, 1, -1)
        key = said[0] * said
        distinct[bytes(key)] = distinct.get(bytes(key), 0) + step * said[0]
    norm = sum(map(abs, distinct.values()))
    margins = signs * sum(w * np.frombuffer(k, dtype=said.dtype) for k, w in distinct.items()) / norm
    r = math.sqrt(2 * math.log(4 * 4 * 4000) / 4000)  # four columns of numbers, missing values or not
    by_hand = min(
        np.mean(margins <= 2.0**-k) + 2 * 2**k * r + math.sqrt(math.log((math.pi * k) ** 2 / (6 * 0.05)) / 8000)
        for k in range(1, 20)
    )
    found = certificate(model, train=(X, y))["margins"]
    assert found.value == pytest.approx(by_hand, rel=1e-9)


def test_trees_are_priced_by_their_depth():
    X, y = rows(400)
    model = AdaBoostClassifier(Trees(4), n_estimators=6).fit(X, y)
    for voter in range(model.ensemble_.n_voters):
        splits = int(np.sum(model.ensemble_.only(voter).column >= 0))
        assert STUMPS.holds(model.ensemble_, voter) == (splits <= 1)
        for depth in (2, 3, 4):
            assert trees_class(depth).holds(model.ensemble_, voter) == (splits < 2**depth)


def test_pairs_rules_and_single_tests_are_known():
    X, y = rows(300)
    pairs = AdaBoostClassifier(PairedStumps(), n_estimators=5).fit(X, y).ensemble_
    assert all(PAIRS.holds(pairs, voter) for voter in range(pairs.n_voters))
    trees = AdaBoostClassifier(Trees(2), n_estimators=5).fit(X, y).ensemble_
    assert not all(PAIRS.holds(trees, voter) for voter in range(trees.n_voters))
    rules = AdaBoostClassifier(Rules(3), n_estimators=5).fit(X, y).ensemble_
    assert all(rules_class(3).holds(rules, voter) for voter in range(rules.n_voters))
    pool = AdaBoostClassifier(Pool(4), n_estimators=5).fit(X, y).ensemble_
    assert all(TESTS.holds(pool, voter) for voter in range(pool.n_voters))


def test_categories_are_counted_on_the_rows_and_pay_for_it():
    """2^k sets of the k levels there are, with one for missing values; the roots count three times, delta is halved."""
    rng = np.random.default_rng(0)
    n = 2000
    frame = pd.DataFrame({"color": rng.choice(list("abcde"), n), "size": rng.normal(size=n)})
    y = ((frame["color"] < "c") ^ (rng.random(n) < 0.1)).astype(int).to_numpy()
    model = AdaBoostClassifier(n_estimators=3).fit(frame, y)
    found = certificate(model, train=(frame, y))
    r = math.sqrt(2 * math.log(2**6 + 4 * n) / n)
    terms = found["margins"].terms
    assert terms["complexity"] == pytest.approx(2 / terms["at rho"] * r)
    level = round(-math.log2(terms["at rho"]))
    part = 6 * 0.05 / (math.pi * level) ** 2
    assert terms["confidence"] == pytest.approx(3 * math.sqrt(math.log(2 / part) / (2 * n)))
    assert not found["variance"].offered  # it assumes that the categories are known


def test_one_against_the_rest_is_a_sum_of_binary_bounds():
    X, y = rows(3000, classes=3)
    model = RealAdaBoostClassifier(n_estimators=3).fit(X, y)
    together = certificate(model, train=(X, y), delta=0.06)["margins"].value
    alone = []
    for label in range(3):
        f = model._votes(X)[label] / 2.0**40
        norm = parts_of(model.ensemble_, label).norm
        margins = np.where(y == label, f, -f) / norm
        r = math.sqrt(2 * math.log(4 * 4 * 3000) / 3000)
        log = [math.log((math.pi * k) ** 2 / (6 * 0.02)) for k in range(1, 20)]
        alone.append(
            min(np.mean(margins <= 2.0**-k) + 2 * 2**k * r + math.sqrt(log[k - 1] / 6000) for k in range(1, 20))
        )
    assert together == pytest.approx(sum(alone), rel=1e-9)


# ---------------------------------------------------------------- what does not apply


@pytest.mark.parametrize(
    ("model", "weight", "why"),
    [
        (AdaBoostClassifier(n_estimators=3), np.arange(1, 301), "weights"),
        (AdaBoostClassifier(n_estimators=3, class_weight="balanced"), None, "class_weight"),
        (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3), None, "foreign"),
    ],
)
def test_conditions_that_fail_are_named(model, weight, why):
    X, y = rows(300)
    found = certificate(clone(model).fit(X, y, weight), train=(X, y), heldout=rows(100, seed=9))
    for bound in found.risk[1:]:
        assert bound.status.startswith("does not apply")
        assert why in bound.status
        assert bound.value is None
    assert found.best.name == "held-out rows"


def test_all_classes_at_once_have_the_held_out_bound_only():
    X, y = rows(300, classes=3)
    found = certificate(AdaBoostClassifier(n_estimators=3).fit(X, y), train=(X, y), heldout=rows(100, 3, seed=9))
    assert all("all classes vote at once" in bound.status for bound in found.risk[1:])
    assert found["training error"].status.startswith("does not apply")


def test_equal_weights_are_no_weights_and_rows_of_weight_0_took_no_part():
    X, y = rows(300)
    model = AdaBoostClassifier(n_estimators=3).fit(X, y, np.repeat([2.0, 0.0], 150))
    found = certificate(model, train=(X[:150], y[:150]), heldout=(X[150:], y[150:]))
    assert found["margins"].applies
    with pytest.raises(ValueError, match="row 0 of heldout"):
        certificate(model, heldout=(X[100:], y[100:]))


def test_scaled_columns_unbounded_kernels_and_families_without_counts():
    X, y = rows(200)
    scaled = certificate(AdaBoostRClassifier(Columns(), n_estimators=3).fit(X, y), train=(X, y))
    assert "divided by its largest size" in scaled["margins"].status
    linear = certificate(AdaBoostRClassifier(KernelSections(kernel="linear"), n_estimators=3).fit(X, y), train=(X, y))
    assert "k(x, x)" in linear["margins"].status
    rbf = certificate(AdaBoostRClassifier(KernelSections(), n_estimators=3).fit(X, y), train=(X, y))
    assert rbf["margins"].terms["complexity"] == pytest.approx(2 / rbf["margins"].terms["at rho"] * 2 / math.sqrt(200))
    assert "M(n)" in rbf["variance"].status


def test_wrong_questions_are_refused():
    X, y = rows(100)
    model = AdaBoostClassifier(n_estimators=2).fit(X, y)
    for wrong in ({"delta": 0}, {"delta": 1.0}, {"delta": "x"}, {"equal_rows": "maybe"}, {"train": X}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            certificate(model, **wrong)
    with pytest.raises(ValueError, match="100 rows and y 99"):
        certificate(model, heldout=(X, y[1:]))
    with pytest.raises(TypeError, match="RandomForestClassifier"):
        certificate(RandomForestClassifier(2).fit(X, y), heldout=(X, y))
    with pytest.raises(TypeError, match="RandomForestClassifier"):
        convergence(RandomForestClassifier(2).fit(X, y))
    with pytest.raises(ValueError, match="none is one of"):
        certificate(model, heldout=(X, np.where(y, "yes", "no")))
    with pytest.raises(ValueError, match="Dask"):
        certificate(model, heldout=(dask.array.from_array(X), y))
    assert "give train or heldout" in str(certificate(model))


# ---------------------------------------------------------------- held-out rows


@pytest.mark.parametrize("container", ["array", "float32", "fortran", "frame", "polars-like"])
def test_rows_that_took_part_are_refused_by_number(container):
    X, y = rows(300)
    X = np.round(X, 3).astype(np.float32).astype(np.float64)  # the same in both precisions
    names = list("abcd")
    model = AdaBoostClassifier(n_estimators=2).fit(pd.DataFrame(X[:200], columns=names), y[:200])
    held = X[200:].copy()
    held[37] = X[11]
    labels = y[200:].copy()
    labels[37] = y[11]
    given = {
        "array": lambda: pd.DataFrame(held, columns=names),
        "float32": lambda: pd.DataFrame(held.astype(np.float32), columns=names),
        "fortran": lambda: pd.DataFrame(np.asfortranarray(held), columns=names),
        "frame": lambda: pd.DataFrame(held, columns=names).convert_dtypes(),
        "polars-like": lambda: pd.DataFrame({name: held[:, j] for j, name in enumerate(names)}),
    }[container]()
    with pytest.raises(ValueError, match=r"row 37 of heldout took part .*and 0 more"):
        certificate(model, heldout=(given, labels))
    labels[37] = 1 - labels[37]  # another row then
    assert certificate(model, heldout=(given, labels)).best is not None


def test_rows_to_stop_by_and_to_calibrate_by_took_part():
    X, y = rows(300)
    stopped = AdaBoostClassifier(n_estimators=4, early_stopping=True).fit(
        X[:200], y[:200], X_val=X[200:], y_val=y[200:]
    )
    inside = AdaBoostClassifier(n_estimators=4, early_stopping=True, random_state=0).fit(X, y)
    for model in (stopped, inside):
        assert model.seen_.rows == 300
        with pytest.raises(ValueError, match="row 0 of heldout"):
            certificate(model, heldout=(X[250:], y[250:]))
    X, y = targets(300)
    median = MedBoostRegressor(n_estimators=4).fit(X[:150], y[:150])
    assert certificate(median, heldout=(X[150:], y[150:])).best is not None
    median.calibrate(X[150:200], y[150:200])
    assert certificate(median, heldout=(X[200:], y[200:])).best is not None
    with pytest.raises(ValueError, match="row 0 of heldout"):
        certificate(median, heldout=(X[199:], y[199:]))


def test_equal_rows_by_coincidence_may_be_allowed_but_not_too_many():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (600, 4)).astype(float)
    y = (X.sum(axis=1) > 6).astype(int)
    model = AdaBoostClassifier(n_estimators=4).fit(X[:400], y[:400])
    with pytest.raises(ValueError, match="equal another one"):
        certificate(model, heldout=(X[400:], y[400:]))
    found = certificate(model, heldout=(X[400:], y[400:]), equal_rows="allow")
    wrong = int(np.sum(model.predict(X[400:]) != y[400:]))
    assert found.best.value == pytest.approx(binomial_bound(wrong, 200))
    assert "taken as coincidence" in " ".join(found.notes)
    fine = rng.normal(size=(600, 4))
    model = AdaBoostClassifier(n_estimators=4).fit(fine[:400], y[:400])
    found = certificate(model, heldout=(fine[300:], y[300:]), equal_rows="allow")
    assert "too many for a coincidence" in found["held-out rows"].status
    assert found.best is None


def test_marks_do_not_depend_on_order_and_are_no_part_of_the_model(tmp_path):
    X, y = rows(300)
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    turned = AdaBoostClassifier(n_estimators=3, n_jobs=2).fit(X[::-1], y[::-1])
    assert model.digest_ == turned.digest_
    np.testing.assert_array_equal(model.seen_.distinct[0], turned.seen_.distinct[0])
    np.testing.assert_array_equal(np.sort(marks_of(X, y)), model.seen_.distinct[0])
    model.save(tmp_path / "one")
    turned.save(tmp_path / "two")
    loaded = electorate.load(tmp_path / "one")
    assert loaded.digest_ == model.digest_
    np.testing.assert_array_equal(loaded.seen_.distinct[0], electorate.load(tmp_path / "two").seen_.distinct[0])
    again = AdaBoostClassifier(n_estimators=5, warm_start=True).fit(X, y).set_params(n_estimators=7).fit(X, y)
    assert again.seen_.rows == 300


def test_of_many_rows_a_file_keeps_a_sample(tmp_path):
    """The smallest marks: held-out rows with such a mark are compared, others are not."""
    rng = np.random.default_rng(0)
    n = 2 * MOST_MARKS
    X, y = rng.random((n, 1)), rng.integers(0, 2, n)
    model = AdaBoostClassifier(n_estimators=1).fit(X, y)
    assert len(model.seen_.where(marks_of(X, y))) == n
    model.save(tmp_path / "model")
    loaded = electorate.load(tmp_path / "model")
    assert loaded.seen_.share == pytest.approx(0.5, abs=0.01)
    assert len(loaded.seen_.where(marks_of(X, y))) == MOST_MARKS
    assert "a sample of the marks" in certificate(loaded, heldout=(X[:10] + 2, y[:10])).notes[0]


def test_a_model_without_marks_says_so():
    X, y = rows(200)
    model = AdaBoostClassifier(n_estimators=2).fit(X, y)
    del model.seen_
    assert "are not stored with the model" in certificate(model, heldout=(X, y)).notes[0]
    assert Seen(None, False).and_also(Seen(np.zeros(1, dtype=np.uint64), False)).marks is None
    model.seen_ = Seen(None, False)  # as on a cluster
    assert certificate(model, train=(X, y))["margins"].applies


def test_thinned_reweighed_and_chosen_models(tmp_path):
    X, y = rows(600)
    model = AdaBoostClassifier(n_estimators=10).fit(X[:200], y[:200])
    small = thin(model, X[200:400], y[200:400], max_voters=4)
    weighed = RLPBoostClassifier(ensemble=model).fit(X[200:400], y[200:400])
    chosen = QuadBoostClassifierCV(penalty="l1", values=[0.01, 0.1], cv=2).fit(X[:400], y[:400])
    for one in (small, weighed, chosen):
        found = one.certificate(train=(X[:400], y[:400]), heldout=(X[400:], y[400:]))
        assert found.best.name == "held-out rows"
        assert found["margins"].applies
        for part in (slice(0, 50), slice(350, 450)):  # of the voters, and of their weights
            with pytest.raises(ValueError, match="row 0 of heldout"):
                one.certificate(heldout=(X[part], y[part]))
    forest = RandomForestClassifier(10, random_state=0).fit(X[:200], y[:200])
    small = thin(forest, X[200:400], y[200:400], max_voters=4)
    found = certificate(small, train=(X, y), heldout=(X[400:], y[400:]))
    assert "are not stored with the model" in found.notes[0]
    assert "foreign" in found["margins"].status


# ---------------------------------------------------------------- end to end, against a known risk


def test_the_certificate_of_a_voter_chosen_from_noise():
    """Columns of coins and labels of coins: the risk of every vote is 1/2. The best column looks better than that."""
    rng = np.random.default_rng(0)
    n, d, draws = 1200, 600, 25
    allowed = int(stats.binom.ppf(0.999, draws, 0.05))
    names = ("vote, hinge loss", "margins", "variance")
    below, broken = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for _ in range(draws):
        X, y = 2.0 * rng.integers(0, 2, (n, d), dtype=np.int8) - 1, rng.integers(0, 2, n)
        found = certificate(AdaBoostClassifier(Columns(), n_estimators=1).fit(X, y), train=(X, y))
        for name in names:
            terms = found[name].terms
            below[name] += found[name].value < 0.5
            broken[name] += found[name].value - terms["complexity"] - terms.get("variance", 0) < 0.5
        assert found["vote, hinge loss"].value < 1
    assert all(count <= allowed for count in below.values())
    assert all(count > allowed for count in broken.values())


def test_drawn_complexities_are_smaller_than_counts_and_still_hold():
    rng = np.random.default_rng(1)
    X, y = rng.choice([-1.0, 1.0], (2000, 30)), rng.integers(0, 2, 2000)
    X[:, 0] = np.where(y == 1, 1, -1) * np.where(rng.random(2000) < 0.2, -1, 1)
    model = AdaBoostClassifier(Columns(), n_estimators=2).fit(X, y)
    counted, drawn = certificate(model, train=(X, y)), certificate(model, train=(X, y), draws=30)
    assert drawn["margins"].terms["complexity"] < counted["margins"].terms["complexity"]
    assert drawn["margins"].terms["confidence"] > counted["margins"].terms["confidence"]
    assert 0.2 < drawn["margins"].value < 1
    stumps = AdaBoostClassifier(n_estimators=2).fit(X, y)
    assert certificate(stumps, train=(X, y), draws=5)["margins"].applies
    trees = AdaBoostClassifier(Trees(2), n_estimators=2).fit(X, y)
    assert "draws" in certificate(trees, train=(X, y), draws=5)["margins"].status


# ---------------------------------------------------------------- regressors


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.125, 0.5])
def test_tube_margins_are_the_robust_error(rho):
    X, y = targets()
    model = MedBoostRegressor(n_estimators=15).fit(X, y)
    margins = tube_margins(model, X, y, model.eps_)
    assert np.mean(margins <= rho) == pytest.approx(model.robust_error(X, y, rho))


@pytest.mark.parametrize(
    "model", [MedBoostRegressor(n_estimators=8), AdaBoostRegressor(n_estimators=8), QuadBoostRegressor()]
)
def test_regressors_have_certificates(model, tmp_path):
    X, y = targets(400)
    model = clone(model).fit(X[:250], y[:250])
    found = model.certificate(train=(X[:250], y[:250]), heldout=(X[250:], y[250:]), eps=0.4)
    wrong = int(np.sum(np.abs(model.predict(X[250:]) - y[250:]) > 0.4))
    assert found["held-out rows"].value == pytest.approx(binomial_bound(wrong, 150))
    with pytest.raises(ValueError, match="row 0 of heldout"):
        model.certificate(heldout=(X[240:], y[240:]), eps=0.4)
    medians = [bound for bound in found.risk if bound.name == "median, tubes"]
    if hasattr(model, "vote_"):
        assert medians[0].applies
        log_count = 7 * math.log(4 * 3 * 4 * 250) + 8 * math.log(251)
        r = math.sqrt(2 * log_count / 250)
        assert medians[0].terms["complexity"] == pytest.approx(4 / medians[0].terms["at rho"] * r)
        model.save(tmp_path / "model")
        again = certificate(electorate.load(tmp_path / "model"), heldout=(X[250:], y[250:]), eps=0.4)
        assert again["held-out rows"].to_dict() == found["held-out rows"].to_dict()
    else:
        assert "adds its voters up" in medians[0].status


def test_medians_that_the_theorem_does_not_cover():
    X, y = targets(200)
    assert "no eps" in certificate(AdaBoostRegressor(n_estimators=3).fit(X, y), heldout=targets(50, 1)).risk[0].status
    wild = np.random.default_rng(2).standard_cauchy(200)
    doubting = LocMedBoostRegressor(n_estimators=3).fit(X, wild)
    assert doubting.vote_.leaves_doubt
    assert "not constant" in certificate(doubting, train=(X, wild))["median, tubes"].status
    bumps = LocMedBoostRegressor(confidence_by="bumps", n_bumps=2, n_estimators=3, random_state=0).fit(X, y)
    smooth = certificate(bumps, train=(X, y))["median, smooth confidences"]
    assert smooth.status == "up to constants: not a certificate"
    foreign = MedBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=3).fit(X, y)
    assert "foreign" in certificate(foreign, train=(X, y))["median, tubes"].status
    weighed = MedBoostRegressor(n_estimators=3).fit(X, y, np.arange(1, 201))
    assert "weights" in certificate(weighed, train=(X, y))["median, tubes"].status


def test_sets_above_the_target_are_counted():
    """All stumps with two values on a few rows: no more sets {h > y} than the count says."""
    rng = np.random.default_rng(0)
    n = 7
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    cuts = [X[:, j] <= t for j in range(2) for t in [*X[:, j], -9.0]]
    values = [-9.0, *(np.sort(y) + 1e-9)]
    met = {bytes(np.where(cut, a, b) > y) for cut in cuts for a in values for b in values}
    log_count = math.log(4 * 2 * 4 * n) + 2 * math.log(n + 1)
    assert math.log(len(met)) <= log_count


# ---------------------------------------------------------------- training quantities


def test_an_undeclared_algorithm_is_credited_to_no_paper():
    class Another(AdaBoostClassifier):
        """May train in any way."""

    X, y = rows(200)
    model = Another(n_estimators=5).fit(X, y)
    assert AdaBoostClassifier._guarantees.source.startswith("AdaBoost")
    found = model.certificate()
    assert [(bound.name, bound.source) for bound in found.training] == [("training error", "")]
    assert found["training error"].status == "does not apply: no theorem bounds its training error"
    assert not model.convergence().predictions
    assert "Another does not store" in electorate.margins(model, X, y).proof


def test_log_odds_of_wrapped_classifiers_have_no_largest_value():
    """Real AdaBoost's mu is the edge over the largest output: with none, eq. 14 bounds nothing."""
    X, y = rows(300)
    model = RealAdaBoostClassifier(DecisionTreeClassifier(max_depth=2, random_state=0), n_estimators=8).fit(X, y)
    found = model.certificate(train=(X, y))
    assert found["margins (eq. 9) of at most 0"].status == "vacuous"
    assert found["training error"].status == "proved"
    assert model.convergence().holds


def test_theorems_are_not_claimed_where_their_conditions_fail():
    X, y = rows(300)
    infinite = AdaBoostRClassifier(Trees(3, smoothing=0), n_estimators=6).fit(X, y)
    assert np.any(infinite.history_["step"] == 0)
    perfect = AdaBoostClassifier(n_estimators=6).fit(X, X[:, 0] > 0)
    slow = AdaBoostRClassifier(n_estimators=6, learning_rate=0.5).fit(X, y)
    for model, why in ((infinite, "infinite outputs"), (perfect, "perfect voter"), (slow, "learning_rate")):
        for theta in (0, 0.25, 0.5):
            assert why in model.certificate()[f"margins (eq. 9) of at most {theta:g}"].status
        assert model.convergence().holds
    assert "infinite outputs" in infinite.certificate()["training error"].status
    assert perfect.certificate()["training error"].applies


@pytest.mark.parametrize("model", [AdaBoostClassifier(), RealAdaBoostClassifier(), AdaBoostRClassifier()], ids=str)
def test_margin_errors_are_observed_as_they_are_bounded(model):
    """Eq. 9 and the empirical Bayes rule, recomputed."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (200, 3)).astype(float)
    y = rng.integers(0, 2, 200)
    model = clone(model).set_params(n_estimators=5).fit(X, y)
    found = certificate(model, train=(X, y))
    f = model._votes(X)[0] / 2.0**40
    margins = (np.exp((2 * y - 1) * f) - 1) / (np.exp((2 * y - 1) * f) + 1)
    cells = pd.DataFrame(X).groupby([0, 1, 2]).ngroup().to_numpy()
    rest = sum(min(np.sum(y[cells == c]), np.sum(1 - y[cells == c])) for c in np.unique(cells)) / 200
    for theta in (0, 0.25, 0.5):
        terms = found[f"margins (eq. 9) of at most {theta:g}"].terms
        assert terms["as observed"] == pytest.approx(np.mean(margins <= theta))
        assert terms["empirical Bayes error"] == pytest.approx(rest)
        assert terms["as observed"] <= terms["as sharpened"] + 1e-9


# ---------------------------------------------------------------- convergence


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name not in ("RLP", "kernels")])
@pytest.mark.parametrize("classes", [2, 3])
def test_predictions_of_every_round_hold(name, classes):
    X, y = rows(300, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(CLASSIFIERS[name]).fit(X, y, sample_weight=np.random.default_rng(0).integers(1, 4, 300))
    found = model.convergence()
    native = classes == 3 and (name.startswith("AdaBoost-") or name == "AdaBoost")
    assert bool(found.predictions) != native
    assert found.holds
    for one in found.predictions:
        assert len(one.predicted) == len(one.observed) > 0
        assert one.name in str(found)
    if found.predictions:
        assert len(found.to_frame()) == max(len(one.predicted) for one in found.predictions)


def test_predictions_that_are_not_kept_are_noticed():
    X, y = rows(300)
    model = AdaBoostClassifier(n_estimators=8).fit(X, y)
    model.history_ = {**model.history_, "objective": model.history_["objective"] * 1.001}
    assert not convergence(model).holds
    assert "DOES NOT HOLD" in str(convergence(model))


def test_medians_and_models_without_predictions():
    X, y = targets()
    found = convergence(MedBoostRegressor(RegressionTrees(2), n_estimators=10).fit(X, y))
    assert found.holds
    assert {one.name for one in found.predictions} >= {"margins of at most 0", "E_rho of each round"}
    assert convergence(LocMedBoostRegressor(n_estimators=10).fit(X, y)).holds
    assert not convergence(AdaBoostRegressor(n_estimators=3).fit(X, y)).predictions
    X, y = rows(200)
    slow = AdaBoostClassifier(n_estimators=3, learning_rate=0.5).fit(X, y)
    assert "learning_rate" in convergence(slow).why
    assert "searched" in convergence(RealAdaBoostClassifier(step=1, n_estimators=3).fit(X, y)).why


# ---------------------------------------------------------------- the example of the docs


@pytest.mark.process
def test_the_example_of_adult_runs_on_any_table(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rows(500)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(job=rng.choice(["x", "y"], 500), y=y)
    frame.to_csv(tmp_path / "table.csv", index=False)
    home = Path(electorate.__file__).parent.parent
    script = [
        sys.executable,
        str(home / "benchmarks" / "certificates.py"),
        "table.csv",
        "--text",
        "t",
        "--picture",
        "p.png",
    ]
    done = subprocess.run(
        script, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(home)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "The risk is at most" in (tmp_path / "t").read_text()
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    kept = (home / "benchmarks" / "CERTIFICATE.txt").read_text()
    assert len(kept.splitlines()) <= 40  # one screen


# ---------------------------------------------------------------- the command


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, y = rows(400)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        job=rng.choice(["x", "y", "z"], 400), y=np.where(y, "yes", "no")
    )
    frame[:300].to_csv("train.csv", index=False)
    frame[300:].to_csv("held.csv", index=False)
    frame[290:].to_csv("bad.csv", index=False)
    assert main(["fit", "train.csv", "--target", "y", "--set", "n_estimators=5", "--out", "m"]) == 0
    return frame


def test_certify(tables, capsys):
    capsys.readouterr()
    assert main(["certify", "m", "--heldout", "held.csv", "--train", "train.csv", "--target", "y"]) == 0
    text = capsys.readouterr().out
    assert "The risk is at most" in text
    assert "not the risk" in text
    assert main(["certify", "m", "--heldout", "held.csv", "--delta", "0.01", "--json"]) == 0  # the target is found
    said = json.loads(capsys.readouterr().out)
    model = electorate.load("m")
    wrong = int(np.sum(model.predict(tables[300:].drop(columns="y")) != tables["y"][300:]))
    assert said["best"]["value"] == pytest.approx(binomial_bound(wrong, 100, 0.99))
    assert main(["certify", "m", "--heldout", "bad.csv"]) == 1
    assert "row 0 of --heldout took part" in capsys.readouterr().err
    for kind in ("object", "category"):  # the same rows in another container
        frame = tables[299:].drop(columns="y").astype({"job": kind})
        with pytest.raises(ValueError, match=r"row 0 of heldout .*and 0 more"):
            certificate(model, heldout=(frame, tables["y"][299:]))
    assert main(["certify", "m", "--heldout", "bad.csv", "--allow-equal-rows"]) == 0
    assert "too many for a coincidence" in capsys.readouterr().out
    assert main(["certify", "m"]) == 1
    assert "--heldout" in capsys.readouterr().err
    tables.drop(columns="y").to_csv("none.csv", index=False)
    assert main(["certify", "m", "--heldout", "none.csv"]) == 1
    assert "--target" in capsys.readouterr().err
    tables.drop(columns="a").to_csv("less.csv", index=False)
    assert main(["certify", "m", "--heldout", "less.csv", "--target", "y"]) == 1
    assert "'a'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["certify", "m", "--heldout", "held.csv", "--delta", "2"])


def test_bounds_of_a_thinned_ensemble():
    """On rows that its voters were not fitted to, the weights are paid for by PAC-Bayes; on others nothing applies."""
    X, y = load_breast_cancer(return_X_y=True)
    thinned = thin(AdaBoostClassifier(n_estimators=20).fit(X[:250], y[:250]), X[250:], y[250:])
    found = certificate(thinned, train=(X[250:], y[250:]))
    names = ["PAC-Bayes", "PAC-Bayes, margins", "tandem", "Chebyshev-Cantelli", "Dirichlet margins"]
    assert all(found[name].applies for name in names)
    assert found["tandem"].value < 1
    assert found["tandem"].terms["tandem loss"] > np.mean(thinned.predict(X[250:]) != y[250:])
    for equal_rows in ("refuse", "allow"):
        again = certificate(thinned, train=(X, y), equal_rows=equal_rows)
        assert all("fitted to some of these rows (250)" in again[name].status for name in names)


def test_a_thinned_ensemble_may_have_rows_that_equal_others_by_coincidence():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (400, 4)).astype(float)
    y = (X[:, 0] + rng.integers(0, 2, 400) > 2).astype(int)
    thinned = thin(AdaBoostClassifier(n_estimators=20).fit(X[:200], y[:200]), X[200:], y[200:])
    assert "pass equal_rows='allow'" in certificate(thinned, train=(X[200:], y[200:]))["tandem"].status
    assert certificate(thinned, train=(X[200:], y[200:]), equal_rows="allow")["tandem"].applies
