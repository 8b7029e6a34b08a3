"""Tokens judged before time 0: deadlock with its cycle, tokens lost or missing, slots signalled too early."""

from __future__ import annotations

import numpy as np
import pytest

from archsim.base.errors import ProgramError
from archsim.ir.asm.parser import parse_program
from archsim.ir.check.program import check
from archsim.ir.check.tokens.ledger import build_ledger
from archsim.ir.check.tokens.run import HappensBefore, run_tokens
from archsim.ir.columns import ProgramColumns
from tests.unit.fixtures_check import chip

HEAD = """
program p on golden
layer l
tensor x in dram at 0 bytes 64 dtype int8 role inputs shape [64] preloaded
"""
QUEUES = {
    "load": "queue load engine load unit dma:",
    "store": "queue store engine store unit dma:",
    "array": "queue array engine array unit mxu:",
    "vector": "queue vector engine vector unit vpu:",
}


def syncs(declarations: str = "", **bodies: str) -> str:
    """A Program of SYNC commands: one ``NAME clauses`` a line, in loops if it says so."""
    text = HEAD + declarations + "\n"
    for name, header in QUEUES.items():
        text += header + "\n"
        for line in bodies.get(name, "").strip("\n").split("\n"):
            words = line.strip()
            if words:
                indent = line[: len(line) - len(line.lstrip())]
                text += f"    {indent}{words}\n" if words.startswith("for ") else f"    {indent}SYNC l.{words}\n"
    return text


def run(text: str) -> HappensBefore:
    program = parse_program(text)
    return run_tokens(build_ledger(ProgramColumns(program)))


def clocks(order: HappensBefore, queue: int) -> np.ndarray:
    """How many commands of each queue (columns) have ended when each command of ``queue`` (rows) starts."""
    return order.ended(queue, np.arange(order.counts[queue])[:, None], np.arange(len(order.counts)))


def message(text: str) -> str:
    with pytest.raises(ProgramError) as error:
        check(parse_program(text), chip())
    return str(error.value)


# deadlock --------------------------------------------------------------------------------------------


def test_cycle_of_two_names_both_heads_with_loop_indices() -> None:
    text = syncs(
        "semaphore s\nsemaphore t",
        load="for i in 3:\n    a wait s if last(i) signal t if last(i)",
        array="for j in 3:\n    b wait t if last(j) signal s if last(j)",
    )
    assert message(text) == (
        "deadlock: these commands wait for each other in a cycle\n"
        "  l.a[i=2] (command 2 of load) waits for 1 's' and there are 0; "
        "the next is given by l.b[j=2] (command 2 of array)\n"
        "  l.b[j=2] (command 2 of array) waits for 1 't' and there are 0; "
        "the next is given by l.a[i=2] (command 2 of load)"
    )


def test_cycle_leaves_out_queues_that_only_wait_for_it() -> None:
    text = syncs(
        "semaphore s\nsemaphore t\nsemaphore u",
        load="a wait u",
        store="b wait s signal t",
        array="c wait t signal s\nd signal u",
    )
    found = message(text)
    assert "l.b" in found and "l.c" in found
    assert "l.a (command" not in found


def test_queue_that_waits_for_itself() -> None:
    assert "the next is given by itself (command 0 of load)" in message(syncs("semaphore s", load="a wait s signal s"))


def test_token_that_nobody_gives() -> None:
    found = message(syncs("semaphore s", load="a signal s", array="b wait s*2"))
    assert found.startswith("deadlock: a token that nobody gives\n")
    assert "l.b (command 0 of array) waits for 2 's' and there are 1; no command left gives one" in found


def test_several_givers_are_all_counted() -> None:
    run(syncs("semaphore s", load="a signal s", store="b signal s", array="c wait s*2"))
    found = message(syncs("semaphore s", load="a signal s", store="b signal s", array="c wait s*3"))
    assert "waits for 3 's' and there are 2" in found


# lost tokens -----------------------------------------------------------------------------------------


def test_token_nobody_takes() -> None:
    found = message(syncs("semaphore s", load="a signal s"))
    assert found == (
        "lost tokens: 's' starts at 0 and ends at 1 instead of 0; load gives 1, the last by l.a; nobody takes any"
    )


def test_more_given_than_taken_names_givers_and_taker() -> None:
    text = syncs("semaphore s", load="for i in 2:\n    a signal s", store="b signal s", array="c wait s")
    assert message(text) == (
        "lost tokens: 's' starts at 0 and ends at 2 instead of 0; load gives 2, the last by l.a[i=1]; "
        "store gives 1, the last by l.b; array takes 1, the last by l.c"
    )


def test_initial_tokens_count() -> None:
    run(syncs("semaphore s initial 2", array="c wait s*2"))
    assert "ends at 1 instead of 0" in message(syncs("semaphore s initial 2", array="c wait s"))


RING = "ring r in l1 at 0 slots 2 bytes 8 dtype int8 role inputs writer load readers array, vector"


def test_ring_slot_is_free_when_all_readers_have_signalled() -> None:
    load = "for i in 3:\n    a wait r.free signal r.full"
    reader = "for {0} in 3:\n    {0} wait r.full signal r.free"
    check(parse_program(syncs(RING, load=load, array=reader.format("j"), vector=reader.format("k"))), chip())
    found = message(syncs(RING, load=load, array=reader.format("j"), vector="d wait r.full signal r.free"))
    assert found.startswith("lost tokens: 'r.full' starts at 0 and ends at 2 instead of 0; load gives 3")
    assert "vector takes 1, the last by l.d" in found


def test_one_slow_reader_blocks_the_writer() -> None:
    text = syncs(
        RING + "\nsemaphore go",
        load="for i in 3:\n    a wait r.free signal r.full, go if last(i)",
        array="for j in 3:\n    b wait r.full signal r.free",
        vector="for k in 3:\n    c wait r.full, go if first(k) signal r.free",
    )
    found = message(text)
    assert "l.a[i=2] (command 2 of load) waits for 1 'r.free' and there are 0" in found
    assert "the next is given by l.c[k=0] (command 0 of vector)" in found


@pytest.mark.parametrize(
    ("load", "array", "expected"),
    [
        ("a signal r.full\nb wait r.free", "c wait r.full signal r.free", "signals slot 0 of ring 'r' full before it"),
        ("a wait r.free signal r.full", "b signal r.free\nc wait r.full", "signals slot 0 of ring 'r' free before it"),
        (
            "a wait r.free*2 signal r.full",
            "b wait r.full signal r.free",
            "takes 2 slots of ring 'r' and signals 1 full",
        ),
        ("a wait r.free signal r.full*2", "b wait r.full*2 signal r.free", "takes 1 slots of ring 'r' and signals 2"),
    ],
)
def test_slots_are_signalled_as_often_as_taken_and_not_before(load: str, array: str, expected: str) -> None:
    ring = RING.replace("array, vector", "array")
    assert expected in message(syncs(ring, load=load, array=array))


# happens before --------------------------------------------------------------------------------------


def test_clocks_follow_queue_order_and_tokens() -> None:
    order = run(
        syncs(
            "semaphore s\nsemaphore t",
            load="a\nb signal s\nc",
            array="d\ne wait s\nf signal t",
            vector="g wait t",
        )
    )
    load, store, array, vector = range(4)
    assert clocks(order, array).tolist() == [[0, 0, 0, 0], [2, 0, 1, 0], [2, 0, 2, 0]]
    assert clocks(order, vector).tolist() == [[2, 0, 3, 0]]
    assert clocks(order, load)[:, array].tolist() == [0, 0, 0]
    assert clocks(order, store).shape == (0, 4)


def test_two_givers_order_only_what_the_other_could_not_give() -> None:
    text = "semaphore s"
    one = run(syncs(text, load="a signal s\nb signal s", store="c signal s", array="d wait s\ne wait s\nf wait s"))
    # d may have had the store's token; e needs one of the load's two at least; f needs all.
    assert clocks(one, 2)[:, 0].tolist() == [0, 1, 2]
    assert clocks(one, 2)[:, 1].tolist() == [0, 0, 1]


def test_clocks_hold_in_random_interleavings() -> None:
    """Whatever order the tokens allow, a command starts after those that its clock counts."""
    text = syncs(
        RING + "\nsemaphore s",
        load="for i in 5:\n    a wait r.free signal r.full\nb signal s",
        store="for m in 3:\n    c signal s",
        array="for j in 5:\n    d wait r.full signal r.free\ne wait s*3\nf wait s",
        vector="for k in 5:\n    g wait r.full signal r.free",
    )
    program = parse_program(text)
    ledger = build_ledger(ProgramColumns(program))
    order = run_tokens(ledger)
    random = np.random.default_rng(0)
    for _ in range(50):
        done = [0] * len(ledger.steps)
        taken = dict.fromkeys(ledger.draws, 0)
        while any(count < len(ledger.steps[queue]) for queue, count in enumerate(done)):
            ready = []
            for queue, count in enumerate(done):
                if count < len(ledger.steps[queue]):
                    needs = [(queue, token, n) for token, n in ledger.steps[queue][count].waits]
                    if all(
                        source.available(done) - taken[q, token] >= n
                        for q, token, n in needs
                        for source in ledger.draws[q, token].sources
                    ):
                        ready.append(queue)
            queue = int(random.choice(ready))
            assert (clocks(order, queue)[done[queue]] <= np.array(done)).all()
            for token, n in ledger.steps[queue][done[queue]].waits:
                taken[queue, token] += n
            done[queue] += 1
