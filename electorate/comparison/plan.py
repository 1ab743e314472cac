"""What a comparison is made of, as JSON: the rows' hash, the algorithms by name and grid, folds, seed.

Equal plans are the same comparison: its cells are the same to the bit, whenever and wherever they run.
"""

from typing import Any

from electorate import __version__
from electorate.comparison.algorithms import OURS, PEERS, Algorithm
from electorate.comparison.cells import Cell, Protocol, in_order
from electorate.comparison.rows import Rows


def plan_of(protocol: Protocol, rows: Rows, locked: float, task: str) -> dict[str, Any]:
    return {
        "electorate": __version__,
        "task": task,
        "classes": protocol.n_classes,
        "algorithms": [{"name": a.name, "grid": list(a.grid)} for a in protocol.algorithms],
        "folds": protocol.n_folds,
        "seed": protocol.seed,
        "locked": locked,
        "rows": rows.digest(),  # last: another seed has other rows too
    }


def protocol_of(plan: dict[str, Any]) -> tuple[Protocol, list[Cell]]:
    """What a worker needs, back from the plan."""
    algorithms = [_find(entry, plan["task"]) for entry in plan["algorithms"]]
    protocol = Protocol(algorithms, plan["folds"], plan["seed"], plan["classes"])
    return protocol, in_order(algorithms, plan["folds"])


def _find(entry: dict[str, Any], task: str) -> Algorithm:
    found = next(a for a in listed() if a.name == entry["name"] and task in a.tasks)
    return Algorithm(found.name, found.tasks, found.make, tuple(entry["grid"]), found.peer)


def listed() -> list[Algorithm]:
    return [*OURS, *(a for peer in PEERS.values() for a in peer)]
