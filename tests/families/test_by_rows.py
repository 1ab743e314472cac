"""Voters that look at whole rows: columns kept as bits, sections of kernels, and a family that a user writes."""

import re
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.multiclass import OneVsRestClassifier

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Checkpoint,
    Columns,
    KernelSections,
    RealAdaBoostClassifier,
    Stumps,
    Union,
    load,
)
from electorate.families.by_rows import RowSearch
from electorate.families.columns import RealColumns, SignColumns, read_columns
from electorate.modelfile import ModelFormatError
from tests.common import checks
from tests.common.engines import ENGINES

REAL = [RealAdaBoostClassifier, AdaBoostRClassifier]


def signs(rows=120, columns=12, seed=0):
    """Predictions of +-1, and labels that a vote of some of them tells, with noise."""
    rng = np.random.default_rng(seed)
    H = np.where(rng.random((rows, columns)) < 0.5, -1.0, 1.0)
    return H, (H[:, :5].sum(axis=1) + rng.normal(size=rows) > 0).astype(int)


def reals(rows=120, columns=8, seed=0):
    """Predictions of any size, some missing."""
    H, y = signs(rows, columns, seed)
    rng = np.random.default_rng(seed + 1)
    H *= rng.uniform(0, 3, size=H.shape) * rng.choice([0.01, 1, 100], size=columns)
    H[rng.random(H.shape) < 0.05] = np.nan
    return H, y


def circle(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, ((X**2).sum(axis=1) + 0.5 * rng.normal(size=rows) > 2.5).astype(int)


CASES = {
    "AdaBoost, columns of signs": (AdaBoostClassifier(Columns()), signs()),
    "Real AdaBoost, columns of signs": (RealAdaBoostClassifier(Columns()), signs()),
    "AdaBoost_R, columns of numbers": (AdaBoostRClassifier(Columns()), reals()),
    "Real AdaBoost, columns of numbers": (RealAdaBoostClassifier(Columns()), reals()),
    "Real AdaBoost, rbf": (RealAdaBoostClassifier(KernelSections()), circle()),
    "AdaBoost_R, polynomial": (AdaBoostRClassifier(KernelSections("polynomial", degree=2)), circle()),
    "Real AdaBoost, linear": (RealAdaBoostClassifier(KernelSections("linear")), circle()),
    "Real AdaBoost, few landmarks": (RealAdaBoostClassifier(KernelSections(max_landmarks=20)), circle()),
}
CHECKS = [
    checks.check_weight_is_repetition,
    checks.check_zero_weight_is_no_row,
    checks.check_weights_times_power_of_two,
    checks.check_rows_permuted,
    checks.check_any_parts,
    checks.check_staged_is_fitted,
    checks.check_history_is_complete,
    checks.check_train_error_is_score,
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_common_checks(check, case):
    estimator, (X, y) = CASES[case]
    check(ENGINES["threads"], clone(estimator).set_params(n_estimators=8), X, y)


def test_common_checks_of_label_voters():
    estimator = AdaBoostClassifier(Columns(), n_estimators=12)
    checks.check_objective_never_rises(ENGINES["threads"], estimator, *signs())
    checks.check_margins_are_recomputed(ENGINES["threads"], estimator, *signs())
    checks.check_objective_is_recomputed(ENGINES["threads"], estimator, *signs())


@pytest.mark.parametrize("case", CASES)
def test_files_warm_start_and_early_stopping(case, tmp_path):
    estimator, (X, y) = CASES[case]
    model = clone(estimator).set_params(n_estimators=10).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.digest_ == model.digest_
    assert repr(again.estimator) == repr(model.estimator)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    warm = clone(estimator).set_params(n_estimators=4, warm_start=True).fit(X, y)
    assert warm.set_params(n_estimators=10).fit(X, y).digest_ == model.digest_
    part = clone(estimator).set_params(n_estimators=4)
    part.set_callbacks(Checkpoint(tmp_path / "rounds")).fit(X, y)
    rest = clone(estimator).set_params(n_estimators=10)
    assert rest.set_callbacks(Checkpoint(tmp_path / "rounds")).fit(X, y).digest_ == model.digest_
    early = clone(estimator).set_params(n_estimators=60, early_stopping=True, n_iter_no_change=3, random_state=0)
    assert early.fit(X, y).best_round_ == early.ensemble_.n_voters
    for part in (slice(3, 40), [7]):  # the same bits in any block
        np.testing.assert_array_equal(model.decision_function(X[part]), model.decision_function(X)[part])


@pytest.mark.parametrize("family", [Columns(), KernelSections()], ids=repr)
@pytest.mark.parametrize("model", REAL)
def test_three_classes_one_against_the_rest(model, family, tmp_path):
    X, y = circle(200)
    y = y + (X[:, 0] > 0)
    fitted = model(family, n_estimators=15).fit(X, y)
    fitted.save(tmp_path / "model")
    assert load(tmp_path / "model").digest_ == fitted.digest_
    assert set(fitted.predict(X)) <= {0, 1, 2}
    assert fitted.decision_function(X).shape == (200, 3)
    assert fitted.score(X, y) > 0.45


# ---------------------------------------------------------------- columns


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 3), (64, 5), (65, 9), (1000, 33)])
@pytest.mark.parametrize("repeated", [False, True])
def test_columns_of_signs_are_exact(rows, columns, repeated):
    rng = np.random.default_rng(rows)
    X = np.where(rng.random((rows, columns)) < 0.5, -1.0, 1.0)
    times = rng.integers(1, 5, rows) if repeated else None
    units = rng.integers(-(2**48), 2**48, rows)
    voters = read_columns(X, times)
    assert isinstance(voters, SignColumns)
    whole = X.astype(np.int64)
    np.testing.assert_array_equal(voters.correlate(units), units @ whole)
    for k in range(columns):
        np.testing.assert_array_equal(voters.column(k), X[:, k])
        expected = (whole[:, k] * (1 if times is None else times)) @ whole
        np.testing.assert_array_equal(voters.gram_row(k), expected)


def test_columns_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * [1, 100, 1e-3, 1, 1, 0]
    X[4, 0] = np.nan
    times = rng.integers(1, 4, 300)
    voters = read_columns(X, times)
    assert isinstance(voters, RealColumns)
    plain = np.nan_to_num(X) / np.where(voters.scale > 0, voters.scale, 1)
    assert np.abs(plain).max() == 1
    units = rng.integers(-(2**40), 2**40, 300) * times
    np.testing.assert_allclose(voters.correlate(units), units @ plain, atol=times.sum())
    np.testing.assert_array_equal(voters.column(1), plain[:, 1])


def test_gram_rows_are_kept_within_the_limit():
    X, _ = signs(100, 50)
    voters = SignColumns(X, cached_bytes=4 * 50 * 8)
    rows = [voters.gram_row(k).copy() for k in range(50)]
    assert len(voters.cache) == 4
    assert voters.gram_row(49) is voters.gram_row(49)
    np.testing.assert_array_equal(voters.gram_row(0), rows[0])


def test_the_best_column_is_the_one_with_the_largest_edge():
    X, y = reals(80, 10)
    model = RealAdaBoostClassifier(Columns(), n_estimators=1).fit(X, y)
    scaled = np.nan_to_num(X / np.nanmax(np.abs(X), axis=0))
    edges = (2 * y - 1) @ scaled / len(y)
    voter = model.estimators_[0].voter
    assert voter.column == np.argmax(np.abs(edges))
    assert model.history_["edge"][0] == pytest.approx(np.abs(edges).max(), abs=1e-9)


def test_columns_are_boosted_like_the_stumps_that_ask_about_them():
    """A column of +-1 is the stump at 0: the same votes and the same model, by quite another way."""
    X, y = signs(200, 15)
    columns, stumps = (AdaBoostClassifier(f, n_estimators=20).fit(X, y) for f in (Columns(), Stumps()))
    np.testing.assert_array_equal(columns.decision_function(X), stumps.decision_function(X))
    np.testing.assert_allclose(columns.feature_importances_, stumps.feature_importances_, atol=1e-12)


def test_containers_and_missing_values_at_predict():
    X, y = signs()
    model = AdaBoostClassifier(Columns(), n_estimators=5).fit(pd.DataFrame(X).add_prefix("voter "), y)
    assert model.estimators_[0].to_text() in [f"voter {j}" for j in range(5)]
    from_sparse = AdaBoostClassifier(Columns(), n_estimators=5).fit(sparse.csr_matrix(X), y)
    assert from_sparse.digest_ == model.digest_
    gone = np.full_like(X, np.nan)
    with pytest.warns(UserWarning, match="feature names"):
        assert np.all(model.decision_function(gone) == 0)  # nobody says anything
    huge = RealAdaBoostClassifier(Columns(), n_estimators=5).fit(*reals())
    assert np.all(np.isfinite(huge.decision_function(np.full((2, 8), 1e300))))


# ---------------------------------------------------------------- what cannot work


def test_pairings_that_cannot_work_say_why():
    H, y = signs()
    X, _ = reals()
    y3 = np.arange(len(y)) % 3
    with pytest.raises(ValueError, match=r"AdaBoostClassifier cannot boost Columns: .*column x0 holds .*use RealAda"):
        AdaBoostClassifier(Columns()).fit(X, y)
    with pytest.raises(ValueError, match=r"AdaBoostClassifier cannot boost KernelSections: .*-1 or 1"):
        AdaBoostClassifier(KernelSections()).fit(H, y)
    with pytest.raises(ValueError, match=r"AdaBoostClassifier cannot boost Columns for 3 classes"):
        AdaBoostClassifier(Columns()).fit(H, y3)
    with pytest.raises(ValueError, match=r"RealAdaBoostClassifier\(step=1\) cannot boost Columns: SAMME.R"):
        RealAdaBoostClassifier(Columns(), step=1).fit(H, y)
    with pytest.raises(ValueError, match="Union cannot hold Columns"):
        AdaBoostClassifier(Union([Stumps(), Columns()])).fit(H, y)
    with pytest.raises(ValueError, match="column 'c' holds categories, and Columns needs numbers"):
        AdaBoostClassifier(Columns()).fit(pd.DataFrame({"a": H[:, 0], "c": pd.Categorical(y)}), y)
    with pytest.raises(ValueError, match="column x0 has missing values, which KernelSections"):
        RealAdaBoostClassifier(KernelSections()).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        RealAdaBoostClassifier(Columns()).fit(np.where(np.eye(120, 8) > 0, np.inf, X), y)
    assert OneVsRestClassifier(AdaBoostClassifier(Columns(), n_estimators=3)).fit(H, y3).predict(H).shape == y.shape


# ---------------------------------------------------------------- kernels


@pytest.mark.parametrize(
    ("family", "theirs"),
    [
        (KernelSections(gamma=0.7), lambda A, B: rbf_kernel(A, B, gamma=0.7)),
        (KernelSections("linear"), linear_kernel),
        (KernelSections("polynomial", degree=2, coef0=0.5), lambda A, B: polynomial_kernel(A, B, 2, coef0=0.5)),
    ],
)
def test_sections_are_scaled_kernels(family, theirs):
    """Outputs k(x, x_i) / (B sqrt(k(x_i, x_i))), at most 1; the best edge of all landmarks."""
    X, y = circle(150)
    model = RealAdaBoostClassifier(family, n_estimators=1).fit(X, y)
    K = theirs(X, X)
    expected = K / np.sqrt(np.diag(K).max() * np.diag(K))
    assert np.abs(expected).max() <= 1 + 1e-12
    edges = np.abs((2 * y - 1) @ expected) / len(y)
    assert abs(model.history_["edge"][0]) == pytest.approx(edges.max(), abs=1e-9)
    best = expected[:, np.argmax(edges)]
    np.testing.assert_allclose(np.abs(model.estimators_[0].outputs(X)), np.abs(best), atol=1e-12)


def test_sections_in_blocks_are_the_same(monkeypatch):
    X, y = circle(700)
    model = RealAdaBoostClassifier(KernelSections(max_landmarks=60), n_estimators=6)
    held = clone(model).fit(X, y).digest_
    monkeypatch.setattr("electorate.families.kernel_sections.HELD_BYTES", 0)
    assert clone(model).fit(X, y).digest_ == held


def test_no_feature_importances_of_kernels():
    X, y = circle()
    model = RealAdaBoostClassifier(KernelSections(), n_estimators=3).fit(X, y)
    with pytest.raises(AttributeError, match="all columns"):
        _ = model.feature_importances_
    with pytest.raises(ValueError, match="scale the columns"):
        RealAdaBoostClassifier(KernelSections("linear")).fit(X * 1e200, y)


# ---------------------------------------------------------------- damaged files


@pytest.mark.parametrize(
    ("family", "name", "value"),
    [
        (Columns(), "voter.column", 99),
        (Columns(), "voter.column", -2),
        (Columns(), "voter.sign", 0),
        (Columns(), "voter.scale", 0.0),
        (Columns(), "voter.scale", np.nan),
        (KernelSections(), "voter.landmark", np.inf),
        (KernelSections(), "voter.landmark", np.nan),
        (KernelSections(), "voter.factor", np.nan),
        (Columns(), "steps", np.inf),
        (Columns(), "steps", 1e30),
        (Columns(), "rounds", 7),
        (Columns(), "about", 1),
    ],
)
def test_files_that_lie_are_refused(family, name, value, tmp_path):
    from electorate import modelfile

    model = RealAdaBoostClassifier(family, n_estimators=4).fit(*circle())
    model.save(tmp_path / "model")
    contents = modelfile.read(tmp_path / "model")
    arrays = {key: array.copy() for key, array in contents.arrays.items()}
    arrays[name].flat[0] = value
    modelfile.write(tmp_path / "model", contents.kind, contents.meta, arrays)
    with pytest.raises(ModelFormatError):
        load(tmp_path / "model")


# ---------------------------------------------------------------- a family of one's own


# as in docs/families.md
@dataclass
class Sum:
    i: int
    j: int
    t: float
    sign: int

    def outputs(self, X):
        return np.where(X[:, self.i] + X[:, self.j] > self.t, self.sign, -self.sign)


class SumsOfTwo(BaseEstimator):
    sees = "rows"

    def best(self, rows):
        pairs = combinations(range(rows.X.shape[1]), 2)
        sums = {(i, j): rows.X[:, i] + rows.X[:, j] for i, j in pairs}
        tried = [Sum(i, j, t, 1) for (i, j), s in sums.items() for t in np.quantile(s, np.arange(0.1, 1, 0.1))]
        edges = [int(rows.units @ voter.outputs(rows.X)) for voter in tried]
        best = int(np.argmax(np.abs(edges)))
        return Sum(tried[best].i, tried[best].j, tried[best].t, 1 if edges[best] > 0 else -1)


# end


@pytest.mark.parametrize("model", [AdaBoostClassifier, *REAL])
def test_a_family_written_in_a_few_lines(model):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 4))
    y = np.where(X[:, 1] + X[:, 3] + 0.2 * rng.normal(size=400) > 0.1, "yes", "no")
    fitted = model(SumsOfTwo(), n_estimators=10, early_stopping=False).fit(X, y)
    first = fitted.estimators_[0].voter
    assert (first.i, first.j) == (1, 3)
    assert fitted.score(X, y) > 0.85
    order = rng.permutation(400)
    again = model(SumsOfTwo(), n_estimators=10).fit(X[order], y[order])
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert list(fitted.staged_predict(X))[-1].tolist() == fitted.predict(X).tolist()
    with pytest.raises(TypeError, match="SumsOfTwo voters has no file"):
        fitted.save("nowhere")
    assert clone(fitted).get_params()["estimator"].get_params() == {}


def test_the_family_in_the_documentation_is_the_tested_one():
    own = Path(__file__).read_text().split("# as in docs/families.md\n")[1].split("\n\n# end\n")[0].strip()
    page = (Path(__file__).parents[2] / "docs" / "families.md").read_text()
    squeezed = re.sub(r"\n\n+", "\n", page)
    assert re.sub(r"\n\n+", "\n", own) in squeezed


class Deaf(BaseEstimator):
    sees = "rows"

    def __init__(self, said=0.5):
        self.said = said

    def best(self, rows: RowSearch):
        return Says(self.said)


@dataclass
class Says:
    what: float

    def outputs(self, X):
        return np.full(len(X), self.what) if np.isscalar(self.what) else self.what


def test_voters_of_ones_own_are_checked():
    X, y = circle()
    with pytest.raises(ValueError, match=r"AdaBoostClassifier cannot boost Says: .*gave 0.5"):
        AdaBoostClassifier(Deaf()).fit(X, y)
    for wrong, words in ((np.nan, "from -1 to 1"), (3.0, "gave 3.0 for row 0"), (np.ones((2, 2)), "shape")):
        with pytest.raises(ValueError, match=words):
            AdaBoostRClassifier(Deaf(wrong)).fit(X, y)


class OneColumn(Stumps):
    """A family of one's own over bins: stumps on the first column only."""

    def best(self, search):
        from dataclasses import replace

        histogram = search.sums.histogram.copy()
        histogram[:, 1:] = 0
        return super().best(replace(search, sums=replace(search.sums, histogram=histogram)))


def test_a_family_of_ones_own_over_bins_has_files(tmp_path):
    X, y = signs()
    model = AdaBoostClassifier(OneColumn(), n_estimators=3).fit(X, y)
    assert model.feature_importances_[0] == 1
    model.save(tmp_path / "model")
    with pytest.raises(ModelFormatError, match=r"'OneColumn', which is not part of electorate.*families="):
        load(tmp_path / "model")
    again = load(tmp_path / "model", families=[OneColumn])
    assert again.digest_ == model.digest_
    assert isinstance(again.estimator, OneColumn)
