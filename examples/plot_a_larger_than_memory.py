"""
A table larger than memory
==========================

:func:`electorate.scan` opens a table without reading it. ``fit``, ``predict`` and ``score`` then read it batch by
batch. The model has the same digest as one that was fitted in memory. The table of this example is small, so that both
fits can be compared.
"""

# %%
# A Parquet file with 100,000 rows and 20 columns. DuckDB relations, polars lazy frames, memory maps and folders of
# files work in the same way.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from electorate import AdaBoostClassifier, Trees, scan

random = np.random.default_rng(0)
X = random.normal(size=(100_000, 20))
y = (X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=len(X)) > 0).astype(int)
names = [f"x{k}" for k in range(20)]
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.parquet"
pq.write_table(pa.table({**dict(zip(names, X.T, strict=True)), "label": y}), path, row_group_size=20_000)

# %%
# ``scan`` returns X and y as objects that are read when they are needed.

X_scanned, y_scanned = scan(path, target="label")
model = AdaBoostClassifier(Trees(3), n_estimators=30).fit(X_scanned, y_scanned)
print(f"training error {1 - model.score(X_scanned, y_scanned):.4f}")

# %%
# The same fit in memory gives the same model.

in_memory = AdaBoostClassifier(Trees(3), n_estimators=30).fit(pa.table(dict(zip(names, X.T, strict=True))), y)
print("digest of the scanned table:", model.digest_[:16])
print("digest of the fit in memory:", in_memory.digest_[:16])
assert model.digest_ == in_memory.digest_

# %%
# A fit keeps one byte per cell, and about 32 bytes per row for its state. If that is more than the limit, the bytes go
# to a temporary file: ``scan(path, target="label", memory=10_000_000)``.

cells, rows = X.size, len(X)
sizes = {"rows as float64": 8 * cells, "Parquet file": path.stat().st_size, "bins and state": cells + 32 * rows}
figure, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
ax.barh(list(sizes), [size / 1e6 for size in sizes.values()])
ax.set(xlabel="MB", title="What a fit of 100,000 x 20 needs to keep")
plt.show()
folder.cleanup()
