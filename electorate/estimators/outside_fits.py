"""Fits models of scikit-learn to a matrix of numbers and category codes, and turns them into plain arrays.

How each kind sees the matrix: linear models get standardised numbers, with the mean for missing ones, and an indicator
for each category in 10 rows or more; one for all others together. Trees and forests get codes as numbers, and route
missing values. Histogram boosting gets categories as categories, and as numbers those of columns with too many.
"""

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier

from electorate.exact import AnyArray, Floats, Ints
from electorate.model.float_model import SET_BITS, FloatTrees, LinearSum, rounded, smallest_type
from electorate.model.library_model import CLASSES, LibraryModel, build_library, fit_library

MODULES = {
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.ensemble": "ExtraTreesClassifier ExtraTreesRegressor GradientBoostingClassifier GradientBoostingRegressor "
    "HistGradientBoostingClassifier HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor",
    "sklearn.linear_model": "ElasticNet Lasso LinearRegression LogisticRegression Ridge RidgeCV",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
}
MODULE_OF = {name: module for module, names in MODULES.items() for name in names.split()}
KINDS = {  # the class of each kind: for classes, for numbers
    "linear": ("LogisticRegression", "Ridge"),
    "random_forest": ("RandomForestClassifier", "RandomForestRegressor"),
    "extra_trees": ("ExtraTreesClassifier", "ExtraTreesRegressor"),
    "hgb": ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    "constant": ("DummyClassifier", "DummyRegressor"),
}
DEFAULTS: dict[str, dict[str, Any]] = {  # other than scikit-learn's
    "LogisticRegression": {"max_iter": 300},
    "HistGradientBoostingClassifier": {"early_stopping": False, "n_iter_no_change": 20},
    "HistGradientBoostingRegressor": {"early_stopping": False, "n_iter_no_change": 20},
    "DummyClassifier": {"strategy": "prior"},
}
RARE = 10  # rows: lighter categories share one indicator of a linear model
MOST_DENSE = 200_000_000  # cells of a sparse matrix up to which it is made dense
MOST_INDICATORS = 20_000_000  # cells up to which indicators are dense
Weight = Floats | None
Arrays = FloatTrees | LinearSum | LibraryModel


def sklearn_class(name: str) -> Any:
    """Return a class of scikit-learn that can be stored, by its name."""
    return getattr(import_module(MODULE_OF[name]), name)


def is_storable(estimator: Any) -> bool:
    """Return whether a model of this class can be turned into plain arrays."""
    kind = type(estimator)
    return kind.__name__ in MODULE_OF and kind.__module__.startswith("sklearn.")


def build(model: Any, for_classes: bool, settings: dict[str, Any], random_state: Any, n_jobs: int | None) -> Any:
    """Return the unfitted estimator of scikit-learn. model: a kind, or an unfitted estimator, which is cloned.

    settings: those that are not None. ValueError for one that the estimator does not have.
    """
    if isinstance(model, str) and model in CLASSES:
        return build_library(model, for_classes, settings, random_state, n_jobs)
    if isinstance(model, str):
        name = KINDS[model][0 if for_classes else 1]
        estimator = sklearn_class(name)(**DEFAULTS.get(name, {}))
        known = estimator.get_params(deep=False)
        jobs = {} if model == "linear" else {"n_jobs": n_jobs}  # deprecated there
        estimator.set_params(
            **{key: one for key, one in {"random_state": random_state, **jobs}.items() if key in known}
        )
    else:
        if not is_storable(model):
            raise TypeError(
                f"model is a {type(model).__name__}, which has no file format here: pass one of {', '.join(KINDS)}, or "
                f"an estimator of scikit-learn of the class {', '.join(sorted(MODULE_OF))}. Others can be fitted by "
                "themselves and stored with skops."
            )
        if is_classifier(model) != for_classes:
            wanted = "a classifier" if for_classes else "a regressor"
            raise TypeError(f"model is a {type(model).__name__}: pass {wanted}")
        estimator = clone(model)
        for name, usual in (
            ("class_weight", (None, "balanced")),
            ("categorical_features", (None, "from_dtype", "warn")),
        ):
            value = getattr(model, name, None)
            if not (value is None or isinstance(value, str)) or value not in usual:
                raise ValueError(
                    f"{name} of the estimator: pass it to the model around it, which reads labels and columns"
                )
    known = estimator.get_params(deep=False)
    for name, value in settings.items():
        own, given = name, value
        if name == "n_estimators" and "max_iter" in known and "learning_rate" in known:
            own = "max_iter"
        elif name == "C" and "alpha" in known and "C" not in known:
            own, given = "alpha", 1 / value
        elif name == "loss" and type(estimator).__name__ == "DummyRegressor":
            own, given = "strategy", "median" if value == "absolute_error" else "mean"
        if own not in known:
            if value == "squared_error":  # what the others minimise
                continue
            raise ValueError(f"{name}={value!r}: model={model!r} has no such setting; leave it out")
        estimator.set_params(**{own: given})
    return estimator


def fit_to_arrays(estimator: Any, matrix: Any, y: AnyArray, weight: Weight, wide: dict[int, int]) -> Arrays:
    """Fit the estimator to a matrix with NaN where values are missing, and return what predicts.

    y: class codes from 0 on, or numbers. wide: the number of codes of each category column.
    """
    name = type(estimator).__name__
    if (library := type(estimator).__module__.partition(".")[0]) in CLASSES:
        n_classes = int(y.max()) + 1 if is_classifier(estimator) else 0
        return fit_library(library, estimator, matrix, y, weight, wide, n_classes)
    if "HistGradientBoosting" in name:
        return _fit_histograms(estimator, matrix, y, weight, wide)
    if name.startswith("Dummy"):
        return _fit_constant(estimator, matrix.shape[0], y, weight)
    if "Tree" in name or "Forest" in name or "GradientBoosting" in name:
        estimator.fit(_single(matrix), y, sample_weight=weight)
        return _gradient_trees(estimator) if "GradientBoosting" in name else _mean_trees(estimator)
    return _fit_linear(estimator, matrix, y, weight, wide)


def constant(values: Floats, link: str) -> FloatTrees:
    """Return a model of no trees."""
    return _sum_of([], (0, 1), values, False, link)


def _fit_constant(estimator: Any, n_rows: int, y: AnyArray, weight: Weight) -> FloatTrees:
    nothing = np.zeros((n_rows, 1))
    if is_classifier(estimator):
        if estimator.strategy not in ("prior", "most_frequent"):
            raise TypeError(f"strategy={estimator.strategy!r} has no file format here: use 'prior' or 'most_frequent'")
        proba = estimator.fit(nothing, y, weight).predict_proba(nothing[:1])[0]
        return constant(np.asarray(proba, dtype=np.float64), "share")
    return constant(np.asarray(estimator.fit(nothing, y, weight).predict(nothing[:1]), dtype=np.float64), "number")


# ---------------------------------------------------------------- trees


@dataclass(frozen=True)
class _NumberedTree:
    """One tree, its nodes numbered as scikit-learn does. left: -1 at a leaf. values: [node, output]."""

    left: AnyArray
    right: AnyArray
    column: AnyArray
    threshold: AnyArray
    missing_left: AnyArray
    values: Floats
    member: AnyArray | None = None


def _sum_of(
    trees: list[_NumberedTree],
    shape: tuple[int, int],
    baseline: Floats,
    is_mean: bool,
    link: str,
    sets: AnyArray | None = None,
) -> FloatTrees:
    """Join trees, round by round. shape: the number of rounds, and of trees of a round. sets: see `FloatTrees`."""
    parts: dict[str, list[AnyArray]] = {
        name: [] for name in ("column", "threshold", "missing_left", "children", "member")
    }
    roots, values, n_inner, n_leaves = [], [], 0, 0
    for tree in trees:
        inner = tree.left > 0  # the root is no child
        number = np.where(inner, n_inner + np.cumsum(inner) - 1, -n_leaves - np.cumsum(~inner))
        parts["column"].append(tree.column[inner])
        parts["threshold"].append(tree.threshold[inner])
        parts["missing_left"].append(tree.missing_left[inner])
        parts["children"].append(np.stack([number[tree.left[inner]], number[tree.right[inner]]], axis=1))
        parts["member"].append(np.full(int(inner.sum()), -1) if tree.member is None else tree.member[inner])
        roots.append(number[0])
        values.append(tree.values[~inner])
        n_inner, n_leaves = n_inner + int(inner.sum()), n_leaves + int((~inner).sum())
    if max(n_inner, n_leaves) >= 2**31:
        raise ValueError(
            f"the trees have {n_inner + n_leaves} nodes, more than a model file can hold: use fewer or smaller ones"
        )
    leaves = np.concatenate(values) if values else np.empty((0, len(baseline)))
    distinct, leaf = _distinct_rows(np.ascontiguousarray(leaves, dtype=np.float64))
    joined = {name: np.concatenate(each) if each else np.empty(0) for name, each in parts.items()}
    return FloatTrees(
        joined["column"].astype(np.int32),
        joined["threshold"].astype(np.float64, copy=False) if sets is not None else joined["threshold"],
        joined["missing_left"].astype(np.bool_),
        joined["children"].astype(np.int32).reshape(-1, 2),
        joined["member"].astype(np.int32),
        np.empty((0, SET_BITS // 32), dtype=np.uint32) if sets is None else sets,
        np.array(roots, dtype=np.int32).reshape(shape),
        leaf.astype(smallest_type(len(distinct))),
        distinct,
        np.array(baseline, dtype=np.float64),
        is_mean,
        link,
    )


def _distinct_rows(rows: Floats) -> tuple[Floats, Ints]:
    """Return the distinct rows in the order of their first places, and the number of each row among them."""
    # Sorting numbers is far faster than sorting rows. A single column is not multiplied, which could round.
    mixed = rows[:, 0] if rows.shape[1] == 1 else rows @ np.random.default_rng(0).normal(size=rows.shape[1])
    _, first, place = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first][place], rows):
        _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return rows[first[order]], rank[place.ravel()]


def _single(matrix: Any) -> Any:
    """Numbers of 32 bits, as scikit-learn's trees take them."""
    if not sparse.issparse(matrix):
        return rounded(matrix)
    data = rounded(matrix.data)
    return sparse.csr_matrix(
        (data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)), shape=matrix.shape
    )


def _of_sklearn(tree: Any, values: Floats) -> _NumberedTree:
    """A tree of scikit-learn's trees and forests; thresholds are rounded down to 32 bits, which separates as well."""
    n = tree.node_count
    threshold = tree.threshold.astype(np.float32)
    too_high = threshold.astype(np.float64) > tree.threshold
    threshold[too_high] = np.nextafter(threshold[too_high], np.float32(-np.inf))
    missing_left = np.asarray(tree.missing_go_to_left, dtype=np.bool_)
    return _NumberedTree(
        tree.children_left[:n], tree.children_right[:n], tree.feature[:n], threshold, missing_left, values
    )


def _mean_trees(estimator: Any) -> FloatTrees:
    """A tree, or a forest: the mean of its trees."""
    fitted = getattr(estimator, "estimators_", None) or [estimator]
    for_classes = is_classifier(estimator)
    trees = [_of_sklearn(one.tree_, one.tree_.value[:, 0, :]) for one in fitted]
    n_outputs = trees[0].values.shape[1]
    return _sum_of(trees, (len(trees), 1), np.zeros(n_outputs), True, "share" if for_classes else "number")


def _gradient_trees(estimator: Any) -> FloatTrees:
    """Gradient boosting over sorted values: the learning rate is part of the leaves."""
    if not (estimator.init is None or estimator.init == "zero"):
        raise TypeError("init is an estimator, which has no file format here: use None or 'zero'")
    rate = estimator.learning_rate
    trees = [_of_sklearn(one.tree_, rate * one.tree_.value[:, 0, :]) for one in estimator.estimators_.ravel()]
    baseline = np.asarray(estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), np.float32)))[0]
    model = _sum_of(trees, estimator.estimators_.shape, baseline, False, _link(estimator, len(baseline)))
    if estimator.loss != "exponential":
        return model
    return replace(model, values=2 * model.values, baseline=2 * model.baseline)


def _link(estimator: Any, n_outputs: int) -> str:
    if is_classifier(estimator):
        return "logistic" if n_outputs == 1 else "softmax"
    return "exp" if estimator.loss in ("poisson", "gamma") else "number"


def _fit_histograms(estimator: Any, matrix: Any, y: AnyArray, weight: Weight, wide: dict[int, int]) -> FloatTrees:
    if sparse.issparse(matrix):
        if matrix.shape[0] * matrix.shape[1] > MOST_DENSE:
            raise ValueError(
                f"histogram boosting needs a dense matrix, which would have {matrix.shape} cells: use a forest"
            )
        matrix = matrix.toarray()
    named = [column for column, size in wide.items() if 0 < size <= estimator.max_bins]
    estimator.set_params(categorical_features=named or None)
    estimator.fit(matrix, y, sample_weight=weight)
    order = np.array([*named, *(j for j in range(matrix.shape[1]) if j not in named)])  # as its preprocessor has them
    trees, sets, n_sets = [], [np.empty((0, SET_BITS // 32), dtype=np.uint32)], 0
    for predictor in (one for each in estimator._predictors for one in each):
        nodes = predictor.nodes
        is_leaf, by_set = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
        member = np.where(by_set & ~is_leaf, n_sets + nodes["bitset_idx"].astype(np.int64), -1)
        left = np.where(is_leaf, -1, nodes["left"].astype(np.int64))
        right = np.where(is_leaf, -1, nodes["right"].astype(np.int64))
        column = order[np.where(is_leaf, 0, nodes["feature_idx"])]
        threshold = np.where(by_set, 0.0, nodes["num_threshold"])
        trees.append(
            _NumberedTree(left, right, column, threshold, nodes["missing_go_to_left"], nodes["value"][:, None], member)
        )
        sets.append(predictor.raw_left_cat_bitsets.reshape(-1, SET_BITS // 32))
        n_sets += len(sets[-1])
    baseline = np.asarray(estimator._baseline_prediction, dtype=np.float64).ravel()
    shape = len(estimator._predictors), len(baseline)
    return _sum_of(trees, shape, baseline, False, _link(estimator, len(baseline)), np.concatenate(sets))


# ---------------------------------------------------------------- linear models


def _fit_linear(estimator: Any, matrix: Any, y: AnyArray, weight: Weight, wide: dict[int, int]) -> LinearSum:
    numbers = [j for j in range(matrix.shape[1]) if j not in wide]
    codes = {column: _codes(matrix[:, column], size) for column, size in wide.items()}
    fill, mean, scale = _standards(matrix if not wide else matrix[:, numbers], weight)
    places = {column: _indicators(one, wide[column]) for column, one in codes.items()}
    if sparse.issparse(matrix):
        data = np.where(np.isnan(matrix.data), fill[matrix.indices], matrix.data) / scale[matrix.indices]
        prepared: Any = sparse.csr_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    else:
        block = matrix[:, numbers]
        prepared = (np.where(np.isnan(block), fill, block) - mean) / scale
        if wide:
            prepared = _with_indicators(prepared, [places[column][one] for column, one in codes.items()])
    if getattr(estimator, "multi_class", None) in ("ovr", "multinomial") or (
        getattr(estimator, "solver", None) == "liblinear" and len(np.unique(y)) > 2
    ):
        raise TypeError("this form of several classes has no file format here: use solver='lbfgs' and no multi_class")
    estimator.fit(prepared, y, sample_weight=weight)
    coefficients = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64)).T
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), coefficients.shape[1:])
    tables, start = [np.empty((0, coefficients.shape[1]))], len(numbers)
    for place in places.values():
        width = int(place.max(initial=-1)) + 1
        own = np.vstack([coefficients[start : start + width], np.zeros((1, coefficients.shape[1]))])  # -1: no indicator
        tables.append(own[place])
        start += width
    n_outputs = coefficients.shape[1]
    link = "number" if not is_classifier(estimator) else "logistic" if n_outputs == 1 else "softmax"
    return LinearSum(
        fill, mean, scale, coefficients[: len(numbers)].copy(), np.concatenate(tables), np.array(intercept), wide, link
    )


def _codes(column: Floats, size: int) -> Ints:
    """The codes of a category column, `size` where missing."""
    return np.where(np.isnan(column), size, column).astype(np.int64)


def _standards(matrix: Any, weight: Weight) -> tuple[Floats, Floats, Floats]:
    """What stands for a missing number, the mean and the scale of each column; of a sparse matrix 0 and the maximum."""
    if sparse.issparse(matrix):
        filled = matrix.copy()
        filled.data = np.abs(np.nan_to_num(matrix.data))
        scale = filled.max(axis=0).toarray().ravel() if matrix.shape[0] else np.zeros(matrix.shape[1])
        return np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1]), np.where(scale > 0, scale, 1.0)
    share = np.full(len(matrix), 1 / len(matrix)) if weight is None else weight / weight.sum()
    known = ~np.isnan(matrix)
    mass = share @ known
    fill = np.divide(share @ np.where(known, matrix, 0.0), mass, out=np.zeros(matrix.shape[1]), where=mass > 0)
    distance = np.where(known, matrix, fill) - fill
    largest = np.abs(distance).max(axis=0, initial=0.0)  # squares of it may overflow
    largest[largest == 0] = 1.0
    spread = largest * np.sqrt(share @ np.square(distance / largest))
    noise = len(matrix) * np.finfo(np.float64).eps * np.abs(fill)  # of a constant column
    return fill, fill, np.where(spread > noise, spread, 1.0)


def _indicators(codes: Ints, size: int) -> Ints:
    """The number of the indicator of each code, missing ones last; -1: none.

    Rare codes share one. Where there are rare ones, so do missing values that no training row has.
    """
    counts = np.bincount(codes, minlength=size + 1)
    common = np.flatnonzero(counts >= RARE)
    place = np.full(size + 1, -1)
    place[common] = np.arange(len(common))
    if np.any((counts > 0) & (counts < RARE)):
        place[counts < RARE] = len(common)
    return place


def _with_indicators(numbers: Floats, places: list[Ints]) -> Any:
    """The numbers, and a column for each indicator: dense where that is small."""
    rows, parts = np.arange(len(numbers)), []
    for place in places:
        width, has = int(place.max(initial=-1)) + 1, place >= 0
        parts.append(sparse.csr_matrix((np.ones(int(has.sum())), (rows[has], place[has])), shape=(len(rows), width)))
    n_columns = numbers.shape[1] + sum(part.shape[1] for part in parts)
    if len(rows) * n_columns <= MOST_INDICATORS:
        return np.hstack([numbers, *(part.toarray() for part in parts)])
    return sparse.hstack([sparse.csr_matrix(numbers), *parts], format="csr")
