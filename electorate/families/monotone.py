"""Trees whose output only rises, or only falls, along some columns.

A tree has this property if at every split on such a column no leaf on the lower side has a larger output than a leaf on
the upper side. The search leaves out columns whose best split goes the other way. Where splits below it break the
order, both sides are clipped at a value between their means, from the root down. A sum of such trees with positive
weights, and their weighted median, have the property too.
"""

from typing import Any

import numpy as np

from electorate.data.bins import Bins
from electorate.exact import Bools, Floats, Ints, ordered_sum
from electorate.families.splits import Found, SplitFinder, leaf_outputs
from electorate.messages import SplitArrays

SIGNS = (-1, 0, 1)


def is_monotone(family: Any) -> bool:
    """Whether a family of this package, or one of a union, has such columns. Trees of scikit-learn do not count."""
    members = [one for one in getattr(family, "families", [family]) if not hasattr(one, "fit")]
    return any(getattr(one, "monotonic_cst", None) is not None for one in members)


def read_signs(monotonic_cst: Any, bins: Bins) -> Ints | None:
    """[column]: 1 where the output may only rise, -1 where it may only fall, 0 elsewhere; None: everywhere 0."""
    if monotonic_cst is None:
        return None
    given, n_columns = np.asarray(monotonic_cst), len(bins.n_bins)
    if given.shape != (n_columns,):
        raise ValueError(
            f"monotonic_cst has the shape {given.shape}; X has {n_columns} columns: give one sign for each"
        )
    if not np.isin(given, SIGNS).all():
        column = int(np.flatnonzero(~np.isin(given, SIGNS))[0])
        raise ValueError(f"monotonic_cst is {given[column]} for column {column}: use -1, 0 or 1")
    signs = given.astype(np.int64)
    for column in bins.categories:
        if signs[column]:
            raise ValueError(f"monotonic_cst is {signs[column]} for column {column}, which has categories: use 0")
    return signs if signs.any() else None


def best_among(finder: SplitFinder, columns: Bools, node: Any, engine: Any, signs: Ints | None) -> Found | None:
    """The best split of a node on these columns, without those whose best split goes the wrong way."""
    columns = columns.copy()
    while True:
        found = finder.among(columns).best_of_all([node], engine)[0]
        if found is None or signs is None or signs[found.column] * finder.rise(found.sums) >= 0:
            return found
        columns[found.column] = False


def monotone_outputs(kind: str, smoothing: float, voter: Any, signs: Ints) -> Floats:
    """`leaf_outputs` of a tree for two labels, made monotone.

    Where that leaves no edge they are constant: all 0, or the heavier label if they are labels.
    """
    outputs = leaf_outputs("gentle" if kind == "label" else kind, voter.sums, smoothing)[:, 0]
    if not np.isfinite(outputs).all():
        raise ValueError(
            "monotonic_cst with smoothing=0: outputs of pure leaves would be infinite; use a smoothing > 0"
        )
    outputs = clipped(voter.splits, voter.leaves, outputs, voter.sums.sum(axis=1), signs)
    if kind == "label":
        outputs = np.where(outputs > 0, 1.0, -1.0)
    edge = float(ordered_sum((voter.sums[:, 1] - voter.sums[:, 0]) * outputs))
    if edge <= 0:  # a negative step would turn the tree around
        negative, positive = voter.sums.sum(axis=0).tolist()
        heavier = 1.0 if positive > negative else -1.0
        outputs = np.full_like(outputs, heavier if kind == "label" else 0.0)
    return outputs[:, None]


def clipped(splits: Any, leaves: list[int], values: Floats, weights: Ints, signs: Ints) -> Floats:
    """The values of the leaves, clipped so that the tree is monotone."""
    values, tree = values.copy(), SplitArrays.of(splits)
    below = _leaves_below(tree, leaves)
    for split in tree:
        if signs[split.column]:
            sides = below[split.left], below[split.right]
            low, high = sides if signs[split.column] > 0 else sides[::-1]
            if values[low].max() > values[high].min():
                middle = 0.5 * (_mean(values[low], weights[low]) + _mean(values[high], weights[high]))
                values[low] = np.minimum(values[low], middle)
                values[high] = np.maximum(values[high], middle)
    return values


def _leaves_below(tree: SplitArrays, leaves: list[int]) -> dict[int, list[int]]:
    """Return by node the places of the leaves below it."""
    below = {node: [place] for place, node in enumerate(leaves)}
    for split in reversed(list(tree)):  # children first
        below[split.node] = below[split.left] + below[split.right]
    return below


def _mean(values: Floats, weights: Ints) -> float:
    total = int(weights.sum())
    return float(ordered_sum(values * (weights / total))) if total else float(values[0])
