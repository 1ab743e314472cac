"""Fits to a Parquet file larger than memory: time and anonymous memory at three sizes, beside XGBoost and LightGBM.

`python benchmarks/out_of_core.py [--folder FOLDER] [--rows N ...] [--only NAME ...] [--quick] [--out FOLDER]` writes
OUT_OF_CORE.md and out_of_core.png. Every fit runs in a process of its own, which samples its memory every 50 ms. The
files are made if they are not there: 20 columns of normal numbers and a label. Results of earlier runs in
out_of_core.json are kept, so that sizes and contenders can be run one by one.

XGBoost reads the Parquet file through ExtMemQuantileDMatrix, row group by row group. LightGBM's two_round reads texts
only: it gets the same rows as CSV, and the time to write that file is not counted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

N_COLUMNS = 20
ROWS_PER_GROUP = 1_000_000
SIZES = (2_000_000, 10_000_000, 50_000_000)
QUICK = (2_000, 4_000, 8_000)
SAMPLED = 0.05  # seconds
MEMORY = 2 * 2**30  # bytes of bins and state, of ours, before the bins go to a temporary file
TASKS = {"stumps": (100, 1), "trees": (50, 4)}  # rounds and depth
BAR = 3e9  # bytes of anonymous memory
HEAD = "| task | rows | contender | seconds | before round 1 | processor seconds | anonymous memory | all memory |"


# ---------------------------------------------------------------- data


def make(path: Path, n_rows: int) -> None:
    """Write the Parquet file, group by group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for low in range(0, n_rows, ROWS_PER_GROUP):
        m = min(ROWS_PER_GROUP, n_rows - low)
        X = rng.normal(size=(N_COLUMNS, m))
        f = X[0] + 0.5 * X[1] * X[2] + np.sin(2 * X[3]) + 0.3 * (X[4] > 1) + 0.2 * X[5] ** 2 - 0.2
        y = (f + rng.logistic(size=m) > 0).astype(np.int8)
        table = pa.table([*X, y], names=[*(f"x{j}" for j in range(N_COLUMNS)), "label"])
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=False, compression="NONE")
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)
    assert writer is not None
    writer.close()


def make_csv(path: Path, parquet: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet as pq

    file = pq.ParquetFile(parquet, pre_buffer=False)
    options = pyarrow.csv.WriteOptions(include_header=False)  # LightGBM refuses quotes in names
    with pyarrow.csv.CSVWriter(path, file.schema_arrow, write_options=options) as writer:
        for batch in file.iter_batches(131_072):
            writer.write_batch(batch)


# ---------------------------------------------------------------- contenders, each in a process of its own


def ours(path: Path, rounds: int, depth: int, began: Callable[[], None]) -> str:
    from electorate import AdaBoostClassifier, Stumps, Trees, scan
    from electorate.training import scanned_place

    build = scanned_place.ScannedPlace._build

    def built(self: Any, *arguments: Any) -> Any:
        found = build(self, *arguments)
        began()
        return found

    setattr(scanned_place.ScannedPlace, "_build", built)  # noqa: B010
    X, y = scan(path, target="label", memory=MEMORY, folder=path.parent)
    model = AdaBoostClassifier(Stumps() if depth == 1 else Trees(depth), n_estimators=rounds, n_jobs=2).fit(X, y)
    return f"error {model.history_['train_error'][-1]:.4f}, digest {model.digest_[:12]}"


def xgboost_external(path: Path, rounds: int, depth: int, began: Callable[[], None]) -> str:
    import pyarrow.parquet as pq
    import xgboost as xgb

    class Groups(xgb.DataIter):
        def __init__(self, cache: str) -> None:
            self.file, self.at = pq.ParquetFile(path, pre_buffer=False), 0
            super().__init__(cache_prefix=os.path.join(cache, "cache"))

        def next(self, input_data: Any) -> bool:
            if self.at == self.file.num_row_groups:
                return False
            table = self.file.read_row_group(self.at)
            X = np.column_stack([table.column(j).to_numpy() for j in range(N_COLUMNS)])
            input_data(data=X, label=table.column("label").to_numpy())
            self.at += 1
            return True

        def reset(self) -> None:
            self.at = 0

    options = {"max_depth": depth, "tree_method": "hist", "max_bin": 255, "nthread": 2, "objective": "binary:logistic"}
    with tempfile.TemporaryDirectory(dir=path.parent) as cache:
        data = xgb.ExtMemQuantileDMatrix(Groups(cache), max_bin=255, nthread=2)
        began()
        found: dict[str, Any] = {}
        xgb.train(
            {**options, "eval_metric": "error"}, data, rounds, evals=[(data, "t")], evals_result=found, verbose_eval=0
        )
    return f"error {found['t']['error'][-1]:.4f}"


def lightgbm_two_rounds(path: Path, rounds: int, depth: int, began: Callable[[], None]) -> str:
    import lightgbm as lgb

    options = {"two_round": True, "header": False, "label_column": f"{N_COLUMNS}", "max_bin": 255, "num_threads": 2}
    options |= {"verbosity": -1, "objective": "binary", "max_depth": depth, "num_leaves": 2**depth}
    data = lgb.Dataset(str(path.with_suffix(".csv")), params=options).construct()
    began()
    found: dict[str, Any] = {}
    lgb.train(
        {**options, "metric": "binary_error"},
        data,
        rounds,
        valid_sets=[data],
        valid_names=["t"],
        callbacks=[lgb.record_evaluation(found)],
    )
    return f"error {found['t']['binary_error'][-1]:.4f}"


CONTENDERS = {"electorate": ours, "XGBoost": xgboost_external, "LightGBM": lightgbm_two_rounds}


@contextmanager
def memory_sampled() -> Iterator[dict[str, int]]:
    """The peak of anonymous memory and of all memory in use, sampled from /proc."""
    peaks, stop = {"RssAnon": 0, "VmRSS": 0}, threading.Event()

    def sample() -> None:
        while not stop.wait(SAMPLED):
            for line in Path("/proc/self/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in peaks:
                    peaks[name] = max(peaks[name], int(value.split()[0]) * 1024)

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        stop.set()
        thread.join()


def run_one(name: str, path: Path, task: str) -> dict[str, Any]:
    """Fit in this process. Compiling takes place before, on a small table."""
    rounds, depth = TASKS[task]
    marks: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "small.parquet")
        make(small, 3000)
        make_csv(small.with_suffix(".csv"), small)
        CONTENDERS[name](small, 2, depth, lambda: None)
    start, used = time.perf_counter(), time.process_time()
    with memory_sampled() as peaks:
        note = CONTENDERS[name](path, rounds, depth, lambda: marks.append(time.perf_counter()))
    cpu = time.process_time() - used
    return {"seconds": time.perf_counter() - start, "cpu": cpu, "before": marks[0] - start, "note": note, **peaks}


# ---------------------------------------------------------------- the report


def report(results: list[dict[str, Any]], out: Path, note: str) -> None:
    lines = [HEAD, "|---|---|---|---|---|---|---|---|"]
    for task in TASKS:
        for one in sorted((r for r in results if r["task"] == task), key=lambda r: (r["rows"], r["name"])):
            cells = f"| {task} | {one['rows']:,} | {one['name']} | {one['seconds']:.0f} | {one['before']:.0f} |"
            cells += f" {one['cpu']:.0f} |" if "cpu" in one else " |"
            lines.append(f"{cells} {one['RssAnon'] / 1e9:.2f} GB | {one['VmRSS'] / 1e9:.2f} GB |")
    rounds = "; ".join(f"{task}: {n} rounds of depth {depth}" for task, (n, depth) in TASKS.items())
    text = f"""# Tables larger than memory

`python benchmarks/out_of_core.py`. {N_COLUMNS} columns of float64 and a label in one Parquet file, row groups of
{ROWS_PER_GROUP:,} rows; {rounds}; two threads. Anonymous memory is RssAnon of the process, sampled every 50 ms: it is
what cannot be dropped from memory without swapping. Bins of ours go to a temporary file where bins and state take more
than {MEMORY >> 30} GiB. XGBoost: ExtMemQuantileDMatrix over the same file. LightGBM: two_round over the same rows as
CSV. Times are of one run each. {note}

{os.linesep.join(lines)}

![Seconds of the processor and anonymous memory by the number of rows](out_of_core.png)

Notes: {"; ".join(sorted(f"{r['name']}, {r['task']}, {r['rows']:,}: {r['note']}" for r in results))}
"""
    (out / "OUT_OF_CORE.md").write_text(text)
    plot(results, out / "out_of_core.png")


def plot(results: list[dict[str, Any]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    panels = (axes[0], "cpu", 1.0, "seconds of the processor"), (axes[1], "RssAnon", 1e9, "anonymous memory, GB")
    for axis, key, scale, label in panels:
        for name in CONTENDERS:
            for task, style in (("stumps", "-o"), ("trees", "--s")):
                mine = [r for r in results if (r["name"], r["task"]) == (name, task) and key in r]
                found = sorted((r["rows"], r[key] / scale) for r in mine)
                if found:
                    colour = f"C{list(CONTENDERS).index(name)}"
                    axis.plot(*zip(*found, strict=True), style, color=colour, label=f"{name}, {task}")
        axis.set(xlabel="rows", ylabel=label, xlim=(0, None), ylim=(0, None))
    axes[1].axhline(BAR / 1e9, color="grey", linewidth=0.8)
    axes[1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/out-of-core"))
    parser.add_argument("--rows", type=int, nargs="*")
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--task", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--note", default="", help="about the circumstances of the run, for the report")
    parser.add_argument("--one", nargs=3, metavar=("NAME", "FILE", "TASK"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, path, task = options.one
        print(json.dumps(run_one(name, Path(path), task)))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    options.out.mkdir(parents=True, exist_ok=True)
    stored = options.out / "out_of_core.json"
    results: list[dict[str, Any]] = json.loads(stored.read_text()) if stored.exists() else []
    for n_rows in options.rows or (QUICK if options.quick else SIZES):
        path = options.folder / f"n{n_rows}.parquet"
        if not path.exists():
            make(path, n_rows)
        if "LightGBM" in options.only and not path.with_suffix(".csv").exists():
            make_csv(path.with_suffix(".csv"), path)
        for task in options.task:
            for name in options.only:
                arguments = [sys.executable, __file__, "--one", name, str(path), task]
                done = subprocess.run(arguments, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{name}, {task}, {n_rows}: {done.stderr}", file=sys.stderr)
                    continue
                one = {"name": name, "task": task, "rows": n_rows, **json.loads(done.stdout.splitlines()[-1])}
                results = [r for r in results if any(r[key] != one[key] for key in ("name", "task", "rows"))] + [one]
                stored.write_text(json.dumps(results, indent=1))
                print(one, flush=True)
                report(results, options.out, options.note)


if __name__ == "__main__":
    main()
