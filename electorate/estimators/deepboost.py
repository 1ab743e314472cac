"""DeepBoost: voters of rich families pay for their complexity, so that deep ones are used where they are worth it.

The classifier is its parameters, its booster with the search in which old voters compete, and how votes are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.deepboost import DeepBoost
from electorate.algorithms.losses import NAMED, log_slope
from electorate.algorithms.protocol import Booster
from electorate.estimators.base import StopsEarly
from electorate.estimators.classifier import ROUND_BY_ROUND, BoostedClassifier
from electorate.exact import Floats
from electorate.families.by_rows import ByRows
from electorate.families.deepboost_search import DeepBoostSearch
from electorate.families.priced_trees import Prices, shape_of
from electorate.families.trees import Trees
from electorate.model.decisions import Link
from electorate.model.moves import first_moves
from electorate.model.voter_view import Voters
from electorate.theory import training as proved
from electorate.theory.complexity import Shape
from electorate.training.lazy_inputs import in_memory_only


@dataclass(eq=False, repr=False, kw_only=True)
class DeepBoostClassifier(BoostedClassifier, StopsEarly):
    """DeepBoost: the penalty of a voter grows with the complexity of its family.

    Figure 2 of [1]_, for families and unions of them. Every voter has the penalty Lambda = lam r + beta per unit of
    its weight, where r is the complexity of its family. Every round changes the weight of the best of the new voters
    and all earlier ones; a step can set a weight to exactly 0. Trees are searched layer by layer, and a leaf is split
    only if the gain exceeds the penalty. More than two classes are fitted one against the rest.

    Parameters
    ----------
    estimator : a family of electorate, a Union of them or None, default=None
        The voters. None means `Trees(4)`: trees of one to four layers compete, and the penalty of a tree depends on
        its number of splits. The paper uses `Union([Stumps(), PairedStumps()])` and `Trees(K)`. With one family of one
        complexity, such as :class:`Stumps`, this is AdaBoost-L1.
    lam : float, default=0.01
        The factor of the complexity in the penalty.
    beta : float, default=0.001
        The part of the penalty that does not depend on the complexity.
    loss : {"exponential", "logistic"} or a loss, default="exponential"
        Phi of v = 1 - y f: exp(v), or log2(1 + exp(v)). Or an object with `value(v)` and `slope(v)`, smooth,
        convex and never falling, such as :class:`electorate.algorithms.losses.SquaredHinge`: its steps are found by a
        line search.
    complexity : {"published", "depth", "provable"}, list of numbers or callable, default="published"
        The r of the paper (eq. 7 to 9; for trees by the number of splits); the same with trees by their depth, from the
        VC dimension of all trees of that depth (section 4); or the bound that can be proved for this table. The r of
        `KernelSections` is sqrt(Tr K) / (n B) in each of them. Or your own: a number for each family of a union, such
        as :func:`empirical_rademacher` gives, or a function r(family, n_splits, depth).
    n_estimators : int, default=100
        The largest number of rounds.
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
    tol : float, default=0.0
        The smallest improvement of the validation score that counts.
    scoring : {"loss", "error"}, default="loss"
        The validation score: the mean of exp(-margin), or the error rate.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the fitted model, given the same data: 50 rounds and then 100 equal 100
        rounds, digest for digest.
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
        The weight of every distinct voter that has one; `estimators_` are those voters.
    estimator_weights_ : ndarray
        The weights of the voters; equal to `steps_`.
    history_ : dict of ndarray
        Per round: step, edge, error (of the voter), objective (F of eq. 4, which never rises), train_error,
        n_voters, floor (the scale of the integer sums), seconds, and validation where there are validation
        rows. `step` is the change of the voter's weight. Also voter (its number), family (of a union), size (splits),
        weight (after the step), penalty (the sum of Lambda abs(alpha)), and for a union penalty_k and weight_k
        of family k.
    stop_reason_ : str
        Why training ended: `n_estimators`, `no_edge` (no voter is better than chance), `perfect_voter` (one
        makes no error), `validation`, `time_limit`, `callback` or `interrupted`. Also `converged` (no voter is
        worth a step) and `zero_gradient` (the slope of the loss is 0 everywhere).
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
    AdaBoostClassifier : Discrete AdaBoost and SAMME.
    QuadBoostClassifier : Quadratic risk with L1, L2 or Linf penalties.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    Other algorithms of the paper are settings: AdaBoost-L1 is lam=0; LogReg is lam=0, beta=0, loss="logistic";
    LogReg-L1 is lam=0, loss="logistic". With lam=0, beta=0 and the exponential loss the votes are AdaBoost's if the
    search is exhaustive.

    n in the complexities is the sum of the sample weights: an integer weight k equals k rows, and with lam > 0
    scaling all weights changes the model. The defaults have the lowest held-out error of those tried in
    `benchmarks/DEEPBOOST_DEFAULT.md`. Probabilities: p / (1 - p) = Phi'(1 + f) / Phi'(1 - f), for more than two
    classes divided by their sum.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and U. Syed, "Deep Boosting", ICML 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import DeepBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> DeepBoostClassifier(n_estimators=20).fit(X, y).stop_reason_
    'n_estimators'
    """

    lam: float = 0.01
    beta: float = 0.001
    loss: Any = "exponential"
    complexity: Any = "published"
    scoring: str = "loss"

    _guarantees = proved.Guarantees(
        proved.PENALISED_LOSS, "DeepBoost paper, eq. 4 without its penalty", proved.deepboost
    )

    _one_vs_rest = True
    _on_devices = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ROUND_BY_ROUND,
        "lam": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "loss": [StrOptions(set(NAMED)), HasMethods(["value", "slope"])],
        "complexity": [StrOptions({"published", "depth", "provable"}), list, tuple, callable],
    }

    # ------------------------------------------------------------ fitting

    def _default_family(self) -> Any:
        return Trees(4)

    def _validate_family(self) -> None:
        super()._validate_family()
        family = self._family()
        if not hasattr(family, "best"):
            raise ValueError(
                f"DeepBoostClassifier cannot boost {type(family).__name__}: its penalty needs the complexity of a "
                "family, which is not known for fitted estimators: use a family of electorate"
            )
        members = getattr(family, "families", [family])
        if isinstance(self.complexity, list | tuple):
            numbers = [r for r in self.complexity if isinstance(r, Real) and 0 <= float(r) < np.inf]
            if len(self.complexity) != len(members) or len(numbers) < len(members):
                raise ValueError(
                    f"complexity={self.complexity!r}: give one number for each of the {len(members)} families, none "
                    "negative"
                )
        for member in members:
            if getattr(member, "max_features", None) is not None:
                raise ValueError(
                    "DeepBoostClassifier searches all columns for the tree that is worth its penalty: "
                    "leave max_features=None"
                )

    @property
    def _phi(self) -> Any:
        return NAMED[self.loss] if isinstance(self.loss, str) else self.loss

    def _booster(self, n_labels: int) -> Booster:
        return DeepBoost(self._phi, self.lam == 0 and self.beta == 0)

    def _searching(self, bench: Any, booster: Any, past: Any) -> DeepBoostSearch:
        by_rows = isinstance(bench.family, ByRows)
        d = bench.family.X.shape[1] if by_rows else len(bench.bins.n_bins)
        shape = Shape(numeric=d) if by_rows else shape_of(bench.bins)
        given, rows = bench.engine.given, None
        if by_rows:
            share = bench.examples.weights.shares
            rows = bench.family.X[share > 0], share[share > 0] / share.sum() * given
        prices = Prices(float(self.lam), float(self.beta), given, d, shape, self.complexity, rows)
        search = DeepBoostSearch(bench.family, booster, prices, isinstance(self.loss, str))
        search.resume(past.casts, [past.trace.row(k + 1) for k in range(len(past.casts))])
        return search

    def save(self, path: Any) -> None:
        if not isinstance(self.loss, str):
            raise TypeError(
                f"a model with a loss of your own ({type(self.loss).__name__}) has no file format: use pickle"
            )
        if callable(self.complexity):
            raise TypeError("a model with a complexity of your own, a function, has no file format: use pickle")
        super().save(path)

    # ------------------------------------------------------------ the fitted model

    def _merged(self) -> Any:
        """The ensemble of every distinct voter that has a weight, once."""
        weights = np.zeros(self.ensemble_.n_voters)
        np.add.at(weights, first_moves(self.ensemble_, self.history_), self.ensemble_.steps)
        used = np.flatnonzero(weights)
        return self.ensemble_.chosen(used.tolist(), weights[used].tolist())

    @property
    def steps_(self) -> Floats:
        return np.asarray(self._merged().steps)

    @property
    def estimator_errors_(self) -> Floats:
        raise AttributeError("DeepBoost's voters move more than once: history_['error'] has the error of each move")

    @property
    def estimators_(self) -> Any:
        return Voters(self._snapshot(ensemble_=self._merged()))

    @property
    def feature_importances_(self) -> Floats:
        check_is_fitted(self)
        return np.asarray(self._merged().importances())

    @in_memory_only
    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """The decision function after every round."""
        check_is_fitted(self)
        for _, votes in self._staged_votes(X):
            yield self._decision(votes, 0.0)

    def _total_step(self) -> float:
        """Votes are f itself, whatever the steps."""
        return 0.0

    def _likely(self, decision: Floats) -> Floats:
        slope = partial(log_slope, self._phi)
        with np.errstate(invalid="ignore"):
            log_odds = slope(1 + decision) - slope(1 - decision)
        return np.asarray(expit(np.nan_to_num(log_odds, posinf=np.inf, neginf=-np.inf)))

    def _link(self) -> Link:
        if not isinstance(self.loss, str):
            raise TypeError(
                f"the probabilities of this model follow from a loss of your own ({type(self.loss).__name__}), which "
                "cannot be exported: use loss='exponential' or loss='logistic'"
            )
        return Link("logistic", 2.0) if self.loss == "exponential" else Link("odds", 1.0)
