"""Table 2 of the VadaBoost paper with larger CART trees (here "tables 3 and 4").

The paper does not state the size of its trees. Table 2 has the size whose errors of AdaBoost are closest to the printed
ones. Whether VadaBoost has lower errors than AdaBoost depends on the size, so that others are beside it.
"""

import math
from collections.abc import Sequence

import numpy as np

from electorate_studies.pages import TIED, Published, paired_difference
from electorate_studies.request import markdown_table
from electorate_studies.runs import Row

TABLES = {"3": "3 splits on a path", "4": "no limit"}
SIZES = {"2": 2, "3": 3, "4": 20}  # the most splits on a path
# Without a limit trees take long; these are the smaller data sets, five splits of each.
UNLIMITED = ("abalone", "image", "ringnorm", "spambase", "splice", "waveform", "wine", "wisc")
UNLIMITED_SPLITS = 5
TITLES = {"2": "2 splits", **TABLES}


def lines(rows: Sequence[Row], published: dict[str, tuple[Published, ...]]) -> list[str]:
    """Errors of AdaBoost and VadaBoost by the size of the trees, and their differences. published: of table 2."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        key = row.unit.table, row.unit.data, row.outcome.algorithm
        found.setdefault(key, []).append(100 * row.outcome.error)
    if not any(table in TABLES for table, _, _ in found):
        return []
    body = []
    for name, (adaboost, vadaboost, *_) in published.items():
        cells = [_both(found, table, name) for table in TITLES]
        body.append([name, *cells, f"{adaboost.mean:.2f} / {vadaboost.mean:.2f}"])
    head = " | ".join(("AdaBoost / VadaBoost: data set", *TITLES.values(), "published"))
    summary = [_summary(rows, found, table, published) for table in TITLES]
    titles = (
        "trees | data sets | mean absolute difference to the published error: AdaBoost | VadaBoost | "
        "difference of the means: AdaBoost | VadaBoost | VadaBoost - AdaBoost: mean | wins, ties, losses"
    )
    text = (
        "Mean errors in percent with trees of at most 2 splits on a path (Table 2), 3 splits, and without a limit "
        f"({UNLIMITED_SPLITS} splits of the smaller data sets). Differences are ours less the published error, and "
        "VadaBoost's error less AdaBoost's, ± the standard error over the splits of the data."
    )
    return [
        "## Table 2 with other sizes of CART",
        "",
        text,
        "",
        *markdown_table(head, body),
        "",
        *markdown_table(titles, summary, "lrrrrrrr"),
        "",
    ]


def _both(found: dict[tuple[str, str, str], list[float]], table: str, name: str) -> str:
    errors = [found.get((table, name, algorithm)) for algorithm in ("AdaBoost", "VadaBoost")]
    return " / ".join(f"{np.mean(one):.2f}" if one else "not run" for one in errors)


def _summary(
    rows: Sequence[Row],
    found: dict[tuple[str, str, str], list[float]],
    table: str,
    published: dict[str, tuple[Published, ...]],
) -> list[object]:
    names = [name for name in published if (table, name, "AdaBoost") in found]
    apart = [
        np.array([np.mean(found[table, name, algorithm]) - published[name][k].mean for name in names])
        for k, algorithm in enumerate(("AdaBoost", "VadaBoost"))
    ]
    gaps = [paired_difference(rows, table, name, "VadaBoost", "AdaBoost") for name in names]
    mean = np.array([gap[0] for gap in gaps])
    error = math.sqrt(sum(gap[1] ** 2 for gap in gaps)) / len(gaps) if gaps else math.nan
    record = ((mean < -TIED).sum(), (np.abs(mean) <= TIED).sum(), (mean > TIED).sum())
    far = [f"{np.abs(one).mean():.2f}" for one in apart] if names else ["-", "-"]
    off = [f"{one.mean():+.2f}" for one in apart] if names else ["-", "-"]
    difference = f"{mean.mean():+.2f}" + ("" if math.isnan(error) else f" ± {error:.2f}") if names else "-"
    return [TITLES[table], len(names), *far, *off, difference, ", ".join(map(str, record))]
