"""How the features of a sample meet: products of every two of them, or layers that cross all with themselves."""

from __future__ import annotations

from archsim.frontend.configs.module_graph import ModuleGraph


def pairwise(graph: ModuleGraph, dense: str, features: str, count: int) -> str:
    """(batch, width + count * (count - 1) / 2): the ``dense`` feature, and the products of each of ``count`` features
    with those behind it; ``features``: (batch, count * width), one after the other.

    Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation Systems", 2019: one
    product of the features with themselves, of whose results those above the diagonal are taken.
    """
    batch, width = graph.shape(dense)
    rows = graph.reshape("features", features, batch, count, width)
    columns = graph.add("Transpose", "transposed", rows, perm=(0, 2, 1))
    products = graph.add("MatMul", "products", rows, columns)
    parts = [dense]
    for at in range(count - 1):
        line = graph.cut(f"row_{at}", products, 1, at, at + 1)
        behind = graph.cut(f"pairs_{at}.behind", line, 2, at + 1, count)
        parts.append(graph.reshape(f"pairs_{at}", behind, batch, count - 1 - at))
    return graph.add("Concat", "joined", *parts, axis=1)


def crossed(graph: ModuleGraph, features: str, layers: int, rank: int) -> str:
    """(batch, all features): each layer is first * (W (V value) + bias) + value, with V of ``rank`` columns.

    Wang et al., "DCN V2: Improved Deep & Cross Network", 2020, with matrices of low rank.
    """
    value, size = features, graph.shape(features)[1]
    for index in range(layers):
        with graph.module(f"crossnet.{index}"):
            moved = graph.linear("W", graph.linear("V", value, rank), size, bias=True)
            value = graph.add("Add", "sum", graph.add("Mul", "crossed", features, moved), value)
    return value
