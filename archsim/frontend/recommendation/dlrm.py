"""DLRM: dense features through a network, categories as rows of tables, both together through another network.

Naumov et al., 2019; with layers that cross features (``interaction_type`` dcn) it is the model of MLPerf since its
version 3. There is no published config.json: fields are the options of MLPerf's reference (``torchrec_dlrm``), with
``model_type`` beside them, and names are module paths of torchrec's classes. What comes out is the probability of a
click, behind the sigmoid that the reference leaves to its loss.
"""

from __future__ import annotations

from archsim.frontend.configs.asked import AskedParameters
from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.recommendation.chosen_rows import PARAMETERS, EmbeddingTable, chosen_rows
from archsim.frontend.recommendation.interaction import crossed, pairwise

PAIRWISE, CROSSED = "original", "dcn"
POOLINGS = {"sum": "ReduceSum", "mean": "ReduceMean"}
MOST_TABLE_ROWS = 1 << 32
MOST_POOLING = 1 << 16
MOST_LAYERS = 4096  # of a network, or tables, or columns of a matrix that crosses features


def dlrm(graph: ModuleGraph, fields: ConfigFields, asked: AskedParameters) -> None:
    """Both networks, tables, and what lies between."""
    width, inputs = fields.size("embedding_dim"), fields.size("dense_in_features")
    tables, pooling = _read_tables(fields), fields.word("pooling_type", "sum", POOLINGS)
    before, behind = (_read_sizes(fields, key) for key in ("dense_arch_layer_sizes", "over_arch_layer_sizes"))
    if before[-1] != width:
        fields.wrong("dense_arch_layer_sizes", f"sizes that end with {width}, embedding_dim")
    kind = fields.word("interaction_type", PAIRWISE, (PAIRWISE, CROSSED))
    cross = [fields.size(key, high=MOST_LAYERS) for key in ("dcn_num_layers", "dcn_low_rank_dim") if kind == CROSSED]
    batch = asked.of_samples(*PARAMETERS)
    dense = _network(graph, "dense_arch", graph.input("dense_features", (batch, inputs)), before)
    rows = chosen_rows(asked, tables)
    with graph.module("sparse_arch"):
        found = [
            graph.bag(f"t_{number}", graph.input(f"sparse_{number}", (batch, table.pooling), "int64"),
                      (table.rows, width), POOLINGS[pooling], rows[number])
            for number, table in enumerate(tables)
        ]  # fmt: skip
    with graph.module("inter_arch"):
        features = graph.add("Concat", "features.joined", dense, *found, axis=1)
        joined = crossed(graph, features, *cross) if cross else pairwise(graph, dense, features, 1 + len(tables))
    value = _network(graph, "over_arch", joined, behind, last_activation=False)
    graph.output(graph.add("Sigmoid", "probability", value))


def _read_tables(fields: ConfigFields) -> list[EmbeddingTable]:
    rows = fields.sizes("num_embeddings_per_feature", 1, MOST_TABLE_ROWS)
    if not 1 <= len(rows) <= MOST_LAYERS:
        fields.wrong("num_embeddings_per_feature", f"rows of 1 to {MOST_LAYERS} tables")
    if not fields.has("multi_hot_sizes"):
        return [EmbeddingTable(count, 1) for count in rows]
    pooling = fields.sizes("multi_hot_sizes", 1, MOST_POOLING)
    if len(pooling) != len(rows):
        fields.wrong("multi_hot_sizes", f"a size for each of the {len(rows)} tables of num_embeddings_per_feature")
    return [EmbeddingTable(*pair) for pair in zip(rows, pooling, strict=True)]


def _read_sizes(fields: ConfigFields, key: str) -> tuple[int, ...]:
    found = fields.sizes(key, 1)
    return found if 1 <= len(found) <= MOST_LAYERS else fields.wrong(key, f"results of 1 to {MOST_LAYERS} layers")


def _network(graph: ModuleGraph, name: str, value: str, sizes: tuple[int, ...], last_activation: bool = True) -> str:
    """Linear layers with ReLU behind each, but for the last one where it has none."""
    with graph.module(name):
        for number, size in enumerate(sizes):
            value = graph.linear(f"mlp.{number}", value, size, bias=True)
            if last_activation or number + 1 < len(sizes):
                value = graph.activation(f"mlp.{number}.relu", value, "relu")
    return value
