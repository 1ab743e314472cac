"""Models of LightGBM, XGBoost and CatBoost: bytes in the formats of these libraries, and how they are made and read.

The readers of these formats are not made for manipulated files, which can crash the process: bytes of a file are given
to them only if `load` was told to. Everything else in the file is checked as usual.
"""

import tempfile
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from electorate.exact import AnyArray, Floats
from electorate.model.float_model import FORMS, Read, blocks, check_outputs
from electorate.modelfile import Contents, expect, meta_value, require
from electorate.threads import ThreadPool

CLASSES = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}  # starts of the names of their estimators
SETTINGS = ("n_estimators", "learning_rate", "max_depth")


def import_library(name: str) -> Any:
    """Return the module, or raise ValueError if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise ValueError(f"{name} is not installed: pip install {name}, or leave it out") from None


@dataclass(eq=False)
class LibraryModel:
    """A fitted model. content: the bytes. categories: the positions of the category columns."""

    library: str
    content: AnyArray
    n_trees: int
    n_outputs: int
    categories: tuple[int, ...]
    link: str
    is_trusted: bool = False  # whether the library may read the bytes

    form = "library"
    n_rounds = 0  # no staged predictions

    def arrays(self) -> dict[str, AnyArray]:
        """Return the arrays of a file."""
        return {"content": self.content}

    def meta(self) -> dict[str, Any]:
        """Return what a file holds beside the arrays."""
        facts = {"form": self.form, "link": self.link, "library": self.library}
        return facts | {"trees": self.n_trees, "outputs": self.n_outputs}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_opened"}

    def check_trusted(self) -> None:
        """Raise ValueError unless the library may read the bytes."""
        if not self.is_trusted:
            why = f"the file holds a model of {self.library}, which a manipulated file can crash"
            raise ValueError(f"{why}: if you trust the file, use load(path, foreign=True)")

    @cached_property
    def _opened(self) -> Any:
        """The model as its library reads it."""
        self.check_trusted()
        library, content = import_library(self.library), self.content.tobytes()
        if self.library == "lightgbm":
            return library.Booster(model_str=content.decode())
        if self.library == "xgboost":
            booster = library.Booster()
            booster.load_model(bytearray(content))
            return booster
        return library.CatBoost().load_model(blob=content)

    def importances(self, n_columns: int) -> Floats:
        """Return the share of the splits on each column; of CatBoost, the share of its own importances."""
        found = np.zeros(n_columns)
        if self.library == "lightgbm":
            found += self._opened.feature_importance("split")
        elif self.library == "xgboost":
            for name, count in self._opened.get_score(importance_type="weight").items():
                found[int(name[1:])] = count
        else:
            found += self._opened.get_feature_importance()
        return np.asarray(found / (found.sum() or 1.0))

    def raw(self, n_rows: int, read: Read, n_columns: int, pool: ThreadPool) -> Floats:
        """Return the raw numbers [row, output]."""
        parts = [self._of_rows(read(*ends).T, pool.n_jobs) for ends in blocks(n_rows, n_columns, 1)]
        return np.concatenate([np.empty((0, self.n_outputs)), *parts])

    def _of_rows(self, rows: Floats, n_jobs: int) -> Floats:
        model, given = self._opened, library_rows(self.library, rows, self.categories)
        if self.library == "lightgbm":
            found = model.predict(given, raw_score=True, num_threads=n_jobs)
        elif self.library == "xgboost":
            model.set_param({"nthread": n_jobs})
            kinds = _kinds(rows.shape[1], self.categories)
            table = import_library("xgboost").DMatrix(given, feature_types=kinds, enable_categorical=True, nthread=1)
            found = model.predict(table, output_margin=True)
        else:
            found = model.predict(given, prediction_type="RawFormulaVal", thread_count=n_jobs)
        return np.asarray(found, dtype=np.float64).reshape(len(rows), self.n_outputs)

    @classmethod
    def read(cls, contents: Contents, n_columns: int, wide: dict[int, int], n_classes: int) -> "LibraryModel":
        """Return the model of a file that is not trusted: its bytes, which nothing reads yet."""
        library, link = meta_value(contents, "library", str), meta_value(contents, "link", str)
        n_trees, n_outputs = (meta_value(contents, name, int) for name in ("trees", "outputs"))
        expect(library in CLASSES, f"no library is called {library!r:.60}")
        expect(0 <= n_trees < 2**31, "the number of trees is out of range")
        check_outputs(link, n_outputs, n_classes)
        content = np.array(require(contents, "content", "|u1", (None,)))
        return cls(library, content, n_trees, n_outputs, tuple(wide), link)


FORMS[LibraryModel.form] = LibraryModel


def build_library(library: str, for_classes: bool, settings: dict[str, Any], random_state: Any, n_jobs: Any) -> Any:
    """Return the unfitted estimator. settings: those that are not None; ValueError for one that it does not have."""
    for name, value in settings.items():
        if name not in SETTINGS and value not in (False, "squared_error"):
            raise ValueError(f"{name}={value!r}: model={library!r} has no such setting; leave it out")
    given = {name: settings[name] for name in SETTINGS if name in settings}
    if library == "catboost":
        more = {"random_seed": random_state, "thread_count": n_jobs or -1}
        more |= {"verbose": False, "allow_writing_files": False}
    else:
        more = {"random_state": random_state, "n_jobs": n_jobs}
        more |= {"verbose": -1} if library == "lightgbm" else {"tree_method": "hist", "enable_categorical": True}
    kind = CLASSES[library] + ("Classifier" if for_classes else "Regressor")
    return getattr(import_library(library), kind)(**given, **more)


def fit_library(
    library: str, estimator: Any, matrix: Any, y: AnyArray, weight: Any, wide: dict[int, int], n_classes: int
) -> LibraryModel:
    """Fit the estimator to a matrix with NaN for missing values and codes of categories. n_classes: 0 for numbers."""
    columns, more = tuple(wide), {}
    if library == "xgboost":
        estimator.set_params(feature_types=_kinds(matrix.shape[1], columns))
    elif library == "lightgbm":
        more = {"categorical_feature": list(columns) or "auto"}
    elif columns:
        more = {"cat_features": list(columns)}
    estimator.fit(library_rows(library, matrix, columns), y, sample_weight=weight, **more)
    n_outputs = n_classes if n_classes > 2 else 1
    if library == "lightgbm":
        content, n_trees = estimator.booster_.model_to_string().encode(), estimator.booster_.num_trees()
    elif library == "xgboost":
        booster = estimator.get_booster()
        content, n_trees = bytes(booster.save_raw("ubj")), booster.num_boosted_rounds() * n_outputs
    else:
        with tempfile.TemporaryDirectory(prefix="electorate-") as folder:
            path = Path(folder, "model.cbm")
            estimator.save_model(str(path))
            content, n_trees = path.read_bytes(), int(estimator.tree_count_)
    link = "number" if not n_classes else "logistic" if n_classes == 2 else "softmax"
    return LibraryModel(library, np.frombuffer(content, dtype=np.uint8), n_trees, n_outputs, columns, link, True)


def library_rows(library: str, rows: Any, categories: tuple[int, ...]) -> Any:
    """Return the rows as a library takes them: to XGBoost what is not stored would be missing."""
    if sparse.issparse(rows):
        if library != "xgboost":
            return sparse.csr_matrix(rows)
        return rows.toarray()
    if library != "catboost" or not categories:
        return np.ascontiguousarray(rows)
    columns = np.asarray(rows).astype(object)  # to CatBoost categories must not be floats
    for column in categories:
        columns[:, column] = [str(value) for value in rows[:, column]]
    return columns


def _kinds(n_columns: int, categories: tuple[int, ...]) -> list[str]:
    """The types of the columns as XGBoost names them."""
    return ["c" if column in categories else "q" for column in range(n_columns)]
