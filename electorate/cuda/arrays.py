"""Arrays of users that live on a GPU: CuPy's, PyTorch's, and any with `__cuda_array_interface__`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_there(X: Any) -> bool:
    """Whether an array lives on a GPU. PyTorch's tensors on the CPU raise AttributeError, as if it were not there."""
    return not isinstance(X, np.ndarray) and hasattr(X, "__cuda_array_interface__")


def to_host(X: Any) -> NDArray[Any]:
    """A copy of an array of a GPU, in the memory of this process."""
    if hasattr(X, "get"):
        return np.asarray(X.get())
    if hasattr(X, "detach"):
        return np.asarray(X.detach().cpu().numpy())
    import cupy

    return np.asarray(cupy.asnumpy(cupy.asarray(X)))


def to_gpu(found: Any) -> Any:
    """Numbers as a CuPy array; labels that are texts stay in this process."""
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
        return found
    import cupy

    return cupy.asarray(found)
