"""Mixtures of experts: a router chooses ``chosen`` of ``count`` experts for each token, whose results are weighed.

Which tokens come to an expert is known at run time only. They are taken as drawn evenly: slot n of all tokens' choices
(token n // chosen) goes to expert n % count, so that the numbers of tokens are those of the largest remainder of a
uniform expectation, and a token's experts differ. Each expert that has tokens is products of its own rows; the weights
of an expert without tokens are not read, and are no constants of the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.ops.kit.lookups import ROWS

MOST_EXPERTS = 4096
WriteExpert = Callable[[ModuleGraph, str], str]  # of the rows that come to one expert
WriteWeights = Callable[[ModuleGraph, str, int], str]  # of scores (tokens, experts): (tokens, chosen)


@dataclass(frozen=True, slots=True)
class ExpertsForm:
    """How many experts there are, how a token's are weighed, and what is added to theirs: nothing, or that of an expert
    which is ``shared`` by all tokens. ``router``: the name of the product that makes scores, with or without bias."""

    count: int
    chosen: int
    write: WriteExpert
    weigh: WriteWeights
    shared: WriteExpert | None = None
    router: str = "gate"
    router_bias: bool = False


def read_counts(fields: ConfigFields, key: str) -> tuple[int, int]:
    """(experts, chosen of them for each token)."""
    count = fields.size(key, high=MOST_EXPERTS)
    return count, fields.size("num_experts_per_tok", high=count)


def gated_expert(inner: int, function: str, names: tuple[str, str, str, str] = feed_forward.GATED) -> WriteExpert:
    """A gated block."""
    return lambda graph, rows: feed_forward.gated_by(graph, rows, inner, function, names)


def experts(graph: ModuleGraph, source: str, form: ExpertsForm) -> str:
    """(batch, rows, elements) of the open module: each token's experts weighed and added up."""
    with graph.composite("moe"):
        return _mixed(graph, source, form)


def _mixed(graph: ModuleGraph, source: str, form: ExpertsForm) -> str:
    batch, rows, width = graph.shape(source)
    tokens = batch * rows
    flat = graph.reshape("tokens", source, tokens, width)
    weights = form.weigh(graph, graph.linear(form.router, flat, form.count, form.router_bias), form.chosen)
    back = _routed(graph, form, flat)
    weighed = graph.add("Mul", "weighed", back, graph.reshape("weights.column", weights, tokens, form.chosen, 1))
    total = graph.add("ReduceSum", "combined", weighed, graph.numbers("combined.axes", (1,)), keepdims=0)
    result = graph.reshape("output", total, batch, rows, width)
    return graph.add("Add", "with_shared", result, form.shared(graph, source)) if form.shared else result


def _routed(graph: ModuleGraph, form: ExpertsForm, flat: str) -> str:
    """(tokens, chosen, elements): what the experts of each token make of it. Rows are gathered in the order of the
    experts that they come to, and back; a single token goes to its experts as it is."""
    tokens, width = graph.shape(flat)
    slots = tokens * form.chosen
    if tokens == 1:
        made = _joined(graph, [_expert(graph, form, expert, flat) for expert in range(form.chosen)])
        return graph.reshape("collect", made, 1, slots, width)
    by_expert = np.argsort(np.arange(slots) % form.count, kind="stable")
    sent = graph.add(ROWS, "dispatch", flat, graph.numbers("dispatch.tokens", by_expert // form.chosen))
    parts, start = list[str](), 0
    for expert in range(min(form.count, slots)):
        stop = start + (slots - expert + form.count - 1) // form.count
        rows = sent if form.count == 1 else graph.cut(f"experts.{expert}.tokens", sent, 0, start, stop)
        parts.append(_expert(graph, form, expert, rows))
        start = stop
    places = np.argsort(by_expert, kind="stable").reshape(tokens, form.chosen)
    return graph.add(ROWS, "collect", _joined(graph, parts), graph.numbers("collect.places", places))


def _expert(graph: ModuleGraph, form: ExpertsForm, expert: int, rows: str) -> str:
    with graph.module(f"experts.{expert}"):
        return form.write(graph, rows)


def _joined(graph: ModuleGraph, parts: list[str]) -> str:
    return graph.add("Concat", "experts.joined", *parts, axis=0) if len(parts) > 1 else parts[0]
