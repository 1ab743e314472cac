"""The 25 data sets of the QuadBoost paper, as it uses them: two classes, one split, attributes through tanh.

Which classes were merged is mostly not in the paper: DATASETS.json holds the rule, and how certain it is.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from electorate.studies.request import Floats, numbers

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
class BinaryData:
    """X has categories as codes, and NaN where values are missing. rule: which classes make the two."""

    name: str
    X: Floats
    y: NDArray[np.int64]
    rule: str
    confidence: str


def read(name: str, folder: Path) -> BinaryData:
    """A data set with the two classes of the paper, by the rule in DATASETS.json."""
    import pandas as pd

    entries = json.loads((folder / "DATASETS.json").read_text())["datasets"]
    entry = next((one for one in entries if one["name"] == name), None)
    if entry is None:
        raise ValueError(f"{folder} has no data set {name!r}: DATASETS.json there lists them")
    how = next(rule for rule in entry["binary_rules"] if rule["paper"] == "QuadBoost")
    table = pd.read_csv(folder / entry["file"])
    labels = table["target"].astype(str).str.removesuffix(".0").to_numpy()
    used = np.isin(labels, ["A", "B"]) if name == "letter" else np.ones(len(labels), dtype=np.bool_)
    if name == "optdigits":
        used[3823:] = False
    second = POSITIVE.get(name, {str(np.unique(labels[used])[-1])})
    y = np.isin(labels, sorted(second)).astype(np.int64)
    return BinaryData(name, numbers(table)[used], y[used], how["rule"], how["confidence"])


def normalised(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """tanh((x - mean) / deviation), fitted to the training part; missing values are 0, the mean."""
    known = np.where(np.all(np.isnan(train), axis=0), 0.0, train)
    with np.errstate(invalid="ignore"):
        mean, deviation = np.nan_to_num(np.nanmean(known, axis=0)), np.nan_to_num(np.nanstd(known, axis=0))
    deviation = np.where(deviation > 0, deviation, 1.0)
    one, other = (np.nan_to_num(np.tanh((part - mean) / deviation)) for part in (train, test))
    return one, other


def split(data: BinaryData, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training rows: min(500, half of all, rounded up)."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    n = min(500, math.ceil(len(order) / 2))
    return order[:n], order[n:]
