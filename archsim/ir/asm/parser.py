"""Assembly listing -> Program. Errors are ProgramError with file:line, what was expected and the nearest name.

One command line: ``OP name [extents]`` and clauses in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, get_args

from archsim.base.errors import ProgramError, nearest
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
from archsim.ir.asm.lexer import Line, Word, read_lines
from archsim.ir.asm.lookup import read_lookup
from archsim.ir.asm.magnitudes import check_magnitudes
from archsim.ir.asm.printer import READS, WRITES, dense_strides, implied_layer
from archsim.ir.dtypes import BYTES
from archsim.ir.program import Command, Extent, Loop, Node, Op, Program, Queue, Ring, Semaphore, Tensor

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


MOST_LOOPS = 32  # in one another
ENGINES = ("load", "store", "array", "vector", "host")


def parse_program(text: str, path: str = "<text>") -> Program:
    """The Program of a listing; ``path`` names it in messages. Raises ProgramError with file:line."""
    lines = read_lines(text, path)
    if not lines:
        raise ProgramError(f"{path}:1: expected 'program NAME on CHIP', found nothing")
    program = _Parser(lines, path).program()
    try:
        check_magnitudes(program)
    except ProgramError as error:
        raise ProgramError(f"{path}: {error}") from None
    return program


class _Parser:
    """Consumes statements; declarations come before the queues that use them."""

    def __init__(self, lines: list[Line], path: str) -> None:
        self._lines = lines
        self._path = path
        self._at = 0
        self._layers: list[str] = []
        self._tensors: list[Tensor] = []
        self._rings: list[Ring] = []
        self._semaphores: list[Semaphore] = []
        self._queues: list[Queue] = []
        self._declared: dict[tuple[str, str], int] = {}
        self._ring_queues: list[Word] = []

    def program(self) -> Program:
        cursor = self._next()
        cursor.keyword(("program",), "a name")
        name = cursor.name("the name of the program")
        cursor.keyword(("on",), "the chip")
        chip = cursor.name("the name of a chip")
        self._end(cursor)
        readers: dict[str, Callable[[Cursor], None]] = {
            "layer": self._layer,
            "tensor": self._tensor,
            "ring": self._ring,
            "semaphore": self._semaphore,
            "queue": self._queue,
        }
        while self._at < len(self._lines):
            if self._lines[self._at].indent:
                self._next().fail("a statement at the start of the line")
            cursor = self._next()
            readers[cursor.keyword(readers, "one of")](cursor)
        self._check_ring_queues()
        return Program(
            name,
            chip,
            tuple(self._layers),
            tuple(self._tensors),
            tuple(self._rings),
            tuple(self._semaphores),
            tuple(self._queues),
        )

    def _next(self) -> Cursor:
        self._at += 1
        return Cursor(self._lines[self._at - 1], self._path)

    def _end(self, cursor: Cursor) -> None:
        if not cursor.ended:
            cursor.fail("the end of the line")

    def _new(self, cursor: Cursor, kind: str) -> str:
        """Read a name that is not taken yet."""
        line = cursor.word.line
        name = cursor.name(f"the name of a {kind}")
        space = "store" if kind in ("tensor", "ring") else kind
        first = self._declared.get((space, name))
        if first is not None:
            raise ProgramError(f"{self._path}:{line}: expected a new name, found {kind} '{name}' of line {first}")
        self._declared[space, name] = line
        return name

    def _layer(self, cursor: Cursor) -> None:
        self._layers.append(self._new(cursor, "layer"))
        while cursor.accept(","):
            self._layers.append(self._new(cursor, "layer"))
        self._end(cursor)

    def _tensor(self, cursor: Cursor) -> None:
        name = self._new(cursor, "tensor")
        table = {
            **_place("size_bytes"),
            "shape": Clause("shape", _integers),
            "strides": Clause("strides", _integers),
            "origin": Clause("origin", lambda c: c.integer("the byte of the first element")),
            "preloaded": Clause("preloaded", _flag),
        }
        values = read_clauses(cursor, table, ("in", "at", "bytes", "dtype", "role", "shape"))
        values.setdefault("strides", dense_strides(values["shape"], values["dtype"]))
        self._tensors.append(Tensor(name=name, **values))

    def _ring(self, cursor: Cursor) -> None:
        name = self._new(cursor, "ring")
        table = {
            **_place("slot_bytes"),
            "slots": Clause("slots", lambda c: c.integer("a number of slots")),
            "retain": Clause("retain", lambda c: c.integer("bytes to retain")),
            "writer": Clause("writer", self._queue_name),
            "readers": Clause("readers", self._queue_names),
        }
        values = read_clauses(cursor, table, ("in", "at", "slots", "bytes", "dtype", "role", "writer"))
        values.setdefault("readers", ())
        self._rings.append(Ring(name=name, **values))

    def _queue_name(self, cursor: Cursor) -> str:
        self._ring_queues.append(cursor.word)
        return cursor.name("a queue")

    def _queue_names(self, cursor: Cursor) -> tuple[str, ...]:
        names = [self._queue_name(cursor)]
        while cursor.accept(","):
            names.append(self._queue_name(cursor))
        return tuple(names)

    def _check_ring_queues(self) -> None:
        """Rings name queues that stand further down."""
        names = sorted(queue.name for queue in self._queues)
        for word in self._ring_queues:
            if word.text not in names:
                shown = ", ".join(names) or "none is declared"
                hint = nearest(word.text, names)
                raise ProgramError(f"{self._path}:{word.line}: expected a queue ({shown}), found {word.shown}{hint}")

    def _semaphore(self, cursor: Cursor) -> None:
        name = self._new(cursor, "semaphore")
        table = {"initial": Clause("initial", lambda c: c.integer("a number of tokens"))}
        self._semaphores.append(Semaphore(name=name, **read_clauses(cursor, table, ())))

    def _queue(self, cursor: Cursor) -> None:
        line = self._lines[self._at - 1]
        name = self._new(cursor, "queue")
        self._declared = {key: line for key, line in self._declared.items() if key[0] != "loop variable"}
        cursor.keyword(("engine",), "the engine")
        engine: Any = cursor.keyword(ENGINES, "an engine")
        cursor.keyword(("unit",), "the chip part that runs it")
        unit = cursor.name("a chip part")
        self._colon(cursor)
        scope = self._scope()
        self._queues.append(Queue(name, engine, unit, self._body(line.indent, scope)))

    def _colon(self, cursor: Cursor) -> None:
        cursor.expect(":")
        self._end(cursor)

    def _scope(self) -> Scope:
        tokens = [f"{ring.name}.{kind}" for ring in self._rings for kind in ("free", "full")]
        tokens += [semaphore.name for semaphore in self._semaphores]
        stores: list[Tensor | Ring] = [*self._tensors, *self._rings]
        elements = {store.name: BYTES.get(store.dtype) for store in stores}
        return Scope((), dict.fromkeys(tokens), elements, tuple(self._layers))

    def _body(self, outer: int, scope: Scope) -> tuple[Node, ...]:
        """The statements deeper than ``outer``; all of them at one indentation."""
        nodes: list[Node] = []
        inner: int | None = None
        while self._at < len(self._lines) and self._lines[self._at].indent > outer:
            line = self._lines[self._at]
            cursor = self._next()
            inner = line.indent if inner is None else inner
            if line.indent != inner:
                cursor.fail(f"a statement indented by {inner} spaces")
            if cursor.skip_if("for"):
                nodes.append(self._loop(cursor, line.indent, scope))
            else:
                nodes.append(read_command(cursor, scope))
        return tuple(nodes)

    def _loop(self, cursor: Cursor, indent: int, scope: Scope) -> Loop:
        var = self._new(cursor, "loop variable")
        cursor.keyword(("in",), "the trips")
        trips = cursor.integer("a number of trips")
        if len(scope.variables) >= MOST_LOOPS:
            cursor.fail(f"at most {MOST_LOOPS} loops in one another")
        self._colon(cursor)
        inner = replace(scope, variables=(*scope.variables, var))
        return Loop(var, trips, self._body(indent, inner))


def _place(size: str) -> dict[str, Clause]:
    """Clauses that tensors and rings share; ``size`` is the field that ``bytes`` fills."""
    return {
        "in": Clause("memory", lambda c: c.name("a memory")),
        "at": Clause("base", lambda c: c.integer("a byte address")),
        "bytes": Clause(size, lambda c: c.integer("a number of bytes")),
        "dtype": Clause("dtype", lambda c: c.name("a dtype")),
        "role": Clause("role", lambda c: c.name("a role")),
        "scale": Clause("scale", lambda c: float(c.number("a scale such as 2^-7"))),
        "zero": Clause("zero", lambda c: c.integer("the element that stands for 0")),
    }


def _integers(cursor: Cursor) -> tuple[int, ...]:
    return cursor.many("[", "]", lambda: cursor.integer("an integer"))


def _flag(_: Cursor) -> bool:
    return True
