"""
Margins: how clearly a vote was decided
=======================================

The margin of a row is the share of the vote for its label minus the share against it: 1 if all voters are right, 0
for a tie, negative for an error. Boosting keeps raising margins after the training error has reached zero.
"""

import matplotlib.pyplot as plt

from electorate import AdaBoostClassifier, Trees, margins
from electorate.report import MarginDisplay
from electorate.simulate import TwoNorm

problem = TwoNorm()
X, y = problem.sample(400, random_state=0)
X_test, y_test = problem.sample(5000, random_state=1)

# %%
# The training error is zero after a few rounds, and the smallest margin still rises.

for rounds in (5, 20, 100, 400):
    model = AdaBoostClassifier(Trees(3), n_estimators=rounds).fit(X, y)
    found = margins(model, X, y)
    print(
        f"{rounds:3} rounds: training error {found.margin_error(0):.3f}, smallest margin {found.minimum:6.3f}, "
        f"test error {1 - model.score(X_test, y_test):.4f}"
    )

# %%
# The margin graph: the share of rows with a margin of at most theta.

display = MarginDisplay.from_estimator(model, X, y, X_test=X_test, y_test=y_test)
display.figure_.suptitle("Margins after 400 rounds")
plt.show()

# %%
# Training proves a bound on the margin error of the training rows, for every theta.

for theta in (0.4, 0.5, 0.6):
    print(f"theta {theta}: margin error {found.margin_error(theta):.4f}, at most {found.bound(theta):.4f} by the bound")
