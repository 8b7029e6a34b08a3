"""The windows of a group: which box of its tensor a slot holds, how it lies there, and how far its maker is ahead.

Along an axis that moves on by ``step`` a pass, its readers reach from ``low`` (below 0 where they read padding) to some
positions beyond the step, which the maker brings in its next passes: ``lead`` of them, so that the maker's tiles all
have one size. A slot holds ``-low + (lead + 1) x step`` positions, and the one after it begins ``step`` further: what
both hold stays where it is. Along other axes a slot holds all, with the padding that readers see.

Each queue that reads a window has its own place among the slots: its first reader's. Those of its members that are
passes behind that one, or behind the maker on its queue, find what they need in the same slot, which then holds the
positions of so many passes more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from archsim.ir.program import EngineKind
from archsim.ir.schedule import Group, TensorWindow
from archsim.ir.workload import Axis, Layer, Operand, Tensor
from mapper.allocate.placement import Layout, layout
from mapper.groups.ties import Advance, Ties, advances, refuse
from mapper.problem.operands import EPILOGUE


class AxisSpan(NamedTuple):
    """Of one axis: the first position that readers need, relative to where their pass begins; how many a slot holds;
    ``advance`` by which it moves on, None where it does not. ``tail``: positions behind the tensor's end that readers
    see; ``behind``: how many before the first one a slot holds, for readers that are passes behind."""

    low: int
    size: int
    advance: Advance | None
    tail: int
    behind: int = 0

    @property
    def start(self) -> int:
        """The first position that a slot holds, relative to where its pass begins."""
        return self.low - self.behind


class WindowReader(NamedTuple):
    """An operand of a ``layer`` that lies in a window; ``engine``: array | vector, whose queue reads it; ``lag``: by
    how many passes it is behind the place of its queue."""

    layer: str
    operand: str
    engine: EngineKind
    lag: int


@dataclass(frozen=True)
class WindowPlan:
    """A window laid out: ``spans`` and ``stored`` by axis of its tensor. ``lead``: passes that its maker is done with
    more than its readers when they begin; ``sliding``: the axis along which slots share positions, -1 for none.
    ``maker``: a layer; ``readers``: in the order of the workload."""

    window: TensorWindow
    name: str  # of its ring
    tensor: Tensor
    spans: tuple[AxisSpan, ...]
    stored: Layout
    lead: int
    sliding: int
    maker: str
    readers: tuple[WindowReader, ...]
    trips: tuple[int, ...]  # of the shared loops, as its readers have them

    @property
    def loops(self) -> int:
        """How many loops are shared."""
        return len(self.trips)

    @property
    def slot_bytes(self) -> int:
        """Bytes of a slot."""
        return self.stored.size_bytes

    @property
    def step_bytes(self) -> int:
        """By how many bytes a slot that shares positions begins behind the one before it."""
        advance = self.spans[self.sliding].advance
        assert advance is not None
        return advance.step * self.stored.strides[self.sliding]

    @property
    def is_late(self) -> bool:
        """Whether its slots are whole, or free, passes later than they are taken: then those of one iteration of the
        outer loop are all through before the next one's."""
        return bool(self.lead) or any(each.lag for each in self.readers)

    @property
    def retain(self) -> int:
        """Bytes that a slot shares with the one before it."""
        return self.slot_bytes - self.step_bytes if self.sliding >= 0 else 0

    @property
    def span(self) -> int:
        """Bytes of all slots where each begins within the one before it; 0 where some do not."""
        if self.sliding < 0 or self.window.slots < 2 or (len(self.trips) > 1 and not self.is_late):
            return 0
        return self.slot_bytes + (self.window.slots - 1) * self.step_bytes

    @property
    def size_bytes(self) -> int:
        """Bytes of all slots."""
        return self.span or self.slot_bytes * self.window.slots

    @property
    def origin(self) -> int:
        """Byte of a slot at which readers find the position where their pass begins, along all axes."""
        return -sum(span.start * stride for span, stride in zip(self.spans, self.stored.strides, strict=True))

    @property
    def made_at(self) -> int:
        """Byte of a slot at which its maker begins a pass: behind those that it is ahead by."""
        return self.origin + (self.lead * self.step_bytes if self.lead else 0)

    def read_at(self, layer: str, operand: str) -> int:
        """Byte of a slot at which a reader begins a pass, which may be passes behind."""
        lag = next(each.lag for each in self.readers if (each.layer, each.operand) == (layer, operand))
        return self.origin - (lag * self.step_bytes if lag else 0)

    def least_slots(self, ahead: Callable[[str], int]) -> tuple[int, str]:
        """How many slots there must be, and for which reader; ``ahead``: by how many passes a layer is."""
        first = [of[0].layer for of in self.queues.values()]
        return max((ahead(self.maker) - ahead(layer) - self.lead + 1, layer) for layer in first)

    @property
    def queues(self) -> dict[EngineKind, tuple[WindowReader, ...]]:
        """The readers on each queue that takes slots and frees them, in order: the maker's own one reads what it holds
        anyway, and takes slots only where no other queue reads them."""
        found: dict[EngineKind, tuple[WindowReader, ...]] = {}
        for each in self.readers:
            found[each.engine] = (*found.get(each.engine, ()), each)
        return {engine: of for engine, of in found.items() if engine != MAKER or len(found) == 1}


MAKER: EngineKind = "vector"  # writes results, of products too


def windows_of(
    group: Group,
    layers: Sequence[Layer],
    tensors: Mapping[str, Tensor],
    ties: Ties,
    engines: Mapping[str, EngineKind],
    element_bytes: int,
    pad_bytes: int,
) -> Iterator[WindowPlan]:
    """The windows of a group, of the tensors that members make for one another; ``engines``: of its layers;
    ``pad_bytes``: left free behind rows.

    Raises GroupError where they are not stated, or cannot be windows.
    """
    stated = {window.tensor: window for window in group.windows}
    if len(stated) < len(group.windows):
        refuse(group, "two windows of one tensor; allowed one of each")
    for at, maker in enumerate(layers[:-1]):
        name = maker.output.tensor
        if name not in stated:
            refuse(group, f"states no window of '{name}', which layer '{maker.name}' makes and a later member reads")
        readers = [(layer, op) for layer in layers[at + 1 :] for op in layer.inputs if op.tensor == name]
        lanes = [MAKER if op.name == EPILOGUE else engines[layer.name] for layer, op in readers]
        yield _planned(group, stated.pop(name), tensors[name], maker, readers, lanes, ties, element_bytes, pad_bytes)
    if stated:
        refuse(group, f"a window of '{next(iter(stated))}', which no member makes for another one")


def _planned(
    group: Group,
    window: TensorWindow,
    tensor: Tensor,
    maker: Layer,
    readers: Sequence[tuple[Layer, Operand]],
    lanes: Sequence[EngineKind],
    ties: Ties,
    element_bytes: int,
    pad_bytes: int,
) -> WindowPlan:
    spans, lead, sliding = [], 0, -1
    trips = _trips(group, tensor, readers, ties)
    most = max(_leads(tensor, readers, ties), default=0)
    used = tuple(_lagging(group, maker, readers, lanes, most))
    for axis, extent in enumerate(tensor.shape):
        reach = [_reach(operand.axes[axis], layer, ties) for layer, operand in readers]
        low, high = min(0, *(first for first, _ in reach)), max(end for _, end in reach)
        advance = advances(readers[0][1], ties[readers[0][0].name])[axis]
        if advance is None:
            spans.append(AxisSpan(low, max(extent, high) - low, None, max(0, high - extent)))
            continue
        ahead = _lead(high, advance)
        tail = max(_end(operand.axes[axis], layer) for layer, operand in readers) - extent
        behind = max(each.lag for each in used) * advance.step if advance.loop == len(group.loops) - 1 else 0
        spans.append(AxisSpan(low, (ahead + 1) * advance.step - low + behind, advance, max(0, tail), behind))
        if spans[-1].size > advance.step:
            if sliding >= 0 or advance.loop != len(group.loops) - 1:
                refuse(group, f"passes share positions of '{tensor.name}' along another loop than the innermost one")
            lead, sliding = ahead, axis
    if sliding >= 0 and any(span.size > 1 for span in spans[:sliding]):
        refuse(group, f"passes share positions of '{tensor.name}' along an axis that is not its outermost one")
    box = replace(tensor, shape=tuple(span.size for span in spans), view=None)
    stored = layout(box, element_bytes, None, pad_bytes)
    named = f"{tensor.name}@{group.name}"
    main = max(sliding, next((at for at, span in enumerate(spans) if span.advance is not None), 0))
    along = spans[main].advance
    step = along.step if along is not None else tensor.shape[main]
    dim = next((name for name, _ in maker.output.axes[main].terms), "")
    full = replace(window, dim=dim, rows=spans[main].size, step=step)
    _check_stated(group, window, full)
    return WindowPlan(full, named, tensor, tuple(spans), stored, lead, sliding, maker.name, used, trips)


def _leads(tensor: Tensor, readers: Sequence[tuple[Layer, Operand]], ties: Ties) -> Iterator[int]:
    """Passes that a maker is done with more than its readers when they begin, along each axis that moves on."""
    for axis in range(len(tensor.shape)):
        advance = advances(readers[0][1], ties[readers[0][0].name])[axis]
        if advance is not None:
            yield _lead(max(_reach(operand.axes[axis], layer, ties)[1] for layer, operand in readers), advance)


def _lead(high: int, advance: Advance) -> int:
    return max(0, -(-(high - advance.step) // advance.step))


def _lagging(
    group: Group, maker: Layer, readers: Sequence[tuple[Layer, Operand]], lanes: Sequence[EngineKind], lead: int
) -> Iterator[WindowReader]:
    """The readers, each with how far it is behind the place of its queue. Raises GroupError where a later member of a
    queue is ahead of an earlier one."""
    ahead = {member.layer: member.ahead for member in group.members}
    place: dict[EngineKind, int] = {MAKER: ahead[maker.name] - lead}
    last: dict[EngineKind, str] = {}
    for (layer, operand), lane in zip(readers, lanes, strict=True):
        own, before = ahead[layer.name], last.get(lane, layer.name)
        if own > ahead[before]:
            refuse(group, f"layer '{layer.name}' is ahead of '{before}', which reads '{operand.tensor}' before it")
        last[lane] = layer.name
        yield WindowReader(layer.name, operand.name, lane, max(0, place.setdefault(lane, own) - own))


def _check_stated(group: Group, window: TensorWindow, full: TensorWindow) -> None:
    """Raise GroupError where a file states another ``dim``, ``rows`` or ``step`` than follows from the rest."""
    if window.dim not in ("", full.dim):
        refuse(group, f"a window of '{full.tensor}' along '{window.dim}'; it moves on along '{full.dim}'")
    if (window.rows, window.step) not in ((0, 0), (full.rows, full.step)):
        refuse(
            group,
            f"a window of '{full.tensor}' with rows {window.rows} and step {window.step}; its readers need rows "
            f"{full.rows} and step {full.step}",
        )


def _trips(group: Group, tensor: Tensor, readers: Sequence[tuple[Layer, Operand]], ties: Ties) -> tuple[int, ...]:
    """Of the shared loops as the readers of a tensor have them; raises GroupError where these differ."""
    found = [tuple(-(-layer.dims[tie.dim] // tie.tile) for tie in ties[layer.name]) for layer, _ in readers]
    for (layer, _), trips in zip(readers, found, strict=True):
        if trips != found[0]:
            first = readers[0][0].name
            refuse(
                group,
                f"'{first}' reads '{tensor.name}' in {found[0]} passes, '{layer.name}' in {trips}; allowed as many",
            )
    return found[0]


def _end(axis: Axis, layer: Layer) -> int:
    """The position behind the last one that a reader touches at all."""
    return axis.offset + sum(coef * (layer.dims[dim] - 1) for dim, coef in axis.terms) + 1


def _reach(axis: Axis, layer: Layer, ties: Ties) -> tuple[int, int]:
    """The first position that a reader touches in a pass, relative to where the pass begins, and the one behind the
    last."""
    tiles = {tie.dim: tie.tile for tie in ties[layer.name]}
    last = sum(coef * (tiles.get(dim, layer.dims[dim]) - 1) for dim, coef in axis.terms)
    return axis.offset, axis.offset + last + 1
