"""An ensemble as a list of rules: what each asks, what it says, its weight, and how many rows it covers.

A stump or a rule is one line; any other tree has one line per leaf.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from electorate.data import inputs
from electorate.grid import UNITS
from electorate.model.ensemble import Ensemble
from electorate.model.text import Words, monomial
from electorate.threads import ThreadPool


@dataclass(frozen=True)
class RuleTable:
    """columns: voter, step, rule, then, otherwise, and coverage where rows were given."""

    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(self.columns["rule"])

    def to_frame(self) -> Any:
        """As a pandas dataframe, or a polars one where pandas is not installed."""
        try:
            import pandas as frames
        except ImportError:
            import polars as frames
        return frames.DataFrame(self.columns)

    def to_text(self) -> str:
        """One line per rule, the weight first."""
        return "\n".join(self._line(k) for k in range(len(self)))

    def _line(self, k: int) -> str:
        row = {name: column[k] for name, column in self.columns.items()}
        otherwise = f", else {row['otherwise']}" if row["otherwise"] is not None else ""
        covers = f"  ({100 * row['coverage']:.1f}% of the weight)" if "coverage" in row else ""
        rule = f"if {row['rule']}: {row['then']}" if row["rule"] else f"always {row['then']}"
        return f"{row['step']:+.4f}  {rule}{otherwise}{covers}"

    def __str__(self) -> str:
        return self.to_text()


def rule_table(model: Any, X: Any = None, sample_weight: Any = None) -> RuleTable:
    """The rules of a fitted model of voters over bins.

    Missing values are mentioned only where a column had some in training; elsewhere they are with the heavier side, as
    ``estimators_[k].to_text()`` says.

    Parameters
    ----------
    model : fitted classifier
    X : table, optional
        Rows to count: ``coverage`` is the share of their weight for which a rule holds.
    sample_weight : array-like, optional
        Weights of these rows.
    """
    check_is_fitted(model)
    if not isinstance(model.ensemble_, Ensemble):
        raise TypeError(f"voters of {type(model.estimator_).__name__} ask no questions, so there are no rules to show")
    table = inputs.check_table(model, X, reset=False) if X is not None else None
    weight = inputs.check_weight(sample_weight, table.n_rows) if table is not None else np.empty(0)
    words = Words(model, brief=True)
    names = ["voter", "step", "rule", "then", "otherwise"] + (["coverage"] if table is not None else [])
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for voter in range(model.ensemble_.n_voters):
        alone = model.ensemble_.only(voter)
        shares = _coverage(model, alone, table, weight) if table is not None else None
        for leaf, rule, then, otherwise in _lines(words, alone):
            line: list[Any] = [voter, float(model.ensemble_.steps[voter]), rule, then, otherwise]
            for name, value in zip(names, line if shares is None else [*line, float(shares[leaf])], strict=True):
                columns[name].append(value)
    return RuleTable(columns)


def _lines(words: Words, alone: Ensemble) -> Iterator[tuple[int, str, str, str | None]]:
    """Yield (leaf, its rule, what is said there, what is said elsewhere if that is one thing) for each line."""
    rule = monomial(alone)
    if rule is None:
        for leaf, path in words.leaves(alone):
            yield leaf, words.all_of(alone, path), words.said(alone, alone.value[leaf]), None
        return
    leaf = int(alone.children[rule.path[-1]]) if rule.path else 0
    otherwise = words.said(alone, rule.outside) if rule.path else None
    yield leaf, words.all_of(alone, rule.path), words.said(alone, rule.inside), otherwise


def _coverage(model: Any, alone: Ensemble, table: Any, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """[node]: the share of the weight that ends there, found by a voter that says its leaf's number."""
    parts = {name: getattr(alone, name) for name in Ensemble.__dataclass_fields__}
    numbers = np.arange(len(alone.value), dtype=np.float64)[:, None] / len(alone.value)
    votes = Ensemble(**{**parts, "value": numbers}).votes(table.n_rows, model._reader(table), ThreadPool(1))[0]
    leaf = np.rint(votes / UNITS * len(alone.value)).astype(np.int64)
    return np.bincount(leaf, weights=weight, minlength=len(alone.value)) / weight.sum()
