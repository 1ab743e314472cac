"""Explains a fitted model by its rules, shape functions and importances, and its prediction for one row."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.data.cleaning import clean_beforehand
from electorate.data.row_subset import evenly_spaced, some_rows
from electorate.estimators.stacked import StackedModel
from electorate.inspection.importances import Importances, check_explainable, column_importances
from electorate.inspection.row_explanation import RowExplanation, explain_median_row, explain_row
from electorate.inspection.rules import RuleTable, rule_table
from electorate.inspection.shapes import ShapeFunction, shape_functions
from electorate.model.ensemble import Ensemble
from electorate.text import literal
from electorate.training.lazy_inputs import refuse_lazy_for

MOST_ROWS = 2000  # that importances are computed from
POINTS = 5  # of a shape function, in the text


@dataclass(frozen=True, eq=False)
class Explanation:
    """The explanation of a fitted model, and of its prediction for one row.

    Attributes
    ----------
    model : str
        The name of its class.
    rules : RuleTable or None
        Its rules; None if the voters are not electorate's trees, or if they are too deep to be written out.
    shapes : list of ShapeFunction
        For stumps, what each column adds to the decision; the largest first.
    importances : Importances
        By splits, by permutation and by margin.
    row : RowExplanation or None
        The explanation of the requested row.
    models : list of (str, float)
        Of a stack: the names of its models and their weights, the largest first.
    """

    model: str
    rules: RuleTable | None
    shapes: list[ShapeFunction]
    importances: Importances
    row: RowExplanation | None
    models: list[tuple[str, float]] = field(default_factory=list)

    def to_text(self, most: int = 10, first_row: int = 0) -> str:
        """Return the explanation as text, with at most `most` entries of each kind. first_row: its number."""
        parts = [f"{self.model}"]
        if self.models:
            lines = [f"{weight:8.3f}  {literal(name, 60)}" for name, weight in self.models]
            parts.append("\n".join(["Models (the mean of their predictions, with these weights)", *lines]))
        parts.append(_importances_text(self.importances, most))
        if self.shapes:
            parts.append(_shapes_text(self.shapes, most))
        if self.rules is not None:
            parts.append(_rules_text(self.rules, most))
        if self.row is not None:
            parts.append(row_text(self.row, most, first_row))
        return "\n\n".join(parts)

    __str__ = to_text


def explain(model: Any, X: Any, y: Any = None, *, row: int | None = None) -> Explanation:
    """Explain a fitted model, and its prediction for one row.

    Parameters
    ----------
    model : fitted estimator of electorate
    X : array-like, sparse matrix or dataframe
        Rows to compute importances from, and to compare a row with: training rows or others.
    y : array-like, optional
        Their labels or targets. Without them, importances are computed with the model's own predictions.
    row : int, optional
        A row of X to explain, counted from 0: the voters for and against its prediction, its margin and how unusual
        that margin is, what each column adds, and the smallest change of one column that changes the prediction. For a
        weighted median: the voters above and below it, and the effect of each column. Only for models with
        electorate's own trees, rules, pairs or pools. Of a stack, explain one of its ``estimators_``.

    Returns
    -------
    Explanation
        With ``rules``, ``shapes``, ``importances`` and ``row``; ``print`` shows all of it.

    See Also
    --------
    contributions : What each column adds, for many rows.
    rule_table : All rules as a table.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, explain
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = explain(AdaBoostClassifier(n_estimators=10).fit(X, y), X, y, row=0)
    >>> int(found.row.prediction), len(found.row.votes)
    (0, 10)
    """
    refuse_lazy_for("explain", X)
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    check_explainable(model, "explain")
    model, X, y = clean_beforehand(model, X, y)
    if isinstance(model, StackedModel):
        return _explain_stack(model, *some_rows(X, y, MOST_ROWS), row)
    is_summed = isinstance(getattr(model, "ensemble_", None), Ensemble)
    is_median = getattr(getattr(model, "vote_", None), "trees", None) is not None
    one = None if row is None else (explain_median_row if is_median else explain_row)(model, X, row)
    some, labels = some_rows(X, y, MOST_ROWS)
    rules = _rules(model) if is_summed or is_median else None
    stumps = is_summed and hasattr(model, "classes_") and model.ensemble_.lookup is not None
    shapes = shape_functions(model)[1] if stumps else []
    return Explanation(type(model).__name__, rules, shapes, column_importances(model, some, labels), one)


def _explain_stack(model: StackedModel, X: Any, y: Any, row: int | None) -> Explanation:
    if row is not None:
        name = type(model).__name__
        raise TypeError(f"explain: the votes of a row are those of one model: pass one of the estimators_ of {name}")
    models = sorted(zip(model.names_, model.weights_.tolist(), strict=True), key=lambda one: -one[1])
    return Explanation(type(model).__name__, None, [], column_importances(model, X, y), None, models)


def _rules(model: Any) -> RuleTable | None:
    """Return the rules, or None if the trees are too deep for their rules to be written out."""
    try:
        return rule_table(model)
    except ValueError:
        return None


def _importances_text(found: Importances, most: int) -> str:
    against = "labels" if found.by_labels else "the model's own predictions"
    lines = [f"Importances (permutation and margin: computed with {against})", "   split  permutation  margin  column"]
    for column in found.order[:most]:
        margin = "     -" if found.margin is None else f"{found.margin[column]:6.3f}"
        name = literal(found.names[column], 60)
        lines.append(f"{found.split[column]:8.3f}  {found.permutation[column]:11.4f}  {margin}  {name}")
    return "\n".join(lines)


def _shapes_text(shapes: list[ShapeFunction], most: int) -> str:
    """Return for each column what it adds from its lowest to its highest values."""
    lines = ["Shape functions (what a column adds to the decision)"]
    for shape in shapes[:most]:
        if np.ndim(shape.values) > 1:
            lines.append(f"  {literal(shape.name, 60)}: up to {shape.weight:.3f} between its values")
            continue
        if shape.levels is not None:
            cells = [f"{level!r} {value:+.3f}" for level, value in zip(shape.levels, shape.values, strict=True)]
        else:
            cells = [f"<= {shape.edges[k]:.6g} {shape.values[k]:+.3f}" for k in evenly_spaced(len(shape.edges), POINTS)]
            cells.append(f"above {shape.values[-1]:+.3f}")
        lines.append(f"  {literal(shape.name, 60)}: {literal(', '.join(cells[:12]), 300)}")
    return "\n".join(lines)


def _rules_text(rules: RuleTable, most: int) -> str:
    lines = rules.to_text().split("\n")
    steps = rules.columns["step"]
    heaviest = sorted(range(len(steps)), key=lambda k: -abs(steps[k]))[:most]
    largest = f"the {len(heaviest)} with the largest weights of {len(rules)}"
    head = f"Rules ({largest})" if len(rules) > most else f"Rules ({len(rules)})"
    return "\n".join([head, *(literal(lines[k], 300) for k in heaviest)])


def row_text(found: RowExplanation, most: int, first_row: int = 0) -> str:
    """Return the explanation of a row as text."""
    is_class = found.runner_up is not None
    predicted = repr(found.prediction) if is_class else f"{found.prediction:.6g}"
    lines = [f"Row {found.row + first_row}: {literal(predicted)}"]
    if found.margin is not None and found.share_below is not None:
        lines[0] += f", margin {found.margin:.3f} over {literal(repr(found.runner_up))}"
        lines.append(f"  {100 * found.share_below:.1f}% of the rows have a smaller margin")
    titles = ("for it", "against it") if is_class else ("that raise it", "that lower it")
    unit, what = "votes", "Shapley values, compared with the given rows"
    if found.is_median:
        titles, unit = ("above it", "below it"), "share of the weight"
        what = "change of the prediction against its mean when the column takes the values of the given rows"
    for title, votes in zip(titles, (found.in_favour, found.against), strict=True):
        total = sum(vote.vote for vote in votes)
        lines.append(f"  voters {title}: {len(votes)}, {unit} {total:+.4f}")
        lines += [f"    {vote.vote:+.4f}  {literal(vote.rule)}" for vote in votes[:most]]
    lines.append(f"  columns ({what})")
    lines += [f"    {value:+.4f}  {literal(name, 60)}" for name, value in found.columns[:most]]
    if is_class:
        turning = found.counterfactuals[:most]
        lines.append("  smallest changes of one column that change the prediction" + ("" if turning else ": none"))
        for one in turning:
            far = "the row has no value" if np.isinf(one.distance) else f"{one.distance:.2f} standard deviations"
            far = "another category" if isinstance(one.value, str) else far
            lines.append(f"    {literal(one.text)}: {literal(repr(one.label))} ({far})")
    return "\n".join(lines)
