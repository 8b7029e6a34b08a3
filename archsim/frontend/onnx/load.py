"""The ONNX front end: file -> graph -> shapes -> Workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import onnx

from archsim.base.errors import ModelError
from archsim.frontend.names import renamed, shape_names
from archsim.frontend.onnx.convert import inferred_shapes, to_graph
from archsim.frontend.onnx.read import file_hash, opset, read_model
from archsim.frontend.onnx.validity import check_shapes, check_types, declared
from archsim.graph.lowering.lower import LoweredModel, lower_graph
from archsim.graph.passes.infer import Rebatch, infer
from archsim.ir.graph import Graph
from archsim.ir.workload import Workload


def load_onnx(
    path: Path,
    *,
    name: str = "",
    batch: int | None = None,
    on_unsupported: str = "error",
    lookups: Mapping[str, str] | None = None,
) -> Workload:
    """The Workload of ``import_onnx``."""
    return import_onnx(path, name=name, batch=batch, on_unsupported=on_unsupported, lookups=lookups).workload


def import_onnx(
    path: Path,
    *,
    name: str = "",
    batch: int | None = None,
    on_unsupported: str = "error",
    lookups: Mapping[str, str] | None = None,
) -> LoweredModel:
    """Import a model. ``name``: of the workload (the file's stem if ''). ``batch``: new dim 0 of the inputs, None as
    stored. ``lookups``: access patterns by node name.

    Raises ModelError naming file, node and operator. No weight is read.
    """
    graph, digest = load_graph(path, name=name, batch=batch, on_unsupported=on_unsupported)
    size = graph.shape(graph.inputs[0])
    rows = size[0] if size else 1
    return lower_graph(graph, batch=rows, sha256=digest, on_unsupported=on_unsupported, lookups=lookups)


def load_graph(
    path: Path, *, name: str = "", batch: int | None = None, on_unsupported: str = "error"
) -> tuple[Graph, str]:
    """The inferred graph of a model, nodes called as ``archsim.frontend.names`` says, and the SHA-256 of its file."""
    model = read_model(path)
    digest = file_hash(path)
    try:
        stored = _graph(model, name or path.stem, None, on_unsupported)
        before = infer(stored)
        check_shapes(before, declared(model.graph))
        names = shape_names(before, {node.name for node in model.graph.node})
        if batch is None:
            return renamed(before, names), digest
        wanted = _graph(model, name or path.stem, batch, on_unsupported)
        return renamed(_rebatched(stored, before, wanted), names), digest
    except ModelError as error:
        raise type(error)(f"{path.name}: {error}") from None


def _rebatched(stored: Graph, before: Graph, wanted: Graph) -> Graph:
    """Shapes for the new batch; target shapes that were written for the old one are scaled with it.

    ``before``: the stored graph with its shapes.
    """
    old = stored.shape(stored.inputs[0])
    new = wanted.shape(wanted.inputs[0])
    if [stored.shape(name) for name in stored.inputs] == [wanted.shape(name) for name in wanted.inputs]:
        return infer(wanted)
    return infer(wanted, Rebatch(before.values, old[0], new[0]))


def _graph(model: onnx.ModelProto, name: str, batch: int | None, on_unsupported: str) -> Graph:
    """The graph, with shapes by ONNX's own inference where operators may have to run on the host."""
    graph = to_graph(model, name, batch)
    check_types(model.graph, opset(model) or 0)
    if on_unsupported != "host":
        return graph
    shapes = {name: graph.shape(name) for name in graph.inputs}
    return replace(graph, hints=inferred_shapes(model, shapes))
