"""Sketches of columns of floats, made on a device: the same values and weights that data/bins.py finds on the CPU."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from electorate.cuda.arrays import RowsThere
from electorate.cuda.device import Device, rows_at_once
from electorate.data.table import ArrayTable, StackedTable, Table
from electorate.exact import Floats, Ints

Found = tuple[Floats, Ints, bool]  # values, their weights, whether any is missing
ONES = np.empty(0, dtype=np.int64)  # every row has the weight 1
SHARE = 3  # rows that take at most a third of the spare memory are copied to the device once


def place_rows(table: Table, device: Device, spare: int) -> None:
    """Copy the floats of a table to a device, if they take little of its spare bytes; else they go there in blocks."""
    for part in table.tables if isinstance(table, StackedTable) else [table]:
        if not isinstance(part, ArrayTable) or part.there is not None or not part.is_floats:
            continue
        if SHARE * part.array.nbytes <= spare:
            spare -= part.array.nbytes
            part.there = RowsThere(device.xp.asarray(part.array), device)


def weights_there(weights: Ints, device: Device) -> Any:
    """Weights of rows on a device; none if they are all 1."""
    return device.xp.asarray(ONES if np.all(weights == 1) else weights)


def select_values(
    parts: list[Any], weights: Any, columns: Sequence[int], capacity: int, limit: int, device: Device
) -> list[Found | None] | None:
    """The values of columns whose hash is at most the limit; None for a column of which there are too many.

    parts: arrays [row, column], one below the other. None for all where a number is infinite.
    """
    xp, size = device.xp, 2 * capacity
    (chosen,) = device.upload(np.array(columns, dtype=np.int32))
    values, totals = xp.empty((len(columns), size)), xp.empty((len(columns), size), dtype=np.int64)
    found = xp.zeros(2 * len(columns) + 1, dtype=np.uint32)
    for low, high, block in blocks_of(parts, device):
        device.kernels.select(block, chosen, weights[low:high], limit, values, totals, found)
    counts = np.array(device.download(found))
    if counts[-1]:
        return None
    n_values, missing = counts[:-1].reshape(-1, 2).T
    longest = int(np.minimum(n_values, size).max(initial=0))
    values_here = np.array(device.download(values[:, :longest]))
    totals_here = np.array(device.download(totals[:, :longest]))
    every = zip(n_values.tolist(), missing.tolist(), values_here, totals_here, strict=True)
    return [(some[:n], total[:n], bool(gone)) if n <= size else None for n, gone, some, total in every]


def distinct_values(parts: list[Any], weights: Any, column: int, capacity: int, device: Device) -> Found | None:
    """All distinct values of a column, or the `capacity` ones with the smallest hashes; None if one is infinite."""
    xp = device.xp
    values = xp.concatenate([xp.asarray(part[:, column]) for part in parts]) + 0.0
    if len(weights):
        values, weights = values[weights > 0], weights[weights > 0]
    known = values == values
    missing = not bool(known.all())
    if missing:
        values, weights = values[known], weights[known] if len(weights) else weights
    if bool(xp.isinf(values).any()):
        return None
    order = xp.argsort(values) if len(weights) else None
    values = xp.sort(values) if order is None else values[order]
    ends = xp.flatnonzero(xp.concatenate([values[1:] != values[:-1], xp.ones(min(len(values), 1), dtype=bool)]))
    upto = ends + 1 if order is None else xp.cumsum(weights[order])[ends]
    totals = xp.diff(upto, prepend=xp.zeros(1, dtype=upto.dtype))
    values = values[ends].astype(np.float64)
    if len(values) > capacity:
        hashes = hashes_there(values)
        within = hashes <= xp.sort(hashes)[capacity - 1]
        values, totals = values[within], totals[within]
    return np.array(device.download(values)), np.array(device.download(totals)).astype(np.int64), missing


def hashes_there(values: Any) -> Any:
    """Return the hashes of kernels.hash_values, computed on a device."""
    z = values.view(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def blocks_of(parts: list[Any], device: Device) -> Any:
    """(low, high, block on the device) over all rows."""
    first = 0
    for part in parts:
        at_once = rows_at_once(part)
        for low in range(0, len(part), at_once):
            block = device.xp.asarray(part[low : low + at_once])
            yield first + low, first + low + len(block), block
        first += len(part)
