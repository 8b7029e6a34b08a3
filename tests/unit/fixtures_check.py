"""Programs for the checker's tests: the golden one and edits of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from archsim.ir.asm.parser import parse_program
from archsim.ir.check.form.declarations import commands_of
from archsim.ir.program import Command, CommandLoop, Program, ProgramNode
from archsim.spec.architecture import Architecture
from archsim.spec.load import load

GOLDEN = Path(__file__).parents[1] / "golden"


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


def put(program: Program, old: ProgramNode, *new: ProgramNode) -> Program:
    """``program`` with one node replaced by others."""
    return replace(program, queues=tuple(replace(q, body=_swapped(q.body, old, new)) for q in program.queues))


def _swapped(body: tuple[ProgramNode, ...], old: ProgramNode, new: tuple[ProgramNode, ...]) -> tuple[ProgramNode, ...]:
    found: list[ProgramNode] = []
    for node in body:
        if node is old:
            found += new
        else:
            found.append(replace(node, body=_swapped(node.body, old, new)) if isinstance(node, CommandLoop) else node)
    return tuple(found)
