"""VadaBoost: AdaBoost that also penalises the variance of the exponential loss.

Paper: Shivaswamy and Jebara, "Variance Penalizing AdaBoost" (equation and algorithm numbers below). With e = exp(-y f)
and means over the rows by their sample weight, cost (3) over n^2 is (mean e)^2 + lam (mean e^2 - (mean e)^2).
The paper's u of a row is its sample weight times the u here. The loop over rounds is training/stagewise.py, the page
docs/algorithms/vadaboost.md, and a round in plain NumPy tests/algorithms/test_vadaboost.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Channel, Floors, Formula, Mean, Step
from electorate.exact import Floats, Ints, exp, on_grid
from electorate.kernels import formulas


@dataclass(frozen=True)
class PenalisedWeight(Channel):
    """u = lam (e/Z)^2 + (1 - lam) e/Z, where Z is the mean of e; linear in the sample weight.

    normalised: Z is measured as well, and follows the mean of u among the means of a round.
    """

    lam: float = 0.5
    normalised: ClassVar[bool] = True

    def formula(self, floors: Floors) -> Formula:
        return Formula(formulas.PENALISED, floors.log_mean, self.lam, exp(floors.each[0]))

    def growth(self, gain: float) -> float:
        """Return the growth of u for its integer grid: where e/Z is c times as large, u is at most c or c^2 times."""
        return max(-gain, -2 * gain)


@dataclass(frozen=True)
class VadaBoost(AdaBoost):
    """Algorithm 2, for two labels. state[0] is the margin y f; lam is from 0 to 1.

    Voters are searched by the sums of u, which every family searches as it searches AdaBoost's weights.
    """

    lam: float = 0.5

    @property
    def channels(self) -> Sequence[Channel]:
        return (PenalisedWeight(lam=self.lam),)

    def step(self, sums: Ints, outputs: Floats) -> Step:
        """Lemma 2: half of AdaBoost's step (1/2 log(right / wrong)), from the sums of u. Edge and error are by u too.

        A perfect voter gets half of what AdaBoost gives it.
        """
        whole = super().step(sums, outputs)
        size = float(on_grid(0.5 * whole.size))
        return Step(size, whole.edge, whole.error, whole.stop if size > 0 else "no_edge")

    def objective(self, means: Sequence[Mean], penalty: float) -> float:
        """Cost (3) over n^2: Z^2 times the mean of u."""
        u, Z = means
        return exp(min(u.log + 2 * Z.log, 700.0))
