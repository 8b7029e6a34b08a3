"""A sum or product with another result is done by the matrix product before it, as that writes its outputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import helper

from archsim.frontend.load import load_model
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from tests.unit.fixtures_onnx import random, write_nodes


def _model(folder: Path, *nodes: tuple[str, list[str], str], added: tuple[int, ...] = (32, 48)) -> str:
    """x (32 x 64) and r are inputs, w (64 x 48) and v (48 x 48) weights; y comes out."""
    made = [helper.make_node(op, inputs, [name], name=name) for op, inputs, name in nodes]
    weights = {"w": random(64, 48), "v": random(48, 48)}
    read = {name for _, inputs, _ in nodes for name in inputs}
    stored = {name: data for name, data in weights.items() if name in read}
    return str(write_nodes(folder, made, {"x": [32, 64], "r": [*added]}, [nodes[-1][2]], **stored))


RESIDUAL = (("MatMul", ["x", "w"], "m"), ("Add", ["r", "m"], "s"), ("Relu", ["s"], "y"))
GATED = (("MatMul", ["x", "w"], "m"), ("Mul", ["r", "m"], "s"), ("Relu", ["s"], "y"))


@pytest.mark.parametrize(("nodes", "function"), [(RESIDUAL, "add"), (GATED, "multiply")])
def test_it_is_one_layer_of_two_passes(
    tmp_path: Path, nodes: tuple[tuple[str, list[str], str], ...], function: str
) -> None:
    """It is a pass of its own, in which a plain activation has room; whichever side of it the product is on."""
    (layer,) = load_model(_model(tmp_path, *nodes)).layers
    assert [step.function for step in layer.steps] == ["requantise", f"{function}+relu"] and len(layer.fused) == 2
    epilogue = layer.inputs[-1]
    assert (epilogue.name, epilogue.tensor, epilogue.axes) == ("epilogue", "r", layer.output.axes)


@pytest.mark.parametrize("nodes", [RESIDUAL, GATED], ids=["sum", "gate"])
@pytest.mark.parametrize("chip", ["edge_npu", "tpu_v1", "gemmini_16x16", "mtia_v2i"])
def test_numbers_are_those_of_the_runtime_and_whole_ones_equal(
    tmp_path: Path, chip: str, nodes: tuple[tuple[str, list[str], str], ...]
) -> None:
    outcome = verify(VerifyOptions(Job(_model(tmp_path, *nodes), chip), interleavings=2))
    assert outcome.met and outcome.checks[-1].rows
    assert all(row.different == 0 for row in outcome.checks[-1].rows)


@pytest.mark.parametrize(
    ("nodes", "added", "why"),
    [
        (RESIDUAL, (1, 48), "of another shape"),
        ((("MatMul", ["x", "w"], "m"), ("Add", ["m", "m"], "y")), (32, 48), "the product itself"),
        ((*RESIDUAL[:2], ("Mul", ["s", "m"], "y")), (32, 48), "read by others too"),
        (GATED, (1, 48), "a factor of another shape"),
        ((("MatMul", ["x", "w"], "m"), ("Mul", ["m", "m"], "y")), (32, 48), "its own square"),
        ((*GATED[:2], ("Div", ["s", "m"], "y")), (32, 48), "a factor of what is read by others too"),
        (
            (("MatMul", ["x", "w"], "m"), ("MatMul", ["r", "v"], "n"), ("Exp", ["n"], "e"), ("Add", ["m", "e"], "y")),
            (32, 48),
            "made later",
        ),
        ((("Exp", ["x"], "m"), ("Add", ["m", "r"], "y")), (32, 64), "behind what is no product"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_else_it_is_a_layer_of_its_own(
    tmp_path: Path, nodes: tuple[tuple[str, list[str], str], ...], added: tuple[int, ...], why: str
) -> None:
    found = load_model(_model(tmp_path, *nodes, added=added)).layers
    assert {"Add", "Mul"} & {layer.op for layer in found}, why


def test_the_later_of_two_products_adds_the_other_one(tmp_path: Path) -> None:
    """As where a branch of a residual network has a product of its own."""
    nodes = (("MatMul", ["x", "w"], "m"), ("MatMul", ["r", "v"], "n"), ("Add", ["m", "n"], "y"))
    first, last = load_model(_model(tmp_path, *nodes)).layers
    assert not first.fused and [operand.tensor for operand in last.inputs][-1] == first.output.tensor
