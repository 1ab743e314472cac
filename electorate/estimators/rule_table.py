"""An ensemble as a list of rules: what each asks, what it says, its weight, and how many rows it covers.

A stump or a rule is one line; any other tree has one line per leaf.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from electorate.engines.pool import Pool
from electorate.ensemble import Ensemble
from electorate.estimators import inputs
from electorate.estimators.words import Path, Words, leaf_paths, monomial


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
    rows: list[dict[str, Any]] = []
    for voter in range(model.ensemble_.n_voters):
        alone = model.ensemble_.only(voter)
        parts = _parts(words, alone)
        shares = _coverage(model, alone, [path for path, _, _ in parts], table, weight) if table is not None else []
        for k, (path, then, otherwise) in enumerate(parts):
            row = {"voter": voter, "step": float(model.ensemble_.steps[voter]), "rule": words.all_of(alone, path)}
            row |= {"then": then, "otherwise": otherwise}
            rows.append(row | ({"coverage": shares[k]} if shares else {}))
    names = ["voter", "step", "rule", "then", "otherwise"] + (["coverage"] if table is not None else [])
    return RuleTable({name: [row[name] for row in rows] for name in names})


def _parts(words: Words, alone: Ensemble) -> list[tuple[Path, str, str | None]]:
    """(path, what is said there, what is said elsewhere if that is one thing) of each line."""
    rule = monomial(alone)
    if rule is not None:
        return [(rule.path, words.said(alone, rule.inside), words.said(alone, rule.outside) if rule.path else None)]
    return [(path, words.said(alone, alone.value[leaf]), None) for leaf, path in leaf_paths(alone)]


def _coverage(model: Any, alone: Ensemble, paths: list[Path], table: Any, weight: NDArray[np.float64]) -> list[float]:
    """The share of the weight that ends at each path: a voter that says 1 there and 0 elsewhere is asked."""
    shares = []
    for path in paths:
        leaf = int(alone.children[path[-1]]) if path else 0
        value = np.zeros((len(alone.value), 1))
        value[leaf] = 1.0
        parts = {name: getattr(alone, name) for name in Ensemble.__dataclass_fields__}
        fires = Ensemble(**{**parts, "value": value}).votes(table.n_rows, model._reader(table), Pool(1))[0] > 0
        shares.append(float(weight[fires].sum() / weight.sum()))
    return shares
