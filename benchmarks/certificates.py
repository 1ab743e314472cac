"""What can be proved of a model of adult: one screen of text and one picture, held-out rows beside training bounds.

`python benchmarks/certificates.py adult.csv.gz [--text FILE] [--picture FILE]`; a fifth of the rows is held out.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from electorate import AdaBoostClassifier, QuadBoostClassifier, certificate

HERE = Path(__file__).parent
ROUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 400)
GREYS = ("0.85", "0.6", "0.35", "0.1")
Rows = tuple[Any, Any]


def split(path: str) -> tuple[Rows, Rows]:
    """Four fifths to fit, one fifth held out; the target is the last column."""
    table = pd.read_csv(path)
    order = np.random.default_rng(0).permutation(len(table))
    X, y = table.iloc[:, :-1], table.iloc[:, -1].to_numpy()
    parts = np.split(order, [4 * len(order) // 5])
    return (X.iloc[parts[0]], y[parts[0]]), (X.iloc[parts[1]], y[parts[1]])


def certified(model: Any, train: Rows, heldout: Rows) -> Any:
    """Equal rows are allowed: a few people of this census are alike in every column."""
    return certificate(model.fit(*train), train=train, heldout=heldout, equal_rows="allow")


def by_rounds(train: Rows, heldout: Rows) -> dict[str, list[float]]:
    """The terms of the margin bound, and the errors, of AdaBoost after more and more rounds."""
    columns: dict[str, list[float]] = {
        name: [] for name in ("held-out", "margin error", "complexity", "bound", "train")
    }
    for rounds in ROUNDS:
        model = AdaBoostClassifier(n_estimators=rounds)
        found = certified(model, train, heldout)
        terms = found["margins"].terms
        columns["held-out"].append(found["held-out rows"].value)
        columns["margin error"].append(terms["margin error"])
        columns["complexity"].append(terms["complexity"])
        columns["bound"].append(found["margins"].value)
        columns["train"].append(float(model.history_["train_error"][-1]))
    return columns


def draw(models: dict[str, Any], columns: dict[str, list[float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    bars, lines = figure.subplots(1, 2)
    _draw_terms(bars, models)
    _draw_rounds(lines, columns)
    figure.savefig(path, dpi=130)


def _draw_terms(axes: Any, models: dict[str, Any]) -> None:
    """Every bound as a bar, cut into its terms."""
    shown = [(name, bound) for name, found in models.items() for bound in found.risk if bound.applies and bound.offered]
    kinds = {"observed": 0, "loss": 0, "margin error": 0, "complexity": 1, "confidence": 2, "norm": 2}
    names = ("on the rows looked at", "complexity of the voters", "confidence")
    for place, (_, bound) in enumerate(shown):
        start = 0.0
        for term, number in bound.terms.items():
            if term in kinds:
                axes.barh(place, number, left=start, color=GREYS[kinds[term]], edgecolor="black", linewidth=0.6)
                start += number
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(start + 0.02, place, f"{bound.value:.3f}", va="center", fontsize=9, bbox=white)
    for kind, name in enumerate(names):
        axes.barh(-5, 0, color=GREYS[kind], edgecolor="black", linewidth=0.6, label=name)
    axes.axvline(1, color="black", linestyle="--", linewidth=1)
    axes.text(1.02, -0.75, "says nothing", va="center", fontsize=9)
    axes.set_yticks(range(len(shown)), [f"{name}\n{bound.name}" for name, bound in shown], fontsize=9)
    axes.set_ylim(len(shown) - 0.4, -1.1)
    axes.set_xlim(0, 1.3)
    axes.set_xlabel("bound on the risk, 95% confidence each")
    axes.legend(loc="lower right", fontsize=8, framealpha=1, bbox_to_anchor=(1.0, 0.02))
    axes.set_title("What each bound pays for", fontsize=11)


def _draw_rounds(axes: Any, columns: dict[str, list[float]]) -> None:
    """Margins shrink with more voters, so the price of complexity rises: that is why the bound is loose."""
    styles = {
        "bound": ("margin bound", "-", "o", "0.0"),
        "margin error": ("its margin error", "--", "s", "0.35"),
        "complexity": ("its price of complexity", ":", "^", "0.35"),
        "held-out": ("held-out bound", "-", "D", "0.6"),
    }
    for name, (label, line, marker, color) in styles.items():
        axes.plot(ROUNDS, columns[name], linestyle=line, marker=marker, color=color, markersize=4, label=label)
    axes.set_xscale("log")
    axes.set_xticks(ROUNDS, [str(t) for t in ROUNDS])
    axes.axhline(1, color="black", linestyle="--", linewidth=1)
    axes.minorticks_off()
    axes.set_ylim(0, 1.2)
    axes.set_xlabel("rounds of AdaBoost, stumps")
    axes.legend(fontsize=8, ncols=2, loc="upper left", framealpha=1)
    axes.set_title("Why the training bounds are loose", fontsize=11)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("table")
    given.add_argument("--text", type=Path, default=HERE / "CERTIFICATE.txt")
    given.add_argument("--picture", type=Path, default=HERE.parent / "docs" / "adult_certificate.png")
    options = given.parse_args()
    train, heldout = split(options.table)
    models = {
        "AdaBoost, 100 stumps": certified(AdaBoostClassifier(n_estimators=100), train, heldout),
        "QuadBoost-L1": certified(QuadBoostClassifier(penalty="l1", lam=0.03, n_estimators=300), train, heldout),
    }
    columns = by_rounds(train, heldout)
    options.text.write_text(f"{models['AdaBoost, 100 stumps']}\n")
    print(models["AdaBoost, 100 stumps"])
    print(models["QuadBoost-L1"])
    for k, rounds in enumerate(ROUNDS):
        print(rounds, {name: round(column[k], 4) for name, column in columns.items()})
    draw(models, columns, options.picture)


if __name__ == "__main__":
    main()
