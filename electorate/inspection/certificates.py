"""From a fitted model to what is proved of it: votes, norms and complexities are collected here, the theory adds up.

Bounds on the risk come from held-out rows, or from the training rows and the complexity of the voters; see
docs/certificates.md for every bound, its assumptions and its constants.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from electorate.data import inputs
from electorate.data.bins import EXACT_VALUES, MOST_CATEGORIES
from electorate.data.seen_rows import Seen, marks_of
from electorate.estimators.certified import refuse_others
from electorate.grid import UNITS
from electorate.inspection.complexity_classes import Rung, log_all, places, rungs_of
from electorate.inspection.training_bounds import training_bounds
from electorate.inspection.vote_parts import Parts, parts_of
from electorate.model.ensemble import Ensemble
from electorate.model.foreign_ensemble import ForeignEnsemble
from electorate.model.row_ensemble import RowEnsemble
from electorate.model.voter_outputs import rows_of
from electorate.theory import bounds
from electorate.theory.binomial import binomial_bound
from electorate.theory.bounds import HINGE, LOSSES, Complexity, Counted, Drawn, Floats, Terms
from electorate.theory.certificate import Bound, Certificate, proved, refused
from electorate.theory.complexity import Shape
from electorate.training.dask_inputs import is_dask
from electorate.voters.columns import Columns, ColumnVoter
from electorate.voters.pool import Pool as StumpPool
from electorate.voters.trees import Stumps

QUADBOOST = "QuadBoost paper, Theorem 1, p = 1"
DEEPBOOST = "DeepBoost paper, Theorem 1, uniform in rho"
BERNSTEIN = "VadaBoost paper, Theorem 1: Maurer and Pontil 2009, Theorem 6"
MEDIAN = "LocMedBoost paper, Theorem 4, constants ours"
CLOPPER = "Clopper and Pearson 1934"
IID = "the training rows were drawn independently, each like the rows to come"
IID_OUT = "the held-out rows were drawn independently, each like the rows to come, and took no part in fitting"
CLASSES_SUMMED = 100  # at least, before the sum of their bounds may be cut short
ROUNDING = 1e-9  # of a vote: one that is rho counts as no more
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
) -> Certificate:
    """Every bound on the risk of this fitted model that can be proved, with its value, its terms and its assumptions.

    Parameters
    ----------
    model : a fitted estimator of electorate's
    train : (X, y), optional
        The rows it was fitted to, or others drawn like the rows to come: the bounds that pay for complexity look at
        the votes on them. With a third entry, sample weights, those bounds do not apply.
    heldout : (X, y), optional
        Rows that took no part in fitting, stopping or calibration: for the exact binomial bound. The model remembers
        its rows, and a row that took part is refused.
    delta : float, default=0.05
        Each bound may fail with at most this probability; `best` splits it over all that apply.
    eps : float, optional
        Of regressors: a prediction farther than eps from the target is an error. None: the model's own ``eps_``.
    equal_rows : {"refuse", "allow"}, default="refuse"
        What to do with held-out rows that equal a row of the fit. Where rows hold few distinct values, equal ones occur
        among independent rows; "allow" keeps them and says how many there are, unless they are too many for that.
    draws : int, default=0
        For stumps and columns: how many random labelings to draw for a Monte Carlo estimate of the complexity, with its
        own confidence paid for, instead of the count.

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
    model = getattr(model, "best_estimator_", model)
    refuse_others(model, "certificate")
    check_is_fitted(model)
    error = Mistakes(model, eps)
    notes = _notes(model)
    risk: list[Bound] = []
    if heldout is not None:
        bound, more = _held_out(model, error, heldout, delta, equal_rows)
        risk.append(bound)
        notes += more
    if train is not None:
        rows = Rows.of(model, train, "train")
        collect = _from_votes if hasattr(model, "classes_") else _from_median
        risk += collect(model, error, rows, delta, draws)
    training = training_bounds(model, train)
    return Certificate(type(model).__name__, error.words, delta, tuple(risk), tuple(training), tuple(notes))


# ---------------------------------------------------------------- rows and mistakes


@dataclass(frozen=True)
class Rows:
    """Rows as they were given, and as the model reads them."""

    X: Any
    y: NDArray[Any]
    table: Any
    weight: Any = None

    @classmethod
    def of(cls, model: Any, given: Any, name: str) -> "Rows":
        if not isinstance(given, tuple | list) or len(given) not in (2, 3):
            raise ValueError(f"{name} must be a pair (X, y)")
        X, y = given[0], given[1]
        if is_dask(X):
            raise ValueError(f"{name} is a Dask collection: a certificate needs its rows here, call compute() first")
        door = _door(model)
        table = door._check_rows(X, reset=False) if hasattr(door, "_check_rows") else rows_of(door, X)
        n_rows = table.n_rows if hasattr(table, "n_rows") else table.shape[0]
        labels = np.asarray(inputs.to_array(y)).ravel()
        if len(labels) != n_rows:
            raise ValueError(f"{name}: X has {n_rows} rows and y {len(labels)}")
        if hasattr(model, "classes_") and not np.any(np.isin(labels, model.classes_)):
            raise ValueError(
                f"{name} has labels like {labels[:1].tolist()}: none is one of {model.classes_.tolist()!r:.200}"
            )
        return cls(X, labels, table, given[2] if len(given) == 3 else None)


def _door(model: Any) -> Any:
    """What knows how to read X."""
    return getattr(model, "_input_model", model)


class Mistakes:
    """What an error is: another label, or a prediction farther than eps from the target."""

    def __init__(self, model: Any, eps: float | None) -> None:
        self.model = model
        self.labels = hasattr(model, "classes_")
        self.eps = None if self.labels else float(eps if eps is not None else getattr(model, "eps_", math.nan))
        far = "a prediction farther than eps from the target"
        self.words = "another label than the row's" if self.labels else f"{far}, eps = {self.eps:.6g}"

    @property
    def unknown(self) -> bool:
        return self.eps is not None and not self.eps >= 0

    def of(self, rows: Rows) -> NDArray[np.bool_]:
        said = self.model.predict(rows.X)
        if self.labels:
            return np.asarray(said != rows.y)
        return np.asarray(~(np.abs(said - rows.y.astype(np.float64)) <= self.eps))


def _notes(model: Any) -> list[str]:
    seen: Seen | None = getattr(model, "seen_", None)
    if seen is None or seen.marks is None:
        return ["the model does not know the rows it was fitted to, so held-out rows cannot be compared with them"]
    if seen.share < 1:
        return [
            f"the file keeps a sample of the marks of the rows: {100 * seen.share:.2g}% of held-out rows are compared"
        ]
    return []


# ---------------------------------------------------------------- held-out rows


def _held_out(model: Any, error: Mistakes, given: Any, delta: float, equal_rows: str) -> tuple[Bound, list[str]]:
    name = "held-out rows"
    rows = Rows.of(model, given, "heldout")
    if rows.weight is not None:
        return refused(name, CLOPPER, "held-out rows with weights are not drawn like those to come"), []
    if error.unknown:
        return refused(name, CLOPPER, "no eps says which predictions are wrong: give eps"), []
    why, notes = _overlap(model, rows, equal_rows)
    if why is not None:
        return refused(name, CLOPPER, why), notes
    wrong, n = int(np.count_nonzero(error.of(rows))), len(rows.y)

    def at(part: float) -> Terms:
        return {"observed": wrong / n, "confidence": binomial_bound(wrong, n, 1 - part) - wrong / n}

    return proved(name, f"{CLOPPER}: {wrong} errors of {n}", at, delta, (IID_OUT,)), notes


def _overlap(model: Any, rows: Rows, equal_rows: str) -> tuple[str | None, list[str]]:
    """ValueError for a row that took part. Why not to believe in coincidence, and what to say of equal rows."""
    seen: Seen | None = getattr(model, "seen_", None)
    if seen is None or seen.marks is None:
        return None, []
    marks = marks_of(rows.table, _like_fit(model, rows.y))
    found = seen.where(marks)
    if not len(found):
        return None, []
    repeated = seen.distinct[1]
    rate = f"{repeated} of the {seen.rows} rows of the fit equal another one"
    if equal_rows == "refuse":
        raise ValueError(
            f"row {int(found[0])} of heldout took part in fitting, stopping or calibration (and {len(found) - 1} more "
            f"do): held-out rows must not. If equal rows are a coincidence here ({rate}), say equal_rows='allow' "
            "(--allow-equal-rows)"
        )
    compared = int(np.count_nonzero(marks <= np.uint64(seen.limit)))
    usual = compared * repeated / max(seen.rows, 1)  # among independent rows the same share equals another one
    if len(found) > FAR_MORE * usual + FAR_MORE:
        return f"{len(found)} of its {compared} rows took part in fitting: too many for a coincidence ({rate})", []
    return None, [f"{len(found)} held-out rows equal a row of the fit, taken as coincidence: {rate}"]


def _like_fit(model: Any, y: NDArray[Any]) -> NDArray[Any]:
    """Labels of the type they had in the fit, or targets as numbers."""
    if not hasattr(model, "classes_"):
        return y.astype(np.float64)
    return y if (y.dtype.kind in "biuf") == (model.classes_.dtype.kind in "biuf") else y.astype(str)


# ---------------------------------------------------------------- votes: classifiers


@dataclass(frozen=True)
class Vote:
    """One binary vote on n rows: y f / |alpha|_1, the size of alpha, and the price of its voters."""

    margins: Floats
    wrong: Floats  # 0 or 1
    parts: Parts
    shares: Floats  # of |alpha|_1 on every rung
    rungs: list[Complexity]
    whole: Complexity  # all rungs as one family
    log_any: float | None  # of the labelings of any 2 n rows by one voter


def _from_votes(model: Any, error: Mistakes, rows: Rows, delta: float, draws: int) -> list[Bound]:
    """The bounds on a weighted vote; of several classes fitted one against the rest, their sums."""
    own = _own_loss(model)
    names = [(f"vote, {loss.name} loss", QUADBOOST) for loss in dict.fromkeys((HINGE, own))]
    names += [("margins", DEEPBOOST), ("variance", BERNSTEIN)]
    try:
        _refuse_conditions(model, rows)
        votes = _votes(model, rows, draws)
    except ValueError as why:
        return [refused(name, source, str(why)) for name, source in names]
    assumed = (IID, *_assumed(model, votes))
    found = []
    for loss in dict.fromkeys((HINGE, own)):

        def vote_at(vote: Vote, part: float, loss: Any = loss) -> Terms:
            return bounds.vote_bound(vote.margins, vote.parts.count, vote.whole, part, loss)

        # but for the root of the norm the others are never smaller than the hinge loss at once or twice the norm
        at = _summed(votes, vote_at)
        found.append(proved(f"vote, {loss.name} loss", QUADBOOST, at, delta, assumed, loss is HINGE))
    found.append(proved("margins", DEEPBOOST, _summed(votes, _deep_at), delta, assumed))
    if any(vote.log_any is None for vote in votes):
        no_count = "M(n) counts labelings of any 2 n rows, and the number of categories or kernels has no bound"
        return [*found, refused("variance", BERNSTEIN, no_count)]
    if len(rows.y) < bounds.FEWEST:
        return [*found, refused("variance", BERNSTEIN, f"it needs {bounds.FEWEST} rows")]
    return [*found, proved("variance", BERNSTEIN, _summed(votes, _bernstein_at), delta, assumed)]


def _own_loss(model: Any) -> Any:
    """What the algorithm lowers, where it is one of the three."""
    name = type(model).__name__
    if name.startswith("Quad"):
        return LOSSES["quadratic"]
    return LOSSES["hinge"] if name.startswith(("LP", "RLP", "RQP", "Thinned")) else LOSSES["exponential"]


def _deep_at(vote: Vote, part: float) -> Terms:
    terms = bounds.deep_bound(vote.margins, vote.shares, vote.rungs, part)
    if len(vote.rungs) > 1:
        rates = np.array([one.at(part).r for one in vote.rungs])
        printed = bounds.deep_as_printed(vote.margins, terms["at rho"], vote.shares, rates, part)
        terms = {**terms, "as printed": printed}
    return terms


def _bernstein_at(vote: Vote, part: float) -> Terms:
    assert vote.log_any is not None
    n, parts = len(vote.wrong), vote.parts
    log_count = bounds.log_votes(2 * n, parts.count, parts.dimension, vote.log_any)
    return bounds.bernstein_bound(vote.wrong, log_count + bounds.log_sizes(parts.count, parts.dimension), part)


def _summed(votes: list[Vote], at: Callable[[Vote, float], Terms]) -> Callable[[float], Terms]:
    """An error is an error of at least one of the binary votes: their bounds add up, each with its part of delta.

    Of very many classes the sum ends where it is vacuous; "at classes" then tells how many it is over.
    """

    def summed(delta: float) -> Terms:
        every: list[Terms] = []
        so_far = 0.0
        for vote in votes:
            if len(every) >= CLASSES_SUMMED and so_far >= 1:
                return {**together(every), "at classes": float(len(every))}
            every.append(at(vote, delta / len(votes)))
            so_far += bounds.total(every[-1])
        return together(every)

    def together(every: list[Terms]) -> Terms:
        names = dict.fromkeys(name for terms in every for name in terms)
        if len(votes) > 1:
            names = {name: None for name in names if not name.startswith(("at ", "as "))}
        return {name: math.fsum(terms.get(name, 0.0) for terms in every) for name in names}

    return summed


def _refuse_conditions(model: Any, rows: Rows) -> None:
    seen: Seen | None = getattr(model, "seen_", None)
    if rows.weight is not None or (seen is not None and seen.weighted):
        raise ValueError("the rows have weights, so they are no sample of the rows to come")
    if getattr(model, "class_weight", None) is not None:
        raise ValueError("class_weight makes the rows another sample than the rows to come")
    if len(model.classes_) < 2:
        raise ValueError("training knew one class only")
    foreign = isinstance(model.ensemble_, ForeignEnsemble) and not isinstance(model.ensemble_, RowEnsemble)
    if foreign or not isinstance(model.ensemble_, Ensemble | ForeignEnsemble):
        raise ValueError("foreign voters: nothing bounds how complex they are")
    if len(model.classes_) > 2 and bool(np.any(model.ensemble_.about < 0)):
        raise ValueError("all classes vote at once: only one against the rest is a sum of binary bounds")


def _assumed(model: Any, votes: list[Vote]) -> tuple[str, ...]:
    said = []
    if getattr(model, "seen_", None) is None:
        said.append("the rows of the fit had no weights (the model does not know)")
    if isinstance(model.ensemble_, RowEnsemble):
        said.append("the columns are the voters' own, fixed before the rows were drawn")
    return tuple(said)


def _votes(model: Any, rows: Rows, draws: int) -> list[Vote]:
    """One vote, or one per class against the rest."""
    n, family = len(rows.y), _door(model)._family()
    rungs = rungs_of(family, n)
    shape, counted = _shape(model, rows)
    f = _raw(model, rows)
    codes = inputs.encode_labels(rows.y, model.classes_, np.ones(n), "train")
    second = [codes == 1] if len(model.classes_) == 2 else [codes == k for k in range(len(model.classes_))]
    prices = [rung.complexity(n, shape) for rung in rungs]
    whole = _drawn(family, rows, shape, draws) if draws else _whole(rungs, n, shape, prices, counted)
    log_any = None if counted else log_all(rungs, 2 * n, shape)
    made = []
    for label, is_second in enumerate(second):
        parts = parts_of(model.ensemble_, label if len(second) > 1 else -1)
        _refuse_scales(model)
        on = places(model.ensemble_, parts.voters, rungs, prices)
        shares = np.bincount(on, weights=np.abs(parts.steps), minlength=len(rungs))
        norm = float(shares.sum())
        votes = f[label] / norm if norm > 0 else np.zeros(n)
        margins = np.clip(np.where(is_second, votes, -votes), -1.0, 1.0) - ROUNDING
        wrong = (np.where(is_second, f[label] <= 0, f[label] > 0)).astype(np.float64)
        each: list[Complexity] = [Counted(price, counted) for price in prices] if len(rungs) > 1 else [whole]
        made.append(Vote(margins, wrong, parts, shares / max(norm, 1e-300), each, whole, log_any))
    return made


def _raw(model: Any, rows: Rows) -> Floats:
    """[vote, row] of f."""
    if hasattr(model, "_votes"):
        return np.asarray(model._votes(rows.X) / UNITS)
    return np.atleast_2d(np.asarray(model.decision_function(rows.X)).T)


def _refuse_scales(model: Any) -> None:
    if not isinstance(model.ensemble_, RowEnsemble):
        return
    for voter in model.ensemble_.fitted:
        if isinstance(voter, ColumnVoter) and voter.scale != 1:
            raise ValueError(f"column {voter.column} is divided by its largest size, which the rows decided")


def _shape(model: Any, rows: Rows) -> tuple[Shape, bool]:
    """What the columns are, and whether that was counted on these rows.

    Of numbers nothing is counted: 4 n labelings, missing values or not. Of categories, the levels that are there.
    """
    if not isinstance(model.ensemble_, Ensemble):
        return Shape(numeric=model.n_features_in_), False
    categories = _door(model).bins_.categories
    levels = tuple(_levels(rows.table, j, categories[j].is_text) for j in sorted(categories))
    return Shape(0, model.n_features_in_ - len(levels), levels), bool(levels)


def _levels(table: Any, column: int, is_text: bool) -> int:
    """Distinct categories of a column, with one more for missing values."""
    if is_text:
        return len(table.levels(column)) + 1
    values = table.numbers(0, table.n_rows, [column])[0]
    return len(np.unique(values[~np.isnan(values)])) + 1


def _whole(rungs: list[Rung], n: int, shape: Shape, prices: list[float], counted: bool) -> Complexity:
    log_count = log_all(rungs, n, shape)
    if log_count is None:
        return Counted(sum(prices), counted)
    return Counted(math.sqrt(2 * log_count / n), counted)


def _drawn(family: Any, rows: Rows, shape: Shape, draws: int) -> Complexity:
    """By Monte Carlo, where the search of the family finds the best voter of the whole rung."""
    from electorate.inspection.family_complexity import empirical_rademacher

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


# ---------------------------------------------------------------- medians: regressors


def _from_median(model: Any, error: Mistakes, rows: Rows, delta: float, draws: int) -> list[Bound]:
    from electorate.inspection.median_bounds import median_bounds

    return median_bounds(model, error, rows, delta)
