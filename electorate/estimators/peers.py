"""Models of scikit-learn with the input, the cleaning and the file of this package: what others are compared with."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils import compute_sample_weight
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from electorate.data import inputs, seen_rows
from electorate.data.bins import reader
from electorate.data.cleaning import Cleaning, cleaned
from electorate.data.row_subset import read_categories, read_matrix, take_rows
from electorate.data.table import Categories, SparseTable, Table
from electorate.data.targets import check_targets
from electorate.estimators import outside_fits
from electorate.estimators.base import SavedModel
from electorate.estimators.classifier import calibrated_probabilities
from electorate.estimators.guarantees import Certified
from electorate.exact import AnyArray, Floats
from electorate.model import file_parts, files
from electorate.model.decisions import read_temperature
from electorate.model.float_model import FloatTrees, LinearSum, decision_of, number_of, probabilities_of, read_form
from electorate.model.library_model import CLASSES
from electorate.model.stored_parameters import decode_parameters, encode_parameters
from electorate.modelfile import Contents, expect, meta_value, require
from electorate.threads import ThreadPool, count_jobs
from electorate.training.lazy_inputs import in_memory_only, refuse_lazy, row_by_row
from electorate.training.worker_data import NO_WEIGHT

COMMON = ("n_estimators", "learning_rate", "max_depth", "max_features", "min_samples_leaf", "max_leaf_nodes")
OTHERS = ("C", "l2_regularization", "early_stopping")


class CategoryCodes(NamedTuple):
    """The categories of the category columns, where models over bins have these."""

    categories: dict[int, Categories]


def _has_stages(model: Any) -> bool:
    """Whether a fitted model has trees."""
    return hasattr(model, "arrays_") and model.arrays_.n_rounds > 0


@dataclass(eq=False, repr=False)
class PeerModel(Certified, SavedModel):
    """Subclasses define how targets are read and how raw numbers become predictions."""

    model: Any = "random_forest"
    _: KW_ONLY
    n_estimators: int | None = None
    learning_rate: float | None = None
    max_depth: int | None = None
    max_features: Any = None
    min_samples_leaf: Any = None
    max_leaf_nodes: int | None = None
    C: float | None = None
    l2_regularization: float | None = None
    early_stopping: bool | None = None
    categorical_features: Any = "from_dtype"
    random_state: Any = 0
    n_jobs: int | None = None

    cleaning_: ClassVar[Cleaning | None] = None  # of the columns, where the fitted model has one
    _settings: ClassVar[tuple[str, ...]] = (*COMMON, *OTHERS)
    _for_classes: ClassVar[bool]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [StrOptions({*outside_fits.KINDS, *CLASSES}), HasMethods(["fit", "predict"])],
        "n_estimators": [Interval(Integral, 1, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_features": [Interval(Real, 0, None, closed="neither"), str, None],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither"), None],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "l2_regularization": [Interval(Real, 0, None, closed="left"), None],
        "early_stopping": ["boolean", None],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
    }

    # ------------------------------------------------------------ what a subclass adds

    def _read_y(self, y: Any, n_rows: int) -> AnyArray:
        """Labels, or targets."""
        raise NotImplementedError

    def _fit_arrays(self, matrix: Any, y: AnyArray, weight: Any, wide: dict[int, int]) -> outside_fits.Arrays:
        """Fit scikit-learn's model, and return what predicts."""
        raise NotImplementedError

    # ------------------------------------------------------------ fitting

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
            Rows and columns.
        y : array-like
            Labels of a classifier, numbers of a regressor.
        sample_weight : array-like, optional
            Weights of the rows. Rows of weight 0 are dropped.

        Returns
        -------
        self
        """
        with self._undo_on_failure():
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        refuse_lazy(self, X)
        for name in ("cleaning_", "temperature_"):
            self.__dict__.pop(name, None)
        table = self._check_rows(X, reset=True)
        targets = self._read_y(y, table.n_rows)
        weight = None if sample_weight is None else inputs.check_weight(sample_weight, table.n_rows)
        if weight is not None and not np.all(weight):
            used = np.flatnonzero(weight)
            if not len(used):
                raise ValueError(NO_WEIGHT)
            table = self._check_rows(take_rows(inputs.indexable(X), used), reset=True)
            targets, weight = targets[used], weight[used]
        self.categories_ = read_categories(table, self.categorical_features)
        wide = {column: one.n_codes for column, one in self.categories_.items()}
        self.arrays_ = self._fit_arrays(_matrix(table, self.categories_), targets, weight, wide)
        self.seen_ = seen_rows.seen_of([(table, targets, weight)])

    def _estimator(self) -> Any:
        """The unfitted estimator of scikit-learn."""
        given = {name: getattr(self, name) for name in self._settings if getattr(self, name) is not None}
        return outside_fits.build(self.model, self._for_classes, given, self.random_state, self.n_jobs)

    def _check_rows(self, X: Any, reset: bool) -> Table:
        """X as a table, cleaned first unless it is of a fit."""
        return inputs.check_table(self, X if reset else cleaned(self, X), reset=reset)

    # ------------------------------------------------------------ the fitted model

    def _raw(self, X: Any) -> Floats:
        """[row, output], before the link."""
        check_is_fitted(self)
        table = self._check_rows(X, reset=False)
        arrays = self.arrays_
        if (
            isinstance(table, SparseTable)
            and isinstance(arrays, LinearSum)
            and not (arrays.mean.any() or arrays.categories)
        ):
            return arrays.raw_of_sparse(_matrix(table, {}))
        jobs = count_jobs(self.n_jobs, table.n_rows * max(arrays.n_trees, 1))
        with ThreadPool(jobs) as pool:
            return arrays.raw(table.n_rows, reader(table, self.categories_), table.n_columns, pool)

    def _staged_raw(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        table = self._check_rows(X, reset=False)
        assert isinstance(self.arrays_, FloatTrees), "methods for stages are there for trees only"
        return self.arrays_.staged_raw(table.n_rows, reader(table, self.categories_))

    @property
    def bins_(self) -> CategoryCodes:
        """The categories of the columns."""
        return CategoryCodes(self.categories_)

    @property
    def n_iter_(self) -> int:
        """The number of rounds of gradient boosting, or of trees of a forest; 0 of a linear model."""
        return self.arrays_.n_rounds

    @property
    def feature_importances_(self) -> Floats:
        """The share of the splits on each column; of a linear model, that of its standardised coefficients."""
        check_is_fitted(self)
        return self.arrays_.importances(self.n_features_in_)

    @property
    def summary_(self) -> str:
        """The name of the model, and its number of trees."""
        check_is_fitted(self)
        name = self.model if isinstance(self.model, str) else type(self.model).__name__
        trees = f", {self.arrays_.n_trees} trees" if self.arrays_.n_trees else ""
        return (name if name in CLASSES else f"{name} of scikit-learn") + trees

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "arrays_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        name = type(self.model).__name__
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = not name.startswith("GradientBoosting")
        return tags

    # ------------------------------------------------------------ files

    @property
    def digest_(self) -> str:
        """SHA-256 of what predicts: equal digests are equal models."""
        check_is_fitted(self)
        digest = hashlib.sha256()
        for name, array in sorted(self._content().items()):
            digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        facts = [type(self).__name__, self.arrays_.meta(), files.stored_categories(self.categories_)]
        if hasattr(self, "classes_"):
            facts.append(files.digest_labels(self.classes_))
        if self.cleaning_ is not None:
            facts.append(self.cleaning_.stored())
        digest.update(json.dumps(facts, sort_keys=True).encode())
        return digest.hexdigest()

    def _content(self) -> dict[str, AnyArray]:
        """The arrays that predict. is_category: of each column, so that a file has as many bytes as columns."""
        is_category = np.zeros(self.n_features_in_, dtype=np.bool_)
        is_category[list(self.categories_)] = True
        return {**self.arrays_.arrays(), "is_category": is_category}

    def _stored(self) -> tuple[str, dict[str, Any], dict[str, AnyArray]]:
        """The kind, the JSON and the arrays of the file."""
        meta = {
            "parameters": files.stored_parameters(self),
            "model": self.model if isinstance(self.model, str) else _stored_estimator(self.model),
            "categories": files.stored_categories(self.categories_),
            **self.arrays_.meta(),
            **files.shared_meta(self),
        }
        arrays = self._content() | seen_rows.arrays_of(self)
        if hasattr(self, "classes_"):
            meta["classes"] = files.stored_labels(self.classes_)
        if hasattr(self, "temperature_"):
            arrays["temperature"] = np.array([self.temperature_])
        return type(self).__name__, meta, arrays

    def _stored_parameters(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)
        del parameters["model"]  # stored by itself
        return parameters

    @classmethod
    def _rebuilt(cls, contents: Contents, families: dict[str, type]) -> Self:
        """The model of a file that is not trusted."""
        model: Self = files.described(contents, cls, families)
        model.model = _read_estimator(contents.meta.get("model"), cls._for_classes)
        file_parts.read_names(contents, model)
        n_columns = model.n_features_in_
        is_category = require(contents, "is_category", "|b1", (n_columns,))
        stored = meta_value(contents, "categories", list)
        model.categories_ = dict(sorted(file_parts.read_categories(stored, n_columns, None).items()))
        fits = np.array_equal(np.flatnonzero(is_category), list(model.categories_))
        expect(fits, "the category columns do not fit the columns")
        files.read_cleaning_of(contents, model)
        wide = {column: one.n_codes for column, one in model.categories_.items()}
        if cls._for_classes:
            model.classes_ = file_parts.read_classes(contents)
            read_temperature(contents, model)
        model.arrays_ = read_form(contents, n_columns, wide, len(model.classes_) if cls._for_classes else 0)
        seen_rows.read_seen(contents, model)
        files.read_held_out(contents, model)
        return model


def _matrix(table: Table, categories: dict[int, Categories]) -> Any:
    """The table as an estimator of scikit-learn takes it: numbers with NaN, and codes of categories."""
    given = table.by_row if isinstance(table, SparseTable) else getattr(table, "array", None)
    return read_matrix(given, table, categories)


def _stored_estimator(estimator: Any) -> dict[str, Any]:
    """An unfitted estimator of scikit-learn as JSON: its class, and the parameters that are not the default ones."""
    usual = type(estimator)().get_params(deep=False)
    own = {name: value for name, value in estimator.get_params(deep=False).items() if not _same(value, usual[name])}
    return {"estimator": type(estimator).__name__, "parameters": encode_parameters(own)}


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and (value is other or bool(np.all(value == other)))


def _read_estimator(stored: Any, for_classes: bool) -> Any:
    """The kind or unfitted estimator of a file that is not trusted. Prediction does not need it."""
    if isinstance(stored, str):
        expect(stored in outside_fits.KINDS or stored in CLASSES, f"no kind of model is called {stored!r:.60}")
        return stored
    expect(isinstance(stored, dict) and set(stored) == {"estimator", "parameters"}, "the model has no kind")
    name, given = stored["estimator"], stored["parameters"]
    expect(isinstance(name, str) and name in outside_fits.MODULE_OF, f"the estimator {name!r:.60} cannot be stored")
    expect(isinstance(given, dict), "the parameters of an estimator are not an object")
    estimator = outside_fits.sklearn_class(name)()
    known = estimator.get_params(deep=False)  # other releases of scikit-learn may have others
    return estimator.set_params(**{key: one for key, one in decode_parameters(given, {}).items() if key in known})


# ---------------------------------------------------------------- classes


@dataclass(eq=False, repr=False)
class PeerClassifier(ClassifierMixin, PeerModel):
    """A classifier of scikit-learn that takes tables as the estimators of this package do, and has a model file.

    After the fit only plain arrays are left: they predict the same, before and after ``save`` and ``electorate.load``.

    Parameters
    ----------
    model : {"random_forest", "linear", "extra_trees", "hgb", "constant", "lightgbm", "xgboost", "catboost"} or \
        estimator, default="random_forest"
        Which model: a random forest, a logistic regression, extremely randomised trees,
        HistGradientBoostingClassifier, the shares of the classes, or a classifier of another library. Or an unfitted
        one of scikit-learn: trees, forests, gradient boosting, LogisticRegression or DummyClassifier.
    n_estimators : int or None, default=None
        The number of trees, or of rounds of gradient boosting. None is scikit-learn's default, as for the others below.
    learning_rate, max_depth, max_features, min_samples_leaf, max_leaf_nodes : default=None
        As in scikit-learn, for models that have them.
    C : float or None, default=None
        Of "linear": the inverse of the penalty, 1 / alpha of a ridge regression.
    l2_regularization : float or None, default=None
        Of "hgb".
    early_stopping : bool or None, default=None
        Of "hgb": whether a tenth of the rows decides on the number of rounds. None is False.
    categorical_features : "from_dtype", list of names or positions, mask, or None, default="from_dtype"
        The columns with categories. "from_dtype": texts and categories of a dataframe.
    random_state : int, RandomState or None, default=0
        Seed of the model, unless an estimator is given.
    n_jobs : int or None, default=None
        Threads. Gradient boosting is fitted with as many as OpenMP has.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of the classes.

    Attributes
    ----------
    arrays_ : FloatTrees, LinearSum or LibraryModel
        What predicts. A model of another library is kept in its own format.
    categories_ : dict
        The categories of each category column, in the order of their codes.
    feature_importances_ : ndarray
        The share of the splits on each column; of a linear model, that of its standardised coefficients.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Notes
    -----
    Missing values and categories that the training rows lack are missing values. A linear model gets numbers that are
    standardised, the mean for missing ones, and an indicator for each category in 10 rows or more; the others share
    one. Trees and forests get the positions of categories in their sorted order as numbers, and split them by
    thresholds. "hgb" splits categories by sets, and by thresholds where a column has more than 255 of them. Trees and
    forests route missing values to the side that was better in training. Of a sparse matrix, numbers are divided by the
    largest absolute one for a linear model.

    See Also
    --------
    StackedClassifier : Takes such models beside those of this package.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate.estimators.peers import PeerClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PeerClassifier("extra_trees", n_estimators=20).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _: KW_ONLY
    class_weight: Any = None

    _for_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PeerModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _read_y(self, y: Any, n_rows: int) -> AnyArray:
        return inputs.check_labels(self, y, n_rows)

    def _fit_arrays(self, matrix: Any, y: AnyArray, weight: Any, wide: dict[int, int]) -> outside_fits.Arrays:
        self.classes_, codes = np.unique(y, return_inverse=True)
        inputs.refuse_many(self.classes_)
        if self.class_weight is not None:
            factors = compute_sample_weight(self.class_weight, y)
            weight = factors if weight is None else weight * factors
        estimator = self._estimator()
        if len(self.classes_) == 1:
            return outside_fits.constant(np.ones(1), "share")
        return outside_fits.fit_to_arrays(estimator, matrix, codes, weight, wide)

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    @row_by_row
    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the second of two classes; else a number per class, the largest for the predicted one."""
        return decision_of(self._raw(X), self.arrays_.link)

    @row_by_row
    def predict(self, X: Any) -> AnyArray:
        """The class with the largest probability; the first one of equals."""
        return self._classes_of(self.decision_function(X))

    @row_by_row
    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of scikit-learn, or calibrated ones where the model has a temperature."""
        return self._probabilities(self._raw(X))

    @row_by_row
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_has_stages)
    @in_memory_only
    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """The decision function after every round, or with every tree of a forest."""
        for raw in self._staged_raw(X):
            yield decision_of(raw, self.arrays_.link)

    @available_if(_has_stages)
    @in_memory_only
    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """The predictions after every round, or with every tree of a forest."""
        for decision in self.staged_decision_function(X):
            yield self._classes_of(decision)

    @available_if(_has_stages)
    @in_memory_only
    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """The probabilities after every round, or with every tree of a forest."""
        for raw in self._staged_raw(X):
            yield self._probabilities(raw)

    def _classes_of(self, decision: Floats) -> AnyArray:
        best = (decision > 0).astype(np.int64) if self.n_classes_ == 2 else decision.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _probabilities(self, raw: Floats) -> Floats:
        if not hasattr(self, "temperature_") or self.n_classes_ == 1:
            return probabilities_of(raw, self.arrays_.link)
        return calibrated_probabilities(decision_of(raw, self.arrays_.link), self.temperature_, self.n_classes_)


@dataclass(eq=False, repr=False)
class PeerRegressor(RegressorMixin, PeerModel):
    """A regressor of scikit-learn that takes tables as the estimators of this package do, and has a model file.

    After the fit only plain arrays are left: they predict the same, before and after ``save`` and ``electorate.load``.

    Parameters
    ----------
    model : {"random_forest", "linear", "extra_trees", "hgb", "constant", "lightgbm", "xgboost", "catboost"} or \
        estimator, default="random_forest"
        Which model: a random forest, a ridge regression, extremely randomised trees, HistGradientBoostingRegressor,
        the mean, or a regressor of another library. Or an unfitted one of scikit-learn: trees, forests, gradient
        boosting, LinearRegression, Ridge, RidgeCV, Lasso, ElasticNet or DummyRegressor.
    n_estimators : int or None, default=None
        The number of trees, or of rounds of gradient boosting. None is scikit-learn's default, as for the others below.
    learning_rate, max_depth, max_features, min_samples_leaf, max_leaf_nodes : default=None
        As in scikit-learn, for models that have them.
    C : float or None, default=None
        Of "linear": the inverse of the penalty, 1 / alpha of a ridge regression.
    l2_regularization : float or None, default=None
        Of "hgb".
    early_stopping : bool or None, default=None
        Of "hgb": whether a tenth of the rows decides on the number of rounds. None is False.
    categorical_features : "from_dtype", list of names or positions, mask, or None, default="from_dtype"
        The columns with categories. "from_dtype": texts and categories of a dataframe.
    random_state : int, RandomState or None, default=0
        Seed of the model, unless an estimator is given.
    n_jobs : int or None, default=None
        Threads. Gradient boosting is fitted with as many as OpenMP has.
    loss : str or None, default=None
        Of "hgb": "squared_error", "absolute_error", or another of its losses. Of "constant": "absolute_error" is the
        median, "squared_error" the mean.

    Attributes
    ----------
    arrays_ : FloatTrees, LinearSum or LibraryModel
        What predicts. A model of another library is kept in its own format.
    categories_ : dict
        The categories of each category column, in the order of their codes.
    feature_importances_ : ndarray
        The share of the splits on each column; of a linear model, that of its standardised coefficients.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    PeerClassifier : The same for classes; its notes say how each model sees missing values and categories.
    StackedRegressor : Takes such models beside those of this package.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate.estimators.peers import PeerRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PeerRegressor("linear").fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.3)
    True
    """

    _: KW_ONLY
    loss: str | None = None

    _for_classes = False
    _settings = (*PeerModel._settings, "loss")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**PeerModel._parameter_constraints, "loss": [str, None]}

    def _read_y(self, y: Any, n_rows: int) -> AnyArray:
        return check_targets(self, y, n_rows)

    def _fit_arrays(self, matrix: Any, y: AnyArray, weight: Any, wide: dict[int, int]) -> outside_fits.Arrays:
        return outside_fits.fit_to_arrays(self._estimator(), matrix, y, weight, wide)

    @row_by_row
    def predict(self, X: Any) -> Floats:
        """The predicted numbers."""
        return number_of(self._raw(X), self.arrays_.link)

    @available_if(_has_stages)
    @in_memory_only
    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """The predictions after every round, or with every tree of a forest."""
        for raw in self._staged_raw(X):
            yield number_of(raw, self.arrays_.link)
