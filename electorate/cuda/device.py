"""A GPU, or the twins in its place: arrays there, kernels, and the way there and back."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.cuda.launch import Launcher
from electorate.cuda.twins import Twins

ALIGNED = 16  # bytes
MUCH = 2**62
BYTES_AT_ONCE = 2**28  # of numbers on their way to the device
FLOATS = (np.float32, np.float64)
NO_BYTES = np.empty(0, dtype=np.uint8)
NO_CUPY = (
    "device='cuda' needs CuPy, which is not installed: pip install 'electorate[cuda]' (CUDA 13), or cupy-cuda12x for a "
    "driver of CUDA 12; or use device='cpu'"
)
NO_GPU = "device='cuda' needs an NVIDIA GPU and its driver, and none can be used here ({}): use device='cpu'"


class Device:
    """xp: the module of its arrays. kernels: those of `launch.py` or `twins.py`."""

    xp: Any
    kernels: Any

    def upload(self, *arrays: NDArray[Any]) -> list[Any]:
        """Copies of some arrays on the device, by one transfer: for a few small ones."""
        raise NotImplementedError

    def download(self, array: Any) -> NDArray[Any]:
        """An array of this process with the same numbers, valid until the next download by the same thread."""
        raise NotImplementedError

    def adopt(self, array: Any) -> Any:
        """An array of a user that lives on the device, as one of `xp`, without a copy."""
        raise NotImplementedError

    def free_bytes(self) -> int:
        """Memory that is left on the device."""
        raise NotImplementedError

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise what goes wrong on the device as errors that need no CuPy to read."""
        yield


class Reference(Device):
    """The memory of this process, and NumPy."""

    xp = np

    def __init__(self) -> None:
        self.kernels = Twins()

    def upload(self, *arrays: NDArray[Any]) -> list[Any]:
        return [array.copy() for array in arrays]

    def download(self, array: Any) -> NDArray[Any]:
        return np.array(array)

    def adopt(self, array: Any) -> Any:
        return np.asarray(array.get())

    def free_bytes(self) -> int:
        return MUCH


class Gpu(Device):
    """The current NVIDIA GPU, through CuPy."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        self.kernels = Launcher(cupy)
        self.buffers = threading.local()

    def upload(self, *arrays: NDArray[Any]) -> list[Any]:
        flat = [np.ascontiguousarray(array) for array in arrays]
        ends = np.cumsum([0, *(-(-array.nbytes // ALIGNED) * ALIGNED for array in flat)]).tolist()
        host = np.empty(ends[-1], dtype=np.uint8)
        for at, array in zip(ends, flat, strict=False):
            host[at : at + array.nbytes] = array.view(np.uint8).reshape(-1) if array.size else 0
        there = self.xp.empty(ends[-1], dtype=np.uint8)
        there.set(host)
        return [
            there[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
            for at, array in zip(ends, flat, strict=False)
        ]

    def download(self, array: Any) -> NDArray[Any]:
        array = self.xp.ascontiguousarray(array)
        pinned = getattr(self.buffers, "pinned", NO_BYTES)
        if len(pinned) < array.nbytes:
            memory = self.xp.cuda.alloc_pinned_memory(max(array.nbytes, 2 * len(pinned)))
            self.buffers.pinned = pinned = np.frombuffer(memory, dtype=np.uint8)
        found = pinned[: array.nbytes].view(array.dtype).reshape(array.shape)
        array.get(out=found)
        return found

    def adopt(self, array: Any) -> Any:
        if hasattr(array, "__cuda_array_interface__"):
            return self.xp.asarray(array.detach() if hasattr(array, "detach") else array)
        return self.xp.from_dlpack(array)

    def free_bytes(self) -> int:
        free, _ = self.xp.cuda.runtime.memGetInfo()
        return int(free + self.xp.get_default_memory_pool().free_bytes())

    @contextmanager
    def errors(self) -> Iterator[None]:
        cuda = self.xp.cuda
        try:
            yield
        except cuda.memory.OutOfMemoryError as error:
            raise MemoryError(f"the memory of the GPU is full: {error}; use fewer rows, or device='cpu'") from error
        except (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError) as error:
            raise RuntimeError(
                f"the GPU stopped working: {error}. Start a new process, or use device='cpu'; a Checkpoint among the "
                "callbacks keeps the rounds so far"
            ) from error


def refuse_too_large(device: Device, per_row: int, n_rows: int, fixed: int) -> int:
    """Raise MemoryError if so many bytes do not fit on a device; return how many are left.

    fixed: those that do not depend on the rows.
    """
    needed, free = per_row * n_rows + fixed, device.free_bytes()
    if needed > free:
        fit = max(0, (free - fixed) // max(1, per_row))
        sizes = f"{needed / 2**30:.1f} GiB on the GPU, and {free / 2**30:.1f} GiB are free"
        raise MemoryError(f"this fit needs about {sizes}: about {fit} rows would fit; or use device='cpu'")
    return free - needed


def hash_there(array: Any, start: int, device: Device) -> NDArray[np.uint64]:
    """A hash of every row of numbers, computed on the device."""
    hashes = np.empty(len(array), dtype=np.uint64)
    at_once = rows_at_once(array)
    for low in range(0, len(array), at_once):
        block = device.xp.asarray(array[low : low + at_once])
        found = device.xp.full(len(block), start, dtype=np.uint64)
        device.kernels.hash_rows(block, found)
        hashes[low : low + at_once] = device.download(found)
    return hashes


def rows_at_once(array: Any) -> int:
    """How many rows of an array to send to a device at a time."""
    return max(1, BYTES_AT_ONCE // max(1, array.shape[1] * array.dtype.itemsize))


def open_device() -> Device:
    """The device of device="cuda". ImportError without CuPy, RuntimeError without a GPU."""
    if os.environ.get("ELECTORATE_CUDA") == "reference":
        return Reference()
    return _open_gpu()


@cache
def _open_gpu() -> Device:
    try:
        import cupy
    except ImportError as error:
        raise ImportError(NO_CUPY) from error
    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # of the driver or of the runtime: missing, too old, or without a device
        raise RuntimeError(NO_GPU.format(error)) from error
    if not found:
        raise RuntimeError(NO_GPU.format("no device"))
    return Gpu(cupy)
