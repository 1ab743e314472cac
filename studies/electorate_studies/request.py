"""What every study needs: the request, what the papers print, columns as numbers, and tables and figures.

A study is a module with `OFFERS`, the tables and figures it can make, `NEEDS_DATA`, those that read data sets, and
`reproduce(request)`, which returns Markdown. `WHOLE` lists the requests that make all of it; "all" is the page of a
paper, with all its tables.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
PAPERS = json.loads((Path(__file__).parent / "papers.json").read_text(encoding="utf-8"))  # data sets, printed figures


@dataclass(frozen=True)
class Request:
    """What to run, and where results go.

    Attributes
    ----------
    what : "table 1", or "all": everything that the study offers
    quick : a small version, named so
    data, out : the folders of the data sets and of the results
    only : data sets; all if it is empty
    repeats : splits of each data set; by default the study's
    jobs : processes
    render : only make the page again, from the results that are stored
    """

    what: str
    quick: bool
    data: Path
    out: Path
    only: tuple[str, ...] = ()
    repeats: int | None = None
    jobs: int = 1
    render: bool = False

    @property
    def number(self) -> int:
        return int(self.what.split()[-1])

    @property
    def name(self) -> str:
        """In names of files: "table-1"."""
        return self.what.replace(" ", "-")

    def results(self, study: str, ending: str = "csv") -> Path:
        """The file of a study's results; quick ones have their own."""
        return self.out / f"{study}{'-quick' if self.quick else ''}.{ending}"

    def choose(self, names: Iterable[str], known: Iterable[str]) -> list[str]:
        """The data sets asked for, in the order of `known`; without any, `names`."""
        known = list(known)
        unknown = sorted(set(self.only) - set(known))
        if unknown:
            raise ValueError(f"the study has no data set {unknown[0]!r}: it has {', '.join(known)}")
        return [name for name in known if name in self.only] or list(names)

    def save(self, figure: Any, study: str) -> str:
        """Writes the figure into the folder `out`, and returns the name of the file."""
        name = f"{study}-figure-{self.number}.png"
        self.out.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.out / name, dpi=110)
        return name


def numbers(table: Any) -> Floats:
    """The columns of a pandas table but `target`: numbers as they are, texts as codes in order, NaN if missing."""
    columns = []
    for name in table.columns.drop("target", errors="ignore"):
        column = table[name]
        if column.dtype.kind in "iufb":
            columns.append(np.asarray(column.to_numpy(), dtype=np.float64))
        else:
            codes = np.asarray(column.astype("category").cat.codes.to_numpy(), dtype=np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
    return np.stack(columns, axis=1)


# ---------------------------------------------------------------- pages and figures


def markdown_table(head: str, rows: Iterable[Iterable[object]], numeric: str = "") -> list[str]:
    """The lines of a table. head: titles with " | " between; numeric: "r" for each column to align right, else "l"."""
    titles = head.split(" | ")
    dashes = "".join("---:|" if side == "r" else "---|" for side in numeric.ljust(len(titles), "l"))
    return [f"| {head} |", f"|{dashes}", *(f"| {' | '.join(map(str, row))} |" for row in rows)]


def _read_texts() -> dict[str, str]:
    """The paragraphs of texts.md, by their headings."""
    parts = (Path(__file__).parent / "texts.md").read_text(encoding="utf-8").removeprefix("# ").split("\n# ")
    return {name: " ".join(body.split()) for name, _, body in (part.partition("\n") for part in parts)}


TEXTS = _read_texts()


def text(name: str, /, **values: Any) -> str:
    """A paragraph of a page, with the values in their places."""
    return TEXTS[name].format(**values)


def paragraphs(*parts: str | list[str]) -> list[str]:
    """The lines of a page: each part, a text or a table, with an empty line after it, without the empty ones."""
    return [line for part in parts if part for line in ([part] if isinstance(part, str) else part) + [""]]


# Colours for the colour-blind, each with its own dashes, which remain in grey.
DASHES = {"#000000": "-", "#0072B2": (0, (6, 2)), "#D55E00": (0, (6, 2, 1, 2)), "#009E73": (0, (1.5, 1.5))}
STYLES = [{"color": color, "linestyle": dashes, "linewidth": 1.6} for color, dashes in DASHES.items()]


def new_figure(rows: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Any, Any]:
    """A figure and its panels [row, column], without the lines above and on the right. size: in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for panel in grid.ravel():
        panel.spines[["top", "right"]].set_visible(False)
    return figure, grid
