"""A vote with the shortest proof: boosting that minimises the bound that its own description proves.

A part of the rows, drawn by a seed, proposes tests and perhaps a first vote: the prior. The others choose and count.
"""

import math
import textwrap
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from electorate.certified.description_prior import OTHER, PriorOptions, PriorPart, draw_positions, search_prior
from electorate.data import inputs
from electorate.data.factors import codes_of
from electorate.data.row_subset import own_table
from electorate.data.seen_rows import seen_of
from electorate.estimators.adaboost import AdaBoostClassifier
from electorate.estimators.base import SavedModel
from electorate.estimators.guarantees import Certified
from electorate.estimators.lpboost import one_of_many, share_link, vote_shares
from electorate.estimators.voting import VotingClassifier
from electorate.exact import AnyArray, Floats, Ints
from electorate.export.exported import Exported
from electorate.families.trees import Stumps
from electorate.model.decisions import Link
from electorate.model.voter_view import Voters
from electorate.modelfile import Contents, expect, require
from electorate.theory.binomial import priced_bound
from electorate.theory.certificate import IID
from electorate.training.lazy_inputs import refuse_lazy

MOST_PRIOR_ROWS = 2**14  # more teach the prior little, and would count for the bound
PRINTED = 40  # voters that `print` shows
WIDTH = 100


class Description(NamedTuple):
    """The numbers that the bound is computed from.

    bits: of the description. rows, errors: that count, and how many are wrong. prior_rows: rows that only shaped the
    prior. prior_voters: how many voters come from it; the others were chosen by the rows that count.
    """

    bits: float
    rows: int
    errors: int
    prior_rows: int
    prior_voters: int
    voters: int


@dataclass(eq=False, repr=False, kw_only=True)
class CertifiedClassifier(Certified, Exported, VotingClassifier, SavedModel):
    """A classifier with a bound from the training rows alone: its risk is at most `bound_`.

    It minimises its own certificate. Some rows, drawn by a seed, determine a prior: the tests (cuts and sets of
    categories) and, by a short AdaBoost run, the first voters. Then voters are added, exchanged and removed as long as
    the bound on the other rows falls: the binomial tail at ln(1/delta) + bits ln 2, where bits is the length of the
    description of the model under one prefix code for all choices [1]_ [2]_.

    Parameters
    ----------
    estimator : Stumps, Trees, Rules or None, default=None
        The voters of the prior's AdaBoost run. None means :class:`Stumps`.
    delta : float, default=0.05
        The probability, over the draw of the rows and of the seed, with which the bound may fail.
    n_estimators : int, default=60
        The most voters that the counted rows may choose.
    max_terms : int, default=2
        The most tests of such a voter: 1 for stumps, 2 for rules such as "age <= 40 and job = 'clerk'".
    prior_fractions : tuple of floats, default=(0.1, 0.5)
        Fractions of the rows that shape a prior. Each is tried with an equal part of delta, and the least bound wins.
    prior_rounds : int, default=100
        Rounds of AdaBoost on the prior rows; the vote may start from the first 1, 2, 4, ... of its voters, or from
        none. 0: no such start, for a model that fits on a card.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the categorical columns. "from_dtype" takes the text, category and enum
        columns of a dataframe.
    classes : array-like or None, default=None
        The labels that the model can predict, fixed before the rows are seen. None means the labels of the rows that
        shape the prior. Rows with other labels count as errors.
    random_state : int, RandomState instance or None, default=0
        The seed of the draw of the prior rows. It must not be chosen by looking at bounds.

    Attributes
    ----------
    bound_ : float
        With probability 1 - delta, the risk of this model is at most this.
    description_ : Description
        ``bits``, ``rows`` and ``errors`` that the bound comes from, ``prior_rows``, ``prior_voters``, ``voters``.
    classes_ : ndarray
        The labels that the model can predict, sorted. Rare labels of y may be missing.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.
    ensemble_ : Ensemble
        The voters as arrays.

    See Also
    --------
    CrossFittedClassifier : A bound for any estimator, from models that were not trained on the rows they predict.
    certificate : Every bound that can be proved for a fitted model.
    AdaBoostClassifier : The vote without a proof.

    Notes
    -----
    If the model starts from voters of the prior, the counted rows often choose only how many of them are kept: every
    further voter makes the description longer. With ``prior_rounds=0`` all voters are chosen by the counted
    rows; the bound is larger, and the model is short enough to read.

    The assumptions: the rows were drawn independently from the distribution of new rows; the parameters, ``classes``
    among them, and the seed were fixed before. There is no ``sample_weight``: weighted rows do not have the
    distribution of new rows, and their errors are not binomial. docs/certificates.md has the code and the proof.

    References
    ----------
    .. [1] A. Blumer et al., "Occam's Razor", 1987.
    .. [2] J. Langford, "Tutorial on Practical Prediction Theory for Classification", 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import CertifiedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CertifiedClassifier().fit(X, y)
    >>> bool(model.bound_ < 0.2)
    True
    """

    estimator: Any = field(default=None, kw_only=False)
    delta: float = 0.05
    n_estimators: int = 60
    max_terms: int = 2
    prior_fractions: Any = (0.1, 0.5)
    prior_rounds: int = 100
    categorical_features: Any = "from_dtype"
    classes: Any = None
    random_state: Any = 0

    n_jobs = 1
    _is_native = True
    _by_rows = False
    _one_vs_rest = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["best"]), None],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "n_estimators": [Interval(Integral, 0, None, closed="left")],
        "max_terms": [Interval(Integral, 1, 2, closed="both")],
        "prior_fractions": ["array-like"],
        "prior_rounds": [Interval(Integral, 0, None, closed="left")],
        "categorical_features": AdaBoostClassifier._parameter_constraints["categorical_features"],
        "classes": ["array-like", None],
        "random_state": ["random_state"],
    }

    # ------------------------------------------------------------ fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

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
        fractions = np.asarray(self.prior_fractions, dtype=np.float64).ravel().tolist()
        if not fractions or not all(0 < fraction < 1 for fraction in fractions):
            raise ValueError(
                f"prior_fractions={self.prior_fractions!r}: one or more numbers between 0 and 1 are needed"
            )
        table = inputs.check_table(self, X, reset=True)
        labels = inputs.check_labels(self, y, table.n_rows)
        inputs.refuse_many(np.unique(labels))
        if table.n_rows == 1:
            raise ValueError("n_samples=1: one row shapes the prior and another one counts, so two are needed")
        self.seen_ = seen_of([(table, labels, None)])
        self._choose(inputs.indexable(X), labels, fractions)
        self.bound_ = self._bound()
        self.history_ = {"step": self.steps_, "n_voters": np.arange(1, len(self.steps_) + 1)}
        self.stop_reason_ = "converged"
        self.estimator_ = self._family()

    def _choose(self, X: Any, labels: AnyArray, fractions: list[float]) -> None:
        """Set the model with the least bound over the fractions, each with its part of delta."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        given, tried = self._given_classes(labels), []
        marks = self.seen_.marks
        assert marks is not None  # the rows are in memory
        order = np.lexsort((np.unique(labels, return_inverse=True)[1], marks))
        for place, fraction in enumerate(fractions):
            size = min(math.ceil(fraction * len(labels)), MOST_PRIOR_ROWS, len(labels) - 1)
            drawn, counted = draw_positions(marks[order], size, [seed, place])
            drawn, counted = order[drawn], order[counted]
            classes = np.unique(labels[drawn]) if given is None else given  # fixed before the counted rows are read
            options = PriorOptions(
                *(self._family(), self.prior_rounds, self.n_estimators, self.max_terms),
                *(self.categorical_features, len(classes)),
            )
            prior = self._part(X, self._with_class(drawn, classes, labels), classes, labels)
            rest = self._part(X, counted, classes, labels)
            tried.append((search_prior(prior, rest, options, self.delta / len(fractions)), size, classes))
        best, size, classes = min(tried, key=lambda one: one[0].described.bound)
        self.ensemble_, self.bins_, self.classes_, self.n_classes_ = best.ensemble, best.bins, classes, len(classes)
        bits = best.described.bits + math.log2(len(fractions))
        voters = len(best.described.voters)
        self.description_ = Description(bits, best.rows, best.described.errors, size, best.prior_voters, voters)

    def _given_classes(self, labels: AnyArray) -> AnyArray | None:
        """The labels of `classes`, sorted; None if there are none."""
        if self.classes is None:
            return None
        twice = np.tile(np.asarray(self.classes), 2)  # scikit-learn takes labels that differ in all rows for targets
        given = np.unique(inputs.check_labels(self, twice, len(twice)))
        if not np.any(np.isin(labels, given)):
            raise ValueError(f"y has labels like {labels[:1].tolist()}: none is one of classes={given.tolist()!r:.200}")
        return given

    def _with_class(self, rows: Ints, classes: AnyArray, labels: AnyArray) -> Ints:
        """The rows of the prior that have one of the classes."""
        known = rows[np.isin(labels[rows], classes)]
        if not len(known):
            raise ValueError(
                f"none of the {len(rows)} rows that shape the prior has one of classes={classes.tolist()!r:.200}: use "
                "more rows, or larger prior_fractions"
            )
        return known

    def _part(self, X: Any, rows: Ints, classes: AnyArray, labels: AnyArray) -> PriorPart:
        """Some rows, with labels as places in the classes."""
        codes, other = codes_of(labels[rows], classes)
        if other is not None:
            codes = np.where(other, OTHER, codes)
        some, _ = own_table(X, rows)
        return PriorPart(some, inputs.check_table(self, some, reset=False), codes)

    def _bound(self) -> float:
        """Return the bound that the description proves."""
        bits, rows, errors = self.description_[:3]
        return priced_bound(errors, rows, bits * math.log(2) + math.log(1 / self.delta))

    def _family(self) -> Any:
        return Stumps() if self.estimator is None else self.estimator

    def _validate_family(self) -> None:
        if hasattr(self._family(), "_parameter_constraints"):
            self._family()._validate_params()

    # ------------------------------------------------------------ the fitted model

    @property
    def estimators_(self) -> Voters:
        """The voters: those of the prior first."""
        check_is_fitted(self)
        return Voters(self)

    @property
    def feature_importances_(self) -> Floats:
        """The share of the weights that rests on each column."""
        check_is_fitted(self)
        return self.ensemble_.importances()

    def _checked_probabilities(self, decision: Floats) -> Floats:
        """The classes' shares of the votes."""
        total = float(np.abs(self.steps_).sum())
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        return vote_shares(decision, total) if self.n_classes_ == 2 else one_of_many(decision, np.array([total]))

    def _link(self) -> Link:
        return share_link(np.array([np.abs(self.steps_).sum()]))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # ------------------------------------------------------------ text

    @property
    def sentence_(self) -> str:
        """A sentence that can be quoted, with its assumptions."""
        check_is_fitted(self)
        return (
            f"With {100 * (1 - self.delta):g}% confidence, this model is wrong on at most {100 * self.bound_:.2f}% of "
            f"new rows, provided that {IID}, and that the parameters and the seed were fixed before the rows were "
            "seen."
        )

    def __str__(self) -> str:
        if not self.__sklearn_is_fitted__():
            return repr(self)
        about, n_voters = self.description_, self.ensemble_.n_voters
        plural = "" if n_voters == 1 else "s"
        lines = [f"CertifiedClassifier: {n_voters} voter{plural}, {about.prior_voters} from the prior"]
        for view in self.estimators_[:PRINTED]:
            weight = f"  {view.step:.4g} x "
            lines.append(weight + view.to_text().replace("\n", "\n" + " " * len(weight)))
        if n_voters > PRINTED:
            lines.append(f"  and {n_voters - PRINTED} more")
        lines.append(
            f"{about.errors} errors on {about.rows} rows, a description of {about.bits:.1f} bits "
            f"({about.prior_rows} other rows shaped the prior)"
        )
        return "\n".join([*lines, *textwrap.wrap(self.sentence_, WIDTH)])

    # ------------------------------------------------------------ files

    def _more_arrays(self) -> dict[str, AnyArray]:
        return {"description": np.array(self.description_, dtype=np.float64)}

    def _read_more(self, contents: Contents) -> None:
        bits, *counts = require(contents, "description", "<f8", (len(Description._fields),)).tolist()
        whole = all(count == int(count) and 0 <= count < 2**53 for count in counts if math.isfinite(count))
        expect(whole and 0 <= bits < math.inf and all(map(math.isfinite, counts)), "the description is out of range")
        self.description_ = Description(bits, *map(int, counts))
        expect(
            0 <= self.description_.errors <= self.description_.rows and self.description_.rows, "its rows do not fit"
        )
        self.bound_ = self._bound()
