"""CertifiedClassifier: the bound is what its description proves, and the model is what it describes."""

import math
import pickle
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV

from electorate import CertifiedClassifier, certificate, load
from electorate.certified.description import CodedVoter, Literal
from electorate.certified.description_prior import (
    PriorOptions,
    PriorPart,
    _code,
    _without_votes,
    draw_positions,
    search_prior,
)
from electorate.certified.description_search import CountedExamples, DescriptionSearch, Start
from electorate.certified.prior_tests import PriorTests, coarse_codes
from electorate.data.table import read_table
from electorate.families.trees import Stumps
from electorate.modelfile import ModelFormatError
from tests.common.cases import DATA

CARD = {"prior_rounds": 0, "n_estimators": 6}


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def card(cancer):
    return CertifiedClassifier(**CARD).fit(*cancer)


def prior_of(model, y, place):
    """The prior rows of one fraction and the counted ones, drawn again as the documentation says."""
    seed = int(np.random.RandomState(model.random_state).randint(2**31 - 1))
    marks = model.seen_.marks
    order = np.lexsort((y, marks))
    drawn, counted = draw_positions(marks[order], math.ceil(model.prior_fractions[place] * len(y)), [seed, place])
    return order[drawn], order[counted]


@pytest.mark.parametrize("parameters", [{}, CARD, {**CARD, "max_terms": 1}])
def test_the_bound_is_the_binomial_tail_of_the_description(cancer, parameters):
    X, y = cancer
    model = CertifiedClassifier(prior_fractions=(0.2,), **parameters).fit(X, y)
    about = model.description_
    part, counted = prior_of(model, y, 0)
    assert (about.prior_rows, about.rows) == (len(part), len(counted))
    assert np.count_nonzero(model.predict(X[counted]) != y[counted]) == about.errors
    price = about.bits * math.log(2) + math.log(1 / model.delta)
    assert binom.logcdf(about.errors, about.rows, model.bound_) == pytest.approx(-price, rel=1e-6)
    assert about.prior_voters + about.voters <= model.ensemble_.n_voters
    assert certificate(model)["description"].value == pytest.approx(model.bound_)


@pytest.mark.parametrize("data", DATA)
def test_counted_errors_are_those_of_the_model(data):
    """With missing values, categories, ties and several classes."""
    X, y = DATA[data]
    model = CertifiedClassifier(prior_fractions=(0.3,), **CARD).fit(X, y)
    _, counted = prior_of(model, y, 0)
    some = X.iloc[counted] if isinstance(X, pd.DataFrame) else X[counted]
    assert np.count_nonzero(model.predict(some) != y[counted]) == model.description_.errors
    assert model.description_.errors / model.description_.rows < model.bound_ <= 1
    assert np.array_equal(model.classes_[np.argmax(model.predict_proba(X), axis=1)], model.predict(X))


def test_the_choice_of_a_fraction_is_paid_for(cancer):
    """The least of J bounds costs log2 J bits."""
    one = CertifiedClassifier(prior_fractions=(0.2,), **CARD).fit(*cancer)
    four = CertifiedClassifier(prior_fractions=(0.2, 0.9, 0.9, 0.9), **CARD).fit(*cancer)
    assert four.description_ == one.description_._replace(bits=one.description_.bits + 2)
    assert four.bound_ > one.bound_


def search_on(X, y, max_terms=1):
    """A search over rows that are prior and counted rows at once: for its arithmetic only."""
    table, n_classes = read_table(X), int(y.max()) + 1
    tests = PriorTests.of(table, y, n_classes, [])
    rows = CountedExamples(coarse_codes(table, tests.bins), tests, y, n_classes)
    options = PriorOptions(Stumps(), 0, 5, max_terms, None, n_classes)
    return rows, tests, options


def test_ties_do_not_look_at_the_order():
    """Equal votes go to the default class, whatever the order of the voters: so the order is free."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (50, 3)).astype(float), rng.integers(0, 3, 50)
    rows, tests, options = search_on(X, y)
    opening = _without_votes(rows, tests, options, 0.0)
    search = DescriptionSearch(rows, opening.start, 0.05, 5)
    voters = [CodedVoter((Literal(place, True),), *pair, 0) for place, pair in enumerate([(0, 1), (2, 0), (1, 2)])]
    first = search.describe(tuple(voters))
    for order in permutations(voters):
        found = search.describe(order)
        assert (found.bits, found.errors) == (pytest.approx(first.bits), first.errors)
    votes = search.votes([])
    assert np.all(np.argmax(votes, axis=1) == opening.default)


def test_prior_rows_are_drawn_by_the_seed_not_by_their_contents():
    """Equal rows are in both parts, and another seed draws others."""
    X, y = np.zeros((40, 2)), np.repeat([0, 1], 20)
    X[:, 1] = np.arange(40) % 2
    models = [CertifiedClassifier(random_state=seed, **CARD).fit(X, y) for seed in (0, 1)]
    assert all(model.description_.prior_rows in (4, 20) for model in models)
    parts = [prior_of(model, y, 0)[0].tolist() for model in models]
    assert parts[0] != parts[1]
    assert {row % 2 for row in prior_of(models[0], y, 1)[0]} == {0, 1}


@pytest.mark.parametrize("parameters", [{}, CARD])
@pytest.mark.parametrize("data", ["categories", "five-labels"])
def test_the_order_of_the_rows_does_not_matter(data, parameters):
    X, y = DATA[data]
    digests = set()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(y))
        some = X.iloc[order] if isinstance(X, pd.DataFrame) else X[order]
        digests.add(CertifiedClassifier(**parameters).fit(some, y[order]).digest_)
    assert len(digests) == 1


@pytest.mark.parametrize("seed", [0, 6])
def test_the_bound_holds_where_all_rows_have_the_same_features(seed):
    """Drawn by hashes of rows, equal rows would be on one side, and the bound would fail in half of the cases.

    Drawn as fixed ranks of the sorted rows, it would fail in up to a third of the cases, depending on the seed.
    """
    failed = 0
    for number in range(200):
        y = (np.random.default_rng(number).random(200) < 0.4).astype(int)
        model = CertifiedClassifier(prior_rounds=0, n_estimators=1, random_state=seed).fit(np.zeros((200, 1)), y)
        failed += model.bound_ < (0.4 if model.predict([[0.0]])[0] == 0 else 0.6)
    assert failed <= 20  # 10 are allowed on average


def test_the_prior_does_not_look_at_the_counted_rows(cancer):
    """Tests and first votes are the same, whatever the labels of the counted rows."""
    X, y = cancer
    X, y = X[:200], y[:200]
    options = PriorOptions(Stumps(), 5, 0, 1, "from_dtype", 2)
    part, rest = np.arange(100), np.arange(100, 200)
    found = []
    for labels in (y, np.where(np.arange(200) < 100, y, 1 - y)):
        parts = [PriorPart(X[rows], read_table(X[rows]), labels[rows]) for rows in (part, rest)]
        found.append(PriorTests.of(parts[0].table, parts[0].labels, 2, []))
        assert search_prior(*parts, options, 0.05).described.bits <= 2 + math.log2(4) + 1
    assert all(np.array_equal(a.members, b.members) for a, b in zip(found[0].tests, found[1].tests, strict=True))
    np.testing.assert_array_equal(found[0].shares, found[1].shares)


def test_categories_of_the_counted_rows_do_not_change_the_code():
    """Of the categories that a column can have, only those of the prior rows are named."""
    X, y = DATA["categories"]
    more = X.assign(color=X["color"].cat.add_categories([f"unused {number}" for number in range(100)]))
    found = [CertifiedClassifier(**CARD).fit(frame, y) for frame in (X, more)]
    assert found[0].description_ == found[1].description_


def test_search_starts_from_a_vote():
    rows, tests, options = search_on(np.arange(30.0)[:, None], (np.arange(30) > 14).astype(int))
    code = DescriptionSearch(rows, Start(np.zeros((30, 2)), 1.0, _code(tests, options, 0.0)), 0.05, 3).run()
    assert code.errors <= 1  # the cuts are quantiles
    assert len(code.voters) == 1


def test_print_has_rules_and_the_sentence(card):
    text = str(card)
    assert "if " in text
    assert "With 95% confidence, this model is wrong on at most" in text
    assert "drawn independently" in text.replace("\n", " ")
    assert f"{100 * card.bound_:.2f}%" in text
    assert "CertifiedClassifier" in str(CertifiedClassifier())


def test_one_class():
    model = CertifiedClassifier().fit(np.arange(10.0)[:, None], ["a"] * 10)
    assert model.bound_ == pytest.approx(1 - (0.05 / 2) ** (1 / 9))  # two fractions; the class takes no bits
    assert set(model.predict([[3.0]])) == {"a"}


def test_the_bound_holds_for_more_labels_than_rows():
    """Labels without any relation to the rows: any model is wrong on all but one in 1,000 or 100 of new rows."""
    for n_labels, most in ((1000, 0), (100, 4)):
        failed = 0
        for seed in range(100):
            rng = np.random.default_rng(seed)
            X, y = rng.normal(size=(20, 2)), rng.integers(0, n_labels, 20)
            model = CertifiedClassifier(prior_rounds=0, n_estimators=0).fit(X, y)
            failed += model.bound_ < 1 - 1 / n_labels
        assert failed <= most


def test_the_code_has_the_labels_of_the_prior_rows_only(cancer):
    """Labels that only occur among counted rows count as errors, and the description is as short as without them."""
    X, y = cancer[0], cancer[1].copy()
    y[:60] = np.arange(60) + 2
    model = CertifiedClassifier(prior_fractions=(0.2,), prior_rounds=0, n_estimators=0).fit(X, y)
    drawn, counted = prior_of(model, y, 0)
    assert model.classes_.tolist() == sorted(set(y[drawn].tolist()))
    assert 10 < len(model.classes_) < 30
    assert model.description_.bits == 1 + math.log2(len(model.classes_))  # no voters, and a default class
    assert np.count_nonzero(model.predict(X[counted]) != y[counted]) == model.description_.errors


def test_given_classes(cancer, tmp_path):
    X, y = cancer
    y = np.array(["benign", "malignant"])[y]
    four = CertifiedClassifier(classes=["malignant", "benign", "c", "d"], **CARD).fit(X, y)
    two = CertifiedClassifier(classes=np.array(["benign", "malignant"], dtype=object), **CARD).fit(X, y)
    assert four.classes_.tolist() == ["benign", "c", "d", "malignant"]
    assert two.digest_ == CertifiedClassifier(**CARD).fit(X, y).digest_
    assert four.bound_ > two.bound_  # every class that is named costs more bits
    four.save(tmp_path / "model")
    assert load(tmp_path / "model").digest_ == four.digest_
    one = CertifiedClassifier(classes=["benign"], **CARD).fit(X, y)
    assert set(one.predict(X)) == {"benign"}
    assert one.description_.errors <= np.count_nonzero(y == "malignant")
    with pytest.raises(ValueError, match="none is one of classes"):
        CertifiedClassifier(classes=[0, 1]).fit(X, y)


def test_file(card, cancer, tmp_path):
    X, _ = cancer
    for number, model in enumerate((card, CertifiedClassifier(prior_rounds=3).fit(*load_iris(return_X_y=True)))):
        model.save(tmp_path / str(number))
        again = load(tmp_path / str(number))
        assert again.digest_ == model.digest_
        assert (again.bound_, again.description_) == (model.bound_, model.description_)
        assert str(again) == str(model)
    np.testing.assert_array_equal(load(tmp_path / "0").predict(X), card.predict(X))
    assert pickle.loads(pickle.dumps(card)).digest_ == card.digest_
    assert certificate(load(tmp_path / "0"))["description"].value == pytest.approx(card.bound_)


@pytest.mark.parametrize(
    "wrong", [{"errors": 10**6}, {"bits": -1.0}, {"bits": math.nan}, {"rows": 0}, {"voters": 0.5}, {"rows": math.inf}]
)
def test_a_file_with_another_description_is_refused(card, tmp_path, wrong):
    changed = clone(card)
    changed.__dict__.update(card.__dict__)
    changed.description_ = card.description_._replace(**wrong)
    changed.save(tmp_path / "model")
    with pytest.raises(ModelFormatError):
        load(tmp_path / "model")


def test_grid_search(cancer):
    X, y = cancer
    search = GridSearchCV(CertifiedClassifier(**CARD), {"max_terms": [1, 2], "estimator": [None, Stumps()]}, cv=2)
    assert search.fit(X[:200], y[:200]).best_score_ > 0.8


def test_weights_are_refused(cancer):
    with pytest.raises(TypeError, match="sample_weight"):
        CertifiedClassifier().fit(*cancer, sample_weight=np.ones(569))


@pytest.mark.parametrize("fractions", [(), (0.0,), (0.5, 1.0), (-0.1,)])
def test_bad_fractions(fractions, cancer):
    with pytest.raises(ValueError, match="prior_fractions"):
        CertifiedClassifier(prior_fractions=fractions).fit(*cancer)


def test_the_other_bounds_are_not_computed(card, cancer):
    found = certificate(card, train=cancer, delta=0.1)
    assert [bound.name for bound in found.risk] == ["description"]
    assert found.best.value < card.bound_


def test_exports(card):
    assert card.to_sql().count("CASE") >= card.description_.voters
