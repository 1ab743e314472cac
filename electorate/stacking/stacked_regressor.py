"""A regressor that is a weighted mean of the predictions of several."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from electorate.data.targets import check_targets
from electorate.estimators.adaboost_r2 import AdaBoostRegressor
from electorate.estimators.medboost import MedBoostRegressor
from electorate.estimators.quadboost_regressor import QuadBoostRegressor
from electorate.stacking.out_of_fold import TrainingRows
from electorate.stacking.pooling import pool
from electorate.stacking.stacked import Floats, Named, StackedModel
from electorate.stacking.weights import weigh_predictions
from electorate.training.lazy_inputs import row_by_row
from electorate.voters.regression_trees import RegressionTrees


@dataclass(eq=False, repr=False)
class StackedRegressor(RegressorMixin, StackedModel):
    """Several regressors as one: the weighted mean of their predictions.

    Every row is first predicted by models that were trained without it. Least squares with QuadBoost's L1
    penalty [1]_ give one weight per model; a model that adds nothing has none. Then all models are fitted to all
    rows [2]_.

    Parameters
    ----------
    estimators : list of (str, regressor) or None, default=None
        The models by name: of this package, or any others. None means MedBoost and AdaBoost.R2 on trees of depth 5, and
        QuadBoost.
    n_folds : int, default=5
        The number of folds. Equal rows are in the same fold.
    lam : float, default=0.001
        The L1 penalty: the weights alpha >= 0 minimise mean (t - f)^2 + 2 lam sum(alpha), where t is the target in
        units of its standard deviation, from its mean, and f the weighted sum of the predictions in the same units.
    weights : array-like or None, default=None
        Weights of the models, if they are known: then there is no cross-validation. They are divided by their sum.

    Attributes
    ----------
    estimators_ : list
        The fitted models whose weight is positive.
    names_ : list of str
        Their names.
    weights_ : ndarray
        Their weights, which add up to 1.
    summary_ : str
        Both, the largest weight first.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    StackedClassifier : The same for classes.
    compare : Offers a stack of the best algorithms.

    Notes
    -----
    Weights are not negative. :meth:`save` needs models of this package only. With other models, skops stores the stack.

    References
    ----------
    .. [1] L. Fortier-Dubois et al., "Efficient Learning of Ensembles with QuadBoost", 2015.
    .. [2] L. Breiman, "Stacked regressions", Machine Learning 24, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from electorate import QuadBoostRegressor, StackedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StackedRegressor([("QuadBoost", QuadBoostRegressor()), ("linear", Ridge())]).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.3)
    True
    """

    def _default_estimators(self) -> Named:
        return [
            ("MedBoost", MedBoostRegressor(RegressionTrees(5), n_estimators=50)),
            ("AdaBoost.R2", AdaBoostRegressor(RegressionTrees(5), n_estimators=50)),
            ("QuadBoost", QuadBoostRegressor()),
        ]

    def _read_y(self, y: Any, n_rows: int) -> NDArray[Any]:
        return check_targets(self, y, n_rows)

    def _weigh(self, named: Named, rows: TrainingRows) -> Floats | None:
        def predict(model: Any, X: Any) -> Floats:
            return np.asarray(model.predict(X), dtype=np.float64)[:, None]

        strata = np.zeros(len(rows.y), dtype=np.int64)
        found = np.array([rows.cross_predict(model, strata, self.n_folds, predict, 1)[:, 0] for _, model in named])
        known = np.isfinite(found[0])
        if not known.any():
            return None
        weight = None if rows.weight is None else rows.weight[known]
        return weigh_predictions(found[:, known], rows.y[known], weight, self.lam)

    @row_by_row
    def predict(self, X: Any) -> Floats:
        """The weighted mean of the predictions of the models."""
        X = self._read(X)
        return pool(np.array([model.predict(X) for model in self.estimators_]), self.weights_)
