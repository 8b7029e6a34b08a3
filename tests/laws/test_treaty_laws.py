"""Laws of the Program: what the checker refuses before time 0, what tokens guarantee, and the exact text form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import MappingError, ProgramError
from archsim.ir.asm.magnitudes import check_magnitudes
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.form.declarations import commands_of
from archsim.ir.check.program import check
from archsim.ir.program import Command, CommandLoop, Program, ProgramNode
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Options, compile_model
from mapper.execute.run import Executor
from tests.laws.program_strategies import programs
from tests.tools.layers import Net, random_net, small_chip
from tests.unit.fixtures_check import chip

LAWS = settings(max_examples=50, deadline=None, derandomize=True)
INTERLEAVINGS = 20

# law 5 ---------------------------------------------------------------------------------------------------------------

PIPELINE = """
program pipeline on golden
layer l
tensor x in dram at 0 bytes {size} dtype int8 role inputs shape [{n}, 8] preloaded
tensor y in dram at 4096 bytes {size} dtype int8 role outputs shape [{n}, 8]
ring i in l1 at 0 slots {inputs} bytes 8 dtype int8 role inputs writer dma readers vector
ring o in l1 at 1024 slots {outputs} bytes 8 dtype int8 role outputs writer vector readers dma
queue dma engine load unit dma:
{moves}
queue vector engine vector unit vpu:
    for t in {n}:
        VECTOR l.work [j=8] function relu passes 1 dtypes int8 in0 i{{j:1}} out o{{j:1}}
            wait i.full, o.free signal i.free, o.full
"""


def pipeline(n: int, inputs: int, outputs: int, behind: int) -> Program:
    """Loads and stores in one in-order queue; the store of tile t stands behind the load of tile t + ``behind``."""
    lines = []
    for tile in range(n + behind):
        if tile < n:
            lines.append(f"    MOVE l.load{tile} [j=8] src x{{j:1}}+{8 * tile} dst i{{j:1}} wait i.free signal i.full")
        if tile >= behind:
            done = tile - behind
            lines.append(f"    MOVE l.store{done} [j=8] src o{{j:1}} dst y{{j:1}}+{8 * done} wait o.full signal o.free")
    text = PIPELINE.format(n=n, size=8 * n, inputs=inputs, outputs=outputs, moves="\n".join(lines))
    return parse_program(text)


def merged() -> Architecture:
    return replace(chip(), dma=replace(chip().dma, merged=True))


@given(n=st.integers(3, 9))
@LAWS
def test_law_5_store_two_behind_one_slot_each_is_a_named_deadlock(n: int) -> None:
    """Law 5: load 2 waits for the input slot, its reader for the output slot, and the store stands behind load 2."""
    with pytest.raises(ProgramError) as error:
        check(pipeline(n, 1, 1, 2), merged())
    first, load, work = str(error.value).splitlines()
    assert first == "deadlock: these commands wait for each other in a cycle"
    assert "l.load2 (command 2 of dma) waits for 1 'i.free'" in load
    assert "the next is given by l.work[t=1] (command 1 of vector)" in load
    assert "l.work[t=1] (command 1 of vector) waits for 1 'o.free'" in work
    assert "the next is given by l.store0 (command 3 of dma)" in work


@given(n=st.integers(1, 9), inputs=st.integers(1, 3), outputs=st.integers(1, 3), behind=st.integers(0, 5))
@LAWS
def test_law_5_deadlock_exactly_when_slots_are_short(n: int, inputs: int, outputs: int, behind: int) -> None:
    """Law 5, for any depth: ``behind`` tiles are loaded ahead of a store; they need as many slots in all."""
    program = pipeline(n, inputs, outputs, behind)
    if min(n, behind + 1) > inputs + outputs and behind:
        with pytest.raises(ProgramError, match="deadlock"):
            check(program, merged())
    else:
        check(program, merged())


# law 7 ---------------------------------------------------------------------------------------------------------------

WEIGHTS = """
program weights on golden
layer l1, l2
tensor x in dram at 0 bytes 16 dtype int8 role weights shape [2, 8] preloaded
tensor u in l1 at 4096 bytes 8 dtype int8 role outputs shape [8]
ring a in l1 at 0 slots {slots} bytes 8 dtype int8 role weights writer load readers vector
ring b in l1 at {base} slots {slots} bytes 8 dtype int8 role weights writer load readers vector
semaphore left
queue load engine load unit dma:
    for i in {n}:
        MOVE l1.load [j=8] src x{{j:1}} dst a{{j:1}} wait a.free signal a.full
    for k in {n}:
        MOVE l2.load [j=8] src x{{j:1}}+8 dst b{{j:1}} wait {fence}b.free signal b.full
queue vector engine vector unit vpu:
    for i in {n}:
        VECTOR l1.use [j=8] function relu passes 1 dtypes int8 in0 a{{j:1}} out u{{j:1}}
            wait a.full signal a.free{leave}
    for k in {n}:
        VECTOR l2.use [j=8] function relu passes 1 dtypes int8 in0 b{{j:1}} out u{{j:1}} wait b.full signal b.free
"""


def weights(n: int, slots: int, shift: int, fenced: bool) -> Program:
    """Layer 2's weights lie on layer 1's (``shift`` bytes up); the fence is given by the last use in layer 1."""
    fence = ("left if first(k), ", ", left if last(i)") if fenced else ("", "")
    return parse_program(WEIGHTS.format(n=n, slots=slots, base=shift, fence=fence[0], leave=fence[1]))


@given(n=st.integers(1, 6), slots=st.integers(1, 3), shift=st.integers(0, 7))
@LAWS
def test_law_7_next_layer_waits_for_the_last_reader(n: int, slots: int, shift: int) -> None:
    """Law 7: without the fence the checker refuses; with it no move of layer 2 starts before layer 1's last reader."""
    with pytest.raises(ProgramError, match="overlap: ring 'a' and ring 'b'"):
        check(weights(n, slots, shift, fenced=False), chip())
    program = weights(n, slots, shift, fenced=True)
    check(program, chip())
    records = simulate(program, chip()).records
    assert records["load"][n].start_ps >= records["vector"][n - 1].end_ps


@given(n=st.integers(1, 6), slots=st.integers(1, 3))
@LAWS
def test_law_7_slot_is_not_loaded_before_its_last_reader_signalled(n: int, slots: int) -> None:
    """Law 7 inside a ring: giving the slot back before reading it is refused as soon as the ring goes around."""
    program = weights(n, slots, 8 * slots, fenced=True)
    check(program, chip())
    records = simulate(program, chip()).records
    for tile in range(slots, n):
        assert records["load"][tile].start_ps >= records["vector"][tile - slots].end_ps
    early = _signal_early(program)
    if n > slots:
        with pytest.raises(ProgramError, match="live slot overwritten"):
            check(early, chip())
    else:
        check(early, chip())


def _signal_early(program: Program) -> Program:
    """Layer 1 gives each slot back in a command of its own before it reads the slot."""
    use = next(c for queue in program.queues for c in commands_of(queue.body) if c.name == "l1.use")
    free = replace(use, signals=tuple(token for token in use.signals if token.name != "a.free"), waits=())
    release = Command("l1.release", "SYNC", "l1", waits=use.waits, signals=use.signals[:1])
    return replace(program, queues=tuple(replace(q, body=_put(q.body, use, (release, free))) for q in program.queues))


def _put(body: tuple[ProgramNode, ...], old: ProgramNode, new: tuple[ProgramNode, ...]) -> tuple[ProgramNode, ...]:
    found: list[ProgramNode] = []
    for node in body:
        if isinstance(node, CommandLoop):
            found.append(replace(node, body=_put(node.body, old, new)))
        else:
            found += new if node is old else (node,)
    return tuple(found)


# law 42 --------------------------------------------------------------------------------------------------------------


def outputs(program: Program, values: dict[str, Any], names: list[str], seed: int) -> list[Any]:
    executor = Executor(program, numbers="float64", seed=seed)
    for tensor in program.tensors:
        if tensor.preloaded:
            executor.fill(tensor.name, values[tensor.name])
    executor.run()
    return [executor.values(name) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_law_42_what_the_checker_accepts_computes_the_model(seed: int) -> None:
    """Law 42 on compiled networks: with any order between layers removed, the checker refuses or it was not needed."""
    net, workload = random_net(seed)
    small = small_chip(1 << (11 + seed % 4), 1 << 11)
    try:
        program = compile_model(workload, small, Options()).program
    except MappingError:
        pytest.skip("the network does not fit this chip")
    check(program, small)
    names = [name for name, tensor in workload.tensors.items() if tensor.kind == "output"]
    assert names
    assert _right(program, net, names, 0)
    for semaphore in program.semaphores:
        weaker = _without(program, semaphore.name)
        try:
            check(weaker, small)
        except ProgramError as error:
            assert "race" in str(error) or "overlap" in str(error) or "unwritten" in str(error)
            continue
        assert all(_right(weaker, net, names, interleaving) for interleaving in range(6))


def _without(program: Program, token: str) -> Program:
    """The Program without a semaphore, neither given nor taken."""

    def strip(body: tuple[ProgramNode, ...]) -> tuple[ProgramNode, ...]:
        return tuple(
            replace(node, body=strip(node.body))
            if isinstance(node, CommandLoop)
            else replace(
                node,
                waits=tuple(wait for wait in node.waits if wait.name != token),
                signals=tuple(signal for signal in node.signals if signal.name != token),
            )
            for node in body
        )

    kept = tuple(semaphore for semaphore in program.semaphores if semaphore.name != token)
    queues = tuple(replace(queue, body=strip(queue.body)) for queue in program.queues)
    return replace(program, queues=queues, semaphores=kept)


def _right(program: Program, net: Net, names: list[str], seed: int) -> bool:
    """Whether an interleaving computes what NumPy does (a read of bytes nobody wrote raises inside the executor)."""
    found = outputs(program, net.values, names, seed)
    return all(np.array_equal(value, net.values[name]) for name, value in zip(names, found, strict=True))


# law 43 --------------------------------------------------------------------------------------------------------------


def workable(program: Program) -> bool:
    """Whether the numbers of a Program are those of one that a machine could hold and run."""
    try:
        check_magnitudes(program)
    except ProgramError:
        return False
    return True


@given(program=programs().filter(workable))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_law_43_assembly_round_trips(program: Program) -> None:
    """Law 43: the listing of any Program reads back to an equal Program, and prints the same again."""
    text = print_program(program)
    again = parse_program(text)
    assert again == program
    assert print_program(again) == text


@pytest.mark.parametrize("seed", range(6))
def test_law_43_compiled_programs_round_trip(seed: int) -> None:
    """Law 43 on what the compiler makes."""
    _, workload = random_net(seed)
    program = compile_model(workload, small_chip(), Options()).program
    assert parse_program(print_program(program)) == program
