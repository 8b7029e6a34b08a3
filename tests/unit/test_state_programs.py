"""States in Programs: rows that are there at time 0, rows that are written before they are read, no other tensor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import ConfigError, ProgramError
from archsim.frontend.load import load_model
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.hazards.states import held_at_start
from archsim.ir.check.program import check
from archsim.ir.program import PlacedTensor, Program, StateExtent
from archsim.lab.run.job import Job, load_chip
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.lab.verify.program import verify_program
from archsim.spec.architecture import Architecture
from mapper.compile import compile_model
from mapper.execute.run import Executor
from tests.unit.test_check_hazards import ALL, VECTOR, accepted, build, load, refused, use
from tests.unit.test_frontend_states import DECODE

STATE = "tensor k in l1 at 6144 bytes 64 dtype int8 role kv shape [2, 4, 8] state length 2 axis 1"
ROWS = "{h:32, r:8, j:1}"


def read(rows: int, at: int = 0, heads: int = 2, clauses: str = "") -> str:
    """So many rows of each head, into u."""
    return f"VECTOR l.read [h={heads}, r={rows}, j=8] {VECTOR} in0 k{ROWS}+{at} out u{ROWS} {clauses}"


def append(row: int, heads: int = 2, clauses: str = "") -> str:
    """A row of each head, from x."""
    return f"MOVE l.append [h={heads}, r=1, j=8] src x{ROWS} dst k{ROWS}+{8 * row} {clauses}"


def test_rows_of_before_need_nobody_to_write_them() -> None:
    accepted(build(STATE, vector=read(2)))
    accepted(build(STATE, vector=read(1, at=8)))
    said = refused(build(STATE, vector=read(3)))
    assert "reads bytes [0, 56) of tensor 'k'" in said and "written bytes [16, 17) of tensor 'k'" in said


def test_appended_rows_are_read_behind_their_writer() -> None:
    accepted(build(STATE, load=append(2, clauses="signal s"), vector=read(3, clauses="wait s")))
    assert "race: l.append" in refused(build(STATE, load=append(2), vector=read(3)))
    accepted(build(STATE, load=append(2), vector=read(2)))


def test_a_row_between_two_that_are_written_is_not_there() -> None:
    """Bytes are told apart even where the stretch from the first to the last that is written covers them."""
    said = refused(build(STATE, load=append(2, clauses="signal s"), vector=read(4, clauses="wait s")))
    assert "read of unwritten bytes" in said and "bytes [24, 25)" in said
    said = refused(build(STATE, load=append(2, heads=1, clauses="signal s"), vector=read(3, clauses="wait s")))
    assert "bytes [48, 49)" in said


def test_a_state_without_rows() -> None:
    empty = STATE.replace("length 2", "length 0")
    assert "bytes [0, 1)" in refused(build(empty, vector=read(1)))
    accepted(build(empty, load=append(0, clauses="signal s"), vector=read(1, clauses="wait s")))


def test_nothing_else_lies_where_a_state_does() -> None:
    other = "tensor o in l1 at 6200 bytes 64 dtype int8 role inputs shape [8, 8]"
    into = f"MOVE l.later [i=8, j=8] src x{ALL} dst o{ALL} wait s"
    said = refused(build(f"{STATE}\n{other}", vector=read(2, clauses="signal s"), load=into))
    assert "share bytes [6200, 6208)" in said and "tensor 'k' is a state, which is there from the start" in said
    assert "is a state" in refused(build(f"{STATE}\n{other}", load=into.replace("wait s", "")))
    plain = STATE.replace("state length 2 axis 1", "preloaded")
    accepted(build(f"{plain}\n{other}", vector=read(2, clauses="signal s"), load=into))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("state length 2 axis 1", "preloaded state length 2 axis 1", "is a state and preloaded"),
        ("length 2", "length 5", "5 rows hold data; allowed 0 to 4"),
        ("axis 1", "axis 3", "along axis 3 of 3"),
        ("shape [2, 4, 8]", "shape [2, 2, 8] strides [32, 16, 1]", "leave gaps between its rows"),
    ],
)
def test_what_a_state_cannot_be(old: str, new: str, said: str) -> None:
    assert said in refused(build(STATE.replace(old, new), load=load("a")))


def test_text_form() -> None:
    text = build(STATE, load=load("a", "signal s"), vector=use("b", "wait s"))
    program = parse_program(text)
    assert program.tensors[-1].state == StateExtent(2, 1)
    assert "state length 2 axis 1\n" in print_program(program) and parse_program(print_program(program)) == program
    outer = parse_program(text.replace(" axis 1", ""))
    assert outer.tensors[-1].state == StateExtent(2) and "state length 2\n" in print_program(outer)
    with pytest.raises(ProgramError, match="length"):
        parse_program(text.replace("state length", "state rows"))


def test_bytes_that_are_there() -> None:
    place = ("k", "l1", 0, 244, "int16", "kv")
    state = PlacedTensor(*place, (2, 3, 4, 5), (120, 40, 10, 2), origin=4, state=StateExtent(3, 2))
    first, end = held_at_start(state)
    held = np.zeros(400, dtype=bool)
    for a in range(2):
        for b in range(3):
            for row in range(3):
                at = 4 + 120 * a + 40 * b + 10 * row
                held[at : at + 10] = True
    painted = np.zeros(400, dtype=bool)
    for low, high in zip(first, end, strict=True):
        painted[low:high] = True
    np.testing.assert_array_equal(painted, held)


def model(folder: Path, **parameters: int) -> Job:
    path = folder / "w.yaml"
    path.write_text(DECODE, encoding="utf-8")
    return Job(path, "edge_npu", parameters=parameters)


def compiled(folder: Path, **parameters: int) -> tuple[Program, Architecture]:
    job = model(folder, **parameters)
    architecture = load_chip(job)
    return compile_model(load_model(Path(job.model), parameters=parameters), architecture).program, architecture


def test_a_decode_step_is_checked_and_its_states_are_where_they_were(tmp_path: Path) -> None:
    programs = [compiled(tmp_path, past=past) for past in (5, 6)]
    for (program, architecture), past in zip(programs, (5, 6), strict=True):
        check(program, architecture)
        held = {t.name: t for t in program.tensors if t.state is not None}
        assert {t.state for t in held.values()} == {StateExtent(past, 2), StateExtent(past, 0)}
        assert {t.role for t in held.values()} == {"kv"} and {t.memory for t in held.values()} == {"dram"}
    places = [{t.name: t.base for t in program.tensors if t.state is not None} for program, _ in programs]
    assert places[0] == places[1]


def test_fewer_rows_than_are_read_are_refused(tmp_path: Path) -> None:
    program, architecture = compiled(tmp_path)
    for number, tensor in enumerate(program.tensors):
        if tensor.state is not None:
            fewer = replace(tensor, state=replace(tensor.state, length=tensor.state.length - 1))
            wrong = replace(program, tensors=(*program.tensors[:number], fewer, *program.tensors[number + 1 :]))
            with pytest.raises(ProgramError, match=f"read of unwritten bytes.*{tensor.name}"):
                check(wrong, architecture)


@pytest.mark.parametrize(("past", "new"), [(0, 3), (5, 3), (15, 1), (0, 16)])
def test_verified(tmp_path: Path, past: int, new: int) -> None:
    outcome = verify(VerifyOptions(model(tmp_path, past=past, new=new), interleavings=2))
    assert outcome.met, outcome
    for made in outcome.checks:
        assert sum(row.name.startswith("end: layer.") for row in made.rows) == 5 if not made.skipped else True


def test_rows_that_nobody_appends_stay_unwritten(tmp_path: Path) -> None:
    """A Program that writes one row too many, behind those of the model."""
    program, _ = compiled(tmp_path, rounds=1)
    (text,) = [print_program(program)]
    said = verify(VerifyOptions(model(tmp_path, rounds=1)))
    assert said.met
    listing = tmp_path / "p.asm"
    moved = "dst layer.0.keys{b:256, h:128, s:8, d:1}+40"
    assert text.count(moved) == 1
    listing.write_text(text.replace(moved, moved.replace("+40", "+48")), encoding="utf-8")
    job = Job(listing, "edge_npu")
    with pytest.raises(ProgramError, match="unwritten"):
        verify_program(VerifyOptions(job, against=str(tmp_path / "w.yaml")))


def test_a_program_alone_has_its_states_filled(tmp_path: Path) -> None:
    program, _ = compiled(tmp_path)
    listing = tmp_path / "p.asm"
    listing.write_text(print_program(program), encoding="utf-8")
    assert verify_program(VerifyOptions(Job(listing, "edge_npu"), interleavings=2)).met


def test_an_executor_knows_which_rows_are_there() -> None:
    program = parse_program(build(STATE, load=load("a", "signal s"), vector=use("b", "wait s")))
    executor = Executor(program)
    values = np.arange(64).reshape(2, 4, 8)
    executor.fill("k", values[:, :2])
    np.testing.assert_array_equal(executor.values("k", (2, 2, 8), 0, (32, 8, 1)), values[:, :2])
    assert executor.is_touched("k", (2, 4, 8), 0, (32, 8, 1))
    assert not executor.is_touched("k", (2, 2, 8), 16, (32, 8, 1))
    with pytest.raises(ProgramError, match="nothing has written"):
        executor.values("k", (2, 3, 8), 0, (32, 8, 1))


def test_rows_of_other_elements_are_not_copied_to_a_state(tmp_path: Path) -> None:
    text = (
        "schema: archsim.workload/1\nname: w\ninputs: {x: [1, 2, 4]}\nstates: {kept: {shape: [1, 8, 4], past: 3}}\n"
        "layers:\n  - append: {name: all, state: kept}\n"
    )
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="copies rows of int8 to a state of int16"):
        verify(VerifyOptions(Job(tmp_path / "w.yaml", "edge_npu", dtype="kv=int16")))
