"""Runs the graph passes: which there are, in which order, and what they are held to.

A graph pass is one file of this package, or of the folder ``passes`` of a plugin directory. ``infer`` comes first, so
that every other pass finds shapes; a pass then runs one round after the last of those that it names in ``AFTER``, and
passes of one round run in the order of their names. So the order follows from what the files say alone.

A pass of a plugin changes what is simulated. So the graph that it returns is checked, a warning of the Workload says
what it made of the model, and its code is part of the Workload's hash.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

from archsim.base import registry
from archsim.base.errors import ConfigError, ModelError, nearest
from archsim.graph.sort import topological
from archsim.ir.graph import Graph

FIRST = "infer"  # the pass that every other one comes after


@dataclass(frozen=True, slots=True)
class PassOptions:
    """What the user asked of the passes. ``lookups``: access pattern by the name of the node that looks rows up."""

    lookups: Mapping[str, str] = field(default_factory=dict)


class GraphPass(Protocol):
    """What the file of a graph pass defines.

    ``AFTER``: names of the passes that must have run before it, beside ``infer``. ``BEFORE``: names of those that must
    not have run yet; none where a file does not define it.
    """

    AFTER: tuple[str, ...]
    BEFORE: tuple[str, ...] = ()

    def run(self, graph: Graph, options: PassOptions) -> Graph:
        """The graph after the pass; the one that is given is never changed.

        The graph has a shape for every value, and so must the one returned: a value that the pass makes is entered in
        ``values``. Nodes may stand in any order, graph inputs and outputs stay. Raises ModelError that names a node
        (``GraphNode.fail``) where a graph cannot be passed.
        """


KIND = registry.Kind("graph pass", "archsim.graph.passes", "passes", "run", GraphPass)


@dataclass(frozen=True, slots=True)
class PassChange:
    """What a pass made of a graph: operators and composites that are there more often or less often after it, with how
    many more or fewer, and how many nodes there are after it. Nodes that others absorb count as gone. ``same``: nothing
    changed."""

    name: str
    nodes: int
    same: bool
    made: Mapping[str, int]
    gone: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PassedGraph:
    """What the passes made of a graph: ``inferred``, with shapes but otherwise as the model has it; ``canonical``,
    after the last pass; ``plugins``: name and code's SHA-256 of each pass that is not the tree's own, in order;
    ``changes``: of each pass, in order."""

    inferred: Graph
    canonical: Graph
    plugins: tuple[tuple[str, str], ...] = ()
    changes: tuple[PassChange, ...] = ()

    def sha256(self, model: str) -> str:
        """Hash of a model and what plugins made of it: that of the model where there are none."""
        if not self.plugins:
            return model
        return hashlib.sha256(" ".join([model, *(code for _, code in self.plugins)]).encode()).hexdigest()


def passed(graph: Graph, options: PassOptions) -> PassedGraph:
    """Run all passes on a graph, inferred or not.

    Raises ConfigError for passes that cannot be put in order and for one that returns what is no graph of the model,
    and whatever a pass raises.
    """
    plugins = registry.plugins(KIND)
    found, inferred, ran, changes = graph, graph, [], []
    for name in order():
        before = found
        found = load(name).run(before, options)
        if name == FIRST:
            inferred = found
        if name in plugins:
            found = _told(name, plugins[name], before, found)
            ran.append((name, registry.sha256(plugins[name])))
        changes.append(_change(name, before, found))
    return PassedGraph(inferred, found, tuple(ran), tuple(changes))


def _change(name: str, before: Graph, after: Graph) -> PassChange:
    old, new = (Counter(_kinds(graph)) for graph in (before, after))
    same = before.nodes == after.nodes and before.composites == after.composites
    return PassChange(
        name, len(after.nodes), same, dict(sorted((new - old).items())), dict(sorted((old - new).items()))
    )


def _kinds(graph: Graph) -> list[str]:
    """What a graph has of operators and composites, one by one."""
    return [node.op for node in graph.nodes] + [f"{each.kind} composite" for each in graph.composites]


def names() -> tuple[str, ...]:
    """Names of all passes, sorted."""
    return tuple(registry.modules(KIND))


def load(name: str) -> GraphPass:
    """The pass of a name."""
    return cast(GraphPass, registry.load(KIND, name))


def order() -> tuple[str, ...]:
    """Names of all passes in the order in which they run.

    Raises ConfigError for a name that no pass has and for passes that wait for one another.
    """
    waits_for = _constraints()
    rounds: dict[str, int] = {}
    while len(rounds) < len(waits_for):
        ready = {name: waits_for[name] for name in waits_for if name not in rounds and waits_for[name] <= rounds.keys()}
        if not ready:
            stuck = ", ".join(f"'{name}'" for name in waits_for if name not in rounds)
            raise ConfigError(f"graph passes {stuck} wait for one another by AFTER and BEFORE; leave one of these out")
        for name, waited in ready.items():
            rounds[name] = 1 + max([rounds[other] for other in waited], default=-1)
    return tuple(sorted(rounds, key=lambda name: (rounds[name], name)))


def _constraints() -> dict[str, set[str]]:
    """Of each pass those that must have run before it."""
    files = registry.modules(KIND)
    found = {name: {FIRST} - {name} for name in files}
    for name, file in files.items():
        stated = load(name)
        before = getattr(stated, "BEFORE", ())
        for other in (*stated.AFTER, *before):
            if other not in files:
                raise ConfigError(
                    f"{file}: names the graph pass '{other}', which there is not{nearest(other, files)}; known: "
                    f"{', '.join(files)}"
                )
        found[name].update(stated.AFTER)
        for other in before:
            found[other].add(name)
    return found


def _told(name: str, file: str, before: Graph, after: Graph) -> Graph:
    """The graph that a plugin made, put in order and with a warning that says so; raises ConfigError for none."""
    if not isinstance(after, Graph):
        raise ConfigError(f"{file}: run returned {type(after).__name__}; allowed the archsim.ir.graph.Graph after it")
    try:
        after = replace(after, nodes=topological(after.nodes))
        _check(before, after)
    except ModelError as error:
        raise ConfigError(f"{file}: what the graph pass '{name}' returned is no graph of the model: {error}") from None
    said = f"graph pass '{name}' is a plugin and took part: {_counted(before, after)}"
    return replace(after, warnings=(*after.warnings, said))


def _check(before: Graph, after: Graph) -> None:
    """Raise ModelError for a value without a shape, and for inputs and outputs that are not those of the model."""
    for node in after.nodes:
        after.inputs_of(node)
        for output in filter(None, node.outputs):
            if output not in after.values:
                node.fail(f"writes '{output}', which has no shape in the graph's values")
    made = {name for node in after.nodes for name in node.outputs} | {
        name for name, value in after.values.items() if value.kind != "activation"
    }
    for item in (value for node in after.nodes for value in after.inputs_of(node) if value is not None):
        if item.name not in made:
            raise ModelError(f"'{item.name}' is read, but no node makes it any more")
    for output in after.outputs:
        if output not in made:
            raise ModelError(f"the output '{output}' is made by no node")
    shapes = [[graph.values[name].shape for name in names] for graph, names in _ends(before, after)]
    if shapes[0] != shapes[2] or shapes[1] != shapes[3]:
        raise ModelError("its inputs and outputs are not those of the model, or have other shapes")


def _ends(before: Graph, after: Graph) -> list[tuple[Graph, tuple[str, ...]]]:
    return [(graph, names) for graph in (before, after) for names in (graph.inputs, graph.outputs)]


def _counted(before: Graph, after: Graph) -> str:
    old, new = len(before.nodes), len(after.nodes)
    return f"of {old} nodes it left {new}" if old != new else f"{new} nodes before and after it"
