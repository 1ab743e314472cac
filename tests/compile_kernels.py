"""Compile most kernels into the cache, in two processes at once, before pytest does it in every worker.

`make test` and `make test-fast` run it. With a full cache it takes a few seconds.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODELS = (
    (
        "AdaBoostClassifier(), AdaBoostClassifier(Trees(2)), RealAdaBoostClassifier(Trees(2))",
        "RealAdaBoostClassifier()",
        "AdaBoostRClassifier(Trees(2)), AdaBoostClassifier(Trees(2, criterion='edge')), DeepBoostClassifier(Trees(2))",
        "AdaBoostClassifier(PairedStumps()), VadaBoostClassifier(), EBBoostClassifier()",
    ),
    (
        "MedBoostRegressor(), AdaBoostRegressor(), LocMedBoostRegressor()",
        "MedBoostRegressor(RegressionTrees(2, criterion='squared_error')), AdaBoostClassifier(Rules())",
        "QuadBoostClassifier(Pool()), QuadBoostClassifier(Trees(2, criterion='edge'), penalty='l1')",
    ),
)
FIT = """
from electorate import *
from samples import messy
X, y = messy(rows=300, labels=3)
for model in [{models}]:
    model.set_params(n_estimators=2).fit(X, y % 2 if "Quad" in repr(model) else y).predict(X)
    if type(model) is AdaBoostClassifier:  # by several threads
        model._n_shards = 2
        model.set_params(n_jobs=2).fit(X, y)
"""


def main() -> None:
    fits = (FIT.format(models=", ".join(models)) for models in MODELS)
    path = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'tests')!r}]\n"
    processes = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", path + fit]) for fit in fits]
    if any([process.wait() for process in processes]):
        print("some kernels could not be compiled beforehand: pytest shows why", file=sys.stderr)


if __name__ == "__main__":
    main()
