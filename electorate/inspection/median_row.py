"""Explains the prediction of a weighted median for one row: the voters above and below it, and the columns."""

from typing import Any

import numpy as np

from electorate.data.row_subset import take_rows
from electorate.inspection.importances import ShuffledRows
from electorate.inspection.row_explanation import MOST_BACKGROUND, RowExplanation, VoterVote, check_row, path_of
from electorate.model.text import Words, column_names


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
    columns = _columns(model, X, table.n_rows, row, predicted)
    return RowExplanation(row, predicted, None, None, None, votes, columns, [], is_median=True)


def _columns(model: Any, X: Any, n_rows: int, row: int, predicted: float) -> list[tuple[str, float]]:
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
