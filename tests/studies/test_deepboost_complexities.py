"""DeepBoost with provable complexities beside the paper's."""

import math
from pathlib import Path

import pytest

from electorate import DeepBoostClassifier, PairedStumps, Stumps, Trees, Union
from electorate.families.priced_trees import Prices
from electorate.theory.complexity import Shape
from electorate_studies import deepboost_variants as complexities
from electorate_studies.runs import Outcome, Row, Unit, by_algorithm


@pytest.mark.parametrize(("n", "d"), [(100, 3), (11_000, 400)])
def test_the_values_are_those_that_deepboost_pays(n: int, d: int) -> None:
    """Lambda = lam r + beta: at lam = 1 and beta = 0 the price of a voter is r."""
    families = {"stumps": (Stumps(), 1), "paired stumps": (PairedStumps(), 3)}
    families |= {name: (Trees(8), splits) for name, splits in complexities.SPLITS.items()}
    for name, both in complexities.values(n, d).items():
        for kind, r in zip(("published", "provable"), both, strict=True):
            assert r == pytest.approx(Prices(1.0, 0.0, n, d, Shape(numeric=d), kind).of(*families[name])), (name, kind)


def test_a_provable_complexity_counts_the_labelings() -> None:
    """Stumps on m rows of d columns have 2 m d labelings, so eq. 7 is provable there; eq. 9 is larger than needed."""
    both = complexities.values(500, 10)
    assert both["stumps"] == pytest.approx([math.sqrt(2 * math.log(2 * 500 * 10) / 500)] * 2)
    assert both["trees, 7 splits"][1] < both["trees, 7 splits"][0]


def test_only_the_complexity_changes() -> None:
    model = DeepBoostClassifier(Union([Stumps(), PairedStumps()]), lam=0.1, beta=0.2, n_estimators=7)
    changed = complexities.with_complexity(model, 50)
    assert {key for key, value in vars(changed).items() if repr(value) != repr(vars(model)[key])} == {"complexity"}
    assert model.complexity == "published"
    assert {complexities.with_complexity(model, 50, kind).complexity for kind in complexities.KINDS.values()} == {
        "provable",
        "depth",
    }
    assert {complexities.COMPLEXITIES[key] for key, kind in complexities.KINDS.items() if kind == "depth"} == {"2", "3"}


def test_the_page_compares_the_folds_of_both() -> None:
    rows = [Row(Unit("2", "german", fold), Outcome("DeepBoost", 0.25, 1.0, {}, 7.0, 50.0), "c") for fold in range(3)]
    assert complexities.compared_folds(by_algorithm(rows)["2", "german", "DeepBoost"], {}) == []
    assert complexities.complexity_lines(rows, {}, Path(), 0.8) == []
    rows += [
        Row(Unit("9", "german", fold), Outcome("DeepBoost", error, 1.0, {}, 9.0, 40.0), "c")
        for fold, error in ((1, 0.24), (2, 0.20), (3, 0.0))
    ]
    found = by_algorithm(rows)
    line = complexities.compared_folds(*(found[table, "german", "DeepBoost"] for table in ("2", "9")))
    assert line == [2, "25.00 / 22.00", "-3.00 ± 2.00", "50.0 / 40.0", "7.00 / 9.00"]
