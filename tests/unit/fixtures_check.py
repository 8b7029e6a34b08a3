"""Programs for the checker's tests: the golden one and edits of it, small ones from text, and systematic mutants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from archsim.ir.asm.parser import parse_program
from archsim.ir.check.ownership import commands_of
from archsim.ir.program import Command, Loop, Node, Program, Queue, Region, Ring, Tensor
from archsim.spec.architecture import Architecture
from archsim.spec.load import load

GOLDEN = Path(__file__).parents[1] / "golden"
BOTH_SIDES = (-1, 1)
Mutants = Iterator[tuple[str, Program]]


@cache
def golden() -> Program:
    """tests/golden/program.asm."""
    return parse_program((GOLDEN / "program.asm").read_text(encoding="utf-8"), "program.asm")


@cache
def chip() -> Architecture:
    """tests/golden/chip.yaml."""
    return load(GOLDEN / "chip.yaml")


def command(name: str) -> Command:
    """A command of the golden Program."""
    return next(c for queue in golden().queues for c in commands_of(queue.body) if c.name == name)


def edit(name: str, /, **changes: Any) -> Program:
    """The golden Program with fields of one command changed."""
    return put(golden(), command(name), replace(command(name), **changes))


def edit_region(name: str, operand: str, /, **changes: Any) -> Program:
    """The golden Program with one operand of one command changed."""
    old = command(name)
    sides = {
        side: tuple(replace(r, **changes) if r.operand == operand else r for r in getattr(old, side))
        for side in ("reads", "writes")
    }
    return edit(name, **sides)


def edit_store(name: str, /, **changes: Any) -> Program:
    """The golden Program with one tensor or ring changed."""
    program = golden()
    return replace(
        program,
        tensors=tuple(replace(t, **changes) if t.name == name else t for t in program.tensors),
        rings=tuple(replace(r, **changes) if r.name == name else r for r in program.rings),
    )


def put(program: Program, old: Node, *new: Node) -> Program:
    """``program`` with one node replaced by others."""
    return replace(program, queues=tuple(replace(q, body=_swapped(q.body, old, new)) for q in program.queues))


def _swapped(body: tuple[Node, ...], old: Node, new: tuple[Node, ...]) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in body:
        if node is old:
            found += new
        else:
            found.append(replace(node, body=_swapped(node.body, old, new)) if isinstance(node, Loop) else node)
    return tuple(found)


def mutants() -> Mutants:
    """Every small mistake in the golden Program, by a name that says which."""
    for queue in golden().queues:
        for item in commands_of(queue.body):
            yield from token_mutants(item)
            yield from _extent_mutants(item)
            yield from _region_mutants(item)
            yield f"remove {item.name}", put(golden(), item)
        yield from _swap_mutants(queue, queue.body)
    yield from _store_mutants()
    for semaphore in golden().semaphores:
        more = tuple(replace(s, initial=1) if s is semaphore else s for s in golden().semaphores)
        yield f"initial {semaphore.name}", replace(golden(), semaphores=more)


def token_mutants(item: Command) -> Mutants:
    """Each token dropped, doubled, and taken or given always."""
    for field, verb in (("waits", "wait"), ("signals", "signal")):
        tokens = getattr(item, field)
        for at, token in enumerate(tokens):
            rest, label = (tokens[:at], tokens[at + 1 :]), f"{verb} {token.name} of {item.name}"
            yield f"drop {label}", put(golden(), item, replace(item, **{field: rest[0] + rest[1]}))
            variants = [("double", replace(token, n=2))]
            variants += [("always", replace(token, when=()))] if token.when else []
            for what, new in variants:
                yield f"{what} {label}", put(golden(), item, replace(item, **{field: (*rest[0], new, *rest[1])}))


def _extent_mutants(item: Command) -> Mutants:
    for at, extent in enumerate(item.extents):
        changed = [(f"{step:+d}", replace(extent, size=extent.size + step)) for step in BOTH_SIDES]
        changed += [(" unlimited", replace(extent, limits=()))] if extent.limits else []
        for what, new in changed:
            extents = (*item.extents[:at], new, *item.extents[at + 1 :])
            yield f"extent {extent.dim}{what} of {item.name}", put(golden(), item, replace(item, extents=extents))


def _region_mutants(item: Command) -> Mutants:
    for field in ("reads", "writes"):
        regions = getattr(item, field)
        for at, region in enumerate(regions):
            for what, new in _wrong_regions(region):
                changed = {field: (*regions[:at], new, *regions[at + 1 :])}
                yield f"{what} of {item.name}", put(golden(), item, replace(item, **changed))


def _wrong_regions(region: Region) -> Iterator[tuple[str, Region]]:
    """Shifted by an element, a stride doubled, clips forgotten."""
    for step in BOTH_SIDES:
        offset = replace(region.offset, const=region.offset.const + step * region.element_bytes)
        yield f"shift {region.operand}{step:+d}", replace(region, offset=offset)
    for at, (dim, stride) in enumerate(region.strides):
        strides = (*region.strides[:at], (dim, 2 * stride), *region.strides[at + 1 :])
        yield f"stride {dim} of {region.operand}", replace(region, strides=strides)
    if region.clips:
        yield f"clip of {region.operand}", replace(region, clips=())


def _swap_mutants(queue: Queue, body: tuple[Node, ...]) -> Mutants:
    for at in range(len(body) - 1):
        first, second = body[at], body[at + 1]
        between = put(golden(), first, second, first)  # second now stands twice: drop the later one
        yield f"swap {_label(first)} and {_label(second)} in {queue.engine}", _without_repeat(between, queue, second)
    for node in body:
        if isinstance(node, Loop):
            yield from _swap_mutants(queue, node.body)


def _without_repeat(program: Program, queue: Queue, node: Node) -> Program:
    def once(body: tuple[Node, ...], seen: list[Node]) -> tuple[Node, ...]:
        kept: list[Node] = []
        for item in body:
            if item is node and seen:
                continue
            seen += [item] if item is node else []
            kept.append(
                replace(item, body=once(item.body, seen)) if isinstance(item, Loop) and item is not node else item
            )
        return tuple(kept)

    queues = tuple(replace(q, body=once(q.body, [])) if q.name == queue.name else q for q in program.queues)
    return replace(program, queues=queues)


def _label(node: Node) -> str:
    return f"loop {node.var}" if isinstance(node, Loop) else node.name


def _store_mutants() -> Mutants:
    for ring in golden().rings:
        yield from _changed(ring, "slots", (ring.slots - 1, ring.slots + 1))
        yield from _changed(ring, "slot_bytes", (ring.slot_bytes - 1,))
        yield from _changed(ring, "base", (ring.base - 64, ring.base + 64))
        if ring.retain:
            yield from _changed(ring, "retain", (ring.retain - 1, ring.retain + 1))
    for tensor in golden().tensors:
        yield from _changed(tensor, "size_bytes", (tensor.size_bytes - 1,))
        yield from _changed(tensor, "base", (tensor.base + 64,))
        yield from _changed(tensor, "preloaded", (not tensor.preloaded,))


def _changed(store: Tensor | Ring, field: str, values: tuple[Any, ...]) -> Mutants:
    for value in values:
        yield f"{field}={value} of {store.name}", edit_store(store.name, **{field: value})
