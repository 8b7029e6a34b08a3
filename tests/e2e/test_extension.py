"""A new operator, dataflow and chip: one file each, found by its name, used together by the shipped commands."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.tools.commands import GOLDEN, Archsim

pytestmark = pytest.mark.slow  # a process for each command

OPERATOR = '''"""Twice: every element doubled."""

from archsim.ops.kit.family import Family
from archsim.ops.kit.access import Access, at
from archsim.ops.kit.steps import step


def lower(node, build):
    out = node.outputs[0]
    index = tuple(at(dim) for dim in build.dims(out))
    reads, writes = Access("in0", node.inputs[0], index), Access("out", out, index)
    build.layer(node, "vector", build.extents(out), (reads,), writes, steps=build.steps(node, step("twice", 3)))


FAMILY = Family(
    ("Twice",),
    lambda node, inputs: (inputs[0].shape,),
    lambda node, x: (2 * x,),
    lower,
    order="same",
    functions={"twice": lambda call: 2 * call.values[0]},
)
'''

DATAFLOW = '''"""Output stationary under a name of its own."""

from archsim.facts.dataflows.output_stationary import HELD, OPTIONS, fanouts, fold, registers

SUMMARY = "output stationary, as a plug-in"
__all__ = ["HELD", "OPTIONS", "SUMMARY", "fanouts", "fold", "registers"]
'''

CHIP = """name: mine
source: "by definition: a test"
extends: {golden}
hierarchy:
  - array: {{name: mxu, dataflow: my_dataflow}}
"""


def model_with_twice(path: Path) -> None:
    make = onnx.helper
    nodes = [
        make.make_node("Conv", ["x", "w"], ["c"], name="conv", kernel_shape=[3, 3]),
        make.make_node("Twice", ["c"], ["y"], name="double"),
    ]
    weights = make.make_tensor("w", onnx.TensorProto.FLOAT, (4, 4, 3, 3), [0.0] * 144)
    shapes = {"x": (1, 4, 8, 8), "y": (1, 4, 6, 6)}
    infos = {name: make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    graph = make.make_graph(nodes, "twice", [infos["x"]], [infos["y"]], [weights])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 13)]), path)


def test_one_file_each(archsim: Archsim, tmp_path: Path) -> None:
    for place, text in (
        ("plugins/ops/twice.py", OPERATOR),
        ("plugins/dataflows/my_dataflow.py", DATAFLOW),
        ("configs/accelerators/mine.yaml", CHIP.format(golden=GOLDEN / "chip.yaml")),
    ):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(text)
    model = tmp_path / "twice.onnx"
    model_with_twice(model)
    found = {"ARCHSIM_PLUGINS": str(tmp_path / "plugins"), "ARCHSIM_CONFIGS": str(tmp_path / "configs")}
    assert "mine" in archsim("show", "chips", **found).stdout
    assert "my_dataflow" in archsim("show", "dataflows", **found).stdout
    done = archsim("run", str(model), "--on", "mine", "--format", "json", **found)
    assert done.returncode == 0, done.stderr
    layers = {row["name"]: row for row in json.loads(done.stdout)["layers"]}
    assert layers["double"]["op"] == "Twice" and layers["double"]["cycles_total"] > 0
    plain = archsim("run", str(model), "--on", str(GOLDEN / "chip.yaml"))
    assert plain.returncode == 2 and "Twice" in plain.stderr
