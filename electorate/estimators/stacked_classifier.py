"""A classifier that is a weighted mean of the calibrated probabilities of several."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from electorate.data import inputs
from electorate.data.targets import check_targets
from electorate.estimators.adaboost import AdaBoostClassifier
from electorate.estimators.adaboost_r2 import AdaBoostRegressor
from electorate.estimators.classifier import BoostedClassifier, calibrated_probabilities
from electorate.estimators.medboost import MedBoostRegressor
from electorate.estimators.quadboost import QuadBoostClassifier
from electorate.estimators.quadboost_regressor import QuadBoostRegressor
from electorate.estimators.real_adaboost import RealAdaBoostClassifier
from electorate.estimators.stack_weights import TrainingRows, weigh_predictions, weigh_probabilities
from electorate.estimators.stacked import SMALLEST, Named, StackedModel, pool, pooled_decision
from electorate.exact import Floats
from electorate.families.regression_trees import RegressionTrees
from electorate.families.trees import Trees
from electorate.model.decisions import ABSENT, fit_temperature, for_all_classes, log_probabilities, read_temperature
from electorate.modelfile import Contents
from electorate.training.lazy_inputs import row_by_row


@dataclass(eq=False, repr=False)
class StackedClassifier(ClassifierMixin, StackedModel):
    """Several classifiers as one: the weighted mean of their calibrated probabilities.

    Every row is first predicted by models that were trained without it. Least squares with QuadBoost's L1
    penalty [1]_ give one weight per model; a model that adds nothing has none. Then all models are fitted to all
    rows [2]_.

    Parameters
    ----------
    estimators : list of (str, classifier) or None, default=None
        The models by name: of this package, or any others with ``predict_proba``. None means AdaBoost and Real AdaBoost
        on trees of depth 3, and QuadBoost.
    n_folds : int, default=5
        The number of folds. Equal rows are in the same fold.
    lam : float, default=0.001
        The L1 penalty: the weights alpha >= 0 minimise mean (t - f)^2 + 2 lam sum(alpha) over rows and classes, where t
        is 1 for the class of the row and -1 for the others, and f = sum_j alpha_j (2 p_j - 1).
    weights : array-like or None, default=None
        Weights of the models, if they are known: then there is no cross-validation, and no calibration. They are
        divided by their sum.

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
    temperature_ : float
        By which the log-odds are multiplied for the probabilities, so that out-of-fold predictions have the least log
        loss. Models of this package have one of their own.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    StackedRegressor : The same for numbers.
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from electorate import AdaBoostClassifier, StackedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> linear = make_pipeline(StandardScaler(), LogisticRegression())
    >>> model = StackedClassifier([("stumps", AdaBoostClassifier()), ("linear", linear)]).fit(X[::2], y[::2])
    >>> model.names_, bool(model.score(X[1::2], y[1::2]) > 0.95)
    (['stumps', 'linear'], True)
    """

    def _default_estimators(self) -> Named:
        return [
            ("AdaBoost", AdaBoostClassifier(Trees(3), n_estimators=100)),
            ("Real AdaBoost", RealAdaBoostClassifier(Trees(3), n_estimators=100, learning_rate=0.1)),
            ("QuadBoost", QuadBoostClassifier(penalty="l1", lam=0.003, reweight="cyclic")),
        ]

    # ------------------------------------------------------------ fitting

    def _named(self) -> Named:
        named = super()._named()
        for name, model in named:
            if not hasattr(model, "predict_proba"):
                kind = type(model).__name__
                raise TypeError(f"StackedClassifier.estimators: {name!r} is a {kind}, which has no predict_proba")
        return named

    def _read_y(self, y: Any, n_rows: int) -> NDArray[Any]:
        return inputs.check_labels(self, y, n_rows)

    def _weigh(self, named: Named, rows: TrainingRows) -> Floats | None:
        self.classes_, codes = np.unique(rows.y, return_inverse=True)
        self._temperatures = np.ones(len(named))
        if len(self.classes_) == 1:
            return None
        n_outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        scores = [rows.cross_predict(model, codes, self.n_folds, self._scores, n_outputs) for _, model in named]
        known = np.all(np.isfinite(scores[0]), axis=1)
        if not known.any():
            return None
        weight = None if rows.weight is None else rows.weight[known]
        proba = np.empty((len(named), int(known.sum()), len(self.classes_)))
        for place, (_, model) in enumerate(named):
            decision = scores[place][known, 0] if n_outputs == 1 else scores[place][known]
            if isinstance(model, BoostedClassifier):
                self._temperatures[place] = known_temperature(decision, codes[known], weight)
            proba[place] = np.exp(log_probabilities(decision, self._temperatures[place]))
        shares = weigh_probabilities(proba, codes[known], weight, self.lam)
        self.temperature_ = fit_temperature(pooled_decision(pool(proba, shares)), codes[known], weight)
        return shares

    def _scores(self, model: Any, X: Any) -> Floats:
        """[row, output]: decisions of our models, logarithms of the probabilities of others."""
        if isinstance(model, BoostedClassifier):
            decision = model.decision_function(X)
        else:
            decision = np.log(np.clip(model.predict_proba(X), SMALLEST, 1.0))
        places = np.searchsorted(self.classes_, model.classes_)
        return for_all_classes(decision, places, len(self.classes_))

    def _finish(self, kept: NDArray[np.int64]) -> None:
        if self.weights is not None:
            self.classes_ = np.unique(np.concatenate([model.classes_ for model in self.estimators_]))
            self.__dict__.pop("temperature_", None)
            return
        for model, temperature in zip(self.estimators_, self._temperatures[kept].tolist(), strict=True):
            if isinstance(model, BoostedClassifier):
                model.temperature_ = temperature
        del self._temperatures

    # ------------------------------------------------------------ the fitted model

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    @row_by_row
    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the mean probability: one number for two classes; else a logarithm for each class."""
        X = self._read(X)
        if self.n_classes_ == 1:
            return np.zeros((X.shape[0], 1))
        return pooled_decision(pool(np.array([model.predict_proba(X) for model in self.estimators_]), self.weights_))

    @row_by_row
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest mean probability; the first one of equals."""
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.int64) if self.n_classes_ == 2 else np.argmax(decision, axis=1)
        return np.asarray(self.classes_[codes])

    @row_by_row
    def predict_proba(self, X: Any) -> Floats:
        """The mean probabilities of the classes, calibrated once more as a whole."""
        return calibrated_probabilities(self.decision_function(X), getattr(self, "temperature_", 1.0), self.n_classes_)

    def _more_arrays(self) -> dict[str, NDArray[Any]]:
        return {"temperature": np.array([self.temperature_])} if hasattr(self, "temperature_") else {}

    def _read_more(self, contents: Contents) -> None:
        read_temperature(contents, self)


def known_temperature(decision: Floats, codes: NDArray[np.int64], weight: Floats | None) -> float:
    """The temperature by the rows whose class was among the training rows of their fold."""
    own = np.abs(decision) if decision.ndim == 1 else -decision[np.arange(len(codes)), codes]
    known = own < -ABSENT
    return fit_temperature(decision[known], codes[known], None if weight is None else weight[known])


# ---------------------------------------------------------------- regressors


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
