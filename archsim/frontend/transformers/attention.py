"""Attention of a run over its own rows and over those of before, which lie in states.

Keys and values of new rows are appended to the states, and what attends reads them from there. A layer that sees a
window of W positions alone reads, behind older rows, no more than the window of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers.run_shape import RunShape
from archsim.ir.graph import OperatorAttribute

ROWS_AXIS = 2  # of (batch, heads, rows, elements)


@dataclass(frozen=True, slots=True)
class AttentionForm:
    """How scores become shares. ``scale``: 0 for the root of a head's elements; ``softcap``: 0 for none; ``window``:
    how many positions a row sees, its own among them, 0 for all before it; ``sinks``: a number for each head that
    takes part in its softmax, '' for none."""

    scale: float = 0.0
    softcap: float = 0.0
    window: int = 0
    sinks: str = ""

    def attributes(self) -> dict[str, OperatorAttribute]:
        """Of the node."""
        stated = {"scale": self.scale, "softcap": self.softcap}
        return {key: value for key, value in stated.items() if value}


def causal_attention(
    graph: ModuleGraph, name: str, run: RunShape, query: str, key: str, value: str, form: AttentionForm, bias: str = ""
) -> str:
    """(batch, heads, rows, elements): of new rows over all that each may see. ``key``, ``value``: of the new rows;
    ``bias``: what is added to scores, '' for nothing, of a form without a window."""
    every = [appended(graph, run, f"{name}_{part}", new) for part, new in (("key", key), ("value", value))]
    first = max(0, run.past + 1 - form.window) if form.window else 0
    if first:
        every = [
            graph.cut(f"{name}_{part}_window", rows, ROWS_AXIS, first, run.keys)
            for part, rows in zip(("key", "value"), every, strict=True)
        ]
    return seen_before(graph, name, run.rows, run.past - first, (query, *every), form, bias)


def seen_before(
    graph: ModuleGraph, name: str, rows: int, past: int, parts: tuple[str, ...], form: AttentionForm, bias: str = ""
) -> str:
    """Every row sees itself and, within the form's window, all rows before it, of which ``past`` are older than the
    first; ``parts``: queries, keys and values."""
    band = {"past": past, "window": form.window if form.window <= past + rows - 1 else 0}
    causal = {"is_causal": 1, **{key: value for key, value in band.items() if value}} if rows > 1 else {}
    return graph.add("Attention", name, *parts, *_behind(form, bias), **form.attributes(), **causal)


def _behind(form: AttentionForm, mask: str) -> tuple[str, ...]:
    """The inputs of the node behind values."""
    if form.sinks:
        return (mask, "", "", "", form.sinks)
    return (mask,) if mask else ()


def full_attention(
    graph: ModuleGraph, name: str, query: str, key: str, value: str, form: AttentionForm, bias: str = ""
) -> str:
    """(batch, heads, rows, elements): every row sees every key; ``bias``: what is added to scores, '' for nothing."""
    return graph.add("Attention", name, query, key, value, *_behind(form, bias), **form.attributes())


def appended(graph: ModuleGraph, run: RunShape, name: str, new: str) -> str:
    """The rows of the state NAME_cache, the new ones behind those of before."""
    batch, heads, _, width = graph.shape(new)
    state = graph.state(f"{name}_cache", (batch, heads, run.context, width), ROWS_AXIS, run.past)
    return graph.add("Append", f"{name}_append", state, new, axis=ROWS_AXIS, past=run.past)
