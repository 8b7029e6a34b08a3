"""The feed-forward blocks of a layer: gated (one projection multiplied by the activation of another) and plain."""

from __future__ import annotations

from archsim.frontend.configs.module_graph import ModuleGraph

GATED = ("gate_proj", "act_fn", "up_proj", "down_proj")  # names of the four modules in most families


def gated_by(
    graph: ModuleGraph, source: str, inner: int, function: str, names: tuple[str, str, str, str], bias: bool = False
) -> str:
    """down(activation(gate(x)) * up(x)); ``names``: of gate, activation, up and down."""
    gate_name, act, up_name, down = names
    gate, up = (graph.linear(name, source, inner, bias) for name in (gate_name, up_name))
    product = graph.add("Mul", f"{act}.gated", graph.activation(act, gate, function), up)
    return graph.linear(down, product, graph.shape(source)[-1], bias)


def gated(graph: ModuleGraph, name: str, source: str, inner: int, function: str, bias: bool = False) -> str:
    """The same as a module of this name."""
    with graph.module(name):
        return gated_by(graph, source, inner, function, GATED, bias)


def gated_joined(graph: ModuleGraph, name: str, source: str, inner: int, function: str) -> str:
    """The same where one projection makes gate and up side by side, as Phi-3 stores them."""
    with graph.module(name):
        both = graph.linear("gate_up_proj", source, 2 * inner)
        gate, up = (graph.cut(part, both, 2, start, start + inner) for part, start in (("gate", 0), ("up", inner)))
        product = graph.add("Mul", "activation_fn.gated", graph.activation("activation_fn", gate, function), up)
        return graph.linear("down_proj", product, graph.shape(source)[-1])


def plain(
    graph: ModuleGraph, source: str, inner: int, function: str, names: tuple[str, str, str], out: int = 0,
    bias: bool = True,
) -> str:  # fmt: skip
    """second(activation(first(x))); ``names``: of first, activation and second; ``out``: elements of a result, 0 for as
    many as ``source`` has."""
    first, act, second = names
    hidden = graph.activation(act, graph.linear(first, source, inner, bias), function)
    return graph.linear(second, hidden, out or graph.shape(source)[-1], bias)
