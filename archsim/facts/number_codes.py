"""Numbers to the bits of a number format and back: rows of packed elements, and rows of their scales and zeros.

Bits are counted from the lowest one of the first byte. Types of floats: OCP 8-bit Floating Point Specification (OFP8)
v1.0 for e4m3 (no infinity, one NaN of each sign) and e5m2, OCP Microscaling Formats (MX) v1.0 for e2m1 and e8m0, IEEE
754 for fp16 and fp32; bf16 is the upper half of fp32. Rounding is to nearest, ties to even; what is too large becomes
the largest element.

How a block's scale is chosen: with a zero, so that the range from its least to its greatest number (0 lies between)
fits the elements; a power of two (e8m0) so that the exponent of the largest magnitude is that of the largest element
(MX v1.0, section 6.3); else so that the largest magnitude is the largest element.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.facts.number_formats import ELEMENT_BITS, SCALE_BITS, ElementFormat

Array = npt.NDArray[Any]
_FIELDS = {
    "fp4_e2m1": (2, 1, 1),
    "fp8": (4, 3, 7),
    "fp8_e4m3": (4, 3, 7),
    "fp8_e5m2": (5, 2, 15),
}  # bits of exponent, mantissa; bias
_MOST = {"fp4_e2m1": 6.0, "fp8": 448.0, "fp8_e4m3": 448.0, "fp8_e5m2": 57344.0, "fp16": 65504.0}
_E8M0_BIAS, _E8M0_MOST = 127, 254
_SMALL = {"fp16": 2.0**-24, "bf16": 2.0**-126, "fp32": 2.0**-126, "fp8_e4m3": 2.0**-9, "fp8_e5m2": 2.0**-16}


def encode(values: Array, wanted: ElementFormat) -> tuple[Array, Array]:
    """Rows along the last axis as bytes: (.., ``row_bytes``) of elements and (.., ``scale_bytes``) of scales."""
    row = values.shape[-1]
    if not wanted.block:
        return _packed(_codes(values, wanted.element), wanted.bits), np.zeros((*values.shape[:-1], 0), np.uint8)
    blocks = -(-row // wanted.block)
    padded = np.zeros((*values.shape[:-1], blocks * wanted.block))
    padded[..., :row] = values
    inside = padded.reshape(*values.shape[:-1], blocks, wanted.block)
    scale, zero = _scales(inside, wanted)
    held = _values(_codes(scale, wanted.scale), wanted.scale)
    elements = (inside / held[..., None] + zero[..., None]).reshape(padded.shape)[..., :row]
    return in_bytes(elements, scale, zero, wanted)


def in_bytes(elements: Array, scale: Array, zero: Array, wanted: ElementFormat) -> tuple[Array, Array]:
    """Elements (.., row) that are there already, and the scale and zero of each of their blocks (.., blocks), as bytes
    like those of ``encode``."""
    entries = _codes(scale, wanted.scale)
    if wanted.has_zero:
        entries = entries | _codes(zero, wanted.element) << SCALE_BITS[wanted.scale]
    return _packed(_codes(elements, wanted.element), wanted.bits), _packed(entries, wanted.scale_bits)


def decode(packed: Array, scales: Array, stored: ElementFormat, count: int) -> Array:
    """The first ``count`` numbers of rows of bytes, in double precision."""
    values = _values(_unpacked(packed, stored.bits, count), stored.element)
    if not stored.block:
        return values
    entries = _unpacked(scales, stored.scale_bits, -(-count // stored.block))
    scale = _values(entries & (1 << SCALE_BITS[stored.scale]) - 1, stored.scale)
    zero = np.zeros(1)
    if stored.has_zero:
        zero = _values(entries >> SCALE_BITS[stored.scale], stored.element)
        zero = np.repeat(zero, stored.block, axis=-1)[..., :count]
    return np.asarray((values - zero) * np.repeat(scale, stored.block, axis=-1)[..., :count])


def rounded(values: Array, wanted: ElementFormat) -> Array:
    """The numbers that elements of a format come to stand for."""
    return decode(*encode(values, wanted), wanted, values.shape[-1])


def _scales(inside: Array, wanted: ElementFormat) -> tuple[Array, Array]:
    """Scale and zero of each block, (.., blocks)."""
    most = np.max(np.abs(inside), axis=-1)
    if wanted.scale == "e8m0":
        largest = _MOST.get(wanted.element, 2.0 ** (wanted.bits - 1) - 1)
        exponent = np.frexp(np.where(most > 0, most, 1.0))[1] - np.frexp(largest)[1]
        return np.ldexp(1.0, exponent), np.zeros(most.shape)
    if not wanted.has_zero:
        largest = _MOST.get(wanted.element, _limits(wanted.element)[1])
        return _positive(most / largest, wanted.scale), np.zeros(most.shape)
    least, greatest = np.minimum(inside.min(axis=-1), 0), np.maximum(inside.max(axis=-1), 0)
    low, high = _limits(wanted.element)
    scale = _positive((greatest - least) / (high - low), wanted.scale)
    return scale, np.clip(np.rint(low - least / scale), low, high)


def _positive(scale: Array, kind: str) -> Array:
    """Scales as their type holds them; 1 of blocks of zeros."""
    held = _values(_codes(np.maximum(scale, _SMALL[kind]), kind), kind)
    return np.where(scale > 0, held, 1.0)


def _limits(element: str) -> tuple[float, float]:
    bits = ELEMENT_BITS[element]
    return (0.0, 2.0**bits - 1) if element.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)


def _codes(values: Array, kind: str) -> Array:
    """The bits of each number, as unsigned integers."""
    if kind == "e8m0":
        return np.asarray(np.clip(np.frexp(values)[1] - 1 + _E8M0_BIAS, 0, _E8M0_MOST), np.uint64)
    if "int" in kind:
        whole = np.clip(np.rint(values), *_limits(kind)).astype(np.int64)
        return np.asarray(whole & (1 << ELEMENT_BITS[kind]) - 1, np.uint64)
    if kind in _FIELDS:
        return _nearest(values, kind)
    if kind == "fp16":
        held = np.clip(values, -_MOST["fp16"], _MOST["fp16"]).astype(np.float16)
        return np.asarray(held.view(np.uint16), np.uint64)
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    if kind == "fp32":
        return bits
    even = bits >> np.uint64(16) & np.uint64(1)
    return np.asarray(bits + np.uint64(0x7FFF) + even >> np.uint64(16))


def _nearest(values: Array, kind: str) -> Array:
    """Codes of a small type of floats: those of magnitudes ascend with them."""
    magnitudes = _magnitudes(kind)
    size = np.abs(values)
    above = np.clip(np.searchsorted(magnitudes, size), 1, len(magnitudes) - 1)
    low, high = magnitudes[above - 1], magnitudes[above]
    up = (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0))
    found = np.where(up | (size >= high), above, above - 1)
    return np.asarray(found | (np.signbit(values).astype(np.int64) << ELEMENT_BITS[kind] - 1), np.uint64)


@lru_cache(maxsize=8)
def _magnitudes(kind: str) -> Array:
    """The finite magnitudes of a small type of floats, by their codes."""
    _, mantissa, bias = _FIELDS[kind]
    codes = np.arange(1 << ELEMENT_BITS[kind] - 1)
    exponent, fraction = codes >> mantissa, (codes & (1 << mantissa) - 1) / (1 << mantissa)
    found = np.where(exponent > 0, np.ldexp(1 + fraction, exponent - bias), np.ldexp(fraction, 1 - bias))
    return np.asarray(found[found <= _MOST[kind]])


def _values(codes: Array, kind: str) -> Array:
    """The numbers that bits stand for."""
    whole = codes.astype(np.int64)
    if kind == "e8m0":
        return np.ldexp(1.0, whole - _E8M0_BIAS)
    if "int" in kind:
        signed = not kind.startswith("u")
        top = 1 << ELEMENT_BITS[kind] - 1
        return np.asarray((whole ^ top) - top if signed else whole, np.float64)
    if kind in _FIELDS:
        top = 1 << ELEMENT_BITS[kind] - 1
        magnitudes = _magnitudes(kind)
        place = whole & top - 1
        size = np.where(place < len(magnitudes), magnitudes[np.minimum(place, len(magnitudes) - 1)], np.nan)
        return np.asarray(np.where(whole & top, -size, size))
    if kind == "fp16":
        return np.asarray(whole.astype(np.uint16).view(np.float16), np.float64)
    shift = 16 if kind == "bf16" else 0
    return np.asarray((whole << shift).astype(np.uint32).view(np.float32), np.float64)


def _packed(codes: Array, bits: int) -> Array:
    """Rows of codes as rows of bytes, the lowest bits first."""
    places = np.arange(bits, dtype=np.uint64)
    rows = (codes[..., None].astype(np.uint64) >> places & np.uint64(1)).astype(np.uint8)
    return np.asarray(np.packbits(rows.reshape(*codes.shape[:-1], codes.shape[-1] * bits), axis=-1, bitorder="little"))


def _unpacked(packed: Array, bits: int, count: int) -> Array:
    """The first ``count`` codes of rows of bytes; bytes may come as real numbers."""
    whole = np.abs(np.rint(packed)).astype(np.uint8)
    rows = np.unpackbits(whole, axis=-1, bitorder="little")[..., : count * bits]
    codes = rows.reshape(*packed.shape[:-1], count, bits).astype(np.uint64)
    return np.asarray((codes << np.arange(bits, dtype=np.uint64)).sum(axis=-1, dtype=np.uint64))
