"""Tensors that a call makes of numbers alone; large ones have a shape and no contents."""

from __future__ import annotations

from math import ceil, inf, isfinite, prod

import numpy as np

from archsim.frontend.torch.bound import BoundCall
from archsim.ir.graph import SMALL_ELEMENTS, Array, GraphValue

_NUMBERS = {"ones": 1.0, "ones_like": 1.0, "new_ones": 1.0}
_NAMES = ("value", "fill_value", "s")


def filled(call: BoundCall) -> str:
    """One number everywhere."""
    number = next((call.number(key) for key in _NAMES if call.plain(key) is not None), _NUMBERS.get(call.name, 0.0))
    like = [call.tensor("self")] if call.is_tensor("self") else []
    return _made(call, np.full(call.shape, number) if call.maker.keeps(call.shape, call.dtype, like) else None)


def numbers(call: BoundCall) -> str:
    """A range."""
    start, step = call.number("start", 0.0), call.number("step", 1.0)
    end = call.number("end", inf)
    if not isfinite(end) or not step or not isfinite(start):
        call.fail("is no range")
    count = max(0, ceil((end - start) / step))
    if (count,) != call.shape:
        call.fail(f"makes {count} numbers, but the program states {list(call.shape)}")
    return _made(call, start + step * np.arange(count) if call.maker.keeps(call.shape, call.dtype) else None)


def diagonal(call: BoundCall) -> str:
    """Ones on the diagonal."""
    return _made(call, np.eye(*call.shape) if prod(call.shape) <= SMALL_ELEMENTS and len(call.shape) == 2 else None)


def _made(call: BoundCall, data: Array | None) -> str:
    if data is None:
        return call.maker.enter(GraphValue(call.label, call.shape, "constant", call.dtype))
    with np.errstate(all="ignore"):
        return call.maker.constant(call.label, data, call.dtype)


RULES = {
    **dict.fromkeys(
        (
            "empty",
            "empty_like",
            "full",
            "full_like",
            "new_empty",
            "new_full",
            "new_ones",
            "new_zeros",
            "ones",
            "ones_like",
            "scalar_tensor",
            "zeros",
            "zeros_like",
        ),
        filled,
    ),
    "arange": numbers,
    "eye": diagonal,
}
