"""What parts of the data must agree on: steps that are written once and run in one place or in many.

Such steps are a generator over the rows of one part. It yields an `Ask` with facts about its own rows and is sent back
what all parts together know. In one place nothing is left to merge; an engine of many places merges for it.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")
Steps = Generator["Ask", Any, Result]


def themselves(facts: Any) -> Any:
    return facts


@dataclass(frozen=True)
class Ask:
    """Facts that merge by `+`, and what of all of them together goes back to everyone."""

    facts: tuple[Any, ...]
    then: Callable[[tuple[Any, ...]], Any] = themselves


def alone(steps: Steps[Result]) -> Result:
    """Run steps where there is only one part."""
    answer = None
    while True:
        try:
            ask = steps.send(answer)
        except StopIteration as end:
            return end.value
        answer = ask.then(ask.facts)


def together(asks: list[Ask]) -> Any:
    """The answer to all parts."""
    return asks[0].then(tuple(reduce(add, facts) for facts in zip(*(ask.facts for ask in asks), strict=True)))


@dataclass(frozen=True)
class Most:
    """The larger one, of numbers or of each of several."""

    value: Any

    def __add__(self, other: "Most") -> "Most":
        return Most(np.maximum(self.value, other.value))


@dataclass(frozen=True)
class Least:
    """The smaller one; of truths, whether all hold."""

    value: Any

    def __add__(self, other: "Least") -> "Least":
        return Least(np.minimum(self.value, other.value))


@dataclass(frozen=True)
class Union:
    """All the values, sorted and distinct. Texts and numbers do not mix; name: what to call them."""

    values: NDArray[Any]
    name: str

    def __add__(self, other: "Union") -> "Union":
        mine, others = self.values, other.values
        if not (len(mine) and len(others)):
            return self if len(mine) else other
        if (mine.dtype.kind in "OU") != (others.dtype.kind in "OU"):
            raise ValueError(f"{self.name} holds texts in one partition and numbers in another: make it one type")
        return Union(np.unique(np.concatenate([mine, others])), self.name)


@dataclass(frozen=True)
class Each:
    """What every part says for itself, by its number."""

    said: dict[int, Any]

    def __add__(self, other: "Each") -> "Each":
        return Each({**self.said, **other.said})
