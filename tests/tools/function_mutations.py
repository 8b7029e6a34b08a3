"""Small mistakes in the source of functions: which there are, a seeded choice of them, and a file's text with one.

A mistake changes one operator, comparison, constant, condition or return. Nothing is changed in what only people read
(docstrings, texts put together for messages, what a raised error says), in types, and in assertions. Which function
and which mistake are chosen depends on the function's own name and text, not on the file or room that it lies in.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from math import sqrt
from pathlib import Path

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
UNTOUCHED = (ast.JoinedStr, ast.Raise, ast.Assert)  # what people read, what never happens
FIRST_ROOMS = ("lab", "report")  # of which twice as many functions are chosen
Defined = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutation:
    """``start`` and ``end``: bytes of the file that ``after`` takes the place of."""

    kind: str
    line: int
    start: int
    end: int
    before: str
    after: str


@dataclass(frozen=True)
class Function:
    """A function of the product. ``path``: its file below the root; ``source``: the text of the whole file."""

    path: str
    name: str
    node: Defined
    source: bytes
    is_compiled: bool

    @property
    def room(self) -> str:
        """The folder directly under the package that it lies in; the file, where it lies in none."""
        return self.path.split("/")[1].removesuffix(".py")

    @cached_property
    def text(self) -> str:
        """Its own text."""
        lines = self.source.splitlines(keepends=True)
        return b"".join(lines[self.node.lineno - 1 : self.node.end_lineno]).decode()

    @property
    def first_line(self) -> int:
        """Of what it does: behind its docstring, with the decorators of what it defines."""
        body = self.node.body
        spoken = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1
        first = body[1] if spoken else body[0]
        return min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", []))])

    def rank(self, seed: int, of: str = "") -> str:
        """Its place in the order in which functions are drawn."""
        return hashlib.sha256(f"{seed} {of} {self.name} {self.text}".encode()).hexdigest()

    def mutations(self) -> list[Mutation]:
        """Every mistake there can be in it, in the order of the text."""
        offsets = [0]
        for line in self.source.splitlines(keepends=True):
            offsets.append(offsets[-1] + len(line))
        found = []
        for kind, old, after in _mistakes(self.node, self.is_compiled):
            start = offsets[old.lineno - 1] + old.col_offset
            end = offsets[(old.end_lineno or old.lineno) - 1] + (old.end_col_offset or 0)
            before = self.source[start:end].decode()
            found.append(Mutation(kind, old.lineno, start, end, before, after))
        return sorted(found, key=lambda each: (each.start, each.end, each.after))


@dataclass(frozen=True)
class Mutant:
    """One function with one mistake."""

    function: Function
    mutation: Mutation

    @property
    def key(self) -> str:
        """The same in every tree in which the function has the same text."""
        made = f"{self.function.name} {self.function.text} {self.mutation.before} {self.mutation.after}"
        place = self.mutation.line - self.function.node.lineno
        return hashlib.sha256(f"{made} {place}".encode()).hexdigest()[:16]

    @property
    def source(self) -> bytes:
        """The file with the mistake in it."""
        whole, change = self.function.source, self.mutation
        return whole[: change.start] + change.after.encode() + whole[change.end :]


def functions(root: Path, package: str = "archsim") -> list[Function]:
    """Functions and methods of a package with a body of their own, by path and place."""
    texts = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted((root / package).rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    compilers = {node.name for tree in trees.values() for node in tree.body if _compiles(node)}
    return [
        Function(path, name, node, texts[path], _is_decorated(node, compilers))
        for path, tree in trees.items()
        for name, node in _defined(tree)
    ]


def chosen(found: list[Function], number: int, seed: int) -> list[Mutant]:
    """One mistake in each of ``number`` functions, spread over rooms by the root of their sizes, first rooms first."""
    rooms: dict[str, list[Function]] = defaultdict(list)
    for function in sorted(found, key=lambda each: each.rank(seed)):
        if function.mutations():
            rooms[function.room].append(function)
    shares = _shares({room: len(inside) for room, inside in rooms.items()}, number)
    order = sorted(rooms, key=lambda room: (room not in FIRST_ROOMS, room))
    return [_mistake(function, seed) for room in order for function in _mixed(rooms[room])[: shares[room]]]


def _mixed(found: list[Function]) -> list[Function]:
    """Compiled functions and others by turns, as long as there are both: the few compiled ones do most of the work."""
    kinds = [[each for each in found if each.is_compiled is kind] for kind in (True, False)]
    return [each for turn in zip_longest(*kinds) for each in turn if each is not None]


def _shares(sizes: dict[str, int], number: int) -> dict[str, int]:
    """How many of each room: one at a time to the room that is farthest below its part."""
    weights = {room: sqrt(size) * (2 if room in FIRST_ROOMS else 1) for room, size in sizes.items()}
    given = dict.fromkeys(sizes, 0)
    for _ in range(min(number, sum(sizes.values()))):
        open_rooms = sorted(room for room in sizes if given[room] < sizes[room])
        given[min(open_rooms, key=lambda room: (given[room] + 1) / weights[room])] += 1
    return given


def _mistake(function: Function, seed: int) -> Mutant:
    """Of a kind drawn first, so that the frequent ones do not crowd out the rest; returns, which are easily caught, are
    drawn where there is nothing else."""
    drawn = int(function.rank(seed, "mistake"), 16)
    every = function.mutations()
    kinds = sorted({mutation.kind for mutation in every} - {"return"}) or ["return"]
    of_kind = [mutation for mutation in every if mutation.kind == kinds[drawn % len(kinds)]]
    return Mutant(function, of_kind[drawn // len(kinds) % len(of_kind)])


def _compiles(node: ast.stmt) -> bool:
    """Whether a function is a decorator that has Numba compile what it is given."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(part, ast.Attribute) and part.attr in ("njit", "Part") for part in ast.walk(node)
    )


def _is_decorated(node: Defined, by: set[str]) -> bool:
    names = (part for decorator in node.decorator_list for part in ast.walk(decorator))
    return any(
        (isinstance(n, ast.Name) and n.id in by) or (isinstance(n, ast.Attribute) and n.attr in by) for n in names
    )


def _defined(tree: ast.AST, above: str = "") -> Iterator[tuple[str, Defined]]:
    """Functions outside other functions, with their qualified names; those of Protocols have no body."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Defined):
            yield above + node.name, node
        elif isinstance(node, ast.ClassDef):
            if not any("Protocol" in ast.unparse(base) for base in node.bases):
                yield from _defined(node, f"{above}{node.name}.")
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _defined(node, above)


def _mistakes(node: Defined, is_compiled: bool) -> Iterator[tuple[str, ast.expr, str]]:
    """Kind, the expression that changes, what stands there instead."""
    defaults = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
    returns = ast.unparse(node.returns) if node.returns is not None else ""
    for part in [*_parts(*defaults), *_parts(*node.body)]:
        if isinstance(part, ast.expr):
            yield from _changed(part)
        for condition in _conditions(part):
            yield "condition", condition, f"(not ({ast.unparse(condition)}))"
        if isinstance(part, ast.Return) and part.value is not None and not is_compiled:
            value = ast.unparse(part.value)
            if returns == "bool":
                yield "return", part.value, f"(not ({value}))"
            elif value != "None":
                yield "return", part.value, "None"


def _parts(*nodes: ast.AST) -> Iterator[ast.AST]:
    """Everything in some nodes that may change."""
    for node in nodes:
        if isinstance(node, UNTOUCHED) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        yield node
        hidden = getattr(node, "annotation", None), getattr(node, "returns", None)
        yield from _parts(*(child for child in ast.iter_child_nodes(node) if child not in hidden))


def _conditions(part: ast.AST) -> list[ast.expr]:
    if isinstance(part, ast.If | ast.IfExp):
        return [part.test]
    return list(part.ifs) if isinstance(part, ast.comprehension) else []


def _changed(part: ast.expr) -> Iterator[tuple[str, ast.expr, str]]:
    other = deepcopy(part)
    if isinstance(other, ast.Compare) and len(other.ops) == 1:
        other.ops = [SWAPPED[type(other.ops[0])]()]  # type: ignore[list-item]
        yield "comparison", part, f"({ast.unparse(other)})"
        yield from _texts(part)
    elif isinstance(other, ast.BinOp | ast.BoolOp) and type(other.op) in SWAPPED:
        other.op = SWAPPED[type(other.op)]()  # type: ignore[assignment]
        yield "operator", part, f"({ast.unparse(other)})"
    elif isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Not | ast.USub):
        yield "operator", part, f"({ast.unparse(other.operand)})"
    elif isinstance(other, ast.Constant):
        yield from (("constant", part, text) for text in _constants(other.value))


def _constants(value: object) -> list[str]:
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [str(value + 1)]
    return [str(2 * value or 1.0)] if isinstance(value, float) else []


def _texts(part: ast.expr) -> Iterator[tuple[str, ast.expr, str]]:
    """Texts that something is compared with, which are names of the machine's."""
    for node in ast.iter_child_nodes(part):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
            yield "constant", node, repr(f"{node.value}_")
