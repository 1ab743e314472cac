"""A peer's estimator behind the tables we take: categories as numbers, labels as numbers, and back.

Peers differ in what they accept; here each gets float64 with NaN for missing values.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.algorithms import Algorithm, Facts, Setting
from electorate.comparison.rows import as_table, read_matrix
from electorate.data.inputs import category_columns
from electorate.data.table import Categories


class Coded:
    """Fits and predicts like an estimator; `model_` is the peer's own."""

    def __init__(self, algorithm: Algorithm, setting: Setting, seed: int, categorical_features: Any) -> None:
        self.algorithm = algorithm
        self.setting = setting
        self.seed = seed
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None) -> Self:
        table = as_table(X)
        wanted = category_columns(table, self.categorical_features, table.category_columns())
        self.categories_ = {column: Categories(table.levels(column)) for column in wanted}
        widest = max((len(c.levels) for c in self.categories_.values()), default=0)
        model = self.algorithm.build(self.setting, Facts(wanted, self.seed, widest))
        self.classes_, codes = np.unique(y, return_inverse=True)
        is_label = "regression" not in self.algorithm.tasks
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.model_ = model.fit(read_matrix(X, table, self.categories_), codes if is_label else y, **weighted)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        said = np.asarray(self.model_.predict(read_matrix(X, as_table(X), self.categories_))).ravel()
        return said if "regression" in self.algorithm.tasks else np.asarray(self.classes_[said.astype(np.int64)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(self.model_.predict_proba(read_matrix(X, as_table(X), self.categories_)))
