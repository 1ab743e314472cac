"""A tour of half a minute: `make demo`. It writes into the folder demo/."""

import csv
import datetime
import os
import shlex
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import AdaBoostClassifier as Theirs

from electorate import AdaBoostClassifier, load
from electorate.cli import main as electorate
from electorate.inspection.explain import explain

FOLDER = Path("demo")
SECONDS = "10"  # for a comparison


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    os.chdir(FOLDER)
    print("1. 100 rounds of AdaBoost on 10,000 rows of 20 columns")
    show_speed()
    write_customers(Path("customers.csv"))
    table = ["customers.csv", "--target", "churned", "--quiet"]
    print("\n2. A table as people have it, demo/customers.csv: the check-up finds a column that gives the answer away")
    run("compare", *table, "--quick", "--time-limit", SECONDS, "--folder", "with-the-leak")
    print("\n3. Without that column")
    without = [*table, "--drop", "cancelled on"]
    run("compare", *without, "--quick", "--time-limit", SECONDS, "--folder", "compared")
    print("\n4. Rules to read")
    run("fit", *without, "--drop", "customer", "--drop", "joined", "--out", "rules.model")
    show_one_row()
    print("\nNow open demo/compared/report.html")


def run(*words: str) -> None:
    print(f"   $ electorate {shlex.join(words)}\n", flush=True)
    if electorate(list(words)):
        raise SystemExit(1)


def show_speed() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=len(X)) > 0
    for name, model in [
        ("electorate", AdaBoostClassifier(n_estimators=100)),
        ("scikit-learn", Theirs(n_estimators=100)),
    ]:
        started = time.perf_counter()
        model.fit(X[:7000], y[:7000])
        seconds = time.perf_counter() - started
        print(f"   {name:<13} {seconds:6.3f} s   test error {1 - model.score(X[7000:], y[7000:]):.3f}", flush=True)


def write_customers(path: Path) -> None:
    """Write customers with an identifier, dates, euros, two spellings, and a column that is known afterwards only."""
    rng = np.random.default_rng(0)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "joined", "monthly fee", "calls", "contract", "months", "cancelled on", "churned"])
        for number in range(1200):
            months, calls, fee = int(rng.integers(1, 60)), int(rng.poisson(2)), float(rng.uniform(9, 1400))
            contract = str(rng.choice(["monthly", "Monthly ", "one year", "two years"], p=[0.4, 0.1, 0.3, 0.2]))
            score = 0.7 * calls + 1.6 * (contract.strip().lower() == "monthly") - 0.04 * months + 0.001 * fee - 2.6
            churned = rng.random() < 1 / (1 + np.exp(-score))
            joined = datetime.date(2021, 1, 1) + datetime.timedelta(days=int(rng.integers(0, 1200)))
            left = f"{joined + datetime.timedelta(days=30 * months):%d.%m.%Y}" if churned else ""
            euros = f"{fee:,.2f} €".translate(str.maketrans(",.", ".,"))
            row = [f"C-{number:05d}", f"{joined:%d.%m.%Y}", euros, calls, contract, months, left]
            writer.writerow([*row, "yes" if churned else "no"])


def show_one_row() -> None:
    with open("customers.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    import pyarrow as pa

    model = load("rules.model")
    texts = {name: [row[name] for row in rows] for name in ("monthly fee", "contract")}
    numbers = {name: [float(row[name]) for row in rows] for name in ("calls", "months")}
    found = explain(model, pa.table(texts | numbers), [row["churned"] for row in rows], row=1)
    assert found.rules is not None
    assert found.row is not None
    steps = found.rules.columns["step"]
    heaviest = int(np.argmax(np.abs(steps)))
    rule, then, otherwise = (found.rules.columns[name][heaviest] for name in ("rule", "then", "otherwise"))
    print(f"   The heaviest of {len(steps)} rules: if {rule}, {then}, else {otherwise}.")
    person = rows[1]
    print(f"   {person['customer']}: churned = {found.row.prediction!r}. What the columns add to that:")
    for name, value in found.row.columns[:4]:
        print(f"     {'for it    ' if value > 0 else 'against it'}  {value:+.2f}  {name} = {person[name]}")


if __name__ == "__main__":
    main()
