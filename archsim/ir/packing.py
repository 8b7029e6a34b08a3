"""Weights as they are stored: rows of bytes where their elements are packed below a byte or in blocks."""

from __future__ import annotations

from dataclasses import replace

from archsim.facts.number_formats import element_format
from archsim.ir.workload import Tensor


def in_bytes(tensor: Tensor) -> Tensor:
    """The tensor with rows of bytes where it is packed, without its scales; else itself."""
    stated = element_format(tensor.format) if tensor.format else None
    if stated is None or stated.is_plain:
        return tensor
    return replace(tensor, shape=(*tensor.shape[:-1], stated.row_bytes(tensor.shape[-1])))


def stored_bits(tensor: Tensor, plain_bits: int) -> int:
    """Bits of a tensor, rows of packed ones padded to bytes; ``plain_bits``: of an element that states no format."""
    stored = in_bytes(tensor)
    if stored is not tensor:
        return stored.elements * 8
    return tensor.elements * (element_format(tensor.format).bits if tensor.format else plain_bits)
