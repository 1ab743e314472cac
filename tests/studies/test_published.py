"""The published figures as we hold them: whole, and in agreement with what the papers count and claim from them."""

import os
from pathlib import Path

import numpy as np
import pytest

from electorate_studies import adaboost_r, deepboost, quadboost, vadaboost
from electorate_studies.binary_sets import read_set
from electorate_studies.runs import Unit

DATA = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here")
FIGURE_4 = np.array(list(adaboost_r.FIGURE_4.values()))


def test_figure_4_has_the_means_of_its_25_domains() -> None:
    assert list(adaboost_r.FIGURE_4) == list(adaboost_r.DOMAINS)
    np.testing.assert_allclose(FIGURE_4.mean(axis=0), (20.61, 20.09, 19.66, 18.88, 18.13, 18.07), atol=0.006)


def test_figure_4_counts_its_best() -> None:
    for half, place in ((FIGURE_4[:, :3], slice(0, 3)), (FIGURE_4[:, 3:], slice(3, 6))):
        best = (half == half.min(axis=1, keepdims=True)).sum(axis=0)
        assert tuple(best) == adaboost_r.COUNTS["best"][place]


def test_deepboost_is_never_worse_in_its_tables() -> None:
    """What section 4 claims; in Table 2 it matches AdaBoost-L1 once."""
    for table, sets in deepboost.PUBLISHED.items():
        for text in sets.values():
            errors = [figure.mean for figure in deepboost.published(text)]
            assert len(errors) == len(deepboost.ALGORITHMS[table])
            assert errors[-1] == min(errors)


def test_vadaboosts_tables_have_all_sets_and_algorithms() -> None:
    for table, sets in vadaboost.PUBLISHED.items():
        assert list(sets) == list(vadaboost.SETS)
        assert {len(vadaboost.published(text)) for text in sets.values()} == {len(vadaboost.ALGORITHMS[table])}


def test_quadboosts_table_is_whole() -> None:
    assert list(quadboost.PUBLISHED) == list(quadboost.SETS)
    assert quadboost.FULL.rounds("QuadBoost-L2")[-1] == 10**5
    assert quadboost.FULL.rounds("AdaBoost")[0] == 100


@needs_data
def test_every_set_has_two_classes() -> None:
    sources = [*deepboost.SETS.values(), *vadaboost.SETS.values(), *quadboost.SETS.values()]
    sources += [domain for domain in adaboost_r.DOMAINS.values() if not isinstance(domain, adaboost_r.Simulated)]
    for source in dict.fromkeys(source for source in sources if source.file != "mnist"):
        assert set(np.unique(read_set(source, DATA).y)) == {0, 1}, source


@needs_data
def test_folds_and_splits_do_not_overlap() -> None:
    for fold in range(10):
        parts = deepboost.split(203, fold)
        assert sorted(np.concatenate(parts)) == list(range(203))
    tested = np.concatenate([deepboost.split(203, fold)[2] for fold in range(10)])
    assert sorted(tested) == list(range(203))
    data = read_set(vadaboost.SETS["wisc"], DATA)
    parts = vadaboost.parts_of(data, Unit("1", "wisc", 3), vadaboost.PAPER)
    assert [len(part.y) for part in (parts.train, parts.validation, parts.test)] == [349, 175, 175]


@needs_data
def test_rules_on_votes_land_where_the_paper_does() -> None:
    """All is known of this domain: rules of two tests, D, U and T after 10 and 50 rounds; here in 5 folds."""
    found = adaboost_r.cross_validate(Unit("4", "Votes", 0), DATA, adaboost_r.Plan(folds=5))
    ours = {one.algorithm: 100 * one.error for one in found}
    for name, published in zip(adaboost_r.ALGORITHMS, adaboost_r.FIGURE_4["Votes"], strict=True):
        assert ours[name] == pytest.approx(published, abs=3)
