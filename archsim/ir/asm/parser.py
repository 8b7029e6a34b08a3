"""Assembly listing -> Program. Errors are ProgramError with file:line, what was expected and the nearest name.

A command stands on one line: ``OP name [extents]``, then clauses in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, get_args

from archsim.base.errors import ProgramError, nearest
from archsim.ir.asm.cursor import KeywordClause, WordCursor, read_clauses
from archsim.ir.asm.fragments import (
    CommandScope,
    read_extent,
    read_functions,
    read_guards,
    read_region,
    read_tokens,
    read_when,
    read_windowed_nest,
)
from archsim.ir.asm.lexer import AsmLine, AsmWord, read_lines
from archsim.ir.asm.lookup import read_lookup
from archsim.ir.asm.magnitudes import check_magnitudes
from archsim.ir.asm.printer import READS, WRITES, dense_strides, implied_layer
from archsim.ir.dtypes import BYTES
from archsim.ir.program import (
    Command,
    CommandLoop,
    Extent,
    Op,
    PlacedTensor,
    Program,
    ProgramNode,
    Queue,
    Ring,
    Semaphore,
    StateExtent,
)

BESIDE_LAYERS = ("", "_host")  # layers of commands that need no declaration


def read_command(cursor: WordCursor, scope: CommandScope) -> Command:
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


def _clauses(scope: CommandScope, dims: Collection[str]) -> dict[str, KeywordClause]:
    tokens = {
        "wait": KeywordClause("waits", lambda c: read_tokens(c, scope), many=True),
        "signal": KeywordClause("signals", lambda c: read_tokens(c, scope), many=True),
    }
    return {**_attributes(scope, dims), **tokens, **_operands(scope, dims)}


def _attributes(scope: CommandScope, dims: Collection[str]) -> dict[str, KeywordClause]:
    return {
        "layer": KeywordClause("layer", lambda c: c.name("a layer", (*scope.layers, *BESIDE_LAYERS))),
        "role": KeywordClause("role", lambda c: c.name("a role")),
        "when": KeywordClause("when", lambda c: read_when(c, scope)),
        "nest": KeywordClause("nest", lambda c: read_windowed_nest(c, dims)),
        "fresh": KeywordClause("fresh", lambda c: read_when(c, scope)),
        "dtypes": KeywordClause("dtypes", lambda c: c.names("a dtype")),
        "function": KeywordClause("functions", read_functions),
        "guard": KeywordClause("guards", lambda c: read_guards(c, scope, dims)),
        "slow": KeywordClause("slow", lambda c: c.names("a function")),
        "passes": KeywordClause("passes", _count("a number of passes")),
        "flops": KeywordClause("flops", _count("a number of operations")),
        "bytes": KeywordClause("nbytes", _count("a number of bytes")),
        "fill": KeywordClause("fill", _count("a value")),
        "combine": KeywordClause("combine", lambda c: c.name("add or max")),
        "index": KeywordClause("index", lambda c: read_lookup(c, scope, dims)),
        "retains": KeywordClause("retains", lambda _: True),
    }


def _operands(scope: CommandScope, dims: Collection[str]) -> dict[str, KeywordClause]:
    """``src x{..}`` and its like; ``read NAME x{..}`` and ``write NAME x{..}`` for any other operand name."""

    def usual(operand: str) -> Callable[[WordCursor], Any]:
        return lambda c: (read_region(c, scope, dims, operand),)

    def named(c: WordCursor) -> Any:
        return (read_region(c, scope, dims, c.name("an operand")),)

    table = {operand: KeywordClause("reads", usual(operand), many=True) for operand in READS}
    table |= {operand: KeywordClause("writes", usual(operand), many=True) for operand in WRITES}
    return table | {
        "read": KeywordClause("reads", named, many=True),
        "write": KeywordClause("writes", named, many=True),
    }


def _count(what: str) -> Callable[[WordCursor], int]:
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

    def __init__(self, lines: list[AsmLine], path: str) -> None:
        self._lines = lines
        self._path = path
        self._at = 0
        self._layers: list[str] = []
        self._tensors: list[PlacedTensor] = []
        self._rings: list[Ring] = []
        self._semaphores: list[Semaphore] = []
        self._queues: list[Queue] = []
        self._declared: dict[tuple[str, str], int] = {}
        self._ring_queues: list[AsmWord] = []

    def program(self) -> Program:
        cursor = self._next()
        cursor.keyword(("program",), "a name")
        name = cursor.name("the name of the program")
        cursor.keyword(("on",), "the chip")
        chip = cursor.name("the name of a chip")
        self._end(cursor)
        readers: dict[str, Callable[[WordCursor], None]] = {
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

    def _next(self) -> WordCursor:
        self._at += 1
        return WordCursor(self._lines[self._at - 1], self._path)

    def _end(self, cursor: WordCursor) -> None:
        if not cursor.ended:
            cursor.fail("the end of the line")

    def _new(self, cursor: WordCursor, kind: str) -> str:
        """Read a name that is not taken yet."""
        line = cursor.word.line
        name = cursor.name(f"the name of a {kind}")
        space = "store" if kind in ("tensor", "ring") else kind
        first = self._declared.get((space, name))
        if first is not None:
            raise ProgramError(f"{self._path}:{line}: expected a new name, found {kind} '{name}' of line {first}")
        self._declared[space, name] = line
        return name

    def _layer(self, cursor: WordCursor) -> None:
        self._layers.append(self._new(cursor, "layer"))
        while cursor.accept(","):
            self._layers.append(self._new(cursor, "layer"))
        self._end(cursor)

    def _tensor(self, cursor: WordCursor) -> None:
        name = self._new(cursor, "tensor")
        table = {
            **_place("size_bytes"),
            "shape": KeywordClause("shape", _integers),
            "strides": KeywordClause("strides", _integers),
            "origin": KeywordClause("origin", lambda c: c.integer("the byte of the first element")),
            "preloaded": KeywordClause("preloaded", _flag),
            "state": KeywordClause("state", _state),
            "ragged": KeywordClause("ragged", _flag),
        }
        values = read_clauses(cursor, table, ("in", "at", "bytes", "dtype", "role", "shape"))
        values.setdefault("strides", dense_strides(values["shape"], values["dtype"]))
        self._tensors.append(PlacedTensor(name=name, **values))

    def _ring(self, cursor: WordCursor) -> None:
        name = self._new(cursor, "ring")
        table = {
            **_place("slot_bytes"),
            "slots": KeywordClause("slots", lambda c: c.integer("a number of slots")),
            "retain": KeywordClause("retain", lambda c: c.integer("bytes to retain")),
            "span": KeywordClause("span", lambda c: c.integer("bytes around which slots follow")),
            "ragged": KeywordClause("ragged", _flag),
            "writer": KeywordClause("writer", self._queue_name),
            "readers": KeywordClause("readers", self._queue_names),
        }
        values = read_clauses(cursor, table, ("in", "at", "slots", "bytes", "dtype", "role", "writer"))
        values.setdefault("readers", ())
        self._rings.append(Ring(name=name, **values))

    def _queue_name(self, cursor: WordCursor) -> str:
        self._ring_queues.append(cursor.word)
        return cursor.name("a queue")

    def _queue_names(self, cursor: WordCursor) -> tuple[str, ...]:
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

    def _semaphore(self, cursor: WordCursor) -> None:
        name = self._new(cursor, "semaphore")
        table = {"initial": KeywordClause("initial", lambda c: c.integer("a number of tokens"))}
        self._semaphores.append(Semaphore(name=name, **read_clauses(cursor, table, ())))

    def _queue(self, cursor: WordCursor) -> None:
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

    def _colon(self, cursor: WordCursor) -> None:
        cursor.expect(":")
        self._end(cursor)

    def _scope(self) -> CommandScope:
        tokens = [f"{ring.name}.{kind}" for ring in self._rings for kind in ("free", "full")]
        tokens += [semaphore.name for semaphore in self._semaphores]
        stores: list[PlacedTensor | Ring] = [*self._tensors, *self._rings]
        elements = {store.name: BYTES.get(store.dtype) for store in stores}
        return CommandScope((), dict.fromkeys(tokens), elements, tuple(self._layers))

    def _body(self, outer: int, scope: CommandScope) -> tuple[ProgramNode, ...]:
        """The statements deeper than ``outer``; all of them at one indentation."""
        nodes: list[ProgramNode] = []
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

    def _loop(self, cursor: WordCursor, indent: int, scope: CommandScope) -> CommandLoop:
        var = self._new(cursor, "loop variable")
        cursor.keyword(("in",), "the trips")
        trips = cursor.integer("a number of trips")
        if len(scope.variables) >= MOST_LOOPS:
            cursor.fail(f"at most {MOST_LOOPS} loops in one another")
        self._colon(cursor)
        inner = replace(scope, variables=(*scope.variables, var))
        return CommandLoop(var, trips, self._body(indent, inner))


def _place(size: str) -> dict[str, KeywordClause]:
    """Clauses that tensors and rings share; ``size`` is the field that ``bytes`` fills."""
    return {
        "in": KeywordClause("memory", lambda c: c.name("a memory")),
        "at": KeywordClause("base", lambda c: c.integer("a byte address")),
        "bytes": KeywordClause(size, lambda c: c.integer("a number of bytes")),
        "dtype": KeywordClause("dtype", lambda c: c.name("a dtype")),
        "role": KeywordClause("role", lambda c: c.name("a role")),
        "scale": KeywordClause("scale", lambda c: float(c.number("a scale such as 2^-7"))),
        "zero": KeywordClause("zero", lambda c: c.integer("the element that stands for 0")),
    }


def _integers(cursor: WordCursor) -> tuple[int, ...]:
    return cursor.many("[", "]", lambda: cursor.integer("an integer"))


def _flag(_: WordCursor) -> bool:
    return True


def _state(cursor: WordCursor) -> StateExtent:
    cursor.keyword(("length",), "the rows that hold data")
    length = cursor.integer("a number of rows")
    return StateExtent(length, cursor.integer("an axis of the shape") if cursor.skip_if("axis") else 0)
