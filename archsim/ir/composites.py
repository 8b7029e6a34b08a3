"""Composites: layers of a Workload, or nodes of a graph, that together are one thing to its reader (an attention).

A composite has no timing and no rule of its own; reports show it as one row with its parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

CompositeKind = Literal["attention", "gated_mlp", "moe", "norm", "cell"]
KINDS: tuple[CompositeKind, ...] = get_args(CompositeKind)


@dataclass(frozen=True, slots=True)
class Composite:
    """``members``: names of layers (of a Workload) or nodes (of a graph), in their order there."""

    name: str
    kind: CompositeKind
    members: tuple[str, ...]


def within(composites: Iterable[Composite], names: Iterable[str]) -> tuple[Composite, ...]:
    """The composites of which something is left where there are these layers alone, with what is left of each."""
    left = frozenset(names)
    kept = (replace(each, members=tuple(name for name in each.members if name in left)) for each in composites)
    return tuple(each for each in kept if each.members)
