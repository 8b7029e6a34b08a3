"""The moves of one layer: tiles in, edge by edge, tiles out, and copies.

Each edge has its own command, below the loops above the Keep of the tiles that it makes. A tile that is filled from, or
goes to, a slot further out holds that slot over the loops between the two Keeps.
"""

from __future__ import annotations

from collections.abc import Iterator

from archsim.ir.program import Command, EngineKind, Extent, LoopEdge, Token, When
from mapper.lower.frame import Frame
from mapper.lower.item import Item
from mapper.lower.lookups import dims_lookup, lookup
from mapper.problem.channels import load_channel, store_channel
from mapper.problem.operands import ACC, BIAS, EPILOGUE, OUT, OperandPlan
from mapper.problem.problem import Problem


def loads(frame: Frame) -> Iterator[Item]:
    """All loads of a layer."""
    for plan in load_order(frame.problem):
        yield from _loads(frame, plan)


def stores(frame: Frame) -> Iterator[Item]:
    """All stores of a layer, the innermost first."""
    for plan in frame.problem.stores:
        yield _store(frame, plan)


def load_order(problem: Problem) -> list[OperandPlan]:
    """Weights first, so that they are on their way before the layer's inputs are ready."""
    return sorted(problem.loads, key=lambda plan: (plan.role != "weights", plan.operand == BIAS, plan.name))


def _loads(frame: Frame, plan: OperandPlan) -> Iterator[Item]:
    depth, sliding = frame.keeps[plan.name]
    if not sliding:
        yield _load(frame, plan, depth, f"load_{plan.name}", (), 0)
        return
    var = frame.vars[depth - 1]
    kept, _ = frame.halo(plan.name)
    yield _load(frame, plan, depth, f"load_{plan.name}", (LoopEdge("first", var),), 0)
    yield _load(frame, plan, depth, f"slide_{plan.name}", (LoopEdge("first", var, negated=True),), kept)


def _load(frame: Frame, plan: OperandPlan, depth: int, name: str, when: tuple[LoopEdge, ...], kept: int) -> Item:
    ring = frame.ring(plan.name)
    extents = part_extents(frame, plan, depth, kept)
    waits, signals = _held(frame, plan, depth, when)
    command = Command(
        name=f"{frame.name}.{name}",
        op="MOVE" if plan.rows is None else "GATHER",
        layer=frame.name,
        role=plan.role,
        waits=(*waits, Token(f"{ring}.free")),
        signals=(*signals, Token(f"{ring}.full")),
        when=when,
        extents=extents,
        reads=(frame.far_region(plan, "src", depth, kept),),
        writes=(frame.slot_region(plan, "dst", depth, kept),),
        index=lookup(frame, plan, depth),
        retains=kept > 0,
    )
    channel = load_channel(frame.problem, plan, frame.channels)
    touches = ((_far(frame, plan), False), (ring, True))
    return Item("load", depth, command, touches, _is_last(frame, plan), channel, plan.name)


def _is_last(frame: Frame, plan: OperandPlan) -> bool:
    """Whether a tile comes in behind those of which the sums are made that it meets in the drain."""
    return plan.operand == EPILOGUE and frame.keeps[plan.name][0] == frame.keeps[ACC][0]


def part_extents(frame: Frame, plan: OperandPlan, depth: int, kept: int) -> tuple[Extent, ...]:
    """Positions of a tile below ``depth`` loops along each of its axes, less ``kept`` ones of a window."""
    slide_dim = frame.loops[depth - 1].dim if kept else ""
    return tuple(
        frame.part_extent(part, depth, kept if slide_dim in dict(part.terms) else 0, frame.trims_of(plan))
        for part in frame.parts[plan.name]
        if part.has_extent
    )


def _held(frame: Frame, plan: OperandPlan, depth: int, when: When) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Tokens of the slot beyond: taken by the first of the tiles that it serves, given back by the last.

    A command that runs at later iterations only (``when`` not first) finds the token taken.
    """
    if not plan.beyond:
        return (), ()
    ring, (above, _) = frame.ring(plan.beyond), frame.keeps[plan.beyond]
    first, last = frame.edges("first", above, depth), frame.edges("last", above, depth)
    later = {edge.var for edge in when if edge.kind == "first" and edge.negated}
    waits = () if any(edge.var in later for edge in first) else (Token(f"{ring}.full", when=first),)
    return waits, (Token(f"{ring}.free", when=last),)


def _far(frame: Frame, plan: OperandPlan) -> str:
    """The store beyond an operand's tiles: a ring or its tensor."""
    return frame.ring(plan.beyond) if plan.beyond else frame.stored[plan.operand].store


def _store(frame: Frame, plan: OperandPlan) -> Item:
    depth, _ = frame.keeps[plan.name]
    ring = frame.ring(plan.name)
    waits, signals = [Token(f"{ring}.full")], [Token(f"{ring}.free")]
    if plan.beyond:
        beyond, (above, _) = frame.ring(plan.beyond), frame.keeps[plan.beyond]
        waits.append(Token(f"{beyond}.free", when=frame.edges("first", above, depth)))
        signals.append(Token(f"{beyond}.full", when=frame.edges("last", above, depth)))
    command = Command(
        name=f"{frame.name}.store{'' if plan.name == OUT else f'_{plan.level}'}",
        op="MOVE",
        layer=frame.name,
        role=written_role(plan),
        waits=tuple(waits),
        signals=tuple(signals),
        extents=part_extents(frame, plan, depth, 0),
        reads=(frame.slot_region(plan, "src", depth),),
        writes=(frame.far_region(plan, "dst", depth),),
    )
    touches = ((ring, False), (_far(frame, plan), True))
    channel = store_channel(frame.number, plan, frame.channels)
    return Item("store", depth, command, touches, channel=channel, operand=plan.name)


def written_role(plan: OperandPlan) -> str:
    """The role of what moves an operand to its tensor: rows of a state, or a result like others."""
    return plan.role if plan.role == "kv" else "outputs"


def _copied_role(source: OperandPlan, target: OperandPlan) -> str:
    """The role of what moves an operand to another one's tensor: of rows of a state wherever they go."""
    return source.role if source.role == "kv" else written_role(target)


def copies(frame: Frame) -> Iterator[Item]:
    """A copy: through a ring when both ends are in DRAM, else one move straight between them."""
    depth = len(frame.loops)
    source, target = frame.problem.operand("in0"), frame.problem.operand(OUT)
    if source.buffered:
        yield from _loads(frame, source)
        depth = frame.keeps["in0"][0]
    ring = frame.ring("in0")
    index = None if source.buffered else dims_lookup(frame, source, depth)
    command = Command(
        name=f"{frame.name}.copy",
        op="MOVE" if index is None else "GATHER",
        layer=frame.name,
        role=_copied_role(source, target) if index is None else source.role,
        waits=(Token(f"{ring}.full"),) if source.buffered else (),
        signals=(Token(f"{ring}.free"),) if source.buffered else (),
        extents=tuple(frame.extent(dim, depth) for dim in frame.problem.dims),
        reads=(frame.dims_region(source, "src", depth),),
        writes=(frame.dims_region(target, "dst", depth),),
        index=index,
    )
    read = ring if source.buffered else frame.stored["in0"].store
    engine: EngineKind = "load" if target.resident else "store"
    loads = load_channel(frame.problem, source, frame.channels)
    channel = loads if target.resident else store_channel(frame.number, target, frame.channels)
    yield Item(engine, depth, command, ((read, False), (frame.stored[OUT].store, True)), channel=channel)
