"""How far rounding may move a result: every operator's bound holds in single precision, and is no more than that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archsim.graph.numeric.constants import Constants
from archsim.graph.numeric.rough import LEAST, UNITS, rough
from archsim.ir.graph import Graph, GraphNode, GraphValue
from archsim.ops.kit.catalogue import find, operators
from archsim.ops.kit.rounding import CERTAINTY, growth, moved, unknown
from tests.tools.operator_cases import CASES, MS, OWN, Array, in_runtime, neutral

ROUNDED = [case for case in CASES if (known := find(case[0])) is not None and known.rounding not in (None, moved)]
ROUNDED = [case for case in ROUNDED if case[2][0] is not None and case[2][0].dtype == np.float32]
BOOLEAN = ("IsInf", "IsNaN", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
ROUNDED = [case for case in ROUNDED if case[0] not in ("Cast", *BOOLEAN)]
ROUNDED = [case for case in ROUNDED if not case[0].startswith(MS)]  # which are judged by their parts
ROUNDED = [case for case in ROUNDED if case[0] != "SimplifiedLayerNormalization"]
ROUNDED = [case for case in ROUNDED if case[1].get("size", 1) % 2]  # of LRN: the runtime takes odd ones only
STEEP = ("Exp", "LayerNormalization", "InstanceNormalization")  # their inputs' size is a factor of the bound
TIGHT = 3e-5  # of the largest magnitude that is added up: a wrong element of these small cases is far outside


def single(op: str, attributes: dict[str, Any], arrays: list[Array | None]) -> Array:
    """The operator in ONNX Runtime, or by its formula where that has it not."""
    if op in OWN:
        return OWN[op](attributes, arrays)[0]
    newest = op in ("Attention", "RMSNormalization", "RotaryEmbedding", "Swish")
    return in_runtime(op, attributes, arrays, ["y"], 24 if newest else 20)[0]


def bounded(op: str, attributes: dict[str, Any], arrays: list[Array | None]) -> tuple[Array, Array]:
    """The result in double precision, and its bound in single precision."""
    node = neutral(op, attributes, arrays, ["y"])
    values = {
        f"i{at}": GraphValue(f"i{at}", array.shape, "constant" if at else "input", str(array.dtype), array)
        for at, array in enumerate(arrays)
        if array is not None
    }
    values["y"] = GraphValue("y", (), "activation")
    graph = Graph("one", (node,), values, ("i0",), ("y",))
    made = rough(graph, Constants(graph, {}, 0, {}), {"i0": np.asarray(arrays[0], np.float64)}, "y", "float32")
    return made.value, made.error


@pytest.mark.parametrize("size", [1.0, 40.0])
@pytest.mark.parametrize(("op", "attributes", "arrays"), ROUNDED, ids=[f"{n}-{c[0]}" for n, c in enumerate(ROUNDED)])
def test_the_bound_covers_a_runtime(
    op: str, attributes: dict[str, Any], arrays: list[Array | None], size: float
) -> None:
    """ONNX Runtime in single precision is within the bound of the result in double precision; the bound is small."""
    first = np.asarray(arrays[0]) * np.float32(size)
    value, error = bounded(op, attributes, [first, *arrays[1:]])
    apart = np.abs(single(op, attributes, [first, *arrays[1:]]).astype(np.float64) - value)
    held = np.abs(value) <= np.finfo(np.float32).max  # what overflows has to be equal
    assert np.all(apart[held] <= error[held])
    largest = max(1.0, float(np.max(np.abs(value), initial=0.0, where=held)), size)
    most = float(np.max(error, initial=0.0, where=held))
    assert most <= TIGHT * largest * (size if op in STEEP else 1.0)


def test_a_result_is_rounded_once_more_where_it_is_stored() -> None:
    """Beside what is lost in the sum, half a unit of the result's own size."""
    first, second = np.float32([1.0, -3.0, 2.5]), np.float32([1e3, 3.0, -2.0])
    value, error = bounded("Add", {}, [first, second])
    found = find("Add")
    assert found is not None and found.rounding is not None
    sums = found.rounding(neutral("Add", {}, [first, second], ["y"]), first, second)
    unit = UNITS["float32"]
    expected = sums.magnitude * sums.roundings * unit + np.abs(value) * unit + LEAST["float32"]
    np.testing.assert_allclose(error, expected, rtol=1e-12)


def test_every_operator_that_computes_says_what_it_adds_up() -> None:
    """Views, joins, constants and look-ups move elements; all others have a rule of their own."""
    silent = []
    for op in operators():
        found = find(op)
        assert found is not None
        moves = found.result != "layer" or found.slots is not None or found.known is not None
        silent += [op] if found.rounding is None and not moves else []
    assert silent == []


def test_growth_is_the_number_of_roundings_or_what_independent_ones_come_to() -> None:
    assert growth(1) == 1 and growth(64) == 64
    assert growth(10_000) == CERTAINTY * 100


@pytest.mark.parametrize("terms", [3, 100, 4000])
def test_sums_of_one_sign_stay_within_the_bound_in_the_worst_order(terms: int) -> None:
    """One after the other, in single precision: the order with the most roundings of the largest partial sums."""
    random = np.random.default_rng(terms)
    for _ in range(30):
        numbers = random.uniform(0.5, 1, terms).astype(np.float32)
        total = np.cumsum(numbers, dtype=np.float32)[-1]
        exact = float(np.sum(numbers.astype(np.float64)))
        assert abs(float(total) - exact) <= growth(terms) * UNITS["float32"] * exact


def chain(*nodes: GraphNode, **values: Array) -> Graph:
    """A graph from the input x to y."""
    known = {"x": GraphValue("x", values["x"].shape, "input"), "m": GraphValue("m", (), "activation")}
    for name, array in values.items():
        if name != "x":
            known[name] = GraphValue(name, array.shape, "constant", str(array.dtype), array, (name,))
    for node in nodes:
        known.setdefault(node.outputs[0], GraphValue(node.outputs[0], (), "activation"))
    return Graph("chain", nodes, known, ("x",), ("y",))


def test_a_sum_whose_true_value_is_zero_is_bounded_by_its_terms() -> None:
    x = np.random.default_rng(0).standard_normal((1, 2, 40, 40)) + 1000
    centred = x - x.mean(axis=(2, 3), keepdims=True)
    graph = chain(GraphNode("pool", "GlobalAveragePool", ("x",), ("y",)), x=centred)
    made = rough(graph, Constants(graph, {}, 0, {}), {"x": centred}, "y", "float32")
    assert np.max(np.abs(made.value)) < 1e-10 < np.min(made.error) < 1e-4
    in_single = np.mean(np.ravel(centred[0, 0]).astype(np.float32))
    assert abs(float(in_single) - made.value[0, 0, 0, 0]) <= made.error[0, 0, 0, 0]


def test_what_is_fused_passes_on_what_it_reads() -> None:
    """A product behind which a factor of 1000 is folded: its roundings count a thousandfold; at a clip not at all."""
    x, w = np.full((1, 8), 1.0), np.full((8, 1), 0.1, np.float32)
    known = {"x": x, "w": w, "k": np.float32(1000), "low": np.float32(2), "high": np.float32(3)}
    product = GraphNode("mm", "MatMul", ("x", "w"), ("c",), {}, (GraphNode("mul", "Mul", ("m", "k"), ("c",)),))
    clipped = GraphNode(
        "mm", "MatMul", ("x", "w"), ("c",), {}, (GraphNode("clip", "Clip", ("m", "low", "high"), ("c",)),)
    )
    plain = GraphNode("mm", "MatMul", ("x", "w"), ("c",))
    errors = []
    for node in (plain, product, clipped):
        graph = chain(node, **{name: np.asarray(array) for name, array in known.items()})
        errors.append(float(rough(graph, Constants(graph, {}, 0, {}), {"x": x}, "c", "float32").error[0, 0]))
    assert 900 * errors[0] < errors[1] < 2000 * errors[0]
    assert errors[2] <= 3 * UNITS["float32"]


def test_constants_that_memory_rounds_are_off_by_it() -> None:
    """A weight of 0.1 in double precision is another number in single precision, and exact where memory is double."""
    x, w = np.full((1, 1), 3.0), np.full((1, 1), 0.1)
    graph = chain(GraphNode("mm", "MatMul", ("x", "w"), ("y",)), x=x, w=w)
    constants = Constants(graph, {}, 0, {})
    off = {kind: float(rough(graph, constants, {"x": x}, "y", kind).error[0, 0]) for kind in UNITS}
    exact = chain(GraphNode("mm", "MatMul", ("x", "w"), ("y",)), x=x, w=w.astype(np.float32))
    stored = float(rough(exact, Constants(exact, {}, 0, {}), {"x": x}, "y", "float32").error[0, 0])
    assert off["float32"] > stored + abs(float(np.float32(0.1)) - 0.1)
    assert off["float64"] < 1e-14


def test_an_operator_that_does_not_say_is_judged_by_the_largest_magnitude(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "thrice.py").write_text(
        "from archsim.ops.kit.family import OperatorFamily\n"
        "FAMILY = OperatorFamily(('Thrice',), lambda node, inputs: (inputs[0].shape,), lambda node, x: (3 * x,))\n"
    )
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(tmp_path))
    x = np.asarray([[1e-6, 5.0]])
    graph = chain(GraphNode("three", "Thrice", ("x",), ("y",)), x=x)
    made = rough(graph, Constants(graph, {}, 0, {}), {"x": x}, "y", "float32")
    assert 15 * UNITS["float32"] < made.error[0, 0] < 1e-4


def test_infinite_elements_have_to_be_equal() -> None:
    """A mask's minus infinity has no bound; what a softmax makes of its row has."""
    x = np.asarray([[0.5, -np.inf, 1.0]])
    graph = chain(GraphNode("soft", "Softmax", ("x",), ("y",)), GraphNode("neg", "Neg", ("x",), ("z",)), x=x)
    constants = Constants(graph, {}, 0, {})
    soft = rough(graph, constants, {"x": x}, "y", "float32")
    assert soft.value[0, 1] == 0 and 0 < soft.error[0, 0] < 1e-5 and soft.error[0, 1] < 1e-30
    assert rough(graph, constants, {"x": x}, "z", "float32").error[0, 1] < 1e-30


def test_of_an_operator_that_says_nothing_every_operand_that_is_there_counts() -> None:
    found = unknown((np.asarray([1.0]),), (None, np.asarray([-7.0, 2.0]), None))
    assert float(found.magnitude) == 7.0 and found.roundings == unknown((np.zeros(2),), ()).roundings
