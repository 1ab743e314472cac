"""Scores after every round on a scanned table: sums over batches, in one pass."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from electorate.data.inputs import NO_ROWS
from electorate.scans.batches import rows_at_once
from electorate.scans.scan import ScannedTable
from electorate.training.scanned_rows import require_columns

MOST_ROWS = 2**14  # of a batch: the outputs of all voters of a median are held in memory


def staged_scores(model: Any, X: ScannedTable, y: Any, weight: Any) -> Iterator[float]:
    """Yield the accuracy of a classifier, R squared of a regressor, after every round."""
    require_columns(X, y, weight)
    small = replace(X, batch_rows=min(MOST_ROWS, rows_at_once(len(X.columns), X.batch_rows)))
    sums: dict[int, float] = {}  # by round: the weight of the rows that are right, or the squared error
    targets, weights = [], []
    for batch in small.batches([*y.read, *([] if weight is None else weight.read)], what="scores"):
        with batch.named():
            target = y.values(batch)
            mine = np.ones(len(target)) if weight is None else weight.values(batch).astype(np.float64)
            for number, predicted in enumerate(model.staged_predict(X.table(batch))):
                each = predicted == target if is_classifier(model) else (target - predicted) ** 2
                sums[number] = sums.get(number, 0.0) + float(np.sum(mine * each))
        targets.append(np.empty(0) if is_classifier(model) else target.astype(np.float64))
        weights.append(mine)
    if not weights:
        raise ValueError(NO_ROWS)
    every = np.concatenate(weights)
    if is_classifier(model):
        yield from (found / float(every.sum()) for found in sums.values())
        return
    numbers = np.concatenate(targets)
    spread = float(np.sum(every * (numbers - np.average(numbers, weights=every)) ** 2))
    for found in sums.values():
        yield 1 - found / spread if spread > 0 else float(found == 0)
