"""A group of given layers and loops: what its members hold over passes, how each runs in a pass, and what it costs.

A member's pass is a mapping problem of its own: the layer in the box of one pass, with windows, and what is held over
passes, on chip already. Its loop tree is searched as any layer's is; of the room that windows and held tiles leave each
member has a part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple, Protocol

from archsim.base.errors import MappingError
from archsim.ir.dtypes import size_bytes
from archsim.ir.mapping import Keep, LayerMapping, MapNode
from archsim.ir.program import EngineKind
from archsim.ir.schedule import Group, Member, SharedKeep, SharedLoop, TensorWindow, group_name
from archsim.ir.workload import Layer, Workload
from archsim.spec.architecture import Architecture
from mapper.allocate.residency import Residency
from mapper.allocate.rings import wanted
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid_cost import Costs
from mapper.fusion.candidates import Loops
from mapper.fusion.room import left, shares
from mapper.given.priced import CELL
from mapper.given.structure import faults
from mapper.groups.plan import GroupPlan, planned
from mapper.groups.ties import Tie, ties_of
from mapper.groups.windows import MAKER, WindowPlan, windows_of
from mapper.problem.geometry import components, slot_sizes
from mapper.problem.operands import OperandPlan, pad_bytes
from mapper.problem.problem import Problem


class PassMapper(Protocol):
    """What knows the layers of a network and searches their mappings."""

    @property
    def workload(self) -> Workload:
        """The network."""

    @property
    def architecture(self) -> Architecture:
        """The chip."""

    @property
    def dtypes(self) -> Mapping[str, str]:
        """By role."""

    @property
    def chip(self) -> ChipCosts:
        """Its costs."""

    def problem(
        self, index: int, residency: Residency, engine: str, windows: Mapping[str, str] | None = None
    ) -> Problem:
        """A layer on an engine beside what stays on chip; ``windows``: memories of tensors that its group makes."""

    def priced(self, problem: Problem, mapping: LayerMapping) -> Costs:
        """The costs of a layer in a mapping."""

    def searched_pass(self, problem: Problem) -> LayerMapping:
        """The best mapping of a member's pass; raises MappingError where there is none."""


@dataclass(frozen=True)
class Fusion:
    """A choice: the layers ``members`` as a group on their ``engines``, with ``loops`` over passes."""

    members: range
    engines: tuple[EngineKind, ...]
    loops: Loops


@dataclass(frozen=True)
class FusedGroup:
    """A group that fits: the problem, the whole loop tree and the costs of each member."""

    choice: Fusion
    plan: GroupPlan
    problems: tuple[Problem, ...]
    mappings: tuple[LayerMapping, ...]
    costs: tuple[Costs, ...]


class _Held(NamedTuple):
    """A tile of an operand held over the shared loops from number ``depth`` on."""

    operand: OperandPlan
    depth: int
    size_bytes: int
    slots: int


def fused(layers: PassMapper, choice: Fusion, residency: Residency) -> FusedGroup:
    """The group beside what stays on chip; raises MappingError where it is none or does not fit."""
    network, chip, members, engines = layers.workload, layers.architecture, choice.members, choice.engines
    parts = [network.layers[index] for index in members]
    plan = _grouped(layers, parts, engines, choice.loops)
    free = residency.free_beside(members, chip)
    windows = {window.tensor.name: window.window.level for window in plan.windows}
    problems = tuple(
        layers.problem(index, residency, engine, windows) for index, engine in zip(members, engines, strict=True)
    )
    held = [list(_held(problem, plan.ties[problem.layer.name])) for problem in problems]
    plan = replace(plan, group=replace(plan.group, shared=tuple(_shared(plan, problems, held))))
    taken = [_in_words(chip, window.window.level, window.size_bytes) for window in plan.windows]
    taken += [_in_words(chip, hold.operand.level, hold.size_bytes * hold.slots) for own in held for hold in own]
    passes = [_pass(each, plan.ties[each.layer.name], own) for each, own in zip(problems, held, strict=True)]
    rooms = shares(left(free, taken), passes)
    own = [
        _own(layers.searched_pass(_within(each, room)), problem, plan.ties[problem.layer.name], holding)
        for each, room, problem, holding in zip(passes, rooms, problems, held, strict=True)
    ]
    whole = tuple(plan.whole(mapping, layer) for mapping, layer in zip(own, parts, strict=True))
    memories = tuple(memory.name for memory in chip.memories)
    for problem, mapping in zip(problems, whole, strict=True):
        fault = next(faults(problem, mapping, memories), None)
        if fault is not None:
            raise MappingError(fault.text)
    _check_room(chip, free, plan.windows, problems, whole)
    costs = tuple(layers.priced(p, mapping) for p, mapping in zip(problems, whole, strict=True))
    told = tuple(replace(each, bound_cycles=int(of.bound[CELL])) for each, of in zip(whole, costs, strict=True))
    return FusedGroup(choice, plan, problems, told, costs)


def bare(parts: Sequence[Layer], loops: Loops, windows: tuple[TensorWindow, ...]) -> Group:
    """The group of the layers ``parts``, of which none is ahead and nothing is held."""
    shared = tuple(SharedLoop(parts[-1].name, dim, tile) for dim, tile in loops)
    name = group_name(parts[0].name, parts[-1].name)
    return Group(name, tuple(Member(layer.name) for layer in parts), shared, windows)


def _grouped(layers: PassMapper, parts: Sequence[Layer], engines: Sequence[EngineKind], loops: Loops) -> GroupPlan:
    """The group of the layers ``parts`` with its windows, and each member as far ahead as its readers need, and a pass
    more where another engine reads what it makes."""
    network, chip = layers.workload, layers.architecture
    level = chip.inner("inputs").name
    windows = tuple(TensorWindow(layer.output.tensor, level, 1) for layer in parts[:-1])
    group = bare(parts, loops, windows)
    ties = ties_of(group, parts)
    kind: dict[str, EngineKind] = dict(zip((layer.name for layer in parts), engines, strict=True))
    found = list(windows_of(group, parts, network.tensors, ties, kind, *_stored(layers)))
    ahead = _ahead([layer.name for layer in parts], found)
    slots = {window.tensor.name: window.least_slots(ahead.__getitem__)[0] for window in found}
    members = tuple(Member(layer.name, ahead[layer.name]) for layer in parts)
    windows = tuple(replace(window, slots=slots[window.tensor]) for window in windows)
    (plan,) = planned((replace(group, members=members, windows=windows),), network, chip, layers.dtypes, kind)
    return plan


def _ahead(members: Sequence[str], windows: Sequence[WindowPlan]) -> dict[str, int]:
    """By how many passes each member is ahead of the last one: as far as the readers of its result need, and a pass
    more of those on another engine than the vector unit, which writes it; no less than a later reader on its queue."""
    ahead = dict.fromkeys(members, 0)
    for member in reversed(members):
        for window in windows:
            for each in window.readers:
                if window.maker == member:
                    ahead[member] = max(ahead[member], ahead[each.layer] + window.lead + (each.engine != MAKER))
                elif any(own.layer == member and own.engine == each.engine for own in window.readers):
                    ahead[member] = max(ahead[member], ahead[each.layer])
    return ahead


def _stored(layers: PassMapper) -> tuple[int, int]:
    return size_bytes(layers.dtypes["inputs"]), pad_bytes(layers.architecture.inner("inputs"), "inputs")


def _held(problem: Problem, ties: Sequence[Tie]) -> Iterator[_Held]:
    """Operands that inner loops do not move: they come in once above these."""
    for plan in problem.loads:
        moving = [number + 1 for number, tie in enumerate(ties) if tie.dim in plan.dims]
        depth = max(moving, default=0)
        if depth == len(ties) or plan.beyond or plan.is_stage or plan.follows:
            continue
        tiles = {**problem.dims, **{tie.dim: tie.tile for tie in ties[:depth]}}
        parts = components(plan.axes, plan.shape, problem.layer.dims)
        size = prod(slot_sizes(parts, tiles)) * plan.element_bytes
        yield _Held(plan, depth, size, 2 if depth else 1)


def _shared(
    plan: GroupPlan, problems: Sequence[Problem], held: Sequence[Sequence[_Held]]
) -> Iterator[SharedLoop | SharedKeep]:
    for number, loop in enumerate((*plan.group.loops, None)):
        for problem, own in zip(problems, held, strict=True):
            for hold in own:
                if hold.depth == number:
                    yield SharedKeep(problem.layer.name, hold.operand.operand, hold.operand.level, hold.slots)
        if loop is not None:
            yield loop


def _pass(problem: Problem, ties: Sequence[Tie], held: Sequence[_Held]) -> Problem:
    """The box of one pass, behind which others run, with what is held over them on chip."""
    names = {hold.operand.name for hold in held}
    operands = tuple(replace(plan, resident=plan.resident or plan.name in names) for plan in problem.operands)
    dims = {**problem.dims, **{tie.dim: tie.tile for tie in ties}}
    passes = prod(-(-problem.dims[tie.dim] // tie.tile) for tie in ties)
    return replace(problem, operands=operands, dims=dims, passes=passes)


def _within(problem: Problem, room: Mapping[str, int]) -> Problem:
    capacity = {name: min(size, room.get(name, size)) for name, size in problem.capacity.items()}
    return replace(problem, capacity=capacity)


def _own(mapping: LayerMapping, problem: Problem, ties: Sequence[Tie], held: Sequence[_Held]) -> LayerMapping:
    """A pass's mapping as a member has it: without the Keeps of what is held over passes, in tiles of which a pass has
    a whole number."""
    names = [hold.operand.name for hold in held]
    strips = {tie.dim: tie.tile for tie in ties}
    whole = [_divided(node, strips, problem.layer.dims) for node in mapping.nodes]
    stays = [not _is_shared(node, names, strips) for node in whole]
    before = [stays[:at].count(False) for at in range(len(stays) + 1)]  # nodes left out before each place
    nodes = tuple(
        replace(node, reserve_at=node.reserve_at - before[node.reserve_at]) if isinstance(node, Keep) else node
        for node, stay in zip(whole, stays, strict=True)
        if stay
    )
    resident = tuple(name for name in mapping.resident if name not in names)
    return replace(mapping, layer=problem.layer.name, nodes=nodes, resident=resident)


def _is_shared(node: MapNode, held: Sequence[str], strips: Mapping[str, int]) -> bool:
    """Whether the group has it: the Keep of what is held over passes, a loop over one pass."""
    if isinstance(node, Keep):
        return node.operand in held
    return strips.get(node.dim) == node.tile


def _divided(node: MapNode, strips: Mapping[str, int], dims: Mapping[str, int]) -> MapNode:
    """A loop over a dim of passes with the largest tile up to its own that divides a pass; with all of a pass where the
    last one is shorter."""
    if isinstance(node, Keep) or node.dim not in strips:
        return node
    strip = strips[node.dim]
    if dims[node.dim] % strip:
        return replace(node, tile=strip)
    return replace(node, tile=max(size for size in range(1, node.tile + 1) if strip % size == 0))


def _in_words(chip: Architecture, memory: str, size: int) -> tuple[str, int]:
    """Bytes of whole words of a memory."""
    word = chip.memory(memory).word_bytes
    return memory, -(-size // word) * word


def _check_room(
    chip: Architecture,
    free: Mapping[str, int],
    windows: Sequence[WindowPlan],
    problems: Sequence[Problem],
    whole: Sequence[LayerMapping],
) -> None:
    """Raise MappingError where windows and rings of all members do not fit together."""
    need: dict[str, int] = {}
    blocks = [(window.window.level, window.size_bytes) for window in windows]
    for problem, mapping in zip(problems, whole, strict=True):
        blocks += [(slot.memory, slot.size_bytes) for slot in wanted(problem, mapping)]
    for memory, size in (_in_words(chip, *block) for block in blocks):
        need[memory] = need.get(memory, 0) + size
    for name, size in need.items():
        if size > free[name]:
            raise MappingError(f"'{name}' overflows: needs {size:,} bytes")
