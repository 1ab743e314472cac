"""
Rules that can be read
======================

With :class:`electorate.Rules` as voters a model is a short list of weighted rules.
:func:`electorate.inspection.rule_table` prints them with the rows they cover, and ``explain`` shows which rules
decided a row.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import electorate
from electorate import AdaBoostRClassifier, Rules
from electorate.inspection import rule_table

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

# %%
# Ten rules with at most two conditions each.

model = AdaBoostRClassifier(Rules(max_terms=2), n_estimators=10).fit(X, y)
print(f"test error {1 - model.score(X_test, y_test):.3f}")
print(rule_table(model, X))

# %%
# Why was this row classified as it was?

print(electorate.explain(model, X_test, y_test, row=0))

# %%
# More rules, and what they gain.

sizes = (1, 2, 5, 10, 20, 50)
errors = []
for size in sizes:
    longer = AdaBoostRClassifier(Rules(max_terms=2), n_estimators=size).fit(X, y)
    errors.append(1 - longer.score(X_test, y_test))
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(sizes, errors, "o-")
ax.set(xlabel="rules", ylabel="test error", title="Test error by the number of rules", xscale="log")
ax.set_xticks(sizes, [str(size) for size in sizes])
plt.show()
