"""The complexity of a family on a given table: by a provable count, by the papers, and by random labels.

Families do the search; theory/ does the arithmetic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.algorithms.adaboost import AdaBoost
from electorate.data import inputs
from electorate.data.bins import Bins, find_bins
from electorate.data.table import Table
from electorate.data.weights import read_weights
from electorate.engines.memory import Threads
from electorate.engines.rows import RowEngine
from electorate.engines.shard import Examples
from electorate.estimators.adaboost import AdaBoostClassifier
from electorate.exact import Ints
from electorate.families.by_rows import ByRows, RowVoterReader
from electorate.families.priced_trees import shape_of
from electorate.families.trees import Search
from electorate.families.union import is_exhaustive, right_weight
from electorate.theory import complexity
from electorate.theory.complexity import ComplexityEstimate, monte_carlo
from electorate.threads import ThreadPool
from electorate.training.lazy_inputs import refuse_lazy_for

Trial = tuple[Callable[[Ints], float], int, bool]  # agreement(signs) on n rows, n, whether it is exact


@dataclass(frozen=True)
class FamilyComplexity:
    """Bounds on the Rademacher complexity of a family for n rows."""

    provable: float  # counted: for certificates
    published: Any  # the paper's formula for as many columns of numbers; of a union, of each family


def complexity_of(family: Any, X: Any, *, max_bins: int | str = 255, categorical_features: Any = "from_dtype") -> Any:
    """Return the complexity of a family for the rows of a table.

    The number of voters is counted from the kinds of the columns: numbers, numbers with missing values, categories.

    Parameters
    ----------
    family : family of voters
        Such as :class:`Stumps` or :class:`Trees`.
    X : array-like, sparse matrix or dataframe
        Rows.
    max_bins : int or "exact", default=255
        The largest number of bins per column.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the columns that hold categories.

    Returns
    -------
    Complexity
        The published value of the papers, and the bound that can be proved for this table.

    Examples
    --------
    >>> from electorate import Stumps, Trees
    >>> from electorate.inspection import complexity_of
    >>> from electorate.simulate import XD6
    >>> X, _ = XD6().sample(1000, random_state=0)
    >>> complexity_of(Stumps(), X).provable < complexity_of(Trees(3), X).provable
    True
    """
    refuse_lazy_for("complexity_of", X)
    model = AdaBoostClassifier(max_bins=max_bins, categorical_features=categorical_features)
    table = inputs.check_table(model, X, reset=True)
    if hasattr(family, "complexity"):
        provable = family.complexity(table.numbers(0, table.n_rows, range(table.n_columns)).T)
    else:
        bins = _bins(table, model)
        provable = complexity.massart(table.n_rows, family.log_count(table.n_rows, shape_of(bins)))
    return FamilyComplexity(provable, family.published(table.n_rows, table.n_columns))


def empirical_rademacher(
    family: Any,
    X: Any,
    *,
    draws: int = 100,
    confidence: float = 0.95,
    max_bins: int | str = 255,
    categorical_features: Any = "from_dtype",
    random_state: int = 0,
) -> ComplexityEstimate:
    """Estimate the empirical Rademacher complexity of a family: how well its voters can fit random labels.

    Exact up to the random draw if the search of the family is exhaustive; otherwise a lower estimate, and labelled so.

    Parameters
    ----------
    family : family of voters
        Such as :class:`Stumps` or :class:`Trees`.
    X : array-like, sparse matrix or dataframe
        Rows.
    draws : int, default=100
        How many random labelings to average over.
    confidence : float, default=0.95
        Of the upper bound that comes with the estimate.
    max_bins : int or "exact", default=255
        The largest number of bins per column.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the columns that hold categories.
    random_state : int, default=0
        The seed of the labelings.

    Returns
    -------
    ComplexityEstimate
        The mean over the draws, and bounds on the expectation.

    Examples
    --------
    >>> from electorate import Stumps
    >>> from electorate.inspection import empirical_rademacher
    >>> from electorate.simulate import XD6
    >>> X, _ = XD6().sample(100, random_state=0)
    >>> found = empirical_rademacher(Stumps(), X, draws=20)
    >>> found.lower <= found.value <= found.upper
    True
    """
    refuse_lazy_for("empirical_rademacher", X)
    model = AdaBoostClassifier(family, max_bins=max_bins, categorical_features=categorical_features)
    agreement, n, exact = _by_rows(model, X) if model._by_rows else _by_bins(model, X)
    return monte_carlo(agreement, n, draws=draws, confidence=confidence, exact_search=exact, seed=random_state)


def _bins(table: Table, model: Any) -> Bins:
    categorical = inputs.category_columns(table, model.categorical_features, table.category_columns())
    with ThreadPool(1) as pool:
        return find_bins(table, np.ones(table.n_rows, dtype=np.int64), categorical, model.max_bins, pool)


def _first_sums(engine: Any) -> Any:
    booster = AdaBoost(2)
    engine.start(booster)
    return engine.advance(booster, None)


def _by_bins(model: Any, X: Any) -> Trial:
    table = inputs.check_table(model, X, reset=True)
    bins, n, family = _bins(table, model), table.n_rows, model._family()

    def agreement(signs: Ints) -> float:
        examples = Examples(table, (signs > 0).astype(np.int64), 2, read_weights(np.ones(n)))
        engine = Threads(examples, bins, ThreadPool(1), 1)
        sums = _first_sums(engine)
        voter = family.best(Search(sums, bins, engine.counts().sum(axis=0), engine))
        return 2 * right_weight(family, voter) / sums.total - 1

    return agreement, n, is_exhaustive(family, bins)


def _by_rows(model: Any, X: Any) -> Trial:
    numbers, family = inputs.check_numbers(model, X, reset=True), model._family()
    n = len(numbers)
    reader = RowVoterReader(np.arange(2), "log_odds", type(model).__name__)
    names = [str(j) for j in range(numbers.shape[1])]

    def agreement(signs: Ints) -> float:
        examples = Examples(None, (signs > 0).astype(np.int64), 2, read_weights(np.ones(n)))  # type: ignore[arg-type]
        engine = RowEngine(examples, lambda voter: reader.of(voter, numbers))
        search = Search(_first_sums(engine), None, None, engine)  # type: ignore[arg-type]
        found = ByRows(family, numbers, reader, names).best(search)
        return float(np.mean(signs * found.fitted.outputs(numbers)))

    return agreement, n, bool(getattr(family, "exhaustive", False))
