"""From a fitted model to bounds on its risk: collects votes, norms and complexities, which theory/ turns into bounds.

The bounds come from held-out rows, or from the training rows and the complexity of the voters; docs/certificates.md has
every bound, its assumptions and its constants.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.certified.certified_classifier import CertifiedClassifier
from electorate.certified.cross_fitted import CrossFittedClassifier
from electorate.data import inputs
from electorate.data.bins import EXACT_VALUES, MOST_CATEGORIES
from electorate.data.cleaning import cleaned_target
from electorate.data.seen_rows import Seen, marks_of
from electorate.estimators.guarantees import refuse_others
from electorate.estimators.peers import PeerModel
from electorate.estimators.stacked import StackedModel
from electorate.estimators.thinned import ThinnedClassifier
from electorate.exact import AnyArray, Floats, Hashes
from electorate.families.columns import Columns, ColumnVoter
from electorate.families.pool import Pool
from electorate.families.pool import Pool as StumpPool
from electorate.families.rho_search import Bump, Sure
from electorate.families.trees import Stumps
from electorate.inspection.complexity_classes import (
    DistinctVoters,
    classes_of,
    columns_shape,
    log_all,
    parts_of,
    places,
)
from electorate.inspection.family_complexity import empirical_rademacher
from electorate.inspection.margins import votes_of
from electorate.inspection.theorems import training_bounds
from electorate.model.ensemble import Ensemble
from electorate.model.foreign_ensemble import RowEnsemble
from electorate.model.voter_outputs import count_rows, rows_of
from electorate.theory import bounds
from electorate.theory.binomial import binomial_bound, priced_bound
from electorate.theory.bounds import HINGE, Complexity, Counted, Drawn, Loss, Terms
from electorate.theory.certificate import IID, Bound, Certificate, proved, refused
from electorate.theory.complexity import Shape, log_trees, massart
from electorate.theory.cross_fit import routed_bound
from electorate.theory.pac_bayes import (
    WeighedVote,
    cantelli_bound,
    dirichlet_bound,
    gibbs_bound,
    margin_bound,
    tandem_bound,
)
from electorate.theory.training import COST_3, MEAN_EXP
from electorate.training.lazy_inputs import is_lazy, is_scanned, where_rows_are

QUADBOOST = "QuadBoost paper, Theorem 1, p = 1"
QUADBOOST_P = "QuadBoost paper, Theorem 1"
CATEGORIES = "every category that can occur is among the rows, and was fixed before they were drawn"
DEEPBOOST = "DeepBoost paper, Theorem 1, uniform in rho"
ONE_CLASS = "Koltchinskii and Panchenko 2002, uniform in rho"
BERNSTEIN = "VadaBoost paper, Theorem 1: Maurer and Pontil 2009, Theorem 6"
OCCAM = "Occam's razor: Blumer et al. 1987, binomial tail"
FIXED_BEFORE = "the parameters and the seed were fixed before the rows were seen"
FIXED_PARTS = "the number of parts, the salt and the estimator were fixed before the rows were seen"
SEEGER = "PAC-Bayes-kl: Seeger 2002, Maurer 2004; twice the loss of a drawn voter"
LANGFORD = "Langford, Seeger and Megiddo 2001"
MASEGOSA = "Masegosa et al. 2020, with PAC-Bayes-kl"
WU = "Wu et al. 2021, with PAC-Bayes-kl"
BIGGS = "Biggs, Zantedeschi and Guedj 2022, with PAC-Bayes-kl"
VOTERS_FIXED = "the voters were fitted to other rows, fixed before these rows were drawn"
CLOPPER = "Clopper and Pearson 1934"
MEAN_EVIDENCE = "means of e-values, Vovk and Wang 2021"
THEOREM_3 = "LocMedBoost paper, Theorem 3"
THEOREM_4 = "LocMedBoost paper, Theorem 4, constants ours"
THEOREM_5 = "LocMedBoost paper, Theorem 5"
FIXED = "the columns were fixed before the training rows were drawn: they are predictions of models fitted elsewhere"
ROWS_AT_ONCE = 4096
IID_OUT = "the held-out rows were drawn independently from the distribution of new rows, and not used for fitting"
CLASSES_SUMMED = 100  # at least, before the sum of their bounds may be cut short
ROUNDING = 1e-9  # margins this much above rho count as rho
FAR_MORE = 3  # times as many equal rows as the rows of the fit have among themselves, and so many more


def certificate(
    model: Any,
    *,
    train: Any = None,
    heldout: Any = None,
    delta: float = 0.05,
    eps: float | None = None,
    equal_rows: str = "refuse",
    draws: int = 0,
    pseudo_dimension: int | None = None,
    loss: str | Loss | None = None,
) -> Certificate:
    """Every bound on the risk of this fitted model that can be proved, with its value, its terms and its assumptions.

    Parameters
    ----------
    model : a fitted estimator of electorate's
    train : (X, y), optional
        The rows it was fitted to, or others from the distribution of new rows: the bounds with complexity terms use
        the votes on them. With a third entry, sample weights, those bounds do not apply. Like held-out rows they
        may be what :func:`scan` returns.
    heldout : (X, y), optional
        Rows that took no part in fitting, stopping or calibration: for the exact binomial bound. The model stores
        hashes of its rows, and a row that took part is refused.
    delta : float, default=0.05
        Each bound may fail with at most this probability; `best` splits it over all that apply.
    eps : float, optional
        Of regressors: a prediction farther than eps from the target is an error. None: the model's own ``eps_``.
    equal_rows : {"refuse", "allow"}, default="refuse"
        What to do with rows that equal a row of the fit: held-out ones, or those that weighed a thinned ensemble. Where
        rows hold few distinct values, equal ones occur among independent rows; "allow" uses them and reports how many
        there are, unless they are too many for that.
    draws : int, default=0
        For stumps and columns: how many random labelings to draw for a Monte Carlo estimate of the complexity, with its
        own confidence paid for, instead of the count.
    pseudo_dimension : int, optional
        Of the regressors that a median votes over, where they are not a family of electorate: d + 1 for linear ones of
        d columns. It must not depend on the rows.
    loss : {"hinge", "squared hinge", "quadratic", "exponential", "logistic"} or Loss, optional
        A further loss for Theorem 1 of QuadBoost: "logistic" is log2(1 + exp(-y f)). A
        ``electorate.theory.bounds.Loss(name, of, lipschitz)`` of your own is checked at 65,537 points: it must be at
        least 1 where y f <= 0, and the steepness of its clipped version at most `lipschitz`.

    Returns
    -------
    Certificate
        ``print`` shows one screen; ``best``, ``risk``, ``training``, ``to_dict()``, ``to_frame()``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, certificate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X[:400], y[:400])
    >>> round(certificate(model, heldout=(X[400:], y[400:])).best.value, 3)
    0.076
    """
    if not (isinstance(delta, float) and 0 < delta < 1):
        raise ValueError(f"delta={delta!r}: it must be a number between 0 and 1")
    if equal_rows not in ("refuse", "allow"):
        raise ValueError(f"equal_rows={equal_rows!r}: it must be 'refuse' or 'allow'")
    if pseudo_dimension is not None and not (isinstance(pseudo_dimension, int) and pseudo_dimension > 0):
        raise ValueError(f"pseudo_dimension={pseudo_dimension!r}: it must be a positive integer")
    named = None if loss is None else bounds.checked_loss(loss)
    model = getattr(model, "best_estimator_", model)
    refuse_others(model, "certificate")
    check_is_fitted(model)
    error, notes = ErrorRule(model, eps), []
    seen: Seen | None = getattr(model, "seen_", None)
    if seen is None or seen.marks is None:
        notes += ["the rows of the fit are not stored with the model, so held-out rows cannot be compared with them"]
    elif seen.share < 1:
        share = f"{100 * seen.share:.2g}%"
        notes += [f"the file has a sample of the marks of the rows: {share} of held-out rows are compared"]
    risk = own_bounds(model, delta)
    rows = None if train is None else LabelledRows.of(model, train, "train")
    if heldout is not None:
        bound, more = _held_out(model, error, heldout, delta, equal_rows)
        risk.append(bound)
        notes += more
    if rows is not None and isinstance(model, ThinnedClassifier):
        risk += _weighed_bounds(model, rows, delta, equal_rows)
    if rows is not None and isinstance(model, StackedModel):
        risk.append(refused("margins", DEEPBOOST, "a mean of models: nothing bounds how complex it is"))
    elif rows is not None and isinstance(model, PeerModel):
        risk.append(refused("margins", DEEPBOOST, "a model of scikit-learn: no theorem here bounds how complex it is"))
    elif rows is not None and not risk_is_own(model):
        labels = hasattr(model, "classes_")
        risk += (
            _vote_bounds(model, rows, delta, draws, named)
            if labels
            else _median_bounds(model, error, rows, delta, pseudo_dimension)
        )
    training = [] if risk_is_own(model) else training_bounds(model, train)
    return Certificate(type(model).__name__, error.words, delta, tuple(risk), tuple(training), tuple(notes))


# ---------------------------------------------------------------- bounds that a model carries itself


def risk_is_own(model: Any) -> bool:
    """Whether the model carries its own bound, from the rows of its fit."""
    return isinstance(model, CertifiedClassifier | CrossFittedClassifier)


def own_bounds(model: Any, delta: float) -> list[Bound]:
    """The bound of a certified or cross-fitted model, at any delta that was fixed before."""
    if isinstance(model, CertifiedClassifier):
        about = model.description_
        observed = about.errors / about.rows

        def described(part: float) -> Terms:
            free = priced_bound(about.errors, about.rows, math.log(1 / part))
            paid = priced_bound(about.errors, about.rows, about.bits * math.log(2) + math.log(1 / part))
            return {"observed": observed, "confidence": free - observed, "description": paid - free}

        source = f"{OCCAM}: {about.errors} errors of {about.rows}, {about.bits:.1f} bits"
        return [proved("description", source, described, delta, (IID, FIXED_BEFORE))]
    if isinstance(model, CrossFittedClassifier):
        counts = model.part_errors_.tolist(), model.part_rows_.tolist()
        source = f"{MEAN_EVIDENCE}: {model.n_folds} parts"
        return [proved("cross-fitted", source, partial(routed_bound, *counts), delta, (IID, FIXED_PARTS))]
    return []


# ---------------------------------------------------------------- rows and errors


@dataclass(frozen=True)
class LabelledRows:
    """X and y as they were given, and `table`, X as the model reads it; None for a scanned table."""

    X: Any
    y: AnyArray
    table: Any
    weight: Any = None

    @classmethod
    def of(cls, model: Any, given: Any, name: str) -> "LabelledRows":
        if not isinstance(given, tuple | list) or len(given) not in (2, 3):
            raise ValueError(f"{name} must be a pair (X, y)")
        X, y = given[0], given[1]
        if is_lazy(X) and not is_scanned(X):
            raise ValueError(f"{name}: a certificate needs its rows in memory, and {where_rows_are(X)}")
        table = None if is_scanned(X) else rows_of(reader_of(model), X)
        labels = np.asarray(inputs.to_array(cleaned_target(model, y))).ravel()
        n_rows = len(labels) if table is None else count_rows(table)
        if len(labels) != n_rows:
            raise ValueError(f"{name}: X has {n_rows} rows and y {len(labels)}")
        if hasattr(model, "classes_") and not np.any(np.isin(labels, model.classes_)):
            raise ValueError(
                f"{name} has labels like {labels[:1].tolist()}: none is one of {model.classes_.tolist()!r:.200}"
            )
        return cls(X, labels, table, given[2] if len(given) == 3 else None)

    def tables(self, model: Any) -> Iterator[Any]:
        """Yield the rows as the model reads them: all at once, or the batches of a scanned table."""
        if self.table is not None:
            yield self.table
            return
        for batch in self.X.batches(what="rows"):
            with batch.named():
                yield rows_of(reader_of(model), self.X.table(batch))

    def marks(self, model: Any, y: AnyArray) -> Hashes:
        """Marks of the rows. y: of the type it had in the fit."""
        found: list[Hashes] = []
        start = 0
        for table in self.tables(model):
            stop = start + count_rows(table)
            found.append(marks_of(table, y[start:stop]))
            start = stop
        return np.concatenate(found)


def reader_of(model: Any) -> Any:
    """The estimator that reads X: of a thinned ensemble, the one that was thinned."""
    return getattr(model, "_input_model", model)


class ErrorRule:
    """What counts as an error: another label, or a prediction farther than eps from the target."""

    def __init__(self, model: Any, eps: float | None) -> None:
        self.model, self.eps, self.words = model, None, "another label than the row's"
        if not hasattr(model, "classes_"):
            self.eps = float(eps if eps is not None else getattr(model, "eps_", math.nan))
            self.words = f"a prediction farther than eps from the target, eps = {self.eps:.6g}"

    @property
    def unknown(self) -> bool:
        return self.eps is not None and not self.eps >= 0

    def count(self, rows: LabelledRows) -> int:
        predicted = self.model.predict(rows.X)
        if self.eps is None:
            return int(np.count_nonzero(predicted != rows.y))
        return int(np.count_nonzero(~(np.abs(predicted - rows.y.astype(np.float64)) <= self.eps)))


# ---------------------------------------------------------------- held-out rows


def _held_out(model: Any, error: ErrorRule, given: Any, delta: float, equal_rows: str) -> tuple[Bound, list[str]]:
    """The binomial bound, and notes about rows that equal a row of the fit."""
    name, rows = "held-out rows", LabelledRows.of(model, given, "heldout")
    if rows.weight is not None:
        return refused(name, CLOPPER, "held-out rows with weights do not have the distribution of new rows"), []
    if error.unknown:
        return refused(name, CLOPPER, "no eps defines which predictions are wrong: give eps"), []
    why, notes = overlap(model, rows, equal_rows)
    if why is not None:
        return refused(name, CLOPPER, why), notes
    wrong, n = error.count(rows), len(rows.y)

    def at(part: float) -> Terms:
        return {"observed": wrong / n, "confidence": binomial_bound(wrong, n, 1 - part) - wrong / n}

    return proved(name, f"{CLOPPER}: {wrong} errors of {n}", at, delta, (IID_OUT,)), notes


def overlap(model: Any, rows: LabelledRows, equal_rows: str) -> tuple[str | None, list[str]]:
    """Why equal rows are no coincidence, and notes about them. ValueError if they are to be refused."""
    seen: Seen | None = getattr(model, "seen_", None)
    if seen is None or seen.marks is None:
        return None, []
    y = rows.y  # of the type it had in the fit
    if not hasattr(model, "classes_"):
        y = y.astype(np.float64)
    elif (y.dtype.kind in "biuf") != (model.classes_.dtype.kind in "biuf"):
        y = y.astype(str)
    marks = rows.marks(reader_of(model), y)
    found = seen.where(marks)
    if not len(found):
        return None, []
    rate = f"{seen.distinct[1]} of the {seen.rows} rows of the fit equal another one"
    if equal_rows == "refuse":
        raise ValueError(
            f"row {int(found[0])} of heldout took part in fitting, stopping or calibration (and {len(found) - 1} more "
            f"do): held-out rows must not. If equal rows are a coincidence here ({rate}), pass equal_rows='allow' "
            "(--allow-equal-rows)"
        )
    if is_no_coincidence(seen, marks, len(found)):
        return f"{len(found)} of its rows took part in fitting: too many for a coincidence ({rate})", []
    return None, [f"{len(found)} held-out rows equal a row of the fit, taken as coincidence: {rate}"]


def is_no_coincidence(seen: Seen, marks: Hashes, equal: int) -> bool:
    """Whether far more rows equal a row of the fit than rows of the fit equal each other."""
    compared = int(np.count_nonzero(marks <= np.uint64(seen.limit)))
    usual = compared * seen.distinct[1] / max(seen.rows, 1)  # among independent rows the same share equals another one
    return equal > FAR_MORE * usual + FAR_MORE


# ---------------------------------------------------------------- weighted votes: classifiers


@dataclass(frozen=True)
class BinaryVote:
    """One binary vote on n rows: its margins y f / |alpha|_1, its parts, and the complexity of its voters."""

    margins: Floats
    wrong: Floats  # 0 or 1
    counted: bool  # whether the number of categories is that of the rows
    parts: DistinctVoters
    shares: Floats  # of |alpha|_1 in every complexity class
    complexities: list[Complexity]
    whole: Complexity  # all classes as one family
    log_any: float | None  # of the labelings of any 2 n rows by one voter

    def vote_bound(self, delta: float, loss: Loss, p: float = 1.0) -> Terms:
        steps = np.abs(self.parts.steps)
        of = float(np.linalg.norm(steps, p) / steps.sum()) if p > 1 and len(steps) else 1.0
        return bounds.vote_bound(self.margins, self.parts.count, self.whole, delta, loss, p, of)

    def clipped_bound(self, delta: float) -> Terms:
        assert self.log_any is not None
        return bounds.clipped_bound(self.margins, self.log_any, self.parts.count, self.parts.dimension, delta)

    def deep_bound(self, delta: float) -> Terms:
        terms = bounds.deep_bound(self.margins, self.shares, self.complexities, delta)
        if len(self.complexities) > 1:
            rates = np.array([one.at(delta).r for one in self.complexities])
            printed = bounds.deep_as_printed(self.margins, terms["at rho"], self.shares, rates, delta)
            terms = {**terms, "as printed": printed}
        return terms

    def one_class_bound(self, delta: float) -> Terms:
        """The union of all families as one: its complexity is bounded from above by the sum of their labelings."""
        return bounds.deep_bound(self.margins, np.ones(1), [self.whole], delta)

    def bernstein_bound(self, delta: float) -> Terms:
        assert self.log_any is not None
        size = self.parts.count, self.parts.dimension
        log_count = bounds.log_votes(2 * len(self.wrong), *size, self.log_any) + bounds.log_sizes(*size)
        return bounds.bernstein_bound(self.wrong, log_count, delta)


def _vote_bounds(model: Any, rows: LabelledRows, delta: float, draws: int, named: Loss | None = None) -> list[Bound]:
    """The bounds on a weighted vote; for several classes fitted one against the rest, their sums."""
    # but for the root of the norm other losses are never smaller than the hinge loss at once or twice the norm
    kinds: list[tuple[str, str, Callable[[BinaryVote, float], Terms], bool]] = [
        (f"vote, {loss.name} loss", QUADBOOST, partial(BinaryVote.vote_bound, loss=loss), loss is HINGE)
        for loss in dict.fromkeys((HINGE, model._guarantees.loss, *([] if named is None else [named])))
    ]
    at_p = "vote, hinge loss, norm of the penalty"
    if getattr(model, "penalty", None) == "l2":  # its own p; of the other terms only the last root can be smaller
        kinds.append((at_p, QUADBOOST_P, partial(BinaryVote.vote_bound, loss=HINGE, p=2.0), False))
    kinds += [("margins", DEEPBOOST, BinaryVote.deep_bound, True)]
    kinds += [("variance", BERNSTEIN, BinaryVote.bernstein_bound, True)]
    if model._guarantees.objective in (COST_3, MEAN_EXP):
        kinds += [("variance, clipped exponential loss", BERNSTEIN, BinaryVote.clipped_bound, False)]
    try:
        _refuse_vote(model, rows)
        votes = _binary_votes(model, rows, draws)
    except ValueError as why:
        return [refused(name, source, str(why)) for name, source, *_ in kinds]
    if any(len(vote.complexities) > 1 for vote in votes):  # else both bounds are the same
        kinds.append(("margins, one class", ONE_CLASS, BinaryVote.one_class_bound, True))
    assumed = [IID]
    if getattr(model, "seen_", None) is None:
        assumed.append("the rows of the fit had no weights (the model has no record of them)")
    if isinstance(model.ensemble_, RowEnsemble):
        assumed.append("the columns are the voters' own, fixed before the rows were drawn")
    no_variance = f"it needs {bounds.FEWEST} rows" if len(rows.y) < bounds.FEWEST else ""
    if any(vote.log_any is None for vote in votes):
        no_variance = "M(n) counts labelings of any 2 n rows, and that of sections of a kernel has no bound"
    found = []
    for name, source, at, offered in kinds:
        if no_variance and source == BERNSTEIN:
            found.append(refused(name, source, no_variance))
            continue
        fixed = source == BERNSTEIN and any(vote.counted for vote in votes)
        more = [CATEGORIES] if fixed else []
        found.append(proved(name, source, _summed(votes, at), delta, (*assumed, *more), offered and not fixed))
    if getattr(model, "penalty", None) == "linf":
        found.append(refused(at_p, QUADBOOST_P, "p = inf is outside of the statement, which needs a finite p"))
    return found


def _summed(votes: list[BinaryVote], at: Callable[[BinaryVote, float], Terms]) -> Callable[[float], Terms]:
    """An error is an error of at least one of the binary votes: their bounds add up, each with its part of delta.

    For very many classes the sum ends where it is vacuous; "at classes" is then how many it is over.
    """

    def summed(delta: float) -> Terms:
        every: list[Terms] = []
        so_far = 0.0
        for vote in votes:
            if len(every) < CLASSES_SUMMED or so_far < 1:
                every.append(at(vote, delta / len(votes)))
                so_far += bounds.total(every[-1])
        names = dict.fromkeys(name for terms in every for name in terms if len(votes) == 1 or bounds.is_summand(name))
        found = {name: math.fsum(terms.get(name, 0.0) for terms in every) for name in names}
        return found if len(every) == len(votes) else {**found, "at classes": float(len(every))}

    return summed


def _refuse_vote(model: Any, rows: LabelledRows) -> None:
    _refuse_weights(model, rows)
    if getattr(model, "class_weight", None) is not None:
        raise ValueError("with class_weight, the rows do not have the distribution of new rows")
    if len(model.classes_) < 2:
        raise ValueError("training had one class only")
    if not isinstance(model.ensemble_, Ensemble | RowEnsemble):
        raise ValueError("foreign voters: nothing bounds how complex they are")
    if len(model.classes_) > 2 and bool(np.any(model.ensemble_.about < 0)):
        raise ValueError("all classes vote at once: only one against the rest is a sum of binary bounds")
    for voter in model.ensemble_.fitted if isinstance(model.ensemble_, RowEnsemble) else ():
        if isinstance(voter, ColumnVoter) and voter.scale != 1:
            raise ValueError(f"column {voter.column} is divided by its largest size, which the rows decided")


def _binary_votes(model: Any, rows: LabelledRows, draws: int) -> list[BinaryVote]:
    """One vote, or one per class against the rest."""
    n, family, ensemble = len(rows.y), reader_of(model)._family(), model.ensemble_
    classes = classes_of(family, n)
    shape, counted = Shape(numeric=model.n_features_in_), False
    if isinstance(ensemble, Ensemble):
        shape, counted = columns_shape(reader_of(model), rows.tables(model))
    f = votes_of(model, rows.X)
    codes = inputs.encode_labels(rows.y, model.classes_, np.ones(n), "train")
    second = [codes == 1] if len(model.classes_) == 2 else [codes == k for k in range(len(model.classes_))]
    prices = [one.complexity(n, shape) for one in classes]
    log_count = log_all(classes, n, shape)
    whole: Complexity = Counted(sum(prices) if log_count is None else math.sqrt(2 * log_count / n), counted)
    if draws:
        whole = _drawn(family, rows, shape, draws)
    each: list[Complexity] = [Counted(price, counted) for price in prices] if len(classes) > 1 else [whole]
    log_any = log_all(classes, 2 * n, shape)
    made = []
    for label, is_second in enumerate(second):
        parts = parts_of(ensemble, label if len(second) > 1 else -1)
        in_class = places(ensemble, parts.voters, classes, prices)
        shares = np.bincount(in_class, weights=np.abs(parts.steps), minlength=len(classes))
        norm = float(shares.sum())
        votes = f[label] / norm if norm > 0 else np.zeros(n)
        margins = np.clip(np.where(is_second, votes, -votes), -1.0, 1.0) - ROUNDING
        wrong = (np.where(is_second, f[label] <= 0, f[label] > 0)).astype(np.float64)
        made.append(BinaryVote(margins, wrong, counted, parts, shares / max(norm, 1e-300), each, whole, log_any))
    return made


def _drawn(family: Any, rows: LabelledRows, shape: Shape, draws: int) -> Complexity:
    """Return the complexity by Monte Carlo, where the search of the family finds the best voter of the whole class."""
    if rows.table is None:
        raise ValueError(f"draws={draws} needs every row in memory, and X is a scanned table")
    if not isinstance(family, Stumps | StumpPool | Columns):
        name = type(family).__name__
        raise ValueError(f"draws={draws} needs Stumps, Pool or Columns: of {name} not all are searched")
    if isinstance(family, Columns):  # the constant voters are in the family too
        ones = np.column_stack([rows.table, np.ones(len(rows.y))])
        found = empirical_rademacher(family, ones, draws=draws)
    else:
        if len(rows.y) > EXACT_VALUES or max(shape.levels, default=0) > MOST_CATEGORIES:
            raise ValueError(
                f"draws={draws} needs every test to be searched: at most {EXACT_VALUES} rows, and {MOST_CATEGORIES} "
                "categories in a column"
            )
        found = empirical_rademacher(Stumps(), rows.X, draws=draws, max_bins="exact")
    if not found.exact_search:
        raise ValueError("draws needs columns that can be searched exhaustively")
    return Drawn(found.value, len(rows.y), draws)


# ---------------------------------------------------------------- voters that were fixed before, weighed by the rows

WEIGHED: list[tuple[str, str, Callable[[WeighedVote, float], Terms]]] = [
    ("PAC-Bayes", SEEGER, gibbs_bound),
    ("PAC-Bayes, margins", LANGFORD, margin_bound),
    ("tandem", MASEGOSA, tandem_bound),
    ("Chebyshev-Cantelli", WU, cantelli_bound),
    ("Dirichlet margins", BIGGS, dirichlet_bound),
]


def _weighed_bounds(model: Any, rows: LabelledRows, delta: float, equal_rows: str) -> list[Bound]:
    """PAC-Bayes bounds for a thinned ensemble, on the rows that weighed its voters."""
    try:
        vote = _weighed_vote(model, rows, equal_rows)
    except ValueError as why:
        return [refused(name, source, str(why)) for name, source, _ in WEIGHED]
    return [proved(name, source, partial(at, vote), delta, (IID, VOTERS_FIXED)) for name, source, at in WEIGHED]


def _weighed_vote(model: Any, rows: LabelledRows, equal_rows: str) -> WeighedVote:
    """ValueError if the voters were fitted to some of the rows, or vote for several classes at once."""
    _refuse_weights(model, rows)
    if len(model.classes_) != 2:
        raise ValueError("it is about two classes")
    before: Seen | None = getattr(reader_of(model), "seen_", None)
    if before is not None and before.marks is not None:
        marks = rows.marks(model, rows.y)
        equal = len(before.where(marks))
        if equal and (equal_rows == "refuse" or is_no_coincidence(before, marks, equal)):
            raise ValueError(
                f"the voters were fitted to some of these rows ({equal}): thin(model, X, y) needs other ones; if a few "
                "equal rows are a coincidence, pass equal_rows='allow'"
            )
    codes = inputs.encode_labels(rows.y, model.classes_, np.ones(len(rows.y)), "train")
    norm = float(np.abs(model.weights_).sum())
    votes = votes_of(model, rows.X)[0] / norm if norm > 0 else np.zeros(len(codes))
    margins = np.clip(np.where(codes == 1, votes, -votes), -1.0, 1.0) - ROUNDING
    return WeighedVote.of(margins, model.weights_.ravel(), model.n_voters_in_)


# ---------------------------------------------------------------- weighted medians: regressors


def _median_bounds(
    model: Any, error: ErrorRule, rows: LabelledRows, delta: float, dimension: int | None = None
) -> list[Bound]:
    """Theorem 3 for columns, Theorem 4 for trees; where neither applies, the reasons. Errors are those of `error`.

    A median that is too high has half of its votes above y + eps: both sides of the tube are votes of +-1, and the
    margin bounds of votes apply (docs/certificates.md).
    """
    finite, infinite = "median, finitely many voters", "median, tubes"
    try:
        _refuse_median(model, error, rows, dimension)
    except ValueError as why:
        found = [refused(infinite, THEOREM_4, str(why))]
        if getattr(model, "confidences_", None):
            found.append(_theorem_5(model, error, rows, dimension, delta))
        return found
    if model._by_rows and any(np.isnan(table).any() for table in rows.tables(model)):
        reason = "some predictions are missing, where voters abstain: the confidences are not constant"
        return [refused(finite, THEOREM_3, reason)]
    assert error.eps is not None  # it is refused above
    margins = tube_margins(model, rows.X, rows.y.astype(np.float64), error.eps)
    n, complexity = len(margins), _tube_complexity(model, rows, dimension)

    def at(part: float) -> Terms:
        return bounds.median_bound(lambda rho: float(np.mean(margins <= rho)), n, complexity, part)

    if model._by_rows:
        return [proved(finite, THEOREM_3, at, delta, (IID, FIXED))]
    reason = "the voters are not a finite set that was fixed before the rows were drawn: Theorem 4 covers them"
    native = model.vote_.trees is not None
    assumed = (IID,) if native else (IID, "eps and the pseudo-dimension were fixed before the rows were drawn")
    return [refused(finite, THEOREM_3, reason), proved(infinite, THEOREM_4, at, delta, assumed)]


def _theorem_5(model: Any, error: ErrorRule, rows: LabelledRows, dimension: int | None, delta: float) -> Bound:
    """Its order, with every constant taken as 1, where all that it depends on is known; not a certificate."""
    name, status = "median, smooth confidences", "up to constants: not a certificate"
    bumps = [one for one in model.confidences_ if isinstance(one, Bump)]
    smooth = len(bumps) == sum(not isinstance(one, Sure) for one in model.confidences_)
    if dimension is None or not bumps or not smooth or error.eps is None or rows.weight is not None:
        return Bound(name, THEOREM_5, status)
    least, lipschitz = min(one.least for one in bumps), max(one.lipschitz for one in bumps)
    n, d = len(rows.y), model.n_features_in_

    def at(rho: float) -> Terms:
        robust = model.robust_error(rows.X, rows.y, rho)
        order = bounds.smooth_order(n, rho, dimension, d, lipschitz / least, delta)
        return {"robust error": robust, "order of the rest": order, "at rho": rho}

    terms = min((at(2.0**-k) for k in range(1, 6)), key=bounds.total)
    return Bound(name, THEOREM_5, status, bounds.total(terms), terms, offered=False)


def _refuse_median(model: Any, error: ErrorRule, rows: LabelledRows, dimension: int | None = None) -> None:
    if not hasattr(model, "vote_"):
        raise ValueError("it is about medians, and this model adds its voters up")
    if error.unknown:
        raise ValueError("no eps defines which predictions are wrong: give eps")
    _refuse_weights(model, rows)
    if model.vote_.trees is None and not model._by_rows and dimension is None:
        raise ValueError("foreign voters: nothing bounds how complex they are; give pseudo_dimension if it is known")
    if not model.vote_.n_voters:
        raise ValueError("there are no voters")
    if model.confidences_ or model.vote_.leaves_doubt:
        raise ValueError("the confidences of the voters are not constant")


def _refuse_weights(model: Any, rows: LabelledRows) -> None:
    """ValueError if the rows, or those of the fit, have weights."""
    seen = getattr(model, "seen_", None)
    if rows.weight is not None or (seen is not None and seen.weighted):
        raise ValueError("the rows have weights, so they do not have the distribution of new rows")


def tube_margins(model: Any, X: Any, y: Floats, eps: float) -> Floats:
    """The smaller of the two margins of a row: of the voters not above y + eps, and of those not below y - eps.

    L^(rho) of eq. 9 is the share of rows where it is at most rho, for constant confidences.
    """
    if is_scanned(X):
        found: list[Floats] = []
        for rows in X.tables():
            start = sum(map(len, found))
            found.append(tube_margins(model, rows, y[start : start + rows.shape[0]], eps))
        return np.concatenate(found)
    n, outputs = model._outputs(X)
    out = np.empty(n)
    for low in range(0, n, ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, n)
        votes = model.vote_.votes(*outputs(low, high))
        weights = np.broadcast_to(votes.weights, votes.outputs.shape)
        mass = weights.sum(axis=1)
        target = y[low:high, None]
        above = (weights * (votes.outputs > target + eps)).sum(axis=1)
        below = (weights * (votes.outputs < target - eps)).sum(axis=1)
        out[low:high] = (mass - 2 * np.maximum(above, below)) / np.maximum(mass, 1)
    return out


def _tube_complexity(model: Any, rows: LabelledRows, dimension: int | None) -> Counted:
    """Return the complexity of sets {h > y} on n rows: splits part them, a leaf has n + 1 places among targets.

    The targets may be moved by any eps, which the leaves can follow: so eps may have been chosen by the rows. A column
    marks at most n + 1 sets, whatever eps. The pseudo-dimension of others is the VC dimension of these sets.
    """
    n = len(rows.y)
    if model._by_rows:
        return Counted(massart(n, math.log((n + 1) * model.n_features_in_)), False)
    if model.vote_.trees is None:
        assert dimension is not None
        return Counted(massart(n, bounds.log_sauer(n, dimension)), False)
    shape, counted = columns_shape(model, rows.tables(model))
    depth = 1 if isinstance(model._family(), Pool) else model._family().max_depth
    splits = n - 1 if depth is None else min(n - 1, 2 ** min(depth, 62) - 1)
    log_count = log_trees(n, shape, splits) + (splits + 1) * math.log((n + 1) / 2)
    return Counted(massart(n, log_count), counted)
