"""Chooses where a fit runs: on the CPU or on a GPU."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from electorate.algorithms.protocol import Floors
from electorate.cuda.device import Device, open_device

MANY_CELLS = 2**24  # of X: below, device="auto" stays on the CPU
ANY_FLOORS = Floors((0.0, 0.0))


def reason_against(model: Any) -> str | None:
    """Return why the parameters of a model rule out training on a GPU, or None."""
    name, family = type(model).__name__, type(model._family()).__name__
    if not model._on_devices:
        return f"{name} cannot be trained on a GPU"
    if not model._is_native:
        return f"voters of {family} are not searched over bins, and only such voters can be trained on a GPU"
    if not model._has_formulas():
        return f"the loss of {name} is a function in Python, which a GPU cannot compute"
    return None


def refuse_device(model: Any, away: str | None, here: bool) -> None:
    """Raise TypeError if device="cuda" cannot be used. away: why the rows cannot be on a GPU, or None.

    here: whether this process needs a GPU, and not the workers of a cluster.
    """
    if model.device != "cuda":
        return
    reason = away or reason_against(model)
    if reason is not None:
        raise TypeError(f"device='cuda': {reason}; use device='cpu'")
    if here:
        open_device()


def chosen_device(model: Any, n_cells: int, there: bool) -> Device | None:
    """Return the device of a fit, or None for the CPU. n_cells: of X; there: whether X is on a GPU."""
    if model.device == "cuda":
        return open_device()
    asked_for = there or (model.device == "auto" and n_cells >= MANY_CELLS)
    if not asked_for or reason_against(model) is not None:
        return None
    try:
        return open_device()
    except (ImportError, RuntimeError):
        return None


def readable_errors(device: Device | None) -> AbstractContextManager[None]:
    """Return a context that turns errors of a device into readable ones."""
    return nullcontext() if device is None else device.errors()


def has_formulas(booster: Any) -> bool:
    """Whether kernels can compute all channels of a booster."""
    return all(channel.formula(ANY_FLOORS) is not None for channel in booster.channels)
