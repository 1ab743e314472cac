"""A fitted model as the dictionary of plain arrays that shap.TreeExplainer takes.

shap's trees test numbers only: a test by category becomes tests of the category's number, with copies of the subtrees.
`export_input` makes categories that were not seen in training missing values.
"""

from typing import Any

import numpy as np

from electorate.data.table import Categories
from electorate.exact import UNITS, Bools, Floats
from electorate.export.summed_trees import SummedTrees, export_input, summed_trees
from electorate.model.ensemble import LEAF
from electorate.training.lazy_inputs import refuse_lazy_for

MOST_NODES = 10_000_000
NEXT_TO_NOTHING = 1e-9  # rows at a leaf that none reaches


class ShapTree:
    """The arrays of one tree while it is written."""

    def __init__(self, source: SummedTrees, n_outputs: int) -> None:
        self.source, self.n_outputs = source, n_outputs
        self.left: list[int] = []
        self.right: list[int] = []
        self.default: list[int] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.value: list[Floats] = []

    def leaf(self, value: Floats) -> int:
        return self._append(-1, -2, -2.0, value)

    def split(self, column: int, threshold: float) -> int:
        return self._append(0, column, threshold, np.zeros(self.n_outputs))

    def link(self, node: int, left: int, right: int, missing_left: bool) -> None:
        self.left[node], self.right[node] = left, right
        self.default[node] = left if missing_left else right

    def _append(self, child: int, column: int, threshold: float, value: Floats) -> int:
        if len(self.left) >= MOST_NODES:
            raise ValueError(
                "to_shap would copy the subtrees of tests by category too often: "
                "use electorate.inspection.contributions"
            )
        for array in (self.left, self.right, self.default):
            array.append(child)
        self.feature.append(column)
        self.threshold.append(threshold)
        self.value.append(value)
        return len(self.left) - 1

    def grow(self, node: int) -> int:
        """Write the subtree of a node of the model; return its root."""
        trees, column = self.source.trees, int(self.source.trees.column[node])
        if column == LEAF:
            return self.leaf(self.source.slope * trees.units[node] / UNITS)
        children, missing_left = trees.child_nodes[node].tolist(), bool(trees.missing_left[node])
        if trees.members[node] < 0:
            here = self.split(column, min(float(trees.threshold[node]), np.finfo(np.float64).max))
            self.link(here, self.grow(children[0]), self.grow(children[1]), missing_left)
            return here
        ends, on_left = _runs(self.source.categories(column), trees.sets[trees.members[node]], missing_left)
        return self._grow_runs(column, ends, [children[0] if side else children[1] for side in on_left])

    def _grow_runs(self, column: int, ends: list[float], children: list[int]) -> int:
        """Write the subtrees of runs of numbers, each up to its end; missing values take the last one."""
        if len(children) == 1:
            return self.grow(children[0])
        middle = len(children) // 2
        here = self.split(column, ends[middle - 1])
        left = self._grow_runs(column, ends[:middle], children[:middle])
        self.link(here, left, self._grow_runs(column, ends[middle:], children[middle:]), missing_left=False)
        return here

    def arrays(self) -> dict[str, Any]:
        return {
            "children_left": np.array(self.left, dtype=np.int32),
            "children_right": np.array(self.right, dtype=np.int32),
            "children_default": np.array(self.default, dtype=np.int32),
            "features": np.array(self.feature, dtype=np.int32),
            "thresholds": np.array(self.threshold),
            "values": np.array(self.value),
        }


def to_shap(model: Any, X: Any = None) -> dict[str, Any]:
    """Return the dictionary; see `Exported.to_shap`."""
    refuse_lazy_for("to_shap", X)
    source = summed_trees(model, "to_shap")
    rows = None if X is None else export_input(model, X)
    trees = []
    for root in source.trees.offsets[:-1].tolist():
        if source.trees.column[root] == LEAF:
            continue
        tree = ShapTree(source, len(source.slope))
        tree.grow(root)
        arrays = tree.arrays()
        trees.append(arrays | {"node_sample_weight": _weights(arrays, rows)})
    if not trees:
        raise ValueError("to_shap needs a model with at least one split; this one predicts the same for all rows")
    base = source.start + source.slope * source.constant
    return {
        "trees": trees,
        "base_offset": float(base[0]) if len(base) == 1 else base,
        "tree_output": "raw_value",
        "objective": "squared_error",
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
    }


def _runs(categories: Categories, codes_left: Bools, missing_left: bool) -> tuple[list[float], list[bool]]:
    """Return the ends of runs of categories that go the same way, and whether they go left.

    The ends are between known numbers. A last run, beyond them, takes the side of missing values.
    """
    known, codes = (np.arange(float(categories.n_codes)),) * 2 if categories.is_text else categories.by_number
    sides = [*codes_left[codes.astype(np.int64)].tolist(), missing_left]
    between = [*((known[1:] + known[:-1]) / 2).tolist(), *(known[-1:] + 1.0).tolist()]
    changes = [k for k in range(len(known)) if sides[k] != sides[k + 1]]
    return [between[k] for k in changes], [sides[k] for k in changes] + [missing_left]


def _weights(tree: dict[str, Any], rows: Floats | None) -> Floats:
    """Return how many rows reach each node; 1 for all without rows. shap refuses leaves that no row reaches."""
    left, right, default = (tree[f"children_{side}"] for side in ("left", "right", "default"))
    if rows is None:
        return np.ones(len(left))
    weights = np.zeros(len(left))
    waiting = [(0, np.arange(len(rows)))]
    while waiting:
        node, here = waiting.pop()
        if left[node] < 0:
            weights[node] = max(len(here), NEXT_TO_NOTHING)
            continue
        x = rows[here, tree["features"][node]]
        goes_left = np.where(np.isnan(x), default[node] == left[node], x <= tree["thresholds"][node])
        waiting += [(int(left[node]), here[goes_left]), (int(right[node]), here[~goes_left])]
    for node in np.flatnonzero(left >= 0)[::-1].tolist():  # children come after their parent
        weights[node] = weights[left[node]] + weights[right[node]]
    return weights
