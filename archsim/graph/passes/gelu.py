"""Puts a Gaussian error linear unit together: x / 2 * (1 + erf(x / sqrt 2)), or the form with tanh, in any order of
factors."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sqrt

from archsim.graph.passes.manager import PassOptions
from archsim.graph.producers import Producers, rebuilt
from archsim.ir.graph import Graph, GraphNode

AFTER = ("alias",)
BEFORE = ("fuse",)
CUBIC = 0.044715  # of the form with tanh: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with Gelu for each such product."""
    return rebuilt(graph, _gelu)


def _gelu(producers: Producers, node: GraphNode) -> GraphNode | None:
    """What takes the place of the last product, if it is this pattern."""
    if node.op != "Mul":
        return None
    scale, factors = _factors(producers, node)
    if abs(scale - 0.5) > 1e-3 or len(factors) != 2:
        return None
    for plain, gate in (factors, factors[::-1]):
        form = _form(producers, gate, plain)
        if form:
            return GraphNode(node.name, "Gelu", (plain,), node.outputs, {"approximate": form})
    return None


def _factors(producers: Producers, product: GraphNode) -> tuple[float, list[str]]:
    """What a product of products multiplies: its numbers together, and its other values."""
    scale, found = 1.0, list[str]()
    for name in product.inputs:
        number, inner = producers.number(name), producers.maker(name, "Mul")
        if number is not None:
            scale *= number
        elif inner is not None and any(
            producers.number(other) is not None for other in (*product.inputs, *inner.inputs)
        ):
            more, names = _factors(producers, inner)
            scale, found = scale * more, found + names
        else:
            found.append(name)
    return scale, found


def _form(producers: Producers, gate: str, plain: str) -> str:
    """'none' or 'tanh', where a value is 1 + erf(...) or 1 + tanh(...) of ``plain``; else ''."""
    for one, other in _sides_of(producers, gate, "Add"):
        inner = producers.maker(other, "Erf", "Tanh") if producers.number(one) == 1 else None
        if inner is None:
            continue
        scale, value = _scaled(producers, inner.inputs[0])
        if inner.op == "Erf" and _is_about(scale, 1 / sqrt(2)) and producers.same(value, plain):
            return "none"
        if inner.op == "Tanh" and _is_about(scale, sqrt(2 / pi)) and _is_cubic(producers, value, plain):
            return "tanh"
    return ""


def _scaled(producers: Producers, name: str) -> tuple[float, str]:
    """(c, x), where a value is c * x or x / (1 / c)."""
    node = producers.maker(name, "Mul", "Div")
    for number, other in producers.sides(node) if node is not None else ():
        factor = producers.number(number)
        if node is not None and factor and (node.op == "Mul" or number == node.inputs[1]):
            return (factor if node.op == "Mul" else 1 / factor), other
    return 1.0, name


def _is_cubic(producers: Producers, name: str, plain: str) -> bool:
    """Whether a value is x + CUBIC * x * x * x."""
    for first, second in _sides_of(producers, name, "Add"):
        scale, value = _scaled(producers, second)
        cube = producers.maker(value, "Pow")
        if cube is not None and producers.same(first, plain) and _is_about(scale, CUBIC):
            return producers.number(cube.inputs[1]) == 3 and producers.same(cube.inputs[0], plain)
    return False


def _sides_of(producers: Producers, name: str, op: str) -> Iterator[tuple[str, str]]:
    node = producers.maker(name, op)
    return producers.sides(node) if node is not None else iter(())


def _is_about(number: float, wanted: float) -> bool:
    return abs(number - wanted) <= 1e-3 * wanted
