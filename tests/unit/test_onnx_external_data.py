"""Tensors whose data lies in a file beside an ONNX file: small ones and masks are read, weights are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixtures_onnx import Array, model, random, refused, save
from onnx import TensorProto, helper

from archsim.frontend.onnx.load import load_graph, load_onnx

node = helper.make_node


def beside(tensor: TensorProto, **stated: str | int) -> None:
    """Has a tensor say where its data is instead of holding it."""
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in stated.items():
        tensor.external_data.add(key=key, value=str(value))


@pytest.mark.parametrize(
    ("location", "fine"),
    [
        ("weights.bin", True),
        ("sub/w.bin", True),
        ("../w.bin", False),
        ("/etc/passwd", False),
        ("sub/../../w", False),
        ("", False),
    ],
)
def test_external_data_stays_in_its_folder(tmp_path: Path, location: str, fine: bool) -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": (1, 4)}, ["y"], {"w": random(4, 4)})
    beside(proto.graph.initializer[0], location=location)
    path = save(tmp_path / "model", proto)
    if fine:
        assert load_onnx(path).parameters == 16
    else:
        refused(path, "tensor 'w' has its data at .* outside the model's folder")


def external(tmp_path: Path, numbers: Array, stated: dict[str, int], held: bytes) -> Path:
    """A model that reshapes by what lies in a file beside it."""
    proto = model(
        [node("Reshape", ["x", "w"], ["y0"]), node("Relu", ["y0"], ["y"])], {"x": (1, 4)}, ["y"], {"w": numbers}
    )
    beside(proto.graph.initializer[0], location="w.bin", **stated)
    path = save(tmp_path, proto)
    (path.parent / "w.bin").write_bytes(held)
    return path


def test_small_external_data_is_read(tmp_path: Path) -> None:
    shape = np.asarray([2, 2], np.int64)
    for stated, before in (({}, b""), ({"offset": 3, "length": 16}, b"abc")):
        path = external(tmp_path, shape, stated, before + shape.tobytes())
        assert [layer.dims for layer in load_onnx(path).layers] == [{"d0": 2, "d1": 2}]
    (path.parent / "w.bin").unlink()
    refused(path, "computed at run time")


@pytest.mark.parametrize(
    ("stated", "held", "said"),
    [
        ({}, b"abc", "needs 16 bytes from byte 0 on, but states 16, and 'w.bin' has 3"),
        ({"offset": 9}, b"a" * 20, "needs 16 bytes from byte 9 on"),
        ({"length": 8}, b"a" * 20, "but states 8, and"),
        ({"offset": -1}, b"a" * 20, "has offset '-1'; allowed a number"),
    ],
)
def test_external_data_that_does_not_fit_is_refused(
    tmp_path: Path, stated: dict[str, int], held: bytes, said: str
) -> None:
    refused(external(tmp_path, np.asarray([2, 2], np.int64), stated, held), said)


def test_a_mask_beside_the_file_is_read(tmp_path: Path) -> None:
    """Of three tensors of equal size the one that is a mask."""
    mask = np.triu(np.full((64, 64), -1e38, np.float32), 1)
    weights = random(64, 64)
    nodes = [node("Add", ["x", "mask"], ["y0"]), node("Mul", ["y0", "w"], ["y"])]
    proto = model(nodes, {"x": (64, 64)}, ["y"], {"mask": mask, "w": weights})
    (tmp_path / "both.bin").write_bytes(mask.tobytes() + weights.tobytes())
    for at, tensor in enumerate(proto.graph.initializer):
        beside(tensor, location="both.bin", offset=at * 16384, length=16384)
    path = save(tmp_path, proto)
    assert path.parent == tmp_path
    values = load_graph(path)[0].values
    assert np.array_equal(values["mask"].data, mask) and values["w"].data is None


def test_a_link_out_of_the_folder_is_outside(tmp_path: Path) -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": (1, 4)}, ["y"], {"w": random(4, 4)})
    beside(proto.graph.initializer[0], location="link/w.bin")
    path = save(tmp_path / "model", proto)
    (tmp_path / "model" / "link").symlink_to(tmp_path)
    refused(path, "outside the model's folder")
