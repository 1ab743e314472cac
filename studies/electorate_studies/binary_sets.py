"""Data sets of two classes, as the papers used them: which file, which classes, and how sure that is.

A folder of data sets has NAME.csv.gz or NAME.csv with the column `target`. DATASETS.json beside them is optional.
It lists which columns of numbers are categories, and how certain it is that the two classes are the paper's.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from electorate import simulate
from electorate_studies.request import PAPERS, Floats, Ints, Request, numbers

MNIST_SIDE = 28


class NoDataError(ValueError):
    """A folder has none of the data sets of a study, or not one that was asked for."""


@dataclass(frozen=True)
class Source:
    """Where a data set comes from and how it is made binary.

    Attributes
    ----------
    file, more_files : names in DATASETS.json; rows of more files are added
    positive : the classes that become 1; by default the last of two
    negative : the classes that become 0; by default all others. Rows of other classes are left out
    above : for targets that are numbers: those above it become 1
    most : the most rows, drawn anew in every split
    crop : of images, only the central square of this side
    head : only the first so many rows of the file
    without : columns that are left out
    drop_missing : whether rows with missing values are left out
    categories : whether categories stay such, in a pandas table, instead of codes
    one_hot : whether every category becomes a column of 0 and 1
    doubt, confidence : what is not known of the paper's set, instead of what DATASETS.json says
    """

    file: str
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    above: float | None = None
    most: int | None = None
    crop: int | None = None
    drop_missing: bool = False
    head: int | None = None
    more_files: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    categories: bool = False
    one_hot: bool = False
    doubt: str = ""
    confidence: str = ""


@dataclass(frozen=True)
class Simulated:
    """A domain that is drawn anew in every repeat. problem, options: of `electorate.simulate`."""

    problem: str
    options: dict[str, Any]
    rows: int
    doubt: str
    confidence: str = "medium"

    def draw(self, seed: int) -> "BinarySet":
        return BinarySet(*getattr(simulate, self.problem)(**self.options).sample(self.rows, seed))


def sets_of(paper: str) -> dict[str, Any]:
    """The data sets of a paper, each a Source or Simulated."""
    found: dict[str, Any] = {}
    for name, one in PAPERS[paper]["sets"].items():
        given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in one.items()}
        found[name] = Simulated(**given) if "problem" in given else Source(**given)
    return found


@dataclass(frozen=True)
class BinarySet:
    """Rows with labels 0 and 1. X: a pandas table where categories stay such, else an array."""

    X: Any
    y: Ints

    def first_rows(self, most: int, seed: int = 0) -> "BinarySet":
        """So many rows, drawn by the seed; all in their order if there are no more."""
        if len(self.y) <= most:
            return self
        rows = np.random.default_rng(seed).permutation(len(self.y))[:most]
        return self.take(rows)

    def take(self, rows: Any) -> "BinarySet":
        return BinarySet(self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows], self.y[rows])


def entry(name: str, folder: Path) -> dict[str, Any]:
    """The entry of a data set in DATASETS.json; empty if there is none."""
    catalogue = folder / "DATASETS.json"
    entries = json.loads(catalogue.read_text(encoding="utf-8"))["datasets"] if catalogue.exists() else []
    return dict(next((one for one in entries if one["name"] == name), {}))


def listed_sets(request: Request, task: str) -> list[dict[str, Any]]:
    """The entries of DATASETS.json of a task that are tables, or of these the ones that were asked for."""
    listed = json.loads((request.data / "DATASETS.json").read_text(encoding="utf-8"))["datasets"]
    tables = [one for one in listed if one["task"] == task and one["file"].endswith(".csv.gz")]
    return [one for one in tables if not request.only or one["name"] in request.only]


def file_of(name: str, folder: Path) -> Path | None:
    """The file of a data set, or None."""
    paths = (folder / (name + ending) for ending in (".csv.gz", ".csv", ".npz"))
    return next((path for path in paths if path.exists()), None)


def files_of(sources: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The names of the files that each data set needs; simulated ones need none."""
    return {
        name: (source.file, *source.more_files) if isinstance(source, Source) else ()
        for name, source in sources.items()
    }


def with_files(names: list[str], files: Mapping[str, tuple[str, ...]], request: Request) -> list[str]:
    """The data sets whose files are in the folder. The others are listed on standard error.

    A quick run takes any one that is there. NoDataError if a missing one was asked for by its name, or if none is left.
    """
    missing = {name: [one for one in files[name] if file_of(one, request.data) is None] for name in files}
    found = [name for name in names if not missing[name]]
    if request.quick and not found and not request.only:
        found = [name for name in files if not missing[name]][:1]
    missing = {name: missing[name] for name in names}
    absent = ", ".join(dict.fromkeys(one for every in missing.values() for one in every))
    if absent and (request.only or not found):
        raise NoDataError(
            f"{str(request.data)!r} has no NAME.csv.gz or NAME.csv of {absent}: `electorate data NAME --out "
            "FOLDER/NAME.csv` fetches those that `electorate data` lists; --data or ELECTORATE_DATA names the folder"
        )
    if absent:
        print(f"skipped, because {str(request.data)!r} has no file of them: {absent}", file=sys.stderr)
    return found


def doubt(source: Source, folder: Path, paper: str) -> tuple[str, str]:
    """How the set was made binary, and how sure that is: high, medium or low; unknown without DATASETS.json."""
    if source.confidence:
        return source.doubt, source.confidence
    known = entry(source.file, folder)
    if not known:
        return "; ".join(filter(None, (_classes(source), source.doubt))), "unknown"
    rules = [rule for rule in known.get("binary_rules", []) if rule["paper"] == paper]
    digits = {f"{a} vs {b}" for a in source.negative for b in source.positive}
    digits |= {f"{a} = -1, {b} = +1" for a in source.negative for b in source.positive}
    rule = next((rule for rule in rules if any(text in rule["rule"] for text in digits)), rules[0] if rules else None)
    if rule is None:
        return source.doubt or "not in DATASETS.json", "low"
    return "; ".join(filter(None, (rule["rule"], source.doubt))), rule["confidence"]


def _classes(source: Source) -> str:
    """How the set is made binary, by its source alone."""
    if source.above is not None:
        return f"above {source.above:g} against the rest"
    if not source.positive:
        return "two classes"
    return f"{', '.join(source.positive)} against {', '.join(source.negative) or 'the rest'}"


def doubts(sources: Mapping[str, Any], folder: Path, paper: str) -> dict[str, tuple[str, str]]:
    """By data set, how it was made binary, and how sure that is."""
    return {name: doubt(source, folder, paper) for name, source in sources.items()}


@lru_cache(maxsize=4)
def read_set(source: Source, folder: Path) -> BinarySet:
    """Read a data set and make it binary."""
    if source.file == "mnist":
        X, labels = _mnist(source, folder)
    else:
        table, known = _table(source, folder)
        labels = table["target"].astype(str).str.removesuffix(".0").to_numpy()
        X = _features(table, known, source)
    if source.above is not None:
        return BinarySet(X, (_quantities(labels, source) > source.above).astype(np.int64))
    classes = np.unique(labels).tolist()
    positive = source.positive or tuple(classes[-1:])
    negative = source.negative or tuple(name for name in classes if name not in positive)
    if not negative or not {*positive, *negative} <= {*classes} or (not source.positive and len(classes) != 2):
        found = ", ".join(classes[:10])
        raise ValueError(f"data set {source.file}: expected {_classes(source)}; the target has {found}")
    used = np.isin(labels, (*positive, *negative))
    return BinarySet(X, np.isin(labels, positive).astype(np.int64)).take(np.flatnonzero(used))


def _quantities(labels: Any, source: Source) -> Floats:
    try:
        return np.asarray(labels.astype(np.float64))
    except ValueError as error:
        raise ValueError(f"data set {source.file}: the target must be numbers: {error}") from None


def _table(source: Source, folder: Path) -> tuple[Any, dict[str, Any]]:
    import pandas as pd

    tables = [pd.read_csv(path_of(name, folder)) for name in (source.file, *source.more_files)]
    table = pd.concat(tables, ignore_index=True)
    lacking = [column for column in (*source.without, "target") if column not in table]
    if lacking:
        raise ValueError(f"data set {source.file}: there is no column {lacking[0]!r}")
    table = table.drop(columns=[*source.without]).iloc[: source.head]
    return (table.dropna() if source.drop_missing else table).reset_index(drop=True), entry(source.file, folder)


def path_of(name: str, folder: Path) -> Path:
    """The file of a data set; NoDataError if there is none."""
    path = file_of(name, folder)
    if path is None:
        raise NoDataError(f"{str(folder)!r} has no {name}.csv.gz or {name}.csv")
    return path


def _features(table: Any, known: dict[str, Any], source: Source) -> Any:
    X = table.drop(columns="target")
    if source.one_hot:
        import pandas as pd

        return pd.get_dummies(X, dummy_na=True).to_numpy(dtype=np.float64)
    if source.categories:
        texts = [column for column in X if X[column].dtype.kind not in "iufb"]
        return X.astype({column: "category" for column in known.get("categorical", texts) if column in X})
    return numbers(table)


def _mnist(source: Source, folder: Path) -> tuple[Floats, Any]:
    """The images of the two digits, all of them together."""
    path = path_of("mnist", folder)
    if path.suffix == ".npz":
        with np.load(path) as found:
            X = np.concatenate([found["x_train"], found["x_test"]])
            labels = np.concatenate([found["y_train"], found["y_test"]]).astype(str)
    else:
        import pandas as pd

        table = pd.read_csv(path)
        labels = table.pop("target").astype(str).to_numpy()
        X = table.to_numpy(dtype=np.float32).reshape(-1, MNIST_SIDE, MNIST_SIDE)
    used = np.isin(labels, (*source.positive, *source.negative))
    edge = 0 if source.crop is None else (MNIST_SIDE - source.crop) // 2
    X = X[used, edge : MNIST_SIDE - edge, edge : MNIST_SIDE - edge]
    return X.reshape(len(X), -1).astype(np.float32), labels[used]
