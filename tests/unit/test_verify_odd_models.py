"""Verification of small models that are odd in one way each, and what must not pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fixtures_onnx import model, save
from onnx import helper

from archsim.base.errors import ConfigError
from archsim.ir.graph import UnsupportedError
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.lab.verify.outcome import VerifyOutcome
from archsim.lab.verify.program import verify_program

node = helper.make_node
RANDOM = np.random.default_rng(3)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


@dataclass
class Odd:
    """A model: nodes from ``inputs`` to the first node's or the named ``outputs``."""

    nodes: list[onnx.NodeProto]
    inputs: dict[str, tuple[int, ...]]
    stored: dict[str, Any] = field(default_factory=dict)
    output: str = "y"

    def verified(self, folder: Path, **asked: Any) -> VerifyOutcome:
        path = save(folder, model(self.nodes, self.inputs, [self.output], self.stored))
        job = Job(path, asked.pop("chip", "edge_npu"), dtype=asked.pop("dtype", None), seed=asked.pop("seed", 0))
        return verify(VerifyOptions(job, **asked))


MATRIX = {"x": (3, 5)}
ODD = {
    "run-time bias of a Gemm": Odd([node("Gemm", ["x", "w", "c"], ["y"])], {**MATRIX, "c": (7,)}, {"w": numbers(5, 7)}),
    "run-time bias before a normalisation": Odd(
        [node("Conv", ["x", "w", "b"], ["c"]), node("BatchNormalization", ["c", "s", "h", "m", "v"], ["y"])],
        {"x": (1, 3, 5, 5), "b": (2,)},
        {"w": numbers(2, 3, 3, 3), "s": numbers(2), "h": numbers(2), "m": numbers(2), "v": np.abs(numbers(2)) + 1},
    ),
    "concatenation ends in a constant": Odd(
        [node("Concat", ["x", "k"], ["y"], axis=1)], {"x": (1, 3, 5, 5)}, {"k": 9 * numbers(1, 2, 5, 5)}
    ),
    "concatenation begins with a constant": Odd(
        [node("Concat", ["k", "x"], ["c"], axis=1), node("Relu", ["c"], ["y"])],
        {"x": (1, 5, 8)},
        {"k": 9 * numbers(1, 1, 8)},
    ),
    "choice by a comparison": Odd(
        [node("Greater", ["x", "z"], ["g"]), node("Where", ["g", "x", "z"], ["y"])], {"x": (4, 8), "z": (8,)}
    ),
    "scalar": Odd([node("Mul", ["x", "k"], ["y"])], {"x": ()}, {"k": numbers()}),
    "half precision inside": Odd(
        [node("Cast", ["x"], ["h"], to=10), node("Mul", ["h", "h"], ["g"]), node("Cast", ["g"], ["y"], to=1)],
        {"x": (8, 4)},
    ),
    "masked with minus infinity": Odd(
        [node("Add", ["x", "m"], ["a"]), node("Softmax", ["a"], ["y"], axis=-1)],
        {"x": (4, 4)},
        {"m": np.triu(np.full((4, 4), -np.inf, np.float32), 1)},
    ),
    "clipped twice, one side open": Odd(
        [node("Clip", ["x", "low", "high"], ["c"]), node("Clip", ["c", "", "less"], ["y"])],
        MATRIX,
        {"low": np.float32(-1), "high": np.float32(1), "less": np.float32(0.5)},
    ),
    "an input that nothing reads": Odd([node("Relu", ["x"], ["y"])], {**MATRIX, "q": (2, 2)}),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_models(name: str, tmp_path: Path) -> None:
    outcome = ODD[name].verified(tmp_path)
    assert outcome.met and all(check.rows for check in outcome.checks) and len(outcome.checks) == 2


def test_reciprocals_of_what_rounds_to_zero(tmp_path: Path) -> None:
    """Elements have no negative zero."""
    for seed in range(1, 6):
        assert Odd([node("Reciprocal", ["x"], ["y"])], {"x": (8, 16)}).verified(tmp_path, seed=seed).met


def test_quotients_of_what_rounds_to_zero(tmp_path: Path) -> None:
    """0 / 0 is undefined in elements where it is 1 in real numbers: on both sides the element that stands for 0."""
    outcome = Odd([node("Div", ["x", "x"], ["y"])], {"x": (8, 64)}).verified(tmp_path)
    assert outcome.met and not outcome.checks[1].rows[0].constant


def test_sums_that_overflow(tmp_path: Path) -> None:
    product = Odd([node("MatMul", ["x", "w"], ["y"])], {"x": (7, 1000)}, {"w": numbers(1000, 30)})
    assert product.verified(tmp_path, chip="tpu_v1", dtype="int16").met


def test_a_scaled_product_takes_no_bias_at_run_time(tmp_path: Path) -> None:
    scaled = Odd([node("Gemm", ["x", "w", "c"], ["y"], beta=0.5)], {**MATRIX, "c": (7,)}, {"w": numbers(5, 7)})
    with pytest.raises(UnsupportedError, match="adds a bias computed at run time to a product that it scales"):
        scaled.verified(tmp_path)


def test_given_weights_reach_both_sides(tmp_path: Path) -> None:
    product = Odd([node("MatMul", ["x", "w"], ["y"])], MATRIX, {"w": numbers(5, 7)})
    outcome = product.verified(tmp_path, given={"w": 10 * numbers(5, 7).astype(np.float64)})
    assert outcome.met and outcome.weights.startswith("given")
    for name, array, said in (
        ("w", numbers(7, 5), r"has shape \[7, 5\]; allowed \[5, 7\]"),
        ("w", np.full((5, 7), np.nan), "not a number"),
        ("x", np.full((3, 5), "a"), "allowed numbers"),
        ("v", numbers(5, 7), "no input or constant 'v'"),
    ):
        with pytest.raises(ConfigError, match=said):
            product.verified(tmp_path, given={name: array})
    scaled = Odd([node("Mul", ["x", "k"], ["y"])], MATRIX, {"k": np.float32(2)})
    with pytest.raises(ConfigError, match="'k' is built into the Program"):
        scaled.verified(tmp_path, given={"k": np.asarray(3.0, np.float32)})


COPY = """program p on edge_npu
layer y
tensor x in dram at 0 bytes 64 dtype int8 role inputs shape [64] preloaded
tensor y in dram at 64 bytes 64 dtype {dtype} role inputs shape [64]
ring r in l1 at 0 slots 1 bytes 64 dtype int8 role inputs writer load readers store
queue load engine load unit dma:
    MOVE y.load [k=64] role inputs wait r.free src x{{k:1}} dst r{{k:1}} signal r.full
queue store engine store unit dma:
    MOVE y.store [k=64] role outputs wait r.full src r{{k:1}} dst y{{k:1}} signal r.free
"""


def asked(folder: Path, text: str, **more: Any) -> VerifyOptions:
    path = folder / "p.asm"
    path.write_text(text)
    return VerifyOptions(Job(str(path), "edge_npu"), **more)


def test_nothing_compared_is_not_verified(tmp_path: Path) -> None:
    idle = verify_program(asked(tmp_path, "program p on edge_npu\n"))
    assert not idle.met and "writes no tensor" in idle.checks[0].problem
    relu = save(tmp_path, model([node("Relu", ["x"], ["z"], name="relu")], {"x": (64,)}, ["z"]))
    text = COPY.format(dtype="int8").replace("tensor y", "tensor z").replace("dst y{", "dst z{")
    other = verify_program(asked(tmp_path, text, against=str(relu), numbers="float"))
    assert not other.met and "no command completes the result of layer 'relu'" in other.checks[0].problem


def test_a_program_alone_in_both_kinds_of_numbers(tmp_path: Path) -> None:
    outcome = verify_program(asked(tmp_path, COPY.format(dtype="int8"), interleavings=3))
    assert outcome.met and [check.numbers for check in outcome.checks] == ["float64", "int8"]
    with pytest.raises(ConfigError, match="no input or constant 'y'"):
        verify_program(asked(tmp_path, COPY.format(dtype="int8"), given={"y": np.zeros(64)}))
    text = COPY.format(dtype="fp8").replace("dtype int8", "dtype fp8")
    outcome = verify_program(asked(tmp_path, text))
    assert outcome.met and "'x' holds fp8" in outcome.checks[1].skipped
