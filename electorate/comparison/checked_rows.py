"""The check-up of a comparison: fitted on the rows that are not held out."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from electorate.comparison.rows import Parts, Rows, read_target
from electorate.data.checkup.columns import read_columns
from electorate.data.checkup.leaks import find_target_step
from electorate.data.cleaning import Cleaning
from electorate.data.inputs import to_array
from electorate.data.row_subset import take_rows
from electorate.inspection.check_up import CheckUp, check_up


def check_open_rows(
    X: Any, y: Any, task: str, keep: Collection[str], lock: Callable[[Rows], Parts], time_limit: float | None = None
) -> CheckUp:
    """Return the check-up of the rows that `lock` does not hold out.

    Spellings of labels are merged in all rows, since the split depends on the classes: which texts differ only by case
    or space does not depend on other rows.
    """
    columns, n_rows = read_columns(X)[1:]
    labels = np.asarray(to_array(y))
    found = find_target_step(labels, task) if labels.ndim == 1 else None
    step = None if found is None else found.step
    whole = CheckUp([], None if step is None else Cleaning(columns, {}, step))  # type: ignore[arg-type]
    cleaned = whole.clean_target(labels)
    target, _ = read_target(cleaned, n_rows, task)
    opened = lock(Rows(np.empty((n_rows, 0)), target, [], 0))[0]
    check = check_up(take_rows(X, opened), cleaned[opened], keep=keep, task=task, time_limit=time_limit)
    if found is None or step is None:
        return check
    steps = {} if check.cleaning is None else check.cleaning.steps
    return CheckUp([found.finding, *check.findings], replace(whole.cleaning, steps=steps))  # type: ignore[type-var]
