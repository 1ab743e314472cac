"""What each column adds to the decision of each row: exact Shapley values for ensembles of trees.

Interventional values, with respect to background rows z: the value of a set S of columns is the decision of a row that
takes the columns in S from x and the others from z, averaged over z. Lundberg et al., "From local explanations to
global understanding with explainable AI for trees" (2020), call it the interventional feature perturbation.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import comb

from electorate.exact import UNITS, Floats, Hashes, Ints
from electorate.export.summed_trees import summed_trees
from electorate.model.ensemble import Ensemble, tables_of
from electorate.model.text import Path, leaf_paths
from electorate.threads import ThreadPool, count_jobs
from electorate.training.lazy_inputs import refuse_lazy_for

MOST_COLUMNS = 63  # on the way to one leaf: they are the bits of a pattern


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each column adds to the decisions of some rows.

    Attributes
    ----------
    values : ndarray of shape (rows, columns) or (classes, rows, columns)
        What each column adds. Their sum over the columns, plus ``base``, is ``decision_function``, or
        ``predict`` of a regressor.
    base : float or ndarray of shape (classes,)
        The mean decision of the background rows.
    names : list of str
        The names of the columns.
    """

    values: Floats
    base: Any
    names: list[str]

    @property
    def decision(self) -> Floats:
        """The sums of the contributions and the base, in the shape of ``decision_function``."""
        return np.asarray(np.moveaxis(self.values.sum(axis=-1), 0, -1) + self.base)


def contributions(model: Any, X: Any, background: Any = None) -> Contributions:
    """Return what each column adds to the decision of each row: exact Shapley values.

    Parameters
    ----------
    model : a fitted model that adds the votes of electorate's stumps, trees, rules, pairs or pools
    X : array-like, sparse matrix or dataframe
        The rows to explain.
    background : array-like, sparse matrix or dataframe, optional
        The rows to compare with, such as the training rows. None: X itself.

    Returns
    -------
    Contributions
        With ``values``, ``base`` and ``names``.

    Notes
    -----
    The value of a set of columns is the mean decision of rows that take these columns from the row to explain and the
    others from the background rows (interventional Shapley values). The values are exact, not sampled: a leaf is
    reached by a mixed row if every column on its path, taken from the one row or the other, passes the path's tests, so
    the Shapley values of a leaf have a closed form. The cost grows with leaves times rows, and not with rows times
    background rows. For stumps, the value is the shape function less its mean over the background, computed by several
    threads.

    See Also
    --------
    shape_functions : What each column adds, as a function, for stumps.
    export_input : Rows as shap.TreeExplainer takes them, with ``model.to_shap()``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, Trees
    >>> from electorate.inspection import contributions
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(Trees(3), n_estimators=20).fit(X, y)
    >>> found = contributions(model, X[:5], background=X)
    >>> found.values.shape
    (5, 30)
    >>> np.allclose(found.values.sum(axis=1) + found.base, model.decision_function(X[:5]))
    True
    """
    refuse_lazy_for("contributions", X)
    source = summed_trees(model, "contributions")
    model, ensemble = source.model, source.trees
    rows = _block(model, X)
    others = rows if background is None else _block(model, background)
    values = np.zeros((ensemble.n_outputs, rows.shape[1], ensemble.n_columns))
    if ensemble.lookup is not None:
        with ThreadPool(count_jobs(model.n_jobs, rows.size)) as pool:
            _add_stumps(ensemble, rows, others, values, pool)
    else:
        for voter in range(ensemble.n_voters):
            _add_voter(ensemble, voter, rows, others, values)
    values *= source.slope[:, None, None]
    mean_votes = np.asarray(ensemble.votes(others.shape[1], lambda low, high: others[:, low:high]).mean(axis=1))
    base = source.slope * (mean_votes / UNITS) + source.start
    if len(values) == 1:
        return Contributions(values[0], float(base[0]), source.names)
    return Contributions(values, base, source.names)


def _block(model: Any, X: Any) -> Floats:
    """[column, row] as the voters read it; categories as codes."""
    table = model._check_rows(X, reset=False)
    return np.asarray(model._reader(table)(0, table.n_rows))


def _add_stumps(ensemble: Ensemble, rows: Floats, others: Floats, values: Floats, pool: ThreadPool) -> None:
    """Adds the closed form for stumps: the shape function of a column, less its mean over the background rows."""
    cells = ensemble.cells
    mine, theirs = (cells.find(np.ascontiguousarray(block), -1, np.int32) for block in (rows, others))

    def add(part: tuple[int, int, Ints]) -> None:
        place, column, table = part
        shape = table / UNITS  # the last cell, which -1 finds, is for missing values
        means = shape[:, theirs[place]].mean(axis=1)
        values[:, :, column] = shape[:, mine[place]] - means[:, None]

    pool.map(add, zip(range(len(cells.columns)), cells.columns.tolist(), tables_of(ensemble), strict=True))


def _add_voter(ensemble: Ensemble, voter: int, rows: Floats, others: Floats, values: Floats) -> None:
    """Adds the Shapley values of one voter to values[output, row, column]."""
    alone = ensemble.chosen([voter], [float(ensemble.steps[voter])])
    for leaf, path in leaf_paths(alone, first=1):
        outputs = alone.units[leaf] / UNITS
        if not path or not np.any(outputs):
            continue
        columns = sorted({int(alone.column[node]) for node, _ in path})
        if len(columns) > MOST_COLUMNS:
            raise ValueError(f"a tree tests {len(columns)} columns in a row; contributions takes {MOST_COLUMNS}")
        mine, place = np.unique(_patterns(alone, path, columns, rows), return_inverse=True)
        theirs, count = np.unique(_patterns(alone, path, columns, others), return_counts=True)
        shares = _leaf_shares(mine, theirs, count / others.shape[1], len(columns))
        for output in np.flatnonzero(outputs).tolist():
            values[output][:, columns] += outputs[output] * shares[place.ravel()]


def _patterns(ensemble: Ensemble, path: Path, columns: list[int], block: Floats) -> Hashes:
    """Return for each row a bit for each column: whether its value passes all tests of that column on the path."""
    passes = np.ones((len(columns), block.shape[1]), dtype=np.bool_)
    for node, side in path:
        x = block[ensemble.column[node]]
        missing = np.isnan(x)
        if ensemble.members[node] >= 0:
            left = ensemble.sets[ensemble.members[node]][np.where(missing, 0, x).astype(np.int64)]
        else:
            left = x <= ensemble.threshold[node]
        left = np.where(missing, ensemble.missing_left[node], left)
        passes[columns.index(ensemble.column[node])] &= left == (side == 0)
    bits = np.arange(len(columns), dtype=np.uint64)[:, None]
    return np.bitwise_or.reduce(passes.astype(np.uint64) << bits, axis=0)


def _leaf_shares(mine: Hashes, theirs: Hashes, weight: Floats, n_columns: int) -> Floats:
    """[own pattern, column]: the Shapley values of the game that is 1 where a mixed row reaches the leaf.

    Of the a columns that only the own row passes, each has (a - 1)! b! / (a + b)!; of the b columns that only the other
    row passes, each has -a! (b - 1)! / (a + b)!. A column that neither passes keeps all mixed rows out.
    """
    full = np.uint64(2**n_columns - 1)
    own, other = mine[:, None] & ~theirs, ~mine[:, None] & theirs
    a, b = np.bitwise_count(own).astype(np.int64), np.bitwise_count(other & full).astype(np.int64)
    weight = np.where((mine[:, None] | theirs) == full, weight, 0.0)
    ways = comb(a + b, a)
    gain, loss = weight / (np.maximum(a, 1) * ways), weight / (np.maximum(b, 1) * ways)
    shares = np.zeros((len(mine), n_columns))
    for bit in range(n_columns):
        mask = np.uint64(1 << bit)
        shares[:, bit] = np.sum(np.where(own & mask, gain, 0.0) - np.where(other & mask, loss, 0.0), axis=1)
    return shares
