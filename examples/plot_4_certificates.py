"""
Certificates: an error bound you can quote
==========================================

A certificate is an upper bound on the risk of a fitted model, the probability of an error on a new row, that holds
with 95% confidence. There are three ways to get one. They differ in which rows they need.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from electorate import AdaBoostClassifier, CertifiedClassifier, CrossFittedClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)  # the test rows only check the bounds
bounds = {}

# %%
# **Held-out rows.** Train on some rows and count the errors on the others. If :math:`k` of :math:`n` held-out rows
# are misclassified, the risk is at most the largest :math:`p` with
#
# .. math:: \sum_{i=0}^{k} \binom{n}{i} p^i (1-p)^{n-i} \ge \delta, \qquad \delta = 0.05.
#
# The model never sees the held-out rows.

X_train, X_held, y_train, y_held = train_test_split(X, y, test_size=0.2, random_state=0)
model = AdaBoostClassifier(n_estimators=100).fit(X_train, y_train)
found = model.certificate(heldout=(X_held, y_held))
bounds["held-out rows"] = found["held-out rows"].value, model
print(found)

# %%
# **Cross-fitting.** All rows train, and all rows are tested by a model that has not seen them.

model = CrossFittedClassifier(AdaBoostClassifier(n_estimators=100)).fit(X, y)
bounds["cross-fitted"] = model.bound_, model
print(model)

# %%
# **Description length.** The fewer bits a model needs, the less it can overfit. ``CertifiedClassifier`` minimises
# its own bound and prints its rules with it.

model = CertifiedClassifier().fit(X, y)
bounds["description"] = model.bound_, model
print(model)

# %%
# The bounds beside the errors on test rows that no model has seen.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.barh(
    list(bounds), [bound for bound, _ in bounds.values()], color="tab:blue", alpha=0.35, label="bound, 95% confidence"
)
ax.plot(
    [1 - model.score(X_test, y_test) for _, model in bounds.values()],
    list(bounds),
    "o",
    color="tab:red",
    label="error on the test rows",
)
ax.set(xlabel="risk", title="Three certificates for breast cancer")
ax.legend()
plt.show()
