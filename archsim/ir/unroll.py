"""Unroll a Program: the sequence of concrete commands of each queue (this is the Program's meaning)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any, NamedTuple

from archsim.ir.program import Command, CommandLoop, LoopEdge, ProgramNode, Queue, Region, When

ResolvedTokens = tuple[tuple[str, int], ...]  # (token name, n)


@dataclass(slots=True)  # frozen ones take three times as long to make, and there are many
class Step:
    """One concrete command: ``index`` in its queue, loop indices ``env``, clamped ``extents``, tokens resolved.

    ``waits`` and ``signals`` are in text order, conditions applied. Steps share what is equal: nobody
    may change one. ``takes``, ``gives``: what who runs the queue has made of the waits and the signals; ``kept``: what
    it keeps of the command for its repetitions, which share it.
    """

    queue: str
    index: int
    command: Command
    env: dict[str, int]
    extents: dict[str, int]
    waits: ResolvedTokens
    signals: ResolvedTokens
    fresh: bool
    takes: Any
    gives: Any
    kept: dict[Any, Any]

    def operand(self, number: int) -> Region:
        """The operand of this number among what the command reads, then writes."""
        reads = self.command.reads
        return reads[number] if number < len(reads) else self.command.writes[number - len(reads)]

    @property
    def is_empty(self) -> bool:
        """Whether an extent is 0, beyond the end of a dim: then the command does nothing but take and give tokens."""
        return 0 in self.extents.values()

    @property
    def where(self) -> str:
        """Name and loop indices, for messages: ``conv1.load_w[k=1, p=3]``."""
        indices = ", ".join(f"{var}={value}" for var, value in self.env.items())
        return f"{self.command.name}[{indices}]" if indices else self.command.name


CommandGiven = tuple[dict[str, int], ResolvedTokens, ResolvedTokens, bool, Any, Any]
Edges = dict[tuple[str, str], int]  # (kind, variable) -> the bit that says that its loop is there
Condition = tuple[int, int]  # (bits that matter, which of them are to be set)
Guarded = tuple[Condition, tuple[str, int]]  # a token and when
ALWAYS, NEVER = (0, 0), (0, 1)


class _Tokens:
    """The resolved tokens of a queue, of which equal ones are one object, with what ``make`` has made of them."""

    def __init__(self, make: Callable[[ResolvedTokens], Any]) -> None:
        self._make = make
        self._known: dict[ResolvedTokens, tuple[ResolvedTokens, Any]] = {}

    def of(self, tokens: Sequence[Guarded], at: int) -> tuple[ResolvedTokens, Any]:
        """Those of ``tokens`` whose conditions hold where the loops are ``at`` these edges."""
        given = tuple([token for (matter, wanted), token in tokens if at & matter == wanted])
        found = self._known.get(given)
        if found is None:
            found = self._known[given] = given, self._make(given)
        return found


class _Text:
    """A command where it stands in its loops, with what its repetitions share."""

    __slots__ = (
        *("_extents", "_fresh", "_given", "_gives", "_matter", "_signals", "_takes", "_vars", "_waits", "_when"),
        *("command", "kept"),
    )

    def __init__(self, command: Command, edges: Edges, takes: _Tokens, gives: _Tokens) -> None:
        self.command = command
        self.kept: dict[Any, Any] = {}
        self._takes = takes
        self._gives = gives
        self._when = _condition(command.when, edges)
        self._waits = [(_condition(token.when, edges), (token.name, token.n)) for token in command.waits]
        self._signals = [(_condition(token.when, edges), (token.name, token.n)) for token in command.signals]
        self._fresh = _condition(command.fresh, edges)
        self._matter = self._when[0] | self._fresh[0]
        for (matter, _), _ in (*self._waits, *self._signals):
            self._matter |= matter
        self._given: dict[
            Any, CommandGiven | None
        ] = {}  # by the bits that matter to it and the variables that limit it
        self._vars = list(dict.fromkeys([var for e in command.extents for limit in e.limits for var, _ in limit.terms]))
        self._extents: dict[tuple[int, ...], dict[str, int]] = {}  # by these

    def given(self, at: int, env: dict[str, int]) -> CommandGiven | None:
        """Its clamped extents, its waits and signals, whether it is fresh and what was made of these tokens, at loop
        indices ``env`` where the loops are ``at`` these edges; None if it is not run there.
        """
        key: Any = at & self._matter
        if self._vars:
            key = key, *[env[var] for var in self._vars]
        if key not in self._given:
            self._given[key] = self._resolve(at, env)
        return self._given[key]

    def _resolve(self, at: int, env: dict[str, int]) -> CommandGiven | None:
        matter, wanted = self._when
        if at & matter != wanted:
            return None
        limits = tuple([env[var] for var in self._vars])
        extents = self._extents.get(limits)
        if extents is None:
            extents = self._extents[limits] = {
                extent.dim: extent.at(env) if extent.limits or extent.size < 0 else extent.size
                for extent in self.command.extents
            }
        waits, takes = self._takes.of(self._waits, at)
        signals, gives = self._gives.of(self._signals, at)
        matter, wanted = self._fresh
        return extents, waits, signals, at & matter == wanted, takes, gives


def _condition(when: When, edges: Edges) -> Condition:
    if not when:
        return ALWAYS
    wanted = banned = 0
    for edge in when:
        if edge.negated:
            banned |= edges[edge.kind, edge.var]
        else:
            wanted |= edges[edge.kind, edge.var]
    return NEVER if wanted & banned else (wanted | banned, wanted)


def _nothing(tokens: ResolvedTokens) -> None:
    """What is made of ``tokens`` where nobody runs them."""


class _Repeat(NamedTuple):
    """A loop of texts and loops; ``first``, ``last``: the bits of its edges."""

    var: str
    trips: int
    first: int
    last: int
    body: list[_Text | _Repeat]


def unroll(
    queue: Queue, takes: Callable[[ResolvedTokens], Any] = _nothing, gives: Callable[[ResolvedTokens], Any] = _nothing
) -> Iterator[Step]:
    """Yield the queue's concrete commands in order.

    ``takes``, ``gives``: what to make of waits and signals, once for all commands that share them.
    """
    taking, giving = _Tokens(takes), _Tokens(gives)
    numbers = count()
    for node in queue.body:
        yield from _steps([_placed(node, {}, taking, giving)], {}, 0, queue.name, numbers)


def count_commands(queue: Queue) -> int:
    """How many concrete commands ``unroll`` yields, without doing so."""
    return sum(_count(node, {}) for node in queue.body)


def _count(node: ProgramNode, trips: dict[str, int]) -> int:
    """Commands of a node in loops that run so often."""
    if isinstance(node, CommandLoop):
        inner = {**trips, node.var: node.trips}
        return sum(_count(each, inner) for each in node.body)
    return count_runs(node.when, trips)


def count_runs(when: When, trips: Mapping[str, int]) -> int:
    """How often ``when`` holds inside loops that run so often; ``trips``: of each loop by its variable."""
    wanted = {var: [edge for edge in when if edge.var == var] for var in trips}
    return prod(_rounds(trips[var], edges) for var, edges in wanted.items())


def _rounds(trips: int, edges: Sequence[LoopEdge]) -> int:
    """Rounds of a loop in which all these conditions of it hold: of the first, those between, and the last."""
    kinds = [(True, False, 1), (False, False, trips - 2), (False, True, 1)] if trips > 1 else [(True, True, trips)]
    return sum(
        rounds
        for first, last, rounds in kinds
        if all((first if edge.kind == "first" else last) != edge.negated for edge in edges)
    )


def _placed(node: ProgramNode, edges: Edges, takes: _Tokens, gives: _Tokens) -> _Text | _Repeat:
    """A node in loops that have these ``edges``."""
    if not isinstance(node, CommandLoop):
        return _Text(node, edges, takes, gives)
    first, last = 1 << len(edges), 2 << len(edges)
    inner = {**edges, ("first", node.var): first, ("last", node.var): last}
    return _Repeat(node.var, node.trips, first, last, [_placed(each, inner, takes, gives) for each in node.body])


def _steps(
    nodes: Sequence[_Text | _Repeat], env: dict[str, int], at: int, queue: str, numbers: Iterator[int]
) -> Iterator[Step]:
    """The commands of nodes in order. ``at``: the edges at which the loops around them are."""
    for node in nodes:
        if isinstance(node, _Text):
            given = node.given(at, env)
            if given is not None:
                yield Step(queue, next(numbers), node.command, env, *given, node.kept)
            continue
        var, trips, first, last, body = node
        for value in range(trips):
            edges = (0 if value else first) | (last if value == trips - 1 else 0)
            yield from _steps(body, {**env, var: value}, at | edges, queue, numbers)
