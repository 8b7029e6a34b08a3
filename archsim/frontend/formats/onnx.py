"""ONNX graphs, as every framework exports them; their weights are read by verify alone."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from archsim.frontend.catalogue import ImportOptions
from archsim.frontend.onnx import runtime as onnx_runtime
from archsim.graph.lowering.lower import LoweredModel
from archsim.ir.graph import Array

SUFFIXES = (".onnx",)
OPTIONS = ("batch", "on_unsupported", "lookups")
_LIGHT = Path("backend") / "test" / "data" / "light"
_ZOO = {
    "alexnet": "light_bvlc_alexnet.onnx",
    "densenet121": "light_densenet121.onnx",
    "inception_v1": "light_inception_v1.onnx",
    "inception_v2": "light_inception_v2.onnx",
    "resnet50": "light_resnet50.onnx",
    "shufflenet": "light_shufflenet.onnx",
    "squeezenet": "light_squeezenet.onnx",
    "vgg19": "light_vgg19.onnx",
    "zfnet512": "light_zfnet512.onnx",
}


def load(path: Path, asked: ImportOptions) -> LoweredModel:
    """See ``archsim.frontend.onnx.load.import_onnx``."""
    from archsim.frontend.onnx.load import import_onnx

    return import_onnx(
        path, name=asked.name, batch=asked.batch, on_unsupported=asked.on_unsupported, lookups=asked.lookups
    )


def models() -> dict[str, Path]:
    """The graphs that come with the onnx package, found without importing it."""
    spec = importlib.util.find_spec("onnx")
    if spec is None or spec.origin is None:
        return {}
    folder = Path(spec.origin).parent / _LIGHT
    return {name: folder / file for name, file in _ZOO.items() if (folder / file).is_file()}


def describe(path: Path) -> str:
    """Where a graph comes from."""
    return f"ONNX graph {path.name} of the onnx package"


def stored(path: Path) -> dict[str, Array]:
    """Contents of every tensor that the file stores, by name."""
    from archsim.frontend.onnx.numbers import load_whole, stored_arrays

    return stored_arrays(load_whole(path))


def runtime() -> str:
    """``ONNX Runtime 1.20.0``; raises ConfigError where it is not installed."""
    return onnx_runtime.version()


def execute(
    path: Path, replaced: Mapping[str, Array], inputs: Mapping[str, Array], wanted: tuple[str, ...]
) -> dict[str, Array]:
    """See ``archsim.frontend.onnx.runtime.run``."""
    return onnx_runtime.run(path, replaced, inputs, wanted)
