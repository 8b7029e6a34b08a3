"""Unroll a Program: the sequence of concrete commands of each queue (this is the Program's meaning)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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


Run = tuple[Command, dict[str, int], dict[str, int]]
Fixed = tuple[dict[str, int] | None, Resolved | None, Resolved | None, bool | None]


def unroll(queue: Queue) -> Iterator[Step]:
    """Yield the queue's concrete commands in order."""
    name, index = queue.name, 0
    known: dict[int, Fixed] = {}
    for node in queue.body:
        runs: list[Run] = []
        _run(node, {}, {}, runs)
        for command, env, trips in runs:
            fixed = known.get(id(command))
            if fixed is None:
                fixed = known[id(command)] = _fixed(command)
            extents, waits, signals, fresh = fixed
            yield Step(
                name,
                index,
                command,
                env,
                {extent.dim: extent.at(env) for extent in command.extents} if extents is None else extents,
                _resolve(command.waits, env, trips) if waits is None else waits,
                _resolve(command.signals, env, trips) if signals is None else signals,
                holds(command.fresh, env, trips) if fresh is None else fresh,
            )
            index += 1


def _fixed(command: Command) -> Fixed:
    """Extents, waits, signals and freshness of a command where they are the same in all its repetitions, else None."""
    extents: dict[str, int] | None = {}
    if command.extents:
        limited = any([extent.limits for extent in command.extents])
        extents = None if limited else {extent.dim: max(extent.size, 0) for extent in command.extents}
    return extents, _always(command.waits), _always(command.signals), None if command.fresh else True


def _always(tokens: tuple[Token, ...]) -> Resolved | None:
    for token in tokens:
        if token.when:
            return None
    return tuple([(token.name, token.n) for token in tokens])


def _run(node: Node, env: dict[str, int], trips: dict[str, int], runs: list[Run]) -> None:
    """Append the runs of a node: commands with their loop indices and the trips of their loops."""
    if isinstance(node, Loop):
        inner = {**trips, node.var: node.trips}
        for value in range(node.trips):
            at = {**env, node.var: value}
            for each in node.body:
                _run(each, at, inner, runs)
    elif not node.when or holds(node.when, env, trips):
        runs.append((node, env, trips))


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
