"""Commands of one layer: which engine does what at which loop depth, with its ring tokens.

Loads bring each kept operand below the loops above its Keep; the array (or the vector unit) works below all loops; the
vector unit drains an accumulator tile when the reduction is done; the store engine writes finished tiles back.
A stationary tile's token is taken at the first and given back at the last iteration of the loops below its Keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from archsim.ir.functions import Function
from archsim.ir.program import Command, Edge, Engine, Extent, Nest, Region, Ring, Tensor, Token
from mapper.channels import load_channel
from mapper.costs import drain_steps
from mapper.lower.frame import Frame
from mapper.numbers import Numbers
from mapper.problem import ACC, OUT, OperandPlan
from mapper.rings import Slot

MAC = Function("mac")
Lane = tuple[Engine, int]  # engine and channel: what has a queue


@dataclass(frozen=True, slots=True)
class Item:
    """One command of a layer: its engine, the number of loops above it, whether it follows the deeper loops.

    ``touches``: (object, is_write) for tensors and rings, for the ordering of layers; ``channel``: of the DMA.
    """

    engine: Engine
    depth: int
    command: Command
    touches: tuple[tuple[str, bool], ...]
    after: bool = False
    channel: int = 0

    @property
    def lane(self) -> Lane:
        """The queue that it belongs to."""
        return self.engine, self.channel


def commands(frame: Frame, rings: Mapping[str, Slot]) -> list[Item]:
    """All commands of a layer, in text order per engine."""
    if frame.problem.engine == "copy":
        return list(_copies(frame))
    items = [item for plan in _load_order(frame) for item in _loads(frame, plan)]
    items += list(_compute(frame))
    if not frame.problem.operand(OUT).resident:
        items.append(_store(frame))
    return items


def layer_rings(
    frame: Frame, slots: Mapping[str, Slot], queues: Mapping[Lane, str], numbers: Mapping[str, Numbers]
) -> Iterator[Ring]:
    """Ring declarations; ``queues``: lane -> queue name; ``numbers``: of each operand's elements."""
    unit, stores = _unit_engine(frame), frame.store_channel
    reads: Lane = (unit, stores if unit == "store" else 0)
    ends: dict[str, tuple[Lane, Lane]] = {OUT: (("vector", 0), ("store", stores)), ACC: ((unit, 0), ("vector", 0))}
    for operand, slot in slots.items():
        if operand == ACC and unit == "vector":
            continue
        plan = frame.problem.operand(operand)
        if operand not in ends:
            ends[operand] = (("load", load_channel(frame.problem, plan, frame.channels)), reads)
        writer, reader = ends[operand]
        retain = frame.halo(operand)[1] if frame.keeps[operand][1] else 0
        role = {OUT: "outputs", ACC: "partials"}.get(operand, plan.role)
        yield Ring(
            frame.ring(operand),
            slot.memory,
            slot.address,
            slot.slot_bytes,
            slot.slots,
            role,
            plan.dtype,
            queues[writer],
            (queues[reader],),
            retain,
            *numbers[operand],
        )


def scratch(frame: Frame, slots: Mapping[str, Slot], numbers: Mapping[str, Numbers]) -> Iterator[Tensor]:
    """Blocks that one queue alone uses: the accumulators of a matmul on the vector unit."""
    if ACC in slots and _unit_engine(frame) == "vector":
        slot, plan = slots[ACC], frame.problem.operand(ACC)
        yield Tensor(
            frame.ring(ACC),
            slot.memory,
            slot.address,
            slot.slot_bytes,
            plan.dtype,
            "partials",
            (slot.slot_bytes // plan.element_bytes,),
            (plan.element_bytes,),
            scale=numbers[ACC][0],
        )


def _unit_engine(frame: Frame) -> Engine:
    """The engine that reads a layer's rings: array or vector unit, the store engine for a copy."""
    if frame.problem.engine == "copy":
        return "store"
    return "array" if frame.problem.engine == "array" else "vector"


def _load_order(frame: Frame) -> list[OperandPlan]:
    """Weights first, so that they are on their way before the layer's inputs are ready."""
    loads = [plan for plan in frame.problem.reads if not plan.resident and plan.buffered]
    return sorted(loads, key=lambda plan: (plan.role != "weights", plan.name == "bias", plan.name))


def _loads(frame: Frame, plan: OperandPlan) -> Iterator[Item]:
    depth, sliding = frame.keeps[plan.name]
    if not sliding:
        yield _load(frame, plan, depth, f"load_{plan.name}", (), 0)
        return
    var = frame.var(frame.loops[depth - 1].dim)
    kept, _ = frame.halo(plan.name)
    yield _load(frame, plan, depth, f"load_{plan.name}", (Edge("first", var),), 0)
    yield _load(frame, plan, depth, f"slide_{plan.name}", (Edge("first", var, negated=True),), kept)


def _load(frame: Frame, plan: OperandPlan, depth: int, name: str, when: tuple[Edge, ...], kept: int) -> Item:
    ring = frame.ring(plan.name)
    extents = _part_extents(frame, plan, depth, kept)
    command = Command(
        name=f"{frame.name}.{name}",
        op="MOVE" if plan.rows is None else "GATHER",
        layer=frame.name,
        role=plan.role,
        waits=(Token(f"{ring}.free"),),
        signals=(Token(f"{ring}.full"),),
        when=when,
        extents=extents,
        reads=(frame.tensor_region(plan, "src", depth, kept),),
        writes=(frame.slot_region(plan, "dst", depth, kept),),
        index=frame.lookup(plan, depth),
        retains=kept > 0,
    )
    channel = load_channel(frame.problem, plan, frame.channels)
    return Item("load", depth, command, ((frame.stored[plan.name].store, False), (ring, True)), channel=channel)


def _part_extents(frame: Frame, plan: OperandPlan, depth: int, kept: int) -> tuple[Extent, ...]:
    slide_dim = frame.loops[depth - 1].dim if kept else ""
    return tuple(
        frame.part_extent(part, depth, kept if slide_dim in dict(part.terms) else 0, part.name)
        for part in frame.parts[plan.name]
        if part.has_extent
    )


def _compute(frame: Frame) -> Iterator[Item]:
    depth = len(frame.loops)
    if not frame.problem.accumulates:
        yield _vector(frame, depth)
        return
    acc_depth, _ = frame.keeps[ACC]
    yield _accumulate(frame, depth, acc_depth)
    yield _drain(frame, acc_depth)


def _reads(
    frame: Frame, depth: int
) -> tuple[tuple[Region, ...], tuple[Token, ...], tuple[Token, ...], list[tuple[str, bool]]]:
    """Regions, waits, signals and touches of the operands that a unit reads below all loops."""
    regions, waits, signals = [], [], []
    touches: list[tuple[str, bool]] = []
    for plan in frame.problem.reads:
        regions.append(frame.dims_region(plan, plan.name, depth))
        if plan.resident:
            touches.append((frame.stored[plan.name].store, False))
            continue
        ring, (above, _) = frame.ring(plan.name), frame.keeps[plan.name]
        waits.append(Token(f"{ring}.full", when=frame.edges("first", above, depth)))
        signals.append(Token(f"{ring}.free", when=frame.edges("last", above, depth)))
        touches.append((ring, False))
    return tuple(regions), tuple(waits), tuple(signals), touches


def _out(
    frame: Frame, depth: int, operand: str
) -> tuple[Region, tuple[Token, ...], tuple[Token, ...], tuple[str, bool]]:
    plan = frame.problem.operand(OUT)
    region = frame.dims_region(plan, operand, depth)
    if plan.resident:
        return region, (), (), (frame.stored[OUT].store, True)
    ring = frame.ring(OUT)
    return region, (Token(f"{ring}.free"),), (Token(f"{ring}.full"),), (ring, True)


def _accumulate(frame: Frame, depth: int, acc_depth: int) -> Item:
    layer, acc = frame.problem.layer, frame.problem.operand(ACC)
    regions, waits, signals, touches = _reads(frame, depth)
    ring = frame.ring(ACC)
    on_array = frame.problem.engine == "array"
    dtypes = (frame.problem.operand("a").dtype, frame.problem.operand("b").dtype)
    command = Command(
        name=f"{frame.name}.{'matmul' if on_array else 'mac'}",
        op="MATMUL" if on_array else "VECTOR",
        layer=frame.name,
        role="partials",
        waits=(*waits, *_shared(on_array, Token(f"{ring}.free", when=frame.edges("first", acc_depth, depth)))),
        signals=(*signals, *_shared(on_array, Token(f"{ring}.full", when=frame.edges("last", acc_depth, depth)))),
        extents=tuple(frame.extent(dim, depth) for dim in layer.dims),
        reads=regions if on_array else _numbered(regions),
        writes=(frame.dims_region(acc, "acc" if on_array else "out", depth),),
        nest=Nest(layer.m, layer.n, layer.k, layer.batch) if on_array else None,
        fresh=frame.edges("first", acc_depth, depth),
        dtypes=dtypes if on_array else (frame.problem.operand(OUT).dtype,),
        functions=() if on_array else (MAC,),
        passes=0 if on_array else 1,
    )
    return Item(_unit_engine(frame), depth, command, (*touches, (ring, True)))


def _shared(is_ring: bool, token: Token) -> tuple[Token, ...]:
    """The accumulator's token, where another queue drains it."""
    return (token,) if is_ring else ()


def _numbered(regions: tuple[Region, ...]) -> tuple[Region, ...]:
    """A vector unit calls its operands in0, in1, ..."""
    return tuple(replace(region, operand=f"in{index}") for index, region in enumerate(regions))


def _drain(frame: Frame, depth: int) -> Item:
    acc = frame.problem.operand(ACC)
    out, waits, signals, touch = _out(frame, depth, "out")
    ring, on_array = frame.ring(ACC), frame.problem.engine == "array"
    passes, slow, functions = drain_steps(frame.problem.layer)
    command = Command(
        name=f"{frame.name}.drain",
        op="VECTOR",
        layer=frame.name,
        role="outputs",
        waits=(*_shared(on_array, Token(f"{ring}.full")), *waits),
        signals=(*_shared(on_array, Token(f"{ring}.free")), *signals),
        extents=tuple(frame.extent(dim, depth) for dim in _output_dims(frame)),
        reads=(frame.dims_region(acc, "in0", depth),),
        writes=(out,),
        dtypes=(frame.problem.operand(OUT).dtype,),
        functions=functions,
        passes=passes,
        slow=slow,
    )
    return Item("vector", depth, command, ((ring, False), touch), after=True)


def _output_dims(frame: Frame) -> tuple[str, ...]:
    moving = frame.problem.operand(OUT).dims
    return tuple(dim for dim in frame.problem.dims if dim in moving)


def _vector(frame: Frame, depth: int) -> Item:
    regions, waits, signals, touches = _reads(frame, depth)
    out, out_waits, out_signals, touch = _out(frame, depth, "out")
    passes, slow, functions = drain_steps(frame.problem.layer)
    command = Command(
        name=f"{frame.name}.vector",
        op="VECTOR",
        layer=frame.name,
        role="outputs",
        waits=(*waits, *out_waits),
        signals=(*signals, *out_signals),
        extents=tuple(frame.extent(dim, depth) for dim in frame.problem.dims),
        reads=regions,
        writes=(out,),
        dtypes=(frame.problem.operand(OUT).dtype,),
        functions=functions,
        guards=tuple(frame.guard(guard, depth) for guard in frame.problem.layer.guards),
        passes=passes,
        slow=slow,
    )
    return Item("vector", depth, command, (*touches, touch))


def _store(frame: Frame) -> Item:
    plan = frame.problem.operand(OUT)
    depth, _ = frame.keeps[OUT]
    ring = frame.ring(OUT)
    command = Command(
        name=f"{frame.name}.store",
        op="MOVE",
        layer=frame.name,
        role="outputs",
        waits=(Token(f"{ring}.full"),),
        signals=(Token(f"{ring}.free"),),
        extents=_part_extents(frame, plan, depth, 0),
        reads=(frame.slot_region(plan, "src", depth),),
        writes=(frame.tensor_region(plan, "dst", depth),),
    )
    touches = ((ring, False), (frame.stored[OUT].store, True))
    return Item("store", depth, command, touches, channel=frame.store_channel)


def _copies(frame: Frame) -> Iterator[Item]:
    """A copy: through a ring when both ends are in DRAM, else one move straight between them."""
    depth = len(frame.loops)
    source, target = frame.problem.operand("in0"), frame.problem.operand(OUT)
    if source.buffered:
        yield from _loads(frame, source)
        depth = frame.keeps["in0"][0]
    ring = frame.ring("in0")
    index = None if source.buffered else frame.dims_lookup(source, depth)
    command = Command(
        name=f"{frame.name}.copy",
        op="MOVE" if index is None else "GATHER",
        layer=frame.name,
        role="outputs" if index is None else source.role,
        waits=(Token(f"{ring}.full"),) if source.buffered else (),
        signals=(Token(f"{ring}.free"),) if source.buffered else (),
        extents=tuple(frame.extent(dim, depth) for dim in frame.problem.dims),
        reads=(frame.dims_region(source, "src", depth),),
        writes=(frame.dims_region(target, "dst", depth),),
        index=index,
    )
    read = ring if source.buffered else frame.stored["in0"].store
    engine: Engine = "load" if target.resident else "store"
    loads = load_channel(frame.problem, source, frame.channels)
    channel = loads if target.resident else frame.store_channel
    yield Item(engine, depth, command, ((read, False), (frame.stored[OUT].store, True)), channel=channel)
