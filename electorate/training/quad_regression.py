"""QuadBoost for real targets, which a shift and a power of two bring to -1..1, so that all sums stay exact."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.weights import Weights
from electorate.model.trace import Trace
from electorate.training.quad_pools import FinitePool
from electorate.training.quadratic import QuadBench
from electorate.training.run import OTHER_DATA
from electorate.voters.means import Means

Floats = NDArray[np.float64]
SMALLEST, LARGEST = 1e-150, 1e150  # sizes of targets whose squares are normal floats
SCALED = {"step": 1, "edge": 1, "objective": 2, "train_error": 2, "validation": 2}  # powers of the scale of y
TWO = np.arange(2)  # there are no classes; a run of numbers is made like one of two labels


@dataclass(frozen=True)
class Frame:
    """Targets as training sees them: ((y - shift) / scale - first) / parts, from -1 to 1; scale and parts are exact."""

    shift: float
    scale: float
    first: float = 0.0
    parts: float = 1.0

    def inside(self, y: Floats) -> Floats:
        return np.asarray(((y - self.shift) / self.scale - self.first) / self.parts)

    @property
    def unit(self) -> float:
        """The difference of y that is 1 inside."""
        return self.scale * self.parts

    @property
    def middle(self) -> float:
        """The y that is 0 inside."""
        return self.shift + self.scale * self.first


def frame_of(y: Floats, weights: Weights, fit_intercept: bool, around_mean: bool) -> Frame:
    """Targets that count come to lie from -1 to 1; around their mean, if so wanted."""
    counted = weights.times > 0
    low, high = float(y[counted].min()), float(y[counted].max())
    shift = low + (high - low) / 2 if fit_intercept else 0.0
    reach = max(high - shift, shift - low)
    if not (reach == 0 or SMALLEST <= reach <= LARGEST):
        raise ValueError(
            f"y has values as far as {reach:.3g} from {'their middle' if fit_intercept else '0'}, and squares of such "
            "numbers are outside the range of float64: multiply y by a power of ten so that it lies between "
            f"{SMALLEST:.0e} and {LARGEST:.0e}"
        )
    frame = Frame(shift, 2.0 ** math.ceil(math.log2(reach)) if reach > 0 else 1.0)
    if not (around_mean and fit_intercept):
        return frame
    inside = np.where(counted, frame.inside(y), 0.0)
    return Frame(frame.shift, frame.scale, Means(weights).mean(inside), 2.0)


class QuadRegressionBench(QuadBench):
    """A bench whose model has the units of y."""

    frame: Frame

    def past(self, task: Any) -> Any:
        if self.before is not None and self.before.scale_ != self.frame.unit:
            was, now = self.before.scale_, self.frame.unit
            raise ValueError(OTHER_DATA.format(f"the targets were in units of {was:g}, now {now:g}"))
        return super().past(task)

    def in_units(self, history: dict[str, NDArray[Any]], unit: float) -> dict[str, NDArray[Any]]:
        return {name: column * unit ** SCALED.get(name, 0) for name, column in history.items()}

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        made, frame = super().fitted(traces, runs), self.frame
        del made["classes_"], made["n_classes_"]
        if not self.options.records_errors:
            del made["history_"]["train_error"]
        intercept = self.source.intercept if isinstance(self.source, FinitePool) else None
        voters = made["moves_"].voters(None)
        return made | {
            "history_": self.in_units(made["history_"], frame.unit),
            "gap_": made["gap_"] * frame.unit**2,
            "scale_": frame.unit,
            "start_": frame.middle if intercept is None else frame.middle + frame.unit * intercept.target,
            "centres_": np.zeros(len(voters)) if intercept is None else intercept.outputs[voters],
        }
