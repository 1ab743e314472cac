"""The least change of one column that turns the vote of a row.

A vote depends on the cell of a value only, the interval between two thresholds of the model. So for every cell of a
column the value nearest to the row's own is tried, and no closer value can do what it does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.arrays import Floats, Ints
from electorate.export.summed_trees import SummedTrees
from electorate.model.text import comparison


@dataclass(frozen=True)
class Counterfactual:
    """A change of one column after which the model predicts another class.

    Attributes
    ----------
    column : str
        Its name.
    now, value : float or str
        The value of the row (None if it is missing), and the nearest value that changes the prediction.
    text : str
        The change in words: "age > 40.5", "job = 'clerk'".
    label : the class that the model then predicts
    distance : float
        The distance between the two values, in standard deviations of the column; 1 for a change of category, infinite
        if the value of the row is missing.
    """

    column: str
    now: Any
    value: Any
    text: str
    label: Any
    distance: float


def counterfactuals(source: SummedTrees, block: Floats, row: int) -> list[Counterfactual]:
    """Return the least change of every column that can turn the vote of a row, the smallest first.

    block: [column, row] as the trees read it; the spread of each column is taken from all of its rows.
    """
    found = []
    own = block[:, row]
    now = _predicted(source, own[:, None])[0]
    for place, column in enumerate(source.trees.cells.columns.tolist()):
        values = _nearest(source, place, column, float(own[column]))
        tried = np.repeat(own[:, None], len(values), axis=1)
        tried[column] = values
        turned = np.flatnonzero(_predicted(source, tried) != now)
        if len(turned):
            distance = _distances(source, column, values[turned], own[column], block[column])
            best = int(np.argmin(distance))
            found.append(_described(source, tried[:, turned[best]], column, float(own[column]), float(distance[best])))
    return sorted(found, key=lambda one: one.distance)


def _predicted(source: SummedTrees, block: Floats) -> Ints:
    """Return the codes of the predicted classes."""
    block = np.ascontiguousarray(block)
    votes = source.trees.votes(block.shape[1], lambda low, high: block[:, low:high])
    decision = source.model._decision(votes, source.model._total_step())
    return np.asarray(decision > 0 if decision.ndim == 1 else np.argmax(decision, axis=1)).astype(np.int64)


def _nearest(source: SummedTrees, place: int, column: int, own: float) -> Floats:
    """Return the value nearest to the row's own in every cell but its own; of categories, every other one."""
    categories = source.categories(column)
    if categories is not None:
        codes = np.arange(float(categories.n_codes))
        return codes[codes != own]
    edges = source.trees.cells.edges[place]
    edges = edges[np.isfinite(edges)]
    above = np.nextafter(edges, np.inf)  # the least value on the right of a threshold
    if np.isnan(own):
        return np.unique(np.concatenate([edges, above]))
    return np.concatenate([edges[edges < own], above[above > own]])


def _distances(source: SummedTrees, column: int, values: Floats, own: float, every: Floats) -> Floats:
    if np.isnan(own):
        return np.full(len(values), np.inf)
    if source.categories(column) is not None:
        return np.ones(len(values))
    known = every[~np.isnan(every)]
    spread = float(np.std(known)) if len(known) else 0.0
    return np.abs(values - own) / (spread if spread > 0 else 1.0)


def _described(source: SummedTrees, tried: Floats, column: int, own: float, distance: float) -> Counterfactual:
    name, value = source.names[column], float(tried[column])
    label = source.model.classes_[_predicted(source, tried[:, None])[0]]
    categories = source.categories(column)
    if categories is None:
        goes_up = np.isnan(own) or value > own
        edge = float(np.nextafter(value, -np.inf)) if goes_up else value
        text = f"{name} {comparison(edge, 1 if goes_up else 0)}"
        return Counterfactual(name, None if np.isnan(own) else own, value, text, label, distance)
    levels = [*categories.levels.tolist(), "a rare level"]
    level = levels[int(value)]
    before = None if np.isnan(own) else levels[int(own)]
    return Counterfactual(name, before, level, f"{name} = {level!r}", label, distance)
