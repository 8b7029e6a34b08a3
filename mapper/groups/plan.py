"""Groups as they are lowered: their members' whole loop trees, their windows laid out, and whether they can be run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from archsim.base.errors import nearest
from archsim.ir.dtypes import size_bytes
from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode
from archsim.ir.program import EngineKind
from archsim.ir.schedule import Group, SharedLoop
from archsim.ir.workload import Layer, Workload
from archsim.spec.architecture import Architecture
from mapper.groups.ties import Ties, refuse, ties_of
from mapper.groups.windows import WindowPlan, windows_of
from mapper.options import Given
from mapper.problem.operands import pad_bytes, port_role
from mapper.problem.packed import base_of


@dataclass(frozen=True)
class GroupPlan:
    """A group of the layers ``first`` to ``last`` of a workload; ``ties`` of its members, ``windows`` between them."""

    group: Group
    first: int
    last: int
    ties: Ties
    windows: tuple[WindowPlan, ...]

    @property
    def trips(self) -> tuple[int, ...]:
        """Of the shared loops, outermost first."""
        return self.windows[-1].trips

    @property
    def begins(self) -> int:
        """How often its passes begin anew: for each iteration of the outer loop where one is through before the next
        one begins, else once."""
        late = any(window.is_late for window in self.windows)
        return self.trips[0] if late and len(self.trips) > 1 else 1

    @property
    def deepest(self) -> int:
        """By how many passes the first member is ahead of the last one."""
        return max(member.ahead for member in self.group.members)

    def ahead(self, layer: str) -> int:
        """By how many passes a member is ahead of the last one."""
        return next(member.ahead for member in self.group.members if member.layer == layer)

    @property
    def written(self) -> Group:
        """The group with all that follows from the rest of it."""
        return replace(self.group, windows=tuple(window.window for window in self.windows))

    def in_windows(self, layer: Layer) -> tuple[str, ...]:
        """Operands of a member that lie in windows."""
        named = {window.tensor.name for window in self.windows}
        return tuple(op.name for op in (*layer.inputs, layer.output) if op.tensor in named)

    def whole(self, own: LayerMapping, layer: Layer) -> LayerMapping:
        """A member's whole loop tree: the shared loops as it follows them and what it holds over them, then its own."""
        ties, loop = self.ties[layer.name], 0
        shared: list[MapNode] = []
        for entry in self.group.own(layer.name):
            if isinstance(entry, SharedLoop):
                shared.append(Loop(*ties[loop]))
                loop += 1
            else:
                shared.append(Keep(entry.operand, entry.level, entry.slots, len(shared)))
        nodes = (*shared, *_moved(own.nodes, len(shared)))
        resident = tuple(dict.fromkeys((*own.resident, *self.in_windows(layer))))
        return replace(own, nodes=nodes, resident=resident)

    def own(self, whole: LayerMapping, layer: Layer) -> LayerMapping:
        """The same without what is shared, as a mapping file has it."""
        shared, within = len(self.group.own(layer.name)), self.in_windows(layer)
        resident = tuple(name for name in whole.resident if name not in within)
        return replace(whole, nodes=_moved(whole.nodes[shared:], -shared), resident=resident)


def _moved(nodes: Sequence[MapNode], by: int) -> tuple[MapNode, ...]:
    return tuple(replace(node, reserve_at=node.reserve_at + by) if isinstance(node, Keep) else node for node in nodes)


def engines_of(mappings: Iterable[LayerMapping], architecture: Architecture) -> dict[str, EngineKind]:
    """array | vector by layer, as mappings have it."""
    arrays = {array.name for array in architecture.arrays}
    return {mapping.layer: "array" if mapping.unit in arrays else "vector" for mapping in mappings}


def planned(
    groups: Iterable[Group],
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    engines: Mapping[str, EngineKind],
) -> tuple[GroupPlan, ...]:
    """The groups of several members, in the workload's order; ``engines``: of their layers. Raises GroupError for one
    that cannot be run."""
    numbers = {layer.name: number for number, layer in enumerate(workload.layers)}
    found, taken = [], set[str]()
    for group in groups:
        layers = list(_members(group, workload, numbers, taken))
        if not layers:
            refuse(group, "no members; allowed one or more")
        unstated = next((layer.name for layer in layers if layer.name not in engines), "")
        if unstated and len(layers) > 1:
            refuse(group, f"the mapping of its member '{unstated}' is not stated; allowed all or none")
        if len(layers) > 1:
            first = numbers[layers[0].name]
            found.append(_planned(group, layers, first, workload, architecture, dtypes, engines))
        elif group.shared or group.windows:
            refuse(group, "shared loops or windows of one member; allowed in groups of several")
    return tuple(sorted(found, key=lambda plan: plan.first))


def expanded(given: Given, plans: Sequence[GroupPlan], workload: Workload) -> Given:
    """What a file states, with whole loop trees of the members of groups."""
    layers, places = dict(given.layers), dict(given.places)
    for plan in plans:
        for layer in workload.layers[plan.first : plan.last + 1]:
            own, shared = layers[layer.name], len(plan.group.own(layer.name))
            layers[layer.name] = plan.whole(own, layer)
            here = given.place(f"group {plan.group.name}")
            for number in reversed(range(len(own.nodes))):
                if (place := places.pop(f"layer {layer.name}[{number}]", "")) != "":
                    places[f"layer {layer.name}[{number + shared}]"] = place
            places |= {f"layer {layer.name}[{number}]": here for number in range(shared)}
    return replace(given, layers=layers, places=places)


def _members(group: Group, workload: Workload, numbers: Mapping[str, int], taken: set[str]) -> Iterator[Layer]:
    before = -1
    for member in group.members:
        if member.layer not in numbers:
            refuse(group, f"no layer '{member.layer}' in '{workload.name}'{nearest(member.layer, numbers)}")
        if member.layer in taken:
            refuse(group, f"layer '{member.layer}' is in a group already; allowed in one")
        number = numbers[member.layer]
        if before >= 0 and number != before + 1:
            refuse(group, f"layer '{member.layer}' does not follow the member before it; allowed layers in a row")
        before = number
        taken.add(member.layer)
        yield workload.layers[number]


def _planned(
    group: Group,
    layers: Sequence[Layer],
    first: int,
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    engines: Mapping[str, EngineKind],
) -> GroupPlan:
    if architecture.noc is not None:
        refuse(group, "several members on a chip of several cores, which is not built yet")
    if not 1 <= len(group.loops) <= 2:
        refuse(group, f"{len(group.loops)} shared loops; allowed 1 or 2")
    strange = [each for each in group.keeps if each.layer not in {layer.name for layer in layers}]
    if strange:
        refuse(group, f"it holds '{strange[0].operand}' of '{strange[0].layer}', which is no member; allowed members'")
    ties = ties_of(group, layers)
    inner = architecture.inner("inputs")
    outer = architecture.inner("outputs").name
    if outer != inner.name:
        refuse(group, f"'{inner.name}' keeps inputs and '{outer}' outputs; allowed chips where one memory keeps both")
    stored = size_bytes(dtypes["inputs"]), pad_bytes(inner, "inputs")
    windows = tuple(windows_of(group, layers, workload.tensors, ties, engines, *stored))
    plan = GroupPlan(group, first, first + len(layers) - 1, ties, windows)
    for window in windows:
        _check_place(plan, window, layers, architecture)
        _check_passes(plan, window, layers)
        _check(plan, window, layers, workload)
    if len(plan.trips) > 1 and plan.trips[0] > plan.begins and plan.trips[-1] <= plan.deepest:
        refuse(group, f"{plan.trips[-1]} passes of its inner loop; allowed more than a member is ahead, {plan.deepest}")
    if plan.ahead(layers[-1].name):
        refuse(group, f"its last member, '{layers[-1].name}', is ahead of itself; allowed 0")
    return plan


def _check_place(plan: GroupPlan, window: WindowPlan, layers: Sequence[Layer], architecture: Architecture) -> None:
    """Raise GroupError where the units that make and read a tensor do not do so in the memory of its window."""
    name, operands = window.tensor.name, [op for layer in layers for op in (*layer.inputs, layer.output)]
    inner = {architecture.inner(port_role(op)).name for op in operands if op.tensor == name}
    if inner != {window.window.level}:
        where = " and ".join(f"'{each}'" for each in sorted(inner))
        refuse(plan.group, f"a window of '{name}' in '{window.window.level}'; its layers make and read it in {where}")


def _check_passes(plan: GroupPlan, window: WindowPlan, layers: Sequence[Layer]) -> None:
    """Raise GroupError where a tensor is made in other passes than it is read in, and those that readers are behind."""
    maker = next(layer for layer in layers if layer.name == window.maker)
    own = tuple(-(-maker.dims[tie.dim] // tie.tile) for tie in plan.ties[maker.name])
    most = (*window.trips[:-1], window.trips[-1] + window.lead)
    if any(not low <= each <= high for each, low, high in zip(own, window.trips, most, strict=True)):
        refuse(plan.group, f"layer '{maker.name}' makes its result in {own} passes, which are read in {window.trips}")


def _check(plan: GroupPlan, window: WindowPlan, layers: Sequence[Layer], workload: Workload) -> None:
    """Raise GroupError where a tensor cannot lie in a window."""
    group, name = plan.group, window.tensor.name
    if window.tensor.kind != "activation" or window.tensor.view is not None or _views(workload, name):
        refuse(group, f"a window of '{name}', which is an output, or other tensors are views of it")
    outside = next(
        (
            layer.name
            for number, layer in enumerate(workload.layers)
            if not plan.first <= number <= plan.last and any(op.tensor == name for op in layer.inputs)
        ),
        "",
    )
    if outside:
        refuse(group, f"a window of '{name}', which layer '{outside}' reads outside of it")
    kinds = {layer.name: layer.kind for layer in layers}
    used = (window.maker, *(each.layer for each in window.readers))
    odd = next((each for each in used if kinds[each] not in ("matmul", "vector")), "")
    if odd:
        refuse(group, f"layer '{odd}' is a {kinds[odd]}; allowed members that an array or a vector unit runs")
    ahead = plan.ahead(window.maker)
    for each in window.readers:
        between = ahead - plan.ahead(each.layer)
        if between < window.lead:
            refuse(
                group,
                f"layer '{window.maker}' is ahead of '{each.layer}' by {between} passes; it reads what is made "
                f"{window.lead} passes later",
            )
    least, reader = window.least_slots(plan.ahead)
    if window.window.slots < least:
        refuse(
            group,
            f"a window of '{name}' with {window.window.slots} slots; allowed {least} or more, since '{window.maker}' "
            f"is ahead of '{reader}' by {ahead - plan.ahead(reader)} passes",
        )


def _views(workload: Workload, name: str) -> bool:
    return any(base_of(workload, other) == name for other in workload.tensors if other != name)


def spans_of(plans: Iterable[GroupPlan]) -> list[tuple[int, int]]:
    """First and last layers of groups."""
    return [(plan.first, plan.last) for plan in plans]


def windowed(plans: Iterable[GroupPlan]) -> frozenset[str]:
    """Tensors that lie in windows alone."""
    return frozenset(window.tensor.name for window in chain.from_iterable(plan.windows for plan in plans))
