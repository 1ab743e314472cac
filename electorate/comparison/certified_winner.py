"""Hands over the winner of a comparison as a cross-fitted model, with a bound that pays for the choice.

The candidates are all settings that the comparison may choose from; they are fixed before the rows are seen. The bound
of a cross-fitted model at delta / J fails with probability at most delta for any of J candidates, so the one that the
comparison chose may be any of them, whatever rows it was chosen by: docs/certificates.md.
"""

from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from electorate.certified.cross_fitted import CrossFittedClassifier
from electorate.comparison.fits import Plan
from electorate.comparison.refits import Part, Refits
from electorate.comparison.rows import Rows
from electorate.inspection.check_up import CheckUp
from electorate.text import literal
from electorate.theory.certificate import IID

CROSS_FITTED = "crossfit"
DELTA = 0.05
PARTS = 5


@dataclass(frozen=True)
class CertifiedWinner:
    """A cross-fitted model of one of so many candidates.

    Attributes
    ----------
    algorithm : str
        Its name in the table.
    model : CrossFittedClassifier
        Trained on all rows; its own delta is `delta` / `candidates`.
    candidates : int
        The settings that the comparison could have chosen.
    delta : float
        The probability with which `bound` may fail.
    """

    algorithm: str
    model: CrossFittedClassifier
    candidates: int
    delta: float

    @property
    def bound(self) -> float:
        """The bound: with probability 1 - delta the risk of `model` is at most this, although the rows chose it."""
        return float(self.model.bound_)

    @property
    def sentence(self) -> str:
        """The sentence that one may quote, with its assumption."""
        return (
            f"{literal(self.algorithm, 40)}, cross-fitted on all rows: with {1 - self.delta:.0%} confidence its error "
            f"is at most {self.bound:.4f}, provided that {IID}, and that the {self.candidates} settings to choose from "
            "were fixed before the rows were seen (the choice among them is paid for)"
        )


def count_candidates(plan: Plan) -> int:
    """All settings of algorithms and peers, with every number of rounds that can be chosen.

    The baseline counts: it is handed over where no other model could be trained.
    """
    return sum(len(plan.stages(candidate)) for candidate in range(len(plan.candidates)))


def check_certify(certify: str | None, is_scan: bool, rows: Rows, n_classes: int, check_up: CheckUp) -> None:
    """ValueError where a cross-fitted bound does not apply, before anything is trained."""
    if certify is None:
        return
    if certify != CROSS_FITTED:
        raise ValueError(f"certify is {certify!r}: it must be {CROSS_FITTED!r} or None")
    reasons = [
        (n_classes == 0, "is for classification"),
        (is_scan, "needs the table in memory"),
        (rows.weight is not None, "takes no sample weights: errors of weighted rows are not binomial"),
        (rows.group is not None, "assumes independent rows, and group= says that rows depend on each other"),
        (rows.time is not None, "assumes rows of one distribution, and time_column= says that they change"),
        (
            check_up.cleaning is not None,
            "needs the columns as they are, and the check-up cleans them by looking at all folds: pass check_up=False "
            "(--no-check-up)",
        ),
    ]
    for is_so, why in reasons:
        if is_so:
            raise ValueError(f"certify={certify!r} {why}")


def cross_fit(part: Part, refits: Refits, plan: Plan) -> CertifiedWinner:
    """An algorithm with its setting, cross-fitted on all rows at its share of delta."""
    candidates = count_candidates(plan)
    estimator: Any = refits.build(part)
    model = CrossFittedClassifier(estimator, n_folds=PARTS, delta=DELTA / candidates)
    with threadpool_limits(1 if part.algorithm.peer else None):  # as in the refits
        return CertifiedWinner(part.algorithm.name, model.fit(refits.X, refits.y), candidates, DELTA)
