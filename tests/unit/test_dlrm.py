"""Recommendation models from a config.json: counts, numbers against PyTorch, rows that are chosen, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.config_models import read_model
from archsim.frontend.load import load_model
from archsim.graph.lowering.lower import lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.ir.graph import Graph
from archsim.ir.indices import Indices
from archsim.lab.run.job import Job, build
from archsim.lab.sweep.points import DesignPoint
from archsim.lab.sweep.row_keys import RowKeys
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.spec.load import load
from archsim.system import simulate
from mapper.compile import Options, compile_model
from tests.tools.small_recommendation import CROSS, POOLING, TABLES, WIDTH, written

KAGGLE_ROWS = 33_762_577  # of all tables of Criteo's Kaggle data, as the authors of DLRM count them
TERABYTE_ROWS = 204_184_588


def products(*sizes: int) -> int:
    return sum(first * second for first, second in zip(sizes, sizes[1:], strict=False))


def streams(graph: Graph) -> list[object]:
    return [node.attributes["indices"] for node in graph.nodes if node.op == "GatherRows"]


def test_dlrm_small() -> None:
    """Sizes as the scripts of its authors have them; products of features are those of a matrix with itself."""
    found = load_model("dlrm_small", batch=16)
    before, behind = (13, 512, 256, 64, 16), (16 + 27 * 26 // 2, 512, 256, 1)
    assert found.macs == 16 * (products(*before) + 27 * 27 * 16 + products(*behind)) == 7_776_512
    weights = products(*before) + products(*behind) + sum(before[1:]) + sum(behind[1:])
    assert found.parameters == 16 * KAGGLE_ROWS + weights == 540_677_217


def test_dlrm_large() -> None:
    """As MLPerf's reference has it: three layers that cross 27 features of 128 elements, with matrices of rank 512."""
    found = load_model("dlrm_large", batch=16)
    before, every, behind = (13, 512, 256, 128), 27 * 128, (27 * 128, 1024, 1024, 512, 256, 1)
    assert found.macs == 16 * (products(*before) + 3 * 2 * every * 512 + products(*behind)) == 256_487_424
    weights = products(*before) + products(*behind) + sum(before[1:]) + sum(behind[1:])
    cross = 3 * (2 * every * 512 + every)
    assert found.parameters == 128 * TERABYTE_ROWS + weights + cross == 26_151_671_809


@pytest.mark.parametrize("cross", [{}, CROSS])
@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_numbers_are_those_of_pytorch(tmp_path: Path, cross: dict[str, Any], pooling: str) -> None:
    """The same weights and rows in a model of torch's EmbeddingBag and linear layers."""
    torch = pytest.importorskip("torch")
    found = lower_graph(
        read_model(written(tmp_path, pooling_type=pooling, **cross), "m", {"batch": 4}), batch=4, sha256=""
    )
    graph = found.graph
    assert graph is not None
    constants, inputs = Constants(graph, {}, 3, {"over_arch.mlp.1.bias": np.ones(1)}), inputs_of(graph, 3, {})
    values = reference.real(graph, constants, inputs)

    def weight(name: str) -> Any:
        return torch.from_numpy(np.asarray(constants[name], np.float64))

    def linear(name: str, value: Any) -> Any:
        return value @ weight(f"{name}.weight") + weight(f"{name}.bias")

    dense = torch.from_numpy(np.asarray(inputs["dense_features"], np.float64))
    for layer in ("dense_arch.mlp.0", "dense_arch.mlp.1"):
        dense = torch.relu(linear(layer, dense))
    features = [dense]
    for number in range(len(TABLES)):
        rows = torch.from_numpy(np.asarray(inputs[f"sparse_{number}"], np.int64))
        bag = torch.nn.functional.embedding_bag(rows, weight(f"sparse_arch.t_{number}.weight"), mode=pooling)
        features.append(bag)
    if cross:
        first = value = torch.cat(features, 1)
        for number in range(2):
            module = f"inter_arch.crossnet.{number}"
            value = first * linear(f"{module}.W", value @ weight(f"{module}.V.weight")) + value
    else:
        both = torch.stack(features, 1)
        row, column = torch.triu_indices(4, 4, offset=1)
        value = torch.cat([dense, (both @ both.transpose(1, 2))[:, row, column]], 1)
    wanted = torch.sigmoid(linear("over_arch.mlp.1", torch.relu(linear("over_arch.mlp.0", value))))
    np.testing.assert_allclose(values[graph.outputs[0]], wanted.numpy(), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("cross", [{}, CROSS])
def test_a_small_model_is_verified(tmp_path: Path, cross: dict[str, Any]) -> None:
    """In real numbers and in int8, every layer, rows of a popular table and rows of a file."""
    trace = tmp_path / "rows.txt"
    trace.write_text("3 0 6 1 2 299\n39, 6, 0, 7, 7, 7\n0 0 0 0 0 0\n")
    for asked in ({"distribution": "zipf", "alpha": 1.05, "seed": 2}, {"trace": str(trace)}):
        job = Job(str(written(tmp_path, **cross)), "edge_npu", batch=2, parameters=asked)
        outcome = verify(VerifyOptions(job))
        assert [(check.numbers, check.problem, check.passed) for check in outcome.checks] == [
            ("float64", "", True), ("int8", "", True),
        ]  # fmt: skip


def test_every_table_has_a_stream_of_its_own(tmp_path: Path) -> None:
    """No two tables of one seed, nor of two seeds, draw alike; the first seed is 0."""
    path = written(tmp_path)
    assert streams(read_model(path, "m", {})) == [f"uniform(seed={number})" for number in range(3)]
    assert streams(read_model(path, "m", {"seed": 2})) == [f"uniform(seed={number})" for number in (6, 7, 8)]
    popular = streams(read_model(path, "m", {"seed": 1, "distribution": "zipf", "alpha": 1}))
    assert popular == [f"zipf(exponent=1, seed={number})" for number in (3, 4, 5)]
    assert len({str(Indices("zipf", number, 1.0)) for number in (3, 4, 5)}) == 3


def test_rows_of_a_file(tmp_path: Path) -> None:
    """A line for each sample, the rows of all tables in turn; lines behind the batch are not read."""
    trace = tmp_path / "rows.txt"
    trace.write_text("3 0 6 1 2 299\n39, 6, 0, 7, 7, 7\nnot a row\n")
    found = read_model(written(tmp_path), "m", {"trace": str(trace)}, batch=2)
    assert streams(found) == [(3, 39), (0, 6, 6, 0), (1, 2, 299, 7, 7, 7)]


def test_a_table_of_one_row_for_each_sample_is_not_added_up(tmp_path: Path) -> None:
    found = load_model(written(tmp_path))
    rows = [(layer.name, layer.op, *layer.dims.values()) for layer in found.layers if layer.inputs[0].rows]
    assert rows == [
        (f"sparse_arch.t_{number}.rows", "EmbeddingBag" if pooling > 1 else "GatherRows", 1, pooling, WIDTH)
        for number, pooling in enumerate(POOLING)
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"embedding_dim": 9}, r"key 'dense_arch_layer_sizes': found \[12, 8\]; allowed sizes that end with 9"),
        ({"num_embeddings_per_feature": []}, r"key 'num_embeddings_per_feature': found \[\]; allowed rows of 1 to"),
        ({"num_embeddings_per_feature": [40, 0, 3]}, "key 'num_embeddings_per_feature': .*; allowed a list of whole"),
        ({"multi_hot_sizes": [1, 2]}, r"key 'multi_hot_sizes': found \[1, 2\]; allowed a size for each of the 3"),
        ({"over_arch_layer_sizes": []}, r"key 'over_arch_layer_sizes': found \[\]; allowed results of 1 to"),
        ({"interaction_type": "projection"}, "key 'interaction_type': found \"projection\"; allowed original, dcn"),
        ({"dcn_num_layers": 3}, "key 'dcn_num_layers' is not known here"),
        ({**CROSS, "dcn_low_rank_dim": None}, "key 'dcn_low_rank_dim' is missing"),
        ({"pooling_type": "max"}, "key 'pooling_type': found \"max\"; allowed sum, mean"),
        ({"quantization_config": {}}, "key 'quantization_config.quant_method' is missing"),
        ({"lr": 0.1}, "key 'lr' is not known here"),
    ],
)
def test_fields_that_are_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=rf"dlrm\.json: {says}"):
        load_model(written(tmp_path, **changes))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"distribution": "zipf"}, "parameter alpha: is missing; allowed 0 to 16"),
        ({"distribution": "zipf", "alpha": 17}, "parameter alpha: found 17; allowed 0 to 16"),
        ({"distribution": "zipf", "alpha": "one"}, "parameter alpha: found one; allowed 0 to 16"),
        ({"alpha": 1}, "parameter alpha: has no meaning with distribution uniform; allowed with zipf"),
        ({"distribution": "zip"}, "parameter distribution: found zip .did you mean 'zipf'"),
        ({"seed": -1}, "parameter seed: found -1; allowed 0 to"),
        ({"seed": 1.5}, "parameter seed: found 1.5; allowed 0 to"),
        ({"batch": 0}, "parameter batch: found 0; allowed 1 to"),
        ({"prompt": 8}, "has no parameter 'prompt' to set; known: batch, distribution, alpha, seed, trace"),
        ({"trace": "nothing.txt"}, "parameter trace: nothing.txt cannot be read"),
        ({"trace": "ROWS", "seed": 1}, "parameter seed: has no meaning beside trace"),
        ({"trace": "ROWS", "batch": 3}, "parameter trace: .* has 2 samples; batch is 3"),
        ({"trace": "ROWS", "batch": 2}, r"parameter trace: .*rows.txt:2: row '7' of table 1; allowed 0 to 6"),
        ({"trace": "SHORT"}, r"parameter trace: .*short.txt:1: 5 rows; a sample looks 6 up"),
    ],
)
def test_parameters_that_are_refused(tmp_path: Path, asked: dict[str, Any], says: str) -> None:
    (tmp_path / "rows.txt").write_text("0 0 0 0 0 0\n1 2 7 0 0 0\n")
    (tmp_path / "short.txt").write_text("0 0 0 0 0\n")
    places = {"ROWS": str(tmp_path / "rows.txt"), "SHORT": str(tmp_path / "short.txt")}
    parameters = {key: places.get(str(value), value) for key, value in asked.items()}
    with pytest.raises(ConfigError, match=rf"dlrm\.json: {says}"):
        load_model(written(tmp_path), parameters=parameters)


def test_there_are_no_phases(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no phases; found 'decode'"):
        load_model(f"{written(tmp_path)}:decode")


@pytest.mark.parametrize("asked", [{}, {"distribution": "zipf", "alpha": 1.2}])
def test_look_ups_read_their_rows_and_nothing_else(tmp_path: Path, asked: dict[str, Any]) -> None:
    """Useful bytes of DRAM: of each table, batch x pooling x elements of a row, however often a row comes."""
    batch = 16
    chip = load("edge_npu")
    compiled = compile_model(load_model(written(tmp_path), batch=batch, parameters=asked), chip, Options())
    activity = simulate(compiled.program, chip)
    for number, pooling in enumerate(POOLING):
        layer = f"sparse_arch.t_{number}.rows"
        read = {action: count for (of, part, action), count in activity.counts.items() if (of, part) == (layer, "dram")}
        assert read["read_bytes"] == batch * pooling * WIDTH <= read["pin_read_bytes"]


def test_runs_with_other_rows_in_a_file_differ_in_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the rows that a file of the same name holds, of ``trace`` and of ``--lookups``."""
    monkeypatch.chdir(tmp_path)
    trace, path, found = Path("rows.txt"), written(tmp_path), []
    patterns = {"sparse_arch.t_0.rows": 'trace("table.txt")'}
    for row in (0, 6):
        trace.write_text(f"1 {row} {row} 3 4 5\n" * 4)
        Path("table.txt").write_text(f"{row}\n" * 4)
        jobs = (
            Job(str(path), "edge_npu", parameters={"batch": 4, "trace": str(trace)}),
            Job(str(path), "edge_npu", parameters={"batch": 4}, lookups=patterns),
            Job(str(path), "edge_npu", parameters={"batch": 4}),
        )
        found.append([build(job).options(job) for job in jobs])
    by_trace, by_lookups, plain = zip(*found, strict=True)
    for first, other in (by_trace, by_lookups):
        assert {**first, "traces_sha256": ""} == {**other, "traces_sha256": ""}
        assert first["traces_sha256"] != other["traces_sha256"]
    assert plain[0] == plain[1] and "traces_sha256" not in plain[0]


def test_a_sweep_runs_other_rows_in_a_file_again(tmp_path: Path) -> None:
    trace, path, keys = tmp_path / "rows.txt", written(tmp_path), RowKeys(load("edge_npu"))
    found = set[str]()
    for row in (0, 6, 6):
        trace.write_text(f"1 {row} {row} 3 4 5\n")
        model = load_model(path, parameters={"trace": str(trace)})
        found.add(keys.of(DesignPoint(0, {}), model, "m", "fast"))
    assert len(found) == 2
