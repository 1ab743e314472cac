"""The partial dependence of regressors that vote by weighted median, by predicting rows with one value in a column."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from electorate.data.row_subset import evenly_spaced, take_rows
from electorate.inspection.importances import ShuffledRows
from electorate.report.data_profile import level_codes

MOST_ROWS, MOST_POINTS = 200, 15  # a prediction for every pair


def median_dependence(model: Any, X: Any, column: int) -> Bunch:
    """Return the mean prediction against the values of a column, as `partial_dependence` does for sums."""
    table = model._check_rows(X, reset=False)
    some = evenly_spaced(table.n_rows, MOST_ROWS)
    levels: list[str] = []
    if column in model.bins_.categories:
        levels, codes = level_codes(table, column)
        values = np.where(codes < 0, np.nan, codes)[some]
    else:
        values = table.numbers(0, table.n_rows, [column])[0][some]
    distinct, first = np.unique(values, return_index=True)
    known = first[~np.isnan(distinct)]
    kept = known[evenly_spaced(len(known), MOST_POINTS)].tolist()
    rows = ShuffledRows(take_rows(X, some))
    means = [np.mean(model.predict(rows.shuffled(column, np.full(rows.n_rows, one)))) for one in kept]
    grid = np.array([levels[int(code)] for code in values[kept]], dtype=object) if levels else values[kept]
    return Bunch(grid_values=[grid], average=np.array([means]))
