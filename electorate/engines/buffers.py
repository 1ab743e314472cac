"""Buffers for histograms: new pages from the system cost ten times as much as the sums in them."""

import math
import weakref

import numpy as np
from numpy.typing import NDArray

MOST = 32  # buffers that are held for reuse


class Buffers:
    """Arrays that are reused as soon as nothing refers to them or to a view of them."""

    def __init__(self) -> None:
        self.held: list[memoryview] = []
        self.given: list[weakref.ref[NDArray[np.int64]]] = []  # the last array in each buffer; views of it refer to it

    def take(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """An array of this shape, whatever it holds."""
        size = math.prod(shape)
        if size == 0:
            return np.empty(shape, dtype=np.int64)
        place = next((k for k, given in enumerate(self.given) if given() is None), len(self.held))
        if place == MOST:
            return np.empty(shape, dtype=np.int64)
        if place == len(self.held):
            self.held.append(np.empty(size, dtype=np.int64).data)
            self.given.append(weakref.ref(np.empty(0, dtype=np.int64)))
        if len(self.held[place]) < size:
            self.held[place] = np.empty(size, dtype=np.int64).data
        array = np.frombuffer(self.held[place], np.int64, size)
        self.given[place] = weakref.ref(array)
        return array.reshape(shape)
