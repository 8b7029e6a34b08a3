"""Numbers to bits and back, and small models whose weights are in packed formats against their reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import ConfigError
from archsim.facts.number_codes import decode, encode, rounded
from archsim.facts.number_formats import element_format
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.lab.run.job import Job, build
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from mapper.execute.run import Executor
from tests.tools.small_transformers import parameters, written

FLOATS = "a=fp16,acc=fp32,tables=fp16,kv=fp16"
BLOCKS = ("int4/128", "int4/32:fp16", "int8/64", "mxfp4", "mxfp8", "nvfp4", "fp8_e5m2/32:bf16")
PRODUCT = """schema: archsim.workload/1
name: product
description: a product
source: a test
parameters: {m: 3, k: 320, n: 40}
inputs: {x: [m, k]}
layers:
  - dense: {name: fc, input: x, out: n, bias: true}
"""


def test_every_element_of_fp4() -> None:
    """OCP MX v1.0, table 5."""
    codes = np.arange(16, dtype=np.uint8)
    rows = (codes[::2] | codes[1::2] << 4).reshape(1, 8)
    plain = element_format("fp4_e2m1")
    found = decode(rows, np.zeros((1, 0)), plain, 16)[0]
    sizes = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert found.tolist() == [*sizes, *(-size for size in sizes)]
    assert encode(found[None], plain)[0].tolist() == rows.tolist()


@pytest.mark.parametrize(("kind", "most", "least"), [("fp8_e4m3", 448.0, 2.0**-9), ("fp8_e5m2", 57344.0, 2.0**-16)])
def test_small_floats_end_where_their_tables_say(kind: str, most: float, least: float) -> None:
    """OFP8 v1.0, table 1: greatest and least magnitude; beyond is the greatest, ties go to the even code."""
    stored = element_format(kind)
    asked = np.array([[most, most * 1.5, -most * 9, least, least * 0.5, least * 0.75, 1.0, 0.0]])
    assert rounded(asked, stored).tolist() == [[most, most, -most, least, 0.0, least, 1.0, 0.0]]


@pytest.mark.parametrize("kind", ["fp4_e2m1", "fp8_e4m3", "fp8_e5m2", "fp16", "bf16", "fp32", "int4", "int8", "uint4"])
def test_what_is_held_is_kept(kind: str) -> None:
    """Rounding is done once, and nothing held is nearer to a number than what it becomes."""
    values = np.random.default_rng(0).standard_normal((4, 64)) * 3
    stored = element_format(kind)
    once = rounded(values, stored)
    assert (rounded(once, stored) == once).all()
    held = np.unique(once)
    assert (np.abs(once - values) <= np.abs(held[:, None, None] - values).min(axis=0)).all()


@pytest.mark.parametrize("text", BLOCKS)
def test_blocks_are_as_near_as_their_elements(text: str) -> None:
    """Within half a step of the largest number of a block; rows of bytes are as long as the format says."""
    stored = element_format(text)
    values = np.random.default_rng(1).standard_normal((5, 2 * stored.block + 3))
    elements, scales = encode(values, stored)
    row = values.shape[-1]
    assert (elements.shape, scales.shape) == ((5, stored.row_bytes(row)), (5, stored.scale_bytes(row)))
    found = decode(elements, scales, stored, row)
    worst = {"int4": 1 / 14, "int8": 1 / 250, "fp4_e2m1": 1 / 4, "fp8_e4m3": 1 / 8, "fp8_e5m2": 1 / 4}[stored.element]
    for begin in range(0, row, stored.block):
        block = slice(begin, begin + stored.block)
        most = (
            np.ptp(np.c_[values[:, block], np.zeros(5)], axis=1) if stored.has_zero else np.abs(values[:, block]).max(1)
        )
        assert (np.abs(found - values)[:, block] <= worst * most[:, None] * 1.01).all()


def test_blocks_of_zeros_are_zeros() -> None:
    for text in BLOCKS:
        assert not rounded(np.zeros((2, 70)), element_format(text)).any()


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["edge_npu", "mtia_v2i"])
@pytest.mark.parametrize("text", ["int4/64", "mxfp4", "mxfp8", "fp8_e4m3"])
def test_a_product_is_verified(tmp_path: Path, chip: str, text: str) -> None:
    """Its Program decodes the bytes that lie in memory; the reference has the numbers that they stand for."""
    path = tmp_path / "product.yaml"
    path.write_text(PRODUCT)
    dtype = f"w={text}" if text.startswith("mx") else f"w={text},{FLOATS}"
    checks = verify(VerifyOptions(Job(str(path), chip, dtype=dtype))).checks
    assert [(check.problem, check.passed, bool(check.skipped)) for check in checks] == [
        ("", True, False), ("", False, True),
    ]  # fmt: skip


@pytest.mark.slow
def test_wrong_bytes_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one element in memory: the check fails."""
    path = tmp_path / "product.yaml"
    path.write_text(PRODUCT)
    fill = Executor.fill

    def flipped(self: Executor, tensor: str, values: np.ndarray) -> None:
        wrong = values.copy()
        if tensor == "fc.weights":
            wrong[7, 11] = int(wrong[7, 11]) ^ 4
        fill(self, tensor, wrong)

    monkeypatch.setattr(Executor, "fill", flipped)
    checks = verify(VerifyOptions(Job(str(path), "edge_npu", dtype="w=mxfp4"))).checks
    assert not checks[0].passed


@pytest.mark.slow
@pytest.mark.parametrize("text", ["int4/32", "mxfp4"])
def test_a_small_llama_is_verified(tmp_path: Path, text: str) -> None:
    """Its products but lm_head have packed weights, in a decode step."""
    dtype = "w=mxfp4,a=bf16,acc=fp32,tables=bf16,kv=bf16" if text == "mxfp4" else f"w={text},{FLOATS}"
    job = Job(f"{written(tmp_path, 'llama')}:decode", "edge_npu", dtype=dtype, parameters=parameters("llama"))
    built = build(job)
    assert built.workload is not None
    assert sum(tensor.format == "uint8" for tensor in built.workload.tensors.values()) >= 7
    assert parse_program(print_program(built.program), "x") == built.program
    checks = verify(VerifyOptions(job)).checks
    assert checks[0].passed and not checks[0].problem


def test_elements_without_a_scale_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "product.yaml"
    path.write_text(PRODUCT)
    with pytest.raises(ConfigError, match="is int4, which has no scale; allowed blocks such as int4/128"):
        verify(VerifyOptions(Job(str(path), "edge_npu", dtype="w=int4")))
