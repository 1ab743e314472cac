"""
SAMME.R is back
===============

scikit-learn 1.6 removed ``algorithm="SAMME.R"``, which had been the default of its AdaBoostClassifier. Here it is
:class:`electorate.RealAdaBoostClassifier` with ``step=1``. Its voters return class probabilities instead of labels,
so it often needs far fewer rounds than SAMME.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from electorate import AdaBoostClassifier, RealAdaBoostClassifier, Trees

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

# %%
# The same trees, boosted in two ways. With ten classes, both work on all classes at once.

models = {
    "SAMME": AdaBoostClassifier(Trees(3), n_estimators=100),
    "SAMME.R": RealAdaBoostClassifier(Trees(3), n_estimators=100, step=1),
}
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, model in models.items():
    errors = [1 - score for score in model.fit(X, y).staged_score(X_test, y_test)]
    ax.plot(errors, label=name)
    print(f"{name:8} test error after 20 rounds {errors[19]:.3f}, after {len(errors)} rounds {errors[-1]:.3f}")
ax.set(xlabel="round", ylabel="test error", title="Ten digits, trees of depth 3", yscale="log")
ax.legend()
plt.show()

# %%
# Old code, and what to write now:
#
# .. code-block:: python
#
#    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=100, algorithm="SAMME.R")  # until 1.5
#    RealAdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=100, step=1)  # the same voters
#    RealAdaBoostClassifier(Trees(2), n_estimators=100, step=1)  # native, fast
