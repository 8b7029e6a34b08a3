"""Assemble the Program: every layer's commands into per-engine queues, ordered between layers by fences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from archsim.base.errors import MappingError
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
from mapper.borders import Slab, slabs
from mapper.lower.fences import Span
from mapper.lower.frame import Frame
from mapper.lower.fused import fused
from mapper.lower.instance import Cores
from mapper.lower.item import Item, Lane
from mapper.lower.order import HOST, Order, Waits, label
from mapper.residency import Resident

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


def queue_names(architecture: Architecture) -> dict[Lane, str]:
    """Lane -> queue name; only engines that the chip has."""
    names: dict[Lane, str] = {}
    for engine in DMA_ENGINES:
        for channel in range(architecture.dma_queues):
            names[engine, channel] = f"core[0].{label((engine, channel))}"
    if architecture.arrays:
        names["array", 0] = "core[0].array"
    if architecture.vectors:
        names["vector", 0] = "core[0].vector"
    if architecture.host is not None:
        names["host", 0] = "host"
    return names


def assemble(
    name: str,
    architecture: Architecture,
    layers: list[LoweredLayer],
    tensors: tuple[PlacedTensor, ...],
    outputs: tuple[str, ...],
) -> Program:
    """The whole Program. ``outputs``: tensors whose completion the host waits for."""
    rings = tuple(ring for layer in layers for ring in layer.rings)
    builder = _Builder(architecture, _order(architecture, layers, tensors))
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

    def __init__(self, architecture: Architecture, order: Order) -> None:
        self.architecture, self.order, self.names = architecture, order, order.names
        self.bodies: dict[tuple[Lane, int], list[list[ProgramNode]]] = {
            (lane, core): [] for core in range(order.cores) for lane in self.names if core in order.instances(lane)
        }
        self.launch_tokens: list[str] = []
        self.layers: list[str] = []
        self.turns: list[Semaphore] = []

    def launch(self) -> None:
        """The host rings the doorbell: the load engines start after it, all others follow their data."""
        if HOST not in self.names:
            return
        for (lane, core), body in self.bodies.items():
            if lane[0] == "load":
                token = f"host.launch>{label(lane) if self.order.cores == 1 else self.order.queue(lane, core)}"
                self.launch_tokens.append(token)
                body.append([Command("doorbell", "SYNC", "_host", waits=(Token(token),))])
        signals = tuple(Token(token) for token in self.launch_tokens)
        self.bodies[HOST, 0].append([Command("launch", "HOST", "_host", role="host", signals=signals)])

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
                when = layer.frame.edges("first", 0, item.depth) if layer.frame is not None else ()
                fenced[lane].append(Fenced(item, waits, when))
        self.order.close_layer(index)
        self.layers.append(layer.name)
        start = layer.frame.spread if layer.frame is not None else 0
        plans = {lane: _plan(layer.frame, [o.item for o in of], range(len(of)), start) for lane, of in fenced.items()}
        for (lane, core), body in self.bodies.items():
            made = [list(self._of_core(layer, cores, one, core)) for one in fenced[lane]]
            ended = cores.turn_ends(lane, core) if cores is not None else ()
            body.append([*fused(_nest(plans[lane], made)), *ended])

    def _of_core(self, layer: LoweredLayer, cores: Cores | None, fenced: Fenced, core: int) -> Iterator[Command]:
        """A command as a core has it, behind what it waits for of earlier layers; a core without it waits alike."""
        item, waits, when = fenced
        yield from self.order.collected(item.lane, core, layer.name, waits, when)
        tokens = self.order.waits(item.lane, core, waits, when)
        if cores is not None:
            command = cores.command(item, core, tokens)
        else:
            command = None if core else _waiting(item.command, tokens)
        if command is not None:
            yield command
        elif tokens:
            yield Command(f"{item.command.name}.wait", "SYNC", layer.name, waits=tokens, when=when)

    def finish(self, layers: int, outputs: tuple[str, ...]) -> None:
        """The host sees completion when the last outputs are written."""
        if HOST not in self.names:
            return
        touches = tuple((name, False) for name in outputs)
        waits = self.order.wait_for(layers, HOST, touches)
        tokens = self.order.waits(HOST, 0, waits, ())
        self.bodies[HOST, 0].append([Command("done", "SYNC", "_host", waits=tokens)])

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
        return tuple(
            Queue(self.order.queue(lane, core), lane[0], units[lane[0]], tuple(self._body(lane, core)))
            for lane, core in self.bodies
        )

    def _body(self, lane: Lane, core: int) -> Iterable[ProgramNode]:
        offset = 1 if self.launch_tokens and lane[0] in ("host", "load") else 0
        for position, nodes in enumerate(self.bodies[lane, core]):
            signals = self.order.signals(lane, core, position - offset)
            ended = _ended(nodes, signals) if signals else nodes
            yield from nodes if ended is None else ended
            if ended is None:
                layer = self.layers[position - offset]
                yield Command(f"{layer}.{label(lane)}_done", "SYNC", layer, signals=signals)


def _waiting(command: Command, tokens: tuple[Token, ...]) -> Command:
    return replace(command, waits=(*tokens, *command.waits)) if tokens else command


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
    return (*nodes[:-1], replace(last, signals=(*last.signals, *given)))


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
