"""Tokens at run time: semaphores, rings with several readers, underflow, deadlock reports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archsim.base.errors import ProgramError, SimulationError
from archsim.ir.program import Command, CommandLoop, LoopEdge, Semaphore, Token
from archsim.system import simulate
from tests.laws.builders import (
    ARRAY,
    LOAD,
    STORE,
    VECTOR,
    chip,
    move,
    program,
    queue,
    ring,
    tensor,
    tokens,
    vector,
)

TENSORS = (tensor("x", "din"), tensor("y", "dout"), tensor("t", "l1", base=2**18))


def test_a_slot_is_free_when_all_readers_have_signalled() -> None:
    """Two readers at different speeds: the writer follows the slower one, slot by slot."""
    text = program(
        queue(
            LOAD, CommandLoop("i", 4, (move("load", "x", "r", 2, waits=tokens("r.free"), signals=tokens("r.full")),))
        ),
        queue(
            VECTOR,
            CommandLoop("j", 4, (vector("slow", "r", "t", 20, waits=tokens("r.full"), signals=tokens("r.free")),)),
        ),
        queue(
            STORE, CommandLoop("k", 4, (move("fast", "r", "y", 3, waits=tokens("r.full"), signals=tokens("r.free")),))
        ),
        tensors=TENSORS,
        rings=(ring("r", 2, LOAD, VECTOR, STORE),),
    )
    records = simulate(text, chip()).records
    assert [r.start_ps for r in records[LOAD]] == [0, 2_000, 22_000, 42_000]
    assert [r.critical for r in records[LOAD]] == [None, None, (VECTOR, 0), (VECTOR, 1)]
    assert [r.start_ps for r in records[STORE]] == [2_000, 5_000, 24_000, 44_000]
    assert [r.critical for r in records[STORE]] == [(LOAD, 0), None, (LOAD, 2), (LOAD, 3)]


def test_counting_semaphores() -> None:
    """Waits and signals of n tokens, initial tokens, conditions; a wait met before its turn costs nothing."""
    give = move("give", "x", "t", 5, signals=(Token("s"), Token("s", 2, when=(LoopEdge("last", "i"),))))
    text = program(
        queue(LOAD, CommandLoop("i", 3, (give,))),
        queue(
            VECTOR, vector("a", "t", "t", 1, waits=(Token("s", 3),)), vector("b", "t", "t", 1, waits=(Token("s", 3),))
        ),
        tensors=TENSORS,
        semaphores=(Semaphore("s", 1),),
    )
    first, second = simulate(text, chip()).records[VECTOR]
    assert (first.start_ps, first.critical) == (10_000, (LOAD, 1))
    assert (second.start_ps, second.critical) == (15_000, (LOAD, 2))
    assert simulate(replace(text, semaphores=(Semaphore("s", 6),)), chip()).records[VECTOR][1].critical is None


def test_the_same_token_twice_in_one_wait_is_their_sum() -> None:
    text = program(
        queue(LOAD, CommandLoop("i", 2, (move("give", "x", "t", 5, signals=tokens("s")),))),
        queue(VECTOR, vector("a", "t", "t", 1, waits=tokens("s", "s"))),
        tensors=TENSORS,
        semaphores=(Semaphore("s"),),
    )
    assert simulate(text, chip()).records[VECTOR][0].start_ps == 10_000


def test_a_token_that_comes_when_the_command_becomes_head_is_no_wait() -> None:
    """critical is None iff the command did not wait."""
    text = program(
        queue(LOAD, move("give", "x", "t", 7, signals=tokens("s"))),
        queue(VECTOR, vector("a", "t", "t", 7), vector("b", "t", "t", 1, waits=tokens("s"))),
        tensors=TENSORS,
        semaphores=(Semaphore("s"),),
    )
    record = simulate(text, chip()).records[VECTOR][1]
    assert (record.head_ps, record.start_ps, record.critical) == (7_000, 7_000, None)


def test_lost_tokens_are_reported_without_a_cycle() -> None:
    """Nobody is left to signal: the report names each blocked queue, its token and what would have come."""
    text = program(
        queue(LOAD, CommandLoop("i", 2, (move("give", "x", "t", 7, signals=tokens("s")),))),
        queue(VECTOR, CommandLoop("j", 3, (vector("take", "t", "t", 1, waits=tokens("s")),))),
        queue(STORE, move("late", "t", "y", 4, waits=tokens("u"))),
        tensors=TENSORS,
        semaphores=(Semaphore("s"), Semaphore("u")),
    )
    with pytest.raises(SimulationError) as caught:
        simulate(text, chip())
    assert str(caught.value).splitlines() == [
        "deadlock at 15000 ps: 2 of 3 queues are blocked for good",
        "  core[0].vector: take[j=2] (command 2) waits for s (0 of 1); no command that is left would signal it",
        "  core[0].store: late (command 0) waits for u (0 of 1); no command that is left would signal it",
        "no wait cycle: the missing tokens are never signalled",
    ]


def test_the_reader_that_holds_a_slot_is_named() -> None:
    """Of two readers of a full ring only the one that did not signal is blamed; the circle goes through it."""
    text = program(
        queue(
            LOAD,
            CommandLoop("i", 2, (move("load", "x", "r", 2, waits=tokens("r.free"), signals=tokens("r.full")),)),
            move("more", "x", "t", 2, signals=tokens("s")),
        ),
        queue(
            STORE, CommandLoop("k", 2, (move("fast", "r", "y", 3, waits=tokens("r.full"), signals=tokens("r.free")),))
        ),
        queue(VECTOR, vector("slow", "r", "t", 4, waits=tokens("r.full", "s"), signals=tokens("r.free"))),
        tensors=TENSORS,
        rings=(ring("r", 1, LOAD, VECTOR, STORE),),
        semaphores=(Semaphore("s"),),
    )
    with pytest.raises(SimulationError) as caught:
        simulate(text, chip())
    message = str(caught.value)
    assert (
        "load[i=1] (command 1) waits for r.free (0 of 1); would be signalled by core[0].vector: slow (command 0)"
        in message
    )
    assert "slow (command 0) waits for s (0 of 1); would be signalled by core[0].load: more (command 2)" in message
    assert "wait cycle: core[0].load -> core[0].vector -> core[0].load" in message


def test_a_queue_can_wait_for_itself() -> None:
    text = program(
        queue(LOAD, move("a", "x", "t", 2, waits=tokens("s")), move("b", "x", "t", 2, signals=tokens("s"))),
        tensors=TENSORS,
        semaphores=(Semaphore("s"),),
    )
    with pytest.raises(SimulationError, match=r"wait cycle: core\[0\].load -> core\[0\].load"):
        simulate(text, chip())


def test_underflow() -> None:
    """A reader may give back, and a writer announce, only slots that it took."""
    twice = vector("use", "r", "t", 1, waits=tokens("r.full"), signals=tokens("r.free", "r.free"))
    load = move("load", "x", "r", 2, waits=tokens("r.free"), signals=tokens("r.full"))
    text = program(queue(LOAD, load), queue(VECTOR, twice), tensors=TENSORS, rings=(ring("r", 2, LOAD, VECTOR),))
    with pytest.raises(
        SimulationError, match=r"token underflow at 3000 ps: command 0 of core\[0\].vector signals r.free"
    ):
        simulate(text, chip())
    unpaid = replace(text, queues=(queue(LOAD, move("load", "x", "r", 2, signals=tokens("r.full"))), queue(VECTOR)))
    with pytest.raises(SimulationError, match=r"signals r.full for the 1th time, having taken 0 of r.free"):
        simulate(unpaid, chip())


def test_tokens_that_are_not_a_queues_own() -> None:
    """The machine refuses what it cannot connect."""
    take, give = tokens("s"), tokens("r.full")
    load = queue(LOAD, move("load", "x", "t", 2, waits=take))
    text = program(
        load,
        tensors=TENSORS,
        semaphores=(Semaphore("s", 1),),
        rings=(ring("r", 1, LOAD, VECTOR), ring("q", 1, VECTOR, STORE)),
    )
    text = replace(text, queues=(load, queue(VECTOR), queue(STORE)))
    simulate(text, chip())
    stranger = replace(text, queues=(load, queue(VECTOR), queue(STORE, move("store", "t", "y", 2, signals=give))))
    with pytest.raises(ProgramError, match=r"'core\[0\].store' signals 'r.full'; only core\[0\].load may"):
        simulate(stranger, chip())
    two = replace(text, queues=(load, queue(VECTOR), queue(STORE, move("store", "t", "y", 2, waits=take))))
    with pytest.raises(ProgramError, match="semaphore 's' is waited on by"):
        simulate(two, chip())
    unknown = replace(
        text, queues=(queue(LOAD, move("load", "x", "t", 2, waits=tokens("ss"))), queue(VECTOR), queue(STORE))
    )
    with pytest.raises(ProgramError, match=r"waits for 'ss', which it does not take \(did you mean 's'\?\)"):
        simulate(unknown, chip())
    lost = replace(
        text, queues=(queue(LOAD, move("load", "x", "t", 2, signals=tokens("ss"))), queue(VECTOR), queue(STORE))
    )
    with pytest.raises(ProgramError, match=r"signals unknown token 'ss' \(did you mean 's'\?\)"):
        simulate(lost, chip())
    orphan = replace(text, rings=(ring("r", 1, LOAD),))
    with pytest.raises(ProgramError, match="ring 'r': needs a writer and readers"):
        simulate(orphan, chip())


def test_a_signal_that_nobody_waits_for_is_allowed() -> None:
    text = program(
        queue(LOAD, move("load", "x", "t", 2, signals=tokens("done"))), tensors=TENSORS, semaphores=(Semaphore("done"),)
    )
    assert simulate(text, chip()).total_ps == 2_000


def test_sync_takes_no_time() -> None:
    """A SYNC passes tokens on at the instant they come."""
    text = program(
        queue(LOAD, move("load", "x", "t", 6, signals=tokens("a"))),
        queue(ARRAY, Command("barrier", "SYNC", "one", waits=tokens("a"), signals=tokens("b"))),
        queue(VECTOR, vector("use", "t", "t", 1, waits=tokens("b"))),
        tensors=TENSORS,
        semaphores=(Semaphore("a"), Semaphore("b")),
    )
    activity = simulate(text, chip())
    barrier = activity.records[ARRAY][0]
    assert (barrier.start_ps, barrier.end_ps, barrier.phases) == (6_000, 6_000, ())
    assert activity.records[VECTOR][0].critical == (ARRAY, 0)
    assert activity.total_ps == 7_000
