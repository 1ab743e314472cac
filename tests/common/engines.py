"""The engines that the common checks run on: how each fits a model, and the ways to cut the rows that it knows."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from dask_cluster import cuts, scattered, the_client
from sklearn.base import clone

from electorate import scan


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


class Disk:
    """Scanned tables: batches of very different sizes, one of them empty; bins and state in memory or in files."""

    def fit(self, model: Any, X: Any, y: Any, weight: Any) -> Any:
        return self._fit(model, X, y, weight, cuts(len(y), 4))

    def ways(self, estimator: Any, X: Any, y: Any, weight: Any) -> Iterator[Any]:
        for jobs, shards, sizes, memory in (
            (1, None, [len(y)], None),
            (2, 3, cuts(len(y), 8), None),
            (2, 7, [*[1] * 9, len(y) - 9], 1),
        ):
            model = clone(estimator).set_params(n_jobs=jobs)
            model._n_shards = shards
            yield self._fit(model, X, y, weight, sizes, memory)

    def _fit(self, model: Any, X: Any, y: Any, weight: Any, sizes: list[int], memory: int | None = None) -> Any:
        return model.fit(*scanned(X, y, weight, sizes, memory))


def scanned(X: Any, y: Any, weight: Any, sizes: list[int], memory: int | None = None) -> list[Any]:
    """X, y and weights as a scan whose batches have these sizes."""
    if isinstance(X, np.ndarray):
        size = max(sizes)
        return list(scan(X, target=np.asarray(y), weights=weight, batch_rows=size, memory=memory))
    whole = X.assign(**{"the target": y} | ({} if weight is None else {"the weight": weight}))
    ends = np.concatenate([[0], np.cumsum(sizes)]).tolist()

    def batches() -> Iterator[Any]:
        return (whole.iloc[low:high] for low, high in pairwise(ends))

    return list(scan(batches, target="the target", weights=None if weight is None else "the weight", memory=memory))


ENGINES: dict[str, Engine] = {"threads": Threads(), "dask": Dask(), "disk": Disk()}
