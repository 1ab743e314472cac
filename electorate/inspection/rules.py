"""An ensemble as a list of rules: the splits of each, its output, its weight, and how many rows it covers.

A stump or a rule is one line; any other tree has one line per leaf.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.data import inputs
from electorate.exact import UNITS, Floats
from electorate.model.ensemble import Ensemble
from electorate.model.text import RuleLine, Words
from electorate.model.voter_view import model_trees
from electorate.optional import dataframe
from electorate.training.lazy_inputs import refuse_lazy_for


@dataclass(frozen=True)
class RuleTable:
    """columns: voter, step, rule, then, otherwise, and coverage where rows were given."""

    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(self.columns["rule"])

    def to_frame(self) -> Any:
        """Return the table as a pandas dataframe, or a polars one where pandas is not installed."""
        return dataframe(self.columns, "RuleTable.to_frame")

    def to_text(self) -> str:
        """One line per rule, the weight first."""
        lines = []
        for _, step, condition, then, otherwise, *coverage in zip(*self.columns.values(), strict=True):
            share = f"  ({100 * coverage[0]:.1f}% of the weight)" if coverage else ""
            lines.append(f"{step:+.4f}  {RuleLine(0, condition, then, otherwise)}{share}")
        return "\n".join(lines)

    __str__ = to_text


def rule_table(model: Any, X: Any = None, sample_weight: Any = None) -> RuleTable:
    """Return the rules of a fitted model with voters over bins.

    Missing values are mentioned only if the column had some in training; otherwise they go to the side with more
    weight, as in ``estimators_[k].to_text()``.

    Parameters
    ----------
    model : fitted classifier or regressor
    X : table, optional
        Rows to count: ``coverage`` is the share of their weight for which a rule holds.
    sample_weight : array-like, optional
        Weights of these rows.

    Returns
    -------
    RuleTable
        One entry per rule: its text, weight and coverage.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.inspection import rule_table
    >>> model = AdaBoostClassifier(n_estimators=1).fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> print(rule_table(model).to_text())  # doctest: +ELLIPSIS
    +0.5...  if x0 <= 3...
    """
    refuse_lazy_for("rule_table", X)
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    ensemble, steps = model_trees(model, "rule_table")
    table = inputs.check_table(model, X, reset=False) if X is not None else None
    weight = inputs.check_weight(sample_weight, table.n_rows) if table is not None else np.empty(0)
    words = Words(model, brief=True)
    names = ["voter", "step", "rule", "then", "otherwise", *(["coverage"] if table is not None else [])]
    lines: list[tuple[Any, ...]] = []
    for voter, step in enumerate(steps.tolist()):
        alone = ensemble.only(voter)
        shares = _coverage(model, alone, table, weight) if table is not None else None
        for leaf, *texts in words.rules(alone, words.output_text):
            lines.append((voter, step, *texts, *([] if shares is None else [float(shares[leaf])])))
    return RuleTable({name: [line[k] for line in lines] for k, name in enumerate(names)})


def _coverage(model: Any, alone: Ensemble, table: Any, weight: Floats) -> Floats:
    """[node]: the share of the weight that ends there, found by a voter whose output is its leaf's number."""
    numbers = np.arange(len(alone.value), dtype=np.float64)[:, None] / len(alone.value)
    votes = replace(alone, value=numbers).votes(table.n_rows, model._reader(table))[0]
    leaf = np.rint(votes / UNITS * len(alone.value)).astype(np.int64)
    return np.bincount(leaf, weights=weight, minlength=len(alone.value)) / weight.sum()
