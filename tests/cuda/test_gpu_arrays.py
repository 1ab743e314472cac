"""On a GPU (`pytest -m gpu`): predictions of rows that live there have the bits of the CPU; DLPack; PyTorch."""

import numpy as np
import pytest

import electorate as el
from electorate.cuda.device import open_device
from tests.cuda.device_cases import CLASSIFIERS, MODELS, ODDITIES, with_options

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::UserWarning")]
NUMBERS = [name for name in ODDITIES if name not in ("sparse", "validation_rows")]


class OnlyDlpack:
    """An array of a library that has nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("oddity", NUMBERS)
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_the_cpu(name, oddity):
    rows = ODDITIES[oddity](np.random.default_rng(len(name) * len(oddity)), 900)
    y = np.digitize(rows.y, [-0.2, 0.4] if "3 classes" in name else [0.1]) if name in CLASSIFIERS else rows.y
    model = with_options(name, rows)
    there = open_device().xp.asarray(rows.X)
    model.fit(there, y, rows.weight)
    here = model.__class__(**model.get_params(deep=False)).fit(rows.X, y, rows.weight)
    assert model.digest_ == here.digest_
    for method in ("decision_function", "predict", "predict_proba") if name in CLASSIFIERS else ("predict",):
        found, expected = getattr(model, method)(there), getattr(here, method)(rows.X)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.get(), expected)


def test_results_are_arrays_of_the_library_of_x():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=500) > 0).astype(np.int64)
    here = el.AdaBoostClassifier(n_estimators=4).fit(X, y)
    there, labels = torch.from_numpy(X).cuda(), torch.from_numpy(y).cuda()
    assert el.AdaBoostClassifier(n_estimators=4).fit(there, labels).digest_ == here.digest_
    only = OnlyDlpack(open_device().xp.asarray(X))
    assert el.AdaBoostClassifier(n_estimators=4, device="cuda").fit(only, y).digest_ == here.digest_
    for method in ("decision_function", "predict", "predict_proba"):
        found, expected = getattr(here, method)(there), getattr(here, method)(X)
        assert isinstance(found, torch.Tensor)
        assert found.device.type == "cuda"
        np.testing.assert_array_equal(found.cpu().numpy(), expected)
        np.testing.assert_array_equal(getattr(here, method)(only).get(), expected)
