"""Commands of one layer: which engine does what at which loop depth, with its ring tokens.

Loads bring each kept operand below the loops above its Keep; the array (or the vector unit) works below all loops; the
vector unit drains an accumulator tile when the reduction is done; the store engine writes finished tiles back.
A stationary tile's token is taken at the first and given back at the last iteration of the loops below its Keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from archsim.ir.functions import Function
from archsim.ir.inside import MAC
from archsim.ir.program import Command, CommandGuard, MatmulNest, Region, Token
from mapper.cost.chip_rates import drain_steps
from mapper.lower.conversions import conversions
from mapper.lower.frame import Frame
from mapper.lower.item import Item, unit_engine
from mapper.lower.moves import copies, loads, stores
from mapper.lower.partials import SUM, additions
from mapper.problem.operands import ACC, OUT, OperandPlan

ADDED = (Function(MAC),)


def commands(frame: Frame) -> list[Item]:
    """All commands of a layer, in text order per engine."""
    if frame.problem.engine == "copy":
        return list(copies(frame))
    return [*loads(frame), *_compute(frame), *additions(frame), *stores(frame)]


def _compute(frame: Frame) -> Iterator[Item]:
    depth = len(frame.loops)
    if not frame.problem.accumulates:
        yield _vector(frame, depth)
        return
    yield from conversions(frame)
    acc_depth, _ = frame.keeps[ACC]
    yield _accumulate(frame, depth, acc_depth)
    yield _drain(frame, acc_depth)


def _reads(
    frame: Frame, plans: tuple[OperandPlan, ...], depth: int
) -> tuple[tuple[Region, ...], tuple[Token, ...], tuple[Token, ...], list[tuple[str, bool]]]:
    """Regions, waits, signals and touches of operands that a unit reads below ``depth`` loops."""
    regions, waits, signals = [], [], []
    touches: list[tuple[str, bool]] = []
    for plan in plans:
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
    regions, waits, signals, touches = _reads(frame, frame.problem.reads, depth)
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
        nest=MatmulNest(layer.m, layer.n, layer.k, layer.batch, frame.problem.windows) if on_array else None,
        fresh=frame.edges("first", acc_depth, depth),
        guards=tuple([frame.bound(bound, depth) for bound in layer.bounds]),
        dtypes=dtypes if on_array else (frame.problem.operand(OUT).dtype,),
        functions=() if on_array else ADDED,
        passes=0 if on_array else 1,
    )
    return Item(unit_engine(frame.problem), depth, command, (*touches, (ring, True)))


def _shared(is_ring: bool, token: Token) -> tuple[Token, ...]:
    """The accumulator's token, where another queue drains it."""
    return (token,) if is_ring else ()


def _numbered(regions: tuple[Region, ...]) -> tuple[Region, ...]:
    """A vector unit calls its operands in0, in1, ...: of a drain the sums, and its epilogue."""
    return tuple(replace(region, operand=f"in{index}") for index, region in enumerate(regions))


def _drain(frame: Frame, depth: int) -> Item:
    acc = frame.problem.operand(ACC)
    out, waits, signals, touch = _out(frame, depth, "out")
    ring, on_array = frame.ring(ACC), frame.problem.engine == "array"
    summed = frame.ring(SUM) if frame.problem.adders > 1 else ring
    added, added_waits, added_signals, touches = _reads(frame, frame.problem.added, depth)
    sums = replace(frame.dims_region(acc, "in0", depth), store=summed)
    passes, slow, functions = drain_steps(frame.problem.layer)
    command = Command(
        name=f"{frame.name}.drain",
        op="VECTOR",
        layer=frame.name,
        role="outputs",
        waits=(*_shared(on_array, Token(f"{summed}.full")), *added_waits, *waits),
        signals=(*_shared(on_array, Token(f"{summed}.free")), *added_signals, *signals),
        extents=tuple(frame.extent(dim, depth, frame.problem.operand(OUT)) for dim in _output_dims(frame)),
        reads=_numbered((sums, *added)),
        writes=(out,),
        dtypes=(frame.problem.operand(OUT).dtype,),
        functions=functions,
        passes=passes,
        slow=slow,
    )
    return Item("vector", depth, command, ((ring, False), *touches, touch), after=True, operand=OUT)


def _output_dims(frame: Frame) -> tuple[str, ...]:
    moving = frame.problem.operand(OUT).dims
    return tuple(dim for dim in frame.problem.dims if dim in moving)


def _guards(frame: Frame, depth: int) -> tuple[CommandGuard, ...]:
    """The points of a vector layer's tile that take part."""
    layer = frame.problem.layer
    inside = [frame.guard(guard, depth) for guard in layer.guards]
    return tuple([*inside, *(frame.bound(bound, depth) for bound in layer.bounds)])


def _vector(frame: Frame, depth: int) -> Item:
    regions, waits, signals, touches = _reads(frame, frame.problem.reads, depth)
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
        guards=_guards(frame, depth),
        passes=passes,
        slow=slow,
    )
    return Item("vector", depth, command, (*touches, touch))
