"""Laws of bounds (LAW 50): what lies outside is not computed, does not count, and changes no number."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import MappingError
from archsim.facts.dataflows import catalogue
from archsim.frontend.load import load_model
from archsim.ir.inside import points_inside
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.ops.kit.visible import Band
from archsim.system import simulate
from mapper.compile import Options, compile_model
from tests.tools.bounded_attention import BoundedAttention
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.layers import small_chip

NAMES = catalogue.names()


def attention(seed: int) -> BoundedAttention:
    """Of a few rows, so that small memories cut it into many tiles."""
    pick = random.Random(seed)
    rows, stated = pick.randint(1 if seed % 3 else 2, 40), ("causal", "where", "add")[seed % 3]
    past = 0 if stated == "causal" else pick.randint(1, 9)
    window = 0 if stated == "causal" or (rows > 1 and pick.random() < 0.5) else pick.randint(1, rows + past - 1)
    return BoundedAttention(
        pick.randint(1, 3), rows, rows + past, pick.randint(1, 9), pick.randint(1, 9), Band(past, window), stated
    )


@pytest.mark.parametrize("seed", range(45))
def test_law_50_counts_numbers_and_times(tmp_path: Path, seed: int) -> None:
    """Law 50: MACs are the points inside, the compiler's counts the machine's, and no run undercuts its bounds."""
    made = attention(seed)
    path = made.save(tmp_path / "attention.onnx")
    workload = load_model(str(path))
    assert workload.macs == made.macs
    assert workload.macs_dense == made.heads * made.rows * made.keys * (made.width + made.out)
    assert "Where" not in {layer.op for layer in workload.layers}
    chip = small_chip(1 << (10 + seed % 3), 1 << (9 + seed % 3), dataflow=NAMES[seed % len(NAMES)])
    try:
        compiled = compile_model(workload, chip, Options(objective=("latency", "energy")[seed % 2]))
    except MappingError:
        pytest.skip("an operand does not fit")
    activity = simulate(compiled.program, chip)
    assert compiler_counts(compiled, workload, chip) == machine_counts(activity, chip)
    columns = [records.columns() for records in activity.records.values()]
    assert sum(int(each.macs.sum()) for each in columns) == made.macs
    for mapping in compiled.mapping.layers:
        assert mapping.bound_cycles * 1000 <= activity.total_ps


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_law_50_nothing_outside_is_read(tmp_path: Path, seed: int) -> None:
    """Law 50: on memories that hold no numbers where nothing was written the results are the model's."""
    path = attention(100 + seed).save(tmp_path / "attention.onnx")
    try:
        outcome = verify(VerifyOptions(Job(path, small_chip(1 << (10 + seed % 3), 1 << (9 + seed % 3))), (), 2))
    except MappingError:
        pytest.skip("an operand does not fit")
    assert [(check.problem, check.passed) for check in outcome.checks] == [("", True), ("", True)]


@pytest.mark.parametrize("rows", [2, 3, 17, 64])
def test_law_21_causal_attention_is_between_half_and_all(tmp_path: Path, rows: int) -> None:
    """Law 21: causal attention has between half and all of the dense MACs: (S + 1) / 2S of them."""
    made = BoundedAttention(2, rows, rows, 4, 4, Band(0), "causal")
    found = load_model(str(made.save(tmp_path / "attention.onnx")))
    assert found.macs * 2 * rows == found.macs_dense * (rows + 1)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=3),
    st.lists(st.tuples(st.lists(st.integers(-2, 2), min_size=3, max_size=3), st.integers(-6, 9)), max_size=3),
)
@settings(max_examples=300, deadline=None)
def test_points_inside_are_those_counted_one_by_one(sizes: list[int], spaces: list[tuple[list[int], int]]) -> None:
    names = "abc"[: len(sizes)]
    extents = dict(zip(names, sizes, strict=True))
    found = [(tuple(zip(names, steps, strict=False)), offset) for steps, offset in spaces]
    points = np.indices(sizes).reshape(len(sizes), -1).T
    inside = [all(point @ steps[: len(sizes)] + offset >= 0 for steps, offset in spaces) for point in points]
    assert points_inside(extents, found) == sum(inside)
