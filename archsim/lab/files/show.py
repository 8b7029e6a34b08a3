"""What exists: the names that users may type, one line each, a chip printed resolved, and the kinds of extensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from archsim.base import registry
from archsim.base.errors import ConfigError, nearest
from archsim.base.units import si
from archsim.facts.dataflows import catalogue as dataflows
from archsim.lab.files import schemas
from archsim.spec.locate import config_files

if TYPE_CHECKING:
    from archsim.graph.lowering.lower import LoweredModel
    from archsim.graph.passes.manager import PassChange
    from archsim.ir.composites import Composite
    from archsim.ir.graph import Graph, GraphNode
    from archsim.spec.architecture import Architecture

ShownLines = list[tuple[str, str]]  # name, what it is


def listing(kind: str) -> ShownLines:
    """Name and description of everything of ``kind``; raises ConfigError for an unknown kind."""
    if kind not in _LISTS:
        raise ConfigError(f"show: no kind '{kind}'{nearest(kind, _LISTS)}; it has: {', '.join(_LISTS)}")
    return _LISTS[kind]()


def chip(name: str) -> str:
    """The chip ``name`` (or a path) resolved, as YAML with every default stated and arrays expanded."""
    from archsim.spec.load import load, to_yaml

    return to_yaml(load(name))


def schema(name: str) -> str:
    """The JSON Schema of a kind of file, as text."""
    return schemas.schema(name)


def technology(name: str) -> str:
    """The figures of a process node, one a line, each with how sure it is and where it comes from."""
    from archsim.lab.files import show_technology

    return show_technology.technology(name)


def extension_kinds() -> dict[str, registry.Kind]:
    """The kinds of extensions in Python, by their folders."""
    found = [import_module(module).KIND for module in _CATALOGUES]
    return {kind.folder: kind for kind in found}


def _schemas() -> ShownLines:
    return list(schemas.names().items())


def _chips() -> ShownLines:
    from archsim.spec.load import load, names

    chips = {name: load(name) for name in names()}
    return [(name, chip.description or _shape(chip)) for name, chip in chips.items()]


def _shape(found: Architecture) -> str:
    arrays = " + ".join(f"{array.copies} x {array.rows}x{array.cols}" for array in found.arrays) or "no array"
    return f"{arrays} at {si(found.clock_hz, 'Hz')}, {found.technology}"


def model_passes(name: str) -> ShownLines:
    """Each graph pass with what it made of a model: nodes after it, operators that it put together, and pieces.

    Raises ConfigError for a model of which there is no graph, and whatever reading it raises.
    """
    found = _of_graph(name)
    lines = [(change.name, _changed(change)) for change in found.changes]
    return [*lines, ("layers", f"{len(found.workload.layers)} of what is left")]


def model_graph(name: str) -> ShownLines:
    """The graph of a model as all passes leave it: its inputs, its nodes in order with what they read, its outputs, and
    the nodes that are one thing together.

    Each value stands with its shape, which is that of the model (images N, C, H, W). Raises as ``model_passes``.
    """
    graph = _of_graph(name).graph
    assert graph is not None
    given = [(each, f"{graph.values[each].kind} {list(graph.shape(each))}") for each in graph.inputs]
    nodes = [(node.name, _node(graph, node)) for node in graph.nodes]
    outputs = [(each, f"output {list(graph.shape(each))}") for each in graph.outputs]
    return [*given, *nodes, *outputs, *((each.name, _together(graph, each)) for each in graph.composites)]


def _together(graph: Graph, composite: Composite) -> str:
    """``composite attention of a.rotary, a.scores, a.softmax``: views are left out."""
    from archsim.ops.kit.catalogue import find

    told = {node.name for node in graph.nodes if (found := find(node.op)) is None or found.result == "layer"}
    return f"composite {composite.kind} of {', '.join(name for name in composite.members if name in told)}"


def _of_graph(name: str) -> LoweredModel:
    """A model that a graph was read of, with operators without a rule where its format may have some."""
    from archsim.frontend import catalogue
    from archsim.frontend.load import find_model, import_model

    may_lack = "on_unsupported" in catalogue.reader(find_model(name).file).OPTIONS
    found = import_model(name, on_unsupported="host" if may_lack else "error")
    if found.graph is None:
        raise ConfigError(f"{name}: states its layers itself, so no graph pass runs")
    return found


def _node(graph: Graph, node: GraphNode) -> str:
    """``MatMul(x [1, 4], w [4, 8]) -> y [1, 8], with act (Relu)``."""
    reads = ", ".join(_shaped(graph, each) if each else "-" for each in node.inputs)
    makes = ", ".join(_shaped(graph, each) for each in node.outputs if each)
    rides = ", ".join(f"{other.name} ({other.op})" for other in node.fused)
    return f"{node.op}({reads}) -> {makes}" + (f", with {rides}" if rides else "")


def _shaped(graph: Graph, name: str) -> str:
    """A value with its shape; one number that is known by itself."""
    value = graph.values[name]
    if value.data is not None and value.data.size == 1:
        return str(value.data.reshape(-1)[0])
    return f"{name} {list(value.shape)}"


def _changed(change: PassChange) -> str:
    made, gone = (", ".join(f"{count} {op}" for op, count in part.items()) for part in (change.made, change.gone))
    said = "; ".join(filter(None, (f"made {made}" if made else "", f"gone {gone}" if gone else "")))
    return f"{change.nodes:,} nodes: {said or ('as before' if change.same else 'some in other places')}"


def _models() -> ShownLines:
    from archsim.frontend.load import names

    return list(names().items())


def _files(folder: str) -> ShownLines:
    """Files of a kind by name, with the description that each states."""
    from archsim.spec.nodes import read

    found = {name: read(path).mapping.get("description") for name, path in config_files(folder).items()}
    return [(name, str(node.value) if node is not None else "") for name, node in found.items()]


def _extensions(folder: str) -> ShownLines:
    """Extensions of a kind by name, with the first line of what each says of itself."""
    kind = extension_kinds()[folder]
    return [(name, registry.first_line(kind, name)) for name in registry.modules(kind)]


def _dataflows() -> ShownLines:
    return [(name, dataflows.get(name).SUMMARY) for name in dataflows.names()]


def _passes() -> ShownLines:
    """Graph passes in the order in which they run."""
    from archsim.graph.passes import manager

    return [(name, registry.first_line(manager.KIND, name)) for name in manager.order()]


def _operators() -> ShownLines:
    """Operators that nodes may have, each with the file that serves it."""
    from archsim.ops.kit import catalogue

    return [(op, f"{name}: {registry.first_line(catalogue.KIND, name)}") for op, name in catalogue.operators().items()]


def _front_ends() -> ShownLines:
    from archsim.frontend import catalogue

    return [
        (name, f"{', '.join(catalogue.get(name).SUFFIXES)}: {registry.first_line(catalogue.KIND, name)}")
        for name in catalogue.names()
    ]


def _kinds() -> ShownLines:
    """Every kind of extension: the folder of its files, the variable that lists directories with such a folder, and
    where it stands what a file must define."""
    defined = extension_kinds()
    lines = []
    for folder, found in registry.FOLDERS.items():
        kind = defined.get(folder)
        protocol = kind.protocol if kind is not None else None
        where = f"{protocol.__module__}.{protocol.__name__}" if protocol is not None else _SCHEMA_OF[folder]
        lines.append((found.kind, f"{found.variable}: DIR/{folder}/NAME{found.suffix}, as {where} says"))
    return lines


_CATALOGUES = (
    "archsim.facts.dataflows.catalogue",
    "archsim.facts.dram.catalogue",
    "archsim.facts.noc.catalogue",
    "archsim.ops.kit.catalogue",
    "archsim.graph.passes.manager",
    "archsim.frontend.catalogue",
    "mapper.search.catalogue",
    "mapper.policies.catalogue",
    "archsim.lab.explore.catalogue",
)
_SCHEMA_OF = {
    "technology": "'show schema technology'",
    "area": "'show schema area'",
    "power": "'show schema power'",
    "accelerators": "'show schema chip'",
    "workloads": "'show schema workload'",
    "models": "docs/transformers.md",
    "dram": "'show schema dram_energy'",
    "links": "'show schema link'",
    "scenarios": "'show schema scenario'",
}
PRINTED: Mapping[str, Callable[[str], str]] = {  # kinds of which one may be printed
    "chips": chip,
    "technology": technology,
    "technologies": technology,
    "schema": schema,
    "schemas": schema,
}
_LISTS: Mapping[str, Callable[[], ShownLines]] = {
    "chips": _chips,
    "models": _models,
    "scenarios": partial(_files, "scenarios"),
    "dram": partial(_extensions, "dram_standards"),
    "technology": partial(_files, "technology"),
    "technologies": partial(_files, "technology"),
    "links": partial(_files, "links"),
    "dataflows": _dataflows,
    "topologies": partial(_extensions, "topologies"),
    "operators": _operators,
    "passes": _passes,
    "frontends": _front_ends,
    "searches": partial(_extensions, "search"),
    "explore": partial(_extensions, "explore"),
    "policies": partial(_extensions, "policies"),
    "schema": _schemas,
    "schemas": _schemas,
    "kinds": _kinds,
}
