"""Memories that hold numbers: exact elements byte by byte, or one real number per address.

Both know what was written: reading what nobody wrote is an ExecutionError. Of a ragged store it is allowed, and gives
what no result can pass for its own: 0x55 in every byte, no number among real ones.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ProgramError
from archsim.ir.program import PlacedTensor, Ring

Array = npt.NDArray[Any]
Store = PlacedTensor | Ring
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in ("int8", "uint8", "int16", "int32")}


QUOTIENT = 2.0**40
UNWRITTEN = 0x55  # of every byte that nothing has written


class UnwrittenError(Exception):
    """Elements were read that nothing has written."""


class Memory(Protocol):
    """One memory of the chip. ``offset`` and ``strides`` are in bytes; shapes in elements."""

    def raw(self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> Array:
        """Elements as they are stored; raises UnwrittenError."""
        ...

    def is_touched(self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> bool:
        """Whether some of these elements were written."""
        ...

    def put_raw(
        self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...], values: Array
    ) -> None:
        """Store elements as they are."""
        ...

    def unrolled(self, base: int, span: int, first: int) -> Memory:
        """A copy of the ``span`` bytes at ``base``, which wrap around, beginning at byte ``first`` of them."""
        ...

    def restore(self, base: int, span: int, first: int, copy: Any) -> None:
        """Put back what ``unrolled`` copied."""
        ...

    def kind(self, store: Store) -> np.dtype[Any]:
        """NumPy's type of stored elements."""
        ...

    def real(self, store: Store, raw: Array) -> Array:
        """The numbers that elements of ``store`` stand for."""
        ...

    def elements(self, store: Store, values: Array) -> Array:
        """The elements of ``store`` nearest to ``values``: rounded half to even and clamped."""
        ...


class ExactMemory:
    """Bytes, and whether each was written. Elements are integers of the store's dtype."""

    def __init__(self, size_bytes: int) -> None:
        """All bytes unwritten."""
        self._bytes = np.full(size_bytes, UNWRITTEN, np.uint8)
        self._written = np.zeros(size_bytes, bool)

    def raw(self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> Array:
        """Elements as they are stored; raises UnwrittenError."""
        if not store.ragged and not self._marks(store, shape, offset, strides).all():
            raise UnwrittenError
        return np.ndarray(shape, DTYPES[store.dtype], self._bytes.data, offset, strides)

    def is_touched(self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> bool:
        """Whether some byte of these elements was written."""
        return bool(self._marks(store, shape, offset, strides).any())

    def _marks(self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> Array:
        """Of each byte of the elements, whether it was written."""
        width = DTYPES[store.dtype].itemsize
        return np.ndarray((*shape, width), bool, self._written.data, offset, (*strides, 1))

    def put_raw(
        self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...], values: Array
    ) -> None:
        """Store elements as they are."""
        kind = DTYPES[store.dtype]
        self._marks(store, shape, offset, strides)[...] = True
        np.ndarray(shape, kind, self._bytes.data, offset, strides)[...] = values

    def unrolled(self, base: int, span: int, first: int) -> ExactMemory:
        """A copy of bytes that wrap around."""
        copy = ExactMemory(0)
        copy._bytes = _rotated(self._bytes[base : base + span], first)
        copy._written = _rotated(self._written[base : base + span], first)
        return copy

    def restore(self, base: int, span: int, first: int, copy: ExactMemory) -> None:
        """Put back what ``unrolled`` copied."""
        self._bytes[base : base + span] = _rotated(copy._bytes, span - first)
        self._written[base : base + span] = _rotated(copy._written, span - first)

    def kind(self, store: Store) -> np.dtype[Any]:
        """The integer type."""
        return DTYPES[store.dtype]

    def real(self, store: Store, raw: Array) -> Array:
        """(q - zero) * scale in double precision."""
        return np.asarray((raw.astype(np.float64) - store.zero) * store.scale)

    def elements(self, store: Store, values: Array) -> Array:
        """round(x / scale) + zero, clamped to the dtype."""
        return quantised(values, store.dtype, store.scale, store.zero)


class RealMemory:
    """One real number at each byte address."""

    def __init__(self, size_bytes: int, kind: np.dtype[Any]) -> None:
        """All unwritten; ``kind``: single or double precision."""
        self._cells = np.full(size_bytes, np.nan, kind)
        self._written = np.zeros(size_bytes, bool)

    def raw(self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> Array:
        """Numbers as they are stored; raises UnwrittenError."""
        if not store.ragged and not np.ndarray(shape, bool, self._written.data, offset, strides).all():
            raise UnwrittenError
        return self._view(shape, offset, strides)

    def is_touched(self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> bool:
        """Whether some of these numbers were written."""
        return bool(np.ndarray(shape, bool, self._written.data, offset, strides).any())

    def put_raw(
        self, store: Store, shape: tuple[int, ...], offset: int, strides: tuple[int, ...], values: Array
    ) -> None:
        """Store numbers."""
        np.ndarray(shape, bool, self._written.data, offset, strides)[...] = True
        self._view(shape, offset, strides)[...] = values

    def _view(self, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> Array:
        width = self._cells.itemsize
        inside = tuple(stride * width for stride in strides)
        return np.ndarray(shape, self._cells.dtype, self._cells.data, offset * width, inside)

    def unrolled(self, base: int, span: int, first: int) -> RealMemory:
        """A copy of bytes that wrap around."""
        copy = RealMemory(0, self._cells.dtype)
        copy._cells = _rotated(self._cells[base : base + span], first)
        copy._written = _rotated(self._written[base : base + span], first)
        return copy

    def restore(self, base: int, span: int, first: int, copy: RealMemory) -> None:
        """Put back what ``unrolled`` copied."""
        self._cells[base : base + span] = _rotated(copy._cells, span - first)
        self._written[base : base + span] = _rotated(copy._written, span - first)

    def kind(self, store: Store) -> np.dtype[Any]:
        """Single or double precision."""
        kind: np.dtype[Any] = self._cells.dtype
        return kind

    def real(self, store: Store, raw: Array) -> Array:
        """The numbers themselves."""
        return raw

    def elements(self, store: Store, values: Array) -> Array:
        """The numbers themselves."""
        return values


def _rotated(ring: Array, first: int) -> Array:
    return np.concatenate((ring[first:], ring[:first]))


def quantised(values: Array, dtype: str, scale: float, zero: int) -> Array:
    """Elements of ``dtype`` nearest to ``values``: x / scale rounded half to even, plus zero, clamped.

    Quotients are rounded to 40 fractional bits first, so that no noise of a floating-point sum decides a tie. What is
    undefined (0 / 0 of quantised numbers) is the element that stands for 0.
    """
    kind = DTYPES.get(dtype)
    if kind is None:
        raise ProgramError(f"elements of dtype {dtype} are not computed exactly; allowed {', '.join(DTYPES)}")
    limits = np.iinfo(kind)
    quotient = np.asarray(np.divide(values, scale, dtype=np.float64))
    quotient *= QUOTIENT
    np.rint(quotient, out=quotient)
    quotient /= QUOTIENT
    np.rint(quotient, out=quotient)
    quotient[np.isnan(quotient)] = 0.0
    quotient += zero
    return np.asarray(np.clip(quotient, limits.min, limits.max, out=quotient).astype(kind))
