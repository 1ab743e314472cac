"""Buffers of histograms are reused when no array refers to them."""

import numpy as np

from electorate.engines.verbs import MOST, Buffers


def place(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_a_buffer_is_taken_again_when_no_view_is_left() -> None:
    buffers = Buffers()
    first, second = buffers.take((2, 3)), buffers.take((2, 3))
    begin = place(first)
    assert place(second) != begin
    view = first[1:].reshape(-1)[::2].view(np.uint64)
    del first
    third = buffers.take((2, 3))
    assert place(third) not in (begin, place(second))
    del view
    assert place(buffers.take((5,))) == begin
    assert buffers.take((0, 4)).shape == (0, 4)


def test_more_arrays_than_are_held() -> None:
    buffers = Buffers()
    arrays = [buffers.take((4,)) for _ in range(MOST + 3)]
    assert len({place(array) for array in arrays}) == MOST + 3
    assert len(buffers.held) == MOST
