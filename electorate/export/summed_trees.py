"""The trees of a model whose votes are added, or the reason why a model has none that can be exported."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.exact import UNITS, Floats
from electorate.model.ensemble import Ensemble
from electorate.model.text import column_names
from electorate.model.voter_view import no_ensemble
from electorate.training.lazy_inputs import refuse_lazy_for


class SummedTrees(NamedTuple):
    """A model as exports see it: the number of output k is start[k] + slope[k] * (the sum of the votes of its trees).

    The numbers are decisions of a classifier (one for two classes) and predictions of a regressor.
    """

    model: Any
    trees: Ensemble
    slope: Floats
    start: Floats
    names: list[str]  # of the columns

    @property
    def is_classifier(self) -> bool:
        return hasattr(self.model, "classes_")

    @property
    def constant(self) -> Floats:
        """The votes of trees that are one leaf."""
        return np.asarray(self.trees.constant / UNITS)

    def categories(self, column: int) -> Any:
        """The known levels of a column, None for a column of numbers."""
        return self.model.bins_.categories.get(column)


def summed_trees(model: Any, what: str) -> SummedTrees:
    """Return the trees of a fitted model, or raise TypeError. what: the name of the caller, for the message."""
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    name = type(model).__name__
    if hasattr(model, "vote_"):
        raise TypeError(
            f"{what} is for models that add votes, and {name} predicts their weighted median: use QuadBoostRegressor, "
            "which adds votes"
        )
    if not hasattr(model, "ensemble_"):
        raise TypeError(no_ensemble(model, what))
    ensemble = model.ensemble_
    if not isinstance(ensemble, Ensemble):
        raise TypeError(
            f"{what} is for electorate's trees, and the voters of this {name} are {_voters(model)}: use stumps, trees, "
            "rules, pairs or a pool as its voters"
        )
    return SummedTrees(model, ensemble, *affine(model), column_names(model))


def affine(model: Any) -> tuple[Floats, Floats]:
    """Return slope and start of every output: decision, or prediction, = start + slope * sum of votes."""
    if not hasattr(model, "classes_"):
        return np.array([model.scale_]), np.array([model.intercept_])
    votes = np.zeros((model.ensemble_.n_outputs, 2), dtype=np.int64)
    votes[:, 1] = UNITS
    at = np.asarray(model._decision(votes, model._total_step()), dtype=np.float64).reshape(2, -1)
    return at[1] - at[0], at[0]


def _voters(model: Any) -> str:
    fitted: Sequence[Any] = getattr(model.ensemble_, "fitted", ())
    return f"of the type {type(fitted[0]).__name__}" if len(fitted) else "of another kind"


# ---------------------------------------------------------------- rows


def export_input(model: Any, X: Any) -> Floats:
    """Return X as the input array of exported models, in double precision.

    Numbers are not changed, and neither are categories that are numbers. Categories that are texts become their
    positions in ``model.bins_.categories[column].levels``, from 0; rare categories share the next number.
    Missing values and categories that were not seen in training become NaN.

    Parameters
    ----------
    model : fitted classifier or regressor
        A model with voters of electorate's own families.
    X : array-like, sparse matrix or dataframe
        Rows with the columns of the training data.

    Returns
    -------
    ndarray of shape (rows, columns)
        Float64, in C order.

    See Also
    --------
    contributions : Exact Shapley values without an export.

    Examples
    --------
    >>> import pandas as pd
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.export import export_input
    >>> X = pd.DataFrame({"color": ["red", "blue", "red", "green"], "size": [1.5, 2.0, None, 4.0]})
    >>> model = AdaBoostClassifier().fit(X, [0, 1, 0, 1])
    >>> export_input(model, X)
    array([[2. , 1.5],
           [0. , 2. ],
           [2. , nan],
           [1. , 4. ]])
    """
    refuse_lazy_for("export_input", X)
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    if not (hasattr(model, "ensemble_") or hasattr(model, "vote_")):
        raise TypeError(no_ensemble(model, "export_input"))
    if not model._is_native:
        raise TypeError(f"{type(model).__name__} does not split columns into bins: its voters cannot be exported")
    table = model._check_rows(X, reset=False)
    block = np.array(model._reader(table)(0, table.n_rows))
    for column, categories in model.bins_.categories.items():
        if not categories.is_text:
            numbers = table.numbers(0, table.n_rows, [column])[0]
            block[column] = np.where(np.isnan(block[column]), np.nan, numbers)
    return np.ascontiguousarray(block.T)
