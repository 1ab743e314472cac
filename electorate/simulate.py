"""Problems whose law is known: rows and labels to draw, the probability of a label, the Bayes rule and its margins.

LEDeven, XD6 and parity are those of the AdaBoost_R paper (section 4.2), twonorm is Breiman's. Labels are 0 and 1; noise
is a rate from 0 to 1/2: of inverted segments for LEDeven, of inverted labels for all others.
"""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr

from electorate.exact import AnyArray, Bools, Floats, Ints
from electorate.theory.margins import BayesMargins, Margins, bayes_margins

SEGMENTS = (119, 18, 93, 91, 58, 107, 111, 82, 127, 123)  # of the ten digits, the first segment the highest bit
MOST_POINTS = 2**20
TURNED = 1e-13  # label noise this near 1/2 leaves nothing to learn


class Problem:
    """Base class of the simulated problems. Subclasses define parameters such as `noise`, and the abstract methods."""

    noise: float
    columns: int
    inverts_labels: ClassVar[bool] = True  # whether the noise is one of the labels

    def __post_init__(self) -> None:
        if not 0 <= self.noise <= 0.5:
            raise ValueError(f"noise={self.noise!r}: a rate from 0 to 0.5")

    def sample(self, n: int, random_state: Any = None) -> tuple[AnyArray, Ints]:
        """Draw n rows and their labels. random_state: a seed, a NumPy generator, or None."""
        if n < 1:
            raise ValueError(f"n={n!r}: draw at least one row")
        random = np.random.default_rng(random_state)
        X, y = self._draw(int(n), random)
        return X, (y ^ (random.random(n) < self.noise) if self.inverts_labels else y).astype(np.int64)

    def _draw(self, n: int, random: np.random.Generator) -> tuple[AnyArray, AnyArray]:
        """Rows, and their labels before any are inverted."""
        raise NotImplementedError

    def _likely(self, X: AnyArray) -> Floats:
        """The probability of the label 1 before any are inverted."""
        raise NotImplementedError

    def probability(self, X: Any) -> Floats:
        """The probability of the label 1 for each row."""
        likely = self._likely(_rows(X, self.columns).astype(np.float64))
        return np.asarray(self.noise + (1 - 2 * self.noise) * likely)

    def predict(self, X: Any) -> Ints:
        """The predictions of the Bayes rule; the label 0 if both labels are equally likely."""
        return (self.probability(X) > 0.5).astype(np.int64)

    def bayes_error(self) -> float:
        """Return the error of the Bayes rule."""
        raise NotImplementedError

    def bayes_margins(self) -> Margins | BayesMargins:
        """Return the margin graph of the Bayes rule (eq. 23 of the AdaBoost_R paper)."""
        raise NotImplementedError


def _rows(X: Any, columns: int) -> AnyArray:
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise ValueError(f"X has the shape {rows.shape}: this problem has {columns} columns")
    return rows


# ---------------------------------------------------------------- bits: everything can be enumerated


class Bits(Problem):
    """Rows of bits, the last `irrelevant` of them without meaning. All is known by going through the others.

    By default the bits are all even chances, with a formula for the label, which the noise inverts.
    """

    irrelevant: int
    _relevant: int

    @property
    def columns(self) -> int:  # type: ignore[override]
        return self._relevant + self.irrelevant

    def _formula(self, bits: Ints) -> Bools:
        """The label by the bits that matter."""
        raise NotImplementedError

    def _draw(self, n: int, random: np.random.Generator) -> tuple[Ints, AnyArray]:
        bits = random.integers(0, 2, (n, self.columns))
        return bits, self._formula(bits[:, : self._relevant])

    def _mass(self, bits: Ints) -> Floats:
        """The probability of each row of the bits that matter."""
        return np.full(len(bits), 0.5**self._relevant)

    def _likely(self, bits: Ints) -> Floats:
        """The probability of the label 1 given the bits that matter, inverted labels included."""
        return np.where(self._formula(bits), 1 - self.noise, self.noise)

    def probability(self, X: Any) -> Floats:
        rows = _rows(X, self.columns)
        if not np.all((rows == 0) | (rows == 1)):
            raise ValueError("X contains values other than the bits 0 and 1")
        return self._likely(rows[:, : self._relevant].astype(np.int64))

    def points(self) -> tuple[Ints, Floats]:
        """All possible rows and their probabilities."""
        if 2**self.columns > MOST_POINTS:
            raise ValueError(f"{self.columns} bits make 2^{self.columns} rows, too many to enumerate: draw a sample")
        bits = _all_bits(self.columns)
        return bits, self._mass(bits[:, : self._relevant]) * 0.5**self.irrelevant

    def bayes_error(self) -> float:
        bits = _all_bits(self._relevant)
        p = self._likely(bits)
        return math.fsum(self._mass(bits) * np.minimum(p, 1 - p))

    def bayes_margins(self) -> Margins:
        bits = _all_bits(self._relevant)
        return bayes_margins(self._likely(bits), self._mass(bits))


def _all_bits(n: int) -> Ints:
    return np.array(list(product((0, 1), repeat=n)), dtype=np.int64).reshape(2**n, n)


@dataclass(frozen=True)
class XD6(Bits):
    """x0 x1 x2 or x3 x4 x5 or x6 x7 x8, and one irrelevant bit."""

    noise: float = 0.1
    irrelevant: int = 1
    _relevant: ClassVar[int] = 9  # type: ignore[misc]

    def _formula(self, bits: Ints) -> Bools:
        return np.asarray(np.any(np.all(bits.reshape(-1, 3, 3) == 1, axis=2), axis=1))


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


# ---------------------------------------------------------------- numbers: densities, and noise on the labels


@dataclass(frozen=True)
class TwoNorm(Problem):
    """Normal around (a, ..., a) against normal around (-a, ..., -a), of variance 1; a = 2 / sqrt(columns).

    The label is then inverted at the rate of the noise. The Bayes rule is known exactly, by the law of the score: the
    log-odds of the true class, which are normal around 8 with deviation 4, since the means are 4 deviations apart.
    """

    columns: int = 20
    noise: float = 0.0

    @property
    def _a(self) -> float:
        return 2 / math.sqrt(self.columns)

    def _draw(self, n: int, random: np.random.Generator) -> tuple[Floats, Ints]:
        y = random.integers(0, 2, n)
        return random.normal(size=(n, self.columns)) + self._a * (2 * y[:, None] - 1), y

    def _likely(self, X: Floats) -> Floats:
        return np.asarray(0.5 + 0.5 * np.tanh(self._a * X.sum(axis=1)))

    def _score_at_most(self, score: float) -> float:
        return float(ndtr((score - 8) / 4))

    def bayes_error(self) -> float:
        """Return the error of the Bayes rule."""
        return float(self.noise + (1 - 2 * self.noise) * self._score_at_most(0.0))

    def bayes_margins(self) -> BayesMargins:
        """Return the margin graph of the Bayes rule."""
        return BayesMargins(self._margin_at_most)

    def _margin_at_most(self, theta: float, below: bool) -> float:
        """Margins are (1 - 2 noise) tanh(score / 2), of the other sign for inverted labels."""
        most = 1 - 2 * self.noise
        if most <= TURNED:
            return float(theta > 0 if below else theta >= 0)
        if abs(theta) >= most:
            return float(theta > 0)
        score = math.log1p(theta / most) - math.log1p(-theta / most)
        return float((1 - self.noise) * self._score_at_most(score) + self.noise * (1 - self._score_at_most(-score)))
