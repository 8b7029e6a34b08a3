"""Loops taken apart: what becomes of conditions, places and names in one iteration, or in those of another loop."""

from __future__ import annotations

import pytest

from archsim.ir.program import Affine, Clip, Command, CommandLoop, Extent, LoopEdge, Region, Token
from mapper.lower.indexed import IndexAt, Iteration

FIRST, LAST = LoopEdge("first", "v"), LoopEdge("last", "v")


def at(index: IndexAt, trips: int) -> Iteration:
    return Iteration({"v": index}, {"v": trips}, "~copy", {"ring": 16})


def found(index: IndexAt, trips: int, *when: LoopEdge) -> tuple[LoopEdge, ...] | None:
    return at(index, trips).when(when)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_at_a_number_an_edge_holds_or_does_not(number: int) -> None:
    for edge, holds in ((FIRST, number == 0), (LAST, number == 2)):
        assert found(IndexAt(number), 3, edge) == (() if holds else None)
        assert found(IndexAt(number), 3, edge.__class__(edge.kind, edge.var, True)) == (None if holds else ())


def test_the_only_iteration_is_first_and_last() -> None:
    assert found(IndexAt(0), 1, FIRST, LAST) == ()


def test_edges_of_a_loop_that_stands_for_another_one() -> None:
    """Of five iterations a loop over w has the middle three, the first four, or all but the first."""
    middle, early, late = IndexAt(1, "w", 3), IndexAt(0, "w", 4), IndexAt(1, "w", 4)
    assert found(middle, 5, FIRST) is None and found(middle, 5, LAST) is None
    assert found(early, 5, FIRST) == (LoopEdge("first", "w"),) and found(early, 5, LAST) is None
    assert found(late, 5, FIRST) is None and found(late, 5, LAST) == (LoopEdge("last", "w"),)
    assert found(middle, 5, LoopEdge("first", "v", True)) == ()
    assert found(early, 5, LoopEdge("first", "v", True)) == (LoopEdge("first", "w", True),)


def test_an_edge_amid_a_loop_is_a_mistake_of_the_caller() -> None:
    """No condition says so: who takes a loop apart lets its first and last iterations stand for themselves."""
    with pytest.raises(AssertionError, match="lies amid the turns"):
        found(IndexAt(-1, "w", 3), 5, FIRST)
    with pytest.raises(AssertionError, match="lies amid the turns"):
        found(IndexAt(1, "w", 5), 5, LAST)


def test_loops_inside_are_copied_under_other_names() -> None:
    inner = LoopEdge("last", "k")
    assert found(IndexAt(0), 3, FIRST, inner) == (LoopEdge("last", "k~copy"),)
    command = Command("l.c", "VECTOR", "l", when=(FIRST, inner))
    (loop,) = at(IndexAt(0), 3).nodes((CommandLoop("k", 4, (command,)),))
    assert isinstance(loop, CommandLoop) and (loop.var, loop.trips) == ("k~copy", 4)
    assert at(IndexAt(1), 3).nodes((CommandLoop("k", 4, (command,)),)) == ()


def test_places_move_with_the_other_loop() -> None:
    index = at(IndexAt(2, "w", 3), 9)
    assert index.affine(Affine(7, (("v", 10), ("k", 3)))) == Affine(27, (("w", 10), ("k~copy", 3)))
    assert at(IndexAt(2), 9).affine(Affine(7, (("v", 10),))) == Affine(27, ())
    both = Iteration({"v": IndexAt(1, "w", 3), "u": IndexAt(-2, "w", 3)}, {"v": 9, "u": 9})
    assert both.affine(Affine(0, (("v", 10), ("u", 1)))) == Affine(8, (("w", 11),))


def test_all_of_a_command_is_there() -> None:
    region = Region("out", "ring", 1, (("i", 1),), Affine(0, (("v", 4),)), (Clip("i", Affine(0, (("v", 1),)), 5),))
    command = Command(
        "l.c",
        "VECTOR",
        "l",
        waits=(Token("a", when=(FIRST,)), Token("b", when=(LAST,)), Token("c", 2)),
        signals=(Token("d", when=(LoopEdge("first", "v", True),)),),
        extents=(Extent("i", 8, (Affine(20, (("v", -8),)),)),),
        writes=(region,),
    )
    (made,) = at(IndexAt(2), 3).nodes((command,))
    assert isinstance(made, Command)
    assert made.waits == (Token("b"), Token("c", 2)) and made.signals == (Token("d"),)
    assert made.extents[0].limits == (Affine(4, ()),)
    assert made.writes[0].offset == Affine(8 + 16, ()), "what lies in the ring lies further on"
    assert made.writes[0].clips == (Clip("i", Affine(2, ()), 5),)
