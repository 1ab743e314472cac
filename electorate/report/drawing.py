"""What all pictures share: axes, lines that differ without colour, and texts of strangers shown as they are.

matplotlib is imported here, when something is drawn, and nowhere else.
"""

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.escape import literal

Floats = NDArray[np.float64]
# Colours that the colour-blind can tell apart, each with dashes of its own: in grey the dashes remain.
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


def axes(who: Any, ax: Any = None) -> Any:
    """The axes given, or new ones. who: the display, for the message where matplotlib is not there."""
    return pyplot(who).subplots(figsize=(5.6, 3.8), layout="constrained")[1] if ax is None else ax


def pyplot(who: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        name = type(who).__name__
        raise ImportError(f"{name}.plot needs matplotlib: pip install 'electorate[plot]'") from error
    return plt


def plain(text: object, longest: int = LONGEST) -> str:
    """A text of a stranger for a picture: matplotlib must not take a $ in it for mathematics."""
    return literal(text, longest).replace("$", r"\$")


def named(text: object) -> str:
    """For a legend, which would leave out a name that begins with an underscore."""
    shown = plain(text)
    return f" {shown}" if shown.startswith("_") else shown


def lines() -> Iterable[dict[str, Any]]:
    """Line styles, one after another, for ever."""
    return ({"color": color, "linestyle": dashes, "linewidth": 1.6} for color, dashes in cycle(LINES))


def finish(ax: Any, x: str, y: str, legend: str | None = "best") -> None:
    """Labels, no box around, and the legend where asked for."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    if legend is not None:
        ax.legend(loc=legend, frameon=False, fontsize="small", handlelength=3.2)
