"""Base class and helpers of displays: axes, line styles that differ without colour, and escaped texts.

matplotlib is imported only here, when something is drawn.
"""

from collections.abc import Callable, Iterable
from itertools import cycle
from typing import Any, Self

from electorate.exact import Floats
from electorate.optional import optional
from electorate.text import literal

# Colours for the colour-blind, each with its own dashes, which remain in grey.
LINES: list[tuple[str, Any]] = [
    ("#000000", "-"),
    ("#0072B2", (0, (6, 2))),
    ("#D55E00", (0, (6, 2, 1, 2))),
    ("#009E73", (0, (1.5, 1.5))),
    ("#8E5A8A", (0, (10, 3))),
    ("#6B6B6B", (0, (3, 1, 1, 1, 1, 1))),
]
HATCHES = ("", "////", "xxxx", "....", "\\\\\\\\", "++++")
SHADES = ("0.25", "0.85", "0.65", "0.95", "0.75", "0.55")
LONGEST = 40  # characters of a name


class Display:
    """Base class of displays with one picture: subclasses define `_draw`, which draws into `ax_`."""

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def plot(self, ax: Any = None) -> Self:
        """Draw into the given axes, or into new ones."""
        self.ax_ = pyplot(self).subplots(figsize=(5.6, 3.8), layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self.lines_ = []
        self._draw(self.ax_)
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def _draw_curves(self, curves: Iterable[tuple[str, Any, Any]], drawstyle: str = "default") -> None:
        """Curves (name, x, y), each with a line style of its own."""
        for (name, x, y), style in zip(curves, lines(), strict=False):
            self.lines_ += self.ax_.plot(x, y, drawstyle=drawstyle, label=named(name), **style)

    def _draw_bound(self, x: Floats, bound: Floats) -> None:
        """Draw the bound for the training rows; the area above it is shaded."""
        self.lines_ += self.ax_.plot(x, bound, color="0.5", linewidth=1, label="bound (training)")
        self.ax_.fill_between(x, bound, 1.0, color="0.93", linewidth=0)


def pyplot(who: Any) -> Any:
    """matplotlib's pyplot; ImportError with the name of the display where it is not installed."""
    return optional("matplotlib.pyplot", f"{type(who).__name__}.plot")


def panels(who: Any, n: int, columns: int, width: float) -> list[Any]:
    """Return n axes of a new figure, in rows of `columns` axes of the given width."""
    rows = -(-n // columns)
    size = (width * columns, 2.5 * rows)
    grid = pyplot(who).subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)[1].ravel().tolist()
    for panel in grid[n:]:
        panel.remove()
    return list(grid[:n])


def on_both(measure: Callable[..., Any], training: tuple[Any, ...], X_test: Any, y_test: Any) -> dict[str, Any]:
    """Return the measure on training rows (X, y and more) and, if there are any, on test rows."""
    if (X_test is None) != (y_test is None):
        raise ValueError("Pass X_test and y_test together.")
    found = {"training": measure(*training)}
    return found if X_test is None else {**found, "test": measure(X_test, y_test)}


def plain(text: object, longest: int = LONGEST) -> str:
    """Untrusted text for a picture, escaped: matplotlib must not read a $ in it as mathematics."""
    return literal(text, longest).replace("$", r"\$")


def named(text: object) -> str:
    """Return a name for a legend, which would leave out one that begins with an underscore."""
    name = plain(text)
    return f" {name}" if name.startswith("_") else name


def lines() -> Iterable[dict[str, Any]]:
    """An endless sequence of line styles."""
    return ({"color": color, "linestyle": dashes, "linewidth": 1.6} for color, dashes in cycle(LINES))


def finish(ax: Any, x: str, y: str, legend: str | None = "best") -> None:
    """Sets labels, removes the box, and adds the legend if there is one."""
    ax.set(xlabel=x, ylabel=y)
    ax.spines[["top", "right"]].set_visible(False)
    if legend is not None:
        ax.legend(loc=legend, frameon=False, fontsize="small", handlelength=3.2)
