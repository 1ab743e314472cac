"""MedBoost and LocMedBoost: boosting whose vote is the weighted median."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.costs import GivenCost, LinearCost, ZeroOneCost
from electorate.algorithms.medboost import AdaptiveRho, ConstantRho, LowestEdge, MedBoost
from electorate.data import inputs
from electorate.data.bins import Bins
from electorate.data.targets import check_targets
from electorate.data.weights import read_weights
from electorate.engines.running_median import Stage
from electorate.estimators.regressor import BoostedRegressor
from electorate.exact import Floats
from electorate.families.columns import Columns
from electorate.families.pool import Pool
from electorate.families.regression_trees import DISTANCE, NO_TABLE, TABLE, WINDOW, Earning, RegressionTrees, windows
from electorate.families.rho_search import Given, bumps
from electorate.model.median import Votes, conformal_rank
from electorate.theory import training as proved
from electorate.training.dask_inputs import is_dask
from electorate.training.lazy_inputs import in_memory_only, refuse_lazy_for, row_by_row
from electorate.training.regression import Try
from electorate.training.worker_data import TargetOutline

EPS_SHARE = 0.5  # of the spread of the targets
EPS_SHARE_ABSTAINING = 1.0  # with less, most leaves would lose more than they win, and abstain
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
SMALLEST_DIVISOR = float(np.finfo(np.float64).tiny)  # 2 divided by a smaller number may be infinite
HALVINGS = 10  # of an "auto" eps, at most
EPS_TRIED = (0.125, 0.25, 0.5, 1.0)  # shares of the spread, when eps is chosen by validation
RHO_TRIED = (-0.9, -0.7, -0.5, -0.3, -0.1, 0.0, 0.1, 0.25)
NU_TRIED = (0.05, 0.1, 0.2, 0.4)
COSTS = {"zero_one": ZeroOneCost, "linear": LinearCost}


@dataclass(eq=False, repr=False, kw_only=True)
class MedBoostRegressor(BoostedRegressor):
    """MedBoost: boosting that predicts the weighted median of its voters, with prediction intervals.

    Figure 1 of [1]_, with every confidence 1. A voter is right on a row if it is within eps of the target.

    Parameters
    ----------
    estimator : RegressionTrees, Pool, Columns, a scikit-learn regressor with sample_weight, or None, default=None
        The voters. None means `RegressionTrees(3)`, grown by the edge of eq. 1. `Pool` and `Columns` are finite
        sets that are searched exhaustively: Corollary 2 of the paper holds for them. The columns of `Columns`
        are predictions.
    n_estimators : int, default=100
        The largest number of rounds.
    cost : {"zero_one", "linear"} or callable, default="zero_one"
        C_eps of eq. 2: 1 beyond eps and 0 within; abs(h - y) / eps; or a function cost(h, y, eps) of arrays
        that is 1 or more beyond eps. The linear cost is unbounded and can overfit outliers.
    eps : float, "auto" or "validate", default="auto"
        The distance from the target within which a prediction is right. "auto": half the median distance of the
        targets from their median (all of it where leaves may abstain), halved again while the first voter is
        right on every row. "validate": the one of four shares of that distance with the least mean absolute
        error on validation rows.
    rho : "adaptive", "lowest_edge", "validate" or float, default="adaptive"
        The margin to reach: the edge of each round minus nu; the lowest edge so far minus nu; the best of eight
        constants from -0.9 to 0.25 on validation rows, with the number of rounds; or a constant. Edges are often
        negative, so 0 may give an empty model.
    nu : float or "validate", default=0.1
        See `rho`. "validate": the best of four numbers from 0.05 to 0.4 on validation rows. Where it is not less than
        the edge minus the lowest award, half of that is used.
    early_stopping : bool, default=False
        Stop when the mean absolute error of validation rows has not improved by more than `tol` for
        `n_iter_no_change` rounds, and keep the rounds up to the best one.
    validation_fraction : float, default=0.1
        The fraction of the rows that is set aside for validation, unless `fit` gets `X_val` and `y_val`. Rows
        are drawn by their content: their order does not matter, and a row of weight k is drawn as k rows.
    n_iter_no_change : int, default=50
        Rounds without improvement after which training stops.
    tol : float, default=0.0
        The smallest improvement of the validation score that counts.
    max_bins : int or "exact", default=255
        The largest number of bins per column, besides one for missing values. A column with no more distinct
        values is searched exactly. "exact" uses 16-bit bins: exact up to 65,534 distinct values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the categorical columns. "from_dtype" takes the text, category
        and enum columns of a dataframe.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the fitted model, given the same data: 50 rounds and then 100 equal 100
        rounds, digest for digest. Where eps or rho is chosen by validation, every candidate is run again.
    n_jobs : int or None, default=None
        The number of threads. None means all CPUs that are available to this process, or fewer for small tables.
        The model does not depend on it.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the model is trained: by threads of this process, or on an NVIDIA GPU. "auto" uses a GPU for large
        tables where there is one. Rows that live on a GPU are trained on there. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seed of the validation split and of third-party estimators. The families of electorate use no
        randomness.

    Attributes
    ----------
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, where X has string names.
    estimators_ : sequence of voters
        A read-only view of the voters; each has `predict` and `to_text`.
    steps_ : ndarray
        The steps alpha, one per voter. An infinite last step means that this voter decides alone (line 8 of
        Figure 1).
    estimator_weights_ : ndarray
        The weights of the voters; equal to `steps_`.
    estimator_errors_ : ndarray
        The weighted error of each voter.
    fallback_ : float
        The weighted median of the training targets: the prediction where no voter has any confidence.
    eps_ : float
        The eps that was used.
    rho_ : float or None
        The constant rho that was used, if one was.
    nu_ : float
        The nu that was used, with `nu="validate"`.
    history_ : dict of ndarray
        Per round: step, edge, error ((1 - edge) / 2), rho, log_z, objective (the product of the E_rho of the
        rounds), min_margin, target_margin, margin_error (the share of rows with a margin of at most 0),
        n_voters, seconds, and validation where there are validation rows.
    stop_reason_ : str
        Why training ended: `n_estimators`, `no_edge` (line 10 of Figure 1), `perfect_voter` (line 8),
        `validation`, `time_limit` or `callback`.
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
    LocMedBoostRegressor : MedBoost with voters that may abstain.
    AdaBoostRegressor : AdaBoost.R2.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    References
    ----------
    .. [1] B. Kegl, "Generalization error and algorithmic convergence of median boosting", NIPS 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import MedBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MedBoostRegressor(n_estimators=20).fit(X, y)
    >>> low, high = model.predict_interval(X, rho=0.2)
    >>> bool((low <= model.predict(X)).all() and (model.predict(X) <= high).all())
    True
    """

    cost: str | Callable[[Floats, Floats, float], Floats] = "zero_one"
    eps: float | str = "auto"
    rho: float | str = "adaptive"
    nu: float | str = 0.1

    _keeps_monotone = True
    _guarantees = proved.Guarantees(rounds=proved.medboost)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoostedRegressor._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), RegressionTrees, Pool, Columns, None],
        "cost": [StrOptions({"zero_one", "linear"}), callable],
        "eps": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "validate"})],
        "rho": [Interval(Real, None, None, closed="neither"), StrOptions({"adaptive", "lowest_edge", "validate"})],
        "nu": [Interval(Real, 0, None, closed="neither"), StrOptions({"validate"})],
    }

    # ------------------------------------------------------------ fitting

    def _criterion(self) -> str:
        family = self._family()
        if isinstance(family, Pool):
            return "values"
        return "edge" if family.criterion == "auto" else str(family.criterion)

    @property
    def _needs_validation(self) -> bool:
        return self.early_stopping or self._tries_several

    @property
    def _tries_several(self) -> bool:
        return "validate" in (self.eps, self.rho, self.nu)

    @property
    def _functions(self) -> str | None:
        return None if isinstance(self.cost, str) else "cost"

    def _abstains(self) -> bool:
        return False

    def _refuse_checkpoint(self) -> None:
        super()._refuse_checkpoint()
        if self._tries_several:
            raise ValueError(
                "eps, rho or nu is 'validate': a Checkpoint keeps one run, and several are tried; give numbers, or fit "
                "without it"
            )

    def _tries(self, outline: TargetOutline) -> list[Try]:
        """Return one candidate, or all that are compared on validation rows."""
        if isinstance(self.eps, str):
            share = EPS_SHARE_ABSTAINING if self._abstains() else EPS_SHARE
            tried = EPS_TRIED if self.eps == "validate" else (share,)
            all_eps = [outline.spread * share or outline.spread for share in tried]  # denormal ones can round to 0
        else:
            all_eps = [float(self.eps)]
        rhos = RHO_TRIED if self.rho == "validate" else (None if isinstance(self.rho, str) else float(self.rho),)
        if self.nu == "validate" and self.rho in ("adaptive", "lowest_edge"):
            return [self._try(eps, None, nu) for eps, nu in product(all_eps, NU_TRIED)]
        return [self._try(eps, rho) for eps, rho in product(all_eps, rhos)]

    def _as_before(self, one: Try, before: Any) -> Try:
        return self._try(before.eps_, one.attributes["rho_"]) if self.eps == "auto" else one

    def _finer(self, one: Try) -> Iterator[Try]:
        """Halve an "auto" eps at which the first voter is right on every row: it is too large."""
        for halvings in range(1, HALVINGS + 1) if self.eps == "auto" else ():
            eps = one.attributes["eps_"] / 2**halvings
            if eps < self._smallest_eps:
                return
            yield self._try(eps, one.attributes["rho_"], one.attributes.get("nu_"))

    def _try(self, eps: float, rho: float | None, nu: float | None = None) -> Try:
        if eps < self._smallest_eps:
            what = f"eps={eps:g}" if self.eps == eps else f"y varies so little that eps would be {eps:g}, which"
            raise ValueError(
                f"{what} is too small: |h - y| / eps would be outside the range of float64. Multiply y (and eps, if "
                "given) by a large number, or use cost='zero_one'"
            )
        cost = COSTS[self.cost](eps) if isinstance(self.cost, str) else GivenCost(eps, self.cost)
        adaptive = LowestEdge if self.rho == "lowest_edge" else AdaptiveRho
        chosen = {"eps_": eps, "rho_": rho} | ({} if nu is None else {"nu_": nu})
        rule = adaptive(float(self.nu if nu is None else nu)) if rho is None else ConstantRho(rho)
        return Try(MedBoost(cost, rule), partial(self._earning, cost), chosen)

    @property
    def _smallest_eps(self) -> float:
        return SMALLEST_DIVISOR if self.cost == "linear" else SMALLEST

    def _earning(self, cost: Any, targets: Floats) -> Earning:
        kind, slope, table, n = WINDOW, 0.0, NO_TABLE, len(targets)
        if isinstance(cost, LinearCost):
            kind, slope = DISTANCE, 2.0 / cost.eps
        elif not isinstance(cost, ZeroOneCost):
            kind = TABLE
            table = np.ascontiguousarray(cost.award(np.repeat(targets, n), np.tile(targets, n)).reshape(n, n))
        return Earning(kind, cost.eps, targets, windows(targets, cost.eps), slope, table, self._abstains())

    # ------------------------------------------------------------ confidence and intervals

    @row_by_row
    def confidence(self, X: Any) -> Floats:
        """The average confidence c(x) of eq. 6, from 0 to 1; 0 for a model without voters."""
        check_is_fitted(self)
        if not self.vote_.n_voters:
            return np.zeros(self._outputs(X)[0])
        return self._evaluate(X, lambda votes: votes.mass / votes.reach)

    def predict_interval(
        self, X: Any, *, rho: float | None = None, coverage: float | None = None
    ) -> tuple[Floats, Floats]:
        """The lower and the upper end of an interval for every row.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
        rho : float, at least 0
            The quantiles f_rho- and f_rho+ of the vote, eq. 7 and 8: the lower and upper (1 - rho / c(x)) / 2 of the
            voters are left out. They are quantiles of the vote, not of the target, and infinite where rho >= c(x).
        coverage : float between 0 and 1
            An interval that contains the target of a new row with at least this probability, for any model, if the
            rows given to `calibrate` and the new row are exchangeable (split conformal prediction).
        """
        if is_dask(X):
            refuse_lazy_for("predict_interval", X)
        if (rho is None) == (coverage is None):
            raise ValueError("give either rho, for quantiles of the vote, or coverage, for a conformal interval")
        if rho is not None:
            if not (math.isfinite(rho) and rho >= 0):
                raise ValueError(f"rho={rho!r}: it must be a finite number, not negative, or the ends would cross")
            low, high = self._quantiles(X, float(rho))
            return low, high
        if coverage is None or not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r}: it must lie between 0 and 1")
        if not hasattr(self, "calibration_"):
            raise ValueError("coverage needs calibration: call calibrate(X, y) with rows that were not used to fit")
        rank = conformal_rank(len(self.calibration_), coverage)
        score = self.calibration_[rank - 1] if rank <= len(self.calibration_) else math.inf
        predicted, scale = self._predict_with_scale(X)
        return predicted - score * scale, predicted + score * scale

    def _quantiles(self, X: Any, rho: float) -> Floats:
        """f_rho- and f_rho+ of every row; infinite for a model without voters."""
        ends = self._evaluate(X, partial(both_quantiles, rho=rho))
        if not self.vote_.n_voters:
            return np.full((2, len(ends)), [[-np.inf], [np.inf]])
        return ends

    @in_memory_only
    def calibrate(self, X: Any, y: Any) -> Self:
        """Calibrate prediction intervals on rows that are used for nothing else.

        The score of a row is its distance from the prediction, in units of eps plus half the width of the middle
        half of the vote there: intervals are wider where the voters disagree.
        """
        predicted, scale = self._predict_with_scale(X)
        targets = check_targets(self, y, len(predicted))
        self.calibration_ = np.sort(np.abs(targets - predicted) / scale)
        self._add_seen(X, targets)
        return self

    def _predict_with_scale(self, X: Any) -> tuple[Floats, Floats]:
        """The predictions, and the unit in which `calibrate` measures their errors."""

        def with_scale(votes: Votes) -> Floats:
            low, high = both_quantiles(votes, 0.5 * votes.mass / votes.reach)
            width = np.where(np.isfinite(high) & np.isfinite(low), high - low, 0.0)
            return np.stack([self._median(votes), self.eps_ + width / 2])

        found = self._evaluate(X, with_scale)
        if found.ndim == 1:
            return found, np.full(len(found), self.eps_)
        return found[0], found[1]

    @in_memory_only
    def staged_predict_interval(self, X: Any, *, rho: float) -> Iterator[tuple[Floats, Floats]]:
        """`predict_interval` by rho, after every round."""
        for stage in self._stages(X):
            low, high = both_quantiles(stage, rho)
            yield low, high

    @in_memory_only
    def staged_confidence(self, X: Any) -> Iterator[Floats]:
        """`confidence`, after every round."""
        for stage in self._stages(X):
            if stage.alone is not None:
                before = stage.mass / np.maximum(stage.reach, 1)
                yield np.where(stage.alone[1] > 0, stage.alone[1], before)
            else:
                yield stage.mass / stage.reach

    # ------------------------------------------------------------ diagnostics

    def robust_error(self, X: Any, y: Any, rho: float = 0.0, sample_weight: Any = None) -> float:
        """L^(rho) of eq. 9: the share of rows on which the vote is not rho-robust eps-precise."""
        return self._share_wrong(self._quantiles(X, float(rho)), y, sample_weight)

    @in_memory_only
    def staged_robust_error(self, X: Any, y: Any, rho: float = 0.0, sample_weight: Any = None) -> Iterator[float]:
        """`robust_error` after every round."""
        for stage in self._stages(X):
            yield self._share_wrong(both_quantiles(stage, float(rho)), y, sample_weight)

    def _share_wrong(self, ends: Floats, y: Any, sample_weight: Any) -> float:
        low, high = ends
        y = check_targets(self, y, len(low))
        weight = read_weights(inputs.check_weight(sample_weight, len(y))).whole
        missed = (high > y + self.eps_) | (low < y - self.eps_)
        return float(weight[missed].sum() / weight.sum())

    def error_bounds(self, rho: Any = 0.0) -> Floats:
        """prod E_rho of Theorem 1 after every round: `staged_robust_error` on the training rows is never larger.

        rho: a number, or an array, which gives [rho, round]. After an infinite step the bound is 1 where it is
        defined: see line 8.
        """
        check_is_fitted(self)
        n = self.vote_.n_voters
        steps, log_z = self.history_["step"][:n], self.history_["log_z"][:n]
        finite = np.where(np.isfinite(steps), steps, 0.0)
        powers = np.multiply.outer(np.asarray(rho, dtype=np.float64), np.cumsum(finite)) + np.cumsum(log_z)
        bounds = np.exp(np.minimum(powers, 700.0))
        if self.vote_.decides:
            bounds[..., -1] = np.where(np.asarray(rho) <= self.history_["rho"][n - 1], 1.0, np.inf)
        return np.asarray(bounds)


def both_quantiles(votes: Votes | Stage, rho: Any) -> Floats:
    """f_rho- and f_rho+ (eq. 8 and 7) of every row."""
    return np.stack([votes.quantiles(rho, upper) for upper in (False, True)])


@dataclass(eq=False, repr=False, kw_only=True)
class LocMedBoostRegressor(MedBoostRegressor):
    """LocMedBoost: MedBoost with voters that have a confidence and can abstain.

    Figure 1 of [1]_. A voter h comes with a confidence kappa(x), at least 0; both are chosen together by eq. 1. The
    vote is the weighted median with the weights alpha kappa(x); `confidence` is their mean c(x), eq. 6. Where c(x)
    = 0 the prediction is `fallback_`.

    Parameters
    ----------
    estimator : RegressionTrees, Pool, Columns, a scikit-learn regressor with sample_weight, or None, default=None
        The voters. None means `RegressionTrees(3)`, grown by the edge of eq. 1.
    confidence_by : {"abstain", "bumps", "voter", "constant"}, callable or list of callables, default="abstain"
        "abstain": a leaf with a negative edge abstains; for Pool
        and RegressionTrees grown by the edge. Columns abstain where they are missing. "bumps": smooth bumps
        over one column, bounded below, besides the constant. "voter": that of a scikit-learn regressor with a
        method `confidence(X)`, one number from 0 to 1 per row. A function of X returns one number per row, none
        negative; numbers above 1 are divided by the largest one of training, and rho and nu are in units of it. Of
        several functions the best is taken in every round.
    n_bumps : int, default=8
        How many bumps are tried in every round; each costs a search. They are drawn by `random_state`.
    n_estimators : int, default=100
        The largest number of rounds.
    cost : {"zero_one", "linear"} or callable, default="zero_one"
        C_eps of eq. 2: 1 beyond eps and 0 within; abs(h - y) / eps; or a function cost(h, y, eps) of arrays
        that is 1 or more beyond eps. The linear cost is unbounded and can overfit outliers.
    eps : float, "auto" or "validate", default="auto"
        The distance from the target within which a prediction is right. "auto": half the median distance of the
        targets from their median (all of it where leaves may abstain), halved again while the first voter is
        right on every row. "validate": the one of four shares of that distance with the least mean absolute
        error on validation rows.
    rho : "adaptive", "lowest_edge", "validate" or float, default="adaptive"
        The margin to reach: the edge of each round minus nu; the lowest edge so far minus nu; the best of eight
        constants from -0.9 to 0.25 on validation rows, with the number of rounds; or a constant. Edges are often
        negative, so 0 may give an empty model.
    nu : float or "validate", default=0.1
        See `rho`. "validate": the best of four numbers from 0.05 to 0.4 on validation rows. Where it is not less than
        the edge minus the lowest award, half of that is used.
    early_stopping : bool, default=False
        Stop when the mean absolute error of validation rows has not improved by more than `tol` for
        `n_iter_no_change` rounds, and keep the rounds up to the best one.
    validation_fraction : float, default=0.1
        The fraction of the rows that is set aside for validation, unless `fit` gets `X_val` and `y_val`. Rows
        are drawn by their content: their order does not matter, and a row of weight k is drawn as k rows.
    n_iter_no_change : int, default=50
        Rounds without improvement after which training stops.
    tol : float, default=0.0
        The smallest improvement of the validation score that counts.
    max_bins : int or "exact", default=255
        The largest number of bins per column, besides one for missing values. A column with no more distinct
        values is searched exactly. "exact" uses 16-bit bins: exact up to 65,534 distinct values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the categorical columns. "from_dtype" takes the text, category
        and enum columns of a dataframe.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the fitted model, given the same data: 50 rounds and then 100 equal 100
        rounds, digest for digest. Where eps or rho is chosen by validation, every candidate is run again.
    n_jobs : int or None, default=None
        The number of threads. None means all CPUs that are available to this process, or fewer for small tables.
        The model does not depend on it.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the model is trained: by threads of this process, or on an NVIDIA GPU. "auto" uses a GPU for large
        tables where there is one. Rows that live on a GPU are trained on there. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seed of the validation split and of third-party estimators. The families of electorate use no
        randomness.

    Attributes
    ----------
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, where X has string names.
    estimators_ : sequence of voters
        A read-only view of the voters; each has `predict` and `to_text`.
    steps_ : ndarray
        The steps alpha, one per voter. An infinite last step means that this voter decides alone (line 8 of
        Figure 1).
    estimator_weights_ : ndarray
        The weights of the voters; equal to `steps_`.
    estimator_errors_ : ndarray
        The weighted error of each voter.
    fallback_ : float
        The weighted median of the training targets: the prediction where no voter has any confidence.
    eps_ : float
        The eps that was used.
    rho_ : float or None
        The constant rho that was used, if one was.
    nu_ : float
        The nu that was used, with `nu="validate"`.
    confidences_ : list
        The candidates for a confidence; empty where all are 1 or leaves abstain.
    history_ : dict of ndarray
        Per round: step, edge, error ((1 - edge) / 2), rho, log_z, objective (the product of the E_rho of the
        rounds), min_margin, target_margin, margin_error (the share of rows with a margin of at most 0),
        confidence (the weighted mean of the voter's, eq. 3; not with `confidence_by="constant"`),
        n_voters, seconds, and validation where there are validation rows.
    stop_reason_ : str
        Why training ended: `n_estimators`, `no_edge` (line 10 of Figure 1), `perfect_voter` (line 8),
        `validation`, `time_limit` or `callback`.
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
    MedBoostRegressor : Boosting by weighted median.
    AdaBoostRegressor : AdaBoost.R2.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    References
    ----------
    .. [1] B. Kegl, "Generalization error and algorithmic convergence of median boosting", NIPS 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import LocMedBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LocMedBoostRegressor(n_estimators=20).fit(X, y).confidence(X).shape
    (442,)
    """

    confidence_by: Any = "abstain"
    n_bumps: int = 8

    _keeps_monotone = False  # the confidence of a voter depends on the row
    _guarantees = proved.Guarantees(rounds=proved.medboost)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MedBoostRegressor._parameter_constraints,
        "confidence_by": [StrOptions({"abstain", "bumps", "voter", "constant"}), callable, list],
        "n_bumps": [Interval(Integral, 1, None, closed="left")],
    }

    @property
    def _functions(self) -> str | None:
        return super()._functions if isinstance(self.confidence_by, str) else "confidence_by"

    def _abstains(self) -> bool:
        return isinstance(self.confidence_by, str) and self.confidence_by == "abstain"

    def _choose_confidences(self, bins: Bins) -> list[Any] | None:
        how = self.confidence_by
        if isinstance(how, str):
            if how == "bumps" and not self._is_native:
                raise ValueError("confidence_by='bumps' needs RegressionTrees or Pool: give functions of X instead")
            if how == "voter" and not hasattr(self._family(), "confidence"):
                raise ValueError(
                    "confidence_by='voter' needs a scikit-learn regressor with a method confidence(X), and "
                    f"{type(self._family()).__name__} has none"
                )
            by_edge = self._by_rows or (self._is_native and self._criterion() != "squared_error")
            if how == "abstain" and not by_edge:
                raise ValueError(
                    "confidence_by='abstain' needs Pool, Columns, or RegressionTrees grown by the edge: use 'constant'"
                )
            return bumps(bins, self.n_bumps, check_random_state(self.random_state)) if how == "bumps" else None
        functions = how if isinstance(how, list) else [how]
        if not functions or not all(callable(function) for function in functions):
            raise ValueError("confidence_by must be functions of X, at least one")
        return [Given(function) for function in functions]
