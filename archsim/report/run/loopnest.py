"""Mappings as indented loop nests: loops, what is kept where, bounds and proofs; of groups what members share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent

from archsim.ir.mapping import Keep, LayerMapping, Loop
from archsim.ir.schedule import Group, Member, SharedKeep, SharedLoop, TensorWindow
from archsim.report.kit.number_format import count, counted

_STEP = "  "


def group_nest(group: Group, layers: Sequence[LayerMapping], dataflows: Mapping[str, str]) -> str:
    """What the members share, then the loop nests of those of ``layers``, each within a pass."""
    head = f"group {group.name}: {counted(len(group.members), 'layer')} run together, pass by pass"
    ahead = {member.layer: member for member in group.members}
    nests = [loop_nest(layer, dataflows.get(layer.unit, ""), _ahead(ahead[layer.layer])) for layer in layers]
    return "\n".join([head, *_shared(group), *(indent(nest, _STEP) for nest in nests)])


def _shared(group: Group) -> Iterator[str]:
    depth = 1
    for entry in group.shared:
        yield _STEP * depth + _entry(entry)
        depth += isinstance(entry, SharedLoop)
    for window in group.windows:
        yield _STEP * depth + _window(window)


def _entry(entry: SharedLoop | SharedKeep) -> str:
    if isinstance(entry, SharedLoop):
        return f"for {entry.layer}.{entry.dim} in tiles of {count(entry.tile)}, in passes"
    return f"keep {entry.layer}.{entry.operand} in {entry.level}, {counted(entry.slots, 'slot')}"


def _window(window: TensorWindow) -> str:
    rows = f" of {counted(window.rows, 'row')} of {window.dim}, {count(window.step)} of them new," if window.dim else ""
    return f"{window.tensor} lies in a window in {window.level}: {counted(window.slots, 'slot')}{rows} for a pass each"


def _ahead(member: Member) -> str:
    return (
        f", {count(member.ahead)} pass{'es' if member.ahead > 1 else ''} ahead of the last layer"
        if member.ahead
        else ""
    )


def loop_nest(layer: LayerMapping, dataflow: str = "", when: str = "") -> str:
    """One line per node, outermost first; spatial loops name their axis. ``dataflow``: that of an array; ``when``: a
    member of a group runs."""
    lines = [f"{layer.layer}: {layer.kind} on {layer.unit}{f' ({dataflow})' if dataflow else ''}{when}"]
    depth = 1
    for index, node in enumerate(layer.nodes):
        lines.append(_STEP * depth + _node(node, index, layer.resident))
        depth += isinstance(node, Loop)
    if layer.resident:
        lines.append(f"  stays on chip: {', '.join(layer.resident)}")
    lines.append(f"  at least {count(layer.bound_cycles)} cycles; {searched(layer)}")
    return "\n".join(lines)


def searched(layer: LayerMapping) -> str:
    """How far the search went: ``optimal in space; 120 of 4,096 mappings evaluated``."""
    return f"{layer.proof}; {count(layer.evaluated)} of {count(layer.space)} mappings evaluated"


def _node(node: Loop | Keep, index: int, resident: Sequence[str]) -> str:
    if isinstance(node, Loop):
        where = f"spread over {node.axis}" if node.axis else "in time"
        return f"for {node.dim} in tiles of {count(node.tile)}, {where}"
    if not node.slots:
        where = "whole" if node.operand in resident else "in a window"
        return f"{node.operand} lies {where} in {node.level}"
    sliding = ", as a sliding window" if node.reserve_at != index else ""
    return f"keep {node.operand} in {node.level}, {counted(node.slots, 'slot')}{sliding}"
