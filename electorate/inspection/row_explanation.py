"""Explains a prediction for one row: its voters, its margin, its columns, and the least changes that turn it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.data.row_subset import take_rows
from electorate.exact import UNITS, Floats, Ints
from electorate.export.summed_trees import SummedTrees, summed_trees
from electorate.inspection.importances import ShuffledRows
from electorate.inspection.margins import margins
from electorate.inspection.shapley import contributions
from electorate.model.ensemble import LEAF, Ensemble
from electorate.model.text import Path, Words, column_names, comparison


@dataclass(frozen=True)
class Counterfactual:
    """A change of one column after which the model predicts another class.

    Attributes
    ----------
    column : str
        Its name.
    now, value : float or str
        The value of the row (None if it is missing), and the nearest value that changes the prediction.
    text : str
        The change in words: "age > 40.5", "job = 'clerk'".
    label : the class that the model then predicts
    distance : float
        The distance between the two values, in standard deviations of the column; 1 for a change of category, infinite
        if the value of the row is missing.
    """

    column: str
    now: Any
    value: Any
    text: str
    label: Any
    distance: float


def counterfactuals(source: SummedTrees, block: Floats, row: int) -> list[Counterfactual]:
    """Return the least change of every column that can turn the vote of a row, the smallest first.

    block: [column, row] as the trees read it; the spread of each column is taken from all of its rows.
    """
    found = []
    own = block[:, row]
    now = _predicted(source, own[:, None])[0]
    for place, column in enumerate(source.trees.cells.columns.tolist()):
        values = _nearest(source, place, column, float(own[column]))
        tried = np.repeat(own[:, None], len(values), axis=1)
        tried[column] = values
        turned = np.flatnonzero(_predicted(source, tried) != now)
        if len(turned):
            distance = _distances(source, column, values[turned], own[column], block[column])
            best = int(np.argmin(distance))
            found.append(_described(source, tried[:, turned[best]], column, float(own[column]), float(distance[best])))
    return sorted(found, key=lambda one: one.distance)


def _predicted(source: SummedTrees, block: Floats) -> Ints:
    """Return the codes of the predicted classes."""
    block = np.ascontiguousarray(block)
    votes = source.trees.votes(block.shape[1], lambda low, high: block[:, low:high])
    decision = source.model._decision(votes, source.model._total_step())
    return np.asarray(decision > 0 if decision.ndim == 1 else np.argmax(decision, axis=1)).astype(np.int64)


def _nearest(source: SummedTrees, place: int, column: int, own: float) -> Floats:
    """Return the value nearest to the row's own in every cell but its own; of categories, every other one."""
    categories = source.categories(column)
    if categories is not None:
        codes = np.arange(float(categories.n_codes))
        return codes[codes != own]
    edges = source.trees.cells.edges[place]
    edges = edges[np.isfinite(edges)]
    above = np.nextafter(edges, np.inf)  # the least value on the right of a threshold
    if np.isnan(own):
        return np.unique(np.concatenate([edges, above]))
    return np.concatenate([edges[edges < own], above[above > own]])


def _distances(source: SummedTrees, column: int, values: Floats, own: float, every: Floats) -> Floats:
    if np.isnan(own):
        return np.full(len(values), np.inf)
    if source.categories(column) is not None:
        return np.ones(len(values))
    known = every[~np.isnan(every)]
    spread = float(np.std(known)) if len(known) else 0.0
    return np.abs(values - own) / (spread if spread > 0 else 1.0)


def _described(source: SummedTrees, tried: Floats, column: int, own: float, distance: float) -> Counterfactual:
    name, value = source.names[column], float(tried[column])
    label = source.model.classes_[_predicted(source, tried[:, None])[0]]
    categories = source.categories(column)
    if categories is None:
        goes_up = np.isnan(own) or value > own
        edge = float(np.nextafter(value, -np.inf)) if goes_up else value
        text = f"{name} {comparison(edge, 1 if goes_up else 0)}"
        return Counterfactual(name, None if np.isnan(own) else own, value, text, label, distance)
    levels = [*categories.levels.tolist(), "a rare level"]
    level = levels[int(value)]
    before = None if np.isnan(own) else levels[int(own)]
    return Counterfactual(name, before, level, f"{name} = {level!r}", label, distance)


MOST_BACKGROUND = 200  # rows to compare with for Shapley values


# ---------------------------------------------------------------- row explanation


@dataclass(frozen=True)
class VoterVote:
    """The vote of one voter for a row.

    Attributes
    ----------
    voter : int
        Its number.
    rule : str
        The tests that the row passes, and the output of the voter.
    step : float
        Its weight.
    vote : float
        Step times output. For a classifier, positive votes are for the predicted class and negative votes are for
        the class with the second most votes.
    """

    voter: int
    rule: str
    step: float
    vote: float


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """The explanation of the prediction for a row.

    Attributes
    ----------
    row : int
        Its position among the rows given.
    prediction : the predicted class or number
    runner_up : the class with the second most votes; None for a regressor
    margin : float or None
        The normalised margin between these two classes, from 0 to 1; None for a regressor.
    share_below : float or None
        The share of the given rows with a smaller margin; near 0, the margin is unusually small.
    votes : list of VoterVote
        The votes of all voters, the largest first.
    columns : list of (name, float)
        What each column adds to the decision, compared with the given rows (Shapley values), the largest first.
    counterfactuals : list of Counterfactual
        For each column that can change the prediction alone, the smallest change that does; the smallest first.
        Empty for a regressor.
    is_median : bool
        Whether the prediction is a weighted median. The votes are then shares of the weight, positive above the
        prediction, and `columns` has the change of the prediction against its mean when the column takes the values of
        the given rows.
    """

    row: int
    prediction: Any
    runner_up: Any
    margin: float | None
    share_below: float | None
    votes: list[VoterVote]
    columns: list[tuple[str, float]]
    counterfactuals: list[Counterfactual]
    is_median: bool = False

    @property
    def in_favour(self) -> list[VoterVote]:
        """The voters for the prediction; of a regressor, those that raise it, or predict more than the median."""
        return [vote for vote in self.votes if vote.vote > 0]

    @property
    def against(self) -> list[VoterVote]:
        """The voters against it; of a regressor, those that lower it, or predict less than the median."""
        return [vote for vote in self.votes if vote.vote < 0]


def explain_row(model: Any, X: Any, row: int) -> RowExplanation:
    """Return the explanation of the prediction for a row of X, compared with the other rows."""
    source = summed_trees(model, "explain")
    model = source.model
    table = check_row(model, X, row)
    block = np.array(model._reader(table)(0, table.n_rows))
    votes = source.trees.votes(table.n_rows, lambda low, high: np.ascontiguousarray(block[:, low:high]))
    predicted = model.predict(X)
    if not source.is_classifier:
        cast = _votes_of(source, block[:, row], lambda units: float(units[0]) * float(source.slope[0]))
        return RowExplanation(row, predicted[row], None, None, None, cast, _columns(source, X, table, row, 0), [])
    first, second = _two_strongest(votes[:, row])
    cast = _votes_of(source, block[:, row], lambda units: _in_favour(units, first, second))
    margin = share = None
    if len(model.classes_) > 1:
        every = margins(model, X, predicted).values
        margin, share = float(every[row]), float(np.mean(every < every[row]))
    columns = _columns(source, X, table, row, first)
    labels = model.classes_.tolist()
    turning = counterfactuals(source, block, row)
    runner_up = labels[second] if len(labels) > 1 else None
    return RowExplanation(row, labels[first], runner_up, margin, share, cast, columns, turning)


def check_row(model: Any, X: Any, row: int) -> Any:
    """Return X as a table; ValueError if it does not have this row."""
    table = model._check_rows(X, reset=False)
    if not 0 <= row < table.n_rows:
        raise ValueError(f"row {row} does not exist: X has {table.n_rows} rows, counted from 0")
    return table


def _two_strongest(votes: Ints) -> tuple[int, int]:
    """Return the codes of the predicted class and of the class with the second most votes."""
    if len(votes) == 1:
        return (1, 0) if votes[0] > 0 else (0, 1)
    order = np.argsort(-votes, kind="stable")
    return int(order[0]), int(order[1])


def _in_favour(units: Floats, first: int, second: int) -> float:
    if len(units) == 1:
        return float(units[0]) * (1 if first == 1 else -1)
    return float(units[first] - units[second])


def _votes_of(source: SummedTrees, values: Floats, count: Any) -> list[VoterVote]:
    """Return the votes of all voters, the largest first. count: a voter's votes by output, as one number."""
    words, found = Words(source.model, brief=True), []
    for voter in range(source.trees.n_voters):
        alone = source.trees.only(voter)
        path, leaf = path_of(alone, values)
        text = words.path_text(alone, path) or "always"
        units = source.trees.units[int(source.trees.offsets[voter]) + leaf] / UNITS
        output = (
            f"{alone.value[leaf, 0]:+.4g}" if not source.is_classifier else words.output_text(alone, alone.value[leaf])
        )
        step = float(source.trees.steps[voter]) * (1.0 if source.is_classifier else float(source.slope[0]))
        found.append(VoterVote(voter, f"{text}: {output}", step, count(units)))
    return sorted(found, key=lambda one: -abs(one.vote))


def path_of(alone: Ensemble, values: Floats) -> tuple[Path, int]:
    """Return the way of a row through an ensemble of one voter, and the leaf it ends in."""
    path: Path = []
    node = 0
    while alone.column[node] != LEAF:
        x = float(values[alone.column[node]])
        if np.isnan(x):
            left = bool(alone.missing_left[node])
        elif alone.members[node] >= 0:
            left = bool(alone.sets[alone.members[node], int(x)])
        else:
            left = x <= alone.threshold[node]
        path.append((node, 0 if left else 1))
        node = int(alone.children[node, 0 if left else 1])
    return path, node


def _columns(source: SummedTrees, X: Any, table: Any, row: int, output: int) -> list[tuple[str, float]]:
    """Return the Shapley values of the decision for the predicted class, the largest first."""
    from electorate.data.row_subset import take_rows

    step = max(1, table.n_rows // MOST_BACKGROUND)
    background = take_rows(X, np.arange(0, table.n_rows, step))
    found = contributions(source.model, take_rows(X, [row]), background)
    if found.values.ndim == 3:
        values = found.values[output, 0]
    else:
        values = found.values[0] * (-1.0 if source.is_classifier and output == 0 else 1.0)
    order = np.argsort(-np.abs(values), kind="stable").tolist()
    return [(found.names[k], float(values[k])) for k in order if values[k]]


# ---------------------------------------------------------------- median row


def explain_median_row(model: Any, X: Any, row: int) -> RowExplanation:
    """Return the explanation of the prediction for a row of X. The votes are shares of the weight, with a sign."""
    table = check_row(model, X, row)
    predicted = float(model.predict(take_rows(X, [row]))[0])
    values = np.array(model._reader(table)(row, row + 1))[:, 0]
    outputs, confidences = model._outputs(X)[1](row, row + 1)
    weights = model.vote_.units * (1.0 if confidences is None else confidences[0])
    if model.vote_.decides and (confidences is None or confidences[0, -1] > 0):
        weights = np.where(np.arange(len(weights)) == len(weights) - 1, 1.0, 0.0)
    shares = np.sign(outputs[0] - predicted) * weights / (weights.sum() or 1.0)
    words, votes = Words(model, brief=True), []
    for voter, share in enumerate(shares.tolist()):
        alone = model.vote_.trees.only(voter)
        path, leaf = path_of(alone, values)
        rule = f"{words.path_text(alone, path) or 'always'}: {words.output_text(alone, alone.value[leaf])}"
        votes.append(VoterVote(voter, rule, float(model.vote_.steps[voter]), share))
    votes.sort(key=lambda one: -abs(one.vote))
    columns = _column_changes(model, X, table.n_rows, row, predicted)
    return RowExplanation(row, predicted, None, None, None, votes, columns, [], is_median=True)


def _column_changes(model: Any, X: Any, n_rows: int, row: int, predicted: float) -> list[tuple[str, float]]:
    """Return by how much the prediction exceeds its mean when a column takes the values of other rows."""
    background = np.arange(0, n_rows, max(1, n_rows // MOST_BACKGROUND))
    n = len(background)
    rows, names = ShuffledRows(take_rows(X, np.concatenate([np.full(n, row), background]))), column_names(model)
    order = np.concatenate([np.arange(n, 2 * n), np.arange(n, 2 * n)])
    found = []
    for column in np.flatnonzero(model.feature_importances_ > 0).tolist():
        change = predicted - float(np.mean(model.predict(rows.shuffled(column, order))[:n]))
        if change:
            found.append((names[column], change))
    return sorted(found, key=lambda one: -abs(one[1]))
