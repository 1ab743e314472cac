"""What a fitted classifier should say, recomputed from the outside: its voters' predictions and its steps.

Nothing here looks at how the package sums: margins come from `estimators_` and `steps_`, in plain floats.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def take(X: Any, rows: Any) -> Any:
    """Rows of an array or of a dataframe."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def codes_of(model: Any, y: Any) -> NDArray[np.int64]:
    """Labels as positions in classes_."""
    return np.searchsorted(model.classes_, np.asarray(y))


def voted(model: Any, X: Any) -> NDArray[np.int64]:
    """[voter, row]: the label each voter votes for, as a position in classes_."""
    votes = [codes_of(model, voter.predict(X)) for voter in model.estimators_]
    return np.array(votes, dtype=np.int64).reshape(len(votes), len(X))


def awards(model: Any, X: Any, y: Any) -> Floats:
    """[voter, row]: 2(K-1)/K where a voter is right, -2/K where it is wrong; +1 and -1 for two labels."""
    labels = len(model.classes_)
    return np.where(voted(model, X) == codes_of(model, y), 2 * (labels - 1) / labels, -2 / labels)


def staged_margins(model: Any, X: Any, y: Any) -> Floats:
    """[round, row] of the sums of step x award."""
    return np.cumsum(model.steps_[:, None] * awards(model, X, y), axis=0)


def margins_of_decision(model: Any, decision: Floats, y: Any, total: float) -> Floats:
    """Margins out of scikit-learn's decision function, which is divided by the sum of the steps.

    For two labels it is 2 f / total. Beyond, its column k is (K v_k - total) / ((K-1) total), where v_k are the
    steps that vote for k, and the margin is 2 v_y - 2 total / K: that is 2 (K-1)/K times the column of y, times total.
    """
    codes, labels = codes_of(model, y), len(model.classes_)
    if labels == 2:
        return np.where(codes == 1, 1, -1) * decision * total / 2
    return decision[np.arange(len(codes)), codes] * total * 2 * (labels - 1) / labels


def mean_exp(margins: Floats, weight: Floats) -> float:
    """The weighted mean of exp(-margin): the objective of every AdaBoost."""
    return float(np.average(np.exp(-margins), weights=weight))
