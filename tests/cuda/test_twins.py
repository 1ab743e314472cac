"""The engine of a GPU, with the twins in place of its kernels, fits the models of the CPU."""

import numpy as np
import pytest

from electorate.cuda.device import Reference
from tests.cuda.device_cases import MODELS, ODDITIES, digests
from tests.cuda.kernel_cases import CASES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
FEW = 260  # rows
PAIRS = [(model, list(ODDITIES)[k % len(ODDITIES)]) for k, model in enumerate([*MODELS, *MODELS, *MODELS])]


@pytest.fixture(autouse=True)
def reference(monkeypatch):
    monkeypatch.setenv("ELECTORATE_CUDA", "reference")


@pytest.mark.parametrize(("model", "oddity"), PAIRS)
def test_the_digest_is_that_of_the_cpu(model, oddity):
    cpu, twins = digests(model, oddity, FEW)
    assert twins == cpu


def test_large_nodes_are_summed_not_collected():
    cpu, twins = digests("AdaBoost, trees", "real_weights", 9000)
    assert twins == cpu


@pytest.mark.parametrize("name", CASES)
def test_the_cases_of_the_kernels_are_more_than_zeros(name):
    found = CASES[name](Reference(), np.random.default_rng(1))
    assert any(np.unique(each).size > 2 for each in found)
