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


def staged_by_moves(model: Any, X: Any, y: Any) -> Floats:
    """[round, row] of y f for two labels, where voters change their weights: from `moves_`, one by one."""
    said = awards(model, X, y)
    moves = model.moves_
    weight, stages = np.zeros(len(said)), []
    for number in range(1, int(moves.round.max(initial=0)) + 1):
        mine = moves.round == number
        weight[moves.places()[mine]] = moves.weight[mine]
        stages.append(weight @ said)
    return np.array(stages).reshape(len(stages), len(X))


def margins_of_f(model: Any, decision: Floats, y: Any, total: float) -> Floats:
    """Of a decision function that is f itself, for two labels."""
    return np.where(codes_of(model, y) == 1, 1, -1) * decision


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


def mean_square(margins: Floats, weight: Floats) -> float:
    """The weighted mean of (y - f)^2 = (1 - y f)^2: the objective of QuadBoost, without a penalty."""
    return float(np.average((1 - margins) ** 2, weights=weight))


def paid(model: Any) -> Floats:
    """QuadBoost's penalty after every round; without re-weighting copies count apart."""
    moves = model.moves_
    cost = {"l1": lambda w: 2 * model.lam * np.abs(w), "l2": lambda w: model.lam * w**2}.get(
        model.penalty, np.zeros_like
    )
    rounds = np.arange(1, int(moves.round.max(initial=0)) + 1)
    if model.reweight == "never":
        return np.cumsum(cost(moves.details[:, 1]))[np.searchsorted(moves.round, rounds, side="right") - 1]
    now: dict[int, float] = {}
    found = []
    for turn in moves.changes():
        now |= {place: new for place, _, new in turn}
        found.append(float(np.sum(cost(np.array(list(now.values()))))))
    return np.array(found)
