"""Partial dependence of models whose vote is a sum, in scikit-learn's terms, without a prediction for every grid point.

Voters that do not split on the columns in question vote once per row. The others vote once per row and cell: grid
points between the same two thresholds are one cell. The sums are exact, so the result is that of predicting each point.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.stats.mstats import mquantiles
from sklearn.utils import Bunch

from electorate.arrays import Floats, Ints
from electorate.export.summed_trees import SummedTrees, summed_trees
from electorate.grid import UNITS
from electorate.model.ensemble import LEAF, Ensemble
from electorate.training.lazy_inputs import refuse_lazy_for

Votes = Ints
KINDS, RESPONSES = ("average", "individual", "both"), ("auto", "predict_proba", "decision_function")


def partial_dependence(
    model: Any,
    X: Any,
    features: Any,
    *,
    sample_weight: Any = None,
    response_method: str = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int = 100,
    kind: str = "average",
) -> Bunch:
    """Return the mean prediction as a function of some columns, as scikit-learn's function of this name does.

    Parameters
    ----------
    model : a fitted model that adds the votes of electorate's stumps, trees, rules, pairs or pools
    X : array-like, sparse matrix or dataframe
        The rows to average over.
    features : int, str or a sequence of them
        The columns, by position or name. Several give a grid of all combinations of their values.
    sample_weight : array-like, optional
        Weights of the rows in the average.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        What to average of a classifier. "auto" is `predict_proba`. A regressor has its predictions.
    percentiles : tuple of float, default=(0.05, 0.95)
        Where the grid of a column with many values begins and ends.
    grid_resolution : int, default=100
        The number of equally spaced grid points. A column with fewer distinct values has these instead.
    kind : {"average", "individual", "both"}, default="average"
        The average over the rows, the curve of every row, or both.

    Returns
    -------
    Bunch
        ``grid_values``, a list of one array per column; ``average``, of shape (outputs, points of the first column,
        ...); ``individual``, of shape (outputs, rows, points of the first column, ...). Two classes have one output,
        the second class; more have one per class.

    See Also
    --------
    shape_functions : For stumps, what each column adds to the decision.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, partial_dependence
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partial_dependence(AdaBoostClassifier().fit(X, y), X, [20], grid_resolution=5).average.shape
    (1, 5)
    """
    refuse_lazy_for("partial_dependence", X)
    if kind not in KINDS or response_method not in RESPONSES:
        wrong, known = (("kind", KINDS), ("response_method", RESPONSES))[kind in KINDS]
        raise ValueError(f"{wrong} must be one of {', '.join(map(repr, known))}")
    source = summed_trees(model, "partial_dependence")
    table = source.model._check_rows(X, reset=False)
    columns = [_place(source, feature) for feature in _as_list(features)]
    block = np.array(source.model._reader(table)(0, table.n_rows))
    grids = [_grid(source, table, column, percentiles, grid_resolution) for column in columns]
    shape = tuple(len(codes) for _, codes in grids)
    points = np.array(list(product(*(codes for _, codes in grids)))).reshape(-1, len(columns)).T
    curves = _curves(source, block, columns, points, response_method != "decision_function")
    found: dict[str, Any] = {"grid_values": [values for values, _ in grids]}
    if kind != "individual":
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        average = np.average(curves, axis=1, weights=weight) if curves.size else np.empty(0)
        found["average"] = average.reshape(len(curves), *shape)
    if kind != "average":
        found["individual"] = curves.reshape(*curves.shape[:2], *shape)
    return Bunch(**found)


def _as_list(features: Any) -> Sequence[Any]:
    return [features] if isinstance(features, str | int | np.integer) else list(features)


def _place(source: SummedTrees, feature: Any) -> int:
    if isinstance(feature, str):
        if feature not in source.names:
            raise ValueError(f"no column is called {feature!r}")
        return source.names.index(feature)
    if not -len(source.names) <= int(feature) < len(source.names):
        raise ValueError(f"column {feature} is not one of {len(source.names)} columns")
    return int(feature) % len(source.names)


def _grid(source: SummedTrees, table: Any, column: int, percentiles: tuple[float, float], n: int) -> tuple[Any, Floats]:
    """Return the grid points of a column, and how the trees read them: categories as codes."""
    categories = source.categories(column)
    if categories is not None and categories.is_text:
        present = np.unique(table.codes(0, table.n_rows, column, categories))
        codes = present[~np.isnan(present)].astype(np.int64)
        names = np.array([*categories.levels.tolist(), *categories.rest[:1]], dtype=object)
        return names[codes], codes.astype(np.float64)
    x = table.numbers(0, table.n_rows, [column])[0]
    values = np.unique(x[~np.isnan(x)])
    if len(values) >= n and categories is None:
        low, high = mquantiles(x[~np.isnan(x)], prob=percentiles)
        values = np.linspace(low, high, n)
    if categories is None:
        return values, values
    known, codes = categories.by_number
    is_known = np.isin(values, known)
    return values[is_known], codes[np.searchsorted(known, values[is_known])]


def _curves(source: SummedTrees, block: Floats, columns: list[int], points: Floats, by_probability: bool) -> Floats:
    """[output, row, point] of the responses. points: [column, point]."""
    splits = np.isin(source.trees.column, columns) & (source.trees.column != LEAF)
    touched = np.logical_or.reduceat(splits, source.trees.offsets[:-1]) if source.trees.n_voters else np.zeros(0, bool)
    fixed, moving = (_part(source.trees, np.flatnonzero(chosen)) for chosen in (~touched, touched))
    votes = _votes(fixed, block)
    if not points.size:  # a column without any value
        return _response(source, _votes(source.trees, block), by_probability)[..., None][..., :0]
    cells, place = np.unique(_cells(moving, columns, points), axis=1, return_inverse=True, return_index=True)[1:]
    found = [_response(source, votes + _moved(moving, block, columns, points[:, k]), by_probability) for k in cells]
    return np.stack(found, axis=-1)[..., place.ravel()]


def _part(trees: Ensemble, voters: Ints) -> Ensemble:
    return trees.chosen(voters.tolist(), trees.steps[voters].tolist())


def _votes(trees: Ensemble, block: Floats) -> Votes:
    return trees.votes(block.shape[1], lambda low, high: np.ascontiguousarray(block[:, low:high]))


def _cells(trees: Ensemble, columns: list[int], points: Floats) -> Ints:
    """[column, point]: between which thresholds of the trees a point is; a category is its own cell."""
    found = np.zeros(points.shape, dtype=np.int64)
    for row, column in enumerate(columns):
        edges = np.unique(trees.threshold[(trees.column == column) & (trees.members < 0)])
        by_category = np.any((trees.column == column) & (trees.members >= 0))
        found[row] = points[row].astype(np.int64) if by_category else np.searchsorted(edges, points[row])
    return found


def _moved(trees: Ensemble, block: Floats, columns: list[int], point: Floats) -> Votes:
    """[output, row] of the votes with some columns set to a point; for stumps, [output, 1]."""
    moved = block[:, :1].copy() if trees.lookup is not None else block.copy()
    moved[columns] = point[:, None]
    return _votes(trees, moved)


def _response(source: SummedTrees, votes: Votes, by_probability: bool) -> Floats:
    """[output, row]"""
    model = source.model
    if not source.is_classifier:
        return np.asarray(source.start[:, None] + source.slope[:, None] * (votes / UNITS))
    decision = model._decision(votes, model._total_step())
    if not by_probability:
        return np.atleast_2d(np.asarray(decision).T)
    proba = model._calibrated_probabilities(decision).T
    return np.asarray(proba[1:] if len(proba) == 2 else proba)
