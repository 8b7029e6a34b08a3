"""Verification of models that look rows up by indices of the run: against ONNX Runtime, and what must not pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fixtures_onnx import random
from onnx import TensorProto, helper, numpy_helper

from archsim.base.errors import ConfigError, ModelError
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.lab.verify.outcome import VerifyOutcome

node = helper.make_node


def saved(
    folder: Path,
    nodes: list[onnx.NodeProto],
    outputs: tuple[str, ...] = ("y",),
    kind: int = TensorProto.INT64,
    **more: np.ndarray,
) -> Path:
    """Nodes over indices ``i`` (2, 7), a table of 300 rows of 12, and weights; ``more`` constants."""
    weights = {"t": random(300, 12), "u": random(300, 5), "w": random(12, 6), "one": np.ones(1, np.int64), **more}
    graph = helper.make_graph(
        nodes,
        "rows",
        [helper.make_tensor_value_info("i", kind, (2, 7))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = folder / "rows.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), str(path))
    return path


def verified(path: Path, lookups: dict[str, str] | None = None, **asked: Any) -> VerifyOutcome:
    return verify(VerifyOptions(Job(path, "edge_npu", lookups=lookups or {}), interleavings=3, **asked))


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


ROWS = node("Gather", ["t", "j"], ["y"], name="emb")
BOTH = [node("Gather", ["t", "k"], ["f"], name="other"), node("Gather", ["t", "j"], ["e"], name="emb")]
MOVED: dict[str, tuple[list[onnx.NodeProto], dict[str, np.ndarray]]] = {
    "reshaped": ([node("Reshape", ["i", "s"], ["j"]), ROWS], {"s": np.asarray([14])}),
    "a slice": (
        [node("Slice", ["i", "a", "b", "one"], ["j"]), ROWS],
        {"a": np.asarray([2]), "b": np.asarray([6])},
    ),
    "unsqueezed and squeezed": (
        [node("Unsqueeze", ["i", "one"], ["wide"]), node("Squeeze", ["wide", "one"], ["j"]), ROWS],
        {},
    ),
    "cast twice, transposed": (
        [
            node("Cast", ["i"], ["f"], to=1),
            node("Transpose", ["f"], ["g"], perm=[1, 0]),
            node("Cast", ["g"], ["j"], to=6),
            ROWS,
        ],
        {},
    ),
    "one column": ([node("Gather", ["i", "c"], ["j"], axis=1), ROWS], {"c": np.asarray(3)}),
    "two halves": (
        [node("Split", ["i"], ["j", "k"], axis=0), *BOTH, node("Add", ["e", "f"], ["y"])],
        {},
    ),
    "the same elements in two shapes": (
        [
            node("Reshape", ["i", "s"], ["j"]),
            node("Transpose", ["i"], ["k"], perm=[1, 0]),
            *BOTH,
            node("Reshape", ["f", "z"], ["g"]),
            node("Add", ["e", "g"], ["y"]),
        ],
        {"s": np.asarray([14]), "z": np.asarray([14, 12])},
    ),
    "behind a constant": ([node("Concat", ["c", "i"], ["j"], axis=1), ROWS], {"c": np.asarray([[5], [-1]])}),
    "twice, and once more": ([node("Expand", ["i", "s"], ["j"]), ROWS], {"s": np.asarray([3, 1, 1])}),
}


@pytest.mark.parametrize("name", MOVED)
def test_indices_that_nodes_only_move(name: str, tmp_path: Path) -> None:
    """Each element of the input is the row that the Program looks up by it, wherever the nodes take it."""
    nodes, more = MOVED[name]
    outcome = verified(saved(tmp_path, nodes, **more))
    assert outcome.met, outcome
    assert {"emb"} < {row.name for row in outcome.checks[0].rows} and len(outcome.checks) == 2


def test_elements_that_no_look_up_reads_stay_as_given(tmp_path: Path) -> None:
    """Of an input of which a slice is looked up the rest is free."""
    nodes, more = MOVED["a slice"]
    path = saved(tmp_path, [*nodes[:1], ROWS], **more)
    graph_rows = np.full((2, 7), 9)
    with pytest.raises(ConfigError, match="'i' differs from the rows that the Program looks up"):
        verified(path, given={"i": graph_rows})
    graph_rows[:, 2:6] = np.arange(8).reshape(2, 4)
    assert verified(path, {"emb": f"trace({', '.join(map(str, range(8)))})"}, given={"i": graph_rows}).met


def test_look_ups_that_disagree_on_an_element(tmp_path: Path) -> None:
    nodes, more = MOVED["the same elements in two shapes"]
    with pytest.raises(ModelError, match="'emb'.*gives other rows than 'i' has elsewhere"):
        verified(saved(tmp_path, nodes, **more), {"emb": "uniform(seed=5)"})


def test_a_cast_that_cannot_hold_the_rows(tmp_path: Path) -> None:
    nodes = [node("Cast", ["i"], ["c"], to=3), node("Cast", ["c"], ["j"], to=7), ROWS]
    with pytest.raises(ModelError, match="a cast on the way to 'j' cannot hold rows up to"):
        verified(saved(tmp_path, nodes))


ADDED = [node("Gather", ["t", "i"], ["e"], name="other"), node("Add", ["e", "r"], ["y"])]


@pytest.mark.parametrize(
    ("nodes", "kind", "message"),
    [
        ([node("Gather", ["t", "i"], ["y"], name="emb")], TensorProto.DOUBLE, "'i', has elements of type float64"),
        ([node("Cast", ["i"], ["j"], to=11), ROWS], TensorProto.INT64, "'j' have elements of type float64"),
        (
            [*ADDED, node("Gather", ["t", "real"], ["r"], name="emb")],
            TensorProto.INT64,
            "'real', has elements of type float64",
        ),
        (
            [*ADDED, node("Gather", ["t", "far"], ["r"], name="emb")],
            TensorProto.INT64,
            "index 300; allowed -300 to 299",
        ),
    ],
)
def test_indices_that_are_no_rows(nodes: list[onnx.NodeProto], kind: int, message: str, tmp_path: Path) -> None:
    """A real number, wherever it comes from, and a constant outside of the table: refused at the node."""
    more = {"real": np.asarray(3.0), "far": np.asarray(300)}
    with pytest.raises(ModelError, match=f"node 'emb' .*{message}"):
        verified(saved(tmp_path, nodes, kind=kind, **more))


def test_one_element_of_a_result_by_a_constant_index(tmp_path: Path) -> None:
    """Constants are real numbers to the interpreter of the quantised model; an index among them is taken as whole."""
    nodes = [EMBED, node("Gather", ["e", "one"], ["f"], axis=1), node("MatMul", ["f", "w"], ["y"])]
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
