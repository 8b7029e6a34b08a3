"""Commands of a Program as text: operations an engine can run, operands, extents, loop variables, formats and rates.

The lookup of a GATHER or SCATTER must name a table that is a tensor, rows that it has and entries that the index stream
has. Any row of the table may be read or written, so for races and bounds the operand is all of its rows; what a scatter
writes counts as written for nobody.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import get_args

import numpy as np

from archsim.base.errors import ConfigError, ProgramError
from archsim.base.ragged import alike
from archsim.ir.check.form.declarations import known_name
from archsim.ir.check.tokens.unrolled import UnrolledQueue
from archsim.ir.columns import ProgramColumns, numbered
from archsim.ir.program import Command, Lookup, Op, PlacedTensor, Program, Queue, Region
from archsim.spec.architecture import Architecture

MOST_ROWS = 2**32  # of a table: entries are drawn from 64 bits
MOST_WEIGHTS = 2**27  # rows of a zipf table: a weight of 8 bytes each is held


def check_lookup(command: Command, tensors: Iterable[PlacedTensor], what: str) -> None:
    """Raise ProgramError for a lookup that breaks a rule; its operands are there and its names are known."""
    lookup, table = command.index, command.table
    if lookup is None or table is None:
        raise ProgramError(f"{what} is a {command.op} without index; allowed such as index uniform(seed=0) rows ..")
    known_name(table.store, [tensor.name for tensor in tensors], f"{what}: its table is no tensor,")
    for region in (*command.reads, *command.writes):
        if region.clips:
            raise ProgramError(
                f"{what}: operand '{region.operand}' is clipped; allowed in a MOVE, not in a {command.op}"
            )
    _check_terms(command, lookup, what)
    _check_rows(lookup, what)


def _check_terms(command: Command, lookup: Lookup, what: str) -> None:
    table, dims = command.table, [extent.dim for extent in command.extents]
    others = [region for region in (*command.reads, *command.writes) if region is not table]
    names = [dim for dim, _ in lookup.terms]
    for dim, coefficient in lookup.terms:
        known_name(dim, dims, f"{what}: its index counts by an unknown extent")
        if coefficient < 1 or names.count(dim) > 1:
            raise ProgramError(
                f"{what}: its index steps by {coefficient} of '{dim}'; allowed 1 or more, each name once"
            )
        if table is not None and any(dim == moving for moving, _ in table.strides):
            raise ProgramError(f"{what}: extent '{dim}' counts lookups and moves the table too; allowed one of both")
        if any(dict(region.strides).get(dim, 0) == 0 for region in others):
            raise ProgramError(f"{what}: extent '{dim}' counts lookups and does not move the other side")


def _check_rows(lookup: Lookup, what: str) -> None:
    indices = lookup.indices
    most = MOST_WEIGHTS if indices.kind == "zipf" else MOST_ROWS
    if not 1 <= lookup.rows <= most:
        raise ProgramError(f"{what}: a table of {lookup.rows} rows; allowed 1 to {most} with {indices.kind} indices")
    if lookup.row_bytes < 1:
        raise ProgramError(f"{what}: rows of {lookup.row_bytes} bytes; allowed 1 or more")
    if not 0 <= indices.exponent < float("inf"):
        raise ProgramError(f"{what}: zipf exponent {indices.exponent}; allowed 0 or more")
    if indices.seed < 0:
        raise ProgramError(f"{what}: seed {indices.seed}; allowed 0 or more")
    wrong = [row for row in indices.trace if not 0 <= row < lookup.rows]
    if wrong:
        raise ProgramError(f"{what}: its trace names row {wrong[0]}; the table has rows 0 to {lookup.rows - 1}")


def check_entries(columns: ProgramColumns, queues: Sequence[UnrolledQueue]) -> None:
    """Raise ProgramError for a concrete command that asks for entries before or behind those of its stream."""
    asking = [command.index is not None for command in columns.commands]
    for number in np.unique(columns.queue[np.flatnonzero(asking)]).tolist():
        queue = queues[number]
        looking = [text for text in queue.texts if text.command.index is not None]
        for at in sorted(text.begin + at for text in looking for at in text.nest.runs[text.number].at.tolist()):
            step = queue[at]
            lookup = step.command.index
            if lookup is None or not all(step.extents.values()):
                continue
            first = lookup.start.at(step.env)
            last = first + sum(coefficient * (step.extents[dim] - 1) for dim, coefficient in lookup.terms)
            end = len(lookup.indices.trace)
            if first < 0 or (lookup.indices.kind == "trace" and last >= end):
                has = f"0 to {end - 1}" if lookup.indices.kind == "trace" else "entries from 0"
                raise ProgramError(
                    f"{step.where} of {step.queue} takes entries {first} to {last} of its index; it has {has}"
                )


MAX_STRIDES = 9  # a 3-D convolution of a batch in groups moves its input so: n, g, c, o, p, q, t, r, s
HOST_LAYER = "_host"  # the row that launches are charged to; the only layer that needs no declaration
ENGINE_OPS = {
    "load": ("MOVE", "GATHER", "SETUP", "SYNC"),
    "store": ("MOVE", "SCATTER", "SETUP", "SYNC"),
    "array": ("MATMUL", "SETUP", "SYNC"),
    "vector": ("VECTOR", "SETUP", "SYNC"),
    "host": ("HOST", "SETUP", "SYNC"),
}
MOVES = ("MOVE", "GATHER", "SCATTER")
_BELONGS = {
    "nest": ("MATMUL",),
    "fresh": ("MATMUL", "VECTOR"),
    "dtypes": ("MATMUL", "VECTOR"),
    "functions": ("VECTOR", "HOST"),
    "guards": ("MATMUL", "VECTOR"),
    "passes": ("VECTOR",),
    "slow": ("VECTOR",),
    "flops": ("HOST",),
    "nbytes": ("HOST", "SETUP"),
    "fill": ("MOVE",),
    "combine": MOVES,
    "index": ("GATHER", "SCATTER"),
}
_FOREIGN = {op: attrgetter(*(name for name, ops in _BELONGS.items() if op not in ops)) for op in get_args(Op)}


@dataclass(frozen=True, slots=True)
class _Operands:
    """Operand names of an operation (patterns) and those that must be there."""

    reads: str
    writes: str
    needed: tuple[str, ...]


_OPERANDS = {
    "MOVE": _Operands("src", "dst", ("dst",)),
    "GATHER": _Operands("src", "dst", ("src", "dst")),
    "SCATTER": _Operands("src", "dst", ("src", "dst")),
    "MATMUL": _Operands("a|b|bias|acc", "acc", ("a", "b", "acc")),
    "VECTOR": _Operands(r"in\d+", r"out\d*", ("out",)),
    "HOST": _Operands(r"in\d+", r"out\d*", ()),
    "SETUP": _Operands("", "", ()),
    "SYNC": _Operands("", "", ()),
}


def check_commands(columns: ProgramColumns, architecture: Architecture) -> None:
    """Raise ProgramError for the first command whose text breaks a rule of its operation, or loop without a trip."""
    program = columns.program
    layers = frozenset((*program.layers, HOST_LAYER))
    around = [_Around(queue, layers, program, architecture) for queue in program.queues]
    bare = next((each for each in columns.loops if each.loop.trips < 1), None)
    for number in _asked(columns, layers):
        if bare is not None and bare.at <= number:
            break
        _check_command(
            around[columns.queue[number]], columns.commands[number], columns.variables[columns.inside[number]]
        )
    if bare is not None:
        name = program.queues[bare.queue].name
        raise ProgramError(f"loop '{bare.loop.var}' of {name} makes {bare.loop.trips} trips; allowed 1 or more")


def _asked(columns: ProgramColumns, layers: frozenset[str]) -> list[int]:
    """Commands that are to be checked, in order: the first one of each shape on such an engine, in such loops and with
    such conditions of tokens; all that look rows up; all of unknown layers."""
    units = numbered([(queue.engine, queue.unit) for queue in columns.program.queues])
    first, _ = alike([units[columns.queue], columns.inside, columns.shape[1]], columns.conditions())
    wanted = np.fromiter(
        [command.index is not None or command.layer not in layers for command in columns.commands],
        np.bool_,
        len(columns.commands),
    )
    wanted[first] = True
    return np.flatnonzero(wanted).tolist()


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a command: its queue, the ``layers`` that it may be of, its Program and the chip."""

    queue: Queue
    layers: frozenset[str]
    program: Program
    architecture: Architecture


def _check_command(around: _Around, command: Command, variables: tuple[str, ...]) -> None:
    what = f"{command.name} of {around.queue.name}"
    _check_operation(around, command, what)
    _check_names(around, command, what, variables)
    _check_operands(command, what)
    extents = [extent.dim for extent in command.extents]
    for region in (*command.reads, *command.writes):
        if region.clips or not _plainly_right(region, extents):
            _check_region(region, extents, f"{what}: operand '{region.operand}'")
    _check_work(around, command, what, extents)


def _check_operation(around: _Around, command: Command, what: str) -> None:
    engine = around.queue.engine
    allowed = ENGINE_OPS[engine]
    if around.architecture.dma.merged and engine in ("load", "store"):
        allowed = (*MOVES, "SETUP", "SYNC")
    if command.op not in allowed:
        raise ProgramError(f"{what} is a {command.op}; {engine} engines run {', '.join(allowed)}")
    if any(_FOREIGN[command.op](command)):
        name = next(name for name, ops in _BELONGS.items() if command.op not in ops and getattr(command, name))
        raise ProgramError(
            f"{what} states '{name}', which belongs to {' and '.join(_BELONGS[name])}, not to {command.op}"
        )
    if min(command.passes, command.flops, command.nbytes) < 0:
        raise ProgramError(f"{what}: passes, flops and bytes are counts; allowed 0 or more")
    if command.combine not in ("", "add", "max"):
        raise ProgramError(f"{what} combines by '{command.combine}'; allowed add, max")


def _check_names(around: _Around, command: Command, what: str, variables: tuple[str, ...]) -> None:
    if command.layer not in around.layers:
        known_name(command.layer, around.layers, f"{what}: unknown layer")
    for var in _variables(command):
        if var not in variables:
            known_name(var, variables, f"{what}: no enclosing loop")


def _variables(command: Command) -> list[str]:
    """The loop variables that a command names, conditions first."""
    used = [edge.var for edge in (*command.when, *command.fresh)]
    for token in (*command.waits, *command.signals):
        if token.when:
            used += [edge.var for edge in token.when]
    for extent in command.extents:
        for limit in extent.limits:
            used += [var for var, _ in limit.terms]
    for region in (*command.reads, *command.writes):
        if region.offset.terms:
            used += [var for var, _ in region.offset.terms]
        for clip in region.clips:
            used += [var for var, _ in clip.start.terms]
    for guard in command.guards:
        used += [var for var, _ in guard.start.terms]
    if command.index is not None:
        used += [var for var, _ in command.index.start.terms]
    return used


def _check_operands(command: Command, what: str) -> None:
    rule = _OPERANDS[command.op]
    if command.reads:
        _check_side(command.reads, rule.reads, f"{what} reads", f"a {command.op} reads")
    if command.writes:
        _check_side(command.writes, rule.writes, f"{what} writes", f"a {command.op} writes")
    regions = (*command.reads, *command.writes)
    for name in rule.needed:
        if all(region.operand != name for region in regions):
            raise ProgramError(f"{what} is a {command.op} without operand '{name}'")
    if command.op in MOVES and len({region.element_bytes for region in regions}) > 1:
        raise ProgramError(f"{what} moves elements of different sizes; source and destinations must agree")


def _check_side(regions: tuple[Region, ...], pattern: str, what: str, rule: str) -> None:
    names = [region.operand for region in regions]
    for name in names:
        if not _fits(pattern, name):
            shown = pattern.replace("|", ", ").replace(r"\d+", "0..").replace(r"\d*", "") or "nothing"
            raise ProgramError(f"{what} an operand '{name}'; {rule} {shown}")
        if names.count(name) > 1 and name != "dst":
            raise ProgramError(f"{what} two operands '{name}'")


@cache
def _fits(pattern: str, name: str) -> bool:
    return bool(name) and re.fullmatch(pattern, name) is not None


def _plainly_right(region: Region, extents: Collection[str]) -> bool:
    """What ``_check_region`` finds of most, without looking for what is wrong."""
    dims = {dim for dim, stride in region.strides if dim in extents and stride >= 0}
    return len(dims) == len(region.strides) <= MAX_STRIDES and region.element_bytes >= 1


def _check_region(region: Region, extents: Collection[str], what: str) -> None:
    if len(region.strides) > MAX_STRIDES:
        raise ProgramError(f"{what} has {len(region.strides)} strides; allowed at most {MAX_STRIDES}")
    if region.element_bytes < 1:
        raise ProgramError(f"{what} has elements of {region.element_bytes} bytes; allowed 1 or more")
    dims = [dim for dim, _ in region.strides]
    for dim, stride in region.strides:
        if dim not in extents:
            known_name(dim, extents, f"{what}: unknown extent")
        if stride < 0 or dims.count(dim) > 1:
            raise ProgramError(f"{what}: stride {stride} of '{dim}'; allowed one stride of 0 or more for each extent")
    _check_clips(region, dims, what)


def _check_clips(region: Region, dims: list[str], what: str) -> None:
    for clip in region.clips:
        known_name(clip.dim, dims, f"{what} clips the extent that does not move it,")
        if clip.length < 1:
            raise ProgramError(f"{what} is clipped to {clip.length} indices of '{clip.dim}'; allowed 1 or more")


def _check_work(around: _Around, command: Command, what: str, dims: list[str]) -> None:
    for extent in command.extents:
        if extent.size < 1 or dims.count(extent.dim) > 1:
            raise ProgramError(f"{what}: extent '{extent.dim}' of {extent.size}; allowed 1 or more, each name once")
    if command.op in ("GATHER", "SCATTER"):
        check_lookup(command, around.program.tensors, what)
    elif command.op == "MATMUL":
        _check_matmul(around, command, what, dims)
    elif command.op == "VECTOR":
        _check_vector(around, command, what)


def _check_matmul(around: _Around, command: Command, what: str, dims: list[str]) -> None:
    nest = command.nest
    if nest is None:
        raise ProgramError(f"{what} is a MATMUL without a nest; allowed such as nest m(h, w) n(k) k(c)")
    parts = [*nest.m, *nest.n, *nest.k, *nest.batch]
    if sorted(parts) != sorted(dims):
        raise ProgramError(f"{what}: the nest has ({', '.join(parts)}), the extents are ({', '.join(dims)})")
    if len(command.dtypes) != 2:
        raise ProgramError(f"{what} states {len(command.dtypes)} dtypes; a MATMUL has two: inputs, weights")
    array = next(part for part in around.architecture.arrays if part.name == around.queue.unit)
    try:
        array.rate(command.dtypes[0], command.dtypes[1])
    except ConfigError as error:
        raise ProgramError(f"{what}: {error}") from None


def _check_vector(around: _Around, command: Command, what: str) -> None:
    vector = next(part for part in around.architecture.vectors if part.name == around.queue.unit)
    if not command.functions:
        raise ProgramError(f"{what} is a VECTOR without a function")
    if not command.passes and not command.slow:
        raise ProgramError(f"{what}: '{command.function}' states neither passes nor slow functions; nothing is free")
    if len(command.dtypes) != 1:
        raise ProgramError(f"{what} states {len(command.dtypes)} dtypes; a VECTOR has one: that of its lanes")
    known_name(command.dtypes[0], vector.lanes, f"{what}: vector unit '{vector.name}' has no lanes for")
    for name in command.slow:
        known_name(name, vector.function_cycles, f"{what}: vector unit '{vector.name}' states no rate for")
