"""The shape functions of ensembles of stumps, and the sizes of the trees of an ensemble.

Stumps are additive: f(x) is a constant plus one function of each column. Sums are those of the votes, on their grid.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.exact import UNITS, Floats, Ints
from electorate.model.ensemble import Ensemble, tables_of
from electorate.model.text import column_names
from electorate.training.lazy_inputs import refuse_lazy_for

ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """The sum of all stumps on one column.

    Attributes
    ----------
    column, name : place and name of the column
    edges : ndarray
        Of a numeric column, ascending: a value at most edges[0] is in the first cell, one above edges[-1] in the last.
    levels : list or None
        Of a column of categories, in the order of the cells; None for numbers.
    values : ndarray, [cell] or [class, cell]
        What is added to f.
    missing : float or ndarray
        What is added where the value is missing, or a category that was not seen.
    had_missing : bool
        Whether there were missing values in training.
    """

    column: int
    name: str
    edges: Floats
    levels: list[Any] | None
    values: Floats
    missing: Any
    had_missing: bool

    def at(self, x: Floats) -> Floats:
        """What is added for values of the column, categories as their numbers in `levels`; NaN where missing."""
        missing = np.isnan(x)
        cell = np.searchsorted(self.edges, x) if self.levels is None else np.where(missing, 0, x).astype(np.int64)
        found = self.values[..., np.where(missing, 0, cell)]
        return np.where(missing, np.expand_dims(self.missing, -1), found)

    @property
    def weight(self) -> float:
        """How far it can move f."""
        both = np.column_stack([np.atleast_2d(self.values), np.atleast_1d(self.missing)])
        used = both if self.had_missing else both[:, :-1]
        return float((used.max(axis=1) - used.min(axis=1)).max())


def shape_functions(model: Any) -> tuple[Floats, list[ShapeFunction]]:
    """Return the constant, and the shape functions of all columns that stumps test, the largest first.

    Parameters
    ----------
    model : a fitted classifier whose voters have at most one split each

    Returns
    -------
    constant : ndarray
        The decision without any column.
    shapes : list of ShapeFunction
        One per column, the largest first.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.inspection import shape_functions
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> constant, shapes = shape_functions(AdaBoostClassifier().fit(X, y))
    >>> bool(shapes[0].name in X.columns)
    True
    """
    check_is_fitted(model)
    ensemble = getattr(model, "ensemble_", None)
    if not isinstance(ensemble, Ensemble) or not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} has no shape functions: give a classifier of stumps")
    if np.diff(ensemble.offsets).max(initial=0) > 3:
        raise ValueError("a voter has more than one split: only stumps have one function per column")
    names = column_names(model)
    if not ensemble.fits_tables(0):
        raise ValueError(
            f"The shape functions of {len(ensemble.cells.columns)} columns for {ensemble.n_outputs} classes would take "
            "far more memory than the model: use rule_table, or decision_function."
        )
    parts = zip(ensemble.cells.columns.tolist(), ensemble.cells.edges, tables_of(ensemble), strict=True)
    shapes = [_shape(model, column, names[column], edges, table) for column, edges, table in parts]
    return ensemble.constant / UNITS, sorted(shapes, key=lambda shape: -shape.weight)


def shape_parts(model: Any, X: Any) -> tuple[list[ShapeFunction], Floats]:
    """The shape functions of a model of stumps, and what each adds to f for every row: [row, shape], or a class first.

    Their sum over the shapes, and the constant, is f.
    """
    refuse_lazy_for("shape_parts", X)
    shapes = shape_functions(model)[1]
    table = model._check_rows(X, reset=False)
    if not shapes:
        n_outputs = model.ensemble_.n_outputs
        return [], np.zeros((table.n_rows, 0) if n_outputs == 1 else (n_outputs, table.n_rows, 0))
    read, parts = model._reader(table), []
    for low in range(0, max(table.n_rows, 1), ROWS_AT_ONCE):
        block = read(low, min(low + ROWS_AT_ONCE, table.n_rows))
        parts.append(np.stack([shape.at(block[shape.column]) for shape in shapes], axis=-1))
    return shapes, np.concatenate(parts, axis=-2)


def deciles_of(model: Any, X: Any, shapes: list[ShapeFunction]) -> dict[int, Floats]:
    """Return for the columns of numbers among the shapes nine values that part the rows into tenths."""
    table = model._check_rows(X, reset=False)
    numeric = [shape.column for shape in shapes if shape.levels is None]
    columns = table.numbers(0, table.n_rows, numeric) if numeric else []
    shares = np.linspace(0.1, 0.9, 9)
    return {j: np.nanquantile(x, shares) for j, x in zip(numeric, columns, strict=True) if not np.all(np.isnan(x))}


def tree_sizes(model: Any) -> Ints:
    """Count the nodes of every distinct voter, leaves among them.

    Parameters
    ----------
    model : fitted estimator
        With electorate's own trees or stumps.

    Returns
    -------
    ndarray of int
        The nodes of each distinct voter.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, Trees
    >>> from electorate.inspection import tree_sizes
    >>> model = AdaBoostClassifier(Trees(2), n_estimators=3).fit(*load_breast_cancer(return_X_y=True))
    >>> tree_sizes(model)
    array([7, 7, 7])
    """
    check_is_fitted(model)
    ensemble = model._merged() if hasattr(model, "_merged") else getattr(model, "ensemble_", None)
    if not isinstance(ensemble, Ensemble):
        raise TypeError(f"the voters of {type(model).__name__} are not electorate's trees: their sizes are not known")
    return np.diff(ensemble.offsets)


def _shape(model: Any, column: int, name: str, edges: Floats, table: Ints) -> ShapeFunction:
    """table: [output, cell], the sum of all stumps on the column, the last cell for missing values."""
    levels, cells, known = None, table.shape[1] - 1, model.bins_.categories.get(column)
    if known is not None:
        levels = [*known.levels.tolist(), *(["(others)"] if known.rest else [])]
        edges, cells = np.empty(0), len(levels)
    values = table / UNITS if len(table) > 1 else table[0] / UNITS
    has_missing = bool(model.bins_.has_missing[column])
    return ShapeFunction(column, name, edges, levels, values[..., :cells], values[..., -1], has_missing)
