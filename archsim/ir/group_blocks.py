"""The groups of a Workload, from those of the same one with only a few of its equal blocks (``archsim.ir.blocks``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from archsim.ir.blocks import KEPT, EqualBlocks
from archsim.ir.schedule import Group, Member, SharedKeep, SharedLoop, group_name
from archsim.ir.workload import Workload


def groups_of_all(
    groups: Sequence[Group], whole: Workload, blocks: EqualBlocks, short: Workload
) -> tuple[Group, ...] | None:
    """The groups of ``whole``; ``groups``: those of ``short``, in which most of its ``blocks`` are left out.

    Those that begin in the third block also begin in each block that is left out. None where groups that begin in the
    third block, or reach over its end, are not those of the second one: the third block then stands for no others.
    """
    numbers = {layer.name: at for at, layer in enumerate(short.layers)}
    spans = [range(numbers[group.members[0].layer], numbers[group.members[-1].layer] + 1) for group in groups]
    own = list(zip(groups, spans, strict=True))
    third = {group for group, span in own if _is_of(span, blocks.middle)}
    before = [
        (group, span)
        for group, span in own
        if _is_of(span, range(blocks.middle.start - blocks.size, blocks.middle.start))
    ]
    if any(span.stop + blocks.size > len(short.layers) for _, span in before):
        return None
    if {_moved(group, short, short, blocks.size) for group, _ in before} != third:
        return None
    found = [group for known, span in own for group in _everywhere(known, span, whole, blocks, short)]
    order = {layer.name: at for at, layer in enumerate(whole.layers)}
    return tuple(sorted(found, key=lambda group: order[group.members[0].layer]))


def _is_of(span: range, block: range) -> bool:
    """Whether a group begins in a block, or reaches over its end."""
    return span.start in block or span.start < block.stop < span.stop


def _everywhere(group: Group, span: range, whole: Workload, blocks: EqualBlocks, short: Workload) -> Iterator[Group]:
    """The group wherever it is in the whole network: once, unless it begins in the third block."""
    if span.start not in blocks.middle:
        yield group
        return
    for by in range(blocks.times - KEPT + 1):
        yield _moved(group, short, whole, by * blocks.size)


def _moved(group: Group, short: Workload, other: Workload, by: int) -> Group:
    """A group of ``short`` as it is ``by`` layers later in ``other``, whose layers there do the same."""
    layers, tensors = {}, {}
    names = {member.layer for member in group.members}
    for at, layer in enumerate(short.layers):
        if layer.name in names:
            layers[layer.name] = other.layers[at + by].name
            tensors[layer.output.tensor] = other.layers[at + by].output.tensor
    members = tuple(Member(layers[member.layer], member.ahead) for member in group.members)

    def later(shared: SharedLoop | SharedKeep) -> SharedLoop | SharedKeep:
        return replace(shared, layer=layers[shared.layer])

    return Group(
        group_name(members[0].layer, members[-1].layer),
        members,
        tuple(map(later, group.shared)),
        tuple(replace(window, tensor=tensors[window.tensor]) for window in group.windows),
    )
