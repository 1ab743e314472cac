"""A bound for any classifier that uses all rows: each input is predicted by a model that was trained without it."""

import textwrap
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from electorate import kernels
from electorate.data import inputs
from electorate.data.bins import block_rows
from electorate.data.row_subset import own_labels, own_table
from electorate.data.seen_rows import seen_of
from electorate.data.split import hash_text
from electorate.data.table import Categories, Table
from electorate.estimators.adaboost import AdaBoostClassifier
from electorate.estimators.guarantees import Certified
from electorate.exact import AnyArray, Floats, Hashes, Ints
from electorate.theory.bounds import total
from electorate.theory.certificate import IID
from electorate.theory.cross_fit import heavy_share, routed_bound
from electorate.training.lazy_inputs import refuse_lazy

HEAVY = 0.05  # of the rows with one input: such an input is always answered by a model without any of them
WIDTH = 100


class OnlyClass:
    """The model of a part whose training rows have one class."""

    def __init__(self, label: Any) -> None:
        self.classes_ = np.array([label])

    def predict(self, X: Any) -> AnyArray:
        return np.repeat(self.classes_, X.shape[0])

    def predict_proba(self, X: Any) -> Floats:
        return np.ones((X.shape[0], 1))


@dataclass(eq=False, repr=False)
class CrossFittedClassifier(Certified, ClassifierMixin, BaseEstimator):
    """Any classifier, with a proven bound on its risk that uses all rows.

    A salted hash of its features assigns every input to one of a few parts. The model of a part is trained on the rows
    of all other parts. A new row is predicted by the model of its own part, which was not trained on that
    input. So the errors in each part are binomial, and together they bound the risk of the whole [1]_.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any scikit-learn classifier or pipeline; everything that depends on the rows must be inside it. None means
        :class:`AdaBoostClassifier` with 100 rounds.
    n_folds : int, default=5
        The number of parts. It must be fixed before the rows are seen. More parts leave more rows for each model, but
        the bound is larger: about 1.2 times for ten, and 1.5 times for twenty.
    delta : float, default=0.05
        The probability with which the bound may fail.
    salt : int, default=0
        Chooses the assignment. It must be fixed before the rows are seen.

    Attributes
    ----------
    bound_ : float
        With probability 1 - delta, the risk of this model is at most this.
    estimators_ : list
        The model of each part.
    categories_ : list
        The categories of the training rows of each model, by column.
    part_rows_, part_errors_ : ndarray
        How many training rows each part has, and how many of them its model gets wrong.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.

    See Also
    --------
    CertifiedClassifier : One vote whose own description proves its bound.
    certificate : Every bound that can be proved for a fitted model.

    Notes
    -----
    Rows are passed on without their index, and with the categories of the model's training rows only: categories of
    other rows are missing values for it. A polars Categorical becomes an Enum. The names and types of the columns must
    be fixed before the rows are seen.

    The bound is about this routed model, for a new row drawn like the training rows, not about a refit on all rows, and
    not about a given row. Every row trains all models but one. There is no ``sample_weight``: errors of weighted rows
    are not binomial. A warning is given if more than 5% of the rows have the same input: the model that predicts it was
    trained without any of them.

    References
    ----------
    .. [1] V. Vovk and R. Wang, "E-Values: Calibration, Combination and Applications", Annals of Statistics 49, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, CrossFittedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CrossFittedClassifier(AdaBoostClassifier(n_estimators=20)).fit(X, y)
    >>> bool(model.part_errors_.sum() / len(y) < model.bound_ < 0.15)
    True
    """

    estimator: Any = None
    _: KW_ONLY
    n_folds: int = 5
    delta: float = 0.05
    salt: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "salt": [Integral],
    }

    # ------------------------------------------------------------ fitting

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit one model per part, and count its errors there.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
            Rows and columns.
        y : array-like
            Labels.

        Returns
        -------
        self
        """
        with self._undo_on_failure():
            self._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        refuse_lazy(self, X)
        table = self._check_rows(X, reset=True)
        labels = inputs.check_labels(self, y, table.n_rows)
        if self.n_folds > table.n_rows:
            raise ValueError(f"n_folds={self.n_folds} is more than the number of rows, n_samples={table.n_rows}")
        self.classes_, given = np.unique(labels), inputs.indexable(X)
        self.text_columns_ = text_columns(table)
        hashes = input_hashes(table, self.text_columns_, self.salt)
        self._warn_of_heavy(heavy_share(hashes))
        part = parts_of(hashes, self.n_folds)
        self.estimators_, self.categories_ = [], []
        for number in range(self.n_folds):
            rows = np.flatnonzero(part != number)
            some, categories = own_table(given, rows)
            self.estimators_.append(self._trained(some, own_labels(labels, rows), (number, table.n_rows)))
            self.categories_.append(categories)
        wrong = self._answers(given, part, lambda model, some: model.predict(some), labels.copy()) != labels
        self.part_rows_ = np.bincount(part, minlength=self.n_folds)
        self.part_errors_ = np.bincount(part[wrong], minlength=self.n_folds)
        self.bound_ = min(1.0, total(routed_bound(self.part_errors_.tolist(), self.part_rows_.tolist(), self.delta)))
        self.seen_ = seen_of([(table, labels, None)])

    def _estimator(self) -> Any:
        return AdaBoostClassifier(n_estimators=100) if self.estimator is None else self.estimator

    def _trained(self, X: Any, y: AnyArray, of: tuple[int, int]) -> Any:
        """of: the number of the part, and how many rows there are in all."""
        if not len(y):
            raise ValueError(
                f"all rows (n_samples={of[1]}) are in part {of[0]}, and its model needs others: there are too few "
                f"distinct inputs for n_folds={self.n_folds}"
            )
        return clone(self._estimator()).fit(X, y) if len(np.unique(y)) > 1 else OnlyClass(y[0])

    def _warn_of_heavy(self, share: float) -> None:
        if share > HEAVY:
            warnings.warn(
                f"one input holds {100 * share:.1f}% of the rows: the model that predicts it was trained on none of "
                "them, so this model may be worse than one that was trained on all rows; its bound still holds",
                UserWarning,
                stacklevel=5,
            )

    # ------------------------------------------------------------ the fitted model

    def predict(self, X: Any) -> AnyArray:
        """The label that the model of each row's part predicts."""
        given, part = self._parts(X)
        return self._answers(given, part, lambda model, some: model.predict(some), self.classes_[np.zeros_like(part)])

    @available_if(lambda model: hasattr(model._estimator(), "predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the classes, by the model of each row's part."""
        given, part = self._parts(X)

        def aligned(model: Any, some: Any) -> Floats:
            found = np.zeros((some.shape[0], len(self.classes_)))
            found[:, np.searchsorted(self.classes_, model.classes_)] = model.predict_proba(some)
            return found

        return self._answers(given, part, aligned, np.zeros((len(part), len(self.classes_))))

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """Return X as a table, whose hashes choose the parts."""
        return inputs.check_table(self, X, reset=reset)

    def _parts(self, X: Any) -> tuple[Any, Ints]:
        check_is_fitted(self)
        table = self._check_rows(X, reset=False)
        return inputs.indexable(X), parts_of(input_hashes(table, self.text_columns_, self.salt), self.n_folds)

    def _answers(self, X: Any, part: Ints, ask: Callable[[Any, Any], Any], answers: AnyArray) -> AnyArray:
        """Fill in the results of the model of each row's part, which gets the categories of its training rows."""
        for number in np.unique(part):
            rows = np.flatnonzero(part == number)
            answers[rows] = ask(self.estimators_[number], own_table(X, rows, self.categories_[number])[0])
        return answers

    @property
    def sentence_(self) -> str:
        """A sentence that can be quoted, with its assumptions."""
        check_is_fitted(self)
        return (
            f"With {100 * (1 - self.delta):g}% confidence, this model of {self.n_folds} parts is wrong on at most "
            f"{100 * self.bound_:.2f}% of new rows, provided that {IID}, and that the number of parts, the salt and "
            "the estimator with its parameters were fixed before the rows were seen."
        )

    def __str__(self) -> str:
        if not hasattr(self, "estimators_"):
            return repr(self)
        counts = ", ".join(f"{e} of {n}" for e, n in zip(self.part_errors_, self.part_rows_, strict=True))
        lines = [f"CrossFittedClassifier of {self._estimator()}", f"errors in the parts: {counts}"]
        return "\n".join([*lines, *textwrap.wrap(self.sentence_, WIDTH)])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._estimator()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


# ---------------------------------------------------------------- routing


def text_columns(table: Table) -> list[int]:
    """The columns of the training rows that are hashed as texts."""
    return [j for j in table.category_columns() if Categories(table.levels(j)).is_text]


def input_hashes(table: Table, texts: list[int], salt: int) -> Hashes:
    """A hash of the features of every row; equal inputs have equal hashes. A missing value is a value of its own."""
    hashes = np.full(table.n_rows, hash_text(f"part {salt}"), dtype=np.uint64)
    numeric = [j for j in range(table.n_columns) if j not in set(texts)]
    rows = block_rows(table.n_columns)
    for low in range(0, table.n_rows if numeric else 0, rows):
        part = hashes[low : low + rows]
        for column in table.numbers(low, low + len(part), numeric):
            kernels.fold(column, part)
    for j in texts:
        levels = Categories(np.array([str(level) for level in table.levels(j).tolist()], dtype=object))
        number = np.array([*(float(hash_text(text) >> 11) for text in levels.levels.tolist()), np.nan])
        codes = table.codes(0, table.n_rows, j, levels)
        kernels.fold(number[np.where(np.isnan(codes), -1, codes).astype(np.int64)], hashes)
    return hashes


def parts_of(hashes: Hashes, n_parts: int) -> Ints:
    """The part of every row."""
    return (hashes % np.uint64(n_parts)).astype(np.int64)
