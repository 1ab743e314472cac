"""Whether `electorate compare --time-limit` keeps its promise: a stored model, in time, on every table.

    python benchmarks/limits.py FOLDER --out benchmarks/LIMITS.md

FOLDER has tables as NAME.csv.gz whose last column, or the column "target", is the target. Every run is a process
of its own, as a person would start it. A limit is kept if the run ends within 5% or 2 seconds of it, whichever is
more. What is done is kept beside the page as JSON lines, so that an interrupted run goes on; --table NAME and
--limit S choose.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FEW = ["german", "pima", "cmc", "car", "abalone", "winequality_red"]  # at all limits
SOME = [
    "adult",
    "australian",
    "auto_mpg",
    "breast_w",
    "california_housing",
    "concrete",
    "covtype",
    "credit_crx",
    "horse_colic",
    "ionosphere",
    "letter",
    "mushroom",
    "segment",
    "spambase",
    "splice",
    "tic_tac_toe",
    "vehicle",
    "waveform40",
    "winequality_white",
    "yeast",
]
PLAN = {10.0: None, 60.0: SOME, 30.0: FEW, 300.0: FEW}  # limit: tables, None for all
SLACK, LEAST_SLACK = 0.05, 2.0
MOST_SECONDS = 3  # times the limit, after which a run is stopped


def run(path: Path, limit: float) -> dict[str, Any]:
    """One comparison in an empty folder, and what it left there."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "electorate", "compare", str(path), "--target", target_of(path)]
        command += ["--time-limit", str(limit), "--folder", f"{folder}/c", "--quiet", "--output", "json"]
        started = time.monotonic()
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=MOST_SECONDS * limit + 60, check=False
            )
        except subprocess.TimeoutExpired:
            return {"seconds": time.monotonic() - started, "why": "never ended"}
        seconds = time.monotonic() - started
        result: dict[str, Any] = {"seconds": seconds, "stored": os.path.exists(f"{folder}/c/winner.model")}
        if done.returncode:
            return {**result, "why": done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "failed"}
        found = json.loads(done.stdout)
        models = [one for one in found["table"]["algorithm"]]
        return {
            **result,
            **{name: found[name] for name in ("winner", "metric", "estimate", "limit", "evidence")},
            "models": len(models),
            "baseline": found["table"][found["metric"]][-1],
        }


def target_of(path: Path) -> str:
    with gzip.open(path, "rt") as file:
        names = file.readline().strip().split(",")
    return "target" if "target" in names else names[-1].strip('"')


def is_kept(row: dict[str, Any]) -> bool:
    return bool(row["seconds"] <= row["time_limit"] + max(SLACK * row["time_limit"], LEAST_SLACK))


def page(rows: list[dict[str, Any]], note: str = "") -> str:
    """The table, and how many of the runs kept the promise."""
    texts = ["# A stored model within the time limit", __doc__.split("\n\n")[0].strip(), *([note] if note else [])]
    lines = [line for text in texts for line in (text, "")]
    for limit in sorted({row["time_limit"] for row in rows}):
        some = [row for row in rows if row["time_limit"] == limit]
        stored, kept = sum(bool(row.get("stored")) for row in some), sum(map(is_kept, some))
        longest = max(row["seconds"] for row in some)
        lines.append(
            f"- {limit:g} s: {stored} of {len(some)} runs stored a model, {kept} ended in time (the longest after "
            f"{longest:.1f} s)."
        )
    lines += ["", "| table | limit | seconds | in time | models | handed over | metric | estimate | limit of 95% | |"]
    lines += ["|---|---|---|---|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (row["time_limit"], row["table"])):
        values = [f"{row[name]:.4g}" if name in row else "" for name in ("estimate", "limit")]
        words = row.get("why") or row.get("evidence", "")
        cells = [row["table"], f"{row['time_limit']:g}", f"{row['seconds']:.1f}", "yes" if is_kept(row) else "NO"]
        cells += [
            str(row.get("models", "")),
            str(row.get("winner", "NONE")),
            str(row.get("metric", "")),
            *values,
            words,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    one = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    one.add_argument("folder", type=Path)
    one.add_argument("--out", type=Path, default=Path("benchmarks/LIMITS.md"))
    one.add_argument("--table", action="append")
    one.add_argument("--limit", type=float, action="append")
    one.add_argument("--note", default="", help="a sentence for the page, about the machine")
    options = one.parse_args()
    stored = options.out.with_suffix(".jsonl")
    rows = [json.loads(line) for line in stored.read_text().splitlines()] if stored.exists() else []
    names = sorted(path.name.removesuffix(".csv.gz") for path in options.folder.glob("*.csv.gz"))
    for limit, tables in PLAN.items():
        if options.limit and limit not in options.limit:
            continue
        for name in options.table or [name for name in names if tables is None or name in tables]:
            if any((row["table"], row["time_limit"]) == (name, limit) for row in rows):
                continue
            row = {"table": name, "time_limit": limit, **run(options.folder / f"{name}.csv.gz", limit)}
            rows.append(row)
            print(json.dumps(row), flush=True)
            with open(stored, "a") as file:
                file.write(json.dumps(row) + "\n")
    options.out.write_text(page(rows, options.note))


if __name__ == "__main__":
    main()
