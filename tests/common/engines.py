"""The engines that the common checks run on: how each fits a model, and the ways to cut the rows that it knows."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from dask_cluster import cuts, scattered, the_client
from sklearn.base import clone


class Engine(Protocol):
    def fit(self, model: Any, X: Any, y: Any, weight: Any) -> Any: ...

    def ways(self, estimator: Any, X: Any, y: Any, weight: Any) -> Iterator[Any]:
        """Models fitted on the rows cut in other ways."""
        ...


class Threads:
    def fit(self, model: Any, X: Any, y: Any, weight: Any) -> Any:
        return model.fit(X, y, sample_weight=weight)

    def ways(self, estimator: Any, X: Any, y: Any, weight: Any) -> Iterator[Any]:
        for jobs, shards in [(1, 2), (1, 7), (2, 1), (2, 2), (4, 7), (4, None), (1, len(y) + 3)]:
            model = clone(estimator).set_params(n_jobs=jobs)
            model._n_shards = shards
            yield model.fit(X, y, sample_weight=weight)


class Dask:
    """Four partitions, one of them empty and one of a single row."""

    def fit(self, model: Any, X: Any, y: Any, weight: Any) -> Any:
        return self._fit(model, X, y, weight, cuts(len(y), 4))

    def ways(self, estimator: Any, X: Any, y: Any, weight: Any) -> Iterator[Any]:
        for sizes in ([len(y)], cuts(len(y), 2), cuts(len(y), 8), [*[1] * 9, len(y) - 9, 0]):
            yield self._fit(clone(estimator), X, y, weight, sizes)

    def _fit(self, model: Any, X: Any, y: Any, weight: Any, sizes: list[int]) -> Any:
        the_client()
        given = None if weight is None else np.asarray(weight, dtype=np.float64)
        return model.fit(*scattered((X, y, given), sizes))


ENGINES: dict[str, Engine] = {"threads": Threads(), "dask": Dask()}
