"""From mapped layers to the Program: addresses of tensors and rings, commands, queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from archsim.ir.dtypes import size_bytes
from archsim.ir.mapping import LayerMapping, ModelMapping, Placement
from archsim.ir.packing import in_bytes
from archsim.ir.program import Command, Program, StateExtent
from archsim.ir.program import PlacedTensor as StoredTensor
from archsim.ir.workload import Layer, Workload
from archsim.spec.architecture import Architecture
from mapper.allocate.placement import (
    Block,
    Lifetime,
    PlaceError,
    host_written,
    layout,
    lifetimes,
    place_dram,
    view_strides,
)
from mapper.allocate.residency import Residency
from mapper.allocate.rings import Slot, allocate, fit, taken, wanted, weights_of
from mapper.groups.plan import GroupPlan, spans_of
from mapper.groups.windows import WindowPlan
from mapper.lower.declare import layer_rings, layer_semaphores, layer_spans, scratch
from mapper.lower.frame import Frame, Stored, ring_name
from mapper.lower.grouped import grouped
from mapper.lower.instance import Cores
from mapper.lower.item import Item
from mapper.lower.layer import commands
from mapper.lower.partials import with_way
from mapper.lower.program import LoweredGroup, LoweredLayer, assemble, border_items, queue_names
from mapper.options import Options
from mapper.policies import catalogue as policies
from mapper.problem.element_scales import PLAIN, Numbers, of_operands
from mapper.problem.formats import operand_dtype
from mapper.problem.operands import OUT, OperandPlan, home_role
from mapper.problem.packed import BYTES, base_of, scales_named
from mapper.problem.problem import Problem

NO_WINDOWS: Mapping[str, Slot] = MappingProxyType({})


@dataclass(frozen=True)
class Mapped:
    """Residency, and the problem (None on the host) and mapping of every layer; ``barred``: tensors kept off chip;
    ``groups``: those of several layers."""

    residency: Residency
    problems: tuple[Problem | None, ...]
    mappings: tuple[LayerMapping, ...]
    barred: frozenset[str]
    groups: tuple[GroupPlan, ...] = ()


@dataclass(frozen=True)
class Compiled:
    """A mapped and lowered model. ``frames``: each layer's lowering (None on the host), ``residency``.

    What is pinned.
    """

    mapping: ModelMapping
    program: Program
    frames: tuple[Frame | None, ...]
    residency: Residency
    warnings: tuple[str, ...] = ()


class Laid(NamedTuple):
    """A layer's frame, and its rings by name; of the last member of a group also the rings of its ``windows``."""

    frame: Frame
    rings: dict[str, Slot]
    windows: Mapping[str, Slot] = NO_WINDOWS


class Lowering:
    """The second half of the compiler: addresses, rings, commands, Program."""

    def __init__(
        self,
        workload: Workload,
        architecture: Architecture,
        dtypes: Mapping[str, str],
        options: Options,
        groups: Sequence[GroupPlan] = (),
    ) -> None:
        """``groups``: those of several layers."""
        self.workload, self.architecture, self.dtypes, self.options = workload, architecture, dtypes, options
        self.plans = tuple(groups)
        self.groups = {index: plan for plan in groups for index in range(plan.first, plan.last + 1)}
        self.base = {name: base_of(workload, name) for name in workload.tensors}
        self.lives = lifetimes(workload, self.base, spans_of(groups))
        self.windows = {window.tensor.name: window for plan in groups for window in plan.windows}
        self.hosted = host_written(workload, self.base)
        self.ragged = {self.base[layer.output.tensor] for layer in workload.layers if layer.is_ragged}
        uses = ((self.base[op.tensor], op.role) for layer in workload.layers for op in layer.inputs)
        self.roles = {name: role for name, role in uses if role == "tables"}

    def lower(self, mapped: Mapped) -> Compiled:
        """The Program of mapped layers."""
        residency, mappings = mapped.residency, mapped.mappings
        tensors = placed = self.place(residency)
        lowered: list[LoweredGroup] = []
        frames: list[Frame | None] = []
        members: list[LoweredLayer] = []  # of the group that is being lowered
        staging: dict[str, Cores] = {}  # by the DRAM: the last layer that stages tiles out of it
        for index, (layer, laid) in enumerate(zip(self.workload.layers, self.laid(mapped, placed), strict=True)):
            lowered += [LoweredGroup((border,)) for border in self._borders(index, layer, residency)]
            frames.append(laid.frame if laid is not None else None)
            if laid is None:
                lowered.append(LoweredGroup((LoweredLayer(layer.name, None, [self._host(layer)], []),)))
                continue
            made, blocks = self._layer(laid, staging)
            tensors += blocks
            members.append(made)
            plan = self.groups.get(index)
            if plan is None:
                lowered.append(LoweredGroup((members.pop(),)))
            elif index == plan.last:
                lowered.append(
                    grouped(plan, members, laid.windows, self._window_numbers(plan), queue_names(self.architecture))
                )
                members = []
        outputs = tuple(
            sorted(
                {self.base[t.name] for t in self.workload.tensors.values() if t.kind in ("output", "state")}
                & {tensor.name for tensor in placed}
            )
        )
        fences = self.options.fences
        whole_model = policies.is_one_kernel(self.options.policy)
        program = assemble(
            self.workload.name, self.architecture, lowered, tensors, outputs, fences, one_kernel=whole_model
        )  # fmt: skip
        program = replace(program, layers=tuple(layer.name for layer in self.workload.layers))
        whole = ModelMapping(
            self.workload.name,
            self.architecture.name,
            self.options.objective,
            tuple([self._own(index, mapping) for index, mapping in enumerate(mappings)]),
            self._placements(placed),
            self.dtypes,
            self.workload.sha256,
            self.architecture.sha256,
            fences,
            tuple(plan.written for plan in self.plans),
            self.options.policy,
        )
        return Compiled(whole, program, tuple(frames), residency, self._warnings())

    def _layer(self, laid: Laid, staging: dict[str, Cores]) -> tuple[LoweredLayer, tuple[StoredTensor, ...]]:
        """A layer lowered, and the blocks that its queues use alone."""
        frame, rings = laid.frame, laid.rings
        numbers = of_operands(frame.problem, self.base, self.options.numbers)
        cores = Cores(frame) if frame.problem.spread is not None else None
        if cores is not None and cores.stages_from:
            if cores.stages_from in staging:
                cores.follow(staging[cores.stages_from])
            staging[cores.stages_from] = cores
        declared = list(layer_rings(frame, cores, rings, queue_names(self.architecture), numbers))
        spans, own = layer_spans(frame, rings), layer_semaphores(cores)
        made = LoweredLayer(frame.name, frame, commands(frame), declared, spans, own, cores)
        return made, tuple(scratch(frame, cores, rings, numbers))

    def _own(self, index: int, mapping: LayerMapping) -> LayerMapping:
        """A mapping as a file has it."""
        plan = self.groups.get(index)
        return mapping if plan is None else plan.own(mapping, self.workload.layers[index])

    def _window_numbers(self, plan: GroupPlan) -> dict[str, Numbers]:
        """Scale and zero of what lies in each window."""
        return {window.name: self.options.numbers.get(window.tensor.name, PLAIN) for window in plan.windows}

    def laid(self, mapped: Mapped, tensors: Iterable[StoredTensor]) -> Iterator[Laid | None]:
        """Frame and rings of every layer, None of one on the host; raises PlaceError where rings do not fit."""
        by_name = {tensor.name: tensor for tensor in tensors}
        before: list[dict[str, list[Block]]] = []
        placed: dict[str, Slot] = {}
        for index, (problem, mapping) in enumerate(zip(mapped.problems, mapped.mappings, strict=True)):
            if problem is None:
                before.clear()
                yield None
                continue
            plan = self.groups.get(index)
            if plan is None or index == plan.first:
                placed = self._placed(mapped, index, before)
                before.append(taken(placed))
            own = {slot.operand: slot for slot in wanted(problem, mapping)}
            rings = {name: placed[ring_name(problem.layer.name, name)] for name in own}
            windows = {each.name: placed[each.name] for each in plan.windows} if plan and index == plan.last else {}
            yield Laid(self._frame(index, problem, mapping, by_name, mapped.residency), rings, windows)

    def _placed(self, mapped: Mapped, first: int, before: Sequence[Mapping[str, Sequence[Block]]]) -> dict[str, Slot]:
        """The rings of a layer, or of a group that begins with it, by their names."""
        plan = self.groups.get(first)
        rings, weights = [], set[str]()
        for window in plan.windows if plan is not None else ():
            slots = window.window.slots
            rings.append(Slot(window.name, window.window.level, 0, window.slot_bytes, slots, span=window.span))
        indices = range(first, (plan.last if plan is not None else first) + 1)
        for index in indices:
            problem, mapping = mapped.problems[index], mapped.mappings[index]
            assert problem is not None
            name = problem.layer.name
            rings += [replace(slot, operand=ring_name(name, slot.operand)) for slot in wanted(problem, mapping)]
            weights |= {ring_name(name, operand) for operand in weights_of(problem)}
        called = f"layer '{mapped.mappings[first].layer}'"
        if plan is not None:
            name = plan.group.name
            called = f"{self.options.given.place(f'group {name}')}group '{name}'"
        free = mapped.residency.free_beside(indices, self.architecture)
        return allocate(rings, weights, self.architecture, free, before, called)

    def frames(self, mapped: Mapped, tensors: Iterable[StoredTensor]) -> Iterator[Frame]:
        """Frames alone of the layers that are not on the host; raises as ``laid``, whose rings nobody asks for here:
        each layer's are only seen to fit."""
        tensors = tuple(tensors)
        by_name = {tensor.name: tensor for tensor in tensors}
        for index, (problem, mapping) in enumerate(zip(mapped.problems, mapped.mappings, strict=True)):
            if problem is None:
                continue
            free = mapped.residency.free_beside((index,), self.architecture)
            if index in self.groups or not fit(problem, mapping, self.architecture, free):
                for _ in self.laid(mapped, tensors):
                    pass
            yield self._frame(index, problem, mapping, by_name, mapped.residency)

    def _frame(
        self,
        index: int,
        problem: Problem,
        mapping: LayerMapping,
        by_name: Mapping[str, StoredTensor],
        residency: Residency,
    ) -> Frame:
        stored = {
            plan.operand: self._stored(problem.layer.name, plan, by_name, residency)
            for plan in problem.operands
            if plan.tensor and not plan.made_of
        }
        channels = self.architecture.dma.channels
        frame = Frame(problem, mapping, stored, channels, index, outer=self.options.outer)
        return with_way(frame, self.architecture)

    def _warnings(self) -> tuple[str, ...]:
        """What the user should know of the compilation."""
        dtype, source = self.dtypes["inputs"], self.workload.dtype
        if "float" in source and "int" in dtype:
            own = any(tensor.format for tensor in self.workload.tensors.values())
            what = "but for weights in a format of their own it" if own else "it"
            return (f"the model is {source}; {what} is timed as {dtype} (quantised), the chip's dtype",)
        return ()

    def _borders(self, index: int, layer: Layer, residency: Residency) -> list[LoweredLayer]:
        found = []
        for pinned in residency.at(index):
            if pinned.life.first == index:
                shape = self.workload.tensors[pinned.tensor].shape
                items = border_items(layer.name, pinned, shape)
                if items:
                    found.append(LoweredLayer(layer.name, None, items, []))
        return found

    def _host(self, layer: Layer) -> Item:
        touches = (
            *((self.base[op.tensor], False) for op in layer.inputs),
            (self.base[layer.output.tensor], True),
        )
        flops, nbytes = int(str(layer.attributes.get("flops", 0))), int(str(layer.attributes.get("bytes", 0)))
        command = Command(f"{layer.name}.host", "HOST", layer.name, role="host", flops=flops, nbytes=nbytes)
        return Item("host", 0, command, touches)

    def _stored(
        self, layer: str, plan: OperandPlan, by_name: Mapping[str, StoredTensor], residency: Residency
    ) -> Stored:
        tensor = plan.tensor
        if tensor in self.windows:
            return self._in_window(layer, plan, self.windows[tensor])
        base = self.workload.tensors[self.base[tensor]]
        if plan.first is not None:
            strides = tuple([step * plan.element_bytes for step in plan.strides])
            return Stored(base.name, plan.first * plan.element_bytes, strides, plan.shape)
        size = size_bytes(by_name[base.name].dtype)
        pinned = residency.tensors.get(base.name)
        stored = pinned.layout if pinned is not None else layout(base, size)
        offset, strides = view_strides(self.workload.tensors[tensor], base, stored)
        return Stored(base.name, offset, strides, self.workload.tensors[tensor].shape)

    def _in_window(self, layer: str, plan: OperandPlan, window: WindowPlan) -> Stored:
        origin = window.made_at if plan.name == OUT else window.read_at(layer, plan.operand)
        return Stored(window.name, origin, window.stored.strides, window.tensor.shape, window.loops)

    def place(self, residency: Residency) -> tuple[StoredTensor, ...]:
        """Every tensor with its address; raises PlaceError where one does not fit."""
        dtypes = self._tensor_dtypes()
        by_home: dict[str, list[tuple[str, int, Lifetime]]] = {}
        for name, dtype in dtypes.items():
            if name in residency.tensors:
                continue
            tensor = self.workload.tensors[name]
            home = self.architecture.outer(home_role(tensor.kind, self.roles.get(name, ""))).name
            size = in_bytes(tensor).elements * size_bytes(dtype)
            by_home.setdefault(home, []).append((name, size, self.lives[name]))
        placed: dict[str, tuple[str, int]] = {}
        for home, of_home in by_home.items():
            stated = {name: place for name, place in self._stated().items() if place.memory == home}
            in_order = self._states_first(of_home)
            addresses = place_dram(in_order, self.architecture.memory(home).capacity_bytes, home, stated)
            placed |= {name: (home, address) for name, address in addresses.items()}
        return tuple(self._tensor(name, dtype, placed, residency) for name, dtype in dtypes.items())

    def _states_first(self, wanted: list[tuple[str, int, Lifetime]]) -> list[tuple[str, int, Lifetime]]:
        """States by their names, whatever else a Program has: they lie at one address in every Program of a run."""
        states = sorted(each for each in wanted if self.workload.tensors[each[0]].kind == "state")
        return [*states, *(each for each in wanted if self.workload.tensors[each[0]].kind != "state")]

    def _stated(self) -> dict[str, Placement]:
        """Stated places by tensor, those of DRAM in the tensor's home."""
        found = dict(self.options.given.placements)
        for name, place in found.items():
            home = self.architecture.outer(home_role(self.workload.tensors[name].kind, self.roles.get(name, ""))).name
            if self.architecture.memory(place.memory).kind == "dram" and place.memory != home:
                raise PlaceError(name, f"tensor '{name}' in '{place.memory}': its home is '{home}'")
        return found

    def _tensor_dtypes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for layer in self.workload.layers:
            for operand in (*layer.inputs, layer.output):
                name = self.base[operand.tensor]
                if name in self.windows:
                    continue
                found.setdefault(name, operand_dtype(operand, self.workload, self.dtypes))
                found |= dict.fromkeys(scales_named(self.workload, name), BYTES)
        return found

    def _tensor(
        self, name: str, dtype: str, placed: Mapping[str, tuple[str, int]], residency: Residency
    ) -> StoredTensor:
        tensor = in_bytes(self.workload.tensors[name])
        pinned = residency.tensors.get(name)
        stored = pinned.layout if pinned is not None else layout(tensor, size_bytes(dtype))
        memory, address = (pinned.memory, pinned.address) if pinned is not None else placed[name]
        role = home_role(tensor.kind, self.roles.get(name, ""))
        return StoredTensor(
            name,
            memory,
            address,
            stored.size_bytes,
            dtype,
            role,
            tensor.shape,
            stored.strides,
            tensor.kind in ("input", "weight") or name in self.hosted,
            stored.origin,
            *self.options.numbers.get(name, PLAIN),
            StateExtent(tensor.state.past, tensor.state.axis) if tensor.state is not None else None,
            name in self.ragged,
        )

    def _placements(self, tensors: Iterable[StoredTensor]) -> tuple[Placement, ...]:
        return tuple(
            Placement(t.name, t.memory, t.base, t.size_bytes, self.lives[t.name].first, self.lives[t.name].last)
            for t in tensors
        )
