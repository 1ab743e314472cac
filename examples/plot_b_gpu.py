"""
The same model on a GPU
=======================

``device="cuda"`` trains on an NVIDIA GPU (``pip install electorate[cuda]``). The model has the same digest as on the
CPU, and loading it needs no GPU. This page is built without a GPU. So the fit below runs the NumPy
versions of the GPU kernels, which the tests compare with the real ones bit for bit, and the times at the end were
measured before.
"""

# %%
# With a GPU, leave out the next two lines. Without CuPy or a GPU, ``fit`` raises an error that names what is missing.

import os

os.environ["ELECTORATE_CUDA"] = "reference"

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from electorate import AdaBoostClassifier, Trees

X, y = load_breast_cancer(return_X_y=True)
on_gpu = AdaBoostClassifier(Trees(2), n_estimators=10, device="cuda").fit(X, y)
on_cpu = AdaBoostClassifier(Trees(2), n_estimators=10).fit(X, y)
print('digest with device="cuda":', on_gpu.digest_[:16])
print('digest with device="cpu": ', on_cpu.digest_[:16])
assert on_gpu.digest_ == on_cpu.digest_

# %%
# Seconds for a fit of 100 rounds on one NVIDIA H200 and on the 16 CPU cores of the same machine, as stored in
# ``benchmarks/GPU.md``: float32 rows with 50 columns.

measured = {
    "200,000 rows, stumps": (0.52, 0.20),
    "200,000 rows, depth 4": (1.36, 0.45),
    "2,000,000 rows, stumps": (1.92, 0.61),
    "2,000,000 rows, depth 4": (3.36, 0.67),
}
for name, (cpu, gpu) in measured.items():
    print(f"{name:24} CPU {cpu:4.2f} s   GPU {gpu:4.2f} s")

# %%
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
places = range(len(measured))
ax.barh([place - 0.2 for place in places], [cpu for cpu, _ in measured.values()], height=0.4, label="CPU, 16 threads")
ax.barh([place + 0.2 for place in places], [gpu for _, gpu in measured.values()], height=0.4, label="GPU (H200)")
ax.set_yticks(list(places), list(measured))
ax.invert_yaxis()
ax.set(xlabel="seconds", title="Whole fits of 100 rounds, measured")
ax.legend()
plt.show()
