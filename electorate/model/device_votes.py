"""Votes and medians of a fitted ensemble for rows on a device, with the bits of the CPU: they are integers."""

from typing import Any

import numpy as np

from electorate.cuda import layouts
from electorate.cuda.arrays import RowsThere
from electorate.cuda.device import BYTES_AT_ONCE, Device, rows_at_once
from electorate.data.bins import block_rows, reader
from electorate.data.table import Categories, Table
from electorate.exact import UNITS
from electorate.model.ensemble import LEAF, Ensemble, tables_of
from electorate.model.median import Median

CategoryColumns = dict[int, Categories]


def can_vote_there(categories: CategoryColumns) -> bool:
    """Whether categories, if any, are numbers."""
    return not any(levels.is_text for levels in categories.values())


def votes_there(ensemble: Ensemble, table: Table, rows: RowsThere, categories: CategoryColumns) -> Any:
    """[output, row] of the summed votes, on the device, in units of the grid."""
    device, by_tables = rows.device, ensemble.lookup is not None
    votes = device.xp.zeros((ensemble.n_outputs, len(rows)), dtype=np.int64)
    tables = _tables(ensemble, device) if by_tables else None
    trees, units = (None, None) if by_tables else (_trees(ensemble, device), device.upload(ensemble.units)[0])
    for low, high, block in _blocks(table, rows, categories, rows_at_once(rows.array)):
        part = device.xp.empty((ensemble.n_outputs, high - low), dtype=np.int64)
        if tables is not None:
            device.kernels.vote_tables(block, tables, part)
        elif ensemble.n_voters:
            device.kernels.vote_trees(block, trees, units, part)
        else:
            part[:] = 0
        votes[:, low:high] = part
    return votes


def medians_there(
    vote: Median, table: Table, rows: RowsThere, categories: CategoryColumns, lower: bool, fallback: float
) -> Any:
    """The weighted median of trees for every row, on the device; `fallback` where no voter has any confidence."""
    assert vote.trees is not None
    device, xp = rows.device, rows.device.xp
    trees, how = _trees(vote.trees, device), _choice(vote, lower, device)
    (outputs,) = device.upload(np.append(vote.table, fallback))  # the place -1 is the last one
    found = xp.empty(len(rows))
    at_once = min(rows_at_once(rows.array), max(1, BYTES_AT_ONCE // (4 * vote.n_voters)))
    for low, high, block in _blocks(table, rows, categories, at_once):
        nodes = xp.empty((vote.n_voters, high - low), dtype=np.int32)
        places = xp.empty(high - low, dtype=np.int32)
        device.kernels.find_nodes(block, trees, nodes)
        device.kernels.choose_places(nodes, how, places)
        found[low:high] = outputs[places]
    return found


def _blocks(table: Table, rows: RowsThere, categories: CategoryColumns, at_once: int) -> Any:
    """(low, high, block [row, column]) for all rows, categories as codes; refuses infinite numbers as the CPU does."""
    xp = rows.device.xp
    for low in range(0, len(rows), at_once):
        high = min(low + at_once, len(rows))
        block = rows.array[low:high]
        if bool(xp.isinf(block).any()):
            read, step = reader(table, categories), block_rows(table.n_columns)
            for at in range(low, high, step):
                read(at, min(at + step, high))
        yield low, high, _with_codes(block, categories, xp)


def _with_codes(block: Any, categories: CategoryColumns, xp: Any) -> Any:
    """Return what `numeric_codes` of data/table.py returns, column by column."""
    if not categories:
        return block
    block = block.astype(np.float64)
    for column, levels in categories.items():
        known, codes = (xp.asarray(each) for each in levels.by_number)
        values = block[:, column]
        if len(known):
            place = xp.minimum(xp.searchsorted(known, values), len(known) - 1)
            values = xp.where(known[place] == values, codes[place], np.nan)
        block[:, column] = values if len(known) else np.nan
    return block


def _tables(ensemble: Ensemble, device: Device) -> layouts.ColumnTables:
    cells = ensemble.cells
    first = np.cumsum([0, *(len(edges) + 2 for edges in cells.edges)]).astype(np.int32)
    together = np.concatenate([np.empty((ensemble.n_outputs, 0), dtype=np.int64), *tables_of(ensemble)], axis=1)
    edges = np.concatenate([np.empty(0), *cells.edges])
    arrays = cells.columns.astype(np.int32), first, edges, together, ensemble.constant
    return layouts.ColumnTables(*device.upload(*arrays))


def _trees(ensemble: Ensemble, device: Device) -> layouts.ValueTrees:
    nodes = (
        ensemble.column,
        ensemble.threshold,
        ensemble.members,
        ensemble.missing_left,
        ensemble.child_nodes.astype(np.int32),
        ensemble.sets,
    )
    return layouts.ValueTrees(*device.upload(ensemble.offsets[:-1].astype(np.int32), *nodes))


def _choice(vote: Median, lower: bool, device: Device) -> layouts.MedianRule:
    """The weights of leaves, as `Median.votes` gives them to voters."""
    assert vote.trees is not None
    sizes, confidence = np.diff(vote.trees.offsets), vote.trees.value[:, 1]
    units = np.repeat(vote.units, sizes)
    weight = np.rint(units * confidence).astype(np.int64) if vote.leaves_doubt else units
    if vote.decides:
        last = slice(int(vote.trees.offsets[-2]), None)
        sure = confidence[last] if vote.leaves_doubt else np.ones(sizes[-1])
        alone = np.maximum(1, np.rint(sure * UNITS)).astype(np.int64)
        weight[last] = np.where(sure > 0, alone, weight[last])
    place = np.where(vote.trees.column == LEAF, vote.placed[:, 0], 0).astype(np.int32)
    place_there, weight_there = device.upload(place, weight)
    return layouts.MedianRule(place_there, weight_there, len(vote.table), lower, vote.decides)
