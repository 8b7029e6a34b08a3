"""Where a concrete operand lies: a strided block of one memory, or of a ring's slot that wraps around its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archsim.base.errors import ProgramError
from archsim.ir.dtypes import size_bytes
from archsim.ir.program import Region
from archsim.ir.unroll import Step
from mapper.execute.memory import Array, Memory, Store, UnwrittenError

Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Place:
    """``store`` in ``memory`` with its slot (or the whole tensor) at byte ``start`` of a ``span`` that wraps around.

    ``base``: address of the span; ``limit``: bytes that an operand may touch from ``start`` on.
    """

    store: Store
    memory: Memory
    base: int
    start: int
    span: int
    limit: int


@dataclass(frozen=True, slots=True)
class Block:
    """One operand of one command: ``shape`` and byte ``strides`` from ``offset`` behind the place's start."""

    place: Place
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    what: str

    def read(self) -> Array:
        """Elements as stored; raises ProgramError where nothing was written."""
        place = self.place
        try:
            if self._plain:
                return place.memory.raw(place.store, self.shape, place.base + self._first, self.strides)
            unrolled = place.memory.unrolled(place.base, place.span, self._first)
            return unrolled.raw(place.store, self.shape, 0, self.strides)
        except UnwrittenError:
            raise ProgramError(f"{self.what} reads bytes of '{place.store.name}' that nothing has written") from None

    def read_real(self) -> Array:
        """The numbers that the elements stand for."""
        return self.place.memory.real(self.place.store, self.read())

    def write(self, values: Array) -> None:
        """Store elements as they are."""
        place = self.place
        if self._plain:
            place.memory.put_raw(place.store, self.shape, place.base + self._first, self.strides, values)
            return
        unrolled = place.memory.unrolled(place.base, place.span, self._first)
        unrolled.put_raw(place.store, self.shape, 0, self.strides, values)
        place.memory.restore(place.base, place.span, self._first, unrolled)

    def write_real(self, values: Array) -> None:
        """Store numbers: rounded half to even and clamped to the elements of the store."""
        self.write(self.place.memory.elements(self.place.store, values))

    @property
    def _plain(self) -> bool:
        """Whether the block does not wrap around."""
        reach = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))
        width = self.place.memory.kind(self.place.store).itemsize
        return self._first + reach + width <= self.place.span

    @property
    def _first(self) -> int:
        """Byte of the span at which the block begins."""
        return (self.place.start + self.offset) % self.place.span


def block(region: Region, step: Step, place: Place, dims: tuple[str, ...], ranges: Ranges) -> Block:
    """The operand over ``dims`` in this order (stride 0 where a dim does not move it), each over its range.

    Raises ProgramError where it leaves its tensor or slot.
    """
    strides = dict(region.strides)
    offset, reach, shape, steps = region.offset.at(step.env), 0, [], []
    for dim in dims:
        low, high = ranges[dim]
        stride = strides.get(dim, 0)
        shape.append(max(0, high - low))
        steps.append(stride)
        offset += low * stride
        reach += (high - low - 1) * stride
    what = f"{step.where} of {step.queue}: operand '{region.operand}'"
    if min(shape, default=1) and not (offset >= 0 and offset + reach + region.element_bytes <= place.limit):
        raise ProgramError(
            f"{what} touches bytes [{offset}, {offset + reach + region.element_bytes}) of '{place.store.name}', "
            f"which has [0, {place.limit})"
        )
    width = size_bytes(place.store.dtype)
    if (
        region.element_bytes > width
    ):  # of several elements of the store, which have an axis of their own behind the others
        shape.append(region.element_bytes // width)
        steps.append(width)
    return Block(place, tuple(shape), offset, tuple(steps), what)
