"""Another library's estimator with the interface of ours: categories and labels become numbers, and back."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.algorithms import REGRESSION, Algorithm, Facts, Setting
from electorate.comparison.rows import Floats, as_table, read_categories, read_matrix, widest_of


class Coded:
    """Passes float64 with NaN for missing values to another library's estimator, `model_`."""

    def __init__(self, algorithm: Algorithm, setting: Setting, seed: int, categorical_features: Any) -> None:
        self.algorithm = algorithm
        self.setting = setting
        self.seed = seed
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Floats | None = None) -> Self:
        table = as_table(X)
        self.categories_ = read_categories(table, self.categorical_features)
        facts = Facts(list(self.categories_), self.seed, widest_of(self.categories_))
        if REGRESSION not in self.algorithm.tasks:
            self.classes_, y = np.unique(y, return_inverse=True)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        model = self.algorithm.build(self.setting, facts)
        self.model_ = model.fit(read_matrix(X, table, self.categories_), y, **weighted)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        found = np.asarray(self.model_.predict(read_matrix(X, as_table(X), self.categories_))).ravel()
        return np.asarray(self.classes_[found.astype(np.int64)]) if hasattr(self, "classes_") else found

    def predict_proba(self, X: Any) -> Floats:
        return np.asarray(self.model_.predict_proba(read_matrix(X, as_table(X), self.categories_)))
