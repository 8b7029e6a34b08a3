"""Files of ZigZag's best mappings (form in studies/validation/mapping/zigzag/README.md): accelerator, layers, figures.

A chain of memories and fan-outs is made of ZigZag's memories: a fan-out lies as far inside as all memories above it
serve it. Where a memory serves a fan-out that must lie above it (another operand's registers do not), it stands once
for each instance instead of once for all. An operand without registers has a latch in each PE that costs nothing: it
is fetched when it changes. Energy: cost of a word over the width of a port. One second is one cycle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from archsim.base.errors import ConfigError
from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.einsum import Coordinate, Einsum, Operand
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.nest import Nest

OUTPUT, OUTSIDE = "O", "outside"
PJ = 1e-12
_EQUATION = re.compile(r"(\w)((?:\[\w+\])+) ?= ?(\w)((?:\[\w+\])+) ?\* ?(\w)((?:\[\w+\])+)")
_RELATION = re.compile(r"(\w+) = (\d+)\*(\w+) \+ (\d+)\*(\w+)")
_UNLIMITED = 1e30  # actions a second


@dataclass(frozen=True)
class ZigzagBest:
    """The best mapping by one objective. ``level_pj``: (operand, memory) -> pJ. Latencies in cycles: all, and without
    the first loads, the last stores and the wave through a systolic array."""

    energy_pj: float
    latency_cycles: float
    steady_cycles: float
    utilization: float
    level_pj: Mapping[tuple[str, str], float]
    nest: Nest


@dataclass(frozen=True)
class ZigzagLayer:
    """``axis_dims``: the dims that ZigZag's mapping spreads on each fan-out; ``best`` by objective."""

    name: str
    einsum: Einsum
    axis_dims: Mapping[str, frozenset[str]]
    best: Mapping[str, ZigzagBest]
    search_s: float
    partial_bits: int
    final_bits: int


@dataclass(frozen=True)
class ZigzagAccelerator:
    """``data``: ZigZag's description; ``links``: its memory operand of each operand of a layer."""

    data: Mapping[str, Any]
    links: Mapping[str, str]

    @property
    def peak(self) -> int:
        """MACs a cycle."""
        found = 1
        for size in self.data["operational_array"]["sizes"]:
            found *= size
        return found

    @property
    def outermost_holds_all(self) -> bool:
        """Whether the outermost memory is one for all operands; else they come from outside, at no cost."""
        return len(list(self._parts(list(self.data["memories"])[-1]))) == 1

    def hierarchy(self, output_bits: Mapping[str, int]) -> Hierarchy:
        """The chain; ``output_bits`` of the output's values by memory."""
        chain = [*self._memories(output_bits), *self._latches()]
        operands = frozenset(self.links)
        if not self.outermost_holds_all:
            free = {READ: Action(0.0, _UNLIMITED, 1.0), WRITE: Action(0.0, _UNLIMITED, 1.0)}
            every = frozenset(self.data["operational_array"]["dimensions"])
            chain.insert(0, (Memory(OUTSIDE, None, operands, frozenset(), free, "max"), every))
        array = self.data["operational_array"]
        left = dict(zip(array["dimensions"], array["sizes"], strict=True))
        parts: list[Memory | Axis] = []
        for memory, served in chain:
            for name in [name for name in left if name not in served]:
                parts.append(Axis(name, left.pop(name), operands))
            parts.append(memory)
        parts += [Axis(name, size, operands) for name, size in left.items()]
        mac = Compute("MAC", Action(array["unit_energy"] * PJ, 1.0, 0.0))
        return Hierarchy(self.data["name"], tuple(parts), mac)

    def holding(self, operand: str) -> list[str]:
        """ZigZag's memories of an operand, inner first."""
        return [name for name, data in self.data["memories"].items() if self.links[operand] in data["operands"]]

    def memory_of(self, operand: str, name: str) -> str:
        """Name in the chain of an operand's part of a memory."""
        parts = dict(self._parts(name))
        return next(part for part, operands in parts.items() if self.links[operand] in operands)

    def _memories(self, output_bits: Mapping[str, int]) -> list[tuple[Memory, frozenset[str]]]:
        """Outermost first with the fan-outs that each serves."""
        found = []
        for name in reversed(self.data["memories"]):
            served = frozenset(self.data["memories"][name]["served_dimensions"])
            for part, operands in self._parts(name):
                found.append((self._memory(name, part, operands, output_bits), served))
        return found

    def _parts(self, name: str) -> Iterator[tuple[str, frozenset[str]]]:
        """A memory is one for all operands that share a port."""
        groups: list[frozenset[str]] = []
        for port in self.data["memories"][name]["ports"]:
            served = frozenset(use.split(",")[0] for use in port["allocation"])
            joined = [group for group in groups if group & served]
            groups = [group for group in groups if not group & served] + [served.union(*joined)]
        for group in groups:
            yield (name if len(groups) == 1 else f"{name}_{'_'.join(sorted(group))}"), group

    def _memory(self, name: str, part: str, operands: frozenset[str], output_bits: Mapping[str, int]) -> Memory:
        data = self.data["memories"][name]
        keep = frozenset(operand for operand, link in self.links.items() if link in operands)
        ports = [port for port in data["ports"] if {use.split(",")[0] for use in port["allocation"]} <= operands]
        widths = {port["bandwidth_max"] for port in ports}
        if len(widths) > 1:
            raise ConfigError(f"memories.{name}: ports of one operand with widths {sorted(widths)}; one width is read")
        both = [port for port in ports if port["type"] == "read_write"]
        reading, writing = (sum(port["type"] == kind for port in ports) or len(both) for kind in ("read", "write"))
        actions = {
            READ: Action(data["r_cost"] * PJ, float(reading), min(widths)),
            WRITE: Action(data["w_cost"] * PJ, float(writing), min(widths)),
        }
        bits = {OUTPUT: output_bits[name]} if OUTPUT in keep else {}
        return Memory(part, data["size"], keep, frozenset(), actions, "sum" if both else "max", bits=bits)

    def _latches(self) -> list[tuple[Memory, frozenset[str]]]:
        """Of operands whose innermost memory serves a whole array."""
        every = set(self.data["operational_array"]["dimensions"])
        free = {READ: Action(0.0, _UNLIMITED, 0.0), WRITE: Action(0.0, _UNLIMITED, 0.0)}
        found = []
        for operand, link in self.links.items():
            inner = next(m for m in self.data["memories"].values() if link in m["operands"])
            if every <= set(inner["served_dimensions"]):
                latch = Memory(f"latch_{operand}", 8, frozenset([operand]), frozenset(), free, "max")
                found.append((latch, frozenset[str]()))
        return found


def read(path: Path) -> tuple[ZigzagAccelerator, list[ZigzagLayer]]:
    """One file. Raises ConfigError for what it cannot read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        accelerator = ZigzagAccelerator(data["accelerator"], data["layers"][0]["layer"]["memory_operand_links"])
        return accelerator, [_layer(accelerator, entry) for entry in data["layers"]]
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: not in the form of ZigZag's results: {type(error).__name__} {error}") from error


def _layer(accelerator: ZigzagAccelerator, entry: Mapping[str, Any]) -> ZigzagLayer:
    layer = entry["layer"]
    einsum = einsum_of(layer)
    best = {name.lower(): _best(accelerator, einsum, found) for name, found in entry["best"].items()}
    spread = next(iter(entry["best"].values()))["spatial_mapping"]
    bits = layer["operand_precision_bits"]
    axis_dims = {axis: frozenset(dim.lower() for dim in dims) for axis, dims in spread.items()}
    return ZigzagLayer(layer["name"], einsum, axis_dims, best, entry["search_cpu_s"], bits["O"], bits["O_final"])


def einsum_of(layer: Mapping[str, Any]) -> Einsum:
    """From ``equation``, ``dimension_relations`` and ``loop_dims``; padding counts as values that are read."""
    found = _EQUATION.fullmatch(layer["equation"])
    if not found:
        raise ConfigError(f"equation '{layer['equation']}': the form is O[..] = A[..] * B[..]")
    windows: dict[str, Coordinate] = {}
    for relation in layer["dimension_relations"]:
        match = _RELATION.fullmatch(relation)
        if not match:
            raise ConfigError(f"dimension_relations: '{relation}': the form is IX = 1*OX + 1*FX")
        windows[match[1].lower()] = ((match[3].lower(), int(match[2])), (match[5].lower(), int(match[4])))
    bits = layer["operand_precision_bits"]
    operands = []
    for name, indices in ((found[3], found[4]), (found[5], found[6]), (found[1], found[2])):
        coordinates = tuple(windows.get(at, ((at, 1),)) for at in re.findall(r"\w+", indices))
        operands.append(Operand(name, coordinates, name == OUTPUT, bits["O_final" if name == OUTPUT else name]))
    extents = {dim.lower(): int(extent) for dim, extent in layer["loop_dims"].items()}
    return Einsum(layer["name"], extents, tuple(operands))


def _best(accelerator: ZigzagAccelerator, einsum: Einsum, data: Mapping[str, Any]) -> ZigzagBest:
    levels = data["memory_levels"]
    pj = {
        (operand, accelerator.memory_of(operand, name)): energy
        for operand, names in levels.items()
        for name, energy in zip(names, data["energy_per_level_pJ"][operand], strict=True)
    }
    steady = data["ideal_temporal_cycle"] + data["stall_cycles"]
    whole = data["energy_pJ"], data["latency_cycles"], steady, data["mac_spatial_utilization"]
    return ZigzagBest(*whole, pj, _nest(accelerator, einsum, data))


def _nest(accelerator: ZigzagAccelerator, einsum: Einsum, data: Mapping[str, Any]) -> Nest:
    """Loops in ZigZag's order, each Keep above the loops of its level and those inside it, fan-outs as in the chain."""
    by_level = data["temporal_mapping_inner_to_outer"]
    loops = [(dim.lower(), int(trips)) for level in by_level[OUTPUT] for dim, trips in level]
    below: dict[str, list[tuple[str, int]]] = {}  # memory -> operand, loops inside its tile
    for operand, levels in by_level.items():
        inside = 0
        for name, level in zip(data["memory_levels"][operand], levels, strict=True):
            inside += len(level)
            below.setdefault(accelerator.memory_of(operand, name), []).append((operand, inside))
    spread = {
        axis: {d.lower(): ceil(n) for d, n in dims.items()} for axis, dims in data["spatial_mapping"].items() if dims
    }
    return Nest(einsum, tuple(_tiled(einsum, _order(accelerator, loops, below, spread))))


def _order(
    accelerator: ZigzagAccelerator,
    loops: list[tuple[str, int]],
    below: Mapping[str, list[tuple[str, int]]],
    spread: Mapping[str, Mapping[str, int]],
) -> list[Keep | tuple[str, str, int]]:
    """Keeps and (dim, axis, trips), outermost first; a fan-out above the first tile of a memory that is inside it."""
    found: list[Keep | tuple[str, str, int]] = []
    left = len(loops)
    for memory, operand, inside, axes in _placed(accelerator, below, len(loops)):
        if inside < left:
            found += [(dim, "", trips) for dim, trips in reversed(loops[inside:left])]
            left = inside
        for axis in axes:
            found += [(dim, axis, trips) for dim, trips in spread.get(axis, {}).items()]
        if memory:
            found.append(Keep(operand, memory, 1, 0))
    return found


def _placed(
    accelerator: ZigzagAccelerator, below: Mapping[str, list[tuple[str, int]]], count: int
) -> Iterator[tuple[str, str, int, list[str]]]:
    """Tiles from the outermost: memory, operand, loops inside, the fan-outs that come just above it."""
    hierarchy = accelerator.hierarchy(dict.fromkeys(accelerator.data["memories"], 0))
    ranks = {part.name: rank for rank, part in enumerate(hierarchy.parts)}
    tiles = [(inside, memory, operand) for memory, kept in below.items() for operand, inside in kept]
    tiles += [(count, OUTSIDE, operand) for operand in accelerator.links if OUTSIDE in ranks]
    tiles += [(0, f"latch_{operand}", operand) for operand in accelerator.links if f"latch_{operand}" in ranks]
    left = [axis.name for axis in hierarchy.axes]
    for inside, memory, operand in sorted(tiles, key=lambda tile: (-tile[0], ranks[tile[1]], tile[2])):
        axes = [axis for axis in left if ranks[axis] < ranks[memory]]
        left = [axis for axis in left if axis not in axes]
        yield memory, operand, inside, axes
    yield "", "", 0, left


def _tiled(einsum: Einsum, order: list[Keep | tuple[str, str, int]]) -> list[MapNode]:
    """Trips become the tiles below them."""
    tile = dict.fromkeys(einsum.extents, 1)
    nodes: list[MapNode] = []
    for at, node in reversed(list(enumerate(order))):
        if isinstance(node, Keep):
            nodes.append(Keep(node.operand, node.level, node.slots, at))
        else:
            dim, axis, trips = node
            nodes.append(Loop(dim, tile[dim], axis))
            tile[dim] *= trips
    return nodes[::-1]
