"""What each operator costs as layers: dims, lane passes and slow functions of one case each, in operator_costs.txt.

The cases are those whose numbers are compared with the reference evaluator of ONNX; their first operand is an
activation. ``python -m tests.golden.test_operator_costs`` writes the file anew; look at the difference before you keep
it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from archsim.base.errors import ArchsimError
from archsim.graph.lowering.lower import to_workload
from archsim.graph.passes.infer import infer
from archsim.ir.graph import Array, Graph, GraphState, GraphValue
from archsim.ir.workload import Layer
from tests.tools.operator_cases import CASES, FLAT, POSITIVE, neutral, outputs_of

FILE = Path(__file__).parent / "operator_costs.txt"
POWERS = [("Pow", {}, [POSITIVE, np.full((), power, np.float32)]) for power in (2, 3, 0.5, -1)]
SIDES = [("Pow", {}, [POSITIVE, FLAT]), ("Where", {}, [FLAT > 0, np.float32(0), np.float32(1)])]


def lines(op: str, attributes: dict[str, Any], arrays: list[Array | None]) -> list[str]:
    """The layers that a node becomes, one line each."""
    outputs = outputs_of(op)
    held = {f"i{at}": array for at, array in enumerate(arrays) if array is not None}
    values = {
        name: GraphValue(name, array.shape, "constant" if at else "input", str(array.dtype), array if at else None)
        for at, (name, array) in enumerate(held.items())
    }
    inputs, states = (next(iter(held)),), {}
    if op == "Append":  # its first operand is a state, to which activations are appended
        values |= {"i0": replace(values["i0"], kind="state"), "i1": replace(values["i1"], kind="input", data=None)}
        inputs, states = (
            ("i1", "i0"),
            {"i0": GraphState(attributes["axis"] % arrays[0].ndim, attributes.get("past", 0))},
        )
    node = neutral(op, attributes, arrays, outputs)
    graph = Graph("one", (node,), values, inputs, tuple(outputs), states=states)
    stated = [f"{key}={value}" for key, value in attributes.items() if isinstance(value, int | float | str | list)]
    shapes = " ".join("x".join(map(str, array.shape)) or "scalar" for array in held.values())
    head = f"{' '.join([op, *stated])} of {shapes}"
    try:
        layers = to_workload(infer(graph), batch=1, sha256="").layers
    except ArchsimError as error:
        return [head, f"    refused: {error}"]
    return [head, *(f"    {line(layer)}" for layer in layers)]


def line(layer: Layer) -> str:
    dims = " ".join(f"{name}={extent}" for name, extent in layer.dims.items())
    steps = "; ".join(
        f"{step.function} x{step.passes}{' slow ' + ' '.join(step.slow) if step.slow else ''}" for step in layer.steps
    )
    return f"{layer.kind} {dims}, {layer.macs} MACs: {steps or 'no steps'}"


def text() -> str:
    return "\n".join(each for case in (*CASES, *POWERS, *SIDES) for each in lines(*case)) + "\n"


def test_operators_cost_what_they_did() -> None:
    assert text() == FILE.read_text(encoding="utf-8")


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
