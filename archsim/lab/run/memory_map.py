"""What lies where in the memories of a chip, and from which layer to which: tensors that stay, windows, tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import groupby
from operator import attrgetter

from archsim.ir.mapping import ModelMapping
from archsim.ir.program import Ring
from archsim.ir.result_parts import HeldBytes, HeldKind, MemoryMap
from archsim.lab.run.job import BuiltJob

AT = "@"  # parts the name of a ring: a tensor and its group, or a layer and its operand


def memory_map(built: BuiltJob) -> dict[str, MemoryMap]:
    """By on-chip memory, of those that hold tensors or windows: a memory of tiles alone says nothing of the network.

    Nothing of a Program given as text, nor of one without some of its layers.
    """
    mapping = built.mapping
    if mapping is None or built.left_out:
        return {}
    held: dict[str, list[HeldBytes]] = {}
    for memory, block in (*_kept(mapping), *_rings(built.program.rings, mapping)):
        held.setdefault(memory, []).append(block)
    chip = {memory.name: memory for memory in built.architecture.memories if memory.kind != "dram"}
    return {
        name: {"size_bytes": chip[name].capacity_bytes, "blocks": blocks}
        for name, blocks in held.items()
        if name in chip and any(block["kind"] != "tiles" for block in blocks)
    }


def _kept(mapping: ModelMapping) -> Iterator[tuple[str, HeldBytes]]:
    names = [layer.layer for layer in mapping.layers]
    for place in mapping.placements:
        first, last = names[max(place.first, 0)], names[min(place.last, len(names) - 1)]
        yield place.memory, _block("kept", place.tensor, place.base, place.size_bytes, first, last)


def _rings(rings: Iterable[Ring], mapping: ModelMapping) -> Iterator[tuple[str, HeldBytes]]:
    """Windows one by one, and a layer's tiles as far as they lie side by side."""
    windows = {
        f"{window.tensor}{AT}{group.name}": (window.tensor, group.members[0].layer, group.members[-1].layer)
        for group in mapping.groups
        for window in group.windows
    }
    layers = {layer.layer for layer in mapping.layers}
    tiles: dict[tuple[str, str], list[Ring]] = {}
    for ring in rings:
        if ring.name in windows:
            tensor, first, last = windows[ring.name]
            yield ring.memory, _block("window", tensor, ring.base, ring.size_bytes, first, last)
        else:
            tiles.setdefault((ring.memory, _layer_of(ring.name, layers)), []).append(ring)
    for (memory, layer), own in tiles.items():
        for base, size in _side_by_side(own):
            yield memory, _block("tiles", layer, base, size, layer, layer)


def _layer_of(ring: str, layers: Set[str]) -> str:
    """The layer whose operand lies in a ring, whatever signs its own name has."""
    found = ring
    while found not in layers and AT in found:
        found = found.rpartition(AT)[0]
    return found


def _side_by_side(rings: Iterable[Ring]) -> Iterator[tuple[int, int]]:
    """Where stretches without gaps begin, and how long they are."""
    begin = end = -1
    for base, own in groupby(sorted(rings, key=attrgetter("base")), key=attrgetter("base")):
        size = max(ring.size_bytes for ring in own)
        if base > end:
            if end > begin:
                yield begin, end - begin
            begin = base
        end = max(end, base + size)
    if end > begin:
        yield begin, end - begin


def _block(kind: HeldKind, name: str, base: int, size: int, first: str, last: str) -> HeldBytes:
    return {"kind": kind, "name": name, "base": base, "size_bytes": size, "first": first, "last": last}
