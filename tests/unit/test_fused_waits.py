"""Waits of SYNCs go to the commands behind them: the same tokens are taken in the same order."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.ir.program import Command, CommandLoop, LoopEdge, ProgramNode, Queue, Token, When
from archsim.ir.unroll import unroll
from mapper.lower.fused import fused


def sync(name: str, when: When = (), signals: tuple[str, ...] = ()) -> Command:
    given = tuple(Token(each) for each in signals)
    return Command(f"l.{name}", "SYNC", "l", waits=(Token(name, when=when),), signals=given, when=when)


def work(name: str, when: When = ()) -> Command:
    return Command(f"l.{name}", "VECTOR", "l", waits=(Token(f"{name}.full"),), when=when)


def events(nodes: tuple[ProgramNode, ...]) -> list[tuple[str, ...]]:
    """What a queue does, in order: each token taken, each given, each command that is not a SYNC."""
    found: list[tuple[str, ...]] = []
    for step in unroll(Queue("core[0].vector", "vector", "vpu", nodes)):
        found += [("takes", name) for name, _ in step.waits]
        if step.command.op != "SYNC":
            found.append(("runs", step.where))
        found += [("gives", name) for name, _ in step.signals]
    return found


def names(nodes: tuple[ProgramNode, ...]) -> list[str]:
    return [name for node in nodes for name in (names(node.body) if isinstance(node, CommandLoop) else [node.name])]


def test_waits_in_a_row_are_one() -> None:
    nodes = (sync("a"), sync("b"), work("c"))
    assert names(fused(nodes)) == ["l.c"]
    assert events(fused(nodes)) == events(nodes)


def test_what_signals_stays() -> None:
    nodes = (sync("a", signals=("t",)), sync("b"), work("c"))
    assert names(fused(nodes)) == ["l.a", "l.c"]


def test_a_slot_that_keeps_bytes_is_taken_by_the_command_that_says_so() -> None:
    """Taken by the command behind it, the slot would keep nothing of the one before."""
    keeping = replace(sync("a"), retains=True)
    nodes = (sync("b"), keeping, work("c"))
    assert names(fused(nodes)) == ["l.a", "l.c"]
    assert events(fused(nodes)) == events(nodes)
    first = fused(nodes)[0]
    assert isinstance(first, Command) and first.retains
    loop = (CommandLoop("i", 4, (replace(keeping, when=(LoopEdge("first", "i"),)),)),)
    assert fused(loop) == loop


def test_a_loop_that_only_waits_in_its_first_turn_is_none() -> None:
    first = LoopEdge("first", "i")
    nodes = (CommandLoop("i", 4, (sync("a", (first,)),)), CommandLoop("i", 4, (sync("b", (first,)), work("c"))))
    assert names(fused(nodes)) == ["l.c"]
    assert events(fused(nodes)) == events(nodes)


def test_a_command_that_is_not_sure_to_run_takes_nothing() -> None:
    nodes = (sync("a"), work("c", (LoopEdge("last", "i"),)))
    assert fused(nodes) == nodes
    every_turn = (CommandLoop("i", 3, (sync("a"), work("c", (LoopEdge("first", "i"),)))),)
    assert fused(every_turn) == every_turn


@st.composite
def bodies(draw: st.DrawFn, depth: int = 0) -> tuple[ProgramNode, ...]:
    """Nodes in the loops over v0, v1, ... of which ``depth`` are around them."""
    edges = [LoopEdge(kind, f"v{at}") for kind in ("first", "last") for at in range(depth)]
    found: list[ProgramNode] = []
    for at in range(draw(st.integers(1, 4))):
        when = tuple(draw(st.lists(st.sampled_from(edges), unique=True, max_size=2))) if edges else ()
        kind = draw(st.sampled_from(["wait", "wait", "both", "work"] + ["loop"] * (depth < 2)))
        if kind == "loop":
            found.append(CommandLoop(f"v{depth}", draw(st.integers(1, 3)), draw(bodies(depth + 1))))
        elif kind == "work":
            found.append(work(f"w{depth}{at}", when))
        else:
            found.append(sync(f"s{depth}{at}", when, ("t",) if kind == "both" else ()))
    return tuple(found)


@settings(max_examples=200, deadline=None)
@given(bodies())
def test_the_same_happens_in_the_same_order(nodes: tuple[ProgramNode, ...]) -> None:
    assert events(fused(nodes)) == events(nodes)
