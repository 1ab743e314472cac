"""Arrays of users that live on a GPU: CuPy's, PyTorch's, JAX's, and any with `__cuda_array_interface__` or DLPack.

The rows of a fit are held by engines/device_rows.py.
"""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.cuda.device import FLOATS, Device, open_device

CUDA_KINDS = (2, 13)  # of DLPack's devices: CUDA, and CUDA's managed memory


@dataclass(frozen=True)
class RowsThere:
    """Rows of a user on a device, [row, column] of float32 or float64, as arrays of the device."""

    array: Any
    device: Device

    def __len__(self) -> int:
        return len(self.array)

    def here(self) -> NDArray[Any]:
        """A copy in the memory of this process."""
        return here(self.array)


def is_there(X: Any) -> bool:
    """Whether an array lives on a GPU. PyTorch's tensors on the CPU raise AttributeError, as if it were not there."""
    if isinstance(X, np.ndarray):
        return False
    if isinstance(X, RowsThere) or hasattr(X, "__cuda_array_interface__"):
        return True
    kind = getattr(X, "__dlpack_device__", None)
    try:
        return kind is not None and kind()[0] in CUDA_KINDS
    except (TypeError, ValueError, BufferError):  # of pyarrow, for types that DLPack does not have
        return False


def rows_there(X: Any) -> RowsThere | None:
    """Rows of numbers on a device, without a copy where they are floats; None where there is no device to use them."""
    if isinstance(X, RowsThere):
        return X
    try:
        device = open_device()
    except (ImportError, RuntimeError):
        return None
    array = device.adopt(X)
    if array.ndim != 2 or array.dtype.kind not in "fiub" or 0 in array.shape:
        return None
    return RowsThere(array if array.dtype in FLOATS else array.astype(np.float64), device)


def to_host(X: Any) -> NDArray[Any]:
    """A copy of an array of a GPU, in the memory of this process."""
    if isinstance(X, RowsThere):
        return X.here()
    if hasattr(X, "get"):
        return np.asarray(X.get())
    if hasattr(X, "detach"):
        return np.asarray(X.detach().cpu().numpy())
    import cupy

    there = cupy.asarray(X) if hasattr(X, "__cuda_array_interface__") else cupy.from_dlpack(X)
    return np.asarray(cupy.asnumpy(there))


def like(X: Any, found: Any) -> Any:
    """Return results as arrays of the library of X, where X is; texts stay in this process."""
    if isinstance(X, RowsThere):
        return found
    if isinstance(found, np.ndarray) and found.dtype.kind not in "biuf":
        return found
    library = library_of(X)
    if library is None or library.__name__ == "cupy":
        import cupy

        return cupy.asarray(found)
    if isinstance(found, np.ndarray):
        return library.asarray(found, device=X.device)
    return library.from_dlpack(found)


def here(array: Any) -> NDArray[Any]:
    """An array of a device, or of this process, in the memory of this process."""
    return np.asarray(array.get() if hasattr(array, "get") else array)


def taken(values: NDArray[Any], places: Any) -> Any:
    """values[places], where the places are; texts in this process."""
    if isinstance(places, np.ndarray) or values.dtype.kind not in "biuf":
        return values[here(places)]
    import cupy

    return cupy.asarray(values)[places]


def library_of(X: Any) -> Any:
    """The module of the array API whose arrays X is one of, or None."""
    if hasattr(X, "__array_namespace__"):
        return X.__array_namespace__()
    module = sys.modules.get(type(X).__module__.partition(".")[0])
    return module if hasattr(module, "from_dlpack") else None
