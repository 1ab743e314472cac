"""Forged model files that are consistent in themselves: refused, or answered within a small multiple of their size."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import electorate as el
from electorate import modelfile
from electorate.commands import verify
from electorate.data import bins, inputs
from electorate.data.bins import reader
from electorate.data.table import read_table
from electorate.engines import shard
from electorate.estimators import voting
from electorate.exact import UNITS
from electorate.inspection import certificates
from electorate.model import ensemble
from electorate.model.predict_from_file import read_quickly
from electorate.model.text import leaf_paths, monomial
from electorate.modelfile import ModelFormatError
from electorate.threads import ThreadPool

MIB = 1 << 20
CONSTANT = 96 * MIB  # whatever the size of file and rows


def rows(n: int = 80, labels: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, labels) / labels), score)


def forged(folder: Path, model: Any, meta: dict[str, Any] | None = None, **arrays: Any) -> Any:
    """Load the file of a model with parts of it replaced; None removes an array."""
    model.save(folder / "sound")
    contents = modelfile.read(folder / "sound")
    named = {name.replace("__", "."): array for name, array in arrays.items()}
    together = {name: array for name, array in {**contents.arrays, **named}.items() if array is not None}
    modelfile.write(folder / "forged", contents.kind, {**contents.meta, **(meta or {})}, together)
    return el.load(folder / "forged")


def stumps(folder: Path, column: Any, threshold: Any, n_outputs: int, categories: int = 0) -> Path:
    """Write a sound file of stumps, one per threshold; categories: levels of every column, 0 for numbers."""
    n, n_columns = len(column), int(max(column)) + 1
    each = [np.unique(threshold[column == j]) for j in range(n_columns)]
    if categories:
        each = [np.arange(categories - 1) + 0.5] * n_columns
    sizes = np.array([len(edges) for edges in each])
    value = np.zeros((n, 3, n_outputs))
    value[:, 1], value[:, 2] = -1.0, 1.0
    members = np.full((n, 3), -1)
    members[:, 0] = np.arange(n) if categories else -1
    sets = np.zeros((n if categories else 0, 256), dtype=bool)
    sets[:, : categories // 2] = True
    steps = np.full(n, 0.5)
    arrays = {
        "offsets": 3 * np.arange(n + 1),
        "column": np.stack([column, np.full(n, -1), np.full(n, -1)], axis=1).ravel().astype("<i4"),
        "threshold": np.stack([np.zeros(n) if categories else threshold, np.zeros(n), np.zeros(n)], axis=1).ravel(),
        "members": members.ravel().astype("<i4"),
        "missing_left": np.zeros(3 * n, dtype=bool),
        "children": np.tile([[1, 2], [-1, -1], [-1, -1]], (n, 1)).astype("<i4"),
        "value": value.reshape(3 * n, n_outputs),
        "steps": steps,
        "rounds": np.arange(1, n + 1).astype("<i4"),
        "about": np.full(n, -1, dtype="<i4"),
        "sets": sets,
        "edges": np.concatenate(each),
        "edge_offsets": np.concatenate([[0], np.cumsum(sizes)]),
        "edges_hash": np.zeros(32, dtype=np.uint8),
        "n_bins": sizes + 1,
        "has_missing": np.zeros(n_columns, dtype=bool),
        **{
            f"history.{name}": np.zeros(n) for name in ("edge", "error", "objective", "train_error", "floor", "seconds")
        },
        "history.step": steps,
        "history.n_voters": np.arange(1, n + 1),
    }
    labels = 2 if n_outputs == 1 else n_outputs
    levels = [
        {"column": j, "text": False, "levels": list(map(float, range(categories))), "rest": []}
        for j in range(n_columns)
    ]
    meta = {
        "parameters": {},
        "classes": {"dtype": "<i8", "labels": list(range(labels))},
        "categories": levels if categories else [],
        "n_features": n_columns,
        "stop_reason": "n_estimators",
    }
    modelfile.write(folder / "stumps", "AdaBoostClassifier", meta, arrays)
    return folder / "stumps"


def peak_of(call: Any) -> int:
    """Return the bytes that a call allocates at most, NumPy's arrays included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def ask_all(path: Path, X: Any) -> None:
    model = el.load(path)
    model.predict(X)
    for _ in zip(model.staged_predict(X), range(3), strict=False):
        pass
    quick = read_quickly(path)
    assert quick is not None
    quick.decision_function(pa.table({str(j): X[:, j] for j in range(X.shape[1])}))
    model.feature_importances_  # noqa: B018
    with contextlib.suppress(ValueError):  # which says that they would take too much memory
        el.inspection.shape_functions(model)


@pytest.mark.slow
def test_one_column_of_many_edges_does_not_pad_all_others(tmp_path: Path) -> None:
    """2,001 columns padded to 32,768 edges each would be half a gigabyte; the file has 2 MB."""
    column = np.concatenate([np.zeros(20_000, dtype=np.int64), np.arange(1, 2001)])
    threshold = np.concatenate([np.arange(20_000.0), np.zeros(2000)])
    path = stumps(tmp_path, column, threshold, 1)
    X = np.zeros((20, 2001))
    ask_all(path, X[:, :])  # kernels are compiled
    assert peak_of(lambda: ask_all(path, X)) < CONSTANT + 20 * (path.stat().st_size + X.nbytes)


@pytest.mark.slow
def test_tables_of_categories_by_class_are_not_made_where_they_are_large(tmp_path: Path) -> None:
    """60 columns x 256 cells x 1,500 classes are 180 MB for a file of 2 MB."""
    path = stumps(tmp_path, np.arange(60), np.zeros(60), 1500, categories=200)
    X = np.zeros((20, 60))
    ask_all(path, X)
    assert peak_of(lambda: ask_all(path, X)) < CONSTANT + 20 * (path.stat().st_size + X.nbytes)


@pytest.mark.parametrize("categories", [0, 7])
def test_small_tables_and_grouped_edges_vote_alike(
    categories: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables, trees that are walked, and edges in groups give the votes that adding stump by stump gives."""
    rng = np.random.default_rng(0)
    column = np.concatenate([rng.integers(0, 4, 200), np.arange(5)])
    path = stumps(tmp_path, column, np.round(rng.normal(size=205), 2), 3, categories)
    X = np.round(rng.normal(size=(50, 5)), 2) if not categories else rng.integers(0, 9, (50, 5)).astype(np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = el.load(path)
    table = read_table(X)

    def votes() -> Any:
        return el.load(path).ensemble_.votes(50, reader(table, model.bins_.categories), ThreadPool(1))

    e = model.ensemble_
    expected = np.zeros((3, 50))
    for k in range(e.n_voters):
        x = X[:, e.column[3 * k]]
        left = np.isin(x, np.arange(categories // 2)) if categories else x <= e.threshold[3 * k]
        expected += 0.5 * np.where(left, -1, 1)
    assert np.array_equal(votes(), (expected * UNITS).astype(np.int64))
    monkeypatch.setattr(bins, "MOST_PADDING", -(10**9))
    assert np.array_equal(votes(), (expected * UNITS).astype(np.int64))
    monkeypatch.setattr(ensemble, "MOST_TABLE", -(10**9))
    assert el.load(path).ensemble_.lookup is None
    assert np.array_equal(votes(), (expected * UNITS).astype(np.int64))


# ---------------------------------------------------------------- deep trees


def chain(model: Any, depth: int, said: Any) -> dict[str, Any]:
    """Return the arrays of a voter that asks about column 0 again and again, each time to the right of the last."""
    size = 2 * depth + 1
    asks = np.arange(size) % 2 == 0
    asks[-1] = False
    edge = model.bins_.edges[0][0]
    return {
        "offsets": np.array([0, size]),
        "column": np.where(asks, 0, -1).astype("<i4"),
        "threshold": np.where(asks, edge, 0.0),
        "members": np.full(size, -1, dtype="<i4"),
        "missing_left": np.zeros(size, dtype=bool),
        "children": np.where(asks[:, None], np.arange(size)[:, None] + [[1, 2]], -1).astype("<i4"),
        "value": np.where(asks, 0.0, said(np.arange(size)))[:, None],
        "steps": model.ensemble_.steps[:1],
        "rounds": np.ones(1, dtype="<i4"),
        "about": np.full(1, -1, dtype="<i4"),
    }


@pytest.mark.slow
def test_a_tree_as_deep_as_it_is_large(tmp_path: Path) -> None:
    """Written out it would take 10^9 tests: it is refused in words, everything else is answered, quickly."""
    X, y = rows()
    model = el.AdaBoostClassifier(el.Trees(1), n_estimators=1).fit(X, y)
    deep = forged(tmp_path, model, **chain(model, 40_000, lambda k: np.where(k % 4 == 1, 1.0, -1.0)))
    began = time.process_time()
    assert set(deep.predict(X)) <= {0, 1}
    for call in (
        deep.estimators_[0].to_text,
        lambda: el.inspection.rule_table(deep),
        lambda: el.inspection.rule_table(deep, X),
    ):
        with pytest.raises(ValueError, match="too deep"):
            call()
    deep.certificate(train=(X, y))
    assert deep.feature_importances_[0] == 1
    assert time.process_time() - began < 60


def test_a_long_rule_is_one_line(tmp_path: Path) -> None:
    X, y = rows()
    model = el.AdaBoostClassifier(el.Rules(2), n_estimators=1).fit(X, y)
    last = 2 * 30_000
    deep = forged(tmp_path, model, **chain(model, 30_000, lambda k: np.where(k == last, 1.0, -1.0)))
    table = el.inspection.rule_table(deep, X)
    assert len(table) == 1
    above = np.mean(X[:, 0] > model.bins_.edges[0][0])
    assert table.columns["coverage"] == [pytest.approx(above)]
    assert table.columns["then"], table.columns["otherwise"] == (["1"], ["0"])


def test_paths_and_rules_are_those_of_a_walk_down_the_tree() -> None:
    X, y = rows(300, seed=3)
    model = el.AdaBoostClassifier(el.Trees(4), n_estimators=6).fit(X, y)

    def walk(alone: Any, node: int, path: list[tuple[int, int]]) -> Any:
        if alone.column[node] < 0:
            return [(node, path)]
        return [leaf for side in (0, 1) for leaf in walk(alone, int(alone.children[node, side]), [*path, (node, side)])]

    for number in range(model.ensemble_.n_voters):
        alone = model.ensemble_.only(number)
        assert [(node, list(path)) for node, path in leaf_paths(alone)] == walk(alone, 0, [])
    rules = el.AdaBoostClassifier(el.Rules(3), n_estimators=10).fit(X, y)
    for number in range(rules.ensemble_.n_voters):
        alone = rules.ensemble_.only(number)
        rule = monomial(alone)
        assert rule is not None
        leaves = {node: alone.value[node].tolist() for node, _ in walk(alone, 0, [])}
        inside = int(alone.children[rule.path[-1]]) if rule.path else 0
        assert leaves.pop(inside) == rule.inside.tolist()
        assert all(said == rule.outside.tolist() for said in leaves.values())


def test_the_coverage_of_leaves_adds_up() -> None:
    X, y = rows(200)
    weight = np.random.default_rng(1).random(200)
    model = el.AdaBoostClassifier(el.Trees(3), n_estimators=4).fit(X, y)
    table = el.inspection.rule_table(model, X, weight)
    shares = np.bincount(table.columns["voter"], weights=table.columns["coverage"])
    assert shares == pytest.approx(np.ones(4))


@pytest.mark.parametrize("family", [el.Trees(2**31), el.Rules(2**31)])
def test_a_certificate_does_not_count_to_the_largest_depth(family: Any) -> None:
    X, y = rows()
    small = family.__class__(3)
    model = el.AdaBoostClassifier(small, n_estimators=3).fit(X, y)
    model.set_params(estimator=family)
    began = time.process_time()
    assert peak_of(lambda: str(model.certificate(train=(X, y)))) < CONSTANT
    assert time.process_time() - began < 30


# ---------------------------------------------------------------- what must fit together


def test_thresholds_must_be_edges(tmp_path: Path) -> None:
    model = el.AdaBoostClassifier(n_estimators=3).fit(*rows())
    threshold = model.ensemble_.threshold.copy()
    threshold[0] = np.nextafter(threshold[0], 10)
    with pytest.raises(ModelFormatError, match="none of its edges"):
        forged(tmp_path, model, threshold=threshold)


def test_deepboost_history_must_fit_its_voters(tmp_path: Path) -> None:
    X, y = rows(labels=2)
    model = el.DeepBoostClassifier(el.Stumps(), n_estimators=12, lam=0, beta=0).fit(X, y)
    voter = model.history_["voter"]
    for bad in (voter + 1, voter - 1, voter * 1.5, voter * 1e300, np.full_like(voter, np.nan), voter[::-1]):
        with pytest.raises(ModelFormatError, match="history"):
            forged(tmp_path, model, history__voter=bad)
    with pytest.raises(ModelFormatError, match="history has no column 'voter'"):
        forged(tmp_path, model, history__voter=None)
    with pytest.raises(ModelFormatError, match="voter changes"):  # the second one is said to be the first
        forged(tmp_path, model, history__voter=np.where(voter > 0, voter - 1, 0))
    with pytest.raises(ModelFormatError, match="names an unknown family"):
        forged(tmp_path, model, history__family=voter + 1)


@pytest.mark.parametrize(
    "model",
    [
        el.AdaBoostRClassifier(n_estimators=4),
        el.VadaBoostClassifier(n_estimators=4),
        el.DeepBoostClassifier(n_estimators=4),
        el.LPBoostClassifier(n_estimators=4),
        el.QuadBoostClassifier(n_estimators=4),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_histories_must_fit_classes_and_voters(model: Any, tmp_path: Path) -> None:
    model.fit(*rows(labels=3))
    history = model.history_
    for bad in (history["label"] + 1, history["label"] * 0, history["label"] + 0.5, -history["label"], None):
        with pytest.raises(ModelFormatError, match=r"history|label"):
            forged(tmp_path, model, history__label=bad)
    with pytest.raises(ModelFormatError, match="history"):
        forged(tmp_path, model, history__n_voters=history["n_voters"] + 10**6)
    with pytest.raises(ModelFormatError, match="history"):
        forged(tmp_path, model, history__step=history["step"].astype(np.float32))
    short = {f"history__{name}": column[:2] for name, column in history.items()}
    with pytest.raises(ModelFormatError, match="history"):
        forged(tmp_path, model, **short)
    about = np.roll(model.ensemble_.about, 1)
    with pytest.raises(ModelFormatError, match=r"class|voter|moves"):
        forged(tmp_path, model, about=about)


def test_predict_of_many_classes_holds_the_votes_of_a_block_of_rows(tmp_path: Path) -> None:
    labels, n_rows = 2000, 8000
    model = el.load(stumps(tmp_path, np.zeros(3, dtype=int), np.array([0.1, 0.5, 0.7]), labels))
    model.ensemble_.value[:] = np.random.default_rng(0).normal(size=model.ensemble_.value.shape)
    X = np.random.default_rng(1).random((n_rows, 1))
    predicted: list[Any] = []
    assert peak_of(lambda: predicted.append(model.predict(X))) < CONSTANT < 8 * labels * n_rows
    parts = [np.argmax(model.decision_function(part), axis=1) for part in np.split(X, 20)]
    np.testing.assert_array_equal(predicted[0], np.concatenate(parts))


def test_predict_in_blocks_names_the_row_of_an_infinite_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voting, "VOTES_AT_ONCE", 400)
    model = el.load(stumps(tmp_path, np.zeros(1, dtype=int), np.array([0.5]), 200))
    X = np.zeros((10, 1))
    X[7] = np.inf
    with pytest.raises(ValueError, match="row 7"):
        model.predict(X)


@pytest.mark.parametrize(
    "booster", [el.AdaBoostClassifier(), el.AdaBoostClassifier(DecisionTreeClassifier())], ids=repr
)
def test_too_many_classes_to_train_at_once_are_refused(booster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(n=600, labels=300)
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**20)
    with pytest.raises(ValueError, match=r"300 classes.*AdaBoostRClassifier"):
        booster.fit(X, y)


@pytest.mark.process
def test_a_limit_of_address_space_counts_as_memory() -> None:
    code = (
        "import resource, sys; from electorate.data.inputs import free_memory;"
        "import electorate.modelfile; most = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (most + 2**28,) * 2); sys.exit(not 0 < free_memory() <= 2**28)"
    )
    pytest.importorskip("resource")
    if not Path("/proc/self/statm").exists():
        pytest.skip("the address space in use is read from /proc")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


REGRESSORS = [
    el.AdaBoostRegressor(n_estimators=4),
    el.MedBoostRegressor(n_estimators=4),
    el.MedBoostRegressor(el.Pool(3), n_estimators=4),
    el.LocMedBoostRegressor(n_estimators=4),
    el.QuadBoostRegressor(n_estimators=4),
    el.QuadBoostRegressor(el.RegressionTrees(2), n_estimators=4),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_histories_of_regressors_must_fit_their_voters(model: Any, tmp_path: Path) -> None:
    X = rows()[0]
    model.fit(X, X[:, 0])
    forged(tmp_path, model)
    history = model.history_
    quad = isinstance(model, el.QuadBoostRegressor)
    changes: list[dict[str, Any]] = [{f"history__{name}": None} for name in history]
    changes += [{"history__n_voters": history["n_voters"] + bad} for bad in (0.5, 10**6, -5)]
    changes.append({f"history__{name}": column[:2] for name, column in history.items()})
    if "train_error" in history:
        changes.append({"history__train_error": np.where(np.arange(4) == 1, np.nan, history["train_error"])})
    if not quad:
        changes += [{"history__step": history["step"] * factor} for factor in (2.0, np.inf, np.nan)]
    for change in changes:
        with pytest.raises(ModelFormatError, match="history"):
            forged(tmp_path, model, **change)


def test_the_round_of_a_voter_that_decides_alone_is_checked(tmp_path: Path) -> None:
    X = rows()[0]
    model = el.MedBoostRegressor(n_estimators=4).fit(X, X[:, 0] > 0)
    assert forged(tmp_path, model).digest_ == model.digest_
    with pytest.raises(ModelFormatError, match="infinite steps"):
        forged(tmp_path, model, history__step=np.zeros(1))
    with pytest.raises(ModelFormatError, match="infinite steps"):
        forged(tmp_path, model, {"decides": False})


def test_steps_of_the_history_are_those_of_the_voters(tmp_path: Path) -> None:
    model = el.AdaBoostClassifier(n_estimators=4).fit(*rows())
    with pytest.raises(ModelFormatError, match="other steps"):
        forged(tmp_path, model, history__step=model.history_["step"][::-1])


@pytest.mark.parametrize(
    "held_out",
    [{"bound": "x"}, {"rows": 1.5}, {"error": "high"}, {"bound": True}, {"why": 3}, {"more": 1}, {"errors": "no"}, []],
)
def test_statements_about_held_out_rows_are_typed(held_out: Any, tmp_path: Path) -> None:
    model = el.AdaBoostClassifier(n_estimators=2).fit(*rows())
    if isinstance(held_out, dict):
        held_out["digest"] = model.digest_
    with pytest.raises(ModelFormatError, match="held_out"):
        forged(tmp_path, model, {"held_out": held_out})
    fine = {"rows": 5, "errors": 1, "error": 0.2, "bound": 0.5, "confidence": 0.95, "digest": model.digest_}
    assert "1 errors" in verify.statement(forged(tmp_path, model, {"held_out": fine}).held_out_)


@pytest.mark.parametrize(
    "said",
    [
        {"labels": [0, 1]},
        {"dtype": "<i8"},
        {"labels": ["a", "b"], "dtype": "<i8"},
        {},
        {"labels": [0, 2**63], "dtype": "<i8"},
    ],
)
def test_classes_need_labels_and_a_type(said: Any, tmp_path: Path) -> None:
    model = el.AdaBoostClassifier(n_estimators=2).fit(*rows())
    with pytest.raises(ModelFormatError, match=r"classes|labels"):
        forged(tmp_path, model, {"classes": said})


def test_a_file_of_very_many_columns_is_read_quickly(tmp_path: Path) -> None:
    """Columns without edges cost a few bytes each."""
    model = el.AdaBoostClassifier(n_estimators=2).fit(*rows())
    many = 300_000
    model.save(tmp_path / "narrow")
    ends = modelfile.read(tmp_path / "narrow").arrays["edge_offsets"]
    bins = {
        "edge_offsets": np.concatenate([ends, np.full(many - 3, ends[-1])]),
        "n_bins": np.concatenate([model.bins_.n_bins, np.ones(many - 3, dtype=np.int64)]),
        "has_missing": np.zeros(many, dtype=bool),
    }
    began = time.process_time()
    wide = forged(tmp_path, model, {"n_features": many}, **bins)
    assert time.process_time() - began < 10
    assert wide.n_features_in_ == many
    assert wide.predict(np.zeros((2, many))).shape == (2,)


def test_the_sum_over_very_many_classes_ends_where_it_is_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the whole sum, whose first classes alone are vacuous."""
    X, y = rows(n=120, labels=12)
    model = el.AdaBoostRClassifier(n_estimators=2).fit(X, y)
    whole = model.certificate(train=(X, y))
    monkeypatch.setattr(certificates, "CLASSES_SUMMED", 3)
    part = model.certificate(train=(X, y))
    for name in ("vote, hinge loss", "margins", "variance"):
        assert 1 <= part[name].value < whole[name].value
        assert part[name].status == whole[name].status
        assert part[name].terms["at classes"] == 3
    assert part.best.value >= 1


def test_a_floor_that_no_round_had_cannot_be_resumed(tmp_path: Path) -> None:
    X, y = rows()
    model = el.EBBoostClassifier(n_estimators=3).fit(X, y)
    for name in ("floor_of_squares", "floor"):
        again = forged(tmp_path, model, **{f"history__{name}": model.history_[name] - 1e4})
        with pytest.raises(ValueError, match=r"other data|other rows|was .* after the last round"):
            again.set_params(warm_start=True, n_estimators=5).fit(X, y)


def test_one_long_column_does_not_pad_the_codes_of_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards encode columns by groups of similar length, as prediction does: with the same codes."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(3000, 5)).astype(np.float64)
    X[:, 2] = rng.normal(size=3000)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 2]) + np.nan_to_num(X[:, 0]) > 1).astype(np.int64)
    weight = rng.integers(0, 2, 3000)
    models = []
    for padding in (bins.MOST_PADDING, -(10**9)):
        monkeypatch.setattr(bins, "MOST_PADDING", padding)
        models.append(el.AdaBoostClassifier(el.Trees(2), n_estimators=5, max_bins="exact").fit(X, y, weight))
    assert models[0].bins_.width > 256
    assert models[0].digest_ == models[1].digest_
    sizes = [edges.shape for edges, *_ in shard.edge_groups(models[0].bins_)]
    assert len(sizes) > 1
    assert sum(np.prod(size) for size in sizes) < 4 * sum(map(len, models[0].bins_.edges)) + 100
