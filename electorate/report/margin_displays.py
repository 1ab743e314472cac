"""Pictures of margins: the margin graph with its bound and that of the Bayes rule, and margins of several models.

Figures 2, 5 and 6 of the AdaBoost_R paper, and Figure 4 of the DeepBoost paper, are such pictures.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from electorate.inspection.margins import margins
from electorate.report.drawing import SHADES, Floats, axes, finish, lines, named, plain, pyplot
from electorate.theory.margins import Graph, Margins

MARGIN = {"normalised": "normalised margin", "logistic": "logistic margin", "award": "average award"}
BINS = 24


class MarginDisplay:
    """The margin graph: the share of rows with a margin of at most theta, against theta.

    Parameters
    ----------
    graphs : mapping of names to margins
        As of :func:`margins`, or of ``bayes_margins()`` of a simulated problem.
    bound : pair of arrays, optional
        Thetas, and what is proved of the margin errors there.

    Attributes
    ----------
    ax_, figure_, lines_ : after ``plot``

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, MarginDisplay
    >>> from electorate.simulate import XD6
    >>> X, y = XD6(0.2).sample(300, 0)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> display = MarginDisplay.from_estimator(model, X, y, kind="logistic", bayes=XD6(0.2).bayes_margins())
    >>> sorted(display.graphs)
    ['Bayes rule', 'training']
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(self, graphs: Mapping[str, Graph], bound: tuple[Floats, Floats] | None = None) -> None:
        if not graphs:
            raise ValueError("no margins to draw: give at least one")
        self.graphs = dict(graphs)
        self.bound = bound

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        kind: str | None = None,
        sample_weight: Any = None,
        bayes: Graph | None = None,
        ax: Any = None,
    ) -> Self:
        """Of the rows a model was fitted to, with their bound where training proves one, and of test rows.

        bayes: the margins of the Bayes rule, where they are known.
        """
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test come together: one was given without the other")
        training = margins(estimator, X, y, kind=kind, sample_weight=sample_weight)
        graphs: dict[str, Graph] = {"training": training}
        if X_test is not None:
            graphs["test"] = margins(estimator, X_test, y_test, kind=kind)
        if bayes is not None:
            graphs["Bayes rule"] = bayes
        proved = None if isinstance(training.proof, str) else training.bound_curve()
        return cls(graphs, proved).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into axes, or into new ones."""
        self.ax_ = axes(self, ax)
        self.figure_ = self.ax_.figure
        self.lines_ = []
        for (name, graph), style in zip(self.graphs.items(), lines(), strict=False):
            theta, error = graph.curve()
            steps = "steps-post" if isinstance(graph, Margins) else "default"
            self.lines_ += self.ax_.plot(theta, error, drawstyle=steps, label=named(name), **style)
        if self.bound is not None:
            self.lines_ += self.ax_.plot(*self.bound, color="0.5", linewidth=1, label="bound (training)")
            self.ax_.fill_between(*self.bound, 1.0, color="0.93", linewidth=0)
        _of_margins(self.ax_, self.graphs)
        return self


class CumulativeMarginsDisplay:
    """Margins of several models on the same rows: Figure 4 of the DeepBoost paper.

    Parameters
    ----------
    margins : mapping of names to Margins

    Attributes
    ----------
    ax_, figure_ : after ``plot``
    axes_ : list, after ``plot_panels``
    """

    ax_: Any
    axes_: list[Any]
    figure_: Any

    def __init__(self, margins: Mapping[str, Margins]) -> None:
        if not margins:
            raise ValueError("no margins to draw: give at least one")
        self.margins = dict(margins)

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[str, Any], X: Any, y: Any, *, kind: str | None = None, ax: Any = None
    ) -> Self:
        """Of the same rows under several models."""
        return cls({name: margins(model, X, y, kind=kind) for name, model in estimators.items()}).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Only the cumulative margins, in one picture."""
        self.ax_ = axes(self, ax)
        self.figure_ = self.ax_.figure
        for (name, found), style in zip(self.margins.items(), lines(), strict=False):
            self.ax_.plot(*found.curve(), drawstyle="steps-post", label=named(name), **style)
        _of_margins(self.ax_, self.margins)
        return self

    def plot_panels(self) -> Self:
        """As in the paper: a panel with the distribution of each model, and one with all, cumulative."""
        n = len(self.margins) + 1
        rows = -(-n // 2)
        figure, grid = pyplot(self).subplots(rows, 2, figsize=(7.2, 2.5 * rows), layout="constrained", squeeze=False)
        panels = grid.ravel().tolist()
        edges = np.linspace(min(-1.0, min(found.minimum for found in self.margins.values())), 1.0, BINS + 1)
        most = 0.0
        for panel, (name, found) in zip(panels, self.margins.items(), strict=False):
            shares = panel.hist(
                found.values, edges, weights=found.weights / found.weights.sum(), color=SHADES[0], edgecolor="white"
            )[0]
            most = max(most, float(shares.max()))
            panel.set_title(plain(name), fontsize="medium")
            finish(panel, MARGIN[found.kind], "share of rows", None)
        for panel in panels[: n - 1]:
            panel.set_ylim(0, 1.05 * most)
        for panel in panels[n:]:
            panel.remove()
        self.plot(panels[n - 1])
        self.axes_ = panels[:n]
        self.figure_ = figure
        return self


def _of_margins(ax: Any, graphs: Mapping[str, Any]) -> None:
    """From -1 to 1 in both ways; a thin line where right and wrong meet."""
    ax.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
    ax.set_xlim(-1.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    kinds = {graph.kind for graph in graphs.values() if isinstance(graph, Margins)}
    what = MARGIN[kinds.pop()] if len(kinds) == 1 else "margin"
    finish(ax, f"{what}, theta", "share of rows up to theta", "upper left")
