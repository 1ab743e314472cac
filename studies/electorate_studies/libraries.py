"""Other boosting libraries as the study of peers compares them, with the settings of its tables.

They take a matrix of numbers with NaN for missing values, and category columns as codes, which they get as categories.
They stop early by their own rule where a setting says so.
"""

import importlib
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from electorate.comparison.building_blocks import CLASSIFICATION, REGRESSION, Algorithm, Facts, deal, strata

LIBRARIES = {  # short name: module to import, name to install
    "lightgbm": ("lightgbm", "lightgbm"),
    "xgboost": ("xgboost", "xgboost"),
    "catboost": ("catboost", "catboost"),
    "ebm": ("interpret.glassbox", "interpret-core"),
}
TITLES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost", "ebm": "EBM"}
PATIENCE = 20  # rounds without improvement
VALIDATION_PARTS = 10  # one of them is for early stopping
MOST_DENSE = 200_000_000  # cells of a sparse matrix up to which it is made dense for a library that needs that


class Peer(BaseEstimator):
    """A model of another library behind `fit`, `predict` and `predict_proba`; `model_` is the fitted original."""

    is_classifier: bool

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.model_.predict(self._columns(X))).ravel()

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(self.model_.predict_proba(self._columns(X)))

    def _columns(self, X: Any) -> Any:
        return X


class Gradient(Peer):
    """A gradient boosting library by its short name.

    early_stopping: whether a tenth of the rows decides on the number of rounds, by the rule of the library.
    """

    def __init__(
        self,
        library: str = "lightgbm",
        is_classifier: bool = True,
        rounds: int = 100,
        learning_rate: float = 0.1,
        early_stopping: bool = False,
        categorical: tuple[int, ...] = (),
        widest: int = 0,
        seed: int = 0,
    ) -> None:
        self.library, self.is_classifier, self.rounds, self.learning_rate = (
            library,
            is_classifier,
            rounds,
            learning_rate,
        )
        self.early_stopping, self.categorical, self.widest, self.seed = early_stopping, categorical, widest, seed

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Any = None) -> Self:
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        columns = self._columns(X)
        self.model_: Any = self._make(X.shape[1])
        if not self.early_stopping or self.library == "ebm":  # which splits by itself
            self.model_.fit(columns, y, **weighted, **self._categories())
            return self
        part = deal(strata(y), VALIDATION_PARTS, np.random.default_rng([self.seed, 4]))
        learn, validate = np.flatnonzero(part), np.flatnonzero(part == 0)
        if self.is_classifier:  # a class that is in few rows is in the rows to learn from
            learn = np.concatenate([learn, validate[~np.isin(y[validate], y[learn])]])
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight[learn]}
        validation = [(columns[validate], y[validate])]
        self.model_.fit(
            columns[learn], y[learn], eval_set=validation, **weighted, **self._categories(), **self._quiet()
        )
        return self

    def _make(self, n_columns: int) -> Any:
        module = importlib.import_module(LIBRARIES[self.library][0])
        ending = "Classifier" if self.is_classifier else "Regressor"
        rate, early = {"learning_rate": self.learning_rate}, self.early_stopping
        kinds = ["nominal" if column in self.categorical else "continuous" for column in range(n_columns)]
        makers: dict[str, tuple[str, dict[str, Any]]] = {
            "lightgbm": (
                "LGBM",
                {"n_estimators": self.rounds, "n_jobs": 1, "verbose": -1, "random_state": self.seed}
                | ({"early_stopping_round": PATIENCE} if early else {}),
            ),
            "xgboost": (
                "XGB",
                {"n_estimators": self.rounds, "n_jobs": 1, "tree_method": "hist", "random_state": self.seed}
                | {"enable_categorical": True, "feature_types": ["c" if kind == "nominal" else "q" for kind in kinds]}
                | ({"early_stopping_rounds": PATIENCE} if early else {}),
            ),
            "catboost": (
                "CatBoost",
                {"iterations": self.rounds, "thread_count": 1, "verbose": False, "allow_writing_files": False}
                | {"cat_features": list(self.categorical), "random_seed": self.seed}
                | ({"early_stopping_rounds": PATIENCE} if early else {}),
            ),
            "ebm": ("ExplainableBoosting", {"feature_types": kinds, "n_jobs": 1, "random_state": self.seed}),
        }
        prefix, options = makers[self.library]
        return getattr(module, prefix + ending)(**options, **({} if self.library == "ebm" else rate))

    def _categories(self) -> dict[str, Any]:
        is_needed = self.library == "lightgbm" and self.categorical
        return {"categorical_feature": list(self.categorical)} if is_needed else {}

    def _quiet(self) -> dict[str, Any]:
        return {"verbose": False} if self.library == "xgboost" else {}

    def _columns(self, X: Any) -> Any:
        if sparse.issparse(X):
            if self.library == "ebm":
                if X.shape[0] * X.shape[1] > MOST_DENSE:
                    raise ValueError(f"{self.library} needs a dense matrix, which would have {X.shape} cells")
                return X.toarray()
            return X
        if self.library == "catboost" and self.categorical:  # categories must not be floats
            columns = np.asarray(X).astype(object)
            for column in self.categorical:
                columns[:, column] = [str(value) for value in X[:, column]]
            return columns
        return X

    @property
    def n_iter_(self) -> int:
        names = ("n_iter_", "best_iteration_", "tree_count_")
        found = (getattr(self.model_, name, None) for name in names)
        return next((int(size) for size in found if isinstance(size, int | np.integer) and size > 0), self.rounds)


def _make(name: str, is_classifier: bool, facts: Facts) -> Gradient:
    return Gradient(name, is_classifier, categorical=tuple(facts.categorical), widest=facts.widest, seed=facts.seed)


def library(name: str, is_classifier: bool, grid: tuple[dict[str, Any], ...]) -> Algorithm:
    """The models of a library with these settings; of "ebm" with its own."""
    tasks = CLASSIFICATION if is_classifier else (REGRESSION,)
    make = partial(_make, name, is_classifier)
    return Algorithm(TITLES[name], tasks, make, ({},) if name == "ebm" else grid, peer=True)
