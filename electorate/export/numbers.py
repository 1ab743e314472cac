"""Rows as the exported models take them: one matrix of doubles."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.arrays import Floats
from electorate.model.model_trees import no_ensemble
from electorate.training.lazy_inputs import refuse_lazy_for


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
    >>> from electorate import AdaBoostClassifier, export_input
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
