"""Importances of the columns of a fitted model: by splits, by permutation, and by margins.

The importance of a column for predictions or margins is what they lose when its values are shuffled among the rows.
"""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from electorate.data.cleaning import clean_beforehand
from electorate.data.sparse_format import check_sparse
from electorate.exact import Floats, Ints
from electorate.inspection.margins import margins
from electorate.model.text import column_names


@dataclass(frozen=True, eq=False)
class Importances:
    """The importance of every column.

    Attributes
    ----------
    names : list of str
        The names of the columns.
    split : ndarray
        The share of the steps that belongs to splits on each column: ``feature_importances_``.
    permutation : ndarray
        How much the error of a classifier, or the mean absolute error of a regressor, grows when the column is
        shuffled. Without labels: the share of predictions that change, or their mean absolute change.
    margin : ndarray or None
        How much the mean margin falls when the column is shuffled; None if the model has no margins.
    by_labels : bool
        Whether labels or targets were given.
    """

    names: list[str]
    split: Floats
    permutation: Floats
    margin: Floats | None
    by_labels: bool

    @property
    def order(self) -> list[int]:
        """The columns, the most important first: by permutation, then by splits."""
        return np.lexsort((-self.split, -self.permutation)).tolist()


def check_explainable(model: Any, what: str) -> None:
    """Raise TypeError for a model without importances, such as one that combines models of other libraries."""
    if not hasattr(type(model), "feature_importances_"):
        raise TypeError(
            f"{what} is for models of electorate with feature_importances_, and {type(model).__name__} is not one"
            + (": pass one of its estimators_" if hasattr(model, "estimators_") else "")
        )
    try:
        model.feature_importances_  # noqa: B018 (some voters have none)
    except AttributeError as error:
        raise TypeError(f"{what} needs the importances of the columns: {error}") from error


def column_importances(model: Any, X: Any, y: Any = None, *, repeats: int = 3, random_state: Any = 0) -> Importances:
    """Return how much each column matters.

    Parameters
    ----------
    model : fitted estimator of electorate
    X : array-like, sparse matrix or dataframe
        Rows.
    y : array-like, optional
        Their labels or targets. Without them, importances are computed with the model's own predictions.
    repeats : int, default=3
        How often each column is shuffled.
    random_state : int, RandomState instance or None, default=0
        Seed of the shuffling.

    Returns
    -------
    Importances
        By splits, by permutation and by margin.
    """
    check_is_fitted(model)
    check_explainable(model, "column_importances")
    model, X, y = clean_beforehand(model, X, y)
    rng, rows = check_random_state(random_state), ShuffledRows(X)
    truth = model.predict(X) if y is None else np.asarray(y)
    now = _losses(model, X, truth)
    used = np.flatnonzero(model.feature_importances_ > 0)
    permutation, margin = np.zeros(model.n_features_in_), np.zeros(model.n_features_in_)
    for column in used.tolist():
        orders = [rng.permutation(rows.n_rows) for _ in range(repeats)]
        shuffled = [_losses(model, rows.shuffled(column, order), truth) for order in orders]
        permutation[column], margin[column] = (np.mean(shuffled, axis=0) - now) * [1, -1]
    has_margins = not np.isnan(now[1])
    split = np.asarray(model.feature_importances_)
    return Importances(column_names(model), split, permutation, margin if has_margins else None, y is not None)


def _losses(model: Any, X: Any, truth: Any) -> tuple[float, float]:
    """Return the error against the truth, and the mean margin, NaN where there is none."""
    if not hasattr(model, "classes_"):
        return float(np.mean(np.abs(model.predict(X) - truth))), np.nan
    error = float(np.mean(model.predict(X) != truth))
    try:
        return error, margins(model, X, truth).mean
    except (ValueError, TypeError):  # one class only, or voters of another library without a largest output
        return error, np.nan


class ShuffledRows:
    """A table whose columns can be shuffled."""

    def __init__(self, X: Any) -> None:
        self.X = X
        frame = nw.from_native(X, pass_through=True)
        self.frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        self.is_frame = isinstance(self.frame, nw.DataFrame)
        if not self.is_frame:
            self.array = check_sparse(X).toarray() if issparse(X) else np.array(X)
        self.n_rows = len(self.frame) if self.is_frame else len(self.array)

    def shuffled(self, column: int, order: Ints) -> Any:
        """Return the rows with one column in another order."""
        if self.is_frame:
            name = self.frame.columns[column]
            return self.frame.with_columns(self.frame[order.tolist(), name].alias(name)).to_native()
        copy = self.array.copy()
        copy[:, column] = copy[order, column]
        return copy
