"""One case of a kind is a function of the seed and its number alone, so that it can be repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import fuzz_modelfile as damage
import numpy as np

import electorate as el
from fuzzing import combined, forging, hostile_inputs, hostile_parameters, hostile_tables
from fuzzing.outcomes import Finding, Found, Refused, attempt, warnings_count
from fuzzing.questions import ask, questions_for, rows_for
from fuzzing.samples import by_name, rows_of

ASKED = 5  # questions of a case, chosen at random
SECONDS_TO_LOAD = 1.0
FORMAT_BATCH = 50  # damaged small files that one case of the kind "format" tries


class Bench:
    """The folder with the saved samples, and their names."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.folder = folder
        self.names = names
        self.sound = [folder / f"{name}.model" for name in names]
        self.scratch = folder / "scratch"
        self.scratch.mkdir(exist_ok=True)

    def warm_up(self) -> list[Finding]:
        """Ask everything of every sound model, so that kernels are compiled before memory is limited."""
        findings = []
        for name in self.names:
            model = el.load(self.folder / f"{name}.model")
            rows = rows_for(model, np.random.default_rng(0))
            for question in questions_for(model):
                try:
                    ask(model, [question], rows, rows_of(by_name(name).rows), self.scratch)
                except Found as found:
                    findings.append(replace(found.finding, where=f"{found.finding.where} of the sample {name!r}"))
        return findings


def _load_and_ask(bench: Bench, path: Path, rng: random.Random, name: str) -> str:
    """Load a file; where it is accepted, ask a few questions."""
    began = time.process_time()
    try:
        model = attempt("load", lambda: el.load(path))
    except Refused:
        model = None
    seconds = time.process_time() - began
    if seconds > SECONDS_TO_LOAD:
        raise Found(Finding("slow", "load", f"{seconds:.1f} s of CPU time"))
    if model is None:
        return "refused"
    every = questions_for(model)
    rows = rows_for(model, np.random.default_rng(rng.randrange(2**32)))
    training = rows_of(by_name(name).rows) if rng.random() < 0.7 else rows
    ask(model, rng.sample(every, min(ASKED, len(every))), rows, training, bench.scratch)
    return "works"


def forged(bench: Bench, rng: random.Random) -> str:
    path = bench.scratch / "forged.model"
    path.unlink(missing_ok=True)
    name = rng.choice(bench.names)
    made = forging.Forgery(bench.folder / f"{name}.model")
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        rng.choice(forging.CHANGES)(rng, made, bench.sound)
    try:
        made.write(path)
    except ValueError:
        return "not written"
    return _load_and_ask(bench, path, rng, name)


def damaged(bench: Bench, rng: random.Random) -> str:
    """Blind changes to the bytes of a saved model, with the hash made to agree."""
    name = rng.choice(bench.names)
    header, arrays = damage.opened((bench.folder / f"{name}.model").read_bytes())
    if rng.random() < 0.5:
        header = rng.choice([damage.mutate_tree, damage.mutate_bytes])(rng, header)
    else:
        at, bit = rng.randrange(max(len(arrays), 1)), 1 << rng.randrange(8)
        flipped = arrays[:at] + bytes([arrays[at] ^ bit]) + arrays[at + 1 :] if arrays else arrays
        arrays = flipped if rng.random() < 0.7 else damage.mutate_bytes(rng, arrays)
    path = bench.scratch / "damaged.model"
    path.write_bytes(damage.seal(header, arrays))
    return _load_and_ask(bench, path, rng, name)


def formats(bench: Bench, rng: random.Random) -> str:
    """The container alone: see tools/fuzz_modelfile.py."""
    seed, sound = rng.randrange(2**32), damage.seeds()
    for index in range(FORMAT_BATCH):
        try:
            damage.check(damage.mutant(seed, index, sound))
        except Exception as error:
            raise Found(Finding(type(error).__name__, f"mutant({seed}, {index})", str(error))) from error
    return "works"


def inputs(bench: Bench, rng: random.Random) -> str:
    return hostile_inputs.run_case(rng, bench.names)


def parameters(bench: Bench, rng: random.Random) -> str:
    return hostile_parameters.run_case(rng, bench.names, bench.scratch)


KINDS: dict[str, Callable[[Bench, random.Random], str]] = {
    "format": formats,
    "damaged": damaged,
    "forged": forged,
    "inputs": inputs,
    "parameters": parameters,
    "sql": lambda bench, rng: hostile_tables.sql(rng, bench.names, bench.scratch),
    "small": lambda bench, rng: hostile_tables.small_tables(rng, bench.names, bench.scratch),
    "empty": lambda bench, rng: hostile_tables.empty_tables(rng, bench.names, bench.scratch),
    "sparse": lambda bench, rng: hostile_tables.sparse(rng, bench.names, bench.scratch),
    "combined": lambda bench, rng: combined.run_case(rng, bench.names, bench.scratch),
}


def run(kind: str, seed: int, index: int, bench: Bench) -> str:
    """Return "works", "refused" or "not written"; a Found carries a finding."""
    warnings_count.set(kind not in ("format", "damaged", "forged", "combined"))
    return KINDS[kind](bench, random.Random(f"{kind} {seed} {index}"))
