"""The compiled machine and the machine of processes give the same Activity, whatever Program they run.

Of Programs whose queues, rings, clocks and ports are drawn at random, every count, phase and picosecond is compared. On
shared ports commands come and go at random, with uneven banks and clocks of their own, on both kinds of ports.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.banks import Banking
from archsim.ir.columns import ProgramColumns
from archsim.ir.program import Affine, CommandLoop, LoopEdge, Program, Semaphore, Token
from archsim.memory.chip_ports import ChipPorts
from archsim.memory.memory_port import BankConflict, MemoryPort, PortStreams
from archsim.memory.stream_facts import stream_facts
from archsim.sim.clock import ClockDomain
from archsim.sim.compiled_core import CompiledCore
from archsim.sim.events import EventLoop, ProcessBody
from archsim.sim.given_up import GivenUpError
from archsim.sim.program_tables import ProgramTables
from archsim.spec.architecture import Architecture
from archsim.system import Machine
from tests.laws.builders import (
    ARRAY,
    LOAD,
    STORE,
    VECTOR,
    chip,
    constant_dram,
    flat,
    host,
    matmul,
    move,
    pipeline,
    program,
    queue,
    ring,
    scratchpad,
    tensor,
    tokens,
    vector,
)
from tests.laws.two_machines import differences

EXACT = settings(max_examples=60, deadline=None, derandomize=True)

# ---- ports

BANKS = 4
CLOCKS = tuple(ClockDomain(hz) for hz in (10**9, 1_350_000_000, 700_000_000, 940_000_000))
Load = tuple[Fraction, list[tuple[list[int], Fraction, int]]]  # of all banks; of each conflict: loads, unit, turn
Job = tuple[int, ClockDomain, Fraction, dict[int, Load]]  # start, clock, cycles, load of each port

some = st.fractions(Fraction(1, 12), 1, max_denominator=12)
nearly = st.builds(lambda share, more: share + Fraction(more, 10**15), some, st.integers(0, 2))
conflicts = st.tuples(
    st.lists(st.integers(0, 3), min_size=BANKS, max_size=BANKS).filter(any),
    st.fractions(Fraction(1, 16), Fraction(1, 3), max_denominator=16),
    st.integers(0, BANKS - 1),
)
loads = st.tuples(some | nearly, st.lists(conflicts, max_size=2))
even_loads = st.tuples(some | nearly, st.just([]))
lengths = st.fractions(1, 40, max_denominator=7)


def jobs(of_port: Any, ports: int) -> Any:
    """Commands that come to some of so many ports."""
    wants = st.dictionaries(st.integers(0, ports - 1), of_port, min_size=1)
    return st.lists(st.tuples(st.integers(0, 20_000), st.sampled_from(CLOCKS), lengths, wants), min_size=1, max_size=14)


def streams_of(starter: Any, job: Job, ports: Mapping[int, MemoryPort]) -> PortStreams:
    """What a command asks of its ports."""
    _, clock, length, want = job
    exact, even, peaks, found = {}, {}, [], []
    for number, (plain, uneven) in want.items():
        port = ports[number]
        banks = [sum((words[bank] * unit for words, unit, _ in uneven), Fraction(0)) for bank in range(BANKS)]
        exact[port] = plain + sum(banks, Fraction(0)) / BANKS
        if uneven:
            even[port] = plain
            highest = sum((max(words) * unit for words, unit, _ in uneven), Fraction(0))
            peaks.append((port, float(plain + highest - exact[port])))
            of: Any = None
            found += [(BankConflict(port, of, Banking(BANKS, 1), words, unit), turn) for words, unit, turn in uneven]
    return PortStreams(
        starter,
        clock,
        length,
        (),
        exact,
        tuple((port, float(share)) for port, share in exact.items()),
        ceil(length),
        tuple(conflict for conflict, _ in found),
        even=even,
        peaks=tuple(peaks),
        turns=tuple(turn for _, turn in found),
    )


def ends(work: list[Job], *, compiled: bool) -> list[int]:
    """When each command ends."""
    event_loop = EventLoop()
    ports = {number: MemoryPort(f"m{number}.read", 1) for number in range(4)}
    starter: Any = ChipPorts(event_loop)
    if compiled:
        tables = ProgramTables(ProgramColumns(program()), {}, lambda _: ())
        for clock in CLOCKS:
            tables.clock(clock)
        starter = CompiledCore(
            tables, {}, event_loop, 1, 0, lambda streams, placed: stream_facts(streams, placed=placed), trace=False
        )
    found: dict[int, int] = {}

    def body(number: int) -> ProcessBody:
        yield event_loop.timeout(work[number][1].at_or_after(work[number][0]))
        flow = starter.begin(streams_of(starter, work[number], ports))
        yield flow.event
        assert flow.ended and flow.end_ps == event_loop.now
        found[number] = event_loop.now

    for number in range(len(work)):
        event_loop.start(body(number))
    event_loop.run()
    return [found[number] for number in range(len(work))]


@EXACT
@given(jobs(even_loads, 4))
def test_compiled_ports_are_as_fair(work: list[Job]) -> None:
    """Shares of up to four ports that differ by less than a floating-point number tells, on four clocks."""
    assert ends(work, compiled=True) == ends(work, compiled=False)


@EXACT
@given(jobs(loads, 2))
def test_compiled_banks_are_as_fair(work: list[Job]) -> None:
    """The same where streams load some banks more than others."""
    assert ends(work, compiled=True) == ends(work, compiled=False)


# ---- Programs


def assert_same(text: Program, on: Architecture) -> None:
    """Both machines give the same Activity."""
    assert differences(text, on) == []


hertz = st.sampled_from((10**9, 1_350_000_000, 700_000_000, 500_000_000))
small = st.integers(1, 60)
slots = st.integers(1, 4)


@st.composite
def chips(draw: st.DrawFn) -> Architecture:
    """The chip of the laws with ports so narrow that commands share them, and clocks of its parts."""
    clocks = {kind: draw(hertz) for kind in ("dma", "array", "vector")}
    banks, word = draw(st.sampled_from((1, 2, 3, 8))), draw(st.sampled_from((1, 4)))
    memories = [
        constant_dram("din", draw(st.sampled_from((1, Fraction(5, 2), 4)))),
        constant_dram("dout", draw(st.sampled_from((1, Fraction(2, 3))))),
        scratchpad("l1", banks, word_bytes=word, clock_hz=draw(hertz)),
    ]
    setup = {"setup_cycles": draw(st.integers(0, 5))}
    return chip(memories, clocks=clocks, sync_stages=draw(st.integers(0, 2)), dma=setup, host=host(draw(small), 2))


@EXACT
@given(chips(), st.integers(1, 12), st.tuples(small, small, small), slots, slots)
def test_compiled_pipelines_end_alike(
    on: Architecture, tiles: int, lengths: tuple[int, int, int], into: int, out: int
) -> None:
    """Load, compute and store, coupled by rings."""
    assert_same(pipeline(tiles, *lengths, slots_in=into, slots_out=out), on)


@st.composite
def meshes(draw: st.DrawFn) -> Program:
    """Four engines in loops: tiles come by a ring that two of them read, a semaphore orders what they write."""
    rounds, inner = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    pitch = draw(st.integers(1, 9))
    strided = Affine(0, (("i", 64 * pitch), ("k", pitch)))
    sizes = draw(st.tuples(*[st.integers(1, 9)] * 3))
    last = LoopEdge("last", "y")
    load = move(
        "load",
        "x",
        "in",
        draw(small),
        reads=(flat("src", "x", offset=strided),),
        waits=tokens("in.free"),
        signals=tokens("in.full"),
    )
    product = matmul(
        "mm", "in", "w", "acc", sizes, waits=(Token("in.full"),), signals=(Token("in.free"), Token("done", 1, (last,)))
    )
    other = vector("relu", "in", "u", draw(small), waits=tokens("in.full"), signals=tokens("in.free"))
    behind = move("store", "acc", "out", draw(small), waits=tokens("done"))
    queues = (
        queue(LOAD, CommandLoop("i", rounds, (CommandLoop("k", inner, (load,)),))),
        queue(ARRAY, CommandLoop("z", rounds, (CommandLoop("y", inner, (product,)),))),
        queue(VECTOR, CommandLoop("j", rounds * inner, (other,))),
        queue(STORE, CommandLoop("s", rounds, (behind,))),
    )
    return program(
        *queues,
        tensors=(
            tensor("x", "din"),
            tensor("w", "l1", base=2**16),
            tensor("u", "l1", base=2**17),
            tensor("acc", "l1", base=draw(st.integers(0, 7)) + 2**18),
            tensor("out", "dout"),
        ),
        rings=(ring("in", draw(slots), LOAD, ARRAY, VECTOR, base=draw(st.integers(0, 7))),),
        semaphores=(Semaphore("done", draw(st.integers(0, 1))),),
    )


@EXACT
@given(chips(), meshes())
def test_compiled_queues_with_two_readers_end_alike(on: Architecture, text: Program) -> None:
    """Loops in loops, strides, conditions, and slots that two readers give back."""
    assert_same(text, on)


def test_a_deadlock_is_left_to_the_machine_of_processes() -> None:
    """It names who waits for whom."""
    text = program(queue(LOAD, move("a", "x", "y", 4, waits=tokens("s"))), semaphores=(Semaphore("s"),),
                   tensors=(tensor("x", "din"), tensor("y", "l1")))  # fmt: skip
    with pytest.raises(GivenUpError, match="not all queues ended"):
        Machine(text, chip(), trace=True, compiled=True).run()
