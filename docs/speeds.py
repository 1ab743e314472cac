"""Draws docs/speeds.svg, the picture of the front page, from benchmarks/results.json: `python docs/speeds.py`."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
PANELS = {
    "fit-large": "Fit 100 stumps\n200,000 x 50",
    "fit-trees": "Fit 100 trees of depth 4\n200,000 x 50",
    "predict": "Predict with 500 stumps\n1,000,000 x 50",
}


def main() -> None:
    mpl.use("Agg")
    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "speeds", "svg.fonttype": "path"})
    rows: dict[str, Any] = json.loads((HERE.parent / "benchmarks" / "results.json").read_text())["rows"]
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.3), layout="constrained")
    for ax, (name, title) in zip(axes, PANELS.items(), strict=True):
        seconds = {who: median(times) for who, times in rows[name]["one core"]["seconds"].items()}
        order = sorted(seconds, key=lambda who: -seconds[who])
        colors = ["#1f77b4" if who == "electorate" else "#b8b8b8" for who in order]
        bars = ax.barh(order, [seconds[who] for who in order], color=colors)
        ax.bar_label(bars, [f"{seconds[who]:.2g} s" for who in order], padding=3)
        ax.set_title(title, fontsize=9)
        ax.set_xlim(0, 1.25 * max(seconds.values()))
        ax.xaxis.set_visible(False)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.tick_params(left=False)
    figure.savefig(HERE / "speeds.svg", metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
