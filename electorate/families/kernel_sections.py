"""Sections of a kernel as voters: h(x) = k(x, x_i) / (B sqrt(k(x_i, x_i))), B^2 the largest k(x, x) of training.

Their outputs lie between -1 and 1 (Cauchy-Schwarz). Products are summed in a fixed order, so that a row gets the same
bits in any block.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from electorate import kernels
from electorate.data.split import hash_rows
from electorate.exact import Floats, exp, ordered_sum
from electorate.families.by_rows import Always, RowSearch
from electorate.theory import complexity
from electorate.theory.complexity import Shape

ROWS_AT_ONCE = 256
HELD_BYTES = 2**30  # a table of all sections at all rows is stored up to this size, and computed every round beyond it


@dataclass(frozen=True)
class Kernel:
    name: str
    gamma: float
    degree: int
    coef0: float

    def table(self, rows: Floats, others: Floats) -> Floats:
        """[row, other]: k of every pair; others[column, other]."""
        out = np.empty((len(rows), others.shape[1]))
        product = kernels.squared_distances if self.name == "rbf" else kernels.inner_products
        product(np.ascontiguousarray(rows), np.ascontiguousarray(others), out)
        if self.name == "rbf":
            return exp(-self.gamma * out)
        return out if self.name == "linear" else reduce(np.multiply, [self.gamma * out + self.coef0] * self.degree)

    def itself(self, rows: Floats) -> Floats:
        """k(x, x) of every row."""
        if self.name == "rbf":
            return np.ones(len(rows))
        return np.array([self.table(row[None], row[:, None])[0, 0] for row in np.ascontiguousarray(rows)])


@dataclass(frozen=True)
class Section:
    """k(., landmark) times a factor that may be negative."""

    kernel: Kernel
    landmark: tuple[float, ...]
    factor: float

    def outputs(self, X: Floats) -> Floats:
        refuse_missing(X)
        other = np.array(self.landmark)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):  # of values far beyond those of training
            outputs = np.clip(self.kernel.table(X, other)[:, 0] * self.factor, -1.0, 1.0)
        return np.where(np.isnan(outputs), 0.0, outputs)

    def to_text(self, names: list[str]) -> str:
        at = ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, self.landmark, strict=True))
        return f"{'-' if self.factor < 0 else ''}{self.kernel.name} at ({at})"


class _Sections:
    """All sections of a fit: the landmarks, their factors, and their outputs at the rows."""

    def __init__(self, kernel: Kernel, landmarks: Floats, rows: Floats) -> None:
        self.kernel = kernel
        self.landmarks = landmarks
        self.rows = np.ascontiguousarray(rows)
        own, largest = kernel.itself(landmarks), float(kernel.itself(self.rows).max())
        if not np.isfinite(largest):
            raise ValueError(f"the {kernel.name} kernel of a row with itself is not finite: scale the columns first")
        size = np.sqrt(own) * np.sqrt(largest)
        self.factor = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
        self.stored: list[tuple[slice, Floats]] | None = None
        if 8 * len(rows) * len(landmarks) <= HELD_BYTES:
            table = np.empty((len(landmarks), len(rows)))
            for part, outputs in self._blocks():
                table[:, part] = outputs
            self.stored = [(slice(None), table)]

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Rows, and the outputs[landmark, row] for them."""
        others = np.ascontiguousarray(self.landmarks.T)
        for low in range(0, len(self.rows), ROWS_AT_ONCE):
            outputs = self.kernel.table(self.rows[low : low + ROWS_AT_ONCE], others) * self.factor
            yield slice(low, low + len(outputs)), np.ascontiguousarray(np.clip(outputs, -1.0, 1.0).T)

    def edges(self, search: RowSearch) -> NDArray[np.int64]:
        """Return the edges of all sections in whole units: rounded row by row, so that blocks have no effect."""
        sums = np.zeros(len(self.landmarks), dtype=np.int64)
        for part, outputs in self._blocks() if self.stored is None else self.stored:
            sums += search.correlate(outputs, part)
        return sums


class KernelSections(BaseEstimator):
    """The family of sections of a kernel, k(., x_i) at rows x_i of training. For two classes and real-valued boosters.

    Parameters
    ----------
    kernel : {"rbf", "polynomial", "linear"}, default="rbf"
        ``exp(-gamma |x - z|^2)``, ``(gamma <x, z> + coef0)^degree``, or ``<x, z>``.
    gamma : float or None, default=None
        None: 1 / the number of columns.
    degree, coef0 : int, default=3, and float, default=1
        Of the polynomial.
    max_landmarks : int, default=1000
        If there are more distinct rows, this many are drawn, by their contents.
    random_state : int, default=0
        Of that draw.

    Notes
    -----
    Columns should be on one scale, and none may have missing values. The search is exhaustive over the landmarks, by
    the edge.

    Examples
    --------
    >>> from electorate import AdaBoostRClassifier, KernelSections
    >>> AdaBoostRClassifier(KernelSections("polynomial", degree=2)).estimator
    KernelSections(degree=2, kernel='polynomial')
    """

    sees: ClassVar[str] = "rows"
    says_log_odds: ClassVar[bool] = False
    exhaustive: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = False
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "kernel": [StrOptions({"rbf", "polynomial", "linear"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "degree": [Interval(Integral, 1, 20, closed="both")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "max_landmarks": [Interval(Integral, 1, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        max_landmarks: int = 1000,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_landmarks = max_landmarks
        self.random_state = random_state

    def best(self, rows: RowSearch) -> Section:
        sections = rows.once("sections", lambda: self._sections(rows))
        sums = sections.edges(rows)
        k = int(np.argmax(np.abs(sums)))
        factor = float(sections.factor[k]) * (-1 if sums[k] < 0 else 1)
        return Section(sections.kernel, tuple(sections.landmarks[k].tolist()), factor)

    def _sections(self, rows: RowSearch) -> _Sections:
        if rows.wanted == "label":
            rows.refuse(
                self,
                "it needs outputs of -1 or 1, and sections of a kernel have any outputs between: "
                "use RealAdaBoostClassifier or AdaBoostRClassifier",
            )
        refuse_missing(rows.X, rows.names)
        return _Sections(self._kernel(rows.X.shape[1]), self.landmarks(rows.X), rows.X)

    def landmarks(self, X: Floats) -> Floats:
        """Distinct rows in their own order; where they are too many, those with the smallest hashes."""
        distinct = np.unique(X + 0.0, axis=0)  # -0.0 is 0.0
        if len(distinct) <= self.max_landmarks:
            return distinct
        chosen = np.argsort(hash_rows(distinct, self.random_state), kind="stable")[: self.max_landmarks]
        return np.asarray(distinct[np.sort(chosen)])

    def _kernel(self, n_columns: int) -> Kernel:
        gamma = 1.0 / n_columns if self.gamma is None else float(self.gamma)
        return Kernel(self.kernel, gamma, int(self.degree), float(self.coef0))

    # ------------------------------------------------------------ files

    array_types: ClassVar[dict[str, Any]] = {"voter.landmark": ("<f8", (None, None)), "voter.factor": ("<f8", (None,))}

    def pack(self, voters: list[Any]) -> dict[str, NDArray[Any]]:
        """The voters as arrays; a landmark that is not a number is the constant voter, its factor the sign."""
        columns = max((len(v.landmark) for v in voters if not isinstance(v, Always)), default=0)
        landmark = np.full((len(voters), columns), np.nan)
        factor = np.empty(len(voters))
        for t, voter in enumerate(voters):
            factor[t] = voter.sign if isinstance(voter, Always) else voter.factor
            if not isinstance(voter, Always):
                landmark[t] = voter.landmark
        return {"voter.landmark": landmark, "voter.factor": factor}

    def unpack(self, arrays: dict[str, NDArray[Any]], n_columns: int) -> list[Any]:
        """Return what `pack` has written; ValueError for what it cannot have written."""
        landmark, factor = (arrays[name] for name in self.array_types)
        if len(landmark) != len(factor) or (landmark.shape[1] not in (0, n_columns)):
            raise ValueError("the landmarks do not fit the table")
        if np.any(np.isinf(landmark)) or not np.all(np.isfinite(factor)):
            raise ValueError("a landmark or factor is not finite")
        missing, kernel = np.isnan(landmark), self._kernel(n_columns)
        constant = missing.all(axis=1)
        if np.any(np.abs(factor[constant]) != 1):
            raise ValueError("the output of a constant voter is neither -1 nor 1")
        if np.any(missing.any(axis=1) & ~constant):
            raise ValueError("a landmark has missing values")
        every = zip(constant.tolist(), landmark.tolist(), factor.tolist(), strict=True)
        return [Always(int(f)) if always else Section(kernel, tuple(x), f) for always, x, f in every]

    def complexity(self, X: Any, weight: Any = None) -> float:
        """sqrt(Tr K) / (n B) for these rows: a bound on the empirical Rademacher complexity.

        weight: how often each row counts; n is their sum.
        """
        rows = np.asarray(X, dtype=np.float64)
        own, times = self._kernel(rows.shape[1]).itself(rows), np.ones(len(rows)) if weight is None else weight
        n, trace = float(ordered_sum(times)), float(ordered_sum(own * times))
        return complexity.kernel_sections(n, trace, float(own.max())) if trace > 0 else 0.0

    def owns(self, voter: Any) -> bool:
        """Whether a voter is a section of this kernel."""
        return isinstance(voter, Section) and voter.kernel == self._kernel(len(voter.landmark))

    def log_count(self, n: int, shape: Shape) -> float:
        """The logarithm of the number of landmarks, signs and constants: fixed only once the rows are drawn."""
        return complexity.log_columns(min(n, self.max_landmarks))

    def published(self, n: int, d: int) -> float:
        """sqrt(Tr K) / n where k(x, x) = 1."""
        return complexity.published_kernel(n, float(n))


def refuse_missing(X: Floats, names: list[str] | None = None) -> None:
    missing = np.flatnonzero(np.isnan(X).any(axis=0))
    if len(missing):
        name = names[missing[0]] if names is not None else str(missing[0])
        raise ValueError(
            f"Input X contains NaN: column {name} has missing values, which KernelSections cannot use; fill them first"
        )
