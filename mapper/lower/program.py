"""Assemble the Program: every layer's commands into per-engine queues, ordered between layers by fences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from archsim.errors import MappingError
from archsim.ir.program import (
    Affine,
    Command,
    Engine,
    Extent,
    Loop,
    Node,
    Program,
    Queue,
    Region,
    Ring,
    Semaphore,
    Tensor,
    Token,
)
from archsim.spec.architecture import Architecture
from mapper.borders import Slab, slabs
from mapper.lower.fences import Fences, Span
from mapper.lower.frame import Frame
from mapper.lower.item import Item, Lane
from mapper.residency import Resident

HOST: Lane = ("host", 0)
DMA_ENGINES: tuple[Engine, ...] = ("load", "store")


@dataclass(frozen=True)
class LoweredLayer:
    """One layer ready for assembly: its frame (None on the host), items and ring declarations."""

    name: str
    frame: Frame | None
    items: list[Item]
    rings: list[Ring]


def queue_names(architecture: Architecture) -> dict[Lane, str]:
    """Lane -> queue name; only engines that the chip has."""
    if architecture.dma.merged:
        raise MappingError("dma.merged: one engine for loads and stores is not built yet; leave it out")
    names: dict[Lane, str] = {}
    for engine in DMA_ENGINES:
        for channel in range(architecture.dma_queues):
            names[engine, channel] = f"core[0].{_label((engine, channel))}"
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
    tensors: tuple[Tensor, ...],
    outputs: tuple[str, ...],
) -> Program:
    """The whole Program. ``outputs``: tensors whose completion the host waits for."""
    names = queue_names(architecture)
    rings = tuple(ring for layer in layers for ring in layer.rings)
    spans = {t.name: Span(t.memory, t.base, t.base + t.size_bytes) for t in tensors}
    spans |= {r.name: Span(r.memory, r.base, r.base + r.size_bytes) for r in rings}
    builder = _Builder(names, Fences(spans))
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
        semaphores=tuple(builder.semaphores()),
        queues=builder.queues(architecture),
    )


class _Builder:
    """Grows the queues layer by layer."""

    def __init__(self, names: Mapping[Lane, str], fences: Fences) -> None:
        self.names, self.fences = names, fences
        self.bodies: dict[Lane, list[list[Node]]] = {lane: [] for lane in names}
        self.launch_tokens: list[str] = []

    def launch(self) -> None:
        """The host rings the doorbell: the load engines start after it, all others follow their data."""
        if HOST not in self.names:
            return
        for lane in self.names:
            if lane[0] == "load":
                token = f"host.launch>{_label(lane)}"
                self.launch_tokens.append(token)
                self.bodies[lane].append([Command("doorbell", "SYNC", "_host", waits=(Token(token),))])
        signals = tuple(Token(token) for token in self.launch_tokens)
        self.bodies[HOST].append([Command("launch", "HOST", "_host", role="host", signals=signals)])

    def add(self, index: int, layer: LoweredLayer) -> None:
        """One layer: fence each command, nest it in its loops."""
        fenced: dict[Lane, list[Item]] = {}
        for item in layer.items:
            if item.lane not in self.names:
                raise MappingError(f"layer '{layer.name}' needs a {item.engine} engine; the chip has none")
        for lane in self.names:
            for item in _execution_order(item for item in layer.items if item.lane == lane):
                fenced.setdefault(lane, []).append(self._fence(index, layer, item))
        self.fences.close_layer(index, tuple(self.names.values()))
        for lane in self.names:
            self.bodies[lane].append(list(_nest(layer.frame, fenced.get(lane, []), 0)))

    def _fence(self, index: int, layer: LoweredLayer, item: Item) -> Item:
        tokens = self.fences.wait_for(index, self.names[item.lane], item.touches)
        if not tokens:
            return item
        when = layer.frame.edges("first", 0, item.depth) if layer.frame is not None else ()
        waits = tuple(Token(token, when=when) for token in tokens)
        return replace(item, command=replace(item.command, waits=(*waits, *item.command.waits)))

    def finish(self, layers: int, outputs: tuple[str, ...]) -> None:
        """The host sees completion when the last outputs are written."""
        if HOST not in self.names:
            return
        touches = tuple((name, False) for name in outputs)
        tokens = self.fences.wait_for(layers, self.names[HOST], touches)
        done = Command("done", "SYNC", "_host", waits=tuple(Token(token) for token in tokens))
        self.bodies[HOST].append([done])

    def semaphores(self) -> Iterable[Semaphore]:
        """Launch and fence tokens."""
        return [*(Semaphore(token) for token in self.launch_tokens), *self.fences.semaphores()]

    def queues(self, architecture: Architecture) -> tuple[Queue, ...]:
        """Finished queues; a layer's end signals whoever waits for it."""
        units = {"load": architecture.dma.name, "store": architecture.dma.name}
        units |= {"array": architecture.arrays[0].name} if architecture.arrays else {}
        units |= {"vector": architecture.vectors[0].name} if architecture.vectors else {}
        units |= {"host": architecture.host.name} if architecture.host is not None else {}
        return tuple(Queue(name, lane[0], units[lane[0]], tuple(self._body(lane))) for lane, name in self.names.items())

    def _body(self, lane: Lane) -> Iterable[Node]:
        offset = 1 if self.launch_tokens and lane[0] in ("host", "load") else 0
        for position, nodes in enumerate(self.bodies[lane]):
            yield from nodes
            tokens = self.fences.signals(self.names[lane], position - offset)
            if tokens:
                signals = tuple(Token(token) for token in tokens)
                layer = _layer_of(nodes)
                yield Command(f"{layer}.{_label(lane)}_done", "SYNC", layer, signals=signals)


def _label(lane: Lane) -> str:
    """``load``, ``load1``: an engine and its further channels."""
    return f"{lane[0]}{lane[1] or ''}"


def _layer_of(nodes: list[Node]) -> str:
    for node in nodes:
        return node.layer if isinstance(node, Command) else _layer_of(list(node.body))
    return "_host"


def _execution_order(items: Iterable[Item]) -> list[Item]:
    """Order of first execution: shallower first, those that follow the deeper loops last."""
    listed = list(items)
    before = [item for item in listed if not item.after]
    after = [item for item in listed if item.after]
    return [*sorted(before, key=lambda item: item.depth), *sorted(after, key=lambda item: -item.depth)]


def _nest(frame: Frame | None, items: list[Item], depth: int) -> Iterable[Node]:
    yield from (item.command for item in items if item.depth == depth and not item.after)
    deeper = [item for item in items if item.depth > depth]
    if deeper:
        assert frame is not None
        yield Loop(frame.vars[depth], frame.trips(depth), tuple(_nest(frame, deeper, depth + 1)))
    yield from (item.command for item in items if item.depth == depth and item.after)


def border_items(layer: str, pinned: Resident, shape: tuple[int, ...]) -> list[Item]:
    """Moves that fill the border of a pinned tensor with zeros, one for each slab."""
    return [_filled(layer, pinned, slab, number) for number, slab in enumerate(slabs(pinned.layout, shape))]


def _filled(layer: str, pinned: Resident, slab: Slab, number: int) -> Item:
    extents = tuple(Extent(f"x{i}", size) for i, size in enumerate(slab.sizes))
    strides = tuple((f"x{i}", stride) for i, stride in enumerate(pinned.layout.strides) if slab.sizes[i] > 1)
    region = Region("dst", pinned.tensor, pinned.layout.element_bytes, strides, Affine(slab.offset))
    command = Command(f"{layer}.border{number}", "MOVE", layer, role="outputs", extents=extents, writes=(region,))
    return Item("load", 0, command, ((pinned.tensor, True),))
