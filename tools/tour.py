"""A short tour on a built-in data set: `python tools/tour.py`, or `make demo`.

It inspects one model, then compares all algorithms and prints the answer.
"""

import sys
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from electorate import AdaBoostClassifier, compare

SECONDS = 30  # for the comparison


def main() -> None:
    try:
        data: Any = load_breast_cancer(as_frame=True)  # with the names of its columns
    except ImportError:  # pandas is not installed
        data = load_breast_cancer()
    show_one_model(data)
    print("\nwhich of them to use on these data (`electorate compare`):", flush=True)
    found = compare(data.data, data.target_names[np.asarray(data.target)], time_limit=SECONDS, progress=True)
    sys.stderr.flush()
    print(found)


def show_one_model(data: Any) -> None:
    X, X_test, y, y_test = train_test_split(data.data, np.asarray(data.target), test_size=0.3, random_state=0)
    print(f"breast cancer (of scikit-learn): {len(X)} training rows, {len(X_test)} test rows, {X.shape[1]} columns")
    started = time.perf_counter()
    model = AdaBoostClassifier(n_estimators=200).fit(X, y)
    seconds = time.perf_counter() - started
    print(f"AdaBoost with stumps: {len(model.steps_)} rounds in {seconds:.3f} s, stopped by {model.stop_reason_}")
    print("\n rounds  train error  bound on it  test error")
    errors = [1 - score for score in model.staged_score(X_test, y_test)]
    history = model.history_
    for t in (1, 5, 20, 50, 100, len(model.steps_)):
        bound = min(1, history["objective"][t - 1])
        print(f"{t:7d}  {history['train_error'][t - 1]:11.4f}  {bound:11.4f}  {errors[t - 1]:10.4f}")
    margins = np.where(y == model.classes_[1], 1, -1) * model.decision_function(X) / 2
    print("\ntraining margins, y f(x) / sum of steps, between -1 and 1:")
    for q in (0, 10, 50, 90, 100):
        print(f"  {q:3d}%  {np.percentile(margins, q):+.3f}")
    print("\nthe first voters:")
    for voter in model.estimators_[:3]:
        print(f"  {voter.step:.3f}  {voter.to_text()}")
    print(f"\nmodel {model.digest_[:16]}, the same for any number of threads")


if __name__ == "__main__":
    main()
