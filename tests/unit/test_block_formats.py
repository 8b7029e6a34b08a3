"""Weights that DequantizeLinear makes of blocks of elements: which have a format, and their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from archsim.base.errors import ModelError
from archsim.frontend.load import load_model
from archsim.ir.workload import Workload
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from tests.unit.fixtures_onnx import model, save

node = helper.make_node
ROWS, DEPTH, COLUMNS, BLOCK = 3, 80, 24, 16
FLOATS = "a=fp16,acc=fp32,tables=fp16"
WIDE = {"mxu.rates": {"int8": 1, "fp32": "1/4"}}  # an array that computes in single precision, as the file says
LIMITS = {"INT4": (-8, 8), "UINT4": (0, 16), "INT8": (-128, 128), "UINT8": (0, 256)}


def written(folder: Path, readers: list[Any], shape: tuple[int, int], axis: int, kind: str, zeros: bool) -> str:
    """``readers`` of 'w', which is made of blocks along ``axis``; the last one's result is an output."""
    draw, stored = np.random.default_rng(5), dict[str, Any]()
    blocks = tuple(size // BLOCK if at == axis else size for at, size in enumerate(shape))
    stored["s"] = draw.uniform(0.01, 0.03, blocks).astype(np.float32)
    names = ["q", "s", *(["z"] if zeros else [])]
    nodes = [node("DequantizeLinear", names, ["w"], axis=axis, block_size=BLOCK), *readers]
    proto = model(nodes, {"x": (ROWS, DEPTH)}, [readers[-1].output[0]], stored, opset=21)
    for name, size in (("q", shape), ("z", blocks))[: 1 + zeros]:
        elements = draw.integers(*LIMITS[kind], size)
        kept = helper.make_tensor(name, getattr(TensorProto, kind), size, elements.ravel().tolist())
        proto.graph.initializer.append(kept)
    return str(save(folder, proto))


def stated(workload: Workload) -> list[str]:
    return [tensor.format for tensor in workload.tensors.values() if tensor.format]


MATMUL = [node("MatMul", ["x", "w"], ["y"])]
GEMM = [node("Gemm", ["x", "w"], ["y"], transB=1)]
ACROSS = ((DEPTH, COLUMNS), (COLUMNS, DEPTH))


@pytest.mark.parametrize(("kind", "zeros"), [("INT4", False), ("UINT4", True), ("INT8", True), ("UINT8", False)])
@pytest.mark.parametrize(("readers", "shape", "axis"), [(MATMUL, ACROSS[0], 0), (GEMM, ACROSS[1], 1)])
def test_blocks_along_a_product_are_a_format(
    tmp_path: Path, readers: list[Any], shape: tuple[int, int], axis: int, kind: str, zeros: bool
) -> None:
    """The bytes in memory are the file's own, which ONNX Runtime computes with."""
    path = written(tmp_path, readers, shape, axis, kind, zeros)
    workload = load_model(path)
    assert stated(workload) == [f"{kind.lower()}/{BLOCK}:fp32{'+z' if zeros else ''}"]
    assert workload.tensors["w"].shape == (COLUMNS, DEPTH) and workload.macs == ROWS * DEPTH * COLUMNS
    assert not [text for text in workload.warnings if "in blocks or below 8 bits" in text]
    real, whole = verify(VerifyOptions(Job(path, "edge_npu", dtype=FLOATS, values=WIDE))).checks
    assert real.passed and real.reference.startswith("ONNX Runtime") and whole.skipped


def test_another_format_is_verified_too(tmp_path: Path) -> None:
    path = written(tmp_path, MATMUL, ACROSS[0], 0, "INT4", False)
    real, _ = verify(VerifyOptions(Job(path, "edge_npu", dtype=f"{FLOATS},w=int4/16:fp16"))).checks
    assert real.passed and real.reference.startswith("NumPy")


@pytest.mark.parametrize(
    ("readers", "shape", "axis"),
    [
        ([node("MatMul", ["x", "w"], ["y"])], (DEPTH, 2 * BLOCK), 1),
        ([node("Gemm", ["x", "w"], ["y"], transB=1)], (2 * BLOCK, DEPTH), 0),
        (
            [node("MatMul", ["x", "w"], ["p"]), node("Transpose", ["p"], ["t"]), node("MatMul", ["w", "t"], ["y"])],
            (DEPTH, DEPTH),
            0,
        ),
        ([node("Add", ["x", "w"], ["y"])], (ROWS, DEPTH), 1),
    ],
)
def test_other_blocks_are_named_in_a_warning(
    tmp_path: Path, readers: list[Any], shape: tuple[int, int], axis: int
) -> None:
    """Blocks across the sums of a product, and what more than products read."""
    workload = load_model(written(tmp_path, readers, shape, axis, "INT8", False))
    assert not stated(workload)
    assert [text for text in workload.warnings if "'q' in blocks or below 8 bits" in text]


@pytest.mark.parametrize(
    ("scales", "zeros", "attributes", "says"),
    [
        ((4, 24), None, {"axis": 0, "block_size": 16}, r"'s' has shape \[4, 24\]; axis 0 and .* make \[5, 24\]"),
        ((5,), None, {"axis": 0, "block_size": 16}, r"'s' has shape \[5\]; axis 0 and block_size 16 make \[5, 24\]"),
        ((5, 24), None, {"axis": -1, "block_size": 16}, r"axis -1 and block_size 16 make \[80, 2\]"),
        ((5, 24), None, {"axis": 0}, r"axis 0 and block_size 0 make \[80\]"),
        ((5, 24), None, {"axis": 7, "block_size": 16}, "axis 7; allowed -2 to 1"),
        ((5, 24), None, {"axis": 0, "block_size": -16}, "block_size -16; allowed 1 or more, or 0 for no blocks"),
        ((5, 24), (4, 24), {"axis": 0, "block_size": 16}, r"'z' has shape \[4, 24\]; allowed that of its scales"),
    ],
)
def test_scales_that_do_not_fit_are_told(
    tmp_path: Path,
    scales: tuple[int, ...],
    zeros: tuple[int, ...] | None,
    attributes: dict[str, Any],
    says: str,
) -> None:
    stored: dict[str, Any] = {"q": np.ones((DEPTH, COLUMNS), np.int8), "s": np.ones(scales, np.float32)}
    stored |= {"z": np.ones(zeros, np.int8)} if zeros is not None else {}
    nodes = [node("DequantizeLinear", [*stored], ["w"], name="made", **attributes), *MATMUL]
    proto = model(nodes, {"x": (ROWS, DEPTH)}, ["y"], stored, opset=21)
    with pytest.raises(ModelError, match=rf"node 'made' \(DequantizeLinear\): .*{says}"):
        load_model(str(save(tmp_path, proto)))
