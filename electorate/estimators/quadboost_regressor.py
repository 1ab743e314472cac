"""QuadBoost for real targets: boosting of least squares with the same penalties, and of absolute errors on trees."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.quadboost import WeightRules
from electorate.estimators.base import StopsEarly
from electorate.estimators.quadboost import QuadBoosted
from electorate.estimators.regressor import TargetModel
from electorate.exact import UNITS, Floats
from electorate.families.columns import Columns
from electorate.families.kernel_sections import KernelSections
from electorate.families.pool import Pool
from electorate.families.regression_trees import RegressionTrees
from electorate.training.lazy_inputs import in_memory_only, refuse_lazy, row_by_row
from electorate.training.quad_regression import fit_quad_regressor
from electorate.training.worker_data import TargetOutline, TargetPlan


@dataclass(eq=False, repr=False, kw_only=True)
class QuadBoostRegressor(QuadBoosted, TargetModel):
    """Boosting of the squared error, with an L1, L2 or Linf penalty on the weights, or none.

    Equations 6 to 9 of [1]_ for real targets. The penalties are in the units of y. On trees also boosting of the
    absolute error and of the quantile loss.

    Parameters
    ----------
    estimator : Pool, Columns, RegressionTrees, KernelSections, a scikit-learn regressor or None, default=None
        The voters. None means :class:`Pool`. Outputs are from -1 to 1: trees, grown by least squares, and any
        regressor are fitted to the residuals of every round and divided by their largest output.
    penalty : {"l1", "l2", "linf"} or None, default=None
        None: the risk alone. "l1": risk + 2 lam abs(alpha)_1. "l2": risk + lam sum alpha^2. "linf": the risk
        over weights of at most `alpha_max`.
    lam : float, default=0.01
        Of L1 and L2.
    alpha_max : float or None, default=None
        Of Linf. None: no bound.
    reweight : {"never", "cyclic", "greedy"}, default="never"
        Whether voters of the model get new weights (section 3.1). "never": every round adds a voter; a voter can be
        added again, as a copy. "cyclic": every round adds a voter, then all get their best weight, one after another.
        "greedy": in every round, the old or new voter that lowers the objective most gets its best weight.
    n_estimators : int, default=100
        The largest number of rounds.
    learning_rate : float, default=1.0
        The part of its best weight that a voter enters with, at most 1. Below 1 it needs voters that are searched each
        round (`RegressionTrees`, `KernelSections` or a regressor) and `reweight="never"`: boosting of least squares
        with shrinkage [2]_, for which 0.1 and a few hundred trees of depth 4 to 6 are usual.
    loss : {"squared", "absolute", "quantile"}, default="squared"
        What is minimised: the mean of (y - f)^2, of abs(y - f), or of q (y - f) above f and (1 - q) (f - y) below it,
        which predicts the q-quantile. The last two need `RegressionTrees`, no penalty and `reweight="never"`: a tree
        is grown by least squares for the derivatives of the loss, its leaves output a quantile of their residuals, and
        it enters with `learning_rate` as its weight (algorithms 1 and 3 of [2]_).
    quantile : float, default=0.5
        q of the quantile loss, between 0 and 1.
    max_voters : int or None, default=None
        The largest number of distinct voters. Without re-weighting, training then ends; with it, no other voter is
        added.
    tol : float, default=1e-06
        L1 ends when no correlation with the residual is above lam + tol; with re-weighting a penalised fit ends
        when the objective is within tol of the minimum (for L1, by the duality gap of the Lasso). Also the smallest
        improvement that counts for `early_stopping`.
    fit_intercept : bool, default=True
        Whether to fit a constant that is not penalised. On `Pool` and `Columns` it is the best one after every
        change, as in scikit-learn's Lasso and Ridge; where voters are searched every round it is the constant with
        the least loss: the mean, the median or the quantile of y.
    max_bins : int or "exact", default=255
        The largest number of bins per column, besides one for missing values. A column with no more distinct
        values is searched exactly. "exact" uses 16-bit bins: exact up to 65,534 distinct values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the categorical columns. "from_dtype" takes the text, category
        and enum columns of a dataframe.
    early_stopping : bool, default=False
        Stop when the mean loss of validation rows has not improved by more than `tol` for
        `n_iter_no_change` rounds, and keep the rounds up to the best one.
    validation_fraction : float, default=0.1
        The fraction of the rows that is set aside for validation, unless `fit` gets `X_val` and `y_val`. Rows
        are drawn by their content: their order does not matter, and a row of weight k is drawn as k rows.
    n_iter_no_change : int, default=10
        Rounds without improvement after which training stops.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the fitted model, given the same data: 50 rounds and then 100 equal 100
        rounds, digest for digest.
    n_jobs : int or None, default=None
        The number of threads. None means all CPUs that are available to this process, or fewer for small tables.
        The model does not depend on it.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the model is trained. This algorithm is trained on the CPU: "cuda" raises, "auto" is the same as "cpu".
    random_state : int, RandomState instance or None, default=None
        The seed of the validation split and of third-party estimators. The families of electorate use no
        randomness.

    Attributes
    ----------
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, where X has string names.
    steps_ : ndarray
        The weight of each distinct voter; 0 if it was set back to 0.
    intercept_ : float
        `start_`, the best constant, less the steps times `centres_`: the mean output of each voter where the
        intercept is free, else 0.
    gap_ : float
        A bound on how far the objective is above its minimum over the pool. Infinite without a penalty.
    moves_ : Moves
        Round, voter and new weight of every change; stages are replayed from it. In units of `scale_`.
    history_ : dict of ndarray
        Per round: step and edge (mu - M of the paper) of the voter that entered, or moved first; objective;
        n_voters (with a weight that is not 0); seconds; validation; train_error for the last round kept on
        pools (`staged_score` gives all), for every round where voters are searched. Without re-weighting,
        copies count separately in the penalty. For the absolute and quantile losses the edge is minus the derivative
        of the mean loss by the weight of the voter.
    stop_reason_ : str
        Why training ended: `n_estimators`, `converged` (within tol), `no_edge` (no move lowers the objective),
        `max_voters`, `validation`, `time_limit` or `callback`.
    best_round_ : int
        With early stopping, the number of rounds kept.
    feature_importances_ : ndarray
        The share of the steps that belongs to splits on each column.
    digest_ : str
        SHA-256 of the model. Models with equal digests are equal.
    seen_ : Seen
        Hashes of the training rows, so that `certificate` can refuse them as held-out rows. Not part of the
        model.

    See Also
    --------
    QuadBoostClassifier : Quadratic risk with L1, L2 or Linf penalties.
    MedBoostRegressor : Boosting by weighted median.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    References
    ----------
    .. [1] L. Fortier-Dubois et al., "Efficient Learning of Ensembles with QuadBoost", 2015.
    .. [2] J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import QuadBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> QuadBoostRegressor(penalty="l1", lam=1.0, reweight="cyclic").fit(X, y).stop_reason_
    'n_estimators'
    """

    fit_intercept: bool = True
    learning_rate: float = 1.0
    loss: str = "squared"
    quantile: float = 0.5

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StopsEarly._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), HasMethods(["best"]), RegressionTrees, None],
        **QuadBoosted._parameter_constraints,
        "fit_intercept": ["boolean"],
        "learning_rate": [Interval(Real, 2.0**-20, 1.0, closed="both")],
        "loss": [StrOptions({"squared", "absolute", "quantile"})],
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    @property
    def _is_native(self) -> bool:
        return isinstance(self._family(), Pool | RegressionTrees)

    @property
    def _keeps_monotone(self) -> bool:  # type: ignore[override]
        return self.penalty is None and self.reweight == "never"

    def _validate_family(self) -> None:
        family = self._family()
        if isinstance(family, Pool | KernelSections | RegressionTrees):
            family._validate_params()
        elif not (isinstance(family, Columns) or (hasattr(family, "fit") and is_regressor(family))):
            raise ValueError(
                f"QuadBoostRegressor cannot boost {type(family).__name__}: use Pool, Columns, RegressionTrees, "
                "KernelSections, a regressor"
            )
        if self.learning_rate != 1 and (isinstance(family, Pool | Columns) or self.reweight != "never"):
            raise ValueError(
                f"learning_rate is {self.learning_rate}, and {type(family).__name__} with reweight={self.reweight!r} "
                "gives voters their best weights: use RegressionTrees with reweight='never', or learning_rate=1"
            )
        self._refuse_monotone(family)
        plain = self.penalty is None and self.reweight == "never"
        if self.loss != "squared" and not (isinstance(family, RegressionTrees) and plain):
            raise ValueError(
                f"loss is {self.loss!r}, and other voters, penalties and re-weighting are for the squared error: use "
                "RegressionTrees, penalty=None and reweight='never', or loss='squared'"
            )
        if getattr(family, "criterion", "") == "edge" and isinstance(family, RegressionTrees):
            raise ValueError("QuadBoostRegressor grows trees by least squares: use RegressionTrees(criterion='auto')")

    def _rules(self, unit: float, n: float, log_count: float) -> WeightRules:
        return replace(super()._rules(unit, n, log_count), rate=float(self.learning_rate))

    def _refuse_lazy(self, X: Any) -> None:
        refuse_lazy(self, X)

    def _plan(self, resumes: bool) -> TargetPlan:
        return TargetPlan(False, int(self.n_estimators), 1)

    def _count_runs(self, outline: TargetOutline) -> int:
        return 1

    def _train(self, place: Any, outline: TargetOutline, context: Any, data: tuple[Any, Any]) -> None:
        fit_quad_regressor(self, place, outline, context, data)

    # ------------------------------------------------------------ the fitted model

    @property
    def steps_(self) -> Floats:
        """The weight of each distinct voter."""
        return np.asarray(self.ensemble_.steps * self.scale_)

    @property
    def intercept_(self) -> float:
        return self.start_ - math.fsum((self.steps_ * self.centres_).tolist())

    @row_by_row
    def predict(self, X: Any) -> Floats:
        """Return the predicted target of every row; a lazy array for a Dask collection."""
        check_is_fitted(self, "ensemble_")
        return self.intercept_ + self.scale_ * (self._votes(X)[0] / UNITS)

    @in_memory_only
    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield the predictions after every round, as a model of so many rounds would make them."""
        check_is_fitted(self, "ensemble_")
        if not self.centres_.any():
            for votes in self._votes_by_round(X):
                yield self.start_ + self.scale_ * (votes[0] / UNITS)
            return
        weight: dict[int, float] = {}
        for votes, turn in zip(self._votes_by_round(X), self.moves_.changes(), strict=True):
            weight |= {place: new for place, _, new in turn}
            centre = math.fsum(new * self.scale_ * float(self.centres_[place]) for place, new in weight.items())
            yield (self.start_ - centre) + self.scale_ * (votes[0] / UNITS)
