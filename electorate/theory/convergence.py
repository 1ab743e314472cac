"""What was predicted about training and what was observed, round by round, as one small table.

A prediction is a bound (the observed is never above) or an identity (both are equal); `holds` checks it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CLOSE = 1e-7  # of sums on the grid, relative
MOST_ROUNDS = 12  # in the text


@dataclass(frozen=True)
class Prediction:
    """One statement: `observed` is what the rounds gave, `predicted` what was proved of it."""

    name: str
    source: str
    predicted: Floats
    observed: Floats
    exact: bool = False  # an identity, not a bound

    @property
    def holds(self) -> bool:
        slack = CLOSE * np.maximum(np.abs(self.predicted), 1e-3)
        over = self.observed - self.predicted
        known = ~np.isnan(over)
        close = np.abs(over) <= slack if self.exact else over <= slack
        return bool(np.all(close[known]))


@dataclass(frozen=True)
class Convergence:
    """What was predicted about a fit and what was observed."""

    model: str
    predictions: tuple[Prediction, ...]
    why: str = ""  # there are none

    @property
    def holds(self) -> bool:
        return all(one.holds for one in self.predictions)

    def __getitem__(self, name: str) -> Prediction:
        for one in self.predictions:
            if one.name == name:
                return one
        raise KeyError(f"nothing is called {name!r}: there are {[one.name for one in self.predictions]}")

    def to_dict(self) -> dict[str, Any]:
        """Columns: the round, and of every statement what was predicted and what was observed."""
        longest = max((len(one.predicted) for one in self.predictions), default=0)
        columns: dict[str, Any] = {"round": np.arange(1, longest + 1)} if self.predictions else {}
        for one in self.predictions:
            columns |= {f"{one.name}, predicted": one.predicted, f"{one.name}, observed": one.observed}
        return columns

    def to_frame(self) -> Any:
        """A pandas dataframe, one row per round."""
        import pandas as pd

        return pd.DataFrame({name: pd.Series(column) for name, column in self.to_dict().items()})

    def __str__(self) -> str:
        if not self.predictions:
            return f"{self.model}: nothing was predicted: {self.why}"
        lines = [f"{self.model}: predicted against observed"]
        for one in self.predictions:
            sign = "=" if one.exact else ">="
            holds = "holds in every round" if one.holds else "DOES NOT HOLD"
            lines += ["", f"{one.name}: predicted {sign} observed; {holds} [{one.source}]"]
            lines += [f"  {'round':>7}  {'predicted':>12}  {'observed':>12}"]
            for t in _some(len(one.predicted)):
                lines.append(f"  {t + 1:>7}  {one.predicted[t]:>12.6g}  {one.observed[t]:>12.6g}")
        return "\n".join(lines)


def _some(rounds: int) -> list[int]:
    """A few rounds, the first and the last among them, evenly by ratio."""
    if rounds <= MOST_ROUNDS:
        return list(range(rounds))
    return sorted({round(float(t)) - 1 for t in np.geomspace(1, rounds, MOST_ROUNDS)})
