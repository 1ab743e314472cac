"""The base class of all estimators: what is proved about them, and a fit that fails leaves the model unchanged.

`certificate` and `convergence` are computed in inspection/, which is imported when they are called.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from electorate.families.wrapped import refuse_classes
from electorate.theory.training import Guarantees

FOR_TEARDOWN = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")  # scikit-learn's, looked at after fit


class Certified:
    """Base class of all estimators. Subclasses declare `_guarantees` where a paper proves something about them."""

    _guarantees: ClassVar[Guarantees] = Guarantees()

    def __init_subclass__(cls, **options: Any) -> None:
        """A subclass may train in another way, so it does not inherit what is proved about its base class."""
        super().__init_subclass__(**options)
        if "_guarantees" not in vars(cls):
            cls._guarantees = Guarantees()

    def _validate_params(self) -> None:
        """Refuse a class as the parameter `estimator`, or as a parameter of that."""
        if hasattr(self, "estimator"):
            refuse_classes(self.estimator, f"{type(self).__name__}.estimator")
        super()._validate_params()  # type: ignore[misc]

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

    # ------------------------------------------------------------ a fit that fails

    @contextmanager
    def _undo_on_failure(self) -> Iterator[None]:
        """A fit that fails or is interrupted leaves the model as it was, unless it could save some rounds."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self._restore(before)
            raise

    def _restore(self, before: dict[str, Any]) -> None:
        if self.__dict__.pop("_rescued", False):
            return
        needed = {name: value for name, value in self.__dict__.items() if name in FOR_TEARDOWN}
        self.__dict__.clear()
        self.__dict__.update(before | needed)

    def _snapshot(self, **fitted: Any) -> Self:
        """Return a copy with these attributes, as if fit had ended now."""
        model = copy.copy(self)
        model.__dict__.update(fitted)
        return model

    def _bare(self) -> Self:
        """Return a copy without callbacks and marks of rows, to send to workers."""
        model = copy.copy(self)
        for name in (*FOR_TEARDOWN, "_skl_callbacks", "seen_"):
            model.__dict__.pop(name, None)
        return model

    def __dask_tokenize__(self) -> Any:
        """Parameters and fitted attributes: of a dataclass, Dask would take the fields alone."""
        from dask.base import normalize_token

        return normalize_token((type(self), vars(self)))


def refuse_without(model: Any, attribute: str, what: str, models: str) -> None:
    """TypeError for a model without an attribute that a function needs. models: those that have it, for the message."""
    if not hasattr(model, attribute):
        raise TypeError(f"{what} is for {models}, and this is a {type(model).__name__}")


def refuse_others(model: Any, what: str) -> None:
    """TypeError for estimators of other libraries."""
    if not isinstance(model, Certified):
        raise TypeError(f"{what} is for the estimators of electorate, and this is a {type(model).__name__}")
