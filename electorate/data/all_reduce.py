"""All-reduce steps: code over the rows of one part that needs values of all parts.

Such code is a generator, and its name ends in `_steps`. Each part (a Dask worker, or the whole data in one process)
runs the same generator over its own rows. It yields a `Reduce` with its values; the values of all parts are added, and
every part is sent the same result. All parts run in step: they yield the same requests in the same order.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, TypeVar

import numpy as np

from electorate.exact import AnyArray

Result = TypeVar("Result")
ReduceSteps = Generator["Reduce", Any, Result]


@dataclass(frozen=True)
class Reduce:
    """A request: values that are added over all parts. Every part is sent `finish` of the sums."""

    values: tuple[Any, ...]
    finish: Callable[[tuple[Any, ...]], Any] = tuple


def run_locally(steps: ReduceSteps[Result]) -> Result:
    """Run the steps of data that has only one part."""
    return run_together([steps])


def reduce_all(requests: list[Reduce]) -> Any:
    """Return the answer to the requests of all parts, in the order of the parts."""
    return requests[0].finish(tuple(reduce(add, values) for values in zip(*(r.values for r in requests), strict=True)))


def run_together(parts: list[ReduceSteps[Result]]) -> Result:
    """Run the steps of all parts of data in this process; return their common result."""
    answer = None
    while True:
        requests, results = [], []
        for steps in parts:
            try:
                requests.append(steps.send(answer))
            except StopIteration as end:
                results.append(end.value)
        if results:
            return results[0]
        answer = reduce_all(requests)


@dataclass(frozen=True)
class Max:
    """A number or an array that is reduced by the (elementwise) maximum."""

    value: Any
    choose: ClassVar[np.ufunc] = np.maximum

    def __add__(self, other: "Max") -> "Max":
        return type(self)(self.choose(self.value, other.value))


class Min(Max):
    """A request for the minimum; for a boolean, whether it holds everywhere."""

    choose: ClassVar[np.ufunc] = np.minimum


@dataclass(frozen=True)
class SortedUnion:
    """Sorted distinct values, reduced by their union. name: of the column, for the error if texts meet numbers."""

    values: AnyArray
    name: str

    def __add__(self, other: "SortedUnion") -> "SortedUnion":
        mine, others = self.values, other.values
        if not (len(mine) and len(others)):
            return self if len(mine) else other
        if (mine.dtype.kind in "OU") != (others.dtype.kind in "OU"):
            raise ValueError(f"{self.name} holds texts in one partition and numbers in another: make it one type")
        return SortedUnion(np.unique(np.concatenate([mine, others])), self.name)


@dataclass(frozen=True)
class Gather:
    """The value of every part, by the number of the part."""

    by_part: dict[int, Any]

    def __add__(self, other: "Gather") -> "Gather":
        return Gather({**self.by_part, **other.by_part})
