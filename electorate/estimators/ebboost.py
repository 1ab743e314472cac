"""EBBoost: every voter is ranked by the penalised cost at its own best step."""

from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from electorate.algorithms.ebboost import EBBoost
from electorate.algorithms.protocol import Booster
from electorate.estimators.base import BoostedClassifier
from electorate.estimators.vadaboost import Penalised
from electorate.theory import training as proved
from electorate.voters.ebboost_search import ByCost, refusal


class EBBoostClassifier(Penalised):
    """EBBoost (Shivaswamy and Jebara): every voter is ranked by the penalised cost at its own best step.

    Algorithm 3 of "Variance Penalizing AdaBoost". All voters must be enumerated, so the families are :class:`Stumps`,
    :class:`Pool`, :class:`PairedStumps`, :class:`Columns` of +-1, and unions of those over bins. Parameters, methods
    and attributes are those of :class:`VadaBoostClassifier`; ``lam`` may be any number from 0.

    Notes
    -----
    Of a column of up to ten categories all sets are tried: the set with the best edge is not the one with the lowest
    cost. Of a wider column, single categories are tried, and every set that gains the most under some linear
    combination of the sums of w and of w^2; AdaBoost's set is among them. A pair of questions is tried with all
    labelings of its four leaves; ``PairedStumps(search="exhaustive")`` goes through all pairs. At lam 0 EBBoost is
    AdaBoost, up to ties.
    ``history_["objective"]`` is cost (3) over n^2; ``log_mean`` is the logarithm of the mean of exp(-y f),
    ``floor_of_squares`` the floor of the grid of the second channel.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import EBBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> EBBoostClassifier(lam=0.3, n_estimators=20).fit(X, y).stop_reason_
    'n_estimators'
    """

    _guarantees = proved.Guarantees(proved.COST_3, "VadaBoost paper: the mean of exp(-y f)", proved.ebboost)

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BoostedClassifier._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        lam: float | str = 0.5,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        class_weight: Any = None,
        max_bins: int | str = 255,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        scoring: str = "loss",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.lam = lam
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _with_lam(self, lam: float, n_labels: int) -> Booster:
        return EBBoost(n_labels, float(self.learning_rate), lam)

    def _searching(self, bench: Any, booster: Any, past: Any) -> ByCost:
        return ByCost(bench.family, booster)

    def _validate_family(self) -> None:
        super()._validate_family()
        why = refusal(self._family())
        if why is not None:
            raise ValueError(f"EBBoostClassifier cannot boost {type(self._family()).__name__}: {why}")
