"""Where a view of a stored tensor lies: bytes, from the elements that the Workload counts."""

from __future__ import annotations

from archsim.ir.dtypes import size_bytes
from archsim.ir.program import PlacedTensor
from archsim.ir.workload import View
from mapper.problem.strides import row_major


def view_bytes(stored: PlacedTensor, view: View | None) -> tuple[int, tuple[int, ...]]:
    """(byte offset, byte strides) of the stored tensor itself or of a view of it; a border is stepped over."""
    if view is None:
        return stored.origin, stored.strides
    dense = row_major(stored.shape, 1)
    real: dict[int, int] = {}  # element stride -> byte stride; a border makes them differ
    for stride, step in zip(dense, stored.strides, strict=True):
        real.setdefault(stride, step)  # of axes of one stride all but the first have one element, and do not move
    offset, rest = stored.origin, view.offset
    for stride, step in zip(dense, stored.strides, strict=True):
        offset += rest // stride * step
        rest %= stride
    width = size_bytes(stored.dtype)
    plain = stored.strides == row_major(stored.shape, width)
    return offset, tuple(stride * width if plain else real[stride] for stride in view.strides)
