"""Passes that rebuild an operator from its pieces: which graphs they know, which they leave, and equal numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from math import pi, sqrt

import numpy as np
import pytest

from archsim.graph.lowering.lower import lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.graph.passes.manager import PassOptions, passed
from archsim.graph.producers import Producers, rebuilt
from archsim.ir.graph import Graph, GraphNode, GraphValue, ValueFormat
from archsim.ops.softmax import FAMILY
from archsim.system import simulate
from mapper.compile import compile_model
from tests.tools.graphs import Writer
from tests.tools.layers import small_chip

Pattern = Callable[[Writer, str], str]


def rms_norm(to: Writer, x: str, root: str = "reciprocal", square: str = "pow", epsilon: float = 1e-5) -> str:
    """x / sqrt(mean(x * x) + eps) * w."""
    squared = to.add("Pow", x, to.number(2.0)) if square == "pow" else to.add("Mul", x, x)
    shifted = to.add("Add", to.add("ReduceMean", squared, to.ints(-1)), to.number(epsilon))
    if root == "power":
        scaled = to.add("Mul", x, to.add("Pow", shifted, to.number(-0.5)))
    elif root == "divide":
        scaled = to.add("Div", x, to.add("Sqrt", shifted))
    else:
        scaled = to.add("Mul", to.add("Reciprocal", to.add("Sqrt", shifted)), x)
    return to.add("Mul", to.weight(to.shapes[x][-1:]), scaled)


def swish(to: Writer, x: str, slope: float = 1.0) -> str:
    """x * sigmoid(a * x)."""
    inner = x if slope == 1 else to.add("Mul", x, to.number(slope))
    return to.add("Mul", to.add("Sigmoid", inner), x)


def gelu(to: Writer, x: str, first: bool = True) -> str:
    """x / 2 * (1 + erf(x / sqrt 2)), the half first or last."""
    gate = to.add("Add", to.add("Erf", to.add("Div", x, to.number(sqrt(2)))), to.number(1.0))
    if first:
        return to.add("Mul", to.add("Mul", x, to.number(0.5)), gate)
    return to.add("Mul", to.add("Mul", x, gate), to.number(0.5))


def gelu_tanh(to: Writer, x: str) -> str:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))."""
    cubic = to.add("Mul", to.add("Pow", x, to.number(3.0)), to.number(0.044715))
    inner = to.add("Mul", to.add("Add", x, cubic), to.number(sqrt(2 / pi)))
    gate = to.add("Add", to.add("Tanh", inner), to.number(1.0))
    return to.add("Mul", to.add("Mul", x, to.number(0.5)), gate)


def rotary(to: Writer, x: str) -> str:
    """x * cos + concat(-x2, x1) * sin, with tables that broadcast over batch and heads."""
    *_, rows, width = to.shapes[x]
    cos, sin = (to.weight((1, 1, rows, width)) for _ in range(2))
    front = to.add("Slice", x, to.ints(0), to.ints(width // 2), to.ints(3), to.ints(1))
    back = to.add("Slice", x, to.ints(width // 2), to.ints(1 << 62), to.ints(3), to.ints(1))
    turned = to.add("Concat", to.add("Neg", back), front, axis=-1)
    return to.add("Add", to.add("Mul", x, cos), to.add("Mul", turned, sin))


def attention(to: Writer, x: str) -> str:
    """Softmax of scaled products of x and itself, with zeros in rows that are no numbers, times x."""
    scale = to.number(0.5)
    keys = to.add("Transpose", x, perm=(0, 1, 3, 2))
    scores = to.add("MatMul", to.add("Mul", x, scale), to.add("Mul", keys, scale))
    shares = to.add("Softmax", scores, axis=-1)
    safe = to.add("Where", to.add("IsNaN", shares), to.number(0.0), shares)
    return to.add("MatMul", safe, x)


def padded(to: Writer, x: str) -> str:
    """A convolution behind zeros at two sides."""
    pad = to.add("Pad", x, to.ints(0, 0, 0, 1, 0, 0, 1, 2))
    return to.add("Conv", pad, to.weight((3, to.shapes[x][1], 3, 3)), strides=(2, 2))


PATTERNS: list[tuple[Pattern, list[str]]] = [
    (rms_norm, ["RMSNormalization"]),
    (lambda to, x: rms_norm(to, x, "divide", "mul"), ["RMSNormalization"]),
    (lambda to, x: rms_norm(to, x, "power"), ["RMSNormalization"]),
    (swish, ["Swish"]),
    (lambda to, x: swish(to, x, 1.702), ["Swish"]),
    (gelu, ["Gelu"]),
    (lambda to, x: gelu(to, x, first=False), ["Gelu"]),
    (gelu_tanh, ["Gelu"]),
    (rotary, ["RotaryEmbedding"]),
    (attention, ["Transpose", "MatMul", "Softmax", "MatMul"]),
    (padded, ["Conv"]),
]
NAMES = ["rms", "rms by division", "rms by a power", "swish", "swish, slope", "gelu", "gelu, half last", "gelu, tanh",
         "rotary", "attention", "pad"]  # fmt: skip


def written(pattern: Pattern) -> Graph:
    to = Writer(random.Random(0))
    pattern(to, to.source("x", (2, 4, 6, 8)))
    return to.graph()


def numbers(graph: Graph) -> np.ndarray:
    """The output of a graph, in real numbers, of drawn inputs and weights."""
    found = reference.real(graph, Constants(graph, {}, 0, {}), inputs_of(graph, 0, {}))
    return np.asarray(found[graph.outputs[0]])


@pytest.mark.parametrize(("pattern", "ops"), PATTERNS, ids=NAMES)
def test_pieces_become_one_operator_of_equal_numbers(pattern: Pattern, ops: list[str]) -> None:
    graph = written(pattern)
    found = passed(graph, PassOptions())
    assert [node.op for node in found.canonical.nodes] == ops
    assert np.allclose(numbers(found.canonical), numbers(found.inferred), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("pattern", "ops"), PATTERNS, ids=NAMES)
def test_it_runs_on_a_chip(pattern: Pattern, ops: list[str]) -> None:
    workload = lower_graph(written(pattern), batch=2, sha256="").workload
    chip = small_chip(1 << 14, 1 << 12)
    assert simulate(compile_model(workload, chip).program, chip).total_ps > 0


@pytest.mark.parametrize("missing", ["", "nowhere"])
def test_an_operator_whose_inputs_are_not_there_takes_no_place(missing: str) -> None:
    """A damaged file may leave inputs out, or name values that nothing makes."""
    graph = passed(written(swish), PassOptions()).inferred

    def found(_: Producers, node: GraphNode) -> GraphNode:
        return replace(node, op="RotaryEmbedding", inputs=(node.inputs[0], missing, missing))

    assert rebuilt(graph, found) is graph


def other_value(to: Writer, x: str) -> str:
    """The gate of another value."""
    return to.add("Mul", to.add("Sigmoid", to.add("Neg", x)), x)


def other_mean(to: Writer, x: str) -> str:
    """The root of the mean square of another value."""
    squared = to.add("Pow", to.add("Neg", x), to.number(2.0))
    shifted = to.add("Add", to.add("ReduceMean", squared, to.ints(-1)), to.number(1e-5))
    return to.add("Mul", to.weight((8,)), to.add("Div", x, to.add("Sqrt", shifted)))


def other_half(to: Writer, x: str) -> str:
    """Halves that are not exchanged."""
    front = to.add("Slice", x, to.ints(0), to.ints(4), to.ints(3), to.ints(1))
    back = to.add("Slice", x, to.ints(4), to.ints(8), to.ints(3), to.ints(1))
    turned = to.add("Concat", to.add("Neg", front), back, axis=-1)
    cos, sin = (to.weight((1, 1, 6, 8)) for _ in range(2))
    return to.add("Add", to.add("Mul", x, cos), to.add("Mul", turned, sin))


def other_number(to: Writer, x: str) -> str:
    """Ones in the place of what is no number."""
    shares = to.add("Softmax", x, axis=-1)
    return to.add("Where", to.add("IsNaN", shares), to.number(1.0), shares)


@pytest.mark.parametrize("pattern", [other_value, other_mean, other_half, other_number])
def test_what_only_looks_alike_stays(pattern: Pattern) -> None:
    found = passed(written(pattern), PassOptions())
    ops = {node.op for outer in found.canonical.nodes for node in (outer, *outer.fused)}
    assert not ops & {"RMSNormalization", "Swish", "RotaryEmbedding"}
    assert {node.op for node in found.inferred.nodes} == ops
    assert np.allclose(numbers(found.canonical), numbers(found.inferred), rtol=1e-6, atol=1e-7)


def test_a_piece_that_others_read_is_still_made() -> None:
    to = Writer(random.Random(0))
    x = to.source("x", (2, 3, 8))
    gate = to.add("Sigmoid", x)
    to.add("Add", to.add("Mul", x, gate), gate)
    found = passed(to.graph(), PassOptions())
    assert sorted(node.op for node in found.canonical.nodes) == ["Add", "Sigmoid", "Swish"]


def test_rows_that_are_masked_as_a_whole_are_zeros() -> None:
    data = np.array([[1.0, 2.0], [-np.inf, -np.inf]])
    node = GraphNode("s", "Softmax", ("x",), ("y",), {"axis": -1, "masked_rows": 0})
    (found,) = FAMILY.reference(node, data)
    assert found[1].tolist() == [0.0, 0.0] and found[0].sum() == pytest.approx(1.0)


def pad_of_less(to: Writer, x: str) -> str:
    """A row is cut away, and the convolution has zeros of its own."""
    pad = to.add("Pad", x, to.ints(0, 0, -1, 0, 0, 0, 0, 0))
    return to.add("Conv", pad, to.weight((3, 4, 3, 3)), pads=(1, 1, 1, 1))


def whole_numbers(to: Writer, x: str) -> str:
    """A cast from whole numbers is no rounding: their quotient is one of whole numbers."""
    count = to.source("n", (2, 4, 8, 6), "int32")
    half = to.add("Div", count, to.number(2, kind=np.int32))
    return to.add("MatMul", x, to.add("Cast", half, to="float32"))


@pytest.mark.parametrize(("pattern", "kept"), [(pad_of_less, "Pad"), (whole_numbers, "Div")])
def test_what_would_mean_something_else_stays(pattern: Pattern, kept: str) -> None:
    found = passed(written(pattern), PassOptions())
    assert kept in {node.op for node in found.canonical.nodes}
    assert np.allclose(numbers(found.canonical), numbers(found.inferred), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("pattern", [rms_norm, swish, gelu, rotary, attention, padded])
def test_values_whose_elements_the_file_states_are_nobodys_pieces(pattern: Pattern) -> None:
    """What is rounded to elements between pieces is not passed on as it is."""
    graph = written(pattern)
    between = [node.outputs[0] for node in graph.nodes[:-1]]
    stated = replace(graph, formats={name: ValueFormat(0.1, 0, "int8") for name in between})
    found = passed(stated, PassOptions()).canonical
    assert [node.op for outer in found.nodes for node in (outer, *outer.fused)] == [node.op for node in graph.nodes]


def test_a_name_that_is_taken_is_left_alone() -> None:
    to = Writer(random.Random(0))
    attention(to, to.source("x", (2, 4, 6, 8)))
    graph = to.graph()
    product = next(node for node in graph.nodes if node.op == "MatMul")
    taken = f"{product.outputs[0]}.scale"
    graph = replace(graph, values={**graph.values, taken: GraphValue(taken, (), "constant", data=np.float32(7))})
    found = passed(graph, PassOptions()).canonical
    assert found.values[taken].data == 7
    assert np.allclose(numbers(found), numbers(graph), rtol=1e-6, atol=1e-7)
