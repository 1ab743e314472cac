"""Labels by a table give the same classes and codes as sorting."""

import numpy as np
import pytest

from electorate.data import factors as label_codes
from electorate.data.factors import MOST_VALUES, codes_of, distinct

N = MOST_VALUES + 5
WHOLE = np.random.default_rng(0).integers(-3, 4, N)
LABELS = {
    "small integers": WHOLE,
    "bytes": WHOLE.astype(np.int8),
    "unsigned": (WHOLE + 3).astype(np.uint64),
    "booleans": WHOLE > 0,
    "far apart": WHOLE * 10**6,
    "few rows": WHOLE[:50],
    "floats": WHOLE / 2,
    "large": WHOLE + 2**62,
}


@pytest.mark.parametrize("name", LABELS)
def test_as_by_sorting(name):
    labels = LABELS[name]
    classes, codes = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(distinct(labels), classes)
    assert distinct(labels).dtype == classes.dtype
    found, other = codes_of(labels, classes)
    np.testing.assert_array_equal(found, codes)
    assert other is None or not other.any()


def test_labels_that_are_no_class_are_marked():
    _, other = codes_of(WHOLE, np.array([-3, 0, 3, 10**9]))
    np.testing.assert_array_equal(other, ~np.isin(WHOLE, [-3, 0, 3]))


def test_the_table_is_used(monkeypatch):
    monkeypatch.setattr(label_codes.np, "unique", None)
    np.testing.assert_array_equal(distinct(WHOLE), np.arange(-3, 4))
