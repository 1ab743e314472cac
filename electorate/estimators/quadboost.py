"""QuadBoost in scikit-learn's dress: quadratic risk with an L1, L2 or Linf penalty, or none.

An estimator here is its parameters, its rules for the weights, and how votes become decisions and probabilities.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.quadboost import BOUNDS, PENALTIES, Penalty, WeightRules, theory_lam
from electorate.estimators.base import StopsEarly
from electorate.estimators.classifier import ROUND_BY_ROUND, BoostedClassifier
from electorate.exact import UNITS
from electorate.families.columns import Columns
from electorate.families.pool import Pool
from electorate.families.regression_trees import RegressionTrees
from electorate.model.decisions import Link
from electorate.model.foreign_ensemble import RowEnsemble
from electorate.model.moves import in_units
from electorate.theory import training as proved
from electorate.theory.bounds import QUADRATIC
from electorate.theory.complexity import massart
from electorate.threads import ThreadPool
from electorate.training.lazy_inputs import in_memory_only
from electorate.training.quad_path import Path, Point, PoolProblem, points_along
from electorate.training.quadratic import fit_quad_classifier
from electorate.training.worker_data import Outline

CACHED_OUTPUTS = 8_000_000  # of voters, while votes are counted round by round: cyclic weights move each one often


@dataclass(eq=False, repr=False, kw_only=True)
class QuadBoosted(StopsEarly):
    """What the classifier and the regressor share: parameters, rules for the weights, votes after every round."""

    penalty: str | None = None
    lam: float | str = 0.01
    alpha_max: float | None = None
    reweight: str = "never"
    max_voters: int | None = None
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l1", "l2", "linf"}), None],
        "lam": [Interval(Real, 0, None, closed="left")],
        "alpha_max": [Interval(Real, 0, None, closed="neither"), None],
        "reweight": [StrOptions({"never", "cyclic", "greedy"})],
        "max_voters": [Interval(Integral, 1, None, closed="left"), None],
    }

    def _default_family(self) -> Pool:
        return Pool()

    def _rules(self, unit: float, n: float, log_count: float) -> WeightRules:
        """How weights are set. n: the total weight of the rows, as it was given; unit: that of training, in y.

        log_count: the logarithm of the number of voters, or of the labelings of the rows by a family.
        """
        lam = float(self.lam) / unit if self.penalty == "l1" else float(self.lam)
        most = math.inf if self.alpha_max is None else self.alpha_max / unit
        return WeightRules(PENALTIES[self.penalty](lam, most), self.reweight, self.tol / unit**2, self.max_voters)

    @property
    def _records_errors(self) -> bool:
        """Whether every round has a training error: on pools it would cost a pass over the rows."""
        return not isinstance(self._family(), Pool | Columns)

    @property
    def _n_rounds(self) -> int:
        return int(self.moves_.round.max(initial=0))

    def _votes_by_round(self, X: Any) -> Iterator[NDArray[np.int64]]:
        """The votes after every round; the same array, changed by each voter that moves."""
        table, ensemble = self._check_rows(X, reset=False), self.ensemble_
        read = None if isinstance(ensemble, RowEnsemble) else self._reader(table)
        n_rows = len(table) if read is None else table.n_rows

        @lru_cache(CACHED_OUTPUTS // max(1, n_rows * ensemble.n_outputs))
        def outputs_of(place: int) -> NDArray[np.float64]:
            """[output, row]: of one voter alone."""
            if read is not None:
                return np.asarray(ensemble.only(place).votes(n_rows, read, ThreadPool(1)) / UNITS)
            out = np.zeros((ensemble.n_outputs, n_rows))
            out[max(ensemble.about[place], 0)] = ensemble.fitted[place].outputs(table)
            return out

        if read is not None and self._adds_one_voter_each_round():
            for _, added in ensemble.staged_votes(n_rows, read):
                yield added
            return
        votes: Any = 0
        for turn in self.moves_.changes():
            for place, old, new in turn:
                outputs = outputs_of(place)
                votes += in_units(new, outputs) - in_units(old, outputs)
            yield votes

    def _adds_one_voter_each_round(self) -> bool:
        """Whether there is one run, and voter k enters in round k and keeps its weight."""
        moves = self.moves_
        order = np.arange(len(moves.round))
        in_order = np.array_equal(moves.round, order + 1) and np.array_equal(moves.places(), order)
        return in_order and bool(np.all(moves.label == -1))

    def __sklearn_tags__(self) -> Any:
        """A wrapped regressor takes what it takes; our own families take missing values and sparse matrices."""
        tags, family = super().__sklearn_tags__(), self._family()
        ours = hasattr(family, "best") or isinstance(family, RegressionTrees)
        theirs = None if ours else get_tags(family).input_tags
        tags.input_tags.sparse = theirs is None or theirs.sparse
        tags.input_tags.allow_nan = theirs is None or theirs.allow_nan
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class QuadBoostClassifier(QuadBoosted, BoostedClassifier):
    """QuadBoost: voters weighted by the quadratic risk, the mean of (y - f)^2, in closed form.

    Equations 6 to 9 and section 3.1 of [1]_. On a pool of voters (`Pool`, `Columns`) the cost of a round depends on
    the number of voters, not on the number of rows. More than two classes are fitted one against the rest.

    Parameters
    ----------
    estimator : Pool, Columns, another family, a scikit-learn regressor or None, default=None
        The voters. None means :class:`Pool`, the stumps of the paper's experiments.
    penalty : {"l1", "l2", "linf"} or None, default=None
        None: the risk alone. "l1": risk + 2 lam abs(alpha)_1. "l2": risk + lam sum alpha^2. "linf": the risk
        over weights of at most `alpha_max`.
    lam : float or "theory", default=0.01
        The penalty of L1 and L2. "theory": the penalty of Theorem 1. L1: four times the Rademacher complexity R of the
        voters, counted for pools and columns, and by their labelings of the rows for other families over bins. L2 and
        Linf, for `Pool` and `Columns` with `reweight="greedy"`: each round lowers the bound,
        risk + 8 R n^(1 - 1/p) abs(alpha)_p for n distinct voters (Lemma 1), and training stops if no voter lowers
        it. Below about ten thousand rows the model is then empty, with a warning.
    alpha_max : float or None, default=0.1
        The bound of Linf. None: no bound; with `lam="theory"`, only the penalty then limits the weights.
    reweight : {"never", "cyclic", "greedy"}, default="never"
        Whether voters of the model get new weights (section 3.1). "never": every round adds a voter; a voter can be
        added again, as a copy. "cyclic": every round adds a voter, then all get their best weight, one after another.
        "greedy": in every round, the old or new voter that lowers the objective most gets its best weight.
    n_estimators : int, default=100
        The largest number of rounds.
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
    early_stopping : bool, default=False
        Stop when the validation score has not improved by more than `tol` for `n_iter_no_change` rounds, and
        keep the rounds up to the best one.
    validation_fraction : float, default=0.1
        The fraction of every class that is set aside for validation, unless `fit` gets `X_val` and `y_val`.
        Rows are drawn by their content: their order does not matter, and a row of weight k is drawn as k rows.
    n_iter_no_change : int, default=10
        Rounds without improvement after which training stops.
    scoring : {"loss", "error"}, default="loss"
        The validation score: the mean of (y - f)^2, or the error rate.
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
    classes_ : ndarray
        The classes of positive weight.
    n_classes_ : int
        The number of classes.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, where X has string names.
    estimators_ : sequence of voters
        A read-only view of the voters; each has `predict` and `to_text`.
    steps_ : ndarray
        The weight of each distinct voter; 0 if it was set back to 0.
    estimator_weights_ : ndarray
        The weights of the voters; equal to `steps_`.
    gap_ : float
        A bound on how far the objective is above its minimum over the pool. Infinite without a penalty.
    moves_ : Moves
        Round, voter and new weight of every change; stages are replayed from it.
    history_ : dict of ndarray
        Per round: step and edge (mu - M of the paper) of the voter that entered, or moved first; objective;
        n_voters (with a weight that is not 0); seconds; validation; train_error for the last round kept on
        pools (`staged_score` gives all), for every round where voters are searched. Without re-weighting,
        copies count separately in the penalty.
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
    QuadBoostRegressor : Quadratic risk.
    DeepBoostClassifier : Families of growing complexity.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    `decision_function` is f; probabilities are (1 + f) / 2, between 0 and 1, and not calibrated. A pool that holds
    complements equals the pool without them, except for L2 and Linf with re-weighting: there a voter and its
    complement share the weight, which halves the L2 penalty.

    References
    ----------
    .. [1] L. Fortier-Dubois et al., "Efficient Learning of Ensembles with QuadBoost", 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import QuadBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> QuadBoostClassifier(penalty="l1", lam=0.1, reweight="cyclic", n_estimators=10_000).fit(X, y).stop_reason_
    'converged'
    """

    alpha_max: float | None = 0.1
    scoring: str = "loss"

    _guarantees = proved.Guarantees(
        proved.QUADRATIC_RISK, "QuadBoost paper: the quadratic risk", proved.quadboost, loss=QUADRATIC
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ROUND_BY_ROUND,
        **QuadBoosted._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"theory"})],
    }

    _one_vs_rest = True

    def _validate_family(self) -> None:
        super()._validate_family()
        if self.lam == "theory" and self.penalty is None:
            raise ValueError("lam='theory' is the lam of a penalty, and penalty is None: use 'l1', 'l2' or 'linf'")
        if self.lam == "theory" and self.penalty != "l1" and self.reweight != "greedy":
            raise ValueError(
                f"lam='theory' with penalty={self.penalty!r} grows with the number of distinct voters, so the "
                "weights of existing voters must change too: use reweight='greedy'"
            )
        family = self._family()  # residuals have signs: neither purity nor log-odds can be taken of them
        name, booster = type(family).__name__, type(self).__name__
        if self.lam == "theory" and not isinstance(family, Pool | Columns):
            if not (self._is_native and hasattr(family, "log_count")):
                raise ValueError(f"lam='theory' counts voters or their labelings, not those of {name}: give a number")
            if self.penalty != "l1":
                raise ValueError(
                    f"lam='theory' with penalty={self.penalty!r} gives every voter its best weight under the bound, "
                    f"which a Pool or Columns allow and {name} do not: use penalty='l1'"
                )
        if not hasattr(family, "best"):
            if not is_regressor(family):
                raise ValueError(
                    f"{booster} fits voters to residuals, and {name} is not a regressor: use one, or a family"
                )
        elif getattr(family, "criterion", "edge") != "edge":
            raise ValueError(f"{booster} searches by residuals, which have signs: use {name}(criterion='edge')")
        elif getattr(family, "leaves", "auto") not in ("auto", "label"):
            raise ValueError(f"{booster} needs voters over bins with outputs -1 or 1: use {name}(leaves='label')")

    def _rules(self, unit: float, n: float, log_count: float) -> WeightRules:
        if self.lam != "theory":
            return super()._rules(unit, n, log_count)
        lam = theory_lam(massart(n, log_count))
        most = math.inf if self.alpha_max is None else float(self.alpha_max)
        penalty: Penalty = PENALTIES[self.penalty](lam, most)
        if self.penalty in BOUNDS:
            penalty = BOUNDS[self.penalty](2 * lam, most if self.penalty == "linf" else math.inf)
        return WeightRules(penalty, self.reweight, float(self.tol), self.max_voters)

    def _train(self, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
        fit_quad_classifier(self, place, outline, context, data)
        if self.lam == "theory" and not len(self.steps_):
            warnings.warn(
                "lam='theory' leaves the model without voters: the bound of Theorem 1 is loose below about 10,000 "
                "rows; give lam as a number, or choose it by cross-validation",
                stacklevel=5,
            )

    @in_memory_only
    def path(self, X: Any, y: Any, sample_weight: Any = None, *, values: Any = None, n_values: int = 50) -> Path:
        """The whole regularisation path on a pool, in one fit: every point continues from the one before it.

        For two classes, with this model's penalty and way of re-weighting. Without re-weighting an L1, L2 or Linf path
        starts again at every value; with it, that is never needed.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        values : array-like, optional
            L1: values of lam, walked from the largest down; by default ``n_values`` from the one that empties the model
            down to a thousandth of it. L2: values of lam, as given. Linf: values of alpha_max, walked upwards. No
            penalty: numbers of rounds, walked upwards: one run gives all.
        n_values : int, default=50
        """
        self._validate_params()
        self._validate_family()
        if not isinstance(self._family(), Pool | Columns):
            raise ValueError(
                f"a path needs a finite pool, and {type(self._family()).__name__} is not one: use Pool or Columns"
            )
        model = clone(self)
        if self.lam == "theory":
            model.set_params(lam=0.0)  # the values of the path stand in its place
        problem = PoolProblem(model, (X, y, sample_weight))
        if len(problem.classes) != 2:
            raise ValueError(f"a path is for two classes, and y has {len(problem.classes)}")
        if values is None and self.penalty == "l1":
            values = problem.largest_lam() * np.logspace(0, -3, n_values)
        if values is None:
            raise ValueError("give the values of the path: lam for L2, alpha_max for Linf, rounds without a penalty")
        along = np.asarray(values, dtype=np.float64)
        if self.penalty != "l2":
            along = np.sort(along)[:: -1 if self.penalty == "l1" else 1]
        if self.penalty is None:
            return problem.path([Point(float(model.lam), None, int(value)) for value in along])
        return problem.path(points_along(self.penalty, along.tolist(), [self.n_estimators]))

    # ------------------------------------------------------------ the fitted model

    @property
    def estimator_errors_(self) -> NDArray[np.float64]:
        raise AttributeError("QuadBoost's voters are not chosen by a weighted error: see history_['edge']")

    def _likely(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip((1 + decision) / 2, 0.0, 1.0)

    def _link(self) -> Link:
        return Link("ramp", 1.0)

    @in_memory_only
    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The decision function after every round."""
        check_is_fitted(self)
        for votes in self._votes_by_round(X):
            yield self._decision(votes, 0.0)
