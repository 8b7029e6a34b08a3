"""BERT-base and a block of Llama 3 8B as transformers has them, by three routes: config.json, torch.export, ONNX."""

from __future__ import annotations

import gzip
from math import prod
from pathlib import Path

import pytest

import archsim
from archsim.ir.workload import Layer, Workload
from tests.tools.mutation_seeds import GOLDEN

FOLDER = GOLDEN / "routes"
ROWS = 512
BERT = (138, 48_318_971_904, 109_482_240)  # layers, MACs, elements of weights
LLAMA = (17, 114_892_472_320, 226_504_704 + 512 * 128)  # 1,024 x 4,096 twice for the vocabulary; rotary tables


def _routes(folder: Path, name: str) -> list[Workload]:
    """By config, torch and ONNX."""
    onnx = folder / f"{name}.onnx"
    onnx.write_bytes(gzip.decompress((FOLDER / f"{name}.onnx.gz").read_bytes()))
    config = archsim.load_model(FOLDER / f"{name}.json", parameters={"prompt": ROWS})
    return [config, archsim.load_model(FOLDER / f"{name}.pt2"), archsim.load_model(onnx)]


def _row(layer: Layer) -> tuple[object, ...]:
    """What a layer is on any route: states are read as inputs where nobody appends to them, and heads may be one
    dimension or two."""
    roles = sorted(operand.role.replace("kv", "inputs") for operand in layer.inputs)
    return layer.op, layer.kind, prod(layer.dims.values()), roles, layer.macs


def _facts(workload: Workload, layers: list[Layer]) -> tuple[int, int, int]:
    """Layers, MACs and elements of weights and tables."""
    read = {operand.tensor for layer in layers for operand in layer.inputs if operand.role == "weights"}
    gathered = {op.tensor for layer in layers if layer.op == "GatherRows" for op in layer.inputs if op.role == "tables"}
    elements = sum(workload.tensors[name].elements for name in read | gathered)
    return len(layers), workload.macs, elements


@pytest.mark.parametrize(("name", "facts"), [("bert", BERT), ("llama", LLAMA)])
def test_three_routes_give_the_same_layers_macs_and_weights(
    tmp_path: Path, name: str, facts: tuple[int, int, int]
) -> None:
    """The config has a cache of keys and values that the exported programs have not."""
    found = []
    for workload in _routes(tmp_path, name):
        layers = [layer for layer in workload.layers if layer.op != "Append"]
        assert _facts(workload, layers) == facts
        found.append([_row(layer) for layer in layers])
    assert found[0] == found[1] == found[2]
