"""What Programs of groups need of the treaty: rings whose slots lie within one another, and that their writer reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archsim.base.errors import ProgramError
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.program import check
from archsim.ir.functions import Function
from archsim.ir.program import Program
from archsim.lab.run.job import BuiltJob, build
from archsim.lab.verify import model
from archsim.lab.verify.numbered import VerifyOptions
from archsim.spec.load import load
from archsim.system import simulate
from mapper.execute.run import Executor
from mapper.lower import window_padding
from tests.laws.two_machines import differences
from tests.unit.fixtures_groups import CONVOLUTIONS, IN_A_ROW, saved

OWN = """program p on edge_npu
layer l
tensor x in dram at 0 bytes 12 dtype int8 role inputs shape [12] preloaded
tensor y in dram at 64 bytes 12 dtype int8 role outputs shape [12]
ring i in l1 at 0 slots 1 bytes 4 dtype int8 role inputs writer core[0].load readers core[0].vector
ring h in l1 at 64 slots SLOTS bytes 6 dtype int8 role inputs retain 2 span SPAN WRITER
ring o in l1 at 192 slots 2 bytes 4 dtype int8 role outputs writer core[0].vector readers core[0].store

queue core[0].load engine load unit dma:
    for t in 3:
        MOVE l.load [i=4] role inputs wait i.free src x{i:1}+4*t dst i{i:1} signal i.full

queue core[0].vector engine vector unit vpu:
    VECTOR l.begin [i=2] role outputs dtypes int8 function fill(0.0) passes 1 wait h.free out h{i:1}
    VECTOR l.first [i=4] role outputs dtypes int8 function add passes 1 wait i.full in0 i{i:1} out h{i:1}+2
        signal i.free, h.full
    VECTOR l.out [i=4] role outputs dtypes int8 function add passes 1 wait h.full, o.free in0 h{i:1} in1 h{i:1}+2
        out o{i:1} signal o.full, h.free
    for t in 2:
        VECTOR l.next [i=4] retains role outputs dtypes int8 function add passes 1 wait h.free, i.full in0 i{i:1}
            out h{i:1}+2 signal i.free, h.full
        VECTOR l.then [i=4] role outputs dtypes int8 function add passes 1 wait h.full, o.free in0 h{i:1} in1 h{i:1}+2
            out o{i:1} signal o.full, h.free

queue core[0].store engine store unit dma:
    for t in 3:
        MOVE l.store [i=4] role outputs wait o.full src o{i:1} dst y{i:1}+4*t signal o.free
"""

ITS = "writer core[0].vector readers core[0].vector"


def own(slots: int, span: int) -> Program:
    """A window of six elements, of which each slot has two of the one before it; one queue writes and reads it."""
    return parse_program(OWN.replace("SLOTS", str(slots)).replace("SPAN", str(span)).replace("WRITER", ITS))


@pytest.mark.parametrize(("slots", "span"), [(2, 10), (2, 12), (3, 14)])
def test_a_queue_reads_what_it_has_written(slots: int, span: int) -> None:
    """Checker, both machines and executor: each element is added to the one two places before it."""
    program, chip = own(slots, span), load("edge_npu")
    check(program, chip)
    assert differences(program, chip) == []
    assert len(simulate(program, chip).records["core[0].vector"]) == 7
    for seed in range(4):
        executor = Executor(program, numbers="exact", seed=seed)
        executor.fill("x", np.arange(1.0, 13.0))
        executor.run()
        assert executor.values("y").tolist() == [1, 2, *(2 * number - 2 for number in range(3, 13))]


def test_a_queue_waits_for_ever_for_a_slot_that_it_frees_later() -> None:
    text = print_program(own(1, 6)).replace(
        "    VECTOR l.out", "    SYNC l.more layer l wait h.free\n    VECTOR l.out", 1
    )
    with pytest.raises(ProgramError, match="deadlock"):
        check(parse_program(text), load("edge_npu"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda ring: replace(ring, span=5), "has a span of 5 bytes; allowed 6 to 12, where slots retain bytes"),
        (lambda ring: replace(ring, span=13), "has a span of 13 bytes; allowed 6 to 12"),
        (lambda ring: replace(ring, retain=0, span=10), "has a span of 10 bytes; allowed 6 to 12, where slots retain"),
    ],
)
def test_a_span_holds_a_slot_and_no_more_than_all(change: Callable[[Any], Any], words: str) -> None:
    program = own(2, 10)
    rings = tuple(change(ring) if ring.name == "h" else ring for ring in program.rings)
    with pytest.raises(ProgramError, match=words):
        check(replace(program, rings=rings), load("edge_npu"))


def test_a_span_is_read_back() -> None:
    program = own(2, 10)
    assert next(ring for ring in program.rings if ring.name == "h").span == 10
    assert "retain 2 span 10 writer" in print_program(program)
    assert parse_program(print_program(program)) == program
    without = own(2, 0)
    assert "span" not in print_program(without) and parse_program(print_program(without)) == without


HALO = """program p on edge_npu
layer l
tensor x in dram at 0 bytes 12 dtype int8 role inputs shape [12] preloaded
tensor y in dram at 64 bytes 20 dtype int8 role outputs shape [20]
ring h in l1 at 0 slots 3 bytes 4 dtype int8 role inputs retain 2 span SPAN writer core[0].load readers core[0].store

queue core[0].load engine load unit dma:
    MOVE l.top [i=4] role inputs wait h.free src x{i:1} dst h{i:1} signal h.full
    for t in 4:
        MOVE l.next [i=2] retains role inputs wait h.free src x{i:1}+2*t+4 dst h{i:1}+2 signal h.full

queue core[0].store engine store unit dma:
    for t in 5:
        MOVE l.out [i=4] role outputs wait h.full src h{i:1} dst y{i:1}+4*t signal h.free
"""


@pytest.mark.parametrize("span", [8, 9, 10, 12])
def test_slots_that_follow_one_another_around_a_span_are_whole(span: int) -> None:
    """Three slots of four bytes, two of each those of the one before: eight bytes are enough."""
    program, chip = parse_program(HALO.replace("SPAN", str(span))), load("edge_npu")
    check(program, chip)
    assert differences(program, chip) == []
    for seed in range(8):
        executor = Executor(program, numbers="exact", seed=seed)
        executor.fill("x", np.arange(12.0))
        executor.run()
        assert executor.values("y").reshape(5, 4).tolist() == [[2 * t + at for at in range(4)] for t in range(5)]


@pytest.mark.parametrize("span", [4, 6, 7])
def test_a_span_too_short_for_all_slots_is_found(span: int) -> None:
    """The third slot would lie on what the reader of the first one still reads."""
    with pytest.raises(ProgramError, match="l.next.*l.out|l.out.*l.next"):
        check(parse_program(HALO.replace("SPAN", str(span))), load("edge_npu"))


def planted(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Every Program that is verified has another text in one place."""

    def changed(*args: Any, **kwargs: Any) -> BuiltJob:
        built = build(*args, **kwargs)
        text = print_program(built.program)
        assert old in text, old
        return replace(built, program=parse_program(text.replace(old, new)))

    monkeypatch.setattr(model, "build", changed)


def test_a_wrong_number_in_a_window_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first member forgets its activation: its own result is told, which lies in a window alone."""
    options = VerifyOptions(saved(tmp_path, CONVOLUTIONS, IN_A_ROW))
    assert model.verify(options).met
    planted(monkeypatch, "function requantise+relu", "function requantise")
    outcome = model.verify(options)
    assert not outcome.met
    for found in outcome.checks:
        assert "one" in {row.name for row in found.rows if not row.passed}


def test_wrong_padding_in_a_window_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to nobody's result, but its readers make theirs of it."""
    monkeypatch.setattr(window_padding, "ZERO", (Function("fill", (1.0,)),))
    outcome = model.verify(VerifyOptions(saved(tmp_path, CONVOLUTIONS, IN_A_ROW)))
    assert not outcome.met
    for found in outcome.checks:
        wrong = {row.name for row in found.rows if not row.passed}
        assert "two" in wrong and "one" not in wrong
