"""Number formats: a type of elements, alone or in blocks of them that share a scale and perhaps a zero.

``ELEMENT`` or ``ELEMENT/BLOCK:SCALE``, with ``+z`` behind it where each block has a zero of the element's type too:

- ``int4/128:fp16+z``: 128 elements along the last axis in memory share a scale: q stands for (q - zero) x scale;
- ``fp4_e2m1/32:e8m0`` (mxfp4), ``fp8_e4m3/32:e8m0`` (mxfp8): OCP Microscaling Formats (MX) v1.0, section 5;
- ``fp4_e2m1/16:fp8_e4m3`` (nvfp4): NVIDIA's blocks of 16.

``fp8`` alone is e4m3, and is what ``fp8_e4m3`` alone is called. Elements below 8 bits are packed along the last axis in
memory, and each such row is padded to a byte. The scales of a row lie behind one another, each with its zero behind it,
and such a row is padded to a byte as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, lcm

from archsim.base.errors import ConfigError, nearest

ELEMENT_BITS = {
    "int4": 4,
    "uint4": 4,
    "fp4_e2m1": 4,
    "int8": 8,
    "uint8": 8,
    "fp8": 8,
    "fp8_e4m3": 8,
    "fp8_e5m2": 8,
    "int16": 16,
    "fp16": 16,
    "bf16": 16,
    "int32": 32,
    "fp32": 32,
}
SCALE_BITS = {"e8m0": 8, "fp8_e4m3": 8, "fp8_e5m2": 8, "fp16": 16, "bf16": 16, "fp32": 32}
SHORT = {
    "mxfp4": "fp4_e2m1/32:e8m0",
    "mxfp8": "fp8_e4m3/32:e8m0",
    "nvfp4": "fp4_e2m1/16:fp8_e4m3",
    "fp8_e4m3": "fp8",  # as chip files call it
}
MOST_BLOCK = 1 << 16
BLOCKS = "int4/128:fp16+z"  # for messages
_FORM = re.compile(r"(?P<element>\w+)(/(?P<block>[1-9][0-9]*)(:(?P<scale>\w+?)(?P<zero>\+z)?)?)?")
_HELD: dict[str, tuple[str, ...]] = {  # plain types that hold every value of a type
    "int4": ("int8", "int16", "bf16", "fp16", "int32", "fp32"),
    "uint4": ("int8", "uint8", "int16", "bf16", "fp16", "int32", "fp32"),
    "int8": ("int16", "bf16", "fp16", "int32", "fp32"),
    "uint8": ("int16", "bf16", "fp16", "int32", "fp32"),
    "fp4_e2m1": ("fp8", "fp8_e5m2", "bf16", "fp16", "fp32"),
    "fp8": ("bf16", "fp16", "fp32"),
    "fp8_e4m3": ("bf16", "fp16", "fp32"),
    "fp8_e5m2": ("bf16", "fp16", "fp32"),
    "int16": ("int32", "fp32"),
    "fp16": ("fp32",),
    "bf16": ("fp32",),
}
_SCALED: dict[str, tuple[str, ...]] = {  # plain types in which a block's values are computed, by its scale's type
    "e8m0": ("bf16", "fp32"),
    "fp8_e4m3": ("bf16", "fp16", "fp32"),
    "fp8_e5m2": ("bf16", "fp16", "fp32"),
    "fp16": ("fp16", "fp32"),
    "bf16": ("bf16", "fp32"),
    "fp32": ("fp32",),
}


@dataclass(frozen=True, slots=True)
class ElementFormat:
    """``block`` elements share a ``scale`` of this type, and a zero where there ``has_zero``; 0 where none do."""

    element: str
    block: int = 0
    scale: str = ""
    has_zero: bool = False

    def __str__(self) -> str:
        zero = "+z" if self.has_zero else ""
        return f"{self.element}/{self.block}:{self.scale}{zero}" if self.block else self.element

    @property
    def bits(self) -> int:
        """Of one element, without its share of a scale."""
        return ELEMENT_BITS[self.element]

    @property
    def scale_bits(self) -> int:
        """Of the scale and the zero of one block; 0 where there are none."""
        return SCALE_BITS[self.scale] + self.has_zero * self.bits if self.block else 0

    @property
    def is_plain(self) -> bool:
        """Whether each element has whole bytes of its own and stands for itself."""
        return not self.block and self.bits % 8 == 0

    @property
    def holders(self) -> tuple[str, ...]:
        """Plain types that hold every value, the type itself aside; of blocks those that its scale is multiplied in."""
        return _SCALED[self.scale] if self.block else _HELD.get(self.element, ())

    @property
    def passes(self) -> int:
        """Over the lanes of the type that elements become, until they are it: one, and one more where there is a zero
        to be taken off."""
        return 2 if self.has_zero else 1

    def group(self, row: int) -> int:
        """Elements of a row of ``row`` that can be moved by themselves: they and their scales fill whole bytes, and the
        row is so many whole ones; else all of it."""
        own = 8 // gcd(8, self.bits)
        scales = self.block * (8 // gcd(8, self.scale_bits)) if self.block else 1
        size = lcm(own, scales)
        return size if row % size == 0 else row

    def row_bytes(self, row: int) -> int:
        """Bytes of a row of so many elements, without its scales."""
        return -(-row * self.bits // 8)

    def scale_bytes(self, row: int) -> int:
        """Bytes of its scales and zeros."""
        blocks = -(-row // self.block) if self.block else 0
        return -(-blocks * self.scale_bits // 8)


@lru_cache(maxsize=256)
def element_format(text: str) -> ElementFormat:
    """The format of a text; ``int4/128`` is short for ``int4/128:fp16+z``. Raises ConfigError."""
    match = _FORM.fullmatch(SHORT.get(text, text))
    element = match["element"] if match is not None else ""
    if match is None or element not in ELEMENT_BITS:
        known = list(dict.fromkeys([*ELEMENT_BITS, *SHORT]))
        shown = f"{', '.join(known)}, and blocks such as {BLOCKS}"
        raise ConfigError(f"unknown dtype '{text}'{nearest(text, known)}; known: {shown}")
    if match["block"] is None:
        return ElementFormat(element)
    is_integer, block = "int" in element, int(match["block"])
    scale, zero = match["scale"], match["zero"] is not None
    if scale is None and is_integer:
        scale, zero = "fp16", True
    if scale not in SCALE_BITS:
        hint = nearest(scale or "", SCALE_BITS)
        raise ConfigError(f"dtype '{text}': no scale '{scale or ''}'{hint}; allowed {', '.join(SCALE_BITS)}")
    if zero and not is_integer:
        raise ConfigError(f"dtype '{text}': blocks of {element} have no zero; allowed for integers")
    if not 2 <= block <= MOST_BLOCK:
        raise ConfigError(f"dtype '{text}': blocks of {block}; allowed 2 to {MOST_BLOCK}")
    if ELEMENT_BITS[element] > 8:
        raise ConfigError(f"dtype '{text}': blocks of {element}; allowed of elements of 4 and 8 bits")
    return ElementFormat(element, block, scale, zero)
