"""A prior from a part of the rows, and the search on the others for the vote with the least bound under it."""

import hashlib
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from electorate.certified.described_ensemble import empty_ensemble, ensemble_of, joint_bins
from electorate.certified.description import Code
from electorate.certified.description_search import WEIGHTS, CountedExamples, Described, DescriptionSearch, Start
from electorate.certified.prior_tests import PriorTests, coarse_codes
from electorate.data import inputs
from electorate.data.bins import Bins, no_bins
from electorate.estimators.adaboost import AdaBoostClassifier
from electorate.exact import UNITS, Bools, Hashes, Ints, on_grid
from electorate.model.ensemble import Ensemble
from electorate.theory.binomial import priced_bound

SEARCHED = 1  # of the starts from the prior's own votes: the one with the least bound
NO_MORE = 0.75  # the probability that no voter is added to a start from the prior's votes
OTHER = -1  # in place of a class: a label that the model cannot predict
DEFAULT = 0.5  # the weight of the default class, in units: it decides ties


class PriorOptions(NamedTuple):
    """Parameters of the estimator that shape a prior."""

    family: Any
    rounds: int
    n_estimators: int
    max_terms: int
    categorical_features: Any
    n_classes: int


class PriorPart(NamedTuple):
    """Some rows: as they were given, as a table, and their labels as numbers; OTHER for a label that is no class."""

    X: Any
    table: Any
    labels: Ints


@dataclass(frozen=True)
class Opening:
    """A start of the search: some voters of the prior, or a default class."""

    start: Start
    prior_voters: int
    default: int | None


@dataclass(frozen=True)
class FoundPrior:
    """The vote with the least bound of one prior, and what it was found from."""

    described: Described
    prior_voters: int
    ensemble: Ensemble
    bins: Bins
    prior_rows: int
    rows: int


def draw_positions(marks: Hashes, size: int, seed: list[int]) -> tuple[Ints, Ints]:
    """Return the positions of the prior rows and those of the counted rows among rows in the order of their marks.

    Marks are hashes of a row with its label, so that the order in which rows were given does not matter. Positions are
    drawn, not marks: equal rows fall on both sides. The draw also depends on all marks together. Otherwise a seed
    would always choose the same ranks, and where few distinct rows are repeated many times the bound would fail for
    some seeds far more often than delta, and for others never.
    """
    table = hashlib.blake2b(np.ascontiguousarray(marks, dtype="<u8").tobytes(), digest_size=16).digest()
    order = np.random.default_rng([*seed, int.from_bytes(table, "little")]).permutation(len(marks))
    return np.sort(order[:size]), np.sort(order[size:])


def search_prior(part: PriorPart, counted: PriorPart, options: PriorOptions, delta: float) -> FoundPrior:
    """part: the rows that shape the prior, all with a class; counted: those that choose, and count."""
    if options.n_classes == 1:
        return _only_class(part, counted, delta)
    categorical = inputs.category_columns(part.table, options.categorical_features, part.table.category_columns())
    tests = PriorTests.of(part.table, part.labels, options.n_classes, categorical)
    known = counted.labels != OTHER
    codes = coarse_codes(counted.table, tests.bins)[:, known]
    lost = int(np.count_nonzero(~known))
    rows = CountedExamples(codes, tests, counted.labels[known], options.n_classes, lost)
    prior = _first_vote(part, options)
    sizes = [] if prior is None else [2**k for k in range(prior.ensemble_.n_voters.bit_length())]
    head = math.log2(1 + len(sizes))
    openings = [_without_votes(rows, tests, options, head)]
    if prior is not None:
        openings += _with_votes(prior, sizes, (counted.X, known), tests, options, head)
    searches = [(opening, DescriptionSearch(rows, opening.start, delta, options.n_estimators)) for opening in openings]
    later = sorted(searches[1:], key=lambda pair: pair[1].describe(()).bound)
    tried = [(search.run(), opening) for opening, search in [searches[0], *later[:SEARCHED]]]
    best, opening = min(tried, key=lambda pair: pair[0].bound)
    return _found(best, opening, tests, prior, options, (len(part.labels), rows.n_counted))


def _only_class(part: PriorPart, counted: PriorPart, delta: float) -> FoundPrior:
    """The model of the only class, which takes no bits: its errors are the counted rows with other labels."""
    errors, n_rows = int(np.count_nonzero(counted.labels == OTHER)), len(counted.labels)
    described = Described((), 0.0, errors, priced_bound(errors, n_rows, math.log(1 / delta)))
    n_columns = part.table.n_columns
    return FoundPrior(described, 0, empty_ensemble(n_columns, 1), no_bins(n_columns), len(part.labels), n_rows)


def _first_vote(part: PriorPart, options: PriorOptions) -> AdaBoostClassifier | None:
    """AdaBoost on the prior rows, if they have all classes and it finds a voter."""
    if not options.rounds or len(np.unique(part.labels)) < options.n_classes:
        return None
    model = AdaBoostClassifier(
        options.family, n_estimators=options.rounds, categorical_features=options.categorical_features, n_jobs=1
    ).fit(part.X, part.labels)
    return model if model.ensemble_.n_voters else None


def _code(tests: PriorTests, options: PriorOptions, head: float, none: float = Code.none) -> Code:
    sizes = options.n_classes, len(WEIGHTS), options.max_terms
    return Code(tests.shares, tests.column, tests.bits, *sizes, head, none)


def _without_votes(rows: CountedExamples, tests: PriorTests, options: PriorOptions, head: float) -> Opening:
    """Return the start from the default class, which is named too; it decides ties."""
    default = int(np.argmax(np.bincount(rows.labels, minlength=options.n_classes)))
    votes = np.zeros((rows.n_rows, options.n_classes))
    votes[:, default] = DEFAULT
    code = _code(tests, options, head + math.log2(options.n_classes))
    return Opening(Start(votes, 1.0, code), 0, default)


def _with_votes(
    prior: AdaBoostClassifier,
    sizes: list[int],
    counted: tuple[Any, Bools],
    tests: PriorTests,
    options: PriorOptions,
    head: float,
) -> list[Opening]:
    """Return the starts from the first 1, 2, 4, ... voters of the prior. A unit is half of their median step.

    counted: the rows that count, and which of them have a class.
    """
    X, known = counted
    openings = []
    for n_voters, votes in prior._staged_votes(X):
        if n_voters in sizes:
            f = votes[:, known] / UNITS
            each = np.stack([np.zeros(f.shape[1]), f[0]], axis=1) if options.n_classes == 2 else f.T.copy()
            unit = float(on_grid(max(float(np.median(prior.steps_[:n_voters])) / 2, 2.0**-20)))
            openings.append(Opening(Start(each, unit, _code(tests, options, head, NO_MORE)), n_voters, None))
    return openings


def _found(
    best: Described,
    opening: Opening,
    tests: PriorTests,
    prior: AdaBoostClassifier | None,
    options: PriorOptions,
    sizes: tuple[int, int],
) -> FoundPrior:
    """The ensemble of the vote."""
    n_columns = len(tests.bins.n_bins)
    first, bins = empty_ensemble(n_columns, options.n_classes), tests.bins
    if prior is not None and opening.prior_voters:
        used = list(range(opening.prior_voters))
        first = prior.ensemble_.chosen(used, prior.steps_[used].tolist())
        bins = joint_bins(tests.bins, prior.bins_)
    default = None if opening.default is None else (opening.default, DEFAULT)
    weights = np.array(WEIGHTS) * opening.start.unit
    ensemble = ensemble_of(first, default, best.voters, tests, weights)
    return FoundPrior(best, opening.prior_voters, ensemble, bins, *sizes)
