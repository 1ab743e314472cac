"""
The same model on a Dask cluster
================================

``fit`` takes Dask arrays and dataframes. The rows stay on the workers and only sums are sent. Since all sums are
exact integers, the model has the same digest as one that was fitted in a single process.
"""

# %%
# A cluster of two workers within this process, to keep the example small. ``Client("tcp://scheduler:8786")``
# connects to a real one.

import dask.array as da
import matplotlib.pyplot as plt
from distributed import Client
from sklearn.datasets import load_breast_cancer

from electorate import AdaBoostClassifier, Trees

client = Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
X, y = load_breast_cancer(return_X_y=True)
X_dask, y_dask = da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150)

# %%
# Fit in both ways.

model = AdaBoostClassifier(Trees(2), n_estimators=30)
on_cluster = model.fit(X_dask, y_dask).digest_
predicted = model.predict(X_dask).compute()
errors = model.history_["train_error"]
here = AdaBoostClassifier(Trees(2), n_estimators=30).fit(X, y)
print("digest on the cluster:   ", on_cluster[:16])
print("digest in this process:  ", here.digest_[:16])
assert on_cluster == here.digest_
assert (predicted == here.predict(X)).all()
client.close()

# %%
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(errors, label="cluster", linewidth=4, alpha=0.4)
ax.plot(here.history_["train_error"], label="this process")
ax.set(xlabel="round", ylabel="training error", title="The same training error in every round")
ax.legend()
plt.show()
