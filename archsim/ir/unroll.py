"""Unroll a Program: the sequence of concrete commands of each queue (this is the Program's meaning)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from archsim.ir.program import Command, Loop, Node, Queue, Region, When

Resolved = tuple[tuple[str, int], ...]  # (token name, n)


@dataclass(slots=True)  # frozen ones take three times as long to make, and there are many
class Step:
    """One concrete command: ``index`` in its queue, loop indices ``env``, clamped ``extents``, tokens resolved.

    ``waits`` and ``signals`` are in text order, conditions applied. Steps share what is equal: nobody
    may change one.
    """

    queue: str
    index: int
    command: Command
    env: dict[str, int]
    extents: dict[str, int]
    waits: Resolved
    signals: Resolved
    fresh: bool

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


Given = tuple[Resolved, Resolved, bool]
Condition = list[tuple[int, bool]]  # numbers of edges, each with where it may not be


class _Text:
    """A command where it stands in its loops, with what its repetitions share. ``known``: resolved tokens of its queue,
    of which equal ones are one object.
    """

    __slots__ = ("_edges", "_extents", "_fresh", "_given", "_known", "_signals", "_vars", "_waits", "_when", "command")

    def __init__(self, command: Command, trips: dict[str, int], known: dict[Resolved, Resolved]) -> None:
        self.command = command
        self._known = known
        self._edges: dict[tuple[str, int], int] = {}  # (variable, where it is at the edge) -> number
        self._when = self._condition(command.when, trips)
        self._waits = [(self._condition(token.when, trips), (token.name, token.n)) for token in command.waits]
        self._signals = [(self._condition(token.when, trips), (token.name, token.n)) for token in command.signals]
        self._fresh = self._condition(command.fresh, trips)
        self._given: dict[tuple[bool, ...], Given | None] = {}  # by which of the edges the loops are at
        limits = [limit for extent in command.extents for limit in extent.limits]
        self._vars = list(dict.fromkeys([var for limit in limits for var, _ in limit.terms]))
        self._extents: dict[tuple[int, ...], dict[str, int]] = {}  # by the variables that limit them

    def given(self, env: dict[str, int]) -> Given | None:
        """Its waits, its signals and whether it is fresh at loop indices ``env``; None where it is not run."""
        key = tuple([env[var] == at for var, at in self._edges]) if self._edges else ()
        if key not in self._given:
            self._given[key] = self._resolve(key) if _holds(self._when, key) else None
        return self._given[key]

    def extents(self, env: dict[str, int]) -> dict[str, int]:
        """Its clamped extents."""
        key = tuple([env[var] for var in self._vars]) if self._vars else ()
        found = self._extents.get(key)
        if found is None:
            found = self._extents[key] = {extent.dim: extent.at(env) for extent in self.command.extents}
        return found

    def _resolve(self, key: tuple[bool, ...]) -> Given:
        waits = tuple([token for when, token in self._waits if not when or _holds(when, key)])
        signals = tuple([token for when, token in self._signals if not when or _holds(when, key)])
        known = self._known
        return known.setdefault(waits, waits), known.setdefault(signals, signals), _holds(self._fresh, key)

    def _condition(self, when: When, trips: dict[str, int]) -> Condition:
        edges = self._edges
        found = []
        for edge in when:
            at = 0 if edge.kind == "first" else trips[edge.var] - 1
            found.append((edges.setdefault((edge.var, at), len(edges)), edge.negated))
        return found


def _holds(condition: Condition, key: tuple[bool, ...]) -> bool:
    """Whether every literal is true where the loops are at these edges."""
    for number, negated in condition:
        if key[number] == negated:
            return False
    return True


class _Repeat(NamedTuple):
    """A loop of texts and loops."""

    var: str
    trips: int
    body: list[_Text | _Repeat]


def unroll(queue: Queue) -> Iterator[Step]:
    """Yield the queue's concrete commands in order."""
    name, index = queue.name, 0
    known: dict[Resolved, Resolved] = {}
    for node in queue.body:
        for text, env, (waits, signals, fresh) in _runs(_placed(node, {}, known), {}):
            yield Step(name, index, text.command, env, text.extents(env), waits, signals, fresh)
            index += 1


def _placed(node: Node, trips: dict[str, int], known: dict[Resolved, Resolved]) -> _Text | _Repeat:
    """A node in loops of so many ``trips``."""
    if isinstance(node, Loop):
        inner = {**trips, node.var: node.trips}
        return _Repeat(node.var, node.trips, [_placed(each, inner, known) for each in node.body])
    return _Text(node, trips, known)


def _runs(node: _Text | _Repeat, env: dict[str, int]) -> Iterator[tuple[_Text, dict[str, int], Given]]:
    """The runs of a node: texts with their loop indices."""
    if isinstance(node, _Repeat):
        for value in range(node.trips):
            at = {**env, node.var: value}
            for each in node.body:
                yield from _runs(each, at)
    else:
        given = node.given(env)
        if given is not None:
            yield node, env, given
