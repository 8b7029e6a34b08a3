"""Whether the numbers of a Program as text can be worked with at all: judged in integers of any size, before arrays.

A listing may state any number. What it runs is unrolled, and offsets are sums of products of its numbers in 64 bits;
both are bounded here, far above what a chip can hold or a machine can run.
"""

from __future__ import annotations

from collections.abc import Mapping

from archsim.base.errors import ProgramError
from archsim.ir.program import Affine, Command, CommandLoop, Program, ProgramNode, Region

MOST_COMMANDS = 1 << 24  # that a Program as text runs: some gigabytes of columns
MOST = 1 << 62  # of a sum of products: bytes, elements, tokens

Trips = Mapping[str, int]


def check_magnitudes(program: Program) -> None:
    """Raise ProgramError for a Program that runs too many commands, or states a number that no sum may reach."""
    for name, number in _declared(program):
        _check(name, number)
    commands = sum(_body(queue.body, {}, queue.name) for queue in program.queues)
    if commands > MOST_COMMANDS:
        raise ProgramError(
            f"program '{program.name}' runs {commands:,} commands; allowed at most {MOST_COMMANDS:,} of a text; "
            "larger tiles make fewer"
        )


def _declared(program: Program) -> list[tuple[str, int]]:
    """Numbers of declarations, each with what it belongs to."""
    found = [(f"tensor '{t.name}'", t.base + t.size_bytes) for t in program.tensors]
    found += [(f"tensor '{t.name}'", abs(t.zero)) for t in program.tensors]
    found += [(f"ring '{r.name}'", r.base + r.slots * (abs(r.slot_bytes) + abs(r.retain))) for r in program.rings]
    return found + [(f"semaphore '{s.name}'", s.initial) for s in program.semaphores]


def _body(body: tuple[ProgramNode, ...], trips: Trips, queue: str) -> int:
    """Commands that a body runs; its numbers are checked on the way."""
    found = 0
    for node in body:
        if isinstance(node, CommandLoop):
            _check(f"loop '{node.var}' of {queue}", node.trips)
            found += node.trips * _body(node.body, {**trips, node.var: node.trips}, queue)
        else:
            _command(node, trips, f"{node.name} of {queue}")
            found += 1
    return found


def _command(command: Command, trips: Trips, what: str) -> None:
    sizes = {extent.dim: extent.size for extent in command.extents}
    points = 1
    for extent in command.extents:
        points *= max(extent.size, 1)
        for limit in extent.limits:
            _check(what, _reach(limit, trips))
    _check(what, points * max(command.passes, 1))
    for region in (*command.reads, *command.writes):
        _check(f"operand '{region.operand}' of {what}", _region(region, sizes, trips))
    for guard in command.guards:
        _check(what, _reach(guard.start, trips) + _moved(guard.terms, sizes) + guard.length)
    for number in (
        command.flops,
        command.nbytes,
        abs(command.fill),
        *(t.n for t in (*command.waits, *command.signals)),
    ):
        _check(what, number)
    if command.index is not None:
        index = command.index
        _check(what, _reach(index.start, trips) + _moved(index.terms, sizes) + index.rows * index.row_bytes)


def _region(region: Region, sizes: Trips, trips: Trips) -> int:
    clips = [_reach(clip.start, trips) + clip.length + sizes.get(clip.dim, 1) for clip in region.clips]
    return max([_reach(region.offset, trips) + _moved(region.strides, sizes) + region.element_bytes, *clips])


def _reach(affine: Affine, trips: Trips) -> int:
    """The largest magnitude of an expression over its loops."""
    return abs(affine.const) + sum(abs(factor) * trips.get(var, 1) for var, factor in affine.terms)


def _moved(strides: tuple[tuple[str, int], ...], sizes: Trips) -> int:
    return sum(abs(stride) * sizes.get(dim, 1) for dim, stride in strides)


def _check(what: str, number: int) -> None:
    if number >= MOST:
        raise ProgramError(f"{what}: its numbers reach 10^{len(str(number)) - 1}; allowed below 2^62")
