"""On a GPU (`pytest -m gpu`): every kernel against its twin, and the digests of the CPU over a table of cases."""

import numpy as np
import pytest

from electorate.cuda.device import Reference, open_device
from tests.cuda.device_cases import MODELS, ODDITIES, digests
from tests.cuda.kernel_cases import CASES

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_and_its_twin_give_the_same_bits(name):
    here, there = (CASES[name](device, np.random.default_rng(1)) for device in (Reference(), open_device()))
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("oddity", ODDITIES)
@pytest.mark.parametrize("model", MODELS)
def test_the_digest_is_that_of_the_cpu(model, oddity):
    cpu, gpu = digests(model, oddity)
    assert gpu == cpu
