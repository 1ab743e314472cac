"""A fitted model of stumps or trees, followed question by question in plain Python: what the tests compare with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def leaves(model: Any, X: NDArray[np.float64]) -> NDArray[np.int64]:
    """[voter, row]: the node, counted over all voters, in which each row ends."""
    ensemble = model.ensemble_
    return np.array([[_leaf(model, root, row) for row in X] for root in ensemble.offsets[:-1].tolist()])


def outputs(model: Any, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """[voter, row]: what each voter says, for two classes."""
    return np.asarray(model.ensemble_.value[leaves(model, X), 0])


def goes_left(model: Any, node: int, row: NDArray[np.float64]) -> bool:
    """The answer of one row to the question of one node. Categories that were not seen are missing."""
    ensemble = model.ensemble_
    column = int(ensemble.column[node])
    value = float(row[column])
    if ensemble.members[node] >= 0:
        levels = model.bins_.categories[column].levels.tolist()
        if value not in levels:
            return bool(ensemble.missing_left[node])
        return bool(ensemble.sets[ensemble.members[node]][levels.index(value)])
    if np.isnan(value):
        return bool(ensemble.missing_left[node])
    return bool(value <= ensemble.threshold[node])


def _leaf(model: Any, root: int, row: NDArray[np.float64]) -> int:
    node = root
    while model.ensemble_.column[node] >= 0:
        node = root + int(model.ensemble_.children[node][0 if goes_left(model, node, row) else 1])
    return node
