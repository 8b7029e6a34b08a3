"""Who waits for whom when nothing can happen any more.

For every blocked queue: its head command with loop indices, each token that is missing, and the next command that
would signal it. A circle of such waits is named; without one, tokens are missing (lost, or never signalled).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archsim.ir.unroll import Step, unroll
from archsim.sim.queue import TokenQueue
from archsim.sim.wiring import Wiring


def report(queues: Sequence[TokenQueue], wiring: Wiring, now_ps: int) -> str:
    """The message of the SimulationError for ``queues``, of which at least one is blocked."""
    blocked = {queue.name: queue for queue in queues if queue.lacking()}
    everyone = {queue.name: queue for queue in queues}
    lines = [f"deadlock at {now_ps} ps: {len(blocked)} of {len(queues)} queues are blocked for good"]
    edges: dict[str, list[str]] = {}
    for queue in blocked.values():
        edges[queue.name] = []
        for token, needed, present in queue.lacking():
            givers = [everyone[name] for name in wiring.givers(queue.name, token)]
            edges[queue.name] += [giver.name for giver in givers if _next_signal(giver, token) is not None]
            lines.append(f"  {_waiting(queue)} for {token} ({present} of {needed}); {_signallers(givers, token)}")
    cycle = _cycle(edges)
    if cycle:
        lines.append(f"wait cycle: {' -> '.join([*cycle, cycle[0]])} (each waits for a signal of the next)")
    else:
        lines.append("no wait cycle: the missing tokens are never signalled")
    return "\n".join(lines)


def _waiting(queue: TokenQueue) -> str:
    head = queue.head
    return f"{queue.name}: {head.where} (command {head.index}) waits" if head else queue.name


def _signallers(givers: Sequence[TokenQueue], token: str) -> str:
    found = [(giver, step) for giver in givers if (step := _next_signal(giver, token)) is not None]
    if not found:
        return "no command that is left would signal it"
    return "would be signalled by " + ", ".join(
        f"{giver.name}: {step.where} (command {step.index})" for giver, step in found
    )


def _next_signal(queue: TokenQueue, token: str) -> Step | None:
    """The first command of ``queue`` that has not ended and signals ``token``."""
    if queue.ended or queue.head is None:
        return None
    for step in unroll(queue.queue):
        if step.index >= queue.head.index and any(name == token for name, _ in step.signals):
            return step
    return None


def _cycle(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """A circle in the wait-for graph, found in the order of its nodes; empty when there is none."""
    done: set[str] = set()
    for start in edges:
        path: list[str] = []
        found = _walk(start, edges, path, done)
        if found:
            return found
    return []


def _walk(node: str, edges: Mapping[str, Sequence[str]], path: list[str], done: set[str]) -> list[str]:
    if node in path:
        return path[path.index(node) :]
    if node in done:
        return []
    path.append(node)
    for giver in edges.get(node, ()):
        found = _walk(giver, edges, path, done)
        if found:
            return found
    path.pop()
    done.add(node)
    return []
