"""Tables of few rows and columns in every command, hostile columns in SQL, faulty sparse matrices everywhere."""

from __future__ import annotations

import contextlib
import gzip
import inspect
import io
import itertools
import random
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

import electorate as el
from electorate.cli import main
from electorate.export.sql import identifier
from fuzzing.outcomes import Finding, Found, Refused, attempt, require
from fuzzing.samples import numbers, samples

STAGES = 3
BEYOND = 2**53

# ---------------------------------------------------------------- SQL

NAMES = [
    *("decision", "Decision", "DECISION_0", "decision_1", "prediction", "PREDICTION", "votes", "given", "rows", "t"),
    *(
        'a"b',
        '"',
        '""',
        "it's",
        "'",
        "; --",
        "/*",
        "--",
        " ",
        "\t",
        "",
        "\n",
        "a b",
        "a.b",
        "[a]",
        "`a`",
        "\\",
        "%s",
        "?",
    ),
    *(
        "select",
        "FROM",
        "NULL",
        "case",
        "rowid",
        "oid",
        "_rowid_",
        "1",
        "$1",
        ":a",
        "ü",
        "Ü",
        "日本",
        "\u202e",
        "é",
        "ß",
    ),
    *("a", "A", "a\0b", "x" * 300),
]


def sql(rng: random.Random, names: list[str], scratch: Path) -> str:
    """A query predicts in SQLite and DuckDB what the model predicts, whatever the columns are called."""
    draws = np.random.default_rng(rng.randrange(2**32))
    table = _hostile_frame(rng, draws)
    used = rng.sample(list(table), rng.randint(1, min(4, table.shape[1])))
    X, n_labels = table[used], rng.choice([0, 2, 2, 3])
    number = draws.normal(size=len(X)) + sum(pd.factorize(X[name])[0] % 5 for name in used)
    family = rng.choice([None, el.Stumps(), el.PairedStumps(), el.Rules(2), el.Pool(4)])
    kinds = [el.AdaBoostClassifier, el.RealAdaBoostClassifier, el.LogisticAdaBoostClassifier, el.QuadBoostClassifier]
    kind = el.QuadBoostRegressor if n_labels == 0 else rng.choice(kinds)
    if n_labels:
        family = rng.choice([None, el.Trees(2), el.Trees(3), family]) if kind is el.AdaBoostClassifier else None
    model = (
        kind(family, n_estimators=rng.choice([1, 3, 12])) if family is not None and n_labels else kind(n_estimators=5)
    )
    labels = rng.choice([np.array(["no", "it's", ""]), np.array([-1, 0, 2**40]), np.array([0.5, -0.0, 1e300])])
    y = labels[np.argsort(np.argsort(number)) * n_labels // len(X)] if n_labels else number
    try:
        attempt("fit", lambda: model.fit(X, y))
        query = attempt("to_sql", lambda: model.to_sql("scored"))
    except Refused:
        return "refused"
    predicted = model.predict(X)
    for database in ("sqlite", "duckdb"):
        if any(len(name) > 200 or "\0" in name or not name for name in table):
            continue  # what the database itself refuses
        rows = _answers(database, table, query)
        if rows is None:
            continue
        same = [row[0] for row in rows] == predicted.tolist()
        if not n_labels:
            same = np.allclose([row[0] for row in rows], predicted, rtol=1e-12, atol=1e-12)
        require(bool(same), f"to_sql in {database}", f"columns {list(table)}, used {used}\n{query[:2000]}")
    return "works"


def _hostile_frame(rng: random.Random, draws: Any) -> pd.DataFrame:
    n = rng.choice([2, 20, 60])
    makers: list[Callable[[], Any]] = [
        lambda: np.where(draws.random(n) < 0.2, np.nan, draws.normal(size=n)),
        lambda: BEYOND + draws.integers(-4, 5, n),
        lambda: draws.random(n) < 0.5,
        lambda: draws.choice(np.array(["red", "it's", 'a"b', "", "grün", "\\", "%"], dtype=object), n),
        lambda: np.round(draws.normal(size=n), 1),
    ]
    chosen = rng.sample(NAMES, rng.randint(1, 8))
    distinct = (
        {name.casefold(): name for name in chosen} if rng.random() < 0.8 else dict(zip(chosen, chosen, strict=True))
    )
    return pd.DataFrame({name: rng.choice(makers)() for name in distinct.values()})


def _answers(database: str, table: pd.DataFrame, query: str) -> list[tuple[Any, ...]] | None:
    """The rows of the query; None where the database cannot have such a table."""
    kinds = {"f": "DOUBLE PRECISION", "i": "BIGINT", "b": "BOOLEAN", "O": "VARCHAR"}
    connection: Any = sqlite3.connect(":memory:") if database == "sqlite" else duckdb.connect(":memory:")
    values = [
        tuple(None if v != v else v for v in row) for row in zip(*(table[c].tolist() for c in table), strict=True)
    ]
    try:
        try:
            columns = ", ".join(f"{identifier(c)} {kinds[table[c].dtype.kind]}" for c in table)
            connection.execute(f"CREATE TABLE scored ({columns})")
            connection.executemany(f"INSERT INTO scored VALUES ({', '.join('?' * table.shape[1])})", values)
        except Exception:
            return None
        try:
            answer: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        except Exception as error:
            raise Found(Finding(type(error).__name__, f"to_sql in {database}", f"{error}\n{query[:2000]}")) from None
        return answer
    finally:
        connection.close()


# ---------------------------------------------------------------- tables of no or few rows and columns


def small_tables(rng: random.Random, names: list[str], scratch: Path) -> str:
    """A command with a table of few rows or columns ends with code 0, or with one error of ours."""
    path = scratch / f"small{rng.choice(['.csv', '.csv', '.tsv', '.parquet', '.arrow', '.csv.gz', '.parquet.gz'])}"
    path.unlink(missing_ok=True)
    kind = rng.choice(["classes", "numbers"])
    _write_small(rng, path, kind)
    order = _order(rng, str(path), str(_model_for(kind, scratch)), scratch)
    shown = f"{' '.join(order)}: {path.read_bytes()[:300]!r}"
    try:
        code = attempt(shown, lambda: _run(order))
    except Refused:
        return "refused"
    require(code in (0, 1), shown, f"exit code {code}")
    return "works" if code == 0 else "refused"


def _run(order: list[str]) -> int:
    from unittest.mock import patch

    silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with silent[0], silent[1], patch.dict("os.environ", {"ELECTORATE_DEBUG": "1"}):  # errors are raised, not printed
        try:
            return main(order)
        except SystemExit as error:
            if error.code != 2:
                raise Found(Finding("SystemExit", " ".join(order), str(error.code))) from None
            raise Refused(f"usage of {order[0]}") from None


def _write_small(rng: random.Random, path: Path, kind: str) -> None:
    n = rng.choice([0, 0, 1, 1, 2, 3, 20])
    draws = np.random.default_rng(rng.randrange(2**32))
    target = draws.choice(["no", "yes"], n).astype(object) if kind == "classes" else draws.normal(size=n)
    columns = {
        "y": target,
        "w": np.ones(n),
        "x": draws.normal(size=n),
        "c": draws.choice(["red", "blue"], n).astype(object),
    }
    if n and rng.random() < 0.3:
        columns[rng.choice(list(columns))] = np.full(n, np.nan)
    kept = rng.choice(
        [["y"], ["y", "w"], ["x"], [], ["x", "c"], ["y", "x", "c"], ["y", "x", "c"], ["y", "w", "x", "c"]]
    )
    frame = pd.DataFrame({name: columns[name] for name in kept}, index=range(n))
    if "parquet" in path.name or path.suffix == ".arrow":
        table = pa.Table.from_pandas(frame, preserve_index=False)
        buffer = io.BytesIO()
        if path.suffix == ".arrow":
            pa.feather.write_feather(table, buffer)
        else:
            pa.parquet.write_table(table, buffer)
        data = buffer.getvalue()
    else:
        text = frame.to_csv(index=False, sep="\t" if path.suffix == ".tsv" else ",")
        odd = [
            "",
            "\n",
            "\n\n",
            "\ufeff",
            "y",
            "y\n\n\n",
            ",\n",
            "y,x\n,\n",
            '""\n""\n',
            text.rstrip("\n"),
            "\ufeff" + text,
        ]
        data = (rng.choice(odd) if rng.random() < 0.25 else text).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@cache
def _model_for(kind: str, scratch: Path) -> Path:
    """A small model of the columns x and c, and the rows it was fitted to beside it."""
    draws = np.random.default_rng(0)
    X = pd.DataFrame({"x": draws.normal(size=60), "c": draws.choice(["red", "blue"], 60)})
    y = np.where((X["x"] > 0) ^ (X["c"] == "red") ^ (draws.random(60) < 0.1), "yes", "no")
    path = scratch / f"{kind}.model"
    if kind == "classes":
        el.AdaBoostClassifier(n_estimators=4).fit(X, y).save(path)
    else:
        el.QuadBoostRegressor(n_estimators=4).fit(X, X["x"] + (y == "yes")).save(path)
    return path


def _order(rng: random.Random, table: str, model: str, scratch: Path) -> list[str]:
    target = rng.choice([["--target", "y"]] * 5 + [["--target", "z"], []])
    weights = rng.choice([[], [], ["--weights", "w"]])
    scan = rng.choice([[], ["--scan", "always"], ["--scan", "never"]])
    algorithm = rng.choice(["AdaBoost", "MedBoost", "QuadBoost", "AdaBoostRegressor", "DeepBoost", "RealAdaBoost"])
    out = str(scratch / "small.out")
    fit = ["fit", table, *target, "--out", out, "--algorithm", algorithm, "--set", "n_estimators=2", *weights, *scan]
    orders = [
        *[fit, [*fit, *rng.choice([["--no-check-up"], ["--drop", "x"], ["--skip-missing-target"]])]] * 2,
        ["predict", model, table, "--out", out, *rng.choice([[], ["--proba"], ["--keep", "x"]])],
        ["score", model, table, *target, *weights],
        ["explain", model, table, *target, *rng.choice([[], ["--row", "1"], ["--top", "0"]])],
        ["report", model, table, *target, "--out", f"{out}.html"],
        ["certify", model, *rng.choice([["--heldout", table], ["--train", table]]), *target, *scan],
    ]
    if rng.random() < 0.03:
        return [
            "compare",
            table,
            *target,
            *weights,
            *scan,
            "--quick",
            "--time-limit",
            "5",
            "--jobs",
            "1",
            "--out",
            str(scratch / "c"),
        ]
    return rng.choice(orders)


# ---------------------------------------------------------------- faulty sparse matrices


def _compressed(rng: random.Random, array: Any) -> Any:
    made = rng.choice([sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array, sp.bsr_matrix])(array)
    return made.copy()


def _set(matrix: Any, name: str, value: Any) -> None:
    """Set an array as a caller could, without SciPy's checks."""
    setattr(matrix, name, value)


def legal(rng: random.Random, array: Any) -> Any:
    """Entries that are unsorted or repeated, zeros that are stored, wide indices, room after the last entry."""
    matrix = rng.choice([sp.csr_matrix, sp.csc_array])(array)
    choice = rng.randrange(5)
    if choice == 0:
        for low, high in itertools.pairwise(matrix.indptr.tolist()):
            turned = slice(low, high)
            matrix.indices[turned], matrix.data[turned] = (
                matrix.indices[turned][::-1].copy(),
                matrix.data[turned][::-1].copy(),
            )
        matrix.has_sorted_indices = False
    elif choice == 1:
        coo = matrix.tocoo()
        halves = coo.data / 2
        matrix = sp.coo_matrix((np.r_[halves, halves], (np.r_[coo.row, coo.row], np.r_[coo.col, coo.col])), coo.shape)
    elif choice == 2:
        coo, zeros = matrix.tocoo(), np.arange(3)
        shape = coo.shape
        matrix = sp.coo_array(
            (np.r_[coo.data, 0 * zeros], (np.r_[coo.row, zeros], np.r_[coo.col, zeros])), shape
        ).tocsr()
    elif choice == 3:
        _set(matrix, "indices", matrix.indices.astype(np.int64))
        _set(matrix, "indptr", matrix.indptr.astype(np.int64))
    else:
        _set(matrix, "indices", np.r_[matrix.indices, matrix.indices[:3]])
        _set(matrix, "data", np.r_[matrix.data, matrix.data[:3]])
    return matrix


def faulty(rng: random.Random, array: Any) -> Any:
    """An index array, the data or the shape is wrong: where it is read, it leads out of the arrays."""
    if rng.random() < 0.2:
        return _faulty_other(rng, array)
    matrix = _compressed(rng, array)
    name = rng.choice(["indptr", "indices", "data"])
    values = np.array(getattr(matrix, name))
    huge = rng.choice([-1, -(2**31), 2**31 - 1, 10**6, len(matrix.indices) + 1, array.shape[1], array.shape[0]])
    changes: list[Callable[[], Any]] = [
        lambda: values[:-1],
        lambda: values[1:],
        lambda: values[:0],
        lambda: np.r_[values, values[-1:]],
        lambda: values[::-1].copy(),
        lambda: values.astype(rng.choice(["f8", "f4", "i1", "u1", "u8", "i8", "?", "O", "U4", "c16", ">i4"])),
        lambda: values[None],
        lambda: values.tolist(),
        lambda: None,
    ]
    if values.dtype.kind == "i" and values.size and rng.random() < 0.6:
        values[rng.randrange(values.size)] = huge
        _set(matrix, name, values)
    else:
        with contextlib.suppress(Exception):  # what SciPy refuses itself
            _set(matrix, name, rng.choice(changes)())
    if rng.random() < 0.1:
        matrix._shape = (array.shape[0] + rng.choice([-1, 1, 5]), array.shape[1] + rng.choice([-1, 0, 1, 5]))
    matrix.has_sorted_indices = matrix.has_canonical_format = rng.random() < 0.5
    return matrix


def _faulty_other(rng: random.Random, array: Any) -> Any:
    huge = rng.choice([-1, 10**6, 2**31 - 1])
    choice = rng.randrange(3)
    if choice == 0:
        matrix = sp.coo_matrix(array)
        getattr(matrix, rng.choice(["row", "col"]))[0] = huge
    elif choice == 1:
        matrix = sp.lil_matrix(array)
        matrix.rows[0] = rng.choice([[huge], [0, 0], ["a"], None, [0.5]])
    else:
        matrix = sp.dia_matrix(array)
        matrix.offsets[0] = huge
    return matrix


Entry = Callable[[Any, Any, Any], Any]


def _stages(answers: Any) -> list[Any]:
    return list(itertools.islice(answers, STAGES))


ENTRIES: dict[str, Entry] = {
    "fit": lambda m, X, y: clone(m).fit(X, y),
    "fit, X_val": lambda m, X, y: clone(m).fit(_zeros(m), _four(y), X_val=X, y_val=y),
    "predict": lambda m, X, y: m.predict(X),
    "score": lambda m, X, y: m.score(X, y),
    "scores": lambda m, X, y: el.scores(m, X, y),
    "staged_predict": lambda m, X, y: _stages(m.staged_predict(X)),
    "staged_score": lambda m, X, y: _stages(m.staged_score(X, y)),
    "margins": lambda m, X, y: el.margins(m, X, y),
    "staged_margins": lambda m, X, y: _stages(el.inspection.staged_margins(m, X, y)),
    "certificate": lambda m, X, y: el.certificate(m, heldout=(X, y), equal_rows="allow"),
    "certificate, train": lambda m, X, y: el.certificate(m, train=(X, y)),
    "loss_certificate": lambda m, X, y: el.inspection.loss_certificate(m, (X, y), equal_rows="allow"),
    "contributions": lambda m, X, y: el.inspection.contributions(m, X),
    "contributions, background": lambda m, X, y: el.inspection.contributions(m, np.zeros((2, m.n_features_in_)), X),
    "explain": lambda m, X, y: el.explain(m, X, y, row=0),
    "rule_table": lambda m, X, y: el.inspection.rule_table(m, X),
    "export_input": lambda m, X, y: el.export.export_input(m, X),
    "to_shap": lambda m, X, y: m.to_shap(X),
    "check_up": lambda m, X, y: el.check_up(X, y),
    "complexity_of": lambda m, X, y: el.inspection.complexity_of(el.Stumps(), X),
    "empirical_rademacher": lambda m, X, y: el.inspection.empirical_rademacher(el.Stumps(), X, draws=2),
    "html_report": lambda m, X, y: el.report.html_report(m, X, y),
    "thin": lambda m, X, y: el.thin(m, X, y, max_voters=2, random_state=0),
    "compare": lambda m, X, y: el.compare(
        X, y, algorithms=["AdaBoost"], folds=2, quick=True, n_jobs=1, stack=False, time_limit=5
    ),
    "scan": lambda m, X, y: el.scan(X, target=y),
}
OF_CLASSIFIERS: dict[str, Entry] = {
    "predict_proba": lambda m, X, y: m.predict_proba(X),
    "decision_function": lambda m, X, y: m.decision_function(X),
    "calibrate": lambda m, X, y: clone(m).fit(_zeros(m), _four(y)).calibrate(X, y),
    "CertifiedClassifier": lambda m, X, y: el.CertifiedClassifier(n_estimators=2, prior_rounds=2, random_state=0).fit(
        X, y
    ),
    "CrossFittedClassifier": lambda m, X, y: el.CrossFittedClassifier(m, n_folds=2).fit(X, y),
}
OF_MEDIANS: dict[str, Entry] = {
    "confidence": lambda m, X, y: m.confidence(X),
    "predict_interval": lambda m, X, y: m.predict_interval(X),
    "robust_error": lambda m, X, y: m.robust_error(X, y),
}
SLOW = {"compare", "html_report", "CertifiedClassifier", "CrossFittedClassifier"}  # asked less often
EQUAL = ("predict", "predict_proba", "decision_function", "confidence", "score")  # compared with the dense answers


def _zeros(model: Any) -> Any:
    return np.eye(4, model.n_features_in_)


def _four(y: Any) -> Any:
    return np.resize(np.unique(y), 4)


@cache
def _fitted(name: str) -> tuple[Any, Any, Any]:
    """A sample fitted to columns that are mostly 0."""
    sample = next(one for one in samples() if one.name == name)
    X, labels = numbers(3 if "three" in sample.rows else 2)
    X = np.where(np.nan_to_num(X) > 0.3, np.nan_to_num(X), 0.0)
    y = labels if is_classifier(sample.model) else labels + X[:, 0]
    model = clone(sample.model)
    return attempt("fit to a dense table", lambda: model.fit(X, y)), X, y


def entries_of(model: Any) -> dict[str, Entry]:
    more = OF_CLASSIFIERS if is_classifier(model) else OF_MEDIANS if hasattr(model, "robust_error") else {}
    every = {**ENTRIES, **more}
    if "X_val" not in inspect.signature(model.fit).parameters:
        del every["fit, X_val"]
    if not hasattr(model, "calibrate"):
        every.pop("calibrate", None)
    return every


def sparse(rng: random.Random, names: list[str], scratch: Path) -> str:
    """Legal matrices give the answers of dense ones; faulty ones are refused, or what is wrong is not read."""
    try:
        model, X, y = _fitted(rng.choice([name for name in names if name != "frame" and "signs" not in name]))
    except Refused:
        return "refused"
    entries = entries_of(model)
    name = rng.choice(list(entries))
    while name in SLOW and rng.random() < 0.95:
        name = rng.choice(list(entries))
    is_legal = rng.random() < 0.4
    matrix = legal(rng, X) if is_legal else faulty(rng, X)
    try:
        found = attempt(name, lambda: entries[name](model, matrix, y), may_lack=True)
    except Refused:
        if is_legal and name in EQUAL:
            attempt(f"{name} of a dense table", lambda: entries[name](model, X, y), may_lack=True)
        return "refused"
    if is_legal and name in EQUAL:
        dense = entries[name](model, X, y)
        require(bool(np.all(np.asarray(found) == np.asarray(dense))), name, "another answer than for the dense table")
    return "works"


# ---------------------------------------------------------------- tables without rows or columns in every function


def empty_tables(rng: random.Random, names: list[str], scratch: Path) -> str:
    """Every public function with no rows, one row, or no columns."""
    try:
        model, X, y = _fitted(rng.choice([name for name in names if name != "frame" and "signs" not in name]))
    except Refused:
        return "refused"
    entries = entries_of(model)
    name = rng.choice(list(entries))
    while name in SLOW and rng.random() < 0.95:
        name = rng.choice(list(entries))
    n, k = rng.choice([(0, 4), (1, 4), (2, 4), (0, 0), (3, 0), (len(X), 0), (len(X), 1)])
    part = X[:n, :k]
    make = rng.choice([np.asarray, pd.DataFrame, sp.csr_matrix, sp.csc_array, _arrow, np.asfortranarray, list])
    try:
        attempt(f"{name} of {n} x {k}", lambda: entries[name](model, make(part), y[:n]), may_lack=True)
    except Refused:
        return "refused"
    return "works"


def _arrow(X: Any) -> Any:
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})
