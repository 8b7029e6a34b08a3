"""Unroll a Program: the sequence of concrete commands of each queue (this is the Program's meaning)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from archsim.ir.program import Command, Loop, Node, Queue, Region, Token, When

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


class _Text:
    """A command where it stands in its loops, with what its repetitions share."""

    __slots__ = ("_edges", "_extents", "_given", "_trips", "_vars", "command")

    def __init__(self, command: Command, trips: dict[str, int]) -> None:
        self.command = command
        self._trips = trips
        conditions = [*[token.when for token in (*command.waits, *command.signals) if token.when], command.fresh]
        edges = dict.fromkeys([(edge.kind, edge.var) for when in conditions for edge in when])
        self._edges = [(var, 0 if kind == "first" else trips[var] - 1) for kind, var in edges]
        limits = [limit for extent in command.extents for limit in extent.limits]
        self._vars = list(dict.fromkeys([var for limit in limits for var, _ in limit.terms]))
        self._given: dict[tuple[bool, ...], Given] = {}  # by which of the edges the loops are at
        self._extents: dict[tuple[int, ...], dict[str, int]] = {}  # by the variables that limit them

    def runs(self, env: dict[str, int]) -> bool:
        """Whether the command is run at loop indices ``env``."""
        when = self.command.when
        return not when or holds(when, env, self._trips)

    def given(self, env: dict[str, int]) -> Given:
        """Its waits, its signals, and whether it is fresh."""
        key = tuple([env[var] == at for var, at in self._edges]) if self._edges else ()
        found = self._given.get(key)
        if found is None:
            command, trips = self.command, self._trips
            waits, signals = _resolve(command.waits, env, trips), _resolve(command.signals, env, trips)
            found = self._given[key] = waits, signals, holds(command.fresh, env, trips)
        return found

    def extents(self, env: dict[str, int]) -> dict[str, int]:
        """Its clamped extents."""
        key = tuple([env[var] for var in self._vars]) if self._vars else ()
        found = self._extents.get(key)
        if found is None:
            found = self._extents[key] = {extent.dim: extent.at(env) for extent in self.command.extents}
        return found


class _Repeat(NamedTuple):
    """A loop of texts and loops."""

    var: str
    trips: int
    body: list[_Text | _Repeat]


def unroll(queue: Queue) -> Iterator[Step]:
    """Yield the queue's concrete commands in order."""
    name, index = queue.name, 0
    for node in queue.body:
        runs: list[tuple[_Text, dict[str, int]]] = []
        _run(_placed(node, {}), {}, runs)
        for text, env in runs:
            waits, signals, fresh = text.given(env)
            yield Step(name, index, text.command, env, text.extents(env), waits, signals, fresh)
            index += 1


def _placed(node: Node, trips: dict[str, int]) -> _Text | _Repeat:
    """A node in loops of so many ``trips``."""
    if isinstance(node, Loop):
        inner = {**trips, node.var: node.trips}
        return _Repeat(node.var, node.trips, [_placed(each, inner) for each in node.body])
    return _Text(node, trips)


def _run(node: _Text | _Repeat, env: dict[str, int], runs: list[tuple[_Text, dict[str, int]]]) -> None:
    """Append the runs of a node: texts with their loop indices."""
    if isinstance(node, _Repeat):
        for value in range(node.trips):
            at = {**env, node.var: value}
            for each in node.body:
                _run(each, at, runs)
    elif node.runs(env):
        runs.append((node, env))


def holds(when: When, env: dict[str, int], trips: dict[str, int]) -> bool:
    """Whether every literal of ``when`` is true at loop indices ``env``."""
    for edge in when:
        at = env[edge.var]
        edge_value = 0 if edge.kind == "first" else trips[edge.var] - 1
        if (at == edge_value) == edge.negated:
            return False
    return True


def _resolve(tokens: tuple[Token, ...], env: dict[str, int], trips: dict[str, int]) -> Resolved:
    return tuple([(token.name, token.n) for token in tokens if not token.when or holds(token.when, env, trips)])
