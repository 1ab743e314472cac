"""The cells of a table as codes on a device: numbers are binned there, other tables in this process."""

from typing import Any

import numpy as np

from electorate.cuda.arrays import here
from electorate.cuda.device import Device
from electorate.cuda.layouts import Codes
from electorate.data.bins import Bins, pad_edges
from electorate.data.device_bins import blocks_of
from electorate.data.table import float_parts
from electorate.engines.bundles import Bundles
from electorate.engines.device_rows import no_codes, pack_codes
from electorate.engines.shard import Examples, encode_bundled, encode_rows


def place_codes(
    examples: Examples, bins: Bins, order: Any, device: Device, bundle: bool = True
) -> tuple[Codes, Bundles | None]:
    """The codes of the rows `order` on the device, and which columns share a byte. bundle: whether any may.

    order: here or on the device.
    """
    table, in_bytes = examples.table, bins.code_type is np.uint8 and not bins.categories
    parts = float_parts(table) if in_bytes else None
    if parts is not None:
        codes = encode_there(parts, bins, order, device)
        if codes is not None:
            return codes, None
    order = here(order)
    if not bundle:
        return pack_codes(device, encode_rows(examples, bins, 0, table.n_rows, order), bins.width), None
    codes_here, bundles = encode_bundled(examples, bins, 0, table.n_rows, order)
    return pack_codes(device, codes_here, bins.width), bundles


def encode_there(parts: list[Any], bins: Bins, order: Any, device: Device) -> Codes | None:
    """Bin numbers on the device; None where a number is infinite, which the caller has to name.

    parts: arrays [row, column], one below the other. order: of rows, here or on the device.
    """
    xp, n_rows = device.xp, sum(map(len, parts))
    order = xp.asarray(order)
    dest = xp.full(n_rows, -1, dtype=np.int64)
    dest[order] = xp.arange(len(order))
    codes = no_codes(device, len(bins.edges), len(order), bins.width)
    edges, depths = pad_edges(bins.edges)
    edges_there, depths_there = device.upload(edges, depths.astype(np.int32))
    for low, high, block in blocks_of(parts, device):
        places = dest[low:high]
        if bool((xp.isinf(block).any(axis=1) & (places >= 0)).any()):
            return None
        device.kernels.encode(block, edges_there, depths_there, bins.missing, places, codes)
    return codes
