"""Assemble the Program: every layer's commands into per-engine queues, ordered between layers by fences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from archsim.base.errors import MappingError
from archsim.ir.mapping import LayerFences
from archsim.ir.program import (
    Affine,
    Command,
    CommandLoop,
    EngineKind,
    Extent,
    LoopEdge,
    PlacedTensor,
    Program,
    ProgramNode,
    Queue,
    Region,
    Ring,
    Semaphore,
    Token,
    When,
)
from archsim.spec.architecture import Architecture
from mapper.allocate.placement import Slab, slabs
from mapper.allocate.residency import Resident
from mapper.lower.fences import Span
from mapper.lower.frame import Frame
from mapper.lower.fused import fused, only_waits
from mapper.lower.instance import Cores
from mapper.lower.item import Item, Lane
from mapper.lower.order import HOST, Order, Waits, label

DMA_ENGINES: tuple[EngineKind, ...] = ("load", "store")


@dataclass(frozen=True)
class LoweredLayer:
    """One layer ready for assembly: its frame (None on the host), items and ring declarations.

    ``spans``: where the rings and blocks lie of which its items speak; ``semaphores``: of its own, beside those;
    ``cores``: those that it is spread over, if it is.
    """

    name: str
    frame: Frame | None
    items: list[Item]
    rings: list[Ring]
    spans: Mapping[str, Span] = field(default_factory=dict)
    semaphores: tuple[Semaphore, ...] = ()
    cores: Cores | None = None


def queue_names(architecture: Architecture) -> dict[Lane, tuple[str, ...]]:
    """Lane -> names of its queue by core, of the host one; only engines that the chip has."""
    lanes: list[Lane] = [(engine, channel) for engine in DMA_ENGINES for channel in range(architecture.dma_queues)]
    if architecture.arrays:
        lanes.append(("array", 0))
    if architecture.vectors:
        lanes.append(("vector", 0))
    cores = range(architecture.cores)
    names = {lane: tuple([f"core[{core}].{label(lane)}" for core in cores]) for lane in lanes}
    return names if architecture.host is None else {**names, HOST: ("host",)}


def assemble(
    name: str,
    architecture: Architecture,
    layers: list[LoweredLayer],
    tensors: tuple[PlacedTensor, ...],
    outputs: tuple[str, ...],
    fences: LayerFences = "needed",
) -> Program:
    """The whole Program. ``outputs``: tensors whose completion the host waits for; ``fences``: between layers."""
    rings = tuple(ring for layer in layers for ring in layer.rings)
    builder = _Builder(architecture, _order(architecture, layers, tensors), fences)
    builder.launch()
    for index, layer in enumerate(layers):
        builder.add(index, layer)
    builder.finish(len(layers), outputs)
    return Program(
        name=name,
        chip=architecture.name,
        layers=tuple(layer.name for layer in layers),
        tensors=tensors,
        rings=rings,
        semaphores=(*builder.semaphores(), *(token for layer in layers for token in layer.semaphores)),
        queues=builder.queues(),
    )


def _order(architecture: Architecture, layers: list[LoweredLayer], tensors: tuple[PlacedTensor, ...]) -> Order:
    """Where everything lies: for what all cores have alike, one span stands for all."""
    spans = {t.name: Span(t.memory, t.base, t.base + t.size_bytes) for t in tensors}
    for layer in layers:
        spans |= layer.spans
    own = architecture.noc.inside if architecture.noc is not None else tuple(m.name for m in architecture.memories)
    shared = frozenset(memory.name for memory in architecture.memories if memory.name not in own)
    return Order(queue_names(architecture), spans, architecture.cores, shared)


class Fenced(NamedTuple):
    """A command with what it waits for of earlier layers, ``when``: before its first run."""

    item: Item
    waits: Waits
    when: When


class _Builder:
    """Grows the queues of every core layer by layer."""

    def __init__(self, architecture: Architecture, order: Order, fences: LayerFences) -> None:
        self.architecture, self.order, self.names, self.fences = architecture, order, order.names, fences
        self.bodies: dict[Lane, list[list[Sequence[ProgramNode]]]] = {
            lane: [[] for _ in order.instances(lane)] for lane in self.names
        }
        self.launch_tokens: list[str] = []
        self.layers: list[str] = []
        self.turns: list[Semaphore] = []

    def launch(self) -> None:
        """The host rings the doorbell: the load engines start after it, all others follow their data."""
        if HOST not in self.names:
            return
        for lane, core in self._queues():
            if lane[0] == "load":
                token = f"host.launch>{label(lane) if self.order.cores == 1 else self.order.queue(lane, core)}"
                self.launch_tokens.append(token)
                self.bodies[lane][core].append([Command("doorbell", "SYNC", "_host", waits=(Token(token),))])
        signals = tuple(Token(token) for token in self.launch_tokens)
        self.bodies[HOST][0].append([Command("launch", "HOST", "_host", role="host", signals=signals)])

    def add(self, index: int, layer: LoweredLayer) -> None:
        """One layer: fence each command, give each core its own, nest it in its loops."""
        cores = layer.cores
        self.turns += cores.turns() if cores is not None else ()
        for item in layer.items:
            if item.lane not in self.names:
                raise MappingError(f"layer '{layer.name}' needs a {item.engine} engine; the chip has none")
        fenced: dict[Lane, list[Fenced]] = {lane: [] for lane in self.names}
        for lane in self.names:
            for item in _execution_order(item for item in layer.items if item.lane == lane):
                remote = cores is not None and cores.is_remote(item)
                waits = self.order.wait_for(index, lane, item.touches, remote=remote)
                if self.fences == "all" and not fenced[lane]:
                    waits = self.order.wait_for_all(index, lane, waits)
                when = layer.frame.edges("first", 0, item.depth) if layer.frame is not None else ()
                fenced[lane].append(Fenced(item, waits, when))
        self.order.close_layer(index)
        self.layers.append(layer.name)
        start = layer.frame.spread if layer.frame is not None else 0
        for lane, of in fenced.items():
            plan = _plan(layer.frame, [each.item for each in of], range(len(of)), start)
            rows = [self._of_cores(layer, each) for each in of]
            ended = cores.turn_ends(lane) if cores is not None else {}
            for core, body in enumerate(self.bodies[lane]):
                body.append([*_body(plan, [row[core] for row in rows]), *ended.get(core, ())])

    def _of_cores(self, layer: LoweredLayer, fenced: Fenced) -> list[Sequence[Command]]:
        """A command as each core has it, behind what it waits for of earlier layers; a core without it waits alike."""
        (item, waits, when), cores = fenced, layer.cores
        tokens = self.order.waits(item.lane, waits, when)
        if cores is not None:
            commands = cores.commands(item, tokens)
        else:
            commands = [_waiting(item.command, tokens[0]), *[None] * (len(tokens) - 1)]
        name = f"{item.command.name}.wait"
        found: list[Sequence[Command]] = []
        for command, taken in zip(commands, tokens, strict=True):
            if command is not None:
                found.append((command,))
            else:
                found.append((Command(name, "SYNC", layer.name, "", taken, (), when),) if taken else ())
        found[0] = (*self.order.collected(item.lane, layer.name, waits, when), *found[0])
        return found

    def finish(self, layers: int, outputs: tuple[str, ...]) -> None:
        """The host sees completion when the last outputs are written."""
        if HOST not in self.names:
            return
        touches = tuple((name, False) for name in outputs)
        waits = self.order.wait_for(layers, HOST, touches)
        tokens = self.order.waits(HOST, waits, ())[0]
        self.bodies[HOST][0].append([Command("done", "SYNC", "_host", waits=tokens)])

    def semaphores(self) -> Iterable[Semaphore]:
        """Launch and fence tokens, and turns at DRAM."""
        return [*(Semaphore(token) for token in self.launch_tokens), *self.order.semaphores(), *self.turns]

    def queues(self) -> tuple[Queue, ...]:
        """Finished queues; a layer's end signals whoever waits for it."""
        chip = self.architecture
        units = {"load": chip.dma.name, "store": chip.dma.name}
        units |= {"array": chip.arrays[0].name} if chip.arrays else {}
        units |= {"vector": chip.vectors[0].name} if chip.vectors else {}
        units |= {"host": chip.host.name} if chip.host is not None else {}
        signals = {lane: [self.order.signals(lane, layer) for layer in range(len(self.layers))] for lane in self.names}
        return tuple(
            Queue(
                self.order.queue(lane, core),
                lane[0],
                units[lane[0]],
                tuple(self._ended(lane, core, [given[core] for given in signals[lane]])),
            )
            for lane, core in self._queues()
        )

    def _queues(self) -> Iterator[tuple[Lane, int]]:
        """Lane and core of all queues, those of a core side by side."""
        for core in range(self.order.cores):
            yield from ((lane, core) for lane, bodies in self.bodies.items() if core < len(bodies))

    def _ended(self, lane: Lane, core: int, given: Sequence[tuple[Token, ...]]) -> Iterator[ProgramNode]:
        """All that a queue runs, with what it has ``given`` when it is done with each layer."""
        bodies = self.bodies[lane][core]
        before = 1 if self.launch_tokens and lane[0] in ("host", "load") else 0
        end = before + len(self.layers)
        yield from chain.from_iterable(bodies[:before])
        for layer, nodes, signals in zip(self.layers, bodies[before:end], given, strict=True):
            ended = _ended(nodes, signals) if signals else nodes
            yield from nodes if ended is None else ended
            if ended is None:
                yield Command(f"{layer}.{label(lane)}_done", "SYNC", layer, signals=signals)
        yield from chain.from_iterable(bodies[end:])


def _body(plan: Plan, own: Sequence[Sequence[Command]]) -> tuple[ProgramNode, ...]:
    """What a core runs of a plan, its ``own`` commands of each item; those that only wait do so with the next one."""
    nodes = _nest(plan, own)
    return fused(nodes) if any(map(only_waits, chain.from_iterable(own))) else nodes


def _waiting(command: Command, tokens: tuple[Token, ...]) -> Command:
    return command.with_tokens((*tokens, *command.waits), command.signals) if tokens else command


def _execution_order(items: Iterable[Item]) -> list[Item]:
    """Order of first execution: shallower first, those that follow the deeper loops last."""
    listed = list(items)
    before = [item for item in listed if not item.after]
    after = [item for item in listed if item.after]
    return [*sorted(before, key=lambda item: item.depth), *sorted(after, key=lambda item: -item.depth)]


Plan = tuple["int | _Deeper", ...]  # what runs in order at one depth: items by their number, and what lies deeper


class _Deeper(NamedTuple):
    """The loop around a plan."""

    var: str
    trips: int
    plan: Plan


def _plan(frame: Frame | None, items: Sequence[Item], numbers: Sequence[int], depth: int) -> Plan:
    """The ``numbers`` of ``items``, none of which lies above ``depth``, in their loops."""
    here = [number for number in numbers if items[number].depth == depth]
    before = [number for number in here if not items[number].after]
    after = [number for number in here if items[number].after]
    deeper = [number for number in numbers if items[number].depth > depth]
    if not deeper:
        return (*before, *after)
    assert frame is not None
    loop = _Deeper(frame.vars[depth], frame.trips(depth), _plan(frame, items, deeper, depth + 1))
    return (*before, loop, *after)


def _nest(plan: Plan, own: Sequence[Sequence[Command]]) -> tuple[ProgramNode, ...]:
    """What a core runs of a plan: its ``own`` commands of each item; loops of which it has nothing are left out."""
    found: list[ProgramNode] = []
    for each in plan:
        if isinstance(each, int):
            found += own[each]
        elif body := _nest(each.plan, own):
            found.append(CommandLoop(each.var, each.trips, body))
    return tuple(found)


def _ended(
    nodes: Sequence[ProgramNode], signals: tuple[Token, ...], loops: When = ()
) -> tuple[ProgramNode, ...] | None:
    """The nodes with ``signals`` at the end of the last command, in the last turn of its ``loops``.

    None where none is sure to be the last one.
    """
    if not nodes:
        return None
    last = nodes[-1]
    if isinstance(last, CommandLoop):
        inner = _ended(last.body, signals, _last_turns(loops, last.var))
        return None if inner is None else (*nodes[:-1], CommandLoop(last.var, last.trips, inner))
    if any(edge not in loops for edge in last.when):
        return None
    given = tuple([Token(token.name, token.n, loops) for token in signals])
    return (*nodes[:-1], last.with_tokens(last.waits, (*last.signals, *given)))


@lru_cache(maxsize=1024)
def _last_turns(loops: When, var: str) -> When:
    """The last turns of ``loops`` and of the one over ``var`` in them: one object for all cores."""
    return (*loops, LoopEdge("last", var))


def border_items(layer: str, pinned: Resident, shape: tuple[int, ...]) -> list[Item]:
    """Moves that fill the border of a pinned tensor with zeros, one for each slab."""
    return [_filled(layer, pinned, slab, number) for number, slab in enumerate(slabs(pinned.layout, shape))]


def _filled(layer: str, pinned: Resident, slab: Slab, number: int) -> Item:
    extents = tuple(Extent(f"x{i}", size) for i, size in enumerate(slab.sizes))
    strides = tuple((f"x{i}", stride) for i, stride in enumerate(pinned.layout.strides) if slab.sizes[i] > 1)
    region = Region("dst", pinned.tensor, pinned.layout.element_bytes, strides, Affine(slab.offset))
    command = Command(f"{layer}.border{number}", "MOVE", layer, role="outputs", extents=extents, writes=(region,))
    return Item("load", 0, command, ((pinned.tensor, True),))
