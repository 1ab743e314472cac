"""Floors of the integer grid: sums fit, rounding is small, and a resumed run finds the same grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    DeepBoostClassifier,
    EBBoostClassifier,
    RealAdaBoostClassifier,
    Stumps,
    VadaBoostClassifier,
)
from electorate.algorithms.ebboost import SquaredWeight
from electorate.algorithms.losses import Logistic, LossSlope, SquaredHinge
from electorate.algorithms.protocol import Channel, ExponentialWeight, Floors
from electorate.algorithms.vadaboost import PenalisedWeight
from electorate.training.scale import Scale, totals_of

MODELS = {
    "AdaBoost": AdaBoostClassifier(learning_rate=4.0),
    "Real AdaBoost": RealAdaBoostClassifier(),
    "AdaBoost_R": AdaBoostRClassifier(),
    "VadaBoost": VadaBoostClassifier(),
    "EBBoost": EBBoostClassifier(learning_rate=3.0),
    "DeepBoost": DeepBoostClassifier(Stumps()),
    "DeepBoost, logistic": DeepBoostClassifier(Stumps(), loss="logistic"),
    "DeepBoost, hinge": DeepBoostClassifier(Stumps(), loss=SquaredHinge()),
}
CHANNELS = [ExponentialWeight(), SquaredWeight(), PenalisedWeight(lam=0.3), LossSlope(loss=Logistic())]


def rows(seed: int = 0, n: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noisy labels, and weights that span many orders of magnitude."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int), np.exp(4 * rng.normal(size=n))


@pytest.fixture
def scales(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Per round: the scale, its row of history, its floors and its sums."""
    seen: list[tuple[Any, ...]] = []
    advance = Scale.advance

    def recorded(self: Scale, *arguments: Any) -> None:
        advance(self, *arguments)
        seen.append((self, self.columns(), self.floors, self.sums))

    monkeypatch.setattr(Scale, "advance", recorded)
    return seen


@pytest.mark.parametrize("name", MODELS)
def test_sums_fit_and_rounding_is_small(name: str, scales: list[tuple[Any, ...]]) -> None:
    clone(MODELS[name]).set_params(n_estimators=15).fit(*rows())
    assert len(scales) > 3
    for scale, _, _, sums in scales:
        for total in totals_of(sums):
            assert scale.engine.full >> 4 <= total <= scale.engine.full


@pytest.mark.parametrize("name", MODELS)
def test_a_row_of_history_holds_the_whole_scale(name: str, scales: list[tuple[Any, ...]]) -> None:
    clone(MODELS[name]).set_params(n_estimators=6).fit(*rows(1))
    scale, row, floors, sums = scales[-1]
    means = scale.means(scale.one)
    other = Scale(scale.engine, scale.booster)
    other.one, other.log_one = scale.one, scale.log_one
    other.resume(row)
    assert other.floors == floors
    assert totals_of(other.sums) == totals_of(sums)
    assert other.means(other.one) == means
    assert other.columns() == row


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: type(channel).__name__)
def test_numbers_grow_no_more_than_declared(channel: Channel) -> None:
    state, floors = np.random.default_rng(0).normal(size=(1, 300)) * 5, Floors((0.5, 0.5))

    def logs(there: np.ndarray) -> np.ndarray:
        return np.log(channel.values(there, floors, ExponentialWeight().values(there, floors, None)))

    for gain in (-3.0, -0.1, 0.0, 0.2, 2.5):
        assert np.all(logs(state + gain) - logs(state) <= channel.growth(gain) + 1e-9)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()])
def test_a_bounded_channel_is_largest_at_the_lowest_margin(loss: Any) -> None:
    channel, margins = LossSlope(loss=loss), np.linspace(-2.0, 6.0, 50)
    values = channel.values(margins[None], Floors(), None)
    assert np.all(np.log(np.maximum(values, 1e-300)) <= channel.log_at(-2.0) + 1e-12)
    assert np.log(values[0]) == pytest.approx(channel.log_at(-2.0))
