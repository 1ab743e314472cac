"""What stacked classifiers and regressors share: named models, their weights, and the file that holds all of them."""

import hashlib
import json
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from electorate import modelfile
from electorate.data import inputs, seen_rows
from electorate.data.cleaning import Cleaning, cleaned
from electorate.data.seen_rows import seen_of
from electorate.estimators.guarantees import Certified
from electorate.estimators.stack_weights import TrainingRows
from electorate.exact import Floats
from electorate.families.wrapped import refuse_classes
from electorate.model import file_parts, files
from electorate.model.files import NotStorableError
from electorate.modelfile import Contents, expect, meta_value, require
from electorate.registry import STACKED
from electorate.training.lazy_inputs import refuse_lazy
from electorate.training.worker_data import NO_WEIGHT

Named = list[tuple[str, Any]]


@dataclass(eq=False, repr=False)
class StackedModel(Certified, _BaseComposition):
    """Subclasses define how targets are read, how weights are found, and how predictions are combined."""

    estimators: Any = None
    _: KW_ONLY
    n_folds: int = 5
    lam: float = 1e-3
    weights: Any = None

    cleaning_: ClassVar[Cleaning | None] = None  # of the columns, where the fitted model has one
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimators": [list, None],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "lam": [Interval(Real, 0, None, closed="left")],
        "weights": ["array-like", None],
    }

    # ------------------------------------------------------------ what a stack adds

    def _default_estimators(self) -> Named:
        raise NotImplementedError

    def _read_y(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Labels, or targets."""
        raise NotImplementedError

    def _weigh(self, named: Named, rows: TrainingRows) -> Floats | None:
        """The weights of the models, which add up to 1; None where there are too few rows."""
        raise NotImplementedError

    # ------------------------------------------------------------ parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with deep=True also those of the models, as NAME__PARAMETER."""
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or those of a model, as NAME__PARAMETER; NAME replaces a model."""
        return self._set_params("estimators", **params)

    def _named(self) -> Named:
        """The models by name, checked."""
        named = self._default_estimators() if self.estimators is None else list(self.estimators)
        if not named or not all(isinstance(one, tuple) and len(one) == 2 for one in named):
            raise ValueError("estimators must be a list of pairs (name, estimator), and not empty")
        refuse_classes(named, f"{type(self).__name__}.estimators")
        self._validate_names([name for name, _ in named])
        return named

    def _given_weights(self, n_models: int) -> Floats | None:
        if self.weights is None:
            return None
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (n_models,):
            raise ValueError(f"weights has the shape {weights.shape}: there must be one weight for each estimator")
        if not (np.all(weights >= 0) and 0 < weights.sum() < np.inf):
            raise ValueError(f"weights are {weights.tolist()}: they must not be negative, and one must be positive")
        return np.asarray(weights / weights.sum())

    # ------------------------------------------------------------ fitting

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the weights of the models by cross-validation, then fit the models to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
            Rows and columns.
        y : array-like
            Labels of a classifier, numbers of a regressor.
        sample_weight : array-like, optional
            Weights of the rows; the models must take them. Rows of weight 0 are dropped.

        Returns
        -------
        self
        """
        with self._undo_on_failure():
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        refuse_lazy(self, X)
        self.__dict__.pop("cleaning_", None)
        named = self._named()
        table = self._check_rows(X, reset=True)
        targets = self._read_y(y, table.n_rows)
        rows = _weighted_rows(inputs.indexable(X), targets, sample_weight)
        given = self._given_weights(len(named))
        found = self._weigh(named, rows) if given is None else given
        shares = np.full(len(named), 1 / len(named)) if found is None else found
        kept = np.flatnonzero(shares)
        self.names_, self.weights_ = [named[place][0] for place in kept], shares[kept]
        self.estimators_ = [rows.fit(named[place][1]) for place in kept]
        self._finish(kept)
        weight = None if sample_weight is None else inputs.check_weight(sample_weight, table.n_rows)
        self.seen_ = seen_of([(table, targets, weight)])

    def _finish(self, kept: NDArray[np.int64]) -> None:
        """What is left to do with the fitted models. kept: their positions in the list."""

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """X as a table, cleaned first unless it is of a fit."""
        return inputs.check_table(self, X if reset else cleaned(self, X), reset=reset)

    def _read(self, X: Any) -> Any:
        """X as the models take it, checked."""
        check_is_fitted(self)
        X = cleaned(self, X)
        inputs.check_table(self, X, reset=False)
        return inputs.indexable(X)

    # ------------------------------------------------------------ the fitted model

    @property
    def bins_(self) -> Any:
        """The bins of a model over bins: they have the categories of the columns."""
        bins = next((model.bins_ for model in self.estimators_ if hasattr(model, "bins_")), None)
        if bins is None:
            raise AttributeError("no model of the stack is over bins")
        return bins

    @property
    def feature_importances_(self) -> Floats:
        """The weighted mean of the importances of the models."""
        check_is_fitted(self)
        for name, model in zip(self.names_, self.estimators_, strict=True):
            if not hasattr(model, "feature_importances_"):
                kind = type(model).__name__
                raise AttributeError(f"the model {name!r} of the stack is a {kind}, which has no feature_importances_")
        return np.asarray(self.weights_ @ np.array([model.feature_importances_ for model in self.estimators_]))

    @property
    def summary_(self) -> str:
        """The models with their weights, the largest first."""
        check_is_fitted(self)
        order = np.argsort(-self.weights_, kind="stable").tolist()
        return " + ".join(f"{self.weights_[place]:.3f} {self.names_[place]}" for place in order)

    @property
    def digest_(self) -> str:
        """SHA-256 of the models and their weights: equal digests are equal models."""
        check_is_fitted(self)
        try:
            return _digest(self)
        except AttributeError as error:
            raise NotStorableError("The stack has no digest, since one of its models has none") from error

    def save(self, path: Any) -> None:
        """Write all models to one file that `electorate.load` reads; TypeError if one has no file format."""
        check_is_fitted(self)
        _save(self, path)

    @classmethod
    def _rebuilt(cls, contents: Contents, families: dict[str, type]) -> Self:
        """The stack of a file that is not trusted."""
        return _read_stack(contents, cls, families)

    def _more_arrays(self) -> dict[str, NDArray[Any]]:
        """What the file holds beside the models and their weights."""
        return {}

    def _read_more(self, contents: Contents) -> None:
        """Read it again, from a file that is not trusted."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        named = self._default_estimators() if self.estimators is None else self.estimators
        try:
            inner = [get_tags(estimator).input_tags for _, estimator in named]
        except (AttributeError, TypeError, ValueError):  # no estimators with names, which `fit` refuses
            return tags
        tags.input_tags.sparse = all(one.sparse for one in inner)
        tags.input_tags.allow_nan = all(one.allow_nan for one in inner)
        return tags


def _weighted_rows(X: Any, y: NDArray[Any], sample_weight: Any) -> TrainingRows:
    """The rows, without those of weight 0."""
    if sample_weight is None:
        return TrainingRows(X, y, None)
    weight = inputs.check_weight(sample_weight, len(y))
    used = np.flatnonzero(weight)
    if not len(used):
        raise ValueError(NO_WEIGHT)
    rows = TrainingRows(X, y, weight)
    return rows if len(used) == len(weight) else rows.take(used)


# ---------------------------------------------------------------- pools of predictions

SMALLEST = float(np.finfo(np.float64).eps)  # smaller probabilities are raised to this one before the logarithm


def pool(outputs: Floats, weights: Floats) -> Floats:
    """The weighted sum over models of [model, row] or [model, row, class].

    Model by model: products of matrices round a row in another way where it is in another place.
    """
    total = np.zeros(outputs.shape[1:])
    for weight, output in zip(weights.tolist(), outputs, strict=True):
        total += weight * output
    return total


def pooled_decision(pooled: Floats) -> Floats:
    """The log-odds of the second of two classes, or the logarithm of the probability of each class."""
    logarithms = np.log(np.clip(pooled, SMALLEST, 1.0))
    return np.asarray(logarithms[:, 1] - logarithms[:, 0] if pooled.shape[1] == 2 else logarithms)


# ---------------------------------------------------------------- files

MODEL = "model."  # before the number of a model, in the names of arrays
MOST_MODELS = 1_000


def _save(stack: Any, path: Any) -> None:
    """Write a fitted stack. TypeError if one of its models has no file format."""
    arrays: dict[str, NDArray[Any]] = {"weights": stack.weights_, **stack._more_arrays(), **seen_rows.arrays_of(stack)}
    for number, (name, model) in enumerate(zip(stack.names_, stack.estimators_, strict=True)):
        if type(model).__name__ not in STACKED or not hasattr(model, "save"):
            raise files.NotStorableError(
                f"The model {name!r} is a {type(model).__name__}, which has no file format of this package: store the "
                "stack with skops"
            )
        arrays[f"{MODEL}{number}"] = np.frombuffer(files.as_bytes(model), dtype=np.uint8)
    parameters = {"n_folds": int(stack.n_folds), "lam": float(stack.lam)}
    meta = {"names": list(stack.names_), "parameters": parameters, **files.shared_meta(stack)}
    if hasattr(stack, "classes_"):
        meta["classes"] = files.stored_labels(stack.classes_)
    modelfile.write(path, type(stack).__name__, meta, arrays)


def _digest(stack: Any) -> str:
    """SHA-256 over the digests of the models, their temperatures and their weights."""
    found = hashlib.sha256(np.ascontiguousarray(stack.weights_).tobytes())
    for model in stack.estimators_:
        found.update(f"{model.digest_} {getattr(model, 'temperature_', None)!r};".encode())
    if stack.cleaning_ is not None:
        found.update(json.dumps(stack.cleaning_.stored(), sort_keys=True).encode())
    return found.hexdigest()


def _read_stack(contents: Contents, kind: type[Any], families: dict[str, type]) -> Any:
    """A fitted stack from a file that is not trusted; ValueError for what `save` cannot have written."""
    names = meta_value(contents, "names", list)
    fits = 1 <= len(names) <= MOST_MODELS and all(type(name) is str for name in names) and len(set(names)) == len(names)
    expect(fits, "the names of the models are not distinct texts")
    given = meta_value(contents, "parameters", dict)
    expect(set(given) == {"n_folds", "lam"}, "unknown parameters of a stack")
    stack = kind(n_folds=given["n_folds"], lam=given["lam"])
    stack._validate_params()
    file_parts.read_names(contents, stack)
    files.read_cleaning_of(contents, stack)
    stack.names_ = names
    stack.weights_ = np.array(require(contents, "weights", "<f8", (len(names),)))
    expect(np.all(stack.weights_ > 0) and abs(stack.weights_.sum() - 1) < 1e-9, "weights do not add up to 1")
    stack.estimators_ = [_read_model(contents, number, families) for number in range(len(names))]
    stack.estimators = [(name, clone(model)) for name, model in zip(names, stack.estimators_, strict=True)]
    columns = [model.n_features_in_ == stack.n_features_in_ for model in stack.estimators_]
    expect(all(columns), "a model has another number of columns")
    if "classes" in contents.meta:
        stack.classes_ = file_parts.read_classes(contents)
    wanted = getattr(stack, "classes_", np.empty(0))
    same = (np.array_equal(getattr(model, "classes_", np.empty(0)), wanted) for model in stack.estimators_)
    expect(all(same) and (len(wanted) > 0) == kind.__name__.endswith("Classifier"), "a model has other classes")
    stack._read_more(contents)
    seen_rows.read_seen(contents, stack)
    files.read_held_out(contents, stack)
    return stack


def _read_model(contents: Contents, number: int, families: dict[str, type]) -> Any:
    name = f"{MODEL}{number}"
    stored = require(contents, name, "|u1", (None,))
    inner = modelfile.read_bytes(stored.tobytes(), f"{contents.source}, model {number + 1}")
    expect(inner.kind in STACKED, f"{name} holds no model that can be part of a stack")
    return files.rebuild(inner, families)
