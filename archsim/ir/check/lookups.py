"""Lookups of GATHER and SCATTER: a table that is a tensor, rows that it has, entries that the index stream has.

A gather may read, and a scatter write, any row of its table, so for races and bounds the operand is the whole of its
rows; what a scatter writes counts as written for nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from archsim.base.errors import ProgramError
from archsim.ir.check.declarations import known_name
from archsim.ir.check.unrolled import Unrolled
from archsim.ir.program import Command, Lookup, Tensor

MOST_ROWS = 2**32  # of a table: entries are drawn from 64 bits
MOST_WEIGHTS = 2**27  # rows of a zipf table: a weight of 8 bytes each is held


def check_lookup(command: Command, tensors: Iterable[Tensor], what: str) -> None:
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


def check_entries(queues: Iterable[Unrolled]) -> None:
    """Raise ProgramError for a concrete command that asks for entries before or behind those of its stream."""
    for queue in queues:
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
