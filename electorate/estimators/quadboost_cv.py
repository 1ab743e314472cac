"""QuadBoost with its penalty and number of rounds chosen by cross-validation, as the paper does.

In a fold one run gives every number of rounds; on a finite pool all penalties share bins, voters and the Gram matrix.
"""

import math
import warnings
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from electorate.data import inputs
from electorate.data.row_subset import take_rows
from electorate.estimators.base import Rows
from electorate.estimators.guarantees import Certified
from electorate.estimators.quadboost import QuadBoostClassifier
from electorate.export.exported import Exported
from electorate.families.columns import Columns
from electorate.families.pool import Pool
from electorate.training.callbacks import Callback, CallbackSupport, fit_context, reason_of
from electorate.training.lazy_inputs import refuse_lazy
from electorate.training.quad_path import Point, PoolProblem, points_along
from electorate.training.worker_data import NO_WEIGHT

VALUES = {"l1": np.logspace(-4, 0, 10), "l2": np.logspace(0, 3, 10), "linf": np.logspace(-4, -1, 10)}
ROUNDS: dict[str | None, tuple[int, int]] = {None: (0, 3), "l2": (1, 5), "linf": (0, 5)}  # powers of ten
MOST_SEARCHES = 1000  # rounds, by default, where each of them searches the family


@dataclass(eq=False, repr=False, kw_only=True)
class QuadBoostClassifierCV(CallbackSupport, Certified, Exported, ClassifierMixin, BaseEstimator):
    """QuadBoost with `lam`, `alpha_max` and the number of rounds chosen by cross-validation.

    On `Pool` and `Columns` a fold shares its work between all values; any other family is fitted once per value and
    fold.

    Parameters
    ----------
    estimator : Pool, Columns, another family, a scikit-learn regressor or None, default=None
        The voters. None means :class:`Pool`.
    penalty : {"l1", "l2", "linf"} or None, default=None
        None: the risk alone. "l1": risk + 2 lam abs(alpha)_1. "l2": risk + lam sum alpha^2. "linf": the risk
        over weights of at most `alpha_max`.
    reweight : {"never", "cyclic", "greedy"}, default="never"
        Whether voters of the model get new weights (section 3.1). "never": every round adds a voter; a voter can be
        added again, as a copy. "cyclic": every round adds a voter, then all get their best weight, one after another.
        "greedy": in every round, the old or new voter that lowers the objective most gets its best weight.
    values : array-like or None, default=None
        Values of lam (L1, L2) or of alpha_max (Linf). None: the paper's, ten from 1e-4 to 1 (L1), from 1 to 1e3
        (L2), from 1e-4 to 0.1 (Linf).
    rounds : array-like of int or None, default=None
        Numbers of rounds. None: the paper's, ten from 1 to 1e3 (no penalty), from 10 to 1e5 (L2), from 1 to 1e5
        (Linf). L1 converges: up to 1e5 rounds. At most 1,000 for families that are searched in every round, which are
        all except `Pool` and `Columns`.
    cv : int or splitter, default=5
        The folds, as in scikit-learn.
    max_voters : int or None, default=None
        The largest number of distinct voters. Without re-weighting, training then ends; with it, no other voter is
        added.
    tol : float, default=1e-06
        L1 ends when no correlation with the residual is above lam + tol; with re-weighting a penalised fit ends
        when the objective is within tol of the minimum (for L1, by the duality gap of the Lasso). Also the smallest
        improvement that counts for `early_stopping`.
    class_weight : dict, "balanced" or None, default=None
        Factors by which sample weights are multiplied, by class. "balanced" gives every class the same total
        weight.
    max_bins : int or "exact", default=255
        The largest number of bins per column, besides one for missing values. A column with no more distinct
        values is searched exactly. "exact" uses 16-bit bins: exact up to 65,534 distinct values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the categorical columns. "from_dtype" takes the text, category
        and enum columns of a dataframe.
    n_jobs : int or None, default=None
        Folds at a time, in threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seed of the validation split and of third-party estimators. The families of electorate use no
        randomness.

    Attributes
    ----------
    best_params_ : dict
        lam, alpha_max and n_estimators with the least error; of equals, the strongest penalty and the fewest
        rounds.
    cv_results_ : dict of ndarray
        For every point: lam, alpha_max, n_estimators, the errors of the folds, and their mean.
    best_estimator_ : QuadBoostClassifier
        Fitted to all rows with the chosen values.
    stop_reason_ : str
        `folds`: all folds were run; `time_limit` or `callback`: only the folds that were run determine the choice.

    See Also
    --------
    QuadBoostClassifier : Quadratic risk with L1, L2 or Linf penalties.
    compare : Compares all algorithms on one table.

    Notes
    -----
    Callbacks get every fold: `model.set_callbacks(ProgressBar())` shows how many are done, and a `TimeLimit` ends
    the choice after the fold in which the time has passed.

    References
    ----------
    .. [1] L. Fortier-Dubois et al., "Efficient Learning of Ensembles with QuadBoost", 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import QuadBoostClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> sorted(QuadBoostClassifierCV(rounds=[10, 100]).fit(X, y).best_params_)
    ['alpha_max', 'lam', 'n_estimators']
    """

    estimator: Any = field(default=None, kw_only=False)
    penalty: str | None = None
    reweight: str = "never"
    values: Any = None
    rounds: Any = None
    cv: Any = 5
    max_voters: int | None = None
    tol: float = 1e-6
    class_weight: Any = None
    max_bins: int | str = 255
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: QuadBoostClassifier._parameter_constraints[name]
            for name in (
                *("estimator", "penalty", "reweight", "max_voters", "tol", "class_weight", "max_bins"),
                *("categorical_features", "n_jobs", "random_state"),
            )
        },
        "values": ["array-like", None],
        "rounds": ["array-like", None],
        "cv": ["cv_object"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose by cross-validation, then fit to all rows."""
        refuse_lazy(self, X)
        whole = self._model()
        given = whole._given(X, y, sample_weight, reset=True)  # so that error messages refer to all rows
        labels, weight = given.labels, given.weight
        if not np.any(weight > 0):
            raise ValueError(NO_WEIGHT)
        rows = inputs.indexable(X)
        points = self._points()
        splits = list(check_cv(self.cv, labels, classifier=True).split(np.zeros(len(labels)), labels))
        context = self._init_callback_context(max_subtasks=len(splits))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        jobs = joblib.Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        tasks = jobs(joblib.delayed(self._fold)(rows, labels, weight, split, points) for split in splits)
        folds = Folds(self, context, (X, y), len(splits))
        errors = folds.run(tasks)
        self.stop_reason_ = folds.stop_reason
        mean = errors.mean(axis=1)
        best = points[int(np.argmin(mean))]
        self.cv_results_ = {
            "lam": np.array([point.penalty[0] for point in points]),
            "alpha_max": np.array([point.penalty[1] for point in points]),
            "n_estimators": np.array([point.n_estimators for point in points]),
            "errors": errors,
            "mean_error": mean,
        }
        chosen = {"lam": best.lam, "alpha_max": best.alpha_max, "n_estimators": best.n_estimators}
        self.best_params_ = chosen
        self.best_estimator_ = whole.set_params(**chosen).fit(X, y, sample_weight)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _model(self) -> QuadBoostClassifier:
        names = set(QuadBoostClassifier().get_params(deep=False)) & set(self.get_params(deep=False)) - {"n_jobs"}
        model = QuadBoostClassifier(**{name: getattr(self, name) for name in names}, n_jobs=1)
        model._validate_family()
        return model

    @property
    def _is_finite(self) -> bool:
        return isinstance(self._model()._family(), Pool | Columns)

    def _points(self) -> list[Point]:
        """The strongest penalty and the fewest rounds first: of equals that is the best."""
        rounds = self._rounds()
        if self.penalty is None:
            return [Point(0.0, None, t) for t in rounds]
        values = np.sort(np.asarray(VALUES[self.penalty] if self.values is None else self.values, dtype=np.float64))
        return points_along(self.penalty, values[:: 1 if self.penalty == "linf" else -1].tolist(), rounds)

    def _rounds(self) -> list[int]:
        if self.rounds is not None:
            return sorted({int(t) for t in np.asarray(self.rounds).tolist()})
        low, high = ROUNDS.get(self.penalty, (5, 5))
        if not self._is_finite:
            high = min(high, round(math.log10(MOST_SEARCHES)))
            low = min(low, high)
        return list(np.unique(np.rint(np.logspace(low, high, 10)).astype(np.int64)).tolist())

    def _fold(self, X: Any, labels: Any, weight: Any, split: Any, points: list[Point]) -> Any:
        """The weighted error of every point on the rows of one fold."""
        train, test = split
        parts = [(take_rows(X, rows), labels[rows], weight[rows]) for rows in (train, test)]
        predict = self._on_pool if self._is_finite else self._searched
        wrong = predict(parts[0], parts[1][0], points) != parts[1][1]
        total = max(float(parts[1][2].sum()), np.finfo(np.float64).tiny)
        return (wrong * parts[1][2]).sum(axis=1) / total

    def _on_pool(self, rows: Rows, X: Any, points: list[Point]) -> NDArray[Any]:
        """Return [point, row]: the predicted labels of X, from one walk over all points."""
        n_rows = X.shape[0]
        # one label and one weight for all of these rows, so that they stay in their order
        some = rows[1][rows[2] > 0][:1].repeat(n_rows)
        problem = PoolProblem(self._model(), rows, (X, some, None))
        if len(problem.classes) == 1:
            chosen = np.zeros((len(points), n_rows), dtype=np.int64)
        else:
            f = problem.decisions(points)
            chosen = (f[:, :, 0] > 0).astype(np.int64) if f.shape[2] == 1 else np.argmax(f, axis=2)
        return problem.classes[chosen]

    def _searched(self, rows: Rows, X: Any, points: list[Point]) -> NDArray[Any]:
        """Return [point, row]: the predicted labels of X. One fit per penalty gives every number of rounds."""
        found: dict[Point, NDArray[Any]] = {}
        for (lam, alpha_max), group in groupby(points, key=lambda point: (point.lam, point.alpha_max)):
            wanted = list(group)
            most = max(point.n_estimators for point in wanted)
            model = self._model().set_params(lam=lam, alpha_max=alpha_max, n_estimators=most)
            stages = model.fit(*rows).staged_predict(X)
            predicted = np.repeat(model.classes_[:1], X.shape[0])  # without voters: a tie, the first class
            done = 0
            for point in wanted:
                *_, predicted = [predicted, *islice(stages, point.n_estimators - done)]
                done = point.n_estimators
                found[point] = predicted
        return np.array([found[point] for point in points])

    # ------------------------------------------------------------ the chosen model

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class Folds:
    """The hooks of callbacks during a cross-validation: a round is a fold that is done."""

    n_runs = 1
    finished: tuple[Any, ...] = ()

    def __init__(self, model: Any, context: Any, data: tuple[Any, Any], total: int) -> None:
        self.model, self.context, self.data, self.total = model, context, data, total
        self.errors: list[NDArray[np.float64]] = []
        self.stop_reason = "folds"

    @property
    def row(self) -> dict[str, float] | None:
        return {"validation": float(np.mean(self.errors, axis=0).min())} if self.errors else None

    def run(self, tasks: Generator[Any]) -> NDArray[np.float64]:
        """[point, fold] of the errors, until all folds are done or a callback stops the choice."""
        callbacks, (X, y) = getattr(self.model, "_skl_callbacks", []), self.data
        self.model._hooks = self
        try:
            for found in tasks:
                self.errors.append(found)
                task = self.context.subcontext(task_name="fold")
                task.call_on_fit_task_begin(estimator=self.model, X=X, y=y)
                if task.call_on_fit_task_end(estimator=self.model, X=X, y=y) and len(self.errors) < self.total:
                    self.stop_reason = reason_of(callbacks)
                    break
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # about folds whose results are not needed any more
                tasks.close()
        finally:
            for callback in callbacks:
                if isinstance(callback, Callback):
                    callback.leave(self)  # type: ignore[arg-type]
            self.model.__dict__.pop("_hooks", None)
        return np.array(self.errors).T

    def line(self, passed: float) -> str:
        """Return a line for a progress bar."""
        done, row = len(self.errors), self.row or {}
        left = passed / done * (self.total - done)
        bar = "#" * (24 * done // self.total)
        return f"[{bar:.<24}] fold {done}/{self.total}  error {row['validation']:.4f}  {left:.0f} s left "
