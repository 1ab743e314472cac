"""Two domains of the AdaBoost_R paper (section 4.2), whose laws are known: LEDeven and parity."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from electorate.exact import Bools, Floats, Ints
from electorate.simulate import Bits

SEGMENTS = (119, 18, 93, 91, 58, 107, 111, 82, 127, 123)  # of the ten digits, the first segment the highest bit


@dataclass(frozen=True)
class LEDEven(Bits):
    """A digit shown by seven segments, each inverted with probability `noise`; the label is 1 if the digit is odd.

    ``irrelevant=17`` is LEDeven+17.
    """

    noise: float = 0.1
    irrelevant: int = 0
    inverts_labels: ClassVar[bool] = False
    _relevant: ClassVar[int] = 7  # type: ignore[misc]

    def _draw(self, n: int, random: np.random.Generator) -> tuple[Ints, Ints]:
        digit = random.integers(0, 10, n)
        lit = _segments()[digit] ^ (random.random((n, 7)) < self.noise)
        return np.hstack([lit, random.integers(0, 2, (n, self.irrelevant))]), digit % 2

    def _by_digit(self, bits: Ints) -> Floats:
        """[row, digit]: the probability of the row given the digit."""
        wrong = (bits[:, None, :] != _segments()[None]).sum(axis=2)
        return np.power(self.noise, wrong) * np.power(1 - self.noise, 7 - wrong)

    def _mass(self, bits: Ints) -> Floats:
        return np.asarray(self._by_digit(bits).mean(axis=1))

    def _likely(self, bits: Ints) -> Floats:
        """Of rows that cannot occur, 1/2."""
        by_digit = self._by_digit(bits)
        total = by_digit.sum(axis=1)
        odd = by_digit[:, 1::2].sum(axis=1)
        return np.divide(odd, total, out=np.full(len(bits), 0.5), where=total > 0)


def _segments() -> Ints:
    """[digit, segment]"""
    return (np.array(SEGMENTS)[:, None] >> np.arange(6, -1, -1)) & 1


@dataclass(frozen=True)
class Parity(Bits):
    """Whether an odd number of the first bits is set. The paper does not state their number: the defaults are ours."""

    relevant: int = 4
    irrelevant: int = 4
    noise: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.relevant <= 20 or self.irrelevant < 0:
            raise ValueError(f"Parity(relevant={self.relevant!r}, irrelevant={self.irrelevant!r}): 1 to 20, and 0 up")

    @property
    def _relevant(self) -> int:  # type: ignore[override]
        return self.relevant

    def _formula(self, bits: Ints) -> Bools:
        return np.asarray(bits.sum(axis=1) % 2 == 1)
