"""Adding up the partial sums of a spread reduction: the moves of one layer, and which core fetches from which.

A core that others send to has a ring of sums beside its accumulators. For each tile its store engine copies its own
partial sums there, then adds those of each core that sends to it, from that one's accumulators or, where others send to
that one too, from its sums. The root's sums are drained in place of its accumulators. Who is fetched from is told so at
the end of the layer (``taken``), since its own queues cannot know when its accumulators are free for other layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from archsim.facts.collectives import expand
from archsim.ir.program import Command, Region, Semaphore, Token
from archsim.spec.architecture import Architecture
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.partial_sums import chosen_way
from mapper.lower.frame import Frame
from mapper.lower.item import Item
from mapper.problem.channels import store_channel
from mapper.problem.geometry import slot_sizes
from mapper.problem.operands import ACC, OUT

SUM = "sum"  # a ring of the layer, as its operands have
NOBODY = -1


def with_way(frame: Frame, architecture: Architecture) -> Frame:
    """The frame with the collective by which its cores add up, where a reduction is spread."""
    problem = frame.problem
    if problem.adders == 1:
        return frame
    depth, parts = frame.keeps[ACC][0], frame.parts[ACC]
    tiles = prod(frame.trips(at) for at in range(frame.spread, depth))
    elements, tile = (prod(slot_sizes(parts, dims)) for dims in (problem.dims, frame.tiles(depth)))
    return replace(frame, way=chosen_way(problem, ChipCosts(architecture, {}, {}), tiles, elements, tile))


def additions(frame: Frame) -> Iterator[Item]:
    """All that a core may have to do of it: copy its own, fetch from as many as the root does, wait until it is done.

    ``source`` of a copy are the accumulators; which ring a fetch reads, ``Adding`` tells.
    """
    if frame.problem.adders == 1:
        return
    plan = frame.problem.operand(OUT)
    channel = store_channel(frame.number, plan, frame.channels)
    depth, ring = frame.keeps[ACC][0], frame.ring(ACC)
    touches = ((ring, True),)
    for number in range(max(map(len, Adding(frame, [range(frame.problem.adders)], [0]).children.values())) + 1):
        yield Item("store", depth, _move(frame, depth, number), touches, channel=channel, fetch=number)
    done = Command(f"{frame.name}.added", "SYNC", frame.name)
    yield Item("store", frame.spread, done, (), after=True, channel=channel, fetch=NOBODY)


def _move(frame: Frame, depth: int, number: int) -> Command:
    acc = frame.problem.operand(ACC)
    source, target = frame.slot_region(acc, "src", depth), frame.slot_region(acc, "dst", depth)
    return Command(
        name=f"{frame.name}.add{number}" if number else f"{frame.name}.partial",
        op="MOVE",
        layer=frame.name,
        role="partials",
        extents=tuple(frame.part_extent(p, depth, 0, frame.trims_of(acc)) for p in frame.parts[ACC] if p.has_extent),
        reads=(source,),
        writes=(replace(target, store=frame.ring(SUM)),),
        combine="add" if number else "",
    )


class Adding:
    """Who fetches from whom in a layer: ``groups`` of cores with partial sums of the same outputs, each with a root.

    ``children`` of each core, in the order in which it fetches from them; ``parent``: NOBODY of a root.
    """

    def __init__(self, frame: Frame, groups: Sequence[Sequence[int]], roots: Sequence[int]) -> None:
        self.frame = frame
        self.children: dict[int, list[int]] = {core: [] for group in groups for core in group}
        self.parent = dict.fromkeys(self.children, NOBODY)
        for group, root in zip(groups, roots, strict=True):
            for hop in expand(frame.way, group, 1, root=group.index(root)) if frame.way else ():
                self.children[hop.targets[0]].append(hop.source)
                self.parent[hop.source] = hop.targets[0]

    def reader(self, core: int) -> int:
        """The core whose store engine takes a core's accumulators."""
        return core if self.children[core] or self.parent[core] == NOBODY else self.parent[core]

    def command(self, item: Item, core: int) -> Command | None:
        """The command as a core has it, with the names of all rings; None where it has none."""
        if item.fetch == NOBODY:
            taken = Token(f"{self._ring(ACC, core)}.taken")
            return replace(item.command, waits=(taken,)) if self.parent[core] != NOBODY else None
        children = self.children[core]
        if item.fetch is None or item.fetch > len(children) or not children:
            return None
        child = children[item.fetch - 1] if item.fetch else core
        source = self._ring(SUM if item.fetch and self.children[child] else ACC, child)
        target = self._ring(SUM, core)
        waits, signals = [Token(f"{source}.full")], [Token(f"{source}.free")]
        if not item.fetch:
            waits.append(Token(f"{target}.free"))
        else:
            timed = self.frame.edges("last", 0, item.depth)
            signals.append(Token(f"{self._ring(ACC, child)}.taken", when=timed))
        if item.fetch == len(children):
            signals.append(Token(f"{target}.full"))
        return replace(
            item.command,
            waits=tuple(waits),
            signals=tuple(signals),
            reads=_renamed(item.command.reads, source),
            writes=_renamed(item.command.writes, target),
        )

    def semaphores(self) -> Iterator[Semaphore]:
        """What those that are fetched from wait for."""
        for core, parent in self.parent.items():
            if parent != NOBODY:
                yield Semaphore(f"{self._ring(ACC, core)}.taken")

    def _ring(self, operand: str, core: int) -> str:
        return f"{self.frame.ring(operand)}[{core}]"


def _renamed(regions: tuple[Region, ...], store: str) -> tuple[Region, ...]:
    return tuple(replace(region, store=store) for region in regions)
