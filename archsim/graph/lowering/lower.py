"""A graph to a Workload: all graph passes, then each node in turn through its family.

Where the user allows it, an operator without a rule becomes a layer of the host: whole tensors go there and back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from archsim.base.errors import ModelError
from archsim.graph.lowering.builder import LayerBuilder
from archsim.graph.lowering.folded import folded_macs
from archsim.graph.lowering.host import lower_host, uncounted
from archsim.graph.lowering.tensors import ConstantContent
from archsim.graph.passes.manager import PassChange, PassOptions, passed
from archsim.ir.composites import Composite
from archsim.ir.graph import Graph, GraphNode, GraphValue, UnsupportedError
from archsim.ir.workload import ViewNode, Workload
from archsim.ops.kit.catalogue import family, find

_NAMED = 3  # nodes, in a warning of many
ON_UNSUPPORTED = ("error", "host")
_WEIGHT_DTYPES = ("float", "bfloat", "int8", "uint8", "int4", "uint4")  # wider integers steer shapes


@dataclass(frozen=True, slots=True)
class LoweredModel:
    """A Workload with where its numbers come from.

    ``graph``: without aliases, fused (None where the file states einsums alone); ``contents``: of every constant
    tensor; ``values``: the value of the graph that any other tensor holds; ``changes``: what each graph pass did.
    """

    workload: Workload
    graph: Graph | None
    contents: Mapping[str, ConstantContent]
    values: Mapping[str, str]
    changes: tuple[PassChange, ...] = ()


def lower_graph(
    graph: Graph, *, batch: int, sha256: str, on_unsupported: str = "error", lookups: Mapping[str, str] | None = None
) -> LoweredModel:
    """Lower a graph, inferred or not, by way of all graph passes (``archsim.graph.passes.manager``).

    ``on_unsupported``: 'error' raises UnsupportedError for operators without a rule; 'host' makes host layers of them.
    ``lookups``: access patterns by node name (``archsim.graph.passes.lookups``). Raises ModelError naming node and
    operator for anything else that does not fit, ConfigError for a pattern that does not.
    """
    if on_unsupported not in ON_UNSUPPORTED:
        raise ModelError(f"on_unsupported: found '{on_unsupported}'; allowed {', '.join(ON_UNSUPPORTED)}")
    passes = passed(graph, PassOptions(lookups or {}))
    canonical = passes.canonical
    build = LayerBuilder(canonical)
    for node in canonical.nodes:
        _lower(node, build, on_unsupported)
    if not build.layers:
        raise ModelError(f"model '{graph.name}' has no operator that computes or moves anything")
    for name in canonical.outputs:
        layout = build.layout(name)
        if layout is not None:
            build.tensors.output(build.value(name), layout)
    folded = folded_macs(passes.inferred, lambda alone: to_workload(alone, batch=1, sha256=""))
    workload = Workload(
        name=graph.name,
        layers=tuple(build.layers),
        tensors=dict(build.tensors.declared),
        views=_views(canonical, build),
        batch=batch,
        parameters=parameters(passes.inferred),
        sha256=passes.sha256(sha256),
        warnings=(*canonical.warnings, *_said(folded), *uncounted(build.layers)),
        folded_macs=sum(folded.values()),
        dtype=canonical.values[canonical.inputs[0]].dtype if canonical.inputs else "",
        composites=tuple(_composites(canonical, build.sources)),
    )
    values = {name: build.original(value) for name, value in build.tensors.values.items()}
    return LoweredModel(workload, canonical, build.tensors.contents, values, passes.changes)


def to_workload(graph: Graph, *, batch: int, sha256: str, on_unsupported: str = "error") -> Workload:
    """The Workload of ``lower_graph``."""
    return lower_graph(graph, batch=batch, sha256=sha256, on_unsupported=on_unsupported).workload


def _said(folded: Mapping[str, int]) -> tuple[str, ...]:
    """What a reader has to know of work on constants."""
    done = [name for name, macs in folded.items() if macs]
    if not done:
        return ()
    names = ", ".join(done[:_NAMED]) + (", ..." if len(done) > _NAMED else "")
    nodes = "1 node" if len(done) == 1 else f"{len(done)} nodes"
    return (
        f"{sum(folded.values())} MACs of {nodes} on constants are done before the model runs, not counted: {names}",
    )


def parameters(graph: Graph) -> int:
    """Elements of the model's own float constants of rank 1 and above that its nodes use.

    Running means and variances of batch normalisations are statistics, not parameters; of weights that lie in bytes
    with others those count that are in them.
    """
    counted: dict[str, int] = {}
    for node in graph.nodes:
        found = find(node.op)
        skipped = found.statistics if found is not None else ()
        packed = found.packed(node) if found is not None and found.packed is not None else {}
        for index, value in enumerate(graph.inputs_of(node)):
            if value is not None and index not in skipped:
                own = ((name, graph.values[name]) for name in value.sources)
                counted |= {name: packed.get(index, held.elements) for name, held in own if _is_weight(held)}
    return sum(counted.values())


def _is_weight(value: GraphValue) -> bool:
    return bool(value.shape) and value.dtype.startswith(_WEIGHT_DTYPES)


def _lower(node: GraphNode, build: LayerBuilder, on_unsupported: str) -> None:
    try:
        family(node).lower(node, build)
    except UnsupportedError:
        if on_unsupported != "host":
            raise
        lower_host(node, build)


def _composites(graph: Graph, sources: Mapping[str, str]) -> Iterator[Composite]:
    """Those of several layers; ``sources``: the node of each layer, in order."""
    for composite in graph.composites:
        layers = tuple(layer for layer, node in sources.items() if node in composite.members)
        if len(layers) > 1:
            yield replace(composite, members=layers)


def _views(graph: Graph, build: LayerBuilder) -> tuple[ViewNode, ...]:
    """Every node that costs nothing, in graph order where known: aliases first, then views."""
    inner = {graph.carried(other): node.outputs[0] for node in graph.nodes for other in node.fused}
    aliases = []
    for alias in graph.aliases:
        layout = build.layout(inner.get(alias.of, alias.of))
        aliases.append(ViewNode(alias.name, alias.op, layout.root if layout is not None else alias.of))
    return (*aliases, *build.views.values())
