"""The parts of a command line: extents, conditions, tokens, nests and operands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from archsim.base.errors import ModelError
from archsim.facts.dataflows.fold import Window, check_windows
from archsim.ir.asm.cursor import WordCursor
from archsim.ir.functions import Function, Functions, Parameter
from archsim.ir.program import Affine, Clip, CommandGuard, Extent, LoopEdge, MatmulNest, Region, Token, When


@dataclass(frozen=True, slots=True)
class CommandScope:
    """What a command may name: enclosing loop variables, tokens, stores (element bytes or None), layers."""

    variables: tuple[str, ...]
    tokens: Collection[str]
    elements: Mapping[str, int | None]
    layers: tuple[str, ...]


def read_affine(cursor: WordCursor, scope: CommandScope) -> Affine:
    """``8*p - 1``: a sum of integers and (multiples of) loop variables."""
    const = 0
    terms: list[tuple[str, int]] = []
    sign = -1 if cursor.accept("-") else 1
    cursor.accept("+")
    while True:
        if cursor.word.kind != "integer":
            terms.append((_variable(cursor, scope), sign))
        else:
            value = sign * cursor.integer("an integer")
            if cursor.accept("*"):
                terms.append((_variable(cursor, scope), value))
            else:
                const += value
        if cursor.accept("+"):
            sign = 1
        elif cursor.accept("-"):
            sign = -1
        else:
            return Affine(const, tuple(terms))


def _variable(cursor: WordCursor, scope: CommandScope) -> str:
    return cursor.name("a number or a variable", scope.variables)


def read_when(cursor: WordCursor, scope: CommandScope) -> When:
    """``first(p) & !last(q)``."""
    edges = [_edge(cursor, scope)]
    while cursor.accept("&"):
        edges.append(_edge(cursor, scope))
    return tuple(edges)


def _edge(cursor: WordCursor, scope: CommandScope) -> LoopEdge:
    negated = cursor.accept("!")
    kind = cursor.keyword(("first", "last"), "a condition")
    cursor.expect("(")
    var = cursor.name("an enclosing loop variable", scope.variables)
    cursor.expect(")")
    return LoopEdge("first" if kind == "first" else "last", var, negated)


def read_tokens(cursor: WordCursor, scope: CommandScope) -> tuple[Token, ...]:
    """``x.full, y.free*2 if last(q)``."""
    found = [_token(cursor, scope)]
    while cursor.accept(","):
        found.append(_token(cursor, scope))
    return tuple(found)


def _token(cursor: WordCursor, scope: CommandScope) -> Token:
    name = cursor.name("a token", scope.tokens)
    n = cursor.integer("a number of tokens") if cursor.accept("*") else 1
    return Token(name, n, read_when(cursor, scope) if cursor.skip_if("if") else ())


def read_extent(cursor: WordCursor, scope: CommandScope) -> Extent:
    """``h=8 | 58-8*p``: a size and the limits that clamp it."""
    dim = cursor.name("an extent")
    cursor.expect("=")
    size = cursor.integer("the size of an extent")
    limits = []
    while cursor.accept("|"):
        limits.append(read_affine(cursor, scope))
    return Extent(dim, size, tuple(limits))


def read_nest(cursor: WordCursor, dims: Collection[str]) -> MatmulNest:
    """``nest m(h, w) n(k) k(c, r, s) batch(b)``; parts without extents are left out."""
    parts: dict[str, tuple[str, ...]] = {}
    while any(cursor.next_is(part) for part in ("m", "n", "k", "batch")):
        part = cursor.keyword(("m", "n", "k", "batch"), "a part of the nest")
        if part in parts:
            cursor.fail(f"'{part}' of the nest once")
        parts[part] = cursor.many("(", ")", lambda: cursor.name("an extent", dims))
    return MatmulNest(parts.get("m", ()), parts.get("n", ()), parts.get("k", ()), parts.get("batch", ()))


def read_windowed_nest(cursor: WordCursor, dims: Collection[str]) -> MatmulNest:
    """``nest m(p, q) n(k) k(c, r, s) window(2*p+r, q+s)``: a nest, and which of its dims share an axis of the input."""
    nest = read_nest(cursor, dims)
    if not cursor.skip_if("window"):
        return nest
    windows = cursor.many("(", ")", lambda: _window(cursor, nest))
    if not windows:
        cursor.fail("ahead of this at least one window, such as 2*p+r,")
    try:
        check_windows(windows, nest.m, nest.k)
    except ModelError as error:
        cursor.fail("ahead of this windows that have each dim once,", f" ({error})")
    return replace(nest, windows=windows)


def _window(cursor: WordCursor, nest: MatmulNest) -> Window:
    """``2*p+r``: an output row and a sum, each in steps of 1 or more, in this order."""
    total = read_affine(cursor, CommandScope((*nest.m, *nest.k), (), {}, ()))
    steps = dict(total.terms)
    rows, taps = ([dim for dim in steps if dim in part] for part in (nest.m, nest.k))
    if total.const or len(total.terms) != 2 or len(rows) != 1 or len(taps) != 1 or min(steps.values()) < 1:
        cursor.fail("ahead of this a sum of one extent of m and one of k in steps of 1 or more, such as 2*p+r,")
    return Window(rows[0], taps[0], steps[rows[0]], steps[taps[0]])


def read_functions(cursor: WordCursor) -> Functions:
    """``multiply(in0, in1)+clip(low=0, high=6)``."""
    found = [_function(cursor)]
    while cursor.accept("+"):
        found.append(_function(cursor))
    return tuple(found)


def _function(cursor: WordCursor) -> Function:
    name = cursor.name("a function")
    operands: list[str | float] = []
    parameters: list[tuple[str, Parameter]] = []
    if cursor.word.text != "(" or cursor.word.kind != "mark":
        return Function(name)
    for item in cursor.many("(", ")", lambda: _argument(cursor)):
        if isinstance(item, tuple):
            parameters.append(item)
        elif parameters:
            cursor.fail("operands ahead of parameters")
        else:
            operands.append(item)
    return Function(name, tuple(operands), tuple(parameters))


def _argument(cursor: WordCursor) -> str | float | tuple[str, Parameter]:
    """An operand, a number, or ``name=value``."""
    if cursor.word.kind != "name":
        return cursor.number("an operand, a number or a parameter")
    name = cursor.name("an operand or a parameter")
    return (name, _parameter(cursor)) if cursor.accept("=") else name


def _parameter(cursor: WordCursor) -> Parameter:
    if cursor.word.kind == "mark" and cursor.word.text == "[":
        return cursor.many("[", "]", lambda: cursor.name("an extent"))
    if cursor.word.kind == "name":
        return cursor.name("a value")
    return cursor.number("a value")


def read_guards(cursor: WordCursor, scope: CommandScope, dims: Collection[str]) -> tuple[CommandGuard, ...]:
    """``(2*p+r: 16*t-1 of 112, q+s: -1 of 112)``: a sum of extents, where it starts and the length of the axis."""
    inside = CommandScope(tuple(dims), (), {}, ())

    def guard() -> CommandGuard:
        index = read_affine(cursor, inside)
        cursor.expect(":")
        start = read_affine(cursor, scope)
        if not cursor.skip_if("of"):
            cursor.fail("'of' and the length of the axis")
        if index.const:
            cursor.fail("a sum of extents without a number; it belongs behind the ':'")
        return CommandGuard(index.terms, start, cursor.integer("the length of an axis"))

    return cursor.many("(", ")", guard)


def read_region(cursor: WordCursor, scope: CommandScope, dims: Collection[str], operand: str) -> Region:
    """``x{h:512, c:1}+4096*p clip(h: 8*p-1 of 58)``: a store, its strides, its byte offset, its clips."""
    store = cursor.name("a tensor or ring", scope.elements)
    strides: tuple[tuple[str, int], ...] = ()
    if cursor.word.text == "{":
        strides = cursor.many("{", "}", lambda: _stride(cursor, dims))
    signed = cursor.word.kind == "mark" and cursor.word.text in ("+", "-")
    offset = read_affine(cursor, scope) if signed else Affine()
    element = scope.elements[store]
    if cursor.skip_if("element"):
        element = cursor.integer("bytes of an element")
    if element is None:
        cursor.fail(f"'element' and a number of bytes, as the dtype of '{store}' is not known")
    clips: tuple[Clip, ...] = ()
    if cursor.skip_if("clip"):
        clips = cursor.many("(", ")", lambda: _clip(cursor, scope, dims))
    return Region(operand, store, element, strides, offset, clips)


def _stride(cursor: WordCursor, dims: Collection[str]) -> tuple[str, int]:
    dim = cursor.name("an extent of this command", dims)
    cursor.expect(":")
    return dim, cursor.integer("a stride in bytes")


def _clip(cursor: WordCursor, scope: CommandScope, dims: Collection[str]) -> Clip:
    dim = cursor.name("an extent of this command", dims)
    cursor.expect(":")
    start = read_affine(cursor, scope)
    if not cursor.skip_if("of"):
        cursor.fail("'of' and the length of the axis")
    return Clip(dim, start, cursor.integer("the length of an axis"))
