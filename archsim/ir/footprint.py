"""What a concrete region touches: clipped runs, useful bytes, word accesses. One rule for compiler and machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from archsim.ir.program import Region
from archsim.ir.unroll import Step


class ByteFootprint(NamedTuple):
    """Strided bytes: ``run_bytes`` contiguous, repeated over ``outer`` ((extent, stride bytes), outermost first).

    ``offset`` is the byte offset from the store's base (tensor) or the current slot (ring).
    """

    offset: int
    run_bytes: int
    outer: tuple[tuple[int, int], ...]

    @property
    def runs(self) -> int:
        """Number of contiguous runs."""
        count = 1
        for extent, _ in self.outer:
            count *= extent
        return count

    @property
    def size_bytes(self) -> int:
        """Bytes touched, each run counted."""
        return self.runs * self.run_bytes if self.run_bytes else 0

    def accesses(self, word_bytes: int) -> int:
        """Whole word accesses: each run rounded up."""
        return self.runs * -(-self.run_bytes // word_bytes) if self.run_bytes else 0


def clip(region: Region, step: Step) -> dict[str, tuple[int, int]]:
    """Index range [low, high) of each moving extent after clipping at the tensor's edges."""
    ranges = {dim: (0, step.extents[dim]) for dim, _ in region.strides}
    for bound in region.clips:
        if bound.dim not in ranges:
            continue
        start = bound.start.at(step.env)
        low, high = ranges[bound.dim]
        ranges[bound.dim] = (max(low, -start), min(high, bound.length - start))
    return ranges


def reachable(region: Region, step: Step) -> ByteFootprint:
    """The bytes that ``region`` may touch: those of every row where it is the table of a lookup."""
    command = step.command
    if command.index is None or region is not command.table:
        return footprint(region, step)
    row = footprint(region, step)
    axes = [*row.outer, (command.index.rows, command.index.row_bytes)]
    return runs_of(row.offset, row.run_bytes, axes) if row.size_bytes else row


def footprint(
    region: Region,
    step: Step,
    ranges: dict[str, tuple[int, int]] | None = None,
    lead: Mapping[str, int] | None = None,
) -> ByteFootprint:
    """The bytes that ``region`` touches in ``step``; ``ranges`` overrides its own clipping (a move's other side).

    ``lead``: byte strides by dim of the side whose address order the region is walked in; absent: its own.

    Broadcast extents (stride 0 or absent) are not counted: an operand is touched once per command. Of the table of a
    lookup these are the bytes of row 0.
    """
    offset = region.offset.at(step.env)
    if step.is_empty:
        return ByteFootprint(offset, 0, ())
    if ranges is None:
        ranges = clip(region, step)
    axes: list[tuple[int, int]] = []
    led: list[int] = []
    for dim, stride in region.strides:
        low, high = ranges.get(dim, (0, step.extents[dim]))
        if high <= low:
            return ByteFootprint(offset, 0, ())
        offset += low * stride
        if high - low > 1 and stride:
            axes.append((high - low, stride))
            led.append(lead.get(dim, 0) if lead else 0)
    return runs_of(offset, region.element_bytes, axes, led)


def runs_of(
    offset: int, element_bytes: int, axes: Sequence[tuple[int, int]], lead: Sequence[int] = ()
) -> ByteFootprint:
    """Join axes into one contiguous run where their strides chain (overlapping windows join too).

    They are walked in address order, or in that of another side, whose stride by axis is ``lead``: axes that do not
    move it (0) keep their place. A region whose axes overlap, and would be walked in part twice, goes in its own order.
    """
    if not axes:
        return ByteFootprint(offset, element_bytes, ())
    own = sorted(range(len(axes)), key=lambda n: (axes[n][1], axes[n][0]))
    found = _joined_runs(offset, element_bytes, [axes[n] for n in own])
    if len(axes) == 1 or not any(lead):
        return found
    common = iter(sorted((n for n in own if lead[n]), key=lambda n: lead[n]))
    order = [next(common) if lead[n] else n for n in own]
    if order == own:
        return found
    led = _joined_runs(offset, element_bytes, [axes[n] for n in order])
    return led if led.size_bytes == found.size_bytes else found


def _joined_runs(offset: int, element_bytes: int, axes: Sequence[tuple[int, int]]) -> ByteFootprint:
    """The runs of axes that are walked innermost first."""
    run = element_bytes
    outer: list[tuple[int, int]] = []
    for extent, stride in axes:
        if stride <= run and not outer:
            run += (extent - 1) * stride
        else:
            outer.append((extent, stride))
    return ByteFootprint(offset, run, tuple(reversed(_join(outer))))


def _join(axes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join an axis with the one inside it where together they are one regular progression."""
    joined: list[tuple[int, int]] = []
    for extent, stride in axes:
        if joined and stride == joined[-1][0] * joined[-1][1]:
            joined[-1] = (joined[-1][0] * extent, joined[-1][1])
        else:
            joined.append((extent, stride))
    return joined
