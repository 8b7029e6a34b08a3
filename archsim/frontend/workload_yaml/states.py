"""The states of a workload file, or of each round of a repeated entry:

    states:
      keys: {shape: [batch, heads, context, width], axis: 2, past: past}

``shape`` has room for all rows; ``axis`` is the one along which they follow one another, the last but one unless it is
stated; ``past`` rows (0 unless stated) are there when the run begins. An ``append`` adds rows to one.
"""

from __future__ import annotations

from collections.abc import Mapping

from archsim.frontend.workload_yaml.options import EntryOptions
from archsim.frontend.workload_yaml.writer import GraphWriter
from archsim.ir.graph import GraphState

LAST_BUT_ONE = -2


def add_states(writer: GraphWriter, options: EntryOptions, sizes: Mapping[str, int]) -> None:
    """Add every state under ``states``; ConfigError names file, line and key path."""
    table = options.inside("states", sizes, "names with their shapes: {keys: {shape: [batch, heads, context, width]}}")
    for name in table.keys:
        stated = table.inside(name, sizes, "{shape, axis, past}")
        shape, axis = stated.sizes("shape"), stated.size("axis", LAST_BUT_ONE, low=-8)
        if not -len(shape) <= axis < len(shape):
            stated.fail(f"found {axis}; allowed {-len(shape)} to {len(shape) - 1}", "axis")
        past = stated.size("past", 0, low=0)
        room = shape[axis]
        if past > room:
            stated.fail(
                f"found {past}; allowed 0 to {room}, the rows that it has room for: give it room for {past} or more",
                "past",
            )
        stated.finish()
        writer.add_state(stated, writer.named(name), shape, GraphState(axis % len(shape), past))
