"""Callback support of an estimator: scikit-learn's own from 1.9 on, and a small replacement for earlier releases.

The replacement calls the hooks of scikit-learn's protocol in the same order with the same arguments. It has no
propagation from meta-estimators, which earlier releases do not do either.
"""

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any, Self

from sklearn.base import _clone_parametrized, _fit_context

HOOKS = ("setup", "teardown", "on_fit_task_begin", "on_fit_task_end")
Method = Callable[..., Any]


class PlainCallbackContext:
    """One task of a fit: the fit itself, or a round of it."""

    def __init__(self, estimator: Any, task_name: str, max_subtasks: int | None, task_id: int = 0) -> None:
        self.estimator_name = type(estimator).__name__
        self.task_name = task_name
        self.task_id = task_id
        self.max_subtasks = max_subtasks
        self.parent: PlainCallbackContext | None = None
        self._callbacks = getattr(estimator, "_skl_callbacks", [])
        self._n_children = 0

    def subcontext(self, task_name: str = "", max_subtasks: int | None = 0) -> "PlainCallbackContext":
        """Return the context of the next subtask."""
        child = copy.copy(self)
        child.task_name, child.task_id, child.max_subtasks = task_name, self._n_children, max_subtasks
        child.parent, child._n_children = self, 0
        self._n_children += 1
        return child

    def call_on_fit_task_begin(
        self, *, estimator: Any, X: Any = None, y: Any = None, metadata: Any = None
    ) -> "PlainCallbackContext":
        """Call the hook of every callback."""
        self._call("on_fit_task_begin", estimator, {"X": X, "y": y, "metadata": metadata, "fitted_estimator": None})
        return self

    def call_on_fit_task_end(
        self,
        *,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        metadata: Any = None,
        reconstruction_attributes: Callable[[], dict[str, Any]] | None = None,
    ) -> bool:
        """Call the hook of every callback. Return whether one of them stops the fit."""
        values = {"X": X, "y": y, "metadata": metadata, "fitted_estimator": None}
        return self._call("on_fit_task_end", estimator, values, reconstruction_attributes)

    def _call(
        self,
        hook_name: str,
        estimator: Any,
        values: dict[str, Any],
        reconstruction_attributes: Callable[[], dict[str, Any]] | None = None,
    ) -> bool:
        """A hook gets the values that its signature names as keyword-only parameters."""
        stop = False
        for callback in self._callbacks:
            hook = getattr(callback, hook_name)
            names = keyword_only(hook)
            if unknown := names - set(values):
                raise TypeError(
                    f"{hook_name} of {type(callback).__name__} has unknown parameters {sorted(unknown)}; "
                    f"use {sorted(values)}"
                )
            if "fitted_estimator" in names and values["fitted_estimator"] is None and reconstruction_attributes:
                values["fitted_estimator"] = copy.copy(estimator)
                values["fitted_estimator"].__dict__.update(reconstruction_attributes())
            stop |= bool(hook(estimator, self, **{name: values[name] for name in names}))
        return stop


def keyword_only(function: Method) -> set[str]:
    """Return the names of the keyword-only parameters of a function."""
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}


class PlainCallbackSupport:
    """The methods of `sklearn.callback.CallbackSupportMixin`, for scikit-learn before 1.9."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set the callbacks of the estimator.

        Parameters
        ----------
        *callbacks : callback instances
            The callbacks; none removes those that were set.

        Returns
        -------
        self
        """
        for callback in callbacks:
            if isinstance(callback, type) or not all(callable(getattr(callback, name, None)) for name in HOOKS):
                raise TypeError(f"callbacks must be instances with the methods {', '.join(HOOKS)}, not {callback!r}")
        if callbacks:
            self._skl_callbacks = list(callbacks)
        else:
            self.__dict__.pop("_skl_callbacks", None)
        return self

    def _init_callback_context(self, task_name: str = "fit", max_subtasks: int | None = 0) -> PlainCallbackContext:
        """Return the context of the fit after the `setup` of every callback."""
        self._callback_fit_ctx = PlainCallbackContext(self, task_name, max_subtasks)
        self._skl_callbacks_to_teardown: list[Any] = []
        for callback in getattr(self, "_skl_callbacks", []):
            self._skl_callbacks_to_teardown.append(callback)
            callback.setup(self, self._callback_fit_ctx)
        return self._callback_fit_ctx

    def __sklearn_clone__(self) -> Self:
        """Return a clone with the same callbacks."""
        new: Self = _clone_parametrized(self)
        if hasattr(self, "_skl_callbacks"):
            new._skl_callbacks = self._skl_callbacks
        return new


def with_teardown(method: Method) -> Method:
    """Return `fit` with the `teardown` of every callback after it, also if it fails."""

    @functools.wraps(method)
    def fit(estimator: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(estimator, *args, **options)
        finally:
            context = estimator.__dict__.pop("_callback_fit_ctx", None)
            errors = []
            for callback in estimator.__dict__.pop("_skl_callbacks_to_teardown", []):
                try:
                    callback.teardown(estimator, context)
                except Exception as error:
                    errors.append(error)
            if len(errors) == 1:
                raise errors[0]
            if errors:
                raise ExceptionGroup("several callbacks failed in teardown", errors)

    return fit


def plain_fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of `fit`, which validates the parameters, with the teardown of callbacks."""
    decorate = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return lambda method: decorate(with_teardown(method))


try:
    from sklearn.callback import CallbackSupportMixin
except ModuleNotFoundError:
    CallbackSupport: type[Any] = PlainCallbackSupport
    fit_context = plain_fit_context
else:
    CallbackSupport = CallbackSupportMixin
    fit_context = _fit_context
