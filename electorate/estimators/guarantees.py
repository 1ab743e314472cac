"""The methods `certificate` and `convergence` of every estimator, and the declaration of what is proved about it.

Both are computed in inspection/, which is imported when they are called.
"""

from typing import Any, ClassVar

from electorate.theory.training import Guarantees


class Certified:
    """Base class of all estimators. Subclasses declare `_guarantees` where a paper proves something about them."""

    _guarantees: ClassVar[Guarantees] = Guarantees()

    def __init_subclass__(cls, **options: Any) -> None:
        """A subclass may train in another way, so it does not inherit what is proved about its base class."""
        super().__init_subclass__(**options)
        if "_guarantees" not in vars(cls):
            cls._guarantees = Guarantees()

    def certificate(
        self,
        *,
        train: Any = None,
        heldout: Any = None,
        delta: float = 0.05,
        eps: float | None = None,
        equal_rows: str = "refuse",
        draws: int = 0,
        pseudo_dimension: int | None = None,
        loss: Any = None,
    ) -> Any:
        """Bounds that are proved for this model: see :func:`electorate.certificate`."""
        import electorate  # its public functions import the estimators

        return electorate.certificate(
            self,
            train=train,
            heldout=heldout,
            delta=delta,
            eps=eps,
            equal_rows=equal_rows,
            draws=draws,
            pseudo_dimension=pseudo_dimension,
            loss=loss,
        )

    def convergence(self) -> Any:
        """Compare predictions and observations of every round: see :func:`electorate.inspection.convergence`."""
        import electorate

        return electorate.inspection.convergence(self)


def refuse_without(model: Any, attribute: str, what: str, models: str) -> None:
    """TypeError for a model without an attribute that a function needs. models: those that have it, for the message."""
    if not hasattr(model, attribute):
        raise TypeError(f"{what} is for {models}, and this is a {type(model).__name__}")


def refuse_others(model: Any, what: str) -> None:
    """TypeError for estimators of other libraries."""
    if not isinstance(model, Certified):
        raise TypeError(f"{what} is for the estimators of electorate, and this is a {type(model).__name__}")
