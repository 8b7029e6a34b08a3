"""Where tensors lie: layouts (strides, borders of zeros and their slabs), lifetimes, and first-fit addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from archsim.base.errors import MappingError
from archsim.ir.mapping import Placement
from archsim.ir.workload import Tensor, Workload
from mapper.problem.packed import scales_named
from mapper.problem.strides import block_bytes, padding, row_major

DRAM_ALIGN = 64


@dataclass(frozen=True, slots=True)
class Layout:
    """Storage of a base tensor: byte ``strides`` per axis, ``origin`` of element 0, total bytes.

    ``border`` per axis.
    """

    element_bytes: int
    strides: tuple[int, ...]
    origin: int
    size_bytes: int
    border: tuple[tuple[int, int], ...]


def layout(
    tensor: Tensor, element_bytes: int, border: tuple[tuple[int, int], ...] | None = None, pad_bytes: int = 0
) -> Layout:
    """Row-major layout with an optional border of (before, after) positions per axis and padding behind each row."""
    edges = border if border is not None else tuple((0, 0) for _ in tensor.shape)
    sizes = tuple(extent + low + high for extent, (low, high) in zip(tensor.shape, edges, strict=True))
    padded = padding(sizes, element_bytes, pad_bytes)
    strides = row_major(sizes, element_bytes, padded)
    origin = sum(low * stride for (low, _), stride in zip(edges, strides, strict=True))
    return Layout(element_bytes, strides, origin, block_bytes(sizes, element_bytes, padded), edges)


def view_strides(tensor: Tensor, base: Tensor, stored: Layout) -> tuple[int, tuple[int, ...]]:
    """(byte offset, byte strides) of ``tensor`` inside its base's storage."""
    if tensor.view is None:
        return stored.origin, stored.strides
    size = stored.element_bytes
    if stored.origin == 0 and stored.strides == row_major(base.shape, size):
        return tensor.view.offset * size, tuple(stride * size for stride in tensor.view.strides)
    dense = row_major(base.shape, 1)
    offset, rest = stored.origin, tensor.view.offset
    for stride, real in zip(dense, stored.strides, strict=True):
        offset += rest // stride * real
        rest %= stride
    return offset, stored.strides


def sliced_alike(tensor: Tensor, base: Tensor) -> bool:
    """Whether a view has its base's rank and strides (a slice), so that a border of the base is a border of it."""
    return tensor.view is None or (
        len(tensor.shape) == len(base.shape) and tensor.view.strides == row_major(base.shape, 1)
    )


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Layers [first, last] over which a base tensor must keep its bytes; -1 = before the first layer."""

    first: int
    last: int


def host_written(workload: Workload, base: Mapping[str, str]) -> frozenset[str]:
    """Base tensors that the host writes, whose bytes the Program finds there as it finds its inputs."""
    return frozenset(base[layer.output.tensor] for layer in workload.layers if layer.kind == "host")


Spans = Sequence[tuple[int, int]]  # first and last layers of groups, which run beside one another


def lifetimes(workload: Workload, base: Mapping[str, str], groups: Spans = ()) -> dict[str, Lifetime]:
    """Lifetime of every base tensor; inputs, weights and what the host writes live from before the start, graph outputs
    to the end, states from before it to the end. What lives in one layer of a group does in all of them.
    """
    found = _lifetimes(workload, base)
    for first, last in groups:
        for name, life in found.items():
            if life.first <= last and first <= life.last:
                found[name] = Lifetime(
                    first if first <= life.first <= last else life.first,
                    last if first <= life.last <= last else life.last,
                )
    return found


def _lifetimes(workload: Workload, base: Mapping[str, str]) -> dict[str, Lifetime]:
    found: dict[str, Lifetime] = {}
    end, hosted = len(workload.layers), host_written(workload, base)
    for index, layer in enumerate(workload.layers):
        for operand in (*layer.inputs, layer.output):
            name = base[operand.tensor]
            life = found.get(name, Lifetime(index, index))
            found[name] = Lifetime(life.first, index)
    for name, life in list(found.items()):
        found |= dict.fromkeys(scales_named(workload, name), life)
    for name, tensor in workload.tensors.items():
        owner = base[name]
        if owner not in found:
            continue
        if tensor.kind in ("input", "weight", "state") or owner in hosted:
            lasting = tensor.kind in ("weight", "output", "state")
            found[owner] = Lifetime(-1, end if lasting else found[owner].last)
        elif tensor.kind == "output":
            found[owner] = Lifetime(found[owner].first, end)
    return found


class PlaceError(MappingError):
    """A stated place of ``tensor`` is impossible."""

    def __init__(self, tensor: str, text: str) -> None:
        super().__init__(text)
        self.tensor = tensor


class Block(NamedTuple):
    """An address interval [base, base + size) over layers [first, last]."""

    base: int
    size: int
    first: int
    last: int

    def meets(self, low: int, high: int, first: int, last: int) -> bool:
        """Whether it overlaps an address interval at some layer of [first, last]."""
        return self.base < high and low < self.base + self.size and self.first <= last and first <= self.last


def united(blocks: Iterable[Block]) -> list[Block]:
    """The same bytes in as few blocks as can be, by address; ``blocks`` live over the same layers, none is empty."""
    found: list[Block] = []
    for block in sorted(set(blocks)):
        last = found[-1] if found else None
        if last is None or block.base > last.base + last.size:
            found.append(block)
        elif block.base + block.size > last.base + last.size:
            found[-1] = last._replace(size=block.base + block.size - last.base)
    return found


def lowest_fit(blocks: Iterable[Block], size: int, first: int, last: int, align: int) -> int:
    """Lowest aligned address at which ``size`` bytes are free over layers [first, last]."""
    address = 0
    for base, taken, begin, end in sorted(blocks):
        if begin <= last and first <= end and base < address + size and address < base + taken:
            address = -(-(base + taken) // align) * align
    return address


def highest_fit(blocks: Iterable[Block], size: int, first: int, last: int, align: int, top: int) -> int | None:
    """Highest aligned address below ``top`` at which ``size`` bytes are free over the layers, or None."""
    address = (top - size) // align * align
    for block in sorted(blocks, key=lambda b: (-(b.base + b.size), b.first)):
        if address >= 0 and block.meets(address, address + size, first, last):
            address = (block.base - size) // align * align
    return address if address >= 0 else None


def check_stated(place: Placement, size_bytes: int, life: Lifetime, capacity: int) -> None:
    """Raise MappingError unless a stated place has the tensor's size and lifetime and lies in the memory."""
    where = f"tensor '{place.tensor}' in '{place.memory}'"
    if place.size_bytes != size_bytes:
        raise PlaceError(place.tensor, f"{where}: {place.size_bytes:,} bytes; it has {size_bytes:,}")
    if (place.first, place.last) != (life.first, life.last):
        raise PlaceError(
            place.tensor, f"{where}: layers {place.first} to {place.last}; it lives from {life.first} to {life.last}"
        )
    if place.base + size_bytes > capacity:
        raise PlaceError(
            place.tensor, f"{where}: needs {size_bytes:,} bytes at {place.base:,}, has {capacity:,} in all"
        )


def place_dram(
    tensors: list[tuple[str, int, Lifetime]], capacity: int, memory: str, stated: Mapping[str, Placement]
) -> dict[str, int]:
    """First-fit addresses in graph order with lifetime reuse, beside those that are stated: ``tensors`` that other
    Programs find too come first.

    Raises MappingError when the memory is too small or a stated place impossible.
    """
    blocks: list[Block] = []
    found: dict[str, int] = {}
    for name, size, life in tensors:
        if name in stated:
            found[name] = _stated_block(stated[name], size, life, capacity, blocks)
    for name, size, life in tensors:
        if name in found:
            continue
        address = lowest_fit(blocks, size, life.first, life.last, DRAM_ALIGN)
        if address + size > capacity:
            raise MappingError(
                f"tensor '{name}' does not fit memory '{memory}': needs {size:,} bytes at {address:,}, has "
                f"{capacity:,} in all"
            )
        found[name] = address
        blocks.append(Block(address, size, life.first, life.last))
    return found


def _stated_block(place: Placement, size: int, life: Lifetime, capacity: int, blocks: list[Block]) -> int:
    check_stated(place, size, life, capacity)
    where = f"tensor '{place.tensor}' in '{place.memory}' at {place.base:,}"
    if place.base % DRAM_ALIGN:
        raise PlaceError(place.tensor, f"{where}: allowed multiples of {DRAM_ALIGN} bytes")
    if any(block.meets(place.base, place.base + size, life.first, life.last) for block in blocks):
        raise PlaceError(place.tensor, f"{where}: another tensor lies there at the same time")
    blocks.append(Block(place.base, size, life.first, life.last))
    return place.base


@dataclass(frozen=True, slots=True)
class Slab:
    """A block of positions: ``sizes`` per axis from byte ``offset`` of the storage."""

    sizes: tuple[int, ...]
    offset: int


def slabs(layout: Layout, shape: tuple[int, ...]) -> Iterator[Slab]:
    """Before and after the contents along every padded axis, outermost first; corners belong to the outer axis."""
    whole = [extent + low + high for extent, (low, high) in zip(shape, layout.border, strict=True)]
    for axis, (low, high) in enumerate(layout.border):
        inner = [shape[i] if i < axis else whole[i] for i in range(len(shape))]
        begin = sum(layout.border[i][0] * layout.strides[i] for i in range(axis))
        for start, count in ((0, low), (whole[axis] - high, high)):
            if count:
                sizes = tuple(count if i == axis else size for i, size in enumerate(inner))
                yield Slab(sizes, begin + start * layout.strides[axis])
