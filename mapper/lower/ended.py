"""What a queue gives when it is done with some nodes: at the end of the last command, where one is sure to be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from archsim.ir.program import CommandLoop, LoopEdge, ProgramNode, Token, When


def ended(nodes: Sequence[ProgramNode], signals: tuple[Token, ...], loops: When = ()) -> tuple[ProgramNode, ...] | None:
    """The nodes with ``signals`` at the end of the last command, in the last turn of its ``loops``.

    None where none is sure to be the last one.
    """
    if not nodes:
        return None
    last = nodes[-1]
    if isinstance(last, CommandLoop):
        inner = ended(last.body, signals, _last_turns(loops, last.var))
        return None if inner is None else (*nodes[:-1], CommandLoop(last.var, last.trips, inner))
    if any(edge not in loops for edge in last.when):
        return None
    given = tuple([Token(token.name, token.n, loops) for token in signals])
    return (*nodes[:-1], last.with_tokens(last.waits, (*last.signals, *given)))


@lru_cache(maxsize=1024)
def _last_turns(loops: When, var: str) -> When:
    """The last turns of ``loops`` and of the one over ``var`` in them: one object for all cores."""
    return (*loops, LoopEdge("last", var))
