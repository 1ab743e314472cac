"""Callbacks in scikit-learn's protocol: a progress line, a time limit, checkpoints to resume from.

`model.set_callbacks(ProgressBar(), TimeLimit(60), Checkpoint("model.ckpt"))`. scikit-learn's own callbacks work too.
"""

import copy
import functools
import inspect
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TextIO

from sklearn.base import _clone_parametrized, _fit_context

from electorate.model.stored_parameters import family_types
from electorate.model.trace import Row, Trace
from electorate.modelfile import ModelFormatError
from electorate.text import StandardStream
from electorate.training.lazy_inputs import is_lazy


@dataclass
class Hooks:
    """Calls the callbacks of a model after every round. If fit fails, it saves the complete rounds.

    make: the attributes of a model from the traces of its first runs. n_runs: one, or one per class.
    """

    model: Any
    context: Any
    data: tuple[Any, Any]  # X and y
    make: Callable[[list[Any]], dict[str, Any]]
    n_runs: int
    finished: list[Any] = field(default_factory=list)
    now: Any = field(default_factory=Trace)
    n_whole: int = 0  # complete rounds of this run
    began: bool = False

    @property
    def callbacks(self) -> list[Any]:
        return getattr(self.model, "_skl_callbacks", [])

    @property
    def wanted(self) -> bool:
        """Whether rounds are watched: by callbacks, or as a round may fail (third-party voters, cluster workers)."""
        return bool(self.callbacks) or not hasattr(self.model._family(), "best") or is_lazy(self.data[0])

    @property
    def row(self) -> Row | None:
        """The history of the last complete round of this run."""
        return self.now.row(self.n_whole) if self.n_whole else None

    @property
    def so_far(self) -> list[Any]:
        """The traces of all runs up to now; of an unfinished run, its complete rounds."""
        if any(trace is self.now for trace in self.finished):
            return self.finished
        return [*self.finished, self.now.cut(self.n_whole)]

    def snapshot(self) -> Any:
        """The model as if fit ended now."""
        return self.model._snapshot(**self.make(self.so_far))

    def prepare(self) -> None:
        """Set up a run. It begins once the rounds that it resumes from are found to fit the data."""
        self._see(Trace())
        self.began = False

    def expect(self, more: int) -> None:
        """Announce further rounds: scikit-learn's contexts refuse more than were announced."""
        if self.context.max_subtasks is not None:
            self.context.max_subtasks += more

    def replay(self, trace: Any) -> str | None:
        self._see(trace)
        self.began = True
        return None

    def after(self, trace: Any) -> str | None:
        self._see(trace)
        if not self.callbacks:
            return None
        X, y = self.data
        task = self.context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=self.model, X=X, y=y)
        stop = task.call_on_fit_task_end(
            estimator=self.model, X=X, y=y, reconstruction_attributes=lambda: self.make(self.so_far)
        )
        if not stop:
            return None
        return reason_of(self.callbacks)

    def _see(self, trace: Any) -> None:
        self.now, self.n_whole = trace, trace.n_rounds

    def __enter__(self) -> "Hooks":
        if self.wanted:
            self.model._hooks = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for callback in self.callbacks:
                if isinstance(callback, Callback) and self.began:
                    callback.leave(self)
        finally:
            self.model.__dict__.pop("_hooks", None)
        if error is None:
            self._settle(self.make(self.finished))
        elif self.began and isinstance(error, Exception):
            usable = any(trace.n_rounds for trace in self.so_far)
            if usable:
                self._settle(self.make(self.so_far))
                self.model._rescued = True
            held = "; the model holds the rounds before it" if usable else ""
            error.add_note(f"in round {self.n_whole + 1}{held}")

    def _settle(self, fitted: dict[str, Any]) -> None:
        self.model.__dict__.pop("best_round_", None)
        self.model.__dict__.update(fitted)


def reason_of(callbacks: list[Any]) -> str:
    """Return the reason for which callbacks stopped a fit."""
    return next(filter(None, (getattr(callback, "stop_reason", None) for callback in callbacks)), "callback")


class Callback:
    """Base class of callbacks: the hooks of scikit-learn's protocol, which do nothing."""

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        return False

    def leave(self, hooks: Hooks) -> None:
        """Called when training ends, also in the middle of a round."""


class TimeLimit(Callback):
    """Stop after the round in which `seconds` have passed; `stop_reason_` is then "time_limit".

    If classes are fitted one after another, each gets an equal share of the remaining time.
    The candidates of ``lam="auto"`` and the final run share the time in the same way.

    Parameters
    ----------
    seconds : float
        Seconds since the start of `fit`.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, TimeLimit
    >>> model = AdaBoostClassifier(n_estimators=100_000).set_callbacks(TimeLimit(60))
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.stop_reason: str | None = None
        self._started = 0.0

    def setup(self, estimator: Any, context: Any) -> None:
        self.stop_reason = None
        self._started = time.monotonic()

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        hooks = getattr(estimator, "_hooks", None)
        if hooks is None or context.max_subtasks != 0:
            return False
        over = self.left(hooks) <= 0
        self.stop_reason = "time_limit" if over else None
        return over

    def rest(self) -> "TimeLimit":
        """Return a limit for a fit within the one that this limits."""
        return TimeLimit(self.seconds - (time.monotonic() - self._started))

    def left(self, hooks: Hooks) -> float:
        """Return the seconds left for this run."""
        part = (len(hooks.finished) + 1) / hooks.n_runs
        return self.seconds * part - (time.monotonic() - self._started)


class TrialLimit:
    """Ends the run of one candidate when its part of the time limit has passed; no limit without a TimeLimit."""

    def __init__(self, model: Any, part: float) -> None:
        limits = [callback for callback in getattr(model, "_skl_callbacks", []) if isinstance(callback, TimeLimit)]
        left = min((limit.left(model._hooks) for limit in limits), default=math.inf)
        self.end = time.monotonic() + part * left

    def replay(self, trace: Trace) -> str | None:
        return None

    def after(self, trace: Trace) -> str | None:
        return "time_limit" if time.monotonic() >= self.end else None


class ProgressBar(Callback):
    """Show one line that is rewritten: rounds, training error, validation score, time left.

    Parameters
    ----------
    file : file, optional
        Where to write; None means standard error.
    every : float, default=0.1
        Seconds between two updates.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, ProgressBar
    >>> model = AdaBoostClassifier().set_callbacks(ProgressBar())
    """

    def __init__(self, file: TextIO | None = None, every: float = 0.1) -> None:
        self.file = file
        self.every = every
        self._started = self._written = 0.0

    def setup(self, estimator: Any, context: Any) -> None:
        self._started = time.monotonic()
        self._written = 0.0

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        now = time.monotonic()
        hooks = getattr(estimator, "_hooks", None)
        if hooks is not None and hooks.row is not None and now - self._written >= self.every:
            self._written = now
            self._write("\r" + self._line(hooks))
        return False

    def leave(self, hooks: Hooks) -> None:
        if hooks.row is not None:
            self._write("\r" + self._line(hooks) + "\n")

    def _line(self, hooks: Any) -> str:
        """Return the line to print; hooks without rounds define `line`."""
        passed = time.monotonic() - self._started
        if hasattr(hooks, "line"):
            return str(hooks.line(passed))
        row, done, total = hooks.row, hooks.n_whole, hooks.model.n_estimators
        left = passed / done * (total - done)
        filled = int(24 * done / total)
        validation = f"  validation {row['validation']:.4f}" if "validation" in row else ""
        bar = "#" * filled + "." * (24 - filled)
        # what every round has: for a regressor the error of its last voter, on a pool the objective
        name = next(name for name in ("train_error", "error", "objective") if name in row)
        error = f"{name.removeprefix('train_')} {row[name]:.4f}"
        return f"[{bar}] round {done}/{total}  {error}{validation}  {left:.0f} s left "

    def _write(self, text: str) -> None:
        stream = StandardStream(self.file or sys.stderr, "standard error")  # a line that is lost ends no fit
        stream.write(text)
        stream.flush()


class Checkpoint(Callback):
    """Save the model every few rounds and when fit ends early; a later fit with the same data continues from it.

    Parameters
    ----------
    path : str or path
        The file. If it exists when fit starts, training resumes from it and ends with the same model, digest for
        digest, as one that was never interrupted. Delete it to start again.
    every : int, default=10
        Rounds between two saves.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, Checkpoint
    >>> from electorate.simulate import XD6
    >>> X, y = XD6(noise=0.1).sample(100, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=20).set_callbacks(Checkpoint("fit.ckpt")).fit(X, y)
    >>> resumed = AdaBoostClassifier(n_estimators=20).set_callbacks(Checkpoint("fit.ckpt")).fit(X, y)
    >>> resumed.digest_ == model.digest_
    True
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 10) -> None:
        self.path = path
        self.every = every

    def setup(self, estimator: Any, context: Any) -> None:
        from electorate.model import files

        if not hasattr(estimator, "_is_native"):
            raise TypeError(f"set a Checkpoint on the boosted model itself, not on {type(estimator).__name__}")
        family = estimator._family()
        if not (estimator._is_native or hasattr(family, "pack")):
            raise TypeError(
                f"a model of {type(family).__name__} voters has no file format, and so no checkpoints: "
                "use a family of electorate's"
            )
        files.check_storable(estimator)
        if os.path.exists(self.path):
            model = files.load(self.path, families=family_types(family))
            if files.identity(model) != files.identity(estimator):
                raise ModelFormatError(
                    f"{os.fspath(self.path)!r} is a checkpoint of a model with other parameters: {model}; "
                    "delete it, or give another path"
                )
            estimator._resume = model

    def teardown(self, estimator: Any, context: Any) -> None:
        estimator.__dict__.pop("_resume", None)

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        hooks = getattr(estimator, "_hooks", None)
        if hooks is not None and context.max_subtasks == 0 and hooks.n_whole % self.every == 0:
            hooks.snapshot().save(self.path)
        return False

    def leave(self, hooks: Hooks) -> None:
        hooks.snapshot().save(self.path)


# ---------------------------------------------------------------- support of estimators

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
