"""Zeros in the window of a group where its readers see padding: the vector unit writes them pass by pass.

Beside the positions that a pass makes, along every axis that passes do not cut; before the first pass, where readers
begin in padding; and behind the tensor's end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from archsim.ir.functions import Function
from archsim.ir.program import Affine, Command, Extent, LoopEdge, Region, When
from mapper.groups.windows import AxisSpan, WindowPlan
from mapper.lower.item import Item

ZERO = (Function("fill", (0.0,)),)


class WindowPadding:
    """Of the window that ``layer`` makes, whose shared loops are called ``vars``; elements of ``dtype``."""

    def __init__(self, plan: WindowPlan, layer: str, vars: Sequence[str], dtype: str) -> None:
        self.plan, self.layer, self.vars, self.dtype = plan, layer, vars, dtype

    def items(self) -> Iterator[Item]:
        """Commands of each pass, before those that make its positions."""
        for name, boxes, when in self._parts():
            later = any(edge.kind == "last" for edge in when)  # what came before it has waited for other layers
            touches = () if later else ((self.plan.name, True),)
            yield Item("vector", len(self.vars), self._command(name, boxes, when), touches)

    def ending(self) -> tuple[Command, ...]:
        """What fills a step behind the tensor's end, in a pass that makes nothing."""
        tails = [axis for axis, span in enumerate(self.plan.spans) if span.advance is not None and span.tail]
        if not tails:
            return ()
        return (self._command("pad_ending", {axis: self._step(axis) for axis in self._moving()}, ()),)

    def fills(self, trips: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
        """Positions that each command fills along every axis, and how often it runs; ``trips``: of the shared loops as
        the maker has them."""
        count = dict(zip(self.vars, trips, strict=True))
        for _, boxes, when in self._parts():
            edges = {edge.var for edge in when}
            yield self._sizes(boxes), prod(turns for var, turns in count.items() if var not in edges)
        idle = self.plan.trips[-1] + self.plan.lead - trips[-1]
        for command in self.ending() if idle > 0 else ():
            yield tuple(extent.size for extent in command.extents), idle * prod(trips[:-1])

    def _sizes(self, boxes: Mapping[int, tuple[int, int]]) -> tuple[int, ...]:
        spans = enumerate(self.plan.spans)
        return tuple(high - low for low, high in (boxes.get(at, (of.low, of.low + of.size)) for at, of in spans))

    def _parts(self) -> Iterator[tuple[str, Mapping[int, tuple[int, int]], When]]:
        """Of each command its name, the positions that it fills by axis (relative to where the pass makes its own, all
        of a slot where an axis is not named), and when it runs."""
        spans = self.plan.spans
        steps = {axis: self._step(axis) for axis in self._moving()}
        inside: dict[int, tuple[int, int]] = {}
        for axis, (span, extent) in enumerate(zip(spans, self.plan.tensor.shape, strict=True)):
            if span.advance is not None:
                yield from self._ends(axis, span, extent, steps)
                continue
            for side, low, high in (("low", span.low, 0), ("high", extent, span.size + span.low)):
                if low < high:
                    yield f"pad_{side}{axis}", {**steps, **inside, axis: (low, high)}, ()
            inside[axis] = (0, extent)

    def _ends(
        self, axis: int, span: AxisSpan, extent: int, steps: Mapping[int, tuple[int, int]]
    ) -> Iterator[tuple[str, Mapping[int, tuple[int, int]], When]]:
        """Before the first pass along an axis, and what its last one does not make of a step."""
        assert span.advance is not None
        var, step = self.vars[span.advance.loop], span.advance.step
        if span.low:
            yield f"pad_first{axis}", {**steps, axis: (span.low, 0)}, (LoopEdge("first", var),)
        left = extent % step
        if left and span.tail:
            yield f"pad_last{axis}", {**steps, axis: (left, step)}, (LoopEdge("last", var),)

    def _moving(self) -> list[int]:
        return [axis for axis, span in enumerate(self.plan.spans) if span.advance is not None]

    def _step(self, axis: int) -> tuple[int, int]:
        advance = self.plan.spans[axis].advance
        assert advance is not None
        return 0, advance.step

    def _command(self, name: str, boxes: Mapping[int, tuple[int, int]], when: When) -> Command:
        plan = self.plan
        starts = [boxes.get(axis, (span.low, 0))[0] for axis, span in enumerate(plan.spans)]
        sizes = self._sizes(boxes)
        extents = tuple(Extent(f"x{axis}", size) for axis, size in enumerate(sizes))
        strides = tuple((f"x{axis}", step) for axis, step in enumerate(plan.stored.strides) if sizes[axis] > 1)
        offset = plan.made_at + sum(low * step for low, step in zip(starts, plan.stored.strides, strict=True))
        assert prod(sizes)
        out = Region("out", plan.name, plan.stored.element_bytes, strides, Affine(offset))
        return Command(
            f"{self.layer}.{name}", "VECTOR", self.layer, "outputs", when=when, extents=extents, writes=(out,),
            dtypes=(self.dtype,), functions=ZERO, passes=1,
        )  # fmt: skip
