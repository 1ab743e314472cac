"""A union of families: each round the best voter of any of them.

Voters remember the family they come from, so that a booster may weigh them by its complexity (DeepBoost, eq. 4).
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.exact import log_sum_exp
from electorate.families.by_rows import RowSearch
from electorate.families.trees import BinFamily, Search, Voter
from electorate.theory.complexity import Shape


class Union(BinFamily):
    """The voters of several families together.

    Parameters
    ----------
    families : list of families
        In the order of preference: of equally good voters, that of the first family is used. Families over bins, or
        `KernelSections` and `Columns`: several kernels, which see whole rows, but not both kinds in one union.

    Notes
    -----
    Voters compete by the weight that they classify correctly, those over whole rows by their edges.

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
            if not hasattr(family, "best") or getattr(family, "sees", "bins") != self.sees:
                kind = "whole rows, as KernelSections and Columns do" if self.sees == "rows" else "bins"
                raise ValueError(
                    f"Union cannot hold {type(family).__name__}: its families search over {kind}, and that one does not"
                )
            if self.sees == "rows" and not hasattr(family, "owns"):
                raise ValueError(
                    f"Union holds KernelSections and Columns of the families over whole rows, not {family}"
                )
            if isinstance(family, Union):
                raise ValueError("Union holds another Union: list the families of both in one")
            if hasattr(family, "_parameter_constraints"):
                family._validate_params()

    @property
    def sees(self) -> str:
        """What its families search over: that of the first one."""
        return str(getattr(self.families[0], "sees", "bins")) if self.families else "bins"

    @property
    def takes_missing(self) -> bool:
        return all(getattr(family, "takes_missing", True) for family in self.families)

    @property
    def says_log_odds(self) -> bool:
        return all(getattr(family, "says_log_odds", True) for family in self.families)

    @property
    def exhaustive(self) -> bool:
        return all(getattr(family, "exhaustive", False) for family in self.families)

    def exhaustive_on(self, bins: Bins) -> bool:
        return all(is_exhaustive(family, bins) for family in self.families)

    def best(self, search: Any) -> Any:
        if isinstance(search, RowSearch):
            return self._best_by_rows(search)
        voters = [replace(family.best(search), member=k) for k, family in enumerate(self.families)]
        return max(voters, key=lambda voter: right_weight(self.families[voter.member], voter))

    def _best_by_rows(self, rows: RowSearch) -> Any:
        """The voter with the largest edge; every family keeps what it computes once per fit apart from the others."""
        found = []
        for k, family in enumerate(self.families):
            own = rows.once(f"member {k}", lambda: replace(rows, _cache={}))
            own.grid = rows.grid
            found.append(family.best(own))
        edges = rows.correlate(np.stack([voter.outputs(rows.X) for voter in found]))
        return found[int(np.argmax(np.abs(edges)))]

    def constant(self, search: Search) -> Voter:
        return self.families[0].constant(search)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        return np.asarray(self.families[voter.member].outputs(voter, n_rows, wanted))

    def log_count(self, n: int, shape: Shape) -> float:
        """The logarithm of the sum of the families' counts."""
        return log_sum_exp(self.log_counts(n, shape))

    def log_counts(self, n: int, shape: Shape) -> list[float]:
        """Return for each family what DeepBoost weighs its voters by."""
        return [family.log_count(n, shape) for family in self.families]

    # ------------------------------------------------------------ files, of families over whole rows

    @property
    def array_types(self) -> dict[str, Any]:
        each = [(k, name, kind) for k, family in enumerate(self.families) for name, kind in family.array_types.items()]
        return {"voter.member": ("<i4", (None,))} | {f"{name}.{k}": kind for k, name, kind in each}

    def pack(self, voters: list[Any]) -> dict[str, NDArray[Any]]:
        """The voters as arrays of each family; constant voters are those of the first."""
        member = [next((k for k, family in enumerate(self.families) if family.owns(v)), 0) for v in voters]
        arrays: dict[str, NDArray[Any]] = {"voter.member": np.array(member, dtype=np.int32)}
        for k, family in enumerate(self.families):
            own = family.pack([voter for voter, place in zip(voters, member, strict=True) if place == k])
            arrays |= {f"{name}.{k}": array for name, array in own.items()}
        return arrays

    def unpack(self, arrays: dict[str, NDArray[Any]], n_columns: int) -> list[Any]:
        """Return what `pack` has written; ValueError for what it cannot have written."""
        member = arrays["voter.member"]
        voters: list[Any] = [None] * len(member)
        for k, family in enumerate(self.families):
            own = family.unpack({name: arrays[f"{name}.{k}"] for name in family.array_types}, n_columns)
            places = np.flatnonzero(member == k).tolist()
            if len(own) != len(places):
                raise ValueError("the voters of a family differ in number from its members")
            for place, voter in zip(places, own, strict=True):
                voters[place] = voter
        if any(voter is None for voter in voters):
            raise ValueError("a voter is of no family of the union")
        return voters

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
