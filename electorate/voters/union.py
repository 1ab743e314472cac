"""A union of families: each round the best voter of any of them.

Voters remember the family they come from, so that a booster may weigh them by its complexity (DeepBoost, eq. 4).
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.special import log_sum_exp
from electorate.theory.complexity import Shape
from electorate.voters.trees import BinFamily, Search, Voter


class Union(BinFamily):
    """The voters of several families together.

    Parameters
    ----------
    families : list of families
        In the order of preference: of equally good voters, that of the first family is used. Only families over bins.

    Notes
    -----
    Voters compete by the weight that they classify correctly.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, PairedStumps, Stumps, Union
    >>> AdaBoostClassifier(Union([Stumps(), PairedStumps()])).estimator
    Union(families=[Stumps(), PairedStumps()])
    """

    _parameter_constraints: dict[str, list[Any]] = {}  # noqa: RUF012

    def __init__(self, families: Any = ()) -> None:
        self.families = families

    def _validate_params(self) -> None:
        if not isinstance(self.families, list | tuple) or not self.families:
            raise ValueError("Union has no families: give it a list, Union([Stumps(), PairedStumps()])")
        for family in self.families:
            if not hasattr(family, "best") or getattr(family, "sees", "bins") != "bins":
                raise ValueError(
                    f"Union cannot hold {type(family).__name__}: its families search over bins, and that one does not"
                )
            if isinstance(family, Union):
                raise ValueError("Union holds another Union: list the families of both in one")
            if hasattr(family, "_parameter_constraints"):
                family._validate_params()

    @property
    def says_log_odds(self) -> bool:
        return all(getattr(family, "says_log_odds", True) for family in self.families)

    @property
    def orders_categories(self) -> bool:  # type: ignore[override]
        return all(getattr(family, "orders_categories", False) for family in self.families)

    @property
    def exhaustive(self) -> bool:
        return all(getattr(family, "exhaustive", False) for family in self.families)

    def exhaustive_on(self, bins: Bins) -> bool:
        return all(is_exhaustive(family, bins) for family in self.families)

    def best(self, search: Search) -> Voter:
        voters = [replace(family.best(search), member=k) for k, family in enumerate(self.families)]
        return max(voters, key=lambda voter: right_weight(self.families[voter.member], voter))

    def constant(self, search: Search) -> Voter:
        return self.families[0].constant(search)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        return np.asarray(self.families[voter.member].outputs(voter, n_rows, wanted))

    def log_count(self, n: int, shape: Shape) -> float:
        """The logarithm of the sum of the families' counts."""
        return log_sum_exp(self.log_counts(n, shape))

    def log_counts(self, n: int, shape: Shape) -> list[float]:
        """Of each family: what DeepBoost weighs its voters by."""
        return [family.log_count(n, shape) for family in self.families]

    def published(self, n: int, d: int) -> list[float]:
        """The papers' complexity of each family."""
        return [family.published(n, d) for family in self.families]


def is_exhaustive(family: Any, bins: Bins) -> bool:
    """Whether a family's search over these bins finds the voter that is right on the most weight."""
    on = getattr(family, "exhaustive_on", None)
    return bool(on(bins)) if on is not None else bool(getattr(family, "exhaustive", False))


def right_weight(family: Any, voter: Voter) -> int:
    """The weight on which the labels that a voter of a family predicts are right."""
    outputs = family.outputs(voter, 1, "label")
    labels = np.argmax(outputs, axis=1) if outputs.shape[1] > 1 else (outputs[:, 0] > 0).astype(np.int64)
    return int(voter.sums[np.arange(len(labels)), labels].sum())
