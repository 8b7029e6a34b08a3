"""Attention over the rows of an encoder, of which keys and values are made once and lie in states from then on."""

from __future__ import annotations

from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers.attention import ROWS_AXIS, AttentionForm, full_attention


def crossed(
    graph: ModuleGraph,
    name: str,
    query: str,
    made: tuple[str, str] | None,
    rows: int,
    form: AttentionForm,
) -> str:
    """(batch, heads, rows, elements) over ``rows`` of the encoder; ``made``: keys and values, None in decode, where
    they lie in states since prefill."""
    every = []
    for at, part in enumerate(("key", "value")):
        batch, heads, _, width = graph.shape(query)
        past = rows if made is None else 0
        state = graph.state(f"{name}_{part}_cache", (batch, heads, rows, width), ROWS_AXIS, past)
        if made is not None:
            state = graph.add("Append", f"{name}_{part}_append", state, made[at], axis=ROWS_AXIS, past=0)
        every.append(state)
    return full_attention(graph, name, query, every[0], every[1], form)
