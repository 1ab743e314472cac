"""How large the trees of ensembles are: Figure 3 of the DeepBoost paper.

Every distinct voter counts once; its size is the number of its nodes, leaves among them.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from electorate.inspection.shapes import tree_sizes
from electorate.report.drawing import HATCHES, SHADES, axes, finish, named

MANY = 14  # sizes; beyond, not every one is named on the axis


class TreeSizesDisplay:
    """The distribution of the sizes of trees.

    Parameters
    ----------
    sizes : mapping of names to arrays of whole numbers
        Nodes of every tree of each model.

    Attributes
    ----------
    ax_, figure_ : after ``plot``

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, TreeSizesDisplay, Trees
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(Trees(2), n_estimators=5).fit(X, y)
    >>> int(TreeSizesDisplay.from_estimator(model).sizes["AdaBoostClassifier"].max())
    7
    """

    ax_: Any
    figure_: Any

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        self.sizes = {name: np.asarray(found, dtype=np.int64) for name, found in sizes.items()}
        if not any(len(found) for found in self.sizes.values()):
            raise ValueError("there are no trees to count")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        return cls({type(estimator).__name__: tree_sizes(estimator)}).plot(ax)

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], *, ax: Any = None) -> Self:
        return cls({name: tree_sizes(model) for name, model in estimators.items()}).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Bars beside each other where there are several models."""
        self.ax_ = axes(self, ax)
        self.figure_ = self.ax_.figure
        met = np.unique(np.concatenate(list(self.sizes.values())))
        apart = float(np.diff(met).min(initial=2))
        width = 0.8 * apart / len(self.sizes)
        for k, (name, found) in enumerate(self.sizes.items()):
            counts = [int(np.sum(found == size)) for size in met]
            at = met - 0.4 * apart + (k + 0.5) * width
            look = {"color": SHADES[k % len(SHADES)], "hatch": HATCHES[k % len(HATCHES)], "edgecolor": "0.15"}
            self.ax_.bar(at, counts, width, label=named(name), linewidth=0.6, **look)
        if len(met) <= MANY:
            self.ax_.set_xticks(met)
        self.ax_.set_xlim(met[0] - apart, met[-1] + apart)
        self.ax_.yaxis.get_major_locator().set_params(integer=True)
        finish(self.ax_, "nodes of a tree", "trees", "best" if len(self.sizes) > 1 else None)
        return self
