"""Trees against a plain recursive one, question by question, and against themselves: shards, threads, rows, parts.

The reference tries every threshold with missing values on both sides and every set of categories.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import plain
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    AdaBoostRegressor,
    Checkpoint,
    DeepBoostClassifier,
    MedBoostRegressor,
    PairedStumps,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    Rules,
    Stumps,
    Trees,
    load,
)
from electorate.engines.memory import Threads
from electorate.families import trees
from electorate.families.lookahead import MOST_CANDIDATES, MOST_CELLS, most_candidates
from electorate.families.trees import Search, Voter
from electorate.messages import Split
from electorate.training.callbacks import Callback

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
checked = settings(derandomize=True, max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)
SLACK = 1e-9  # of the total weight: sums are taken on a grid


# ---------------------------------------------------------------- the plain tree


def worth(criterion: str, weight: Array) -> float:
    """How pure one side is, larger is better, from the weight of each label in it."""
    total = weight.sum()
    if criterion == "edge":
        return float(weight.max())
    if criterion == "gini":
        return float((weight**2).sum() / total) if total > 0 else 0.0
    return -float(np.sqrt(weight * (total - weight)).sum())


@dataclass
class Problem:
    """Rows with labels, weights, and how many rows each counts for; the columns in `categorical` are categories."""

    X: Array
    y: NDArray[np.int64]
    weight: Array
    categorical: list[int] = field(default_factory=list)
    times: NDArray[np.int64] | None = None

    @property
    def n_labels(self) -> int:
        return int(self.y.max()) + 1

    def mass(self, rows: Mask) -> Array:
        return np.bincount(self.y[rows], weights=self.weight[rows], minlength=self.n_labels)

    def count(self, rows: Mask) -> int:
        return int(rows.sum() if self.times is None else self.times[rows].sum())

    def fit(self, model: Any) -> Any:
        model.set_params(categorical_features=self.categorical)
        return model.fit(self.X, self.y, sample_weight=self.weight)


@dataclass(frozen=True)
class Ask:
    """A threshold with missing values left or right, or a set of categories (NaN among them) that go left."""

    column: int
    threshold: float | None = None
    missing_left: bool = False
    levels: tuple[float, ...] = ()

    def left(self, X: Array) -> Mask:
        x = X[:, self.column]
        if self.threshold is None:
            return np.asarray(np.isin(x, self.levels) | (np.isnan(x) & any(np.isnan(v) for v in self.levels)))
        return np.asarray(np.where(np.isnan(x), self.missing_left, x <= self.threshold))


def all_splits(problem: Problem, rows: Mask) -> Iterator[Ask]:
    """Every question of a node: thresholds between neighbouring values of the whole column, then sets of categories."""
    columns = range(problem.X.shape[1])
    for j in columns:
        x = problem.X[:, j]
        values = np.unique(x[~np.isnan(x)])
        has_missing = bool(np.isnan(x).any())
        if j not in problem.categorical:
            cuts = [*((values[1:] + values[:-1]) / 2).tolist(), *([np.inf] if has_missing else [])]
            for cut in cuts:
                if has_missing and cut < np.inf:
                    yield Ask(j, cut, True)
                yield Ask(j, cut, False)
    for j in problem.categorical:
        x = problem.X[rows, j]
        present = [*np.unique(x[~np.isnan(x)]).tolist(), *([np.nan] if np.isnan(x).any() else [])]
        for size in range(1, len(present)):
            for levels in combinations(present, size):
                yield Ask(j, levels=levels)


@dataclass
class Grower:
    """Grows the plain tree, and remembers whether two different tests were equally good anywhere."""

    problem: Problem
    criterion: str
    max_depth: int | None = None
    min_leaf: int = 1
    min_split: int = 2
    tied: bool = False

    def value(self, rows: Mask, left: Mask) -> float:
        sides = (rows & left, rows & ~left)
        return sum(worth(self.criterion, self.problem.mass(side)) for side in sides)

    def best(self, rows: Mask) -> tuple[Ask | None, float]:
        """The first best test of a node, and its value; None where none is better than no test."""
        problem = self.problem
        none = worth(self.criterion, problem.mass(rows))
        scored: list[tuple[float, Ask, bytes]] = []
        if problem.count(rows) >= self.min_split and np.count_nonzero(problem.mass(rows)) > 1:
            for test in all_splits(problem, rows):
                left = test.left(problem.X)
                sides = (rows & left, rows & ~left)
                if min(map(problem.count, sides)) >= self.min_leaf and all(map(np.any, sides)):
                    same_as = min(sides[0].tobytes(), sides[1].tobytes())
                    scored.append((self.value(rows, left), test, same_as))
        scored = [entry for entry in scored if entry[0] > none + SLACK * problem.weight.sum()]
        if not scored:
            return None, none
        top = max(scored, key=lambda entry: entry[0])
        close = {entry[2] for entry in scored if entry[0] > top[0] - SLACK * problem.weight.sum()}
        self.tied |= len(close) > 1
        return top[1], top[0]

    def grow(self, rows: Mask, depth: int = 0) -> Any:
        """A leaf's label, or (test, rows, left subtree, right subtree)."""
        test = None if depth == self.max_depth else self.best(rows)[0]
        if test is None:
            return int(np.argmax(self.problem.mass(rows)))
        left = test.left(self.problem.X)
        return test, rows, self.grow(rows & left, depth + 1), self.grow(rows & ~left, depth + 1)

    def predict(self, tree: Any, row: Array) -> int | None:
        """The label, or None if a question is met that no training row of that node answers for."""
        while not isinstance(tree, int):
            test, rows, left, right = tree
            value, seen = row[test.column], self.problem.X[rows, test.column]
            if np.isnan(value):
                known = np.isnan(seen).any()
            elif test.threshold is None:
                known = np.isin(value, seen)
            else:
                known = np.nanmin(seen) <= value <= np.nanmax(seen)
            if not known:
                return None
            tree = left if test.left(row[None])[0] else right
        return tree


def follow(model: Any, grower: Grower) -> Iterator[tuple[int, int, Mask, Mask | None]]:
    """(node, depth, its rows, those that go left) of the only voter of a model."""
    X = grower.problem.X
    waiting = [(0, 0, np.ones(len(X), dtype=bool))]
    while waiting:
        node, depth, rows = waiting.pop()
        if model.ensemble_.column[node] < 0:
            yield node, depth, rows, None
            continue
        left = np.array([plain.goes_left(model, node, row) for row in X])
        yield node, depth, rows, left
        children = model.ensemble_.children[node].tolist()
        waiting += [(children[0], depth + 1, rows & left), (children[1], depth + 1, rows & ~left)]


def check_greedy(model: Any, grower: Grower) -> None:
    """Every question is as good as the best one, and no leaf should have been split."""
    problem = grower.problem
    slack = 2 * SLACK * problem.weight.sum()
    for _, depth, rows, left in follow(model, grower):
        may_split = grower.max_depth is None or depth < grower.max_depth
        test, best = grower.best(rows)
        if left is None:
            assert not may_split or test is None
        else:
            assert may_split
            assert problem.count(rows) >= grower.min_split
            assert min(problem.count(rows & left), problem.count(rows & ~left)) >= grower.min_leaf
            assert grower.value(rows, left) >= best - slack


def check_predictions(model: Any, grower: Grower, fresh: Array) -> int:
    """The same labels on training rows and fresh ones; how many were compared."""
    tree = grower.grow(np.ones(len(grower.problem.y), dtype=bool))
    if grower.tied:
        return 0
    both = np.concatenate([grower.problem.X, fresh])
    expected = [grower.predict(tree, row) for row in both]
    known = np.array([label is not None for label in expected])
    np.testing.assert_array_equal(model.predict(both[known]), [label for label in expected if label is not None])
    return int(known.sum())


def draw(seed: int, n_labels: int, n_categorical: int, n_rows: int = 26, whole: bool = False) -> tuple[Problem, Array]:
    """A small problem with missing values and, by column, few or many distinct values; and fresh rows for it."""
    random = np.random.default_rng(seed)
    numeric = np.stack(
        [random.normal(size=n_rows), random.integers(0, 6, n_rows), np.round(random.normal(size=n_rows), 1)], axis=1
    )
    categories = random.integers(0, 5, (n_rows, n_categorical)).astype(float)
    X = np.concatenate([numeric, categories], axis=1)
    signal = X[:, 0] + (X[:, 1] > 2) - 0.5 * X[:, 2] + (categories % 2).sum(axis=1) + random.normal(size=n_rows)
    y = np.searchsorted(np.quantile(signal, np.arange(1, n_labels) / n_labels), signal)
    missing = random.random(X.shape) < 0.15
    missing[:, 2] = False  # a column without any
    X[missing] = np.nan
    times = random.integers(1, 4, n_rows)
    weight = times.astype(float) if whole else random.uniform(0.2, 1.0, n_rows)
    fresh = np.stack([random.permutation(X[:, j]) for j in range(X.shape[1])], axis=1)
    fresh[::2, 0] += random.normal(size=len(fresh[::2])) / 4
    categorical = list(range(3, 3 + n_categorical))
    return Problem(X, y, weight, categorical, times if whole else None), fresh


CRITERIA = ["gini", "matsushita", "edge"]
COMPARED: dict[str, int] = {}


def compare(name: str, problem: Problem, fresh: Array, grower: Grower, family: Trees) -> None:
    model = problem.fit(AdaBoostClassifier(family, n_estimators=1))
    assume(len(model.steps_) == 1)
    check_greedy(model, grower)
    COMPARED[name] = COMPARED.get(name, 0) + check_predictions(model, grower, fresh)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_question_is_the_best_one_two_labels(criterion: str) -> None:
    """Thresholds with missing values on both sides, and all sets of categories."""

    @checked
    @given(seeds, st.sampled_from([1, 2, 3]))
    def holds(seed: int, depth: int) -> None:
        problem, fresh = draw(seed, 2, 2)
        compare(criterion, problem, fresh, Grower(problem, criterion, depth), Trees(depth, criterion=criterion))

    holds()
    assert COMPARED[criterion] > 500


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_question_is_the_best_one_three_labels_numeric(criterion: str) -> None:
    @checked
    @given(seeds, st.sampled_from([1, 2, 3]))
    def holds(seed: int, depth: int) -> None:
        problem, fresh = draw(seed, 3, 0)
        compare(f"3 {criterion}", problem, fresh, Grower(problem, criterion, depth), Trees(depth, criterion=criterion))

    holds()
    assert COMPARED[f"3 {criterion}"] > (0 if criterion == "edge" else 500)  # a third label's rows tie the edge


@pytest.mark.parametrize("criterion", CRITERIA)
def test_max_depth_none_grows_until_nothing_helps(criterion: str) -> None:
    @checked
    @given(seeds)
    def holds(seed: int) -> None:
        problem, fresh = draw(seed, 2, 1)
        compare("deep", problem, fresh, Grower(problem, criterion), Trees(None, criterion=criterion))

    holds()


def test_max_depth_none_fits_distinct_rows_completely() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 2)), random.integers(0, 3, 60)
    model = AdaBoostClassifier(Trees(None), n_estimators=5).fit(X, y)
    assert model.stop_reason_ == "perfect_voter"
    assert model.predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_min_samples_leaf_and_split(criterion: str, whole: bool) -> None:
    """A row of whole weight k counts k times; of other weights every row counts once."""

    @checked
    @given(seeds, st.integers(1, 6), st.integers(2, 20), st.sampled_from([2, 3, None]))
    def holds(seed: int, leaf: int, split: int, depth: int | None) -> None:
        problem, fresh = draw(seed, 2, 0, whole=whole)
        family = Trees(depth, criterion=criterion, min_samples_leaf=leaf, min_samples_split=split)
        compare("limits", problem, fresh, Grower(problem, criterion, depth, leaf, split), family)

    holds()


@checked
@given(seeds, st.integers(2, 8), st.sampled_from(CRITERIA), st.booleans())
def test_min_samples_leaf_holds_for_categories(seed: int, leaf: int, criterion: str, whole: bool) -> None:
    """The sets tried are not all sets, so only the limit itself is checked."""
    problem, _ = draw(seed, 2, 3, whole=whole)
    model = problem.fit(AdaBoostClassifier(Trees(3, criterion=criterion, min_samples_leaf=leaf), n_estimators=1))
    assume(len(model.steps_) == 1)
    sizes = [problem.count(rows) for _, _, rows, left in follow(model, Grower(problem, criterion)) if left is None]
    assert min(sizes) >= leaf


@checked
@given(seeds, st.sampled_from(["log_odds", "gentle", "label"]), st.sampled_from([0.0, 0.02]))
def test_leaves_say_what_they_are_said_to(seed: int, kind: str, smoothing: float) -> None:
    problem, _ = draw(seed, 2, 1)
    problem.X[:, 0] = np.round(problem.X[:, 0])
    family = Trees(2, leaves=kind, smoothing=smoothing, min_samples_leaf=6)
    model = problem.fit(AdaBoostRClassifier(family, n_estimators=1))
    assume(len(model.steps_) == 1)
    share = {}
    for node, _, rows, left in follow(model, Grower(problem, "gini")):
        if left is None:
            share[node] = problem.mass(rows) / problem.weight.sum() + smoothing
    with np.errstate(divide="ignore"):
        says = {node: 0.5 * np.log(w[1] / w[0]) for node, w in share.items()}
    if kind == "gentle":
        says = {node: (w[1] - w[0]) / w.sum() for node, w in share.items()}
    if kind == "label":
        says = {node: 1.0 if w[1] > w[0] else -1.0 for node, w in share.items()}
    if any(np.isinf(h) for h in says.values()):
        says = {node: float(np.sign(h)) if np.isinf(h) else 0.0 for node, h in says.items()}
    for node, h in says.items():
        assert model.ensemble_.value[node, 0] == pytest.approx(h, abs=1e-9)


# ---------------------------------------------------------------- missing values that training has not seen


def test_missing_values_go_to_the_heavier_side_if_training_had_none() -> None:
    X = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    y = np.array([0, 0, 1, 1, 1])
    heavy_right = AdaBoostClassifier(Trees(1), n_estimators=1).fit(X, y)
    heavy_left = AdaBoostClassifier(Trees(1), n_estimators=1).fit(X, y, sample_weight=[3, 3, 1, 1, 1])
    assert heavy_right.predict([[np.nan]]).tolist() == [1]
    assert heavy_left.predict([[np.nan]]).tolist() == [0]


# ---------------------------------------------------------------- the same trees by other ways


def larger(seed: int, n_rows: int = 300, whole: bool = False) -> Problem:
    problem, _ = draw(seed, 2, 2, n_rows, whole)
    return problem


@pytest.mark.parametrize("booster", [AdaBoostClassifier, RealAdaBoostClassifier])
def test_trees_of_depth_1_by_edge_are_stumps(booster: Any) -> None:
    problem = larger(0)
    by_trees = problem.fit(booster(Trees(1, criterion="edge"), n_estimators=20))
    by_stumps = problem.fit(booster(Stumps(), n_estimators=20))
    assert by_trees.digest_ == by_stumps.digest_


@pytest.mark.parametrize("criterion", CRITERIA)
def test_16_bit_bins_give_the_trees_of_8_bit_bins(criterion: str) -> None:
    """All columns have few values but one, which says nothing and is there to need 16 bits."""
    random = np.random.default_rng(1)
    n_rows = 2000
    X = random.integers(0, 6, (n_rows, 4)).astype(float)
    X[random.random(n_rows) < 0.1, 0] = np.nan
    y = (np.nan_to_num(X[:, 0], nan=9) + 2 * (X[:, 1] > 3) + (X[:, 2] % 2) > random.normal(3, 2, n_rows)).astype(int)
    X[:, 3] = np.argsort(np.argsort(y + 2 * random.permutation(n_rows)))  # neighbours have both labels
    options = {"n_estimators": 3, "categorical_features": [2]}
    family = Trees(2, criterion=criterion, min_samples_leaf=300)
    narrow = AdaBoostClassifier(family, **options).fit(X, y)
    wide = AdaBoostClassifier(family, max_bins="exact", **options).fit(X, y)
    assert narrow.bins_.code_type is np.uint8
    assert wide.bins_.code_type is np.uint16
    assert 3 not in narrow.ensemble_.column
    of_wide, of_narrow = ({**model.ensemble_.arrays()} for model in (wide, narrow))
    of_wide["sets"], of_narrow["sets"] = of_wide["sets"][:, :-1], of_narrow["sets"][:, :-1]  # the last is not used
    for name, array in of_narrow.items():
        np.testing.assert_array_equal(of_wide[name], array, err_msg=name)


@pytest.mark.parametrize("model", [AdaBoostClassifier, RealAdaBoostClassifier, AdaBoostRClassifier])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("limits", [{"max_depth": 4}, {"max_depth": None, "min_samples_leaf": 7}])
def test_digests_do_not_depend_on_threads_and_shards(model: Any, whole: bool, limits: dict[str, Any]) -> None:
    problem = larger(3, whole=whole)

    class Sharded(model):  # type: ignore[misc, valid-type]
        pass

    digests = set()
    for n_jobs, n_shards in [(1, None), (1, 3), (2, 2), (3, 7), (2, 1)]:
        Sharded._n_shards = n_shards
        fitted = problem.fit(Sharded(Trees(criterion="matsushita", **limits), n_estimators=5, n_jobs=n_jobs))
        assert fitted.ensemble_.n_voters == 5
        assert len(fitted.ensemble_.sets) > 0
        digests.add(fitted.digest_)
    assert len(digests) == 1


@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5, "min_samples_split": 14}])
def test_growing_in_parts_gives_the_same_trees(monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]) -> None:
    problem = larger(4)
    family = Trees(None, **limits)
    at_once = problem.fit(RealAdaBoostClassifier(family, n_estimators=6))
    monkeypatch.setattr(trees, "FEW_ROWS_PER_LABEL", 0)
    monkeypatch.setattr(trees, "BYTES_AT_ONCE", 1)
    in_parts = problem.fit(RealAdaBoostClassifier(family, n_estimators=6))
    assert in_parts.digest_ == at_once.digest_


@checked
@given(seeds, st.sampled_from(CRITERIA), st.booleans())
def test_the_order_of_rows_does_not_matter(seed: int, criterion: str, whole: bool) -> None:
    problem = larger(seed, 80, whole)
    order = np.random.default_rng(seed).permutation(len(problem.y))
    shuffled = Problem(problem.X[order], problem.y[order], problem.weight[order], problem.categorical)
    family = Trees(3, criterion=criterion, min_samples_leaf=2)
    digests = {p.fit(RealAdaBoostClassifier(family, n_estimators=5)).digest_ for p in (problem, shuffled)}
    assert len(digests) == 1


@checked
@given(seeds, st.sampled_from(CRITERIA), st.sampled_from([1, 4]))
def test_weight_k_is_the_row_k_times(seed: int, criterion: str, leaf: int) -> None:
    problem = larger(seed, 80, whole=True)
    problem.weight[::9] = 0
    times = problem.weight.astype(int)
    repeated = Problem(
        np.repeat(problem.X, times, axis=0), np.repeat(problem.y, times), np.ones(times.sum()), problem.categorical
    )
    family = Trees(3, criterion=criterion, min_samples_leaf=leaf, min_samples_split=2 * leaf + 1)
    digests = {p.fit(RealAdaBoostClassifier(family, n_estimators=5)).digest_ for p in (problem, repeated)}
    assert len(digests) == 1


# ---------------------------------------------------------------- broken off, one class against the rest


class BreakOff(Callback):
    """Interrupts training after so many rounds."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.rounds -= int(context.max_subtasks == 0)
        if self.rounds == 0:
            raise KeyboardInterrupt
        return False


@pytest.mark.parametrize("model", [RealAdaBoostClassifier, AdaBoostRClassifier])
@pytest.mark.parametrize("rounds", [1, 5, 10])
def test_a_checkpoint_in_any_class_of_three_resumes_to_the_same_model(model: Any, rounds: int, tmp_path: Any) -> None:
    """The runs of later classes have not begun; the checkpoint has all classes nevertheless."""
    problem, _ = draw(5, 3, 1, 80)
    path = tmp_path / "checkpoint"
    whole = problem.fit(model(Trees(2), n_estimators=4))
    broken = model(Trees(2), n_estimators=4).set_callbacks(Checkpoint(path, every=1), BreakOff(rounds))
    with pytest.raises(KeyboardInterrupt):
        problem.fit(broken)
    saved = load(path)
    assert saved.ensemble_.n_voters == len(saved.history_["step"]) == rounds
    assert saved.decision_function(problem.X).shape == (80, 3)
    resumed = problem.fit(model(Trees(2), n_estimators=4).set_callbacks(Checkpoint(path, every=1)))
    assert resumed.digest_ == whole.digest_


# ---------------------------------------------------------------- nodes where no single test gains


def factorial(columns: int, levels: int = 2) -> Array:
    """All combinations once: every column is balanced in every other."""
    return np.array(list(product(range(levels), repeat=columns)), dtype=float)


HIDDEN = {
    "gini": AdaBoostClassifier(Trees(2), n_estimators=3),
    "edge": AdaBoostClassifier(Trees(2, criterion="edge"), n_estimators=3),
    "matsushita": AdaBoostClassifier(Trees(2, criterion="matsushita"), n_estimators=3),
    "leaves of 50 rows": AdaBoostClassifier(Trees(2, min_samples_leaf=50), n_estimators=3),
    "real": RealAdaBoostClassifier(Trees(2), n_estimators=3),
    "rules": AdaBoostRClassifier(Rules(2), n_estimators=30),
    "pairs": AdaBoostClassifier(PairedStumps(), n_estimators=3),
    "DeepBoost": DeepBoostClassifier(Trees(3), lam=0.01, n_estimators=3),
    "QuadBoost": QuadBoostClassifier(Trees(2, criterion="edge"), n_estimators=3),
    "QuadBoost on rules": QuadBoostClassifier(Rules(2), n_estimators=30),
    "QuadBoost on pairs": QuadBoostClassifier(PairedStumps(), n_estimators=3),
    "MedBoost": MedBoostRegressor(RegressionTrees(2), n_estimators=3),
    "least squares": AdaBoostRegressor(RegressionTrees(2), n_estimators=3),
    "QuadBoost, least squares": QuadBoostRegressor(RegressionTrees(2), n_estimators=3),
    "QuadBoost, absolute loss": QuadBoostRegressor(RegressionTrees(2), loss="absolute", n_estimators=3),
}


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("name", HIDDEN)
def test_xor_is_found_among_irrelevant_columns(name: str, categorical: bool) -> None:
    X = factorial(8)
    y = (X[:, 3] != X[:, 6]).astype(float)
    model = clone(HIDDEN[name])
    if categorical:
        model.set_params(categorical_features=list(range(8)))
    said = model.fit(X, y).predict(X)
    assert np.round(said).tolist() == y.tolist()
    trees = model.vote_.trees if hasattr(model, "vote_") else model.ensemble_
    assert set(trees.column.tolist()) == {-1, 3, 6}


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("categorical", [False, True])
def test_monks_first_problem_is_learned_without_error(criterion: str, categorical: bool) -> None:
    """(a = b) or e = 0 over all 432 combinations. Without e = 0 no column tells anything about the label."""
    X = np.array(list(product(range(3), range(3), range(2), range(3), range(4), range(2))), dtype=float)
    y = ((X[:, 0] == X[:, 1]) | (X[:, 4] == 0)).astype(int)
    columns = list(range(6)) if categorical else None
    family = Trees(6, criterion=criterion)
    model = AdaBoostClassifier(family, n_estimators=5, categorical_features=columns).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert model.stop_reason_ == "perfect_voter"
    assert set(model.ensemble_.column.tolist()) == {-1, 0, 1, 4}


def test_parity_of_three_is_grown_through_two_ties() -> None:
    X = factorial(3)
    y = X.sum(axis=1) % 2
    assert AdaBoostClassifier(Trees(3), n_estimators=1).fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("depth", [1, 2, 4, None])
def test_what_never_gains_is_dropped(criterion: str, depth: int | None) -> None:
    """Every combination has both labels: the tree has no questions, however deep it looked."""
    X = np.repeat(factorial(4), 2, axis=0)
    y = np.arange(len(X)) % 2
    model = AdaBoostClassifier(Trees(depth, criterion=criterion), n_estimators=3).fit(X, y)
    assert len(model.ensemble_.column) <= 1


def test_only_subtrees_that_gain_are_kept() -> None:
    """XOR where the third column is 0, noise where it is 1: the right side of the root has no questions."""
    X = np.repeat(factorial(4), 2, axis=0)
    odd = np.arange(len(X)) % 2
    y = np.where(X[:, 2] == 0, X[:, 0] != X[:, 1], odd).astype(int)
    model = AdaBoostClassifier(Trees(4), n_estimators=1).fit(X, y)
    assert np.count_nonzero(model.ensemble_.column >= 0) <= 7
    assert model.score(X[X[:, 2] == 0], y[X[:, 2] == 0]) == 1


@pytest.mark.parametrize("name", ["gini", "leaves of 50 rows", "rules", "pairs", "QuadBoost", "MedBoost"])
def test_ties_do_not_depend_on_threads_shards_and_rows(name: str) -> None:
    X = factorial(8)
    y = (X[:, 3] != X[:, 6]).astype(float)
    made, digests = HIDDEN[name], set()

    class Sharded(type(made)):  # type: ignore[misc]
        pass

    order = np.random.default_rng(0).permutation(len(X))
    for n_jobs, n_shards in [(1, None), (1, 3), (2, 7)]:
        Sharded._n_shards = n_shards
        for rows in (slice(None), order):
            fitted = Sharded(**made.get_params(deep=False)).set_params(n_jobs=n_jobs).fit(X[rows], y[rows])
            digests.add(fitted.digest_)
    assert len(digests) == 1


def test_no_look_ahead_where_a_test_gains(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    look = Threads.look
    monkeypatch.setattr(Threads, "look", lambda self, *a: asked.append(len(a[0])) or look(self, *a))
    problem = larger(0)
    for criterion in CRITERIA:
        problem.fit(AdaBoostClassifier(Trees(4, criterion=criterion), n_estimators=5))
    assert asked == []
    X = factorial(4)
    AdaBoostClassifier(Trees(2), n_estimators=1).fit(X, X[:, 0] != X[:, 3])
    assert asked == [4]  # one exchange, one candidate per column


def test_looking_ahead_has_a_limit() -> None:
    """It depends on the bins, and not on rows or shards."""
    X = factorial(7)
    model = AdaBoostClassifier(Trees(2), n_estimators=1).fit(X, X[:, 0] != X[:, 1])
    assert most_candidates(model.bins_, 2) == MOST_CANDIDATES
    many = replace(model.bins_, edges=[], n_bins=np.full(10**6, 2))
    assert most_candidates(many, 2) * 2 * 10**6 * many.width <= MOST_CELLS


@pytest.mark.parametrize("of_rows", [False, True])
def test_a_look_is_what_a_split_would_say(of_rows: bool) -> None:
    """Sums of the left sides of tests, of nodes below others too; and the rows stay where they are."""
    problem = larger(1, whole=True)
    said: list[Any] = []

    class Watched(Trees):
        def best(self, search: Search) -> Voter:
            engine, width = search.engine, search.bins.width
            on_left = np.arange(width) < 3
            first, second = Split(0, 1, 2, 1, 2, on_left), Split(2, 3, 4, 3, -1, on_left)
            whole = search.sums.histogram
            for split in (first, second):
                looked = engine.look([split, split], of_rows)
                ((left, whole),), _ = engine.both_sides([split], [whole])
                if of_rows:
                    rows = engine.count_rows([split.left])[0]
                    said.append((looked[1].sum(axis=0), rows))
                else:
                    said.append((looked[1], left))
            return super().best(search)

    problem.fit(AdaBoostClassifier(Watched(2), n_estimators=2))
    assert len(said) == 4
    for looked, expected in said:
        np.testing.assert_array_equal(looked, expected)
        assert looked.any()
