"""States: what a decode step moves of them, and that N steps give the numbers of one pass over N tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archsim
from archsim.graph.lowering.lower import LoweredModel, lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.graph.numeric.contents import contents, to_memory
from archsim.graph.numeric.formats import Elements
from archsim.graph.numeric.quantise import Quantised
from archsim.ir.check.program import check
from archsim.ir.dtypes import size_bytes
from archsim.ir.graph import Graph, GraphNode, GraphState, GraphValue, ValueFormat
from archsim.ir.program import Program
from archsim.spec.architecture import Architecture
from archsim.spec.load import load
from mapper.compile import compile_model
from mapper.execute.run import Executor, Numbers
from mapper.options import Options

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Shape:
    """Attention of ``layers`` over states: ``heads`` of keys and values, each of ``group`` heads of queries."""

    layers: int
    batch: int
    heads: int
    group: int
    width: int

    @property
    def hidden(self) -> int:
        return self.heads * self.group * self.width

    def graph(self, past: int, new: int, context: int) -> Graph:
        """Products make queries, keys and values of ``new`` rows, whose keys and values are appended."""
        values = {"x": GraphValue("x", (self.batch, new, self.hidden), "input")}
        nodes: list[GraphNode] = []
        states: dict[str, GraphState] = {}
        source = "x"
        for at in range(self.layers):
            for part, heads in (("q", self.heads * self.group), ("k", self.heads), ("v", self.heads)):
                weights = f"w{part}{at}"
                values[weights] = GraphValue(weights, (self.hidden, heads, self.width), "constant", sources=(weights,))
                terms = (("b", "s", "k"), ("k", "h", "d"), ("b", "h", "s", "d"))
                nodes.append(GraphNode(f"{part}{at}", "Einsum", (source, weights), (f"{part}{at}",), {"terms": terms}))
            for part in ("k", "v"):
                state = f"{part}_state{at}"
                values[state] = GraphValue(state, (self.batch, self.heads, context, self.width), "state")
                states[state] = GraphState(2, past)
                nodes.append(
                    GraphNode(f"all_{part}{at}", "Append", (state, f"{part}{at}"), (f"{part}_rows{at}",), {"axis": 2})
                )
            read = (f"q{at}", f"k_rows{at}", f"v_rows{at}")
            nodes.append(GraphNode(f"attend{at}", "Attention", read, (f"a{at}",), {"is_causal": 1, "past": past}))
            nodes.append(GraphNode(f"turn{at}", "Transpose", (f"a{at}",), (f"t{at}",), {"perm": (0, 2, 1, 3)}))
            sizes = f"sizes{at}"
            shape = np.asarray((self.batch, new, self.hidden))
            values[sizes] = GraphValue(sizes, (3,), "constant", "int64", shape)
            nodes.append(GraphNode(f"join{at}", "Reshape", (f"t{at}", sizes), (f"y{at}",)))
            source = f"y{at}"
        return Graph("decode", tuple(nodes), values, ("x", *states), (source,), states=states)


SHAPES = st.builds(
    Shape, st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.sampled_from((2, 3, 8))
)


@cache
def chip() -> Architecture:
    return load("edge_npu")


@pytest.mark.parametrize("dtype", ["int8", "bf16"])
@settings(max_examples=4, deadline=None)
@given(shape=SHAPES, past=st.integers(0, 12), new=st.sampled_from((1, 1, 2)), room=st.integers(0, 3))
def test_a_step_reads_each_row_once_and_writes_the_new_ones(
    dtype: str, shape: Shape, past: int, new: int, room: int
) -> None:
    """Law 49: bytes written to states = rows appended, and read of them = every row that is there then, once."""
    lowered = lower_graph(shape.graph(past, new, past + new + room), batch=shape.batch, sha256="")
    found = archsim.run(lowered.workload, chip(), dtype=dtype, net=False).summary["dram"]["roles"]["kv"]
    row = 2 * shape.layers * shape.batch * shape.heads * shape.width * size_bytes(dtype)
    assert found["useful_read_bytes"] == row * (past + new)
    assert found["useful_write_bytes"] == row * new
    assert found["read_bytes"] >= found["useful_read_bytes"] and found["write_bytes"] >= found["useful_write_bytes"]


def _rows(lowered: LoweredModel, executor: Executor, program: Program, rows: int) -> dict[str, Array]:
    """What each state holds in its first rows."""
    stored = {tensor.name: tensor for tensor in program.tensors}
    found = {}
    for name, tensor in lowered.workload.tensors.items():
        if tensor.state is not None:
            shape = (*tensor.shape[: tensor.state.axis], rows, *tensor.shape[tensor.state.axis + 1 :])
            found[name] = executor.values(name, shape, stored[name].origin, stored[name].strides)
    return found


class Pass:
    """One Program executed: ``new`` rows over ``past``; ``elements``: what those of its tensors stand for."""

    def __init__(self, shape: Shape, past: int, new: int, context: int, seed: int) -> None:
        """Weights are drawn by name, so equal passes and steps have equal ones."""
        self.lowered = lower_graph(shape.graph(past, new, context), batch=shape.batch, sha256="")
        assert self.lowered.graph is not None
        self.graph, self.rows = self.lowered.graph, past + new
        self.constants = Constants(self.graph, {}, seed, {})

    def run(
        self, x: Array, states: dict[str, Array], numbers: Numbers, elements: Mapping[str, Elements]
    ) -> tuple[Array, dict[str, Array]]:
        """The output of all rows, and the rows of all states then."""
        tensors = self.lowered.workload.tensors
        options = Options(numbers={name: (elements[name].scale, elements[name].zero) for name in elements})
        program = compile_model(self.lowered.workload, chip(), options).program
        check(program, chip())
        executor = Executor(program, numbers=numbers)
        for name, content in self.lowered.contents.items():
            executor.fill(name, to_memory(tensors[name], contents(content, self.graph, self.constants)))
        for name, array in {"x": to_memory(tensors["x"], x), **states}.items():
            executor.fill(name, array)
        executor.run()
        (out,) = (tensor for tensor in tensors.values() if tensor.kind == "output" and tensor.view is None)
        stored = next(tensor for tensor in program.tensors if tensor.name == out.name)
        made = executor.values(out.name, out.shape, stored.origin, stored.strides)
        by_heads = made.reshape(x.shape[0], -1, x.shape[1], made.shape[-1])
        return by_heads, _rows(self.lowered, executor, program, self.rows)


FORMS = {".scale": ValueFormat(0.5, 0, "int8"), ".causal": ValueFormat(0.5, 0, "int8")}


def _elements(whole: Pass, inputs: Mapping[str, Array]) -> Mapping[str, Elements]:
    """Of the whole pass. Masked scores are the lowest element, 64 below 0: e^-64 weighs nothing beside 1."""
    stated = {name: form for name in whole.lowered.values for end, form in FORMS.items() if name.endswith(end)}
    values = reference.real(whole.graph, whole.constants, inputs)
    return Quantised(whole.lowered, whole.constants, values, dict(chip().dtypes), stated).elements


@pytest.mark.parametrize("numbers", ["exact", "float64"])
@settings(max_examples=3, deadline=None)
@given(shape=SHAPES, past=st.integers(0, 3), steps=st.integers(2, 3), seed=st.integers(0, 9))
def test_steps_are_one_pass(numbers: Numbers, shape: Shape, past: int, steps: int, seed: int) -> None:
    """Law 49: N steps, each over the rows that those before left, give the numbers of one causal pass over N tokens:
    in integers, with the scales of the pass, bit for bit.
    """
    context = past + steps + 1
    whole = Pass(shape, past, steps, context, seed)
    inputs = inputs_of(whole.graph, seed, {})
    elements = _elements(whole, inputs) if numbers == "exact" else {}
    tensors = whole.lowered.workload.tensors
    states = {name: to_memory(tensors[name], inputs[name]).take(range(past), 2) for name in whole.graph.states}
    expected, rows = whole.run(inputs["x"], states, numbers, elements)
    made = []
    for step in range(steps):
        one = Pass(shape, past + step, 1, context, seed)
        found, states = one.run(inputs["x"][:, step : step + 1], states, numbers, elements)
        made.append(found)
    _same(np.concatenate(made, 2), expected, numbers)
    for name, array in states.items():
        _same(array, rows[name], numbers)


def _same(found: Array, expected: Array, numbers: Numbers) -> None:
    assert found.shape == expected.shape and np.any(expected)
    if numbers == "exact":
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
