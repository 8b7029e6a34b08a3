"""A layer's mapping as an indented loop nest: loops, what is kept where, the bound and its proof."""

from __future__ import annotations

from archsim.ir.mapping import Keep, LayerMapping, Loop
from archsim.report.kit.number_format import count


def loop_nest(layer: LayerMapping, dataflow: str = "") -> str:
    """One line per node, outermost first; spatial loops name their axis. ``dataflow``: that of an array."""
    lines = [f"{layer.layer}: {layer.kind} on {layer.unit}{f' ({dataflow})' if dataflow else ''}"]
    indent = 1
    for index, node in enumerate(layer.nodes):
        lines.append("  " * indent + _node(node, index))
        indent += isinstance(node, Loop)
    if layer.resident:
        lines.append(f"  stays on chip: {', '.join(layer.resident)}")
    lines.append(f"  at least {count(layer.bound_cycles)} cycles; {searched(layer)}")
    return "\n".join(lines)


def searched(layer: LayerMapping) -> str:
    """How far the search went: ``optimal in space; 120 of 4,096 mappings evaluated``."""
    return f"{layer.proof}; {count(layer.evaluated)} of {count(layer.space)} mappings evaluated"


def _node(node: Loop | Keep, index: int) -> str:
    if isinstance(node, Loop):
        where = f"spread over {node.axis}" if node.axis else "in time"
        return f"for {node.dim} in tiles of {count(node.tile)}, {where}"
    if not node.slots:
        return f"{node.operand} lies whole in {node.level}"
    slots = f"{node.slots} slot{'s' if node.slots > 1 else ''}"
    sliding = ", as a sliding window" if node.reserve_at != index else ""
    return f"keep {node.operand} in {node.level}, {slots}{sliding}"
