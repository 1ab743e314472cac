"""
AdaBoost without changing your code
===================================

:class:`electorate.AdaBoostClassifier` replaces scikit-learn's class of the same name: change the import. This
example fits both on the same table and compares time, errors and the error after every round.
"""

# %%
# 7,500 training rows with 10 columns. The first fit of a process loads the compiled kernels, so we fit once before we
# measure.

import time

import matplotlib.pyplot as plt
from sklearn.datasets import make_hastie_10_2
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoostClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from electorate import AdaBoostClassifier, Trees

X, y = make_hastie_10_2(n_samples=10_000, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
AdaBoostClassifier(Trees(3), n_estimators=2).fit(X, y)

# %%
# Native trees are grown over at most 255 bins per column, so the models are similar and not equal. To get
# scikit-learn's model, pass ``DecisionTreeClassifier(max_depth=3)`` to our class too; it then takes scikit-learn's
# time.

models = {
    "scikit-learn": SklearnAdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=60, random_state=0),
    "electorate": AdaBoostClassifier(Trees(3), n_estimators=60),
}
for name, model in models.items():
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    print(f"{name:13} {seconds:6.2f} s   test error {1 - model.score(X_test, y_test):.4f}")

# %%
# ``staged_score``, ``staged_predict`` and ``estimator_weights_`` work as in scikit-learn.

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, model in models.items():
    ax.plot([1 - score for score in model.staged_score(X_test, y_test)], label=name)
ax.set(xlabel="round", ylabel="test error", title="Test error after every round, trees of depth 3")
ax.legend()
plt.show()

# %%
# What scikit-learn's class does not have: missing values, categories, early stopping, warm start, and a record of
# why training ended.

X[::7, 0] = float("nan")
model = AdaBoostClassifier(Trees(3), n_estimators=500, early_stopping=True, random_state=0).fit(X, y)
print(f"stopped by {model.stop_reason_!r}; the best round is {model.best_round_}")
