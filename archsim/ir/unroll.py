"""Unroll a Program: the sequence of concrete commands of each queue (this is the Program's meaning)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archsim.ir.program import Command, Loop, Node, Queue, Token, When


@dataclass(frozen=True, slots=True)
class Step:
    """One concrete command: ``index`` in its queue, loop indices ``env``, clamped ``extents``, tokens resolved.

    ``waits`` and ``signals`` are (token name, n) in text order, conditions applied.
    """

    queue: str
    index: int
    command: Command
    env: dict[str, int]
    extents: dict[str, int]
    waits: tuple[tuple[str, int], ...]
    signals: tuple[tuple[str, int], ...]
    fresh: bool

    @property
    def is_empty(self) -> bool:
        """Whether an extent is 0, beyond the end of a dim: then the command does nothing but take and give tokens."""
        return 0 in self.extents.values()

    @property
    def where(self) -> str:
        """Name and loop indices, for messages: ``conv1.load_w[k=1, p=3]``."""
        indices = ", ".join(f"{var}={value}" for var, value in self.env.items())
        return f"{self.command.name}[{indices}]" if indices else self.command.name


def unroll(queue: Queue) -> Iterator[Step]:
    """Yield the queue's concrete commands in order."""
    for index, (command, env, trips) in enumerate(_walk(queue.body, {}, {})):
        yield _step(queue.name, index, command, env, trips)


def _walk(
    body: tuple[Node, ...], env: dict[str, int], trips: dict[str, int]
) -> Iterator[tuple[Command, dict[str, int], dict[str, int]]]:
    for node in body:
        if isinstance(node, Loop):
            inner = {**trips, node.var: node.trips}
            for value in range(node.trips):
                yield from _walk(node.body, {**env, node.var: value}, inner)
        elif holds(node.when, env, trips):
            yield node, env, trips


def holds(when: When, env: dict[str, int], trips: dict[str, int]) -> bool:
    """Whether every literal of ``when`` is true at loop indices ``env``."""
    for edge in when:
        at = env[edge.var]
        edge_value = 0 if edge.kind == "first" else trips[edge.var] - 1
        if (at == edge_value) == edge.negated:
            return False
    return True


def _step(queue: str, index: int, command: Command, env: dict[str, int], trips: dict[str, int]) -> Step:
    return Step(
        queue,
        index,
        command,
        env,
        {extent.dim: extent.at(env) for extent in command.extents},
        _resolve(command.waits, env, trips),
        _resolve(command.signals, env, trips),
        holds(command.fresh, env, trips),
    )


def _resolve(tokens: tuple[Token, ...], env: dict[str, int], trips: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple((token.name, token.n) for token in tokens if not token.when or holds(token.when, env, trips))
