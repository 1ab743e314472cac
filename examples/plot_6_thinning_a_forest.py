"""
Thinning a random forest
========================

:func:`electorate.thin` keeps a few trees of a fitted ensemble and computes new weights for them by a Lasso over
their votes on rows that the ensemble was not fitted to. The small ensemble predicts faster and is often as accurate.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from electorate import thin

X, y = load_digits(return_X_y=True)
y = y % 2  # odd or even
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
X, X_thin, y, y_thin = train_test_split(X, y, test_size=0.4, random_state=0)

forest = RandomForestClassifier(200, max_features=0.1, random_state=0).fit(X, y)
print(f"all 200 trees: test error {1 - forest.score(X_test, y_test):.4f}")

# %%
# Ensembles of different sizes.

sizes, errors = [], []
for most in (5, 10, 20, 40, 80):
    small = thin(forest, X_thin, y_thin, max_voters=most)
    sizes.append(len(small.kept_))
    errors.append(1 - small.score(X_test, y_test))
    print(f"at most {most:2}: {small.summary_}; test error {errors[-1]:.4f}")

# %%
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(sizes, errors, "o-", label="thinned")
ax.axhline(1 - forest.score(X_test, y_test), color="gray", linestyle="--", label="all 200 trees")
ax.set(xlabel="trees that are kept", ylabel="test error", title="A smaller forest")
ax.legend()
plt.show()
