"""DeepBoost with other complexities than the paper's: provable ones (here "tables 8, 9 and 10": tables 1, 2 and 3), and
those of trees by their depth ("tables 13 and 14": tables 2 and 3).

The paper's are eq. 7 (stumps), 8 (paired stumps) and 9 (trees), as in tables 1 to 3. The provable ones are Massart's
sqrt(2 log N / m) for the number N of labelings of m rows: `complexity="provable"` of DeepBoostClassifier. Section 4 may
also be read so that the family of a tree is that of all trees of its depth k, of VC dimension (2^k + 1) log2(d + 1):
`complexity="depth"`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from electorate import DeepBoostClassifier
from electorate.theory import complexity
from electorate.theory.complexity import Shape
from electorate_studies.binary_sets import Source, file_of, read_set
from electorate_studies.request import markdown_table
from electorate_studies.runs import Row

TABLES = {"8": "1", "9": "2", "10": "3", "13": "2", "14": "3"}
KINDS = {key: "depth" if key in ("13", "14") else "provable" for key in TABLES}
ALGORITHM = "DeepBoost"
SPLITS = {"trees, 1 split": 1, "trees, 7 splits": 7, "trees, 63 splits": 63}


def with_kind(model: DeepBoostClassifier, n: int, kind: str = "provable") -> DeepBoostClassifier:
    """The model with complexities of this kind; n, the number of rows, is not needed."""
    changed: DeepBoostClassifier = clone(model).set_params(complexity=kind)
    return changed


def values(n: int, d: int) -> dict[str, tuple[float, float]]:
    """r of each family for n rows and d columns of numbers: by the paper, and provable."""
    shape = Shape(numeric=d)
    pairs = {
        "stumps": (complexity.published_stumps(n, d), complexity.log_stumps(n, shape)),
        "paired stumps": (complexity.published_paired_stumps(n, d), complexity.log_paired_stumps(n, shape)),
    }
    for name, splits in SPLITS.items():
        pairs[name] = complexity.published_trees(n, d, splits), complexity.log_trees(n, shape, splits)
    return {name: (published, complexity.massart(n, log_count)) for name, (published, log_count) in pairs.items()}


def lines(rows: Sequence[Row], sources: dict[str, Source], folder: Path, train_share: float) -> list[str]:
    """The values of r for the data sets that were run, and errors with both kinds on the common folds."""
    found = {(*row.unit, row.outcome.algorithm): row.outcome for row in rows}
    result: list[str] = []
    names = [name for name in sources if any(unit in TABLES and data == name for unit, data, *_ in found)]
    for key, table in TABLES.items():
        body = [line for name in names if (line := _compared(found, key, table, name))]
        head = (
            f"Table {table}: data set | folds | error: paper's r / r | difference | voters: paper's r / r | size: "
            "paper's r / r"
        ).replace("/ r", f"/ {KINDS[key]} r")
        result += [*markdown_table(head, body), ""] if body else []
    if not result:
        return []
    text = (
        "Every candidate of DeepBoost with other complexities than the paper's, the same grids and folds: provable "
        "ones, and trees by their depth. First r of the families, the paper's / provable, for the training rows of a "
        "fold. Difference: less the paper's, in points, ± standard error over the folds."
    )
    return [
        "## DeepBoost with other complexities",
        "",
        text,
        "",
        *_value_lines(names, sources, folder, train_share),
        *result,
    ]


def _value_lines(names: list[str], sources: dict[str, Source], folder: Path, train_share: float) -> list[str]:
    body = []
    for name in (one for one in names if file_of(sources[one].file, folder)):
        n, d = read_set(sources[name], folder).X.shape
        n = round(train_share * n)
        body.append([name, n, d, *(f"{one:.3f} / {other:.3f}" for one, other in values(n, d).values())])
    head = " | ".join(("data set", "rows", "columns", *values(100, 2)))
    return [*markdown_table(head, body, "lrr"), ""]


def _compared(found: dict[Any, Any], key: str, table: str, name: str) -> list[Any]:
    """A line of the table; empty without common folds."""
    folds = sorted(fold for one, data, fold, _ in found if (one, data) == (key, name))
    folds = [fold for fold in folds if (table, name, fold, ALGORITHM) in found]
    if not folds:
        return []
    both = [[found[one, name, fold, ALGORITHM] for fold in folds] for one in (table, key)]
    errors = 100 * np.array([[one.error for one in outcomes] for outcomes in both])
    gaps = errors[1] - errors[0]
    spread = f" ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else ""
    voters, sizes = (
        [np.mean([getattr(one, what) for one in outcomes]) for outcomes in both] for what in ("voters", "size")
    )
    cells = (f"{errors[0].mean():.2f} / {errors[1].mean():.2f}", f"{gaps.mean():+.2f}{spread}")
    more = (f"{voters[0]:.1f} / {voters[1]:.1f}", f"{sizes[0]:.2f} / {sizes[1]:.2f}")
    return [name, len(folds), *cells, *more]
