"""Waits that have no command of their own: those of a SYNC go to the command behind it.

A core that has no part in a command still takes the tokens that order later ones. A SYNC that only takes tokens takes
no time; the next command of its queue can take them as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from archsim.ir.program import Command, CommandLoop, LoopEdge, ProgramNode, Token, When


def fused(nodes: Iterable[ProgramNode]) -> tuple[ProgramNode, ...]:
    """The same nodes of one layer with the waits of each SYNC that only waits at the command behind it, where there is
    one that is sure to run whenever the SYNC does; a loop that only waits in its first turn is none.
    """
    found: list[ProgramNode] = []
    for node in map(_simple, nodes):
        last = found[-1] if found else None
        taking = _taking(node, last) if isinstance(last, Command) and only_waits(last) else None
        if taking is None:
            found.append(node)
        else:
            found[-1] = taking
    return tuple(found)


def _simple(node: ProgramNode) -> ProgramNode:
    """A loop with what is in it fused, without the loop if that is a SYNC in its first turn."""
    if isinstance(node, Command):
        return node
    body, first = fused(node.body), LoopEdge("first", node.var)
    sync = body[0]
    if len(body) == 1 and isinstance(sync, Command) and only_waits(sync) and _runs_once(sync, first):
        waits = tuple([Token(token.name, token.n, _without(first, token.when)) for token in sync.waits])
        return replace(sync, waits=waits, when=_without(first, sync.when))
    return CommandLoop(node.var, node.trips, body)


def _runs_once(sync: Command, first: LoopEdge) -> bool:
    """Whether it runs in the first turn of a loop, and nothing else of it depends on the turn."""
    edges = [*sync.when, *(edge for token in sync.waits for edge in token.when)]
    return first in sync.when and all(edge == first for edge in edges if edge.var == first.var)


def only_waits(command: Command) -> bool:
    """Whether a command takes tokens and does nothing else; a slot that retains bytes is taken by a command that says
    so."""
    return command.op == "SYNC" and not command.signals and not command.retains


def _taking(node: ProgramNode, sync: Command) -> ProgramNode | None:
    """``node`` with the waits of the SYNC before it; None where it might not run when that does."""
    return _with(node, [Token(token.name, token.n, _both(sync.when, token.when)) for token in sync.waits], sync.when)


def _with(node: ProgramNode, waits: Sequence[Token], when: When) -> ProgramNode | None:
    """``waits`` are taken before what ``node`` does first, in the first turns of its loops."""
    if isinstance(node, CommandLoop):
        first = LoopEdge("first", node.var)
        inner = [Token(token.name, token.n, (*token.when, first)) for token in waits]
        taking = _with(node.body[0], inner, (*when, first))
        return None if taking is None else CommandLoop(node.var, node.trips, (taking, *node.body[1:]))
    if any(edge not in when for edge in node.when):
        return None
    return node.with_tokens((*waits, *node.waits), node.signals)


def _both(when: When, other: When) -> When:
    return (*when, *(edge for edge in other if edge not in when))


def _without(edge: LoopEdge, when: When) -> When:
    return tuple([each for each in when if each != edge])
