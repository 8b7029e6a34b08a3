"""One command line: ``OP name [extents]`` and clauses in any order."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, get_args

from archsim.ir.asm.cursor import Clause, Cursor, read_clauses
from archsim.ir.asm.fragments import (
    Scope,
    read_extent,
    read_functions,
    read_guards,
    read_nest,
    read_region,
    read_tokens,
    read_when,
)
from archsim.ir.asm.lookup import read_lookup
from archsim.ir.asm.printer import READS, WRITES, implied_layer
from archsim.ir.program import Command, Extent, Op

BESIDE_LAYERS = ("", "_host")  # layers of commands that need no declaration


def read_command(cursor: Cursor, scope: Scope) -> Command:
    """Read a whole command; raises ProgramError with file:line."""
    op: Any = cursor.keyword(("for", *get_args(Op)), "a loop or a command")
    name = cursor.name("the name of the command")
    extents: tuple[Extent, ...] = ()
    if cursor.word.text == "[":
        extents = cursor.many("[", "]", lambda: read_extent(cursor, scope))
    dims = [extent.dim for extent in extents]
    values = read_clauses(cursor, _clauses(scope, dims), ())
    values.setdefault("layer", implied_layer(name, scope.layers))
    return Command(name=name, op=op, extents=extents, **values)


def _clauses(scope: Scope, dims: Collection[str]) -> dict[str, Clause]:
    tokens = {
        "wait": Clause("waits", lambda c: read_tokens(c, scope), many=True),
        "signal": Clause("signals", lambda c: read_tokens(c, scope), many=True),
    }
    return {**_attributes(scope, dims), **tokens, **_operands(scope, dims)}


def _attributes(scope: Scope, dims: Collection[str]) -> dict[str, Clause]:
    return {
        "layer": Clause("layer", lambda c: c.name("a layer", (*scope.layers, *BESIDE_LAYERS))),
        "role": Clause("role", lambda c: c.name("a role")),
        "when": Clause("when", lambda c: read_when(c, scope)),
        "nest": Clause("nest", lambda c: read_nest(c, dims)),
        "fresh": Clause("fresh", lambda c: read_when(c, scope)),
        "dtypes": Clause("dtypes", lambda c: c.names("a dtype")),
        "function": Clause("functions", read_functions),
        "guard": Clause("guards", lambda c: read_guards(c, scope, dims)),
        "slow": Clause("slow", lambda c: c.names("a function")),
        "passes": Clause("passes", _count("a number of passes")),
        "flops": Clause("flops", _count("a number of operations")),
        "bytes": Clause("nbytes", _count("a number of bytes")),
        "fill": Clause("fill", _count("a value")),
        "combine": Clause("combine", lambda c: c.name("add or max")),
        "index": Clause("index", lambda c: read_lookup(c, scope, dims)),
        "retains": Clause("retains", lambda _: True),
    }


def _operands(scope: Scope, dims: Collection[str]) -> dict[str, Clause]:
    """``src x{..}`` and its like; ``read NAME x{..}`` and ``write NAME x{..}`` for any other operand name."""

    def usual(operand: str) -> Callable[[Cursor], Any]:
        return lambda c: (read_region(c, scope, dims, operand),)

    def named(c: Cursor) -> Any:
        return (read_region(c, scope, dims, c.name("an operand")),)

    table = {operand: Clause("reads", usual(operand), many=True) for operand in READS}
    table |= {operand: Clause("writes", usual(operand), many=True) for operand in WRITES}
    return table | {"read": Clause("reads", named, many=True), "write": Clause("writes", named, many=True)}


def _count(what: str) -> Callable[[Cursor], int]:
    return lambda c: c.integer(what)
