"""The front of this room: modules to Workloads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from archsim.frontend.torch.export import ExportedModule, ModuleExport
from archsim.frontend.torch.program import TorchProgram
from archsim.frontend.torch.sizes import OpenSizes
from archsim.frontend.torch.walk import graph_of
from archsim.graph.lowering.lower import LoweredModel, lower_graph
from archsim.ir.graph import Graph, UnsupportedError


def import_module(
    asked: ModuleExport,
    name: str,
    *,
    parameters: Mapping[str, int | float | str],
    on_unsupported: str = "error",
    lookups: Mapping[str, str] | None = None,
) -> LoweredModel:
    """A module as a Workload. ``parameters``: sizes of open dimensions by the names that ``dynamic_shapes`` has for
    them. Raises ConfigError and ModelError."""
    found = ExportedModule(asked)
    program = found.program()
    name = name or type(asked.module).__name__.lower()
    try:
        graph = _graph(found, program, name, parameters, "error")
    except UnsupportedError:
        program = found.decomposed()
        graph = _graph(found, program, name, parameters, on_unsupported)
    shape = graph.values[graph.inputs[0]].shape
    stated = repr((program, sorted(parameters.items()))).encode()
    held = [each.data.tobytes() for each in program.stored.values() if each.data is not None]
    digest = hashlib.sha256(b"".join([stated, *held])).hexdigest()
    rows = shape[0] if shape else 1
    return lower_graph(graph, batch=rows, sha256=digest, on_unsupported=on_unsupported, lookups=lookups)


def _graph(
    found: ExportedModule,
    program: TorchProgram,
    name: str,
    parameters: Mapping[str, int | float | str],
    on_unsupported: str,
) -> Graph:
    sizes = OpenSizes(program, parameters, found.names(program))
    return graph_of(program, name, sizes, on_unsupported)
