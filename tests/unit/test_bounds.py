"""Bounds of iteration: their text, what they refuse, which masks they take the place of, and what a Program says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from archsim.base.errors import ConfigError, ModelError, ProgramError
from archsim.frontend.load import load_model
from archsim.graph.passes.bounds import ALL, band_in
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.program import check
from archsim.ir.forms.workload import checked_workload, workload_to_yaml
from archsim.ir.program import Program
from archsim.lab.run.job import Job
from archsim.lab.run.run import execute
from archsim.ops.kit.visible import Band
from archsim.spec.load import load as load_chip
from archsim.system import simulate
from mapper.compile import compile_model
from mapper.execute.run import Executor
from mapper.looptree.layer import einsum_of
from tests.tools.bounded_attention import BoundedAttention
from tests.tools.layers import small_chip

CAUSAL = """schema: archsim.einsums/1
name: causal
batch: 1
parameters: 0
tensors:
  q: input [24, 16]
  k: input [25, 16]
  s: activation [24, 25]
  v: input [25, 12]
  y: output [24, 12]
layers:
- name: scores
  op: MatMul
  kind: matmul
  dims: {s: 24, t: 25, d: 16}
  nest: m(s) n(t) k(d)
  inputs: ["a = q(s, d) as inputs", "b = k(t, d) as inputs"]
  output: out = s(s, t) as outputs
  bounds: ["t <= s + 1"]
- name: context
  op: MatMul
  kind: matmul
  dims: {s: 24, t: 25, e: 12}
  nest: m(s) n(e) k(t)
  inputs: ["a = s(s, t) as inputs", "b = v(t, e) as inputs"]
  output: out = y(s, e) as outputs
  bounds: ["t <= s + 1"]
"""


@pytest.mark.parametrize(
    "stated", ["t <= s + 1", "t < s + 2", "s + 1 >= t", "2 + s > t", "t - 1 <= s", "0 <= s - t + 1"]
)
def test_one_bound_in_several_words(stated: str) -> None:
    """Points inside are counted, and the text comes back as one of them."""
    found = checked_workload(CAUSAL.replace("t <= s + 1", stated))
    assert workload_to_yaml(found) == workload_to_yaml(checked_workload(CAUSAL))
    inside = sum(min(25, row + 2) for row in range(24))
    assert [layer.macs for layer in found.layers] == [16 * inside, 12 * inside]
    assert [layer.macs_dense for layer in found.layers] == [16 * 600, 12 * 600]
    assert found.macs == 28 * inside and found.macs_dense == 28 * 600
    assert [layer.is_ragged for layer in found.layers] == [True, False]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('["t <= s + 1"]', '["t <= r"]', "no enclosing variable|unknown|'r'"),
        ('["t <= s + 1"]', '["t = s"]', "expected one of <= >= < >"),
        ('["t <= s + 1"]', '["t <= s - 24"]', "leaves no point"),
        ('["t <= s + 1"]', '["0 <= 1"]', "without a dim"),
        ("kind: matmul\n  dims: {s: 24, t: 25, d: 16}\n  nest: m(s) n(t) k(d)",
         "kind: host\n  dims: {s: 24, t: 25, d: 16}",
         "has bounds; allowed of matmul and vector layers"),
        ("  output: out = y(s, e) as outputs\n  bounds: [\"t <= s + 1\"]", "  output: out = y(s, e) as outputs",
         "reads all of 's', of which the bounds of 'scores' leave elements unmade"),
        ("  output: out = y(s, e) as outputs\n  bounds: [\"t <= s + 1\"]",
         "  output: out = y(s, e) as outputs\n  bounds: [\"t <= s + 2\"]", "reads all of 's'"),
    ],
)  # fmt: skip
def test_what_is_no_bound_is_refused(old: str, new: str, says: str) -> None:
    assert old in CAUSAL
    with pytest.raises((ConfigError, ModelError, ProgramError), match=says):
        checked_workload(CAUSAL.replace(old, new))


def test_a_tighter_reader_may_read() -> None:
    tight = CAUSAL.replace(
        'out = y(s, e) as outputs\n  bounds: ["t <= s + 1"]', 'out = y(s, e) as outputs\n  bounds: ["t <= s"]'
    )
    assert checked_workload(tight).layers[1].macs == 12 * 300


def test_a_looptree_has_none() -> None:
    with pytest.raises(Exception, match="has bounds, and a LoopTree has none"):
        einsum_of(checked_workload(CAUSAL).layers[0])


def program() -> Program:
    return compile_model(checked_workload(CAUSAL), small_chip(1 << 8, 1 << 9)).program


def test_a_program_says_what_takes_part() -> None:
    """Guards and ragged stores survive the text."""
    made, chip = program(), small_chip(1 << 8, 1 << 9)
    text = print_program(made)
    assert "guard (" in text and " ragged" in text
    again = parse_program(text)
    assert again == made
    check(again, chip)
    with pytest.raises(ProgramError, match="a guard ties extents that no operand has together"):
        check(parse_program(text.replace("guard (s-t:", "guard (s-t+d:", 1)), chip)


@pytest.mark.parametrize("numbers", ["float64", "exact"])
def test_numbers_outside_are_in_no_sum(numbers: str) -> None:
    """On memories that hold no numbers where nothing was written."""
    made = program()
    pick = np.random.default_rng(0)
    given = {
        name: pick.integers(-3, 3, shape).astype(np.float64)
        for name, shape in (("q", (24, 16)), ("k", (25, 16)), ("v", (25, 12)))
    }
    run = Executor(made, numbers=numbers)  # type: ignore[arg-type]
    for name, values in given.items():
        run.fill(name, values)
    run.run()
    scores = np.where(Band(1).mask(24, 25), given["q"] @ given["k"].T, 0)
    if numbers == "exact":
        scores = np.clip(scores, -128, 127)
    wanted = scores @ given["v"]
    found = run.values("y")
    assert np.array_equal(found, np.clip(wanted, -128, 127) if numbers == "exact" else wanted)


def test_the_machine_counts_what_takes_part() -> None:
    made, chip = program(), small_chip(1 << 8, 1 << 9)
    activity = simulate(made, chip)
    done = sum(int(records.columns().macs.sum()) for records in activity.records.values())
    executed = sum(count for (_, part, action), count in activity.counts.items() if (part, action) == ("mxu", "mac"))
    assert done == checked_workload(CAUSAL).macs < executed < 28 * 600


def test_what_three_dims_tie_together_is_refused() -> None:
    """No operand has all three, so nothing could leave out its elements."""
    tied = CAUSAL.replace('bounds: ["t <= s + 1"]', 'bounds: ["t <= s + d"]', 1)
    with pytest.raises(ModelError, match="a bound of d, s, t, which no operand has together"):
        checked_workload(tied)


def test_unmade_elements_are_not_read_through_a_view() -> None:
    seen = CAUSAL.replace("  y: output", "  z: activation [24, 25] view s offset 0 strides [25, 1]\n  y: output")
    with pytest.raises(ModelError, match="reads all of 'z', of which the bounds of 'scores' leave elements unmade"):
        checked_workload(seen.replace("a = s(s, t)", "a = z(s, t)"))


@pytest.mark.parametrize("chip", ["mtia_v2i", "simba_chiplet"])
def test_a_sum_that_is_spread_over_cores_begins_on_each(chip: str) -> None:
    """Its tiles are whole: a core's first keys may be behind all that its rows see."""
    text = CAUSAL.split("- name: scores", maxsplit=1)[0] + "- name: context" + CAUSAL.split("- name: context")[1]
    text = text.replace("s: activation [24, 25]", "s: input [512, 512]").replace("25, 12]", "512, 64]")
    text = text.replace("24, 12]", "512, 64]").replace("{s: 24, t: 25, e: 12}", "{s: 512, t: 512, e: 64}")
    architecture = load_chip(chip)
    made = compile_model(checked_workload(text), architecture)
    check(made.program, architecture)


@pytest.mark.parametrize("after", ["Tanh", "Neg", "Sub"])
def test_a_mask_behind_which_something_is_computed_stays(tmp_path: Path, after: str) -> None:
    """tanh(-inf) is -1, and a number minus what is hidden is the largest of all."""
    made = BoundedAttention(1, 12, 12, 4, 4, Band(0), "add")
    proto = onnx.load(made.save(tmp_path / "model.onnx"))
    softmax = next(node for node in proto.graph.node if node.op_type == "Softmax")
    proto.graph.initializer.append(numpy_helper.from_array(np.float32(2), "two"))
    reads = ["two", softmax.input[0]] if after == "Sub" else [softmax.input[0]]
    at = list(proto.graph.node).index(softmax)
    proto.graph.node.insert(at, helper.make_node(after, reads, ["late"]))
    softmax.input[0] = "late"
    onnx.save(proto, tmp_path / "model.onnx")
    found = load_model(str(tmp_path / "model.onnx"))
    assert found.macs == found.macs_dense


@pytest.mark.parametrize("window", [8, 64])
def test_bounds_of_windows_are_not_undercut(window: int) -> None:
    """Rows and keys trim one another: of the box little more than the window is left, and is expected."""
    scores = CAUSAL.split("- name: context", maxsplit=1)[0].replace("s: activation [24, 25]", "s: output [1024, 1024]")
    text = scores.replace("[24, 16]", "[1024, 16]").replace("[25, 16]", "[1024, 16]").replace("d: 16}", "d: 16}")
    text = text.replace("  v: input [25, 12]\n  y: output [24, 12]\n", "").replace(
        "{s: 24, t: 25,", "{s: 1024, t: 1024,"
    )
    text = text.replace('["t <= s + 1"]', f'["t <= s", "t > s - {window}"]')
    chip = small_chip(1 << 14, 1 << 14, rows=16, cols=16, dram_rate=None, banks=1 << 14)
    made = compile_model(checked_workload(text), chip)
    cycles = simulate(made.program, chip).total_ps // 1000
    (mapping,) = made.mapping.layers
    assert mapping.bound_cycles <= cycles
    assert 0.5 * cycles < mapping.expected_cycles < 1.5 * cycles


@pytest.mark.parametrize(
    ("made", "band"),
    [
        (lambda: np.tri(5, 5), Band(0)),
        (lambda: np.tri(5, 9, 4), Band(4)),
        (lambda: np.tri(5, 9, 4) - np.tri(5, 9, 1), Band(4, 3)),
        (lambda: np.ones((5, 5)), ALL),
        (lambda: np.arange(9)[None] > 3, Band(8, 5)),
        (lambda: np.tri(5, 5, -1), None),
        (lambda: np.tri(5, 5)[::-1], None),
        (lambda: np.eye(5) + np.tri(5, 5, -2), None),
    ],
)
def test_which_masks_are_bands(made: Callable[[], np.ndarray], band: Band | None) -> None:
    assert band_in(np.asarray(made(), bool)) == band


@pytest.mark.parametrize("stated", ["where", "add"])
@pytest.mark.parametrize(("rows", "window"), [(6, 0), (40, 0), (40, 9), (70, 0)])
def test_stored_masks_that_are_bands_are_not_read(tmp_path: Path, stated: str, rows: int, window: int) -> None:
    """Whatever their size: of a file of weights only such masks are read."""
    made = BoundedAttention(2, rows, rows + 3, 4, 4, Band(3, window), stated)
    found = load_model(str(made.save(tmp_path / "model.onnx")))
    assert [layer.op for layer in found.layers] == ["MatMul", "Softmax", "MatMul"]
    assert found.macs == made.macs


@pytest.mark.parametrize("rows", [6, 40])
def test_masks_that_hide_nothing_are_not_read(tmp_path: Path, rows: int) -> None:
    """As exporters store them of a model that is given no mask: all is computed."""
    made = BoundedAttention(2, rows, rows, 4, 4, Band(rows), "where")
    found = load_model(str(made.save(tmp_path / "model.onnx")))
    assert [layer.op for layer in found.layers] == ["MatMul", "Softmax", "MatMul"]
    assert found.macs == found.macs_dense == 2 * 2 * rows * rows * 4


def test_any_other_mask_is_an_operand(tmp_path: Path) -> None:
    made = BoundedAttention(2, 12, 12, 4, 4, Band(0), "add")
    path = made._replace(band=_Holes(0)).save(tmp_path / "model.onnx")
    found = load_model(str(path))
    assert [layer.op for layer in found.layers] == ["MatMul", "Add", "Softmax", "MatMul"]
    assert found.macs == found.macs_dense == 2 * 12 * 12 * 8


class _Holes(Band):
    """A row that does not see the key before its own."""

    def mask(self, rows: int, keys: int) -> np.ndarray:
        return np.asarray(np.tri(rows, keys, dtype=bool) & ~np.eye(rows, keys, -1, dtype=bool))


def test_a_run_says_what_bounds_left_out(tmp_path: Path) -> None:
    """``macs`` are the model's inside, ``macs_dense`` as files are counted, ``macs_executed`` what tiles did."""
    made = BoundedAttention(2, 96, 96, 16, 16, Band(0), "causal")
    found = execute(Job(made.save(tmp_path / "model.onnx"), "edge_npu")).result.to_json()
    assert found["macs"] == found["workload"]["macs"] == made.macs
    assert found["macs_dense"] == 2 * 96 * 96 * 32
    assert found["macs"] <= found["macs_executed"] <= found["macs_dense"]
