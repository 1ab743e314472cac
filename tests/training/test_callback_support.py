"""The replacement for scikit-learn's callback support calls the same hooks as scikit-learn's own."""

from typing import Any, ClassVar

import pytest
from after_round import AfterRound
from sklearn.base import BaseEstimator, _fit_context, clone

from electorate.training.callbacks import PlainCallbackSupport, plain_fit_context


class Recorder:
    """Records every hook with its task and what it was given."""

    def __init__(self, stop_at: int = -1) -> None:
        self.stop_at = stop_at
        self.calls: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.calls.append(("setup", context.task_name, context.max_subtasks))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.calls.append(("teardown", context.task_name, context.max_subtasks))

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any) -> None:
        self.calls.append(("begin", context.task_name, context.task_id, context.estimator_name, X))

    def on_fit_task_end(self, estimator: Any, context: Any, *, y: Any, fitted_estimator: Any) -> bool:
        rounds = None if fitted_estimator is None else fitted_estimator.rounds_
        parent = None if context.parent is None else context.parent.task_name
        self.calls.append(("end", context.task_name, context.task_id, context.max_subtasks, parent, y, rounds))
        return context.task_name == "round" and context.task_id == self.stop_at


def fit_of(self: Any, X: Any, y: Any = None) -> Any:
    context = self._init_callback_context(max_subtasks=self.n)
    context.call_on_fit_task_begin(estimator=self, X=X, y=y)
    for number in range(self.n):
        if number == self.fail_at:
            raise RuntimeError("round")
        task = context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=self, X=X, y=y)
        if task.call_on_fit_task_end(
            estimator=self, X=X, y=y, reconstruction_attributes=lambda number=number: {"rounds_": number + 1}
        ):
            break
    context.call_on_fit_task_end(estimator=self, X=X, y=y)
    return self


class Counter(BaseEstimator):
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(self, n: int = 3, fail_at: int = -1) -> None:
        self.n, self.fail_at = n, fail_at


class PlainCounter(PlainCallbackSupport, Counter):
    fit = plain_fit_context(prefer_skip_nested_validation=True)(fit_of)


def calls_of(model: Any, stop_at: int) -> list[Any]:
    recorder = Recorder(stop_at)
    try:
        clone(model).set_callbacks(recorder).fit("X", "y")
    except RuntimeError as error:
        recorder.calls.append(str(error))
    return [tuple("Counter" if part == "PlainCounter" else part for part in call) for call in recorder.calls]


@pytest.mark.parametrize(("n", "fail_at", "stop_at"), [(3, -1, -1), (3, 1, -1), (3, -1, 1), (0, -1, -1)])
def test_same_hooks_as_scikit_learn(n: int, fail_at: int, stop_at: int) -> None:
    mixin = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

    class Reference(mixin.CallbackSupportMixin, Counter):
        fit = _fit_context(prefer_skip_nested_validation=True)(fit_of)

    Reference.__name__ = "Counter"
    expected = calls_of(Reference(n, fail_at), stop_at)
    assert calls_of(PlainCounter(n, fail_at), stop_at) == expected
    assert expected[0][0] == "setup"


def test_nothing_stays_on_the_estimator() -> None:
    model = PlainCounter(fail_at=1).set_callbacks(AfterRound())
    with pytest.raises(RuntimeError, match="round"):
        model.fit("X")
    assert set(vars(model)) == {"n", "fail_at", "_skl_callbacks"}
    assert not vars(model.set_callbacks()).keys() & {"_skl_callbacks"}


def test_clones_have_the_same_callbacks() -> None:
    watcher = AfterRound()
    copied = clone(PlainCounter(n=5).set_callbacks(watcher))
    assert copied._skl_callbacks == [watcher]
    assert copied.n == 5


def test_every_callback_is_torn_down_and_failures_are_raised() -> None:
    class Failing(AfterRound):
        def teardown(self, estimator: Any, context: Any) -> None:
            raise OSError("disk full")

    last = AfterRound()
    with pytest.raises(OSError, match="disk full"):
        PlainCounter().set_callbacks(Failing(), last).fit("X")
    assert last.calls[-1] == "teardown"
    with pytest.raises(ExceptionGroup) as raised:
        PlainCounter().set_callbacks(Failing(), Failing()).fit("X")
    assert len(raised.value.exceptions) == 2


@pytest.mark.parametrize("wrong", [AfterRound, object(), 3])
def test_what_is_no_callback(wrong: Any) -> None:
    with pytest.raises(TypeError, match="callbacks must be instances with the methods setup"):
        PlainCounter().set_callbacks(wrong)


def test_unknown_parameter_of_a_hook() -> None:
    class Curious(AfterRound):
        def on_fit_task_end(self, estimator: Any, context: Any, *, weight: Any) -> None:
            pass

    with pytest.raises(TypeError, match=r"on_fit_task_end of Curious has unknown parameters \['weight'\]"):
        PlainCounter().set_callbacks(Curious()).fit("X")
