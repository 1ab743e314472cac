"""
A booster of your own in 40 lines
=================================

A booster contains only the formulas of a paper: the weights of the examples and the step of a voter. The base class
provides the search for voters, bins, missing values, threads, early stopping, staged predictions and Dask. This
example adds AdaBoost with a margin target (Rätsch and Warmuth, 2005): every step is shorter by the step that
corresponds to a margin of ``rho``.
"""

# %%
# The booster. ``sums`` are the weights by leaf and label, ``outputs`` those of the voter.

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import matplotlib.pyplot as plt
from sklearn.utils._param_validation import Interval

from electorate import AdaBoostClassifier, margins
from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Step
from electorate.estimators.classifier import StagewiseClassifier
from electorate.exact import atanh, on_grid
from electorate.simulate import TwoNorm


@dataclass(frozen=True)
class MarginAdaBoost(AdaBoost):
    rho: float = 0.1

    def step(self, sums, outputs):
        plain = super().step(sums, outputs)
        if plain.stop == "perfect_voter":
            return plain
        size = float(on_grid(plain.size - self.learning_rate * atanh(self.rho)))
        return Step(size, plain.edge, plain.error, None if size > 0 else "no_edge")


# %%
# The estimator: its parameters, and how to make the booster.


@dataclass(eq=False, repr=False, kw_only=True)
class MarginAdaBoostClassifier(StagewiseClassifier):
    rho: float = 0.1

    _parameter_constraints: ClassVar = {
        **StagewiseClassifier._parameter_constraints,
        "rho": [Interval(Real, 0, 1, closed="left")],
    }
    _one_vs_rest = True

    def _booster(self, n_labels):
        return MarginAdaBoost(n_labels, float(self.learning_rate), float(self.rho))


# %%
# That is all. On separable data its smallest margin is larger than AdaBoost's.

X, y = TwoNorm().sample(200, random_state=0)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
rounds = (50, 100, 200, 400, 800)
for name, model in {"AdaBoost": AdaBoostClassifier(), "rho = 0.1": MarginAdaBoostClassifier(rho=0.1)}.items():
    smallest = [margins(model.set_params(n_estimators=n).fit(X, y), X, y).minimum for n in rounds]
    ax.plot(rounds, smallest, "o-", label=name)
    print(f"{name:10} smallest margin after {rounds[-1]} rounds {smallest[-1]:.3f}, stopped by {model.stop_reason_!r}")
ax.set(xlabel="rounds", ylabel="smallest margin", title="Smallest margin of the training rows")
ax.legend()
plt.show()
