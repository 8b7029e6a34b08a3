"""One layer as a mapping problem: grouped dims, operands with their memories, capacities.

Dims fall into four groups by the part they play: batch (B), output rows (M), output columns (N), reduction (K).
Vector and copy layers have only M (the output's dims) and K (dims that the output does not index, never tiled).
Reductions that share a tensor axis with an output's dim are its filter taps: they may be cut, but tiles of the axis
follow the other dim. Other dims that share an axis with a larger one are kept whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import gcd, prod

from archsim.base.errors import MappingError
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import Nest, Window
from archsim.ir.workload import Layer, Operand, Workload
from archsim.spec.architecture import Architecture
from mapper.problem.conversion import with_conversion
from mapper.problem.formats import engine_pair
from mapper.problem.geometry import components, slot_sizes
from mapper.problem.looked_up import inside_rows
from mapper.problem.operands import ACC, BIAS, EPILOGUE, FINISHED, OUT, OperandPlan, accumulator, plans
from mapper.problem.packed import riding
from mapper.problem.strides import block_bytes

GROUPS = ("B", "M", "N", "K")


@dataclass(frozen=True, slots=True)
class Spread:
    """A layer spread over the cores of a chip: (dim, tile of a core) outermost first, and into how many ``parts``.

    ``axis``: the network's name; ``shared``: memories that all cores reach over it; ``apart``: those of them out of
    which each core reads for itself even where others need the same, since the network carries it to each alone.
    """

    axis: str
    loops: tuple[tuple[str, int], ...]
    parts: tuple[int, ...]
    shared: frozenset[str]
    apart: frozenset[str] = frozenset()

    @property
    def cores(self) -> int:
        """Cores that have a part of the layer."""
        return prod(self.parts)

    def places(self) -> Iterator[tuple[int, ...]]:
        """Which part of each dim a core has, core by core."""
        return product(*(range(parts) for parts in self.parts))

    def dims(self, whole: Mapping[str, int]) -> dict[str, int]:
        """What the first core has of each dim; no core has more."""
        return {**whole, **dict(self.loops)}


@dataclass(frozen=True, slots=True)
class Problem:
    """A layer to be mapped onto ``unit`` ('array' or 'vector' engine; 'copy' uses the DMA alone).

    ``loads``: what the load engines bring, tiles of operands edge by edge; ``stores``: what the store engines take
    away, tiles of the output edge by edge, the innermost first. ``beside``: dims that the tiles of an axis which has
    others too do not follow, filter taps and those that are never cut.
    """

    layer: Layer
    engine: str
    unit: str
    vector: str  # name of the vector unit that drains or computes ('' when the chip has none)
    dims: Mapping[str, int]
    groups: Mapping[str, tuple[str, ...]]  # group -> its dims, outermost loop first
    whole: frozenset[str]  # that no loop over tiles cuts
    taps: frozenset[str]
    operands: tuple[OperandPlan, ...]
    capacity: Mapping[str, int]
    accumulates: bool  # has an accumulator ring drained by the vector unit
    spread: Spread | None = None  # over the cores of a chip that has several; ``dims`` are then those of one core
    external: frozenset[str] = frozenset()  # weights and inputs of the model, of a layer that others run before
    windows: tuple[Window, ...] = ()  # of its nest, where the array's dataflow asks for them
    passes: int = 1  # how often it runs, each time behind itself: one pass of a layer in a group
    beside: frozenset[str] = field(init=False, repr=False, compare=False)
    loads: tuple[OperandPlan, ...] = field(init=False, repr=False, compare=False)
    stores: tuple[OperandPlan, ...] = field(init=False, repr=False, compare=False)
    _named: Mapping[str, OperandPlan] = field(init=False, repr=False, compare=False)
    _content: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())
    _shared: dict[tuple[str, str], float] = field(init=False, repr=False, compare=False)
    _copies: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Work out what is asked again and again."""
        inwards = [plan for plan in self.operands if plan.operand not in (OUT, ACC) and not plan.made_of]
        outwards = [plan for plan in self.operands if plan.operand == OUT and not plan.resident]
        object.__setattr__(self, "beside", self.whole | self.taps)
        object.__setattr__(self, "_shared", {})
        object.__setattr__(self, "_copies", {})
        object.__setattr__(self, "_named", {plan.name: plan for plan in self.operands})
        object.__setattr__(self, "loads", tuple([plan for plan in inwards if plan.buffered and not plan.resident]))
        object.__setattr__(self, "stores", tuple(sorted(outwards, key=lambda plan: -plan.edge)))

    def ahead(self, plan: OperandPlan) -> bool:
        """Whether an operand's tiles can be there before the layer runs: of what no layer makes, which a memory that
        cores share may hold while they still compute with others."""
        shared = self.spread.shared if self.spread is not None else frozenset()
        return plan.operand in self.external and not plan.beyond and plan.level in shared

    def copies(self, plan: OperandPlan) -> int:
        """How many tiles of an operand the cores bring at a time; the others share one of them. What comes in from a
        memory of its own, or from one out of which each reads for itself, every core moves by itself."""
        if self.spread is None:
            return 1
        if plan.name not in self._copies:
            self._copies[plan.name] = self._copied(plan, self.spread)
        return self._copies[plan.name]

    def _copied(self, plan: OperandPlan, spread: Spread) -> int:
        alone = plan.home not in spread.shared or plan.home in spread.apart
        within = alone and plan.operand not in FINISHED
        if self.engine == "copy" or plan.rows is not None or plan.name == ACC or within:
            return spread.cores
        return self.different(plan)

    def different(self, plan: OperandPlan) -> int:
        """How many different tiles of an operand the cores need at a time."""
        if self.spread is None:
            return 1
        cut = zip(self.spread.loops, self.spread.parts, strict=True)
        return prod(parts for (dim, _), parts in cut if dim in plan.dims)

    def apart_bytes(self, plan: OperandPlan) -> int:
        """What divides all distances in memory between the parts that cores have of a tensor; 0 where they have the
        same part, so that nothing lies apart."""
        if self.spread is None:
            return 0
        cut = [(dim, tile) for dim, tile in self.spread.loops if dim in plan.dims and tile < self.layer.dims[dim]]
        steps = [dict[str, int](axis.terms) for axis in plan.axes]
        elements = [
            tile * sum(step.get(dim, 0) * stride for step, stride in zip(steps, plan.strides, strict=True))
            for dim, tile in cut
        ]
        return gcd(*elements) * plan.element_bytes

    @property
    def adders(self) -> int:
        """How many cores have partial sums of the same outputs: 1 where no reduction is spread."""
        if self.spread is None or not self.accumulates:
            return 1
        cut = zip(self.spread.loops, self.spread.parts, strict=True)
        return prod(parts for (dim, _), parts in cut if dim in self.groups["K"])

    def having(self, plan: OperandPlan) -> int:
        """How many cores have tiles of an operand: of an output, and of its epilogue, only one of those that add
        it up."""
        cores = self.spread.cores if self.spread is not None else 1
        return cores // self.adders if plan.operand in (*FINISHED, BIAS) else cores

    def times(self, plan: OperandPlan, memory: str) -> int:
        """How many rings of an operand a memory holds: one, in one that cores share one for each copy; of accumulators
        a second one for the sums of several cores' partial sums."""
        if plan.name == ACC and self.adders > 1:
            return 2
        return self.copies(plan) if self.spread is not None and memory in self.spread.shared else 1

    def share(self, plan: OperandPlan, memory: str) -> float:
        """The same of bytes that cores move in all, where some have less than the first: what counts in bounds."""
        if self.spread is None or memory not in self.spread.shared:
            return 1.0
        key = plan.name, memory
        if key not in self._shared:
            self._shared[key] = prod(self.layer.dims[dim] / tile for dim, tile in self._moved_apart(plan))
        return self._shared[key]

    def _moved_apart(self, plan: OperandPlan) -> Iterator[tuple[str, int]]:
        """Of the loops that spread the layer those whose iterations each move an operand: all where every core does
        that has it."""
        assert self.spread is not None
        each = self.copies(plan) == self.spread.cores
        for dim, tile in self.spread.loops:
            if dim in plan.dims or (each and not (plan.operand in (*FINISHED, BIAS) and dim in self.groups["K"])):
                yield dim, tile

    def whole_parts(self, plan: OperandPlan, memory: str) -> int:
        """How many different tiles of an operand a memory serves for cores that have as much as the first."""
        if self.spread is None or memory not in self.spread.shared:
            return 1
        return prod(self.layer.dims[dim] // tile for dim, tile in self._moved_apart(plan))

    def engines_of(self, plan: OperandPlan) -> str:
        """Which cores' engines bring an operand: '' for every core's own, else those of one core for each tile."""
        return plan.name if self.spread is not None and self.copies(plan) < self.spread.cores else ""

    def crosses(self, plan: OperandPlan) -> bool:
        """Whether the operand's tiles go over the network on this edge."""
        return self.spread is not None and (plan.home in self.spread.shared) != (plan.level in self.spread.shared)

    def of_core(self, spread: Spread) -> Problem:
        """The part of a layer that one core has."""
        return replace(self, spread=spread, dims=spread.dims(self.dims))

    @property
    def in_one_slot(self) -> Problem:
        """The same with one slot for every tile, whatever the memories state."""
        return replace(self, operands=tuple([replace(plan, slots=min(plan.slots, 1)) for plan in self.operands]))

    def operand(self, name: str) -> OperandPlan:
        """The operand called ``name``."""
        return self._named[name]

    def kept(self, operand: str, level: str) -> OperandPlan | None:
        """The plan of an operand's tiles in a memory, None where it passes no such one."""
        found = (plan for plan in self.operands if plan.operand == operand and plan.level == level)
        return next((plan for plan in found if not plan.follows), None)

    def kept_with(self, plan: OperandPlan) -> tuple[OperandPlan, ...]:
        """A plan that has a Keep, and those that follow it."""
        return (plan, *(other for other in self.operands if other.follows == plan.name))

    @property
    def reads(self) -> tuple[OperandPlan, ...]:
        """Operands that the unit reads."""
        used = {name for plan in self.made for name in plan.made_of}
        return tuple(
            plan
            for plan in self.operands
            if plan.name not in (OUT, ACC, EPILOGUE) and not plan.is_stage and plan.name not in used
        )

    @property
    def made(self) -> tuple[OperandPlan, ...]:
        """Operands whose tiles VECTOR commands make of those that come in."""
        return tuple(plan for plan in self.operands if plan.made_of)

    @property
    def pair(self) -> Mapping[str, str]:
        """The number formats of both factors of a product as the unit reads them, by their roles."""
        return {"inputs": self.operand("a").dtype, "weights": self.operand("b").dtype}

    @property
    def added(self) -> tuple[OperandPlan, ...]:
        """Operands that the drain reads beside the accumulators."""
        return tuple(plan for plan in self.operands if plan.name == EPILOGUE)


def content(problem: Problem) -> tuple[str, ...]:
    """What a problem is beside the room that it has: alike for equal layers, whatever they are called."""
    if not problem._content:
        object.__setattr__(problem, "_content", tuple(map(str, _content(problem))))
    return problem._content


def _content(problem: Problem) -> list[object]:
    layer, spread = problem.layer, problem.spread
    found: list[object] = [
        problem.engine,
        sorted(problem.dims.items()),
        list(problem.dims),
        (layer.batch, layer.m, layer.n, layer.k, layer.whole, layer.kind, problem.windows),
        sorted(problem.whole),
        layer.bounds,
        [replace(plan, tensor="") for plan in problem.operands],
        [(step.passes, step.slow) for step in layer.steps],
    ]
    if problem.passes > 1:
        found.append(problem.passes)
    if spread is None:
        return found
    cut = [spread.axis, spread.loops, spread.parts, sorted(spread.shared), sorted(layer.dims.items())]
    return [*found, cut, sorted(problem.external)]


def build(
    layer: Layer,
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    capacity: Mapping[str, int],
    pinned: Mapping[str, str],
    engine: str,
) -> Problem:
    """Problem of ``layer`` on ``engine``; ``pinned``: tensors that stay on chip and where, ``capacity``: the free
    bytes per memory.

    Raises MappingError when the chip lacks the unit, ConfigError when a role has no memory.
    """

    def planned(operand: Operand) -> list[OperandPlan]:
        return plans(operand, layer, workload, architecture, dtypes, pinned, engine == "copy")

    chains = [planned(operand) for operand in (*layer.inputs, layer.output)]
    operands = [chain[0] for chain in chains]
    if engine == "copy":
        operands = _unbuffered(operands)
    if layer.kind == "matmul":
        pair = engine_pair(layer, workload, architecture, dtypes) if engine == "array" else ("int", "int")
        operands.append(accumulator(operands[-1], architecture, dtypes, engine, pair))
    if engine == "array":
        layer = with_conversion(layer, chains[-1][0].dtype, architecture.arrays[0])
    operands += [stage for chain in chains for stage in chain[1:]]
    dims = dict(layer.dims)
    return Problem(
        layer,
        engine,
        _unit(layer, architecture, engine),
        _drainer(layer, architecture, engine),
        dims,
        _groups(layer),
        never_cut(layer) | _whole_rows(layer, operands, capacity),
        filter_taps(layer),
        tuple(operands),
        dict(capacity),
        layer.kind == "matmul",
        windows=nest_of(layer, architecture.arrays[0].dataflow).windows if engine == "array" else (),
    )


def nest_of(layer: Layer, dataflow: str) -> Nest:
    """The nest of a matmul as a dataflow sees it: with the windows over its input if it asks for them."""
    windows = layer.windows if catalogue.wants_windows(dataflow) else ()
    return Nest(layer.batch, layer.m, layer.n, layer.k, windows)


def _unit(layer: Layer, architecture: Architecture, engine: str) -> str:
    if engine == "copy":
        return architecture.dma.name
    parts = architecture.arrays if engine == "array" else architecture.vectors
    if not parts:
        raise MappingError(
            f"layer '{layer.name}' ({layer.op}) needs {'an array' if engine == 'array' else 'a vector unit'}; chip "
            f"'{architecture.name}' has none"
        )
    return parts[0].name


def _drainer(layer: Layer, architecture: Architecture, engine: str) -> str:
    return "" if engine == "copy" else _unit(layer, architecture, "vector")


def _unbuffered(operands: list[OperandPlan]) -> list[OperandPlan]:
    """A copy passes through one ring (its input's), or none when either end is on chip; it writes from there."""
    direct, read = any(plan.resident for plan in operands), next(plan for plan in operands if plan.name != OUT)
    placed = (p if p.name != OUT or p.resident else replace(p, level=read.level) for p in operands)
    return [replace(plan, buffered=plan.name != OUT and not direct) for plan in placed]


def never_cut(layer: Layer) -> frozenset[str]:
    """Dims that no loop over tiles cuts, whatever has room."""
    coupled = _coupled(layer) - filter_taps(layer)
    return frozenset(layer.whole) | coupled | _broadcast_reductions(layer)


def _whole_rows(layer: Layer, operands: list[OperandPlan], capacity: Mapping[str, int]) -> frozenset[str]:
    """Dims inside rows that are looked up: no loop cuts them where the smallest tiles of whole rows have room."""
    rows, needs = inside_rows(layer), dict[str, int]()
    whole = never_cut(layer) | rows
    tile = {dim: extent if dim in whole else 1 for dim, extent in layer.dims.items()}
    for plan in operands if rows else ():
        if plan.buffered and not plan.resident:
            sizes = slot_sizes(components(plan.axes, plan.shape, layer.dims), tile)
            needs[plan.level] = needs.get(plan.level, 0) + plan.slots * block_bytes(sizes, plan.element_bytes)
    return rows if all(need <= capacity[level] for level, need in needs.items()) else frozenset()


def filter_taps(layer: Layer) -> frozenset[str]:
    """Reductions of a matmul beside a dim of its output on every axis that they share with others."""
    if layer.kind != "matmul":
        return frozenset()
    coupled, found = _coupled(layer), set(layer.k) - set(layer.whole)
    for moving in _shared_axes(layer):
        if coupled.issuperset(moving):
            found -= set(moving)
    return frozenset(found & coupled)


def _coupled(layer: Layer) -> frozenset[str]:
    """Dims that share an axis with a larger one: filter taps beside the output position."""
    small: set[str] = set()
    for moving in _shared_axes(layer):
        reductions = [dim for dim in moving if dim in _reductions(layer)]
        others = sorted(set(moving) - set(reductions), key=lambda dim: (layer.dims[dim], dim))
        small.update(reductions, others[:-1])
    return frozenset(small)


def _shared_axes(layer: Layer) -> Iterator[list[str]]:
    """The dims of each axis that has several; without the groups that stand apart on an axis of channels."""
    for operand in (*layer.inputs, layer.output):
        for axis in operand.axes:
            moving = sorted(((coef, dim) for dim, coef in axis.terms if layer.dims[dim] > 1), reverse=True)
            while moving and _stands_apart(moving, layer):
                moving = moving[1:]
            if len(moving) > 1:
                yield [dim for _, dim in moving]


def _stands_apart(moving: list[tuple[int, str]], layer: Layer) -> bool:
    """Whether the first dim of an axis counts blocks of it that are a group of channels or of a packed row."""
    step, dim = moving[0]
    return (dim in layer.batch or dim in riding(layer)) and step > _span(moving[1:], layer)


def _span(moving: list[tuple[int, str]], layer: Layer) -> int:
    """From the first position to the last one of some dims of an axis."""
    return sum(coef * (layer.dims[dim] - 1) for coef, dim in moving)


def _reductions(layer: Layer) -> frozenset[str]:
    out = {dim for axis in layer.output.axes for dim, _ in axis.terms}
    return frozenset(dim for dim in layer.dims if dim not in out)


def _broadcast_reductions(layer: Layer) -> frozenset[str]:
    """Reductions outside a matmul are never cut: a vector command makes its outputs at once."""
    return frozenset() if layer.kind == "matmul" else _reductions(layer)


def _groups(layer: Layer) -> dict[str, tuple[str, ...]]:
    if layer.kind == "matmul":
        weights = next(operand for operand in layer.inputs if operand.name == "b")
        rows, sums = _in_memory_order(layer.m, layer.output, layer), _in_memory_order(layer.k, weights, layer)
        return {"B": layer.batch, "M": rows, "N": layer.n, "K": sums}
    reductions = _reductions(layer)
    outputs = tuple(dim for dim in _memory_order(layer.output, layer.dims) if dim not in reductions)
    return {"B": (), "M": outputs, "N": (), "K": tuple(dim for dim in layer.dims if dim in reductions)}


def _memory_order(operand: Operand, dims: Mapping[str, int]) -> tuple[str, ...]:
    order = [dim for axis in operand.axes for dim, _ in axis.terms]
    return tuple(dict.fromkeys(order + [dim for dim in dims if dim not in order]))


def _in_memory_order(names: tuple[str, ...], operand: Operand, layer: Layer) -> tuple[str, ...]:
    """Dims in the order in which an operand's memory has them: runs stay long when the outer ones are cut."""
    return tuple(dim for dim in _memory_order(operand, layer.dims) if dim in names)
