"""The cells of a table as codes on a device: numbers are binned there, other tables in this process."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.cuda.device import FLOATS, Device, rows_at_once
from electorate.cuda.layouts import Codes
from electorate.data.bins import Bins, pad_edges
from electorate.data.table import ArrayTable
from electorate.engines.bundles import Bundles
from electorate.engines.device_rows import no_codes, pack_codes
from electorate.engines.shard import Examples, encode_bundled, encode_rows


def place_codes(
    examples: Examples, bins: Bins, order: NDArray[np.int64], device: Device, bundle: bool = True
) -> tuple[Codes, Bundles | None]:
    """The codes of the rows `order` on the device, and which columns share a byte. bundle: whether any may."""
    table, in_bytes = examples.table, bins.code_type is np.uint8 and not bins.categories
    if in_bytes and isinstance(table, ArrayTable) and table.array.dtype in FLOATS:
        codes = encode_there(table.array if table.there is None else table.there, bins, order, device)
        if codes is not None:
            return codes, None
    if not bundle:
        return pack_codes(device, encode_rows(examples, bins, 0, table.n_rows, order), bins.width), None
    codes_here, bundles = encode_bundled(examples, bins, 0, table.n_rows, order)
    return pack_codes(device, codes_here, bins.width), bundles


def encode_there(array: Any, bins: Bins, order: NDArray[np.int64], device: Device) -> Codes | None:
    """Bin numbers on the device; None where a number is infinite, which the caller has to name."""
    xp, (n_rows, n_columns) = device.xp, array.shape
    dest = np.full(n_rows, -1, dtype=np.int64)
    dest[order] = np.arange(len(order))
    codes = no_codes(device, n_columns, len(order), bins.width)
    edges, depths = pad_edges(bins.edges)
    edges_there, depths_there = device.upload(edges, depths.astype(np.int32))
    at_once = rows_at_once(array)
    for low in range(0, n_rows, at_once):
        block, places = xp.asarray(array[low : low + at_once]), xp.asarray(dest[low : low + at_once])
        if bool(xp.isinf(block[places >= 0]).any()):
            return None
        device.kernels.encode(block, edges_there, depths_there, bins.missing, places, codes)
    return codes
