"""`electorate.compare_over`: mean ranks and significance tests of algorithms over several data sets.

It takes errors, or outcomes row by row. For every pair it gives the probability of being better on most data sets (the
Poisson binomial test) and the usual tests. Nothing here trains.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from electorate.comparison import paired_tests as tests
from electorate.comparison.report import Table, align, as_csv, as_frame
from electorate.comparison.verdicts import TRAINING
from electorate.exact import Floats
from electorate.text import literal

LEVEL = 0.05
Names = list[str]
NAMED = {"sign": tests.sign_test, "wilcoxon": tests.wilcoxon_test, "t": tests.t_test}


def compare_over(results: Any, rows: Any = None, *, seed: int = 0) -> "OverTables":
    """Compare algorithms over several data sets, from existing results.

    Parameters
    ----------
    results : dataframe, mapping of columns, or mapping of data sets
        Either a table of errors: a row for each data set, a column for each algorithm (the first column of texts, or
        else the index, names the data sets). Or a mapping from the name of each data set to its outcomes: a
        :class:`Comparison`, or the losses of each algorithm (0 or 1, or absolute errors) on the same rows.
    rows : list, mapping or the name of a column, optional
        With a table of error rates: the number of test rows of each data set. The Poisson binomial test needs it, and
        assumes that the errors of two algorithms are independent; outcomes row by row are better.
    seed : int, default=0
        For losses other than 0 and 1, whose probabilities are simulated.

    Returns
    -------
    OverTables
        Mean ranks, and all pairs with all tests; printing it shows them.

    Examples
    --------
    >>> import electorate
    >>> errors = {"data": ["adult", "letter", "wine"], "A": [0.13, 0.04, 0.05], "B": [0.14, 0.06, 0.05]}
    >>> found = electorate.compare_over(errors, rows=[9768, 4000, 89])
    >>> round(found.chance("A", "B"), 1)
    1.0
    """
    if isinstance(results, Mapping) and all(map(_has_outcomes, results.values())):
        return over_outcomes({str(name): _read_outcomes(name, value) for name, value in results.items()}, seed)
    names, columns = _read_table(results)
    sizes = None if rows is None else _read_sizes(rows, names, columns)
    return _over_errors(names, columns, sizes)


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
    def is_zero_one(self) -> bool:
        return bool(np.all((self.losses == 0) | (self.losses == 1)))

    def take(self, algorithms: list[str]) -> "Outcomes":
        return replace(self, algorithms=algorithms, losses=self.losses[[self.algorithms.index(a) for a in algorithms]])

    def chances(self, seed: int) -> Floats:
        """[a, b]: the probability that a is better than b on such rows.

        The training sets of a cross-validation overlap, which enlarges the variance by a factor: each row then counts
        as 1 / factor of a row.
        """
        losses, factor = self.losses, 1.0 if self.n_folds is None else TRAINING
        if self.weight is None and self.is_zero_one:
            only = losses @ (1 - losses).T / factor  # [a, b]: rows that a alone gets wrong
            pairs = zip(only.T.ravel(), only.ravel(), strict=True)
            return np.array([tests.chance_of_better(wins, lost) for wins, lost in pairs]).reshape(only.shape)
        means = tests.posterior_means(losses, seed, weight=self.weight, factor=factor)
        return np.array([tests.chance_of_worse(means, a) for a in range(len(losses))])


def _has_outcomes(value: Any) -> bool:
    """Whether a value is a data set, and not a column of errors."""
    is_frame = hasattr(value, "columns") and hasattr(value, "shape")
    return is_frame or isinstance(value, Mapping) or hasattr(value, "outcomes")


def _read_outcomes(name: Any, value: Any) -> Outcomes:
    if hasattr(value, "outcomes"):
        assert isinstance(value.outcomes, Outcomes)
        return value.outcomes
    columns = value if isinstance(value, Mapping) else {c: value[c] for c in value.columns}
    losses = [np.asarray(column, dtype=np.float64) for column in columns.values()]
    where = f"data set {literal(name)!r}"
    if not losses or any(column.ndim != 1 or len(column) != len(losses[0]) for column in losses) or not len(losses[0]):
        raise ValueError(f"{where}: every algorithm needs losses on the same rows, at least one")
    for algorithm, column in zip(columns, losses, strict=True):
        bad = np.flatnonzero(~(np.isfinite(column) & (column >= 0)))
        if bad.size:
            raise ValueError(f"{where}: the loss of {literal(algorithm)!r} in row {bad[0]} is {column[bad[0]]}")
    return Outcomes([str(a) for a in columns], np.array(losses))


def over_outcomes(outcomes: dict[str, Outcomes], seed: int) -> "OverTables":
    """Compare the algorithms that every data set has."""
    anywhere = dict.fromkeys(a for one in outcomes.values() for a in one.algorithms)
    everywhere = [a for a in anywhere if all(a in one.algorithms for one in outcomes.values())]
    left_out = [a for a in anywhere if a not in everywhere]
    found = [one.take(everywhere) for one in outcomes.values()]
    errors = np.array([np.average(one.losses, axis=1, weights=one.weight) for one in found])
    chances = np.array([one.chances(seed) for one in found])
    in_units = not all(one.is_zero_one for one in outcomes.values())
    return OverTables(list(outcomes), everywhere, errors, chances, left_out, in_units)


# ---------------------------------------------------------------- a table of errors


def _read_table(results: Any) -> tuple[list[str], Table]:
    """Names of the data sets, and the other columns. The first column of texts has the names."""
    names = None
    if isinstance(results, Mapping):
        columns = {str(c): list(values) for c, values in results.items()}
    else:
        try:
            frame = nw.from_native(results, eager_only=True)
        except TypeError:
            kind = type(results).__name__
            raise TypeError(f"results is a {kind}: pass a dataframe, or a mapping from names to columns") from None
        columns = {str(c): frame[c].to_list() for c in frame.columns}
        index = nw.maybe_get_index(frame)
        names = None if index is None else [str(name) for name in index]
    texts = [c for c, values in columns.items() if any(isinstance(v, str) for v in values)]
    if texts:
        names = [str(name) for name in columns.pop(texts[0])]
    lengths = {len(values) for values in columns.values()} | ({len(names)} if names is not None else set())
    if len(lengths) != 1 or not columns:
        raise ValueError("a table of errors needs a column for each algorithm, all of the same length")
    return names or [str(i + 1) for i in range(lengths.pop())], columns


def _read_sizes(rows: Any, names: list[str], columns: Table) -> list[int]:
    """The numbers of test rows; a column that holds them is removed from the columns."""
    if isinstance(rows, str):
        if rows not in columns:
            raise ValueError(f"rows is {literal(rows)!r}, but there is no such column; choose from {sorted(columns)}")
        sizes = columns.pop(rows)
    else:
        sizes = [rows.get(name) for name in names] if isinstance(rows, Mapping) else list(rows)
    if len(sizes) != len(names):
        raise ValueError(f"rows has {len(sizes)} numbers for {len(names)} data sets")
    for name, size in zip(names, sizes, strict=True):
        if size is None or not size > 0 or size != int(size):
            raise ValueError(f"data set {literal(name)!r}: {size!r} is not a number of test rows")
    return [int(size) for size in sizes]


def _over_errors(names: list[str], columns: Table, sizes: list[int] | None) -> "OverTables":
    for algorithm, values in columns.items():
        for name, value in zip(names, values, strict=True):
            where = f"the error of {literal(algorithm)!r} on {literal(name)!r} is {value!r}"
            if not isinstance(value, int | float | np.number) or not math.isfinite(value):
                raise ValueError(f"{where}: it must be a finite number")
            if sizes is not None and not 0 <= value <= 1:
                hint = "for other losses pass outcomes row by row, or leave rows out"
                raise ValueError(f"{where}: with rows, errors are rates from 0 to 1; {hint}")
    errors = np.array(list(columns.values()), dtype=np.float64).T
    chances = None
    if sizes is not None:
        independent = np.vectorize(tests.chance_if_independent, otypes=[np.float64])
        chances = independent(errors[:, :, None], errors[:, None], np.array(sizes)[:, None, None])
    return OverTables(names, list(columns), errors, chances, [], False)


# ---------------------------------------------------------------- the result


class OverTables:
    """The result of `compare_over`; algorithms are in the order of their mean ranks, the best first.

    Attributes
    ----------
    data_sets, algorithms : list of str
    errors : ndarray of (data sets, algorithms)
    chances : ndarray of (data sets, algorithms, algorithms) or None
        Probability that the one is better than the other on that data set; None where only errors are known.
    mean_ranks : ndarray of (algorithms,)
    majority : ndarray of (algorithms, algorithms) or None
        Probability that the one is better than the other on most data sets: the Poisson binomial test.
    friedman : tuple of float
        Statistic and p-value of the hypothesis that all algorithms have the same ranks.
    critical_difference : float
        Mean ranks farther apart than this differ at the 5% level, over all pairs at once (Nemenyi).
    nemenyi : ndarray of (algorithms, algorithms)
        p-values of equal mean ranks, all pairs at once.
    pairs : dict of lists
        Every pair: wins, ties and losses of the first; its probability of being better on most data sets; p-values of
        the sign test, Wilcoxon's and the paired t-test, plain and adjusted by Holm over all pairs; Nemenyi's.
    frame : dataframe
        The pairs, in pandas, polars or pyarrow, whichever is installed.
    left_out : list of str
        Algorithms without a result on some data set.
    in_units : bool
        Whether errors are in the units of each target; then their mean and the t-test have little meaning.
    """

    def __init__(
        self, data_sets: Names, algorithms: Names, errors: Floats, chances: Floats | None, left_out: Names, units: bool
    ) -> None:
        if len(data_sets) < 2:
            raise ValueError("one data set is not enough: pass at least two, or use compare")
        if len(algorithms) < 2:
            raise ValueError(f"{len(algorithms)} algorithms have results on every data set: at least two are needed")
        if len(set(data_sets)) < len(data_sets):
            raise ValueError("two data sets have the same name: rename one of them")
        ranks = tests.rank_rows(errors).mean(axis=0)
        order = np.lexsort((errors.mean(axis=0), ranks))
        self.data_sets, self.algorithms = data_sets, [algorithms[i] for i in order]
        self.errors, self.mean_ranks = errors[:, order], ranks[order]
        self.chances = self.majority = None
        if chances is not None:
            self.chances = chances[:, order][:, :, order]
            self.majority = np.apply_along_axis(tests.chance_of_majority, 0, self.chances)
        self.left_out, self.in_units = left_out, units
        self.friedman = tests.friedman_test(self.errors)

    @cached_property
    def critical_difference(self) -> float:
        return tests.critical_difference(len(self.data_sets), len(self.algorithms), LEVEL)

    @cached_property
    def nemenyi(self) -> Floats:
        return tests.nemenyi_test(self.errors)

    def chance(self, first: str, second: str) -> float:
        """The probability that the first is better than the second on most data sets; NaN without row numbers."""
        for name in (first, second):
            if name not in self.algorithms:
                raise ValueError(f"no algorithm is called {literal(name)!r}; choose from {self.algorithms}")
        if self.majority is None:
            return float("nan")
        return float(self.majority[self.algorithms.index(first), self.algorithms.index(second)])

    @cached_property
    def pairs(self) -> Table:
        first, second = np.triu_indices(len(self.algorithms), 1)
        gaps = (self.errors[:, first] - self.errors[:, second]).T  # negative: the first is better
        majority = np.full_like(self.nemenyi, np.nan) if self.majority is None else self.majority
        table: Table = {
            "first": [self.algorithms[a] for a in first],
            "second": [self.algorithms[b] for b in second],
            "wins": np.sum(gaps < 0, axis=1).tolist(),
            "ties": np.sum(gaps == 0, axis=1).tolist(),
            "losses": np.sum(gaps > 0, axis=1).tolist(),
            "chance_of_better": majority[first, second].tolist(),
        }
        for name, test in NAMED.items():
            p = np.array([test(gap) for gap in gaps])
            table[f"{name}_p"], table[f"{name}_holm"] = p.tolist(), tests.holm(p).tolist()
        return table | {"nemenyi_p": self.nemenyi[first, second].tolist()}

    @property
    def frame(self) -> Any:
        return as_frame(self.pairs, "pandas", "pairs")

    @property
    def errors_csv(self) -> str:
        return as_csv({"data": self.data_sets, **dict(zip(self.algorithms, self.errors.T.tolist(), strict=True))})

    @property
    def pairs_csv(self) -> str:
        return as_csv(self.pairs)

    def __repr__(self) -> str:
        """The ranked table, the Poisson binomial test of all pairs, and their meaning."""
        k, pairs = len(self.algorithms), self.pairs
        names = [[str(i + 1), literal(name, 40)] for i, name in enumerate(self.algorithms)]
        heads = ["", "algorithm", "mean rank", "mean error", "first wins", "ties", "loses"]
        lines = [[*heads, "sign p", "Wilcoxon p", "t p"]]
        for i, name in enumerate(names):
            counts = [str(pairs[column][i - 1]) for column in ("wins", "ties", "losses")]
            p_values = [f"{pairs[f'{test}_holm'][i - 1]:.3f}" for test in NAMED]
            against = [*counts, *p_values] if i else [""] * 6
            lines.append([*name, f"{self.mean_ranks[i]:.2f}", f"{self.errors[:, i].mean():.4f}", *against])
        parts = [f"{k} algorithms over {len(self.data_sets)} data sets", "", align(lines, {1}), ""]
        if self.majority is not None:
            lines = [["", "", *(number for number, _ in names)]]
            for i, name in enumerate(names):
                lines.append([*name, *("" if i == j else f"{p:.2f}" for j, p in enumerate(self.majority[i]))])
            title = "probability that the row is better than the column on most data sets (Poisson binomial test)"
            parts += [title, align(lines, {1}), ""]
        return "\n".join([*parts, *self.meaning])

    @property
    def meaning(self) -> list[str]:
        """The tests in words."""
        statistic, p = self.friedman
        first, *others = [literal(name, 40) for name in self.algorithms]
        worse = [name for name, p in zip(others, self.nemenyi[0, 1:], strict=True) if p < LEVEL]
        differs = f"{first} differs from {'; '.join(worse)}" if worse else f"none differs from {first}"
        lines = [
            f"p-values: each against the first, adjusted by Holm for all {len(self.pairs['first'])} pairs",
            f"Friedman test of equal ranks: chi-square {statistic:.2f}, p = {p:.3g}",
            f"mean ranks more than {self.critical_difference:.2f} apart differ at 5% (Nemenyi, all pairs): {differs}",
        ]
        if self.in_units:
            lines.append("errors are in the units of each target: compare ranks, not mean errors or the t-test")
        if self.left_out:
            lines.append(f"left out (no result on some data set): {'; '.join(map(literal, self.left_out))}")
        return lines
