"""The 25 data sets of the QuadBoost paper, as it uses them: two classes, one split, attributes through tanh.

Which classes were merged the paper mostly does not say: DATASETS.json holds the rule, and how sure it is.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
POSITIVE: dict[str, set[str]] = {  # the classes that become one, where there are more than two
    "balance_scale": {"L"},
    "car": {"unacc"},
    "cmc": {"1"},
    "ecoli": {"cp"},
    "flags": {"Other_Christian"},
    "glass": {"1", "2", "3"},
    "letter": {"A"},
    "optdigits": {"0", "2", "4", "6", "8"},
    "wine": {"2"},
    "yeast": {"CYT"},
    "zoo": {"1"},
}


@dataclass(frozen=True)
class Data:
    name: str
    X: Floats  # categories as codes, NaN where missing
    y: NDArray[np.int64]
    rule: str
    confidence: str


def read(name: str, folder: Path) -> Data:
    """A data set with two classes, as DATASETS.json says the paper makes them."""
    import pandas as pd

    entries = json.loads((folder / "DATASETS.json").read_text())["datasets"]
    entry = next((one for one in entries if one["name"] == name), None)
    if entry is None:
        raise ValueError(f"{folder} has no data set {name!r}: DATASETS.json there lists them")
    how = next(rule for rule in entry["binary_rules"] if rule["paper"] == "QuadBoost")
    table = pd.read_csv(folder / entry["file"])
    labels = table["target"].astype(str).str.removesuffix(".0").to_numpy()
    kept = np.isin(labels, ["A", "B"]) if name == "letter" else np.ones(len(labels), dtype=np.bool_)
    if name == "optdigits":
        kept[3823:] = False
    columns = [_numbers(table[column]) for column in table.columns[:-1]]
    second = POSITIVE.get(name, {str(np.unique(labels[kept])[-1])})
    y = np.isin(labels, sorted(second)).astype(np.int64)
    return Data(name, np.stack(columns, axis=1)[kept], y[kept], how["rule"], how["confidence"])


def _numbers(column: Any) -> Floats:
    """Numbers as they are, texts as codes in their order."""
    if column.dtype.kind in "iufb":
        return np.asarray(column.to_numpy(), dtype=np.float64)
    codes = np.asarray(column.astype("category").cat.codes.to_numpy(), dtype=np.float64)
    return np.where(codes < 0, np.nan, codes)


def normalised(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """tanh((x - mean) / deviation), fitted to the training part; missing values are 0, the mean."""
    with np.errstate(invalid="ignore"):
        mean = np.nan_to_num(np.nanmean(np.where(np.all(np.isnan(train), axis=0), 0.0, train), axis=0))
        deviation = np.nan_to_num(np.nanstd(np.where(np.all(np.isnan(train), axis=0), 0.0, train), axis=0))
    deviation = np.where(deviation > 0, deviation, 1.0)
    one, other = (np.nan_to_num(np.tanh((part - mean) / deviation)) for part in (train, test))
    return one, other


def split(data: Data, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training rows: min(500, half of all, rounded up)."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    n = min(500, math.ceil(len(order) / 2))
    return order[:n], order[n:]
