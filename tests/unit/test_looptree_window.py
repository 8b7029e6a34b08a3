"""A tile that slides is fetched again in every loop above it; an operand is whole somewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archsim.base.errors import MappingError
from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.conventions import ARCHSIM
from mapper.looptree.counts import counts
from mapper.looptree.einsum import gemm
from mapper.looptree.hierarchy import READ, WRITE, Action, Compute, Hierarchy, Memory
from mapper.looptree.nest import Nest
from mapper.looptree.search.space import Space, check

ALL = frozenset("IWO")
ONE = {action: Action(1.0, 1.0) for action in (READ, WRITE)}
TWO = Hierarchy(
    "two",
    (Memory("Main", None, ALL, frozenset(), ONE), Memory("Buffer", 64, frozenset(), ALL, ONE)),
    Compute("MAC", Action(1, 1, 0)),
)
EINSUM = gemm(8, 4, 2)
MAIN = tuple(Keep(operand, "Main", 1, at) for at, operand in enumerate("IWO"))
REST = (Loop("k", 1), Loop("n", 1))


def nest(*nodes: MapNode) -> Nest:
    return Nest(EINSUM, (*MAIN, *nodes))


@pytest.mark.parametrize(("slides", "fetched"), [(False, 32), (True, 64)])
def test_a_window_starts_anew(slides: bool, fetched: int) -> None:
    """Two iterations of n: a tile that stays is read once, one of which only a window stays is read twice."""
    tree = nest(Loop("n", 1), Keep("I", "Buffer", 1, 6 if slides else 4), Loop("m", 1), *REST[:1])
    assert counts(tree, TWO, replace(ARCHSIM, slots=1))["Main", "I", READ] == fetched


def test_an_operand_is_whole_somewhere() -> None:
    space = Space(EINSUM, TWO)
    below = Nest(EINSUM, (Loop("m", 1), *(Keep(o, "Main", 1, at + 1) for at, o in enumerate("IWO")), *REST))
    with pytest.raises(MappingError, match="operand 'I' is whole nowhere: its outermost tile, in 'Main'"):
        check(below, space)
    check(nest(Loop("m", 1), *REST), space)
