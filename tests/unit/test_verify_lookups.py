"""Verification of models that look rows up by indices of the run: against ONNX Runtime, and what must not pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fixtures_onnx import random
from onnx import TensorProto, helper, numpy_helper

from archsim.errors import ConfigError, ModelError
from archsim.lab.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import Asked
from archsim.lab.verify.outcome import Outcome

node = helper.make_node


def saved(folder: Path, nodes: list[onnx.NodeProto], outputs: tuple[str, ...] = ("y",)) -> Path:
    """Nodes over indices ``i`` (2, 7), a table of 300 rows of 12, and weights."""
    weights = {"t": random(300, 12), "u": random(300, 5), "w": random(12, 6), "one": np.ones(1, np.int64)}
    graph = helper.make_graph(
        nodes,
        "rows",
        [helper.make_tensor_value_info("i", TensorProto.INT64, (2, 7))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = folder / "rows.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), str(path))
    return path


def verified(path: Path, lookups: dict[str, str] | None = None, **asked: Any) -> Outcome:
    return verify(Asked(Job(path, "edge_npu", lookups=lookups or {}), interleavings=3, **asked))


EMBED = node("Gather", ["t", "i"], ["e"], name="emb")


@pytest.mark.parametrize("pattern", [None, "zipf(exponent=1.1, seed=2)", "trace(" + ", ".join(["299, 0"] * 7) + ")"])
def test_an_embedding_and_a_product(tmp_path: Path, pattern: str | None) -> None:
    """The indices that ONNX Runtime is given are the rows that the Program looks up."""
    path = saved(tmp_path, [EMBED, node("MatMul", ["e", "w"], ["m"]), node("Relu", ["m"], ["y"])])
    outcome = verified(path, {"emb": pattern} if pattern else None)
    assert outcome.met, outcome
    assert outcome.checks[0].reference.startswith("ONNX Runtime")
    assert {row.name for row in outcome.checks[0].rows} >= {"emb"}


def test_two_tables_by_the_same_indices(tmp_path: Path) -> None:
    nodes = [EMBED, node("Gather", ["u", "i"], ["f"], name="other"), node("Concat", ["e", "f"], ["y"], axis=-1)]
    assert verified(saved(tmp_path, nodes)).met
    with pytest.raises(ModelError, match="'other'.*gives other rows than 'i' has elsewhere"):
        verified(saved(tmp_path, nodes), {"other": "uniform(seed=1)"})


def test_rows_of_what_a_layer_made(tmp_path: Path) -> None:
    """The indices are an operand too: as numbers they are rounded to elements, as rows they are not."""
    scale = [node("Cast", ["i"], ["c"], to=1), node("ReduceMax", ["c"], ["s"], keepdims=0)]
    nodes = [*scale, node("Mul", ["t", "s"], ["r"]), node("Gather", ["r", "i"], ["y"], name="emb")]
    assert verified(saved(tmp_path, nodes)).met


def test_indices_that_the_model_computes(tmp_path: Path) -> None:
    path = saved(tmp_path, [node("Add", ["i", "one"], ["j"]), node("Gather", ["t", "j"], ["y"], name="emb")])
    with pytest.raises(ModelError, match="verify needs its indices 'j' as an input"):
        verified(path)


def test_given_indices_must_be_those_of_the_program(tmp_path: Path) -> None:
    path = saved(tmp_path, [EMBED, node("Relu", ["e"], ["y"])])
    rows = np.arange(14).reshape(2, 7)
    with pytest.raises(ConfigError, match="'i' differs from the rows that the Program looks up.*--lookups"):
        verified(path, given={"i": rows})
    assert verified(path, {"emb": f"trace({', '.join(map(str, range(14)))})"}, given={"i": rows}).met
