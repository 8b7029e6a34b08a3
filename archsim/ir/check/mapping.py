"""The ModelMapping checker: loops and keeps speak of the layer's dims and the chip's memories; placements fit.

Every mapping that a Program was made of passes it, whether it was searched, stated in a file or found in a cache: what
reports say of a layer is said of a mapping that the chip has the parts for.
"""

from __future__ import annotations

from collections.abc import Iterable

from archsim.base.errors import MappingError, nearest
from archsim.ir.dtypes import BYTES
from archsim.ir.mapping import Keep, LayerMapping, Loop, ModelMapping, Placement
from archsim.ir.workload import Layer, Workload
from archsim.spec.architecture import Architecture

OBJECTIVES = ("latency", "energy", "edp")


def check_mapping(mapping: ModelMapping, workload: Workload, architecture: Architecture) -> None:
    """Accept ``mapping`` of ``workload`` on ``architecture`` or raise MappingError naming layer and node."""
    if mapping.objective not in OBJECTIVES:
        raise MappingError(f"objective '{mapping.objective}'; allowed {', '.join(OBJECTIVES)}")
    for role, dtype in mapping.dtypes.items():
        if dtype not in BYTES:
            raise MappingError(f"dtype '{dtype}' of {role}{nearest(dtype, BYTES)}; allowed {', '.join(BYTES)}")
    _check_order(mapping, workload)
    for layer, mapped_layer in zip(workload.layers, mapping.layers, strict=True):
        _check_layer(layer, mapped_layer, architecture)
    for item in mapping.placements:
        _check_placement(item, workload, architecture)
    _check_apart(mapping.placements)


def _check_order(mapping: ModelMapping, workload: Workload) -> None:
    mapped = [layer.layer for layer in mapping.layers]
    wanted = [layer.name for layer in workload.layers]
    if mapped != wanted:
        odd = next((pair for pair in zip(mapped, wanted, strict=False) if pair[0] != pair[1]), None)
        detail = f"it has '{odd[0]}' where the workload has '{odd[1]}'" if odd else f"{len(mapped)} of {len(wanted)}"
        raise MappingError(f"mapping of '{mapping.workload}' does not list the workload's layers in order: {detail}")


def _check_layer(layer: Layer, mapped: LayerMapping, architecture: Architecture) -> None:
    where = f"layer '{layer.name}'"
    units = [part.name for part in architecture.parts()]
    if mapped.unit not in units:
        raise MappingError(f"{where}: chip '{architecture.name}' has no unit {_unknown(mapped.unit, units)}")
    if mapped.evaluated > mapped.space:
        raise MappingError(f"{where}: {mapped.evaluated} candidates evaluated of {mapped.space}")
    known = [*(operand.name for operand in layer.inputs), layer.output.name, "acc"]
    for name in mapped.resident:
        if name not in known:
            raise MappingError(f"{where}: no resident operand {_unknown(name, known)}")
    tiles = dict(layer.dims)
    for index, node in enumerate(mapped.nodes):
        if isinstance(node, Loop):
            _check_loop(node, f"{where}: node {index}", tiles, architecture)
        else:
            _check_keep(node, index, len(mapped.nodes), f"{where}: node {index}", known, architecture)


def _check_loop(loop: Loop, where: str, tiles: dict[str, int], architecture: Architecture) -> None:
    """Tiles shrink inwards; ``tiles``: size of every dim above this loop."""
    if loop.dim not in tiles:
        raise MappingError(f"{where}: no dim {_unknown(loop.dim, tiles)}")
    if not 1 <= loop.tile <= tiles[loop.dim]:
        raise MappingError(f"{where}: tiles of {loop.tile} of '{loop.dim}'; allowed 1 to {tiles[loop.dim]}")
    axes = [fanout.axis for array in architecture.arrays for fanout in array.fanouts]
    axes += [architecture.noc.name] if architecture.noc is not None else []  # of the cores
    if loop.axis and loop.axis not in axes:
        raise MappingError(f"{where}: no fan-out {_unknown(loop.axis, axes)}")
    tiles[loop.dim] = loop.tile


def _check_keep(keep: Keep, index: int, nodes: int, where: str, known: list[str], architecture: Architecture) -> None:
    levels = [memory.name for memory in architecture.memories if memory.filled_by == "dma"]
    if keep.operand not in known:
        raise MappingError(f"{where}: no operand {_unknown(keep.operand, known)}")
    if keep.level not in levels:
        raise MappingError(f"{where}: no explicit memory {_unknown(keep.level, levels)}")
    if keep.slots < 0 or not index <= keep.reserve_at <= nodes:
        raise MappingError(
            f"{where}: {keep.slots} slots reserved at {keep.reserve_at}; allowed 0 or more, {index} to {nodes}"
        )


def _check_placement(item: Placement, workload: Workload, architecture: Architecture) -> None:
    memories = {memory.name: memory for memory in architecture.memories if memory.filled_by == "dma"}
    if item.tensor not in workload.tensors:
        raise MappingError(f"placement of '{item.tensor}': no such tensor{nearest(item.tensor, workload.tensors)}")
    if item.memory not in memories:
        raise MappingError(f"placement of '{item.tensor}': no memory {_unknown(item.memory, memories)}")
    end, capacity = item.base + item.size_bytes, memories[item.memory].capacity_bytes
    if item.base < 0 or item.size_bytes < 1 or end > capacity:
        raise MappingError(
            f"tensor '{item.tensor}' needs bytes [{item.base}, {end}) of '{item.memory}', which has {capacity}"
        )


def _check_apart(placements: Iterable[Placement]) -> None:
    """No two share bytes in the same layers; of one that is compared, those that begin below its end are."""
    by_place = sorted(placements, key=lambda item: (item.memory, item.base))
    for at, one in enumerate(by_place):
        for later in range(at + 1, len(by_place)):
            two = by_place[later]
            if two.memory != one.memory or two.base >= one.base + one.size_bytes:
                break
            if one.first <= two.last and two.first <= one.last:
                raise MappingError(
                    f"tensors '{one.tensor}' and '{two.tensor}' share bytes of '{one.memory}' while both are alive"
                )


def _unknown(name: str, known: Iterable[str]) -> str:
    """The unknown name with the nearest one and all that there are."""
    names = list(known)
    return f"'{name}'{nearest(name, names)}; there are: {', '.join(names) or 'none'}"
