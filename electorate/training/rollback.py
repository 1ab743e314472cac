"""Restores a model if a fit fails, copies it, and tells fitted models apart."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

FOR_TEARDOWN = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")  # scikit-learn's, looked at after fit


class Undoing:
    """Mixin of estimators: a fit that fails leaves the model unchanged."""

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
