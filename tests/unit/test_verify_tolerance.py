"""What may differ in real numbers: the rounding of what each element adds up, whatever came before, and no more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fixtures_check import put
from fixtures_onnx import model, save
from onnx import helper

from archsim.ir.asm.printer import print_program
from archsim.ir.check.form.declarations import commands_of
from archsim.ir.program import Program
from archsim.lab.run.job import Job, build
from archsim.lab.verify.judge import largest_share
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.lab.verify.outcome import VerifyCheck, VerifyOutcome, VerifyRow
from archsim.lab.verify.program import verify_program
from archsim.report.checks import verification

node = helper.make_node
AXES = np.asarray([2, 3])


def pooled(offset: float) -> onnx.ModelProto:
    """Far from zero, its mean removed, averaged again: the true result is zero."""
    nodes = [
        node("Add", ["x", "k"], ["far"], name="far"),
        node("ReduceMean", ["far", "axes"], ["mean"], name="mean"),
        node("Sub", ["far", "mean"], ["centred"], name="centred"),
        node("GlobalAveragePool", ["centred"], ["pooled"], name="pooled"),
        node("Mul", ["pooled", "large"], ["y"], name="enlarged"),
    ]
    stored = {"k": np.float32(offset), "axes": AXES, "large": np.float32(1e6)}
    return model(nodes, {"x": (1, 3, 17, 19)}, ["y"], stored, opset=18)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_a_result_whose_true_value_is_zero_is_judged_by_its_terms(tmp_path: Path, offset: float) -> None:
    """Noise alone is left: a share of the largest element means nothing, and is far above one in ten thousand."""
    outcome = verify(VerifyOptions(Job(save(tmp_path, pooled(offset)), "edge_npu"), numbers="float"))
    assert outcome.met, outcome.checks
    rows = {row.name: row for row in outcome.checks[0].rows}
    assert rows["pooled"].error > 1e-3 and rows["enlarged"].error > 1e-3
    assert 0 < rows["pooled"].share <= 1


def scaled(factor: float) -> onnx.ModelProto:
    """A product, then a factor, then a sum with another input."""
    nodes = [
        node("MatMul", ["x", "w"], ["c"], name="product"),
        node("Sigmoid", ["c"], ["s"], name="sigmoid"),
        node("Mul", ["s", "k"], ["m"], name="scaled"),
        node("Softmax", ["m"], ["y"], name="softmax"),
    ]
    weights = np.random.default_rng(1).standard_normal((5, 7)).astype(np.float32)
    return model(nodes, {"x": (3, 5)}, ["y"], {"w": weights, "k": np.float32(factor)})


def with_factor(program: Program, name: str, times: float) -> Program:
    """The Program with the immediates of a command times a number."""
    command = next(c for queue in program.queues for c in commands_of(queue.body) if c.name == name)
    functions = tuple(
        replace(f, operands=tuple(one * times if isinstance(one, float) else one for one in f.operands))
        for f in command.functions
    )
    assert any(isinstance(one, float) for f in functions for one in f.operands)
    return put(program, command, replace(command, functions=functions))


def against(folder: Path, times: float, **asked: Any) -> VerifyOutcome:
    path = save(folder, scaled(3.0))
    program = with_factor(build(Job(path, "edge_npu")).program, "scaled.vector", times)
    text = folder / "p.asm"
    text.write_text(print_program(program))
    return verify_program(VerifyOptions(Job(str(text), "edge_npu"), against=str(path), numbers="float", **asked))


def test_a_factor_wrong_by_three_in_a_hundred_thousand_is_found(tmp_path: Path) -> None:
    """Which a tolerance of one in ten thousand of the largest element lets pass; layers behind it are not blamed."""
    assert against(tmp_path, 1.0).met
    (check,) = against(tmp_path, 1.00003).checks
    failed = [row for row in check.rows if not row.passed]
    assert [row.name for row in failed] == ["scaled"]
    assert failed[0].error < 1e-4 and failed[0].share > 3


def test_a_named_layer_is_right_only_where_those_before_it_are(tmp_path: Path) -> None:
    """What a layer passes on is taken off the next one's difference, so both are shown; those behind are not run."""
    (check,) = against(tmp_path, 1.5, layers=("softmax",)).checks
    assert [(row.name, row.passed) for row in check.rows] == [("scaled", False), ("softmax", True)]
    assert not check.passed
    (check,) = against(tmp_path, 1.5, layers=("product",)).checks
    assert [row.name for row in check.rows] == ["product"] and check.passed


def test_a_share_is_of_what_is_allowed_at_that_element() -> None:
    found, wanted = np.asarray([1.0, 2.0, np.inf, np.nan]), np.asarray([1.5, 2.0, np.inf, np.nan])
    assert largest_share(found, wanted, np.asarray([1.0, 1e-9, 0.0, 0.0])) == 0.5
    assert largest_share(found[:1], wanted[:1], np.zeros(1)) == np.inf
    assert largest_share(np.asarray([np.nan]), np.ones(1), np.ones(1)) == np.inf
    assert largest_share(np.asarray([np.inf]), np.ones(1), np.ones(1)) == np.inf


def test_an_infinite_difference_is_printed_and_is_valid_json() -> None:
    row = VerifyRow("a", "Relu", "a.y", 4, np.inf, 1, False, "NumPy", False, np.inf)
    outcome = VerifyOutcome("net", "chip", 3, 0, "drawn", (VerifyCheck("float32", "NumPy", "close", 1, (row,)),))
    found = json.loads(verification.to_json(outcome))["checks"][0]
    assert found["worst_error"] is None and found["rows"][0]["share"] is None
    assert "a (Relu): 1 of 4 elements differ, error infinite" in verification.to_table(outcome)


def test_the_table_says_how_much_of_the_bound_was_taken(tmp_path: Path) -> None:
    outcome = verify(VerifyOptions(Job(save(tmp_path, scaled(3.0)), "edge_npu"), numbers="float"))
    (line,) = [line for line in verification.to_table(outcome).splitlines() if "float32" in line]
    assert "within the rounding of what each element adds up" in line and "% of the bound" in line


def test_a_check_without_rows_has_no_error_and_has_not_passed() -> None:
    nothing = VerifyCheck("float", "reference", "rule", 1)
    assert (nothing.worst, nothing.worst_share, nothing.passed) == (0.0, 0.0, False)
