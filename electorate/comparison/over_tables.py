"""`electorate.compare_over`: what several data sets say of the same algorithms.

From errors, or from outcomes row by row: mean ranks, for every pair the chance of being better on most data sets, and
the usual tests. Nothing here trains.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from electorate.comparison import paired_tests as tests
from electorate.comparison import statistics
from electorate.comparison.report import align, as_csv
from electorate.comparison.verdicts import training_factor
from electorate.escape import literal

Floats = NDArray[np.float64]
LEVEL = 0.05
NAMED = {"sign": tests.sign_test, "wilcoxon": tests.wilcoxon_test, "t": tests.t_test}


def compare_over(results: Any, rows: Any = None, *, seed: int = 0) -> "OverTables":
    """Compare algorithms over several data sets, from results that are there already.

    Parameters
    ----------
    results : dataframe, mapping of columns, or mapping of data sets
        Either a table of errors: a row for each data set, a column for each algorithm (the first column of texts, or
        else the index, names the data sets). Or a mapping from the name of each data set to what happened on its rows:
        a :class:`Comparison`, or losses (0 or 1, or how far off) by algorithm, each a list over the same rows.
    rows : list, mapping or the name of a column, optional
        With a table of error rates: how many test rows each is from. The Poisson binomial test needs it, and takes the
        errors of two algorithms for independent; outcomes row by row are better.
    seed : int, default=0
        Only for losses other than 0 and 1, whose chances are simulated.

    Returns
    -------
    OverTables
        Mean ranks, all pairs with all tests; printing it shows them.

    Examples
    --------
    >>> import electorate
    >>> errors = {"data": ["adult", "letter", "wine"], "A": [0.13, 0.04, 0.05], "B": [0.14, 0.06, 0.05]}
    >>> found = electorate.compare_over(errors, rows=[9768, 4000, 89])
    >>> round(found.chance("A", "B"), 2)
    1.0
    """
    if isinstance(results, Mapping) and _is_by_data_set(results):
        return _from_outcomes({str(name): _outcomes(name, given) for name, given in results.items()}, seed)
    table = _read(results)
    sizes, left = _sizes(rows, table)
    return _from_errors(table.names, left, sizes)


# ---------------------------------------------------------------- outcomes row by row


@dataclass(frozen=True)
class Outcomes:
    """Losses on the rows of one data set.

    losses: [algorithm, row]. weight: of the rows, or None. n_folds: of the cross-validation they are from, or None.
    """

    algorithms: list[str]
    losses: Floats
    weight: Floats | None = None
    n_folds: int | None = None

    @property
    def variance_factor(self) -> float:
        """Of the mean losses: training sets that overlap make it larger than rows alone would show."""
        return 1.0 if self.n_folds is None else training_factor(self.n_folds)


def _is_by_data_set(results: Mapping[Any, Any]) -> bool:
    """Whether values are data sets, and not columns of errors."""
    return all(hasattr(v, "outcomes") or isinstance(v, Mapping) or _is_frame(v) for v in results.values())


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "shape")


def _outcomes(name: Any, given: Any) -> Outcomes:
    if hasattr(given, "outcomes"):
        found = given.outcomes
        assert isinstance(found, Outcomes)
        return found
    columns = given if isinstance(given, Mapping) else {c: given[c] for c in given.columns}
    losses = [np.asarray(column, dtype=np.float64) for column in columns.values()]
    where = f"data set {literal(name)!r}"
    if not losses or any(column.ndim != 1 or len(column) != len(losses[0]) for column in losses) or not len(losses[0]):
        raise ValueError(f"{where}: every algorithm needs losses on the same rows, at least one")
    for algorithm, column in zip(columns, losses, strict=True):
        if not np.all(np.isfinite(column)) or np.any(column < 0):
            bad = int(np.flatnonzero(~(column >= 0) | np.isinf(column))[0])
            raise ValueError(f"{where}: the loss of {literal(algorithm)!r} in row {bad} is {column[bad]}")
    return Outcomes([str(a) for a in columns], np.array(losses))


def _from_outcomes(given: dict[str, Outcomes], seed: int) -> "OverTables":
    """Over the algorithms that every data set has."""
    everywhere = [a for a in next(iter(given.values())).algorithms if all(a in o.algorithms for o in given.values())]
    anywhere = dict.fromkeys(a for o in given.values() for a in o.algorithms)
    errors, chances = [], []
    for found in given.values():
        losses = found.losses[[found.algorithms.index(a) for a in everywhere]]
        errors.append(np.average(losses, axis=1, weights=found.weight))
        chances.append(_chances(losses, found.weight, seed, found.variance_factor))
    left_out = [a for a in anywhere if a not in everywhere]
    rates = all(_are_rates(found.losses) for found in given.values())
    return OverTables.of(list(given), everywhere, np.array(errors), np.array(chances), left_out, in_units=not rates)


def _are_rates(losses: Floats) -> bool:
    return bool(np.all((losses == 0) | (losses == 1)))


def _chances(losses: Floats, weight: Floats | None, seed: int, factor: float) -> Floats:
    """[a, b]: that a is better than b on such rows; each row counts as 1 / factor of a row."""
    k = len(losses)
    if weight is None and _are_rates(losses):
        only = losses @ (1 - losses).T / factor  # [a, b]: rows that a alone gets wrong
        return np.array([[tests.chance_of_better(only[b, a], only[a, b]) for b in range(k)] for a in range(k)])
    means = statistics.posterior_means(losses, seed, weight=weight, factor=factor)  # one draw of the rows for all
    return np.array([statistics.chance_of_worse(means, a) for a in range(k)])


# ---------------------------------------------------------------- a table of errors


@dataclass(frozen=True)
class _Table:
    names: list[str]
    columns: dict[str, list[Any]]


def _read(results: Any) -> _Table:
    """Names and columns of a table: those of texts that come first are names."""
    if not isinstance(results, Mapping):
        try:
            frame = nw.from_native(results, eager_only=True)
        except TypeError:
            raise TypeError(f"{type(results).__name__}: give a dataframe, or a mapping from names to columns") from None
        columns = {str(c): frame[c].to_list() for c in frame.columns}
        index = nw.maybe_get_index(frame)
        names = None if index is None else [str(name) for name in index]
    else:
        columns, names = {str(c): list(values) for c, values in results.items()}, None
    texts = [c for c, values in columns.items() if any(isinstance(v, str) for v in values)]
    if texts:
        names = [str(name) for name in columns.pop(texts[0])]
    length = {len(values) for values in columns.values()} | ({len(names)} if names is not None else set())
    if len(length) != 1 or not columns:
        raise ValueError("a table of errors has a column for each algorithm, all of the same length")
    return _Table(names or [str(i + 1) for i in range(length.pop())], columns)


def _sizes(rows: Any, table: _Table) -> tuple[list[int] | None, dict[str, list[Any]]]:
    """The numbers of test rows, and the columns that are algorithms."""
    if rows is None:
        return None, table.columns
    left = dict(table.columns)
    if isinstance(rows, str):
        if rows not in left:
            raise ValueError(f"rows is {literal(rows)!r}, but no column is called so: there are {sorted(left)}")
        given = left.pop(rows)
    elif isinstance(rows, Mapping):
        given = [rows.get(name) for name in table.names]
    else:
        given = list(rows)
    if len(given) != len(table.names):
        raise ValueError(f"rows has {len(given)} numbers for {len(table.names)} data sets")
    for name, size in zip(table.names, given, strict=True):
        if size is None or not size > 0 or size != int(size):
            raise ValueError(f"data set {literal(name)!r}: {size!r} is no number of test rows")
    return [int(size) for size in given], left


def _from_errors(names: list[str], columns: dict[str, list[Any]], sizes: list[int] | None) -> "OverTables":
    for algorithm, values in columns.items():
        for name, value in zip(names, values, strict=True):
            if not isinstance(value, int | float | np.number) or not math.isfinite(value):
                raise ValueError(f"the error of {literal(algorithm)!r} on {literal(name)!r} is {value!r}: a number")
            if sizes is not None and not 0 <= value <= 1:
                raise ValueError(
                    f"the error of {literal(algorithm)!r} on {literal(name)!r} is {value!r}: with rows, errors are "
                    "rates from 0 to 1; for other losses give outcomes row by row, or leave rows out"
                )
    errors = np.array(list(columns.values()), dtype=np.float64).T
    chances = None
    if sizes is not None:
        chances = np.array(
            [
                [[tests.chance_if_independent(a, b, n) for b in line] for a in line]
                for line, n in zip(errors.tolist(), sizes, strict=True)
            ]
        )
    return OverTables.of(names, list(columns), errors, chances)


# ---------------------------------------------------------------- what is found


@dataclass(frozen=True)
class OverTables:
    """What `compare_over` found; algorithms are in the order of their mean ranks, the best first.

    Attributes
    ----------
    data_sets, algorithms : list of str
    errors : ndarray of (data sets, algorithms)
    chances : ndarray of (data sets, algorithms, algorithms) or None
        That the one is better than the other on that data set; None where only errors are known.
    mean_ranks : ndarray of (algorithms,)
    majority : ndarray of (algorithms, algorithms) or None
        That the one is better than the other on most data sets: the Poisson binomial test.
    friedman : tuple of float
        Statistic and p-value of "all are alike".
    nemenyi : ndarray of (algorithms, algorithms)
        p-values of equal mean ranks, all pairs at once.
    pairs : dict of lists
        Every pair: wins, ties and losses of the first; its chance of being better on most data sets; p-values of the
        sign test, Wilcoxon's and the paired t-test, as they are and adjusted by Holm over all pairs; Nemenyi's.
    frame : dataframe
        The pairs, in pandas, polars or pyarrow, whichever is installed.
    left_out : list of str
        Algorithms that some data set lacks.
    in_units : bool
        Whether errors are quantities, in the units of each target: then their mean and the t-test say little.
    """

    data_sets: list[str]
    algorithms: list[str]
    errors: Floats
    chances: Floats | None
    left_out: list[str]
    in_units: bool = False  # errors are in the units of each data set's target

    @classmethod
    def of(
        cls,
        data_sets: list[str],
        algorithms: list[str],
        errors: Floats,
        chances: Floats | None,
        left_out: list[str] | None = None,
        in_units: bool = False,
    ) -> "OverTables":
        """With the algorithms brought into the order of their mean ranks."""
        if len(data_sets) < 2:
            raise ValueError("one data set is no comparison over data sets: give at least two, or use compare")
        if len(algorithms) < 2:
            raise ValueError(f"there are {len(algorithms)} algorithms that every data set has: at least two are needed")
        if len(set(data_sets)) < len(data_sets):
            raise ValueError("two data sets have one name")
        mean = tests.rank_rows(errors).mean(axis=0)
        order = np.lexsort((errors.mean(axis=0), mean))
        ordered = None if chances is None else chances[:, order][:, :, order]
        names = [algorithms[i] for i in order]
        return cls(data_sets, names, errors[:, order], ordered, left_out or [], in_units)

    @cached_property
    def mean_ranks(self) -> Floats:
        return np.asarray(tests.rank_rows(self.errors).mean(axis=0))

    @cached_property
    def majority(self) -> Floats | None:
        if self.chances is None:
            return None
        k = len(self.algorithms)
        return np.array([[tests.chance_of_majority(self.chances[:, a, b]) for b in range(k)] for a in range(k)])

    @cached_property
    def friedman(self) -> tuple[float, float]:
        return tests.friedman_test(self.errors)

    @cached_property
    def nemenyi(self) -> Floats:
        return tests.nemenyi_test(self.errors)

    @property
    def critical_difference(self) -> float:
        """Mean ranks farther apart than this differ at 5%, all pairs at once."""
        return tests.critical_difference(len(self.data_sets), len(self.algorithms), LEVEL)

    def chance(self, first: str, second: str) -> float:
        """That the first is better than the second on most data sets; NaN where only errors are known."""
        places = []
        for name in (first, second):
            if name not in self.algorithms:
                raise ValueError(f"no algorithm is called {literal(name)!r}; there are {self.algorithms}")
            places.append(self.algorithms.index(name))
        return self._majority_of(*places)

    def _majority_of(self, a: int, b: int) -> float:
        return float("nan") if self.majority is None else float(self.majority[a, b])

    @cached_property
    def pairs(self) -> dict[str, list[Any]]:
        firsts, seconds = np.triu_indices(len(self.algorithms), 1)
        gaps = (self.errors[:, firsts] - self.errors[:, seconds]).T  # negative: the first is better
        table: dict[str, list[Any]] = {
            "first": [self.algorithms[a] for a in firsts],
            "second": [self.algorithms[b] for b in seconds],
            "wins": [int(np.sum(gap < 0)) for gap in gaps],
            "ties": [int(np.sum(gap == 0)) for gap in gaps],
            "losses": [int(np.sum(gap > 0)) for gap in gaps],
            "chance_of_better": [self._majority_of(a, b) for a, b in _both(firsts, seconds)],
        }
        for name, test in NAMED.items():
            p = np.array([test(gap) for gap in gaps])
            table[f"{name}_p"], table[f"{name}_holm"] = p.tolist(), tests.holm(p).tolist()
        return table | {"nemenyi_p": [float(self.nemenyi[a, b]) for a, b in _both(firsts, seconds)]}

    @property
    def frame(self) -> Any:
        for library in ("pandas", "polars", "pyarrow"):
            try:
                module = import_module(library)
            except ImportError:
                continue
            return module.table(self.pairs) if library == "pyarrow" else module.DataFrame(self.pairs)
        raise ImportError("no dataframe library is installed: pip install pandas, or use .pairs")

    # ------------------------------------------------------------ as text and CSV

    @property
    def errors_csv(self) -> str:
        return as_csv({"data": self.data_sets, **dict(zip(self.algorithms, self.errors.T.tolist(), strict=True))})

    @property
    def pairs_csv(self) -> str:
        return as_csv(self.pairs)

    def __str__(self) -> str:
        parts = [f"{len(self.algorithms)} algorithms over {len(self.data_sets)} data sets", "", self._ranked(), ""]
        if self.majority is not None:
            title = "probability that the row is better than the column on most data sets (Poisson binomial test)"
            parts += [title, self._crossed(self.majority), ""]
        return "\n".join([*parts, *self.meaning])

    def __repr__(self) -> str:
        return str(self)

    def _ranked(self) -> str:
        """Each algorithm, and the first against it."""
        heads = ["", "algorithm", "mean rank", "mean error", "first wins", "ties", "loses"]
        lines = [[*heads, "sign p", "Wilcoxon p", "t p"]]
        for i, name in enumerate(self.algorithms):
            line = [str(i + 1), literal(name, 40), f"{self.mean_ranks[i]:.2f}", f"{self.errors[:, i].mean():.4f}"]
            lines.append(line + (self._against(i - 1) if i else [""] * 6))
        return align(lines, {1})

    def _against(self, pair: int) -> list[str]:
        counts = [str(self.pairs[name][pair]) for name in ("wins", "ties", "losses")]
        return counts + [f"{self.pairs[f'{name}_holm'][pair]:.3f}" for name in NAMED]

    def _crossed(self, values: Floats) -> str:
        numbers = [str(i + 1) for i in range(len(values))]
        lines = [["", "", *numbers]]
        for i, row in enumerate(values):
            cells = ["" if i == j else f"{value:.2f}" for j, value in enumerate(row)]
            lines.append([numbers[i], literal(self.algorithms[i], 40), *cells])
        return align(lines, {1})

    @property
    def meaning(self) -> list[str]:
        """The tests in words."""
        statistic, p = self.friedman
        lines = [
            f"p-values are of each against the first, adjusted by Holm for all {len(self.pairs['first'])} pairs",
            f"all alike? Friedman's chi-square is {statistic:.2f}, p = {p:.3g}",
        ]
        apart = [literal(n, 40) for n, p in zip(self.algorithms, self.nemenyi[0], strict=True) if p < LEVEL]
        first = literal(self.algorithms[0], 40)
        told = f"{first} is told apart from {'; '.join(apart)}" if apart else f"none is told apart from {first}"
        lines.append(
            f"mean ranks more than {self.critical_difference:.2f} apart differ at 5% (Nemenyi, all pairs): {told}"
        )
        if self.in_units:
            lines.append("errors are in the units of each target: their mean and the t-test say little, ranks do")
        if self.left_out:
            lines.append(f"left out, for want of results on every data set: {'; '.join(map(literal, self.left_out))}")
        return lines


def _both(firsts: NDArray[np.int64], seconds: NDArray[np.int64]) -> list[tuple[int, int]]:
    return list(zip(firsts.tolist(), seconds.tolist(), strict=True))
