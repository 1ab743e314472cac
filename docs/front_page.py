"""Writes what the front pages show from stored results: `python docs/front_page.py`.

Draws docs/speeds.svg and writes the parts of README.md and docs/index.md between `<!-- NAME -->` and `<!-- end -->`:
the speeds of benchmarks/results.json, and docs/answer.txt, which is the output of `electorate compare` without a table.
"""

import json
import textwrap
from pathlib import Path
from statistics import median
from typing import Any

DOCS = Path(__file__).parent
PAGES = (DOCS.parent / "README.md", DOCS / "index.md")
SKLEARN = "scikit-learn AdaBoost"
PANELS = {
    "fit-adaboost": "Fit 100 stumps\n20,000 x 50",
    "fit-large": "Fit 100 stumps\n200,000 x 50",
    "fit-trees": "Fit 100 trees of depth 4\n200,000 x 50",
    "predict": "Predict with 500 stumps\n1,000,000 x 50",
}


def stored() -> dict[str, Any]:
    """Return the results of the benchmarks."""
    return dict(json.loads((DOCS.parent / "benchmarks" / "results.json").read_text(encoding="utf-8")))


def seconds_of(results: dict[str, Any], row: str) -> dict[str, float]:
    """Return the median seconds of every contender on one core."""
    return {who: median(times) for who, times in results["rows"][row]["one core"]["seconds"].items()}


def speeds(results: dict[str, Any]) -> str:
    """Return the speeds as a paragraph: ours, and those of the fastest of the others."""
    rows = ("fit-adaboost", "fit-large", "fit-trees", "fit-small", "predict")
    times = {row: seconds_of(results, row) for row in rows}
    ours = {row: seconds["electorate"] for row, seconds in times.items()}
    best = {row: min((s, who) for who, s in times[row].items() if who != "electorate") for row in rows}
    days = sorted({results["rows"][row]["date"] for row in rows})
    measured = " to ".join(dict.fromkeys([days[0], days[-1]]))
    if "numba" in results["versions"]:
        measured += ", before the kernels were ported to C++"
    sklearn = times["fit-adaboost"][SKLEARN]
    sentences = [
        f"100 rounds of stumps on 20,000 x 50: {ours['fit-adaboost']:.2f} s, scikit-learn's AdaBoost {sklearn:.1f} s",
        f"({sklearn / ours['fit-adaboost']:.0f} times).",
        f"On 200,000 x 50: {ours['fit-large']:.2f} s, {best['fit-large'][1]} {best['fit-large'][0]:.2f} s;",
        f"with trees of depth 4 {ours['fit-trees']:.2f} s, {best['fit-trees'][1]} {best['fit-trees'][0]:.2f} s.",
        f"1,000 x 10 with default parameters: {1000 * ours['fit-small']:.0f} ms,",
        f"{best['fit-small'][1]} {1000 * best['fit-small'][0]:.0f} ms.",
        f"500 stumps predict 1,000,000 rows in {ours['predict']:.2f} s,",
        f"those of {best['predict'][1]} in {best['predict'][0]:.2f} s.",
        f"Medians on one core, beside the fastest of the others ({measured}); [all figures](benchmarks/RESULTS.md),",
        "with the targets that were missed.",
    ]
    return "\n".join(textwrap.wrap(" ".join(sentences), 120, break_on_hyphens=False))


def written(text: str, results: dict[str, Any]) -> str:
    """Return a page with its marked parts written anew."""
    answer = (DOCS / "answer.txt").read_text(encoding="utf-8")
    parts = {
        "speeds": speeds(results),
        "answer": "```\n" + answer.partition("\n\n")[0].rstrip() + "\n```",
        "answer and table": "```\n" + answer.partition("\n\nnot shown")[0].rstrip() + "\n```",
    }
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, found, after = text.partition(begin)
        if found:
            text = before + begin + part + "\n" + after[after.index(end) :]
    return text


def described(results: dict[str, Any]) -> str:
    """Return the numbers of the picture, which are stored in it."""
    return json.dumps({row: {who: f"{s:.2g}" for who, s in seconds_of(results, row).items()} for row in PANELS})


def draw(results: dict[str, Any]) -> None:
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "speeds", "svg.fonttype": "path"})
    figure, axes = plt.subplots(1, len(PANELS), figsize=(11, 2.2), layout="constrained")
    for ax, (row, title) in zip(axes, PANELS.items(), strict=True):
        seconds = seconds_of(results, row)
        order = sorted(seconds, key=lambda who: -seconds[who])
        colors = ["#1f77b4" if who == "electorate" else "#b8b8b8" for who in order]
        names = [
            who.replace(" AdaBoost", "\nAdaBoost").replace("HistGradientBoosting", "HistGradient-\nBoosting")
            for who in order
        ]
        bars = ax.barh(names, [seconds[who] for who in order], color=colors, height=0.8 if len(order) > 2 else 0.4)
        ax.bar_label(bars, [f"{seconds[who]:.2g} s" for who in order], padding=3)
        ax.set_title(title, fontsize=9)
        ax.set_xlim(0, 1.35 * max(seconds.values()))
        ax.xaxis.set_visible(False)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.tick_params(left=False)
    figure.savefig(DOCS / "speeds.svg", metadata={"Date": None, "Description": described(results)}, facecolor="white")


def main() -> None:
    results = stored()
    draw(results)
    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
