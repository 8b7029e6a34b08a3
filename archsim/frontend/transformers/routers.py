"""How a router weighs a token's experts: of its scores (tokens, experts) the weights (tokens, chosen).

Which experts have the largest scores is not looked up, since tokens are taken as spread evenly; the choice itself is
computed, for what it costs.
"""

from __future__ import annotations

from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers.experts import WriteWeights


def softmax_of_all(normalised: bool = True) -> WriteWeights:
    """Softmax over all experts, then the largest; ``normalised``: these are made to add up to 1."""

    def weigh(graph: ModuleGraph, logits: str, chosen: int) -> str:
        shares = graph.add("Softmax", "router.softmax", logits, axis=-1)
        found = _largest(graph, "router.top", shares, chosen)
        return _normalised(graph, found) if normalised else found

    return weigh


def softmax_of_chosen(graph: ModuleGraph, logits: str, chosen: int) -> str:
    """The largest scores, and softmax over them alone."""
    return graph.add("Softmax", "router.softmax", _largest(graph, "router.top", logits, chosen), axis=-1)


def sigmoid_in_groups(groups: int, kept: int, normalised: bool, factor: float) -> WriteWeights:
    """A sigmoid of each score; a learned bias for each expert is added for the choice alone. Experts stand in
    ``groups``, of which those ``kept`` have the largest sums of their two best (DeepSeek-AI, "DeepSeek-V3 Technical
    Report", 2024, section 2.1.2). The weights of the chosen are multiplied by ``factor``."""

    def weigh(graph: ModuleGraph, logits: str, chosen: int) -> str:
        tokens, experts = graph.shape(logits)
        shares = graph.activation("router.sigmoid", logits, "sigmoid")
        biased = graph.add("Add", "router.biased", shares, graph.weight("gate.e_score_correction_bias", experts))
        if kept < groups:
            biased = _of_kept_groups(graph, biased, groups, kept)
        least = graph.cut("router.least", _largest(graph, "router.best", biased, chosen), 1, chosen - 1, chosen)
        is_chosen = graph.add("GreaterOrEqual", "router.is_chosen", biased, least)
        zero = graph.numbers("router.none", 0.0, "float32")
        found = _largest(
            graph, "router.top", graph.add("Where", "router.chosen_shares", is_chosen, shares, zero), chosen
        )
        if normalised:
            found = _normalised(graph, found)
        return graph.add("Mul", "router.scaled", found, graph.numbers("router.factor", factor, "float32"))

    return weigh


def _of_kept_groups(graph: ModuleGraph, scores: str, groups: int, kept: int) -> str:
    """``scores``, 0 where they are of another group than those kept."""
    tokens, experts = graph.shape(scores)
    by_group = graph.reshape("router.groups", scores, tokens, groups, experts // groups)
    best = _largest(graph, "router.best_of_groups", by_group, 2)
    sums = graph.add("ReduceSum", "router.group_scores", best, graph.numbers("router.group_axes", (2,)), keepdims=1)
    ordered = graph.add("TopK", "router.best_groups", sums, graph.numbers("router.groups_kept", (kept,)), axis=1)
    least = graph.cut("router.least_group", ordered, 1, kept - 1, kept)
    is_kept = graph.add("GreaterOrEqual", "router.is_kept", sums, least)
    zero = graph.numbers("router.no_group", 0.0, "float32")
    masked = graph.add("Where", "router.of_groups", is_kept, by_group, zero)
    return graph.reshape("router.of_kept", masked, tokens, experts)


def _largest(graph: ModuleGraph, name: str, scores: str, count: int) -> str:
    return graph.add("TopK", name, scores, graph.numbers(f"{name}.count", (count,)), axis=-1)


def _normalised(graph: ModuleGraph, weights: str) -> str:
    axes = graph.numbers("router.axes", (1,))
    return graph.add(
        "Div", "router.normalised", weights, graph.add("ReduceSum", "router.total", weights, axes, keepdims=1)
    )
