"""A file to a checked ModelProto whose large tensors are declarations only."""

from __future__ import annotations

import hashlib
from math import prod
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from archsim.base.errors import ModelError
from archsim.frontend.onnx.dtypes import BITS
from archsim.frontend.onnx.external import DataFiles
from archsim.frontend.onnx.skim import SkimmedModel, skim
from archsim.frontend.onnx.validity import check_names, check_opset

_CHUNK_BYTES = 1 << 20
_DEFAULT_DOMAINS = ("", "ai.onnx")


def read_model(path: Path) -> onnx.ModelProto:
    """The model without large contents; ModelError for anything damaged, inconsistent or reaching outside its
    folder.
    """
    skimmed = skim(path)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(skimmed.data)
    except DecodeError as error:
        raise ModelError(f"{path}: not an ONNX model or damaged ({error}); export it again") from None
    if not model.HasField("graph") or not model.graph.node:
        raise ModelError(f"{path}: not an ONNX model: it holds no graph; export one")
    _check_names(path, model)
    version = opset(model)
    if version is None:
        raise ModelError(f"{path}: states no opset; export it again with opset_import")
    check_opset(path, version)
    check_names(path, model.graph)
    beside = DataFiles(path)
    try:
        for tensor in model.graph.initializer:
            _check_tensor(path, tensor, skimmed, beside)
    finally:
        beside.close()
    if model.graph.sparse_initializer:
        raise ModelError(f"{path}: has sparse initializers, which are not supported; export it with dense weights")
    return model


def opset(model: onnx.ModelProto) -> int | None:
    """Version of the default operator set."""
    versions = [entry.version for entry in model.opset_import if entry.domain in _DEFAULT_DOMAINS]
    return max(versions) if versions and min(versions) > 0 else None


def file_hash(path: Path) -> str:
    """SHA-256 of the file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def holds_data(tensor: onnx.TensorProto) -> bool:
    """Whether the contents are still in the message (small tensors)."""
    fields = (
        "raw_data",
        "float_data",
        "int32_data",
        "int64_data",
        "double_data",
        "uint64_data",
        "string_data",
    )
    return any(len(getattr(tensor, name)) for name in fields)


def _check_names(path: Path, model: onnx.ModelProto) -> None:
    """Names must be text (a damaged one comes back from the parser as bytes)."""
    graph = model.graph
    names: list[object] = [graph.name, *(entry.domain for entry in model.opset_import)]
    names += [item.name for item in (*graph.input, *graph.output, *graph.initializer)]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [attribute.name for attribute in node.attribute]
    broken = next((name for name in names if not isinstance(name, str)), None)
    if broken is not None:
        raise ModelError(f"{path}: the name {broken!r} is not UTF-8 text; the file is damaged, export it again")


def _check_tensor(path: Path, tensor: onnx.TensorProto, skimmed: SkimmedModel, beside: DataFiles) -> None:
    if any(size < 0 for size in tensor.dims):
        raise ModelError(f"{path}: tensor '{tensor.name}' has a negative dimension: {list(tensor.dims)}")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        _check_external(path, tensor)
        beside.take_in(tensor)
        return
    elements, bits = prod(tensor.dims), BITS.get(tensor.data_type, 0)
    raw = skimmed.raw_bytes.get(tensor.name, len(tensor.raw_data))
    declared = -(-elements * bits // 8)
    if raw and bits and raw != declared:
        raise ModelError(_mismatch(path, tensor, declared, raw))
    typed = skimmed.typed_bytes.get(tensor.name, 0)
    if not raw and elements and not holds_data(tensor) and typed < elements:
        raise ModelError(_mismatch(path, tensor, declared, typed))


def _mismatch(path: Path, tensor: onnx.TensorProto, declared: int, held: int) -> str:
    return (
        f"{path}: tensor '{tensor.name}' of shape {list(tensor.dims)} declares {declared:,} bytes, "
        f"but the file holds {held:,}; export it again"
    )


def _check_external(path: Path, tensor: onnx.TensorProto) -> None:
    """A place outside the model's folder is refused."""
    folder = path.resolve().parent
    location: str | bytes = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
    if not isinstance(location, str) or "\0" in location:  # bytes where they are no text
        raise ModelError(f"{path}: tensor '{tensor.name}' has its data at {location[:60]!r}; allowed paths without NUL")
    target = Path(location)
    if not location or target.is_absolute() or not (folder / target).resolve().is_relative_to(folder):
        raise ModelError(
            f"{path}: tensor '{tensor.name}' has its data at '{location}', outside the model's folder; "
            "allowed relative paths inside it"
        )
