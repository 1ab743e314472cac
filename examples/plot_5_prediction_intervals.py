"""
Prediction intervals that cover
===============================

:class:`electorate.MedBoostRegressor` predicts the weighted median of its voters. Calibrated on rows that it was not
trained on (conformal prediction), its intervals cover a new target with the probability you choose, whatever the
distribution of the data. They are wider where the voters disagree.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from electorate import MedBoostRegressor
from electorate.report import IntervalDisplay

random = np.random.default_rng(0)


def sample(n):
    x = random.uniform(-3, 3, n)
    z = random.normal(size=n)
    y = np.sin(2 * x) + 0.3 * z + (0.1 + 0.15 * np.abs(x)) * random.normal(size=n)
    return pd.DataFrame({"x": x, "z": z}), y


X, y = sample(800)
X_calibration, y_calibration = sample(400)
X_test, y_test = sample(4000)

# %%
# Train, calibrate, predict.

model = MedBoostRegressor(n_estimators=60).fit(X, y).calibrate(X_calibration, y_calibration)
for coverage in (0.5, 0.8, 0.9, 0.95):
    low, high = model.predict_interval(X_test, coverage=coverage)
    inside = np.mean((low <= y_test) & (y_test <= high))
    print(f"wanted {coverage:.0%}: {inside:.1%} of the test rows inside, mean width {np.mean(high - low):.2f}")

# %%
# The intervals along one column.

display = IntervalDisplay.from_estimator(model, X_test[:600], "x", y_test[:600], coverage=0.9)
display.figure_.suptitle("90% intervals")
plt.show()
