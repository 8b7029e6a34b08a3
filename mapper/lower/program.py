"""Assemble the Program: every layer's commands into per-engine queues, ordered between layers by fences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from archsim.base.errors import MappingError
from archsim.ir.functions import Function
from archsim.ir.mapping import LayerFences
from archsim.ir.program import (
    Affine,
    Command,
    CommandLoop,
    EngineKind,
    Extent,
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
from archsim.ir.workload import Layer
from archsim.spec.architecture import Architecture
from mapper.allocate.placement import Slab, slabs
from mapper.allocate.residency import Resident
from mapper.groups.windows import MAKER
from mapper.lower.ended import ended
from mapper.lower.fences import Span
from mapper.lower.frame import Frame
from mapper.lower.fused import fused, only_waits
from mapper.lower.instance import Cores
from mapper.lower.item import Item, Lane
from mapper.lower.order import HOST, Order, Waits, label
from mapper.lower.passes import MadeWindow, Nodes, PassBody, PassPipeline, ReadWindow

DMA_ENGINES: tuple[EngineKind, ...] = ("load", "store")
MAKING: Lane = (MAKER, 0)


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


@dataclass(frozen=True)
class Passes:
    """How the members of a group run: ``ahead`` and ``trips`` of each by its name, its own shared loops outermost;
    ``trips`` of the shared loops themselves. ``made``: windows by the member that makes them, ``read``: by member
    and the lane whose commands read them; ``anew``: whether they begin anew with each iteration of the outer loop."""

    name: str
    ahead: Mapping[str, int]
    trips: tuple[int, ...]
    made: Mapping[str, tuple[MadeWindow, ...]]
    read: Mapping[tuple[str, Lane], tuple[ReadWindow, ...]]
    anew: bool = False


@dataclass(frozen=True)
class LoweredGroup:
    """Layers that are assembled as one: no fence stands between them. ``passes``: in which they run, None of a layer
    by itself; ``rings`` and ``spans`` of windows."""

    members: tuple[LoweredLayer, ...]
    passes: Passes | None = None
    rings: tuple[Ring, ...] = ()
    spans: Mapping[str, Span] = field(default_factory=dict)


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
    groups: list[LoweredGroup],
    tensors: tuple[PlacedTensor, ...],
    outputs: tuple[str, ...],
    fences: LayerFences = "needed",
    *,
    one_kernel: bool = False,
) -> Program:
    """The whole Program. ``outputs``: tensors whose completion the host waits for; ``fences``: between groups;
    ``one_kernel``: all groups are one, where the host launches kernels."""
    layers = [layer for group in groups for layer in group.members]
    rings = tuple(ring for group in groups for ring in (*group.rings, *chain(*(made.rings for made in group.members))))
    builder = _Builder(architecture, _order(architecture, groups, tensors), fences, one_kernel=one_kernel)
    builder.launch()
    for index, group in enumerate(groups):
        builder.add(index, group)
    builder.finish(len(groups), outputs)
    return Program(
        name=name,
        chip=architecture.name,
        layers=tuple(layer.name for layer in layers),
        tensors=tensors,
        rings=rings,
        semaphores=(*builder.semaphores(), *(token for layer in layers for token in layer.semaphores)),
        queues=builder.queues(),
    )


def _order(architecture: Architecture, groups: list[LoweredGroup], tensors: tuple[PlacedTensor, ...]) -> Order:
    """Where everything lies: for what all cores have alike, one span stands for all."""
    spans = {t.name: Span(t.memory, t.base, t.base + t.size_bytes) for t in tensors}
    for group in groups:
        spans |= group.spans
        for layer in group.members:
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

    def __init__(self, architecture: Architecture, order: Order, fences: LayerFences, *, one_kernel: bool) -> None:
        self.architecture, self.order, self.names, self.fences = architecture, order, order.names, fences
        host = architecture.host
        self._by_kernel = host is not None and host.per == "kernel"
        self._one_kernel = one_kernel
        self.bodies: dict[Lane, list[list[Sequence[ProgramNode]]]] = {
            lane: [[] for _ in order.instances(lane)] for lane in self.names
        }
        self.launch_tokens: list[str] = []
        self.layers: list[str] = []
        self.turns: list[Semaphore] = []

    def launch(self) -> None:
        """The host rings the doorbell: the load engines start after it, all others follow their data."""
        if HOST not in self.names or (self._by_kernel and not self._one_kernel):
            return
        for lane, core in self._queues():
            if lane[0] == "load":
                token = f"host.launch>{label(lane) if self.order.cores == 1 else self.order.queue(lane, core)}"
                self.launch_tokens.append(token)
                self.bodies[lane][core].append([Command("doorbell", "SYNC", "_host", waits=(Token(token),))])
        signals = tuple(Token(token) for token in self.launch_tokens)
        self.bodies[HOST][0].append([Command("launch", "HOST", "_host", role="host", signals=signals)])

    def add(self, index: int, group: LoweredGroup) -> None:
        """A group: fence each command, give each core its own, nest it in its loops."""
        for layer in group.members:
            self.turns += layer.cores.turns() if layer.cores is not None else ()
            for item in layer.items:
                if item.lane not in self.names:
                    raise MappingError(f"layer '{layer.name}' needs a {item.engine} engine; the chip has none")
        kernel = self._kernel(group)
        lanes = {item.lane for layer in group.members for item in layer.items}
        ended = self.order.ended(index, HOST, lanes) if kernel is not None and index else ()
        fenced = {lane: self._fenced(index, group, lane) for lane in self.names}
        self.order.close_layer(index)
        self.layers.append(group.members[-1].name)
        for lane, of in fenced.items():
            if group.passes is None:
                self._add_alone(lane, group.members[0], of[0])
            else:
                self._add_passes(lane, group.members, group.passes, of)
        if kernel is not None:
            self._launch(kernel, lanes, ended)

    def _kernel(self, group: LoweredGroup) -> Layer | None:
        """The layer that a kernel is called after; None where a group is none of its own."""
        frame = group.members[-1].frame
        has_own = self._by_kernel and not self._one_kernel and frame is not None
        return frame.problem.layer if has_own and frame is not None else None

    def _launch(self, kernel: Layer, lanes: Collection[Lane], ended: tuple[Token, ...]) -> None:
        """The host launches a kernel once it sees that the one before it has ended; in the lanes that it uses nothing
        begins before."""
        signals, name = [], kernel.name
        for lane, core in self._queues():
            body = self.bodies[lane][core]
            if lane not in lanes:
                continue
            token = f"{name}.go>{self.order.queue(lane, core)}"
            self.launch_tokens.append(token)
            signals.append(Token(token))
            body[-1] = [Command(f"{name}.go", "SYNC", name, waits=(Token(token),)), *body[-1]]
        does = (Function(kernel.op),)
        launch = Command(
            f"{name}.launch", "HOST", "_host", role="host", waits=ended, signals=tuple(signals), functions=does
        )  # fmt: skip
        self.bodies[HOST][0][-1] = [launch, *self.bodies[HOST][0][-1]]

    def _fenced(self, index: int, group: LoweredGroup, lane: Lane) -> list[list[Fenced]]:
        """The commands of each member on a lane, with what they wait for: the first one to run of those that need the
        same waits for it."""
        items = [_execution_order(item for item in layer.items if item.lane == lane) for layer in group.members]
        found: list[dict[int, Fenced]] = [{} for _ in items]
        places = [(member, number) for member, of in enumerate(items) for number in range(len(of))]
        places.sort(key=lambda place: (_first_turn(group, place[0], items[place[0]][place[1]]), place))
        for number, (member, at) in enumerate(places):
            layer, item = group.members[member], items[member][at]
            remote = layer.cores is not None and layer.cores.is_remote(item)
            waits = self.order.wait_for(index, lane, item.touches, remote=remote)
            if self.fences == "all" and not number:
                waits = self.order.wait_for_all(index, lane, waits)
            when = layer.frame.edges("first", 0, item.depth) if layer.frame is not None else ()
            found[member][at] = Fenced(item, waits, when)
        return [[of[at] for at in sorted(of)] for of in found]

    def _add_alone(self, lane: Lane, layer: LoweredLayer, of: list[Fenced]) -> None:
        start = layer.frame.spread if layer.frame is not None else 0
        plan = _plan(layer.frame, [each.item for each in of], range(len(of)), start)
        rows = [self._of_cores(layer, each) for each in of]
        turned = layer.cores.turn_ends(lane) if layer.cores is not None else {}
        for core, body in enumerate(self.bodies[lane]):
            body.append([*_body(plan, [row[core] for row in rows]), *turned.get(core, ())])

    def _add_passes(
        self, lane: Lane, layers: Sequence[LoweredLayer], passes: Passes, of: Sequence[list[Fenced]]
    ) -> None:
        """A group of a chip of one core."""
        members = [self._member(lane, layer, passes, own) for layer, own in zip(layers, of, strict=True)]
        pipeline = PassPipeline(passes.name, members, passes.trips, max(passes.ahead.values()), passes.anew)
        (body,) = self.bodies[lane]
        body.append(list(pipeline.nodes()))

    def _member(self, lane: Lane, layer: LoweredLayer, passes: Passes, of: Sequence[Fenced]) -> PassBody:
        frame, shared, items = layer.frame, len(passes.trips), [each.item for each in of]
        assert frame is not None
        own = [self._of_cores(layer, each)[0] for each in of]

        def outside(depth: int, after: bool) -> Nodes:
            return tuple(
                chain.from_iterable(
                    own[at] for at, item in enumerate(items) if item.depth == depth and item.after == after
                )
            )

        inside = [number for number, item in enumerate(items) if item.depth >= shared]
        return PassBody(
            layer.name,
            passes.ahead[layer.name],
            frame.vars[:shared],
            tuple(frame.trips(at) for at in range(shared)),
            tuple(outside(depth, after=False) for depth in range(shared)),
            _body(_plan(frame, items, inside, shared), own),
            tuple(outside(depth, after=True) for depth in range(shared)),
            passes.made.get(layer.name, ()) if lane == MAKING else (),
            passes.read.get((layer.name, lane), ()),
        )

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
        before = (
            1 if self.launch_tokens and (self._one_kernel or not self._by_kernel) and lane[0] in ("host", "load") else 0
        )
        end = before + len(self.layers)
        yield from chain.from_iterable(bodies[:before])
        for layer, nodes, signals in zip(self.layers, bodies[before:end], given, strict=True):
            found = ended(nodes, signals) if signals else nodes
            yield from nodes if found is None else found
            if found is None:
                yield Command(f"{layer}.{label(lane)}_done", "SYNC", layer, signals=signals)
        yield from chain.from_iterable(bodies[end:])


def _body(plan: Plan, own: Sequence[Sequence[Command]]) -> tuple[ProgramNode, ...]:
    """What a core runs of a plan, its ``own`` commands of each item; those that only wait do so with the next one."""
    nodes = _nest(plan, own)
    return fused(nodes) if any(map(only_waits, chain.from_iterable(own))) else nodes


def _waiting(command: Command, tokens: tuple[Token, ...]) -> Command:
    return command.with_tokens((*tokens, *command.waits), command.signals) if tokens else command


def _first_turn(group: LoweredGroup, member: int, item: Item) -> int:
    """In which turn of a group's passes a command of a member runs first: before all, or by how many it is behind."""
    if group.passes is None:
        return 0
    ahead = group.passes.ahead
    if item.depth == 0:
        return -1 if not item.after else sum(ahead.values()) + 1
    return max(ahead.values()) - ahead[group.members[member].name]


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


def border_items(layer: str, pinned: Resident, shape: tuple[int, ...]) -> list[Item]:
    """Moves that fill the border of a pinned tensor with zeros, one for each slab."""
    return [_filled(layer, pinned, slab, number) for number, slab in enumerate(slabs(pinned.layout, shape))]


def _filled(layer: str, pinned: Resident, slab: Slab, number: int) -> Item:
    extents = tuple(Extent(f"x{i}", size) for i, size in enumerate(slab.sizes))
    strides = tuple((f"x{i}", stride) for i, stride in enumerate(pinned.layout.strides) if slab.sizes[i] > 1)
    region = Region("dst", pinned.tensor, pinned.layout.element_bytes, strides, Affine(slab.offset))
    command = Command(f"{layer}.border{number}", "MOVE", layer, role="outputs", extents=extents, writes=(region,))
    return Item("load", 0, command, ((pinned.tensor, True),))
