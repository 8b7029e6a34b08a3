"""Synthetic traffic: where packets go and when they are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from archsim.base.errors import ConfigError, nearest

HOTSPOT = "hotspot"
_Pattern = Callable[[int, Sequence[int]], list[int]]


@dataclass(frozen=True, slots=True)
class TrafficPattern:
    """``targets``: of each node the only one it sends to; empty where it draws from ``drawn``, all equally likely."""

    name: str
    targets: tuple[int, ...]
    drawn: tuple[int, ...]


def by_name(name: str, nodes: int, shape: Sequence[int]) -> TrafficPattern:
    """``uniform``, ``hotspot_A_B...`` (drawn from these nodes), ``transpose``, ``bitcomp``, ``bitrev``, ``shuffle``,
    ``tornado``, ``neighbor``. Raises ConfigError for others and for numbers of nodes that a pattern cannot have."""
    if name == "uniform":
        return TrafficPattern(name, (), tuple(range(nodes)))
    if name.startswith(HOTSPOT):
        return TrafficPattern(name, (), _hotspots(name, nodes))
    if name not in _FIXED:
        known = ["uniform", "hotspot_A_B...", *sorted(_FIXED)]
        raise ConfigError(f"traffic: found '{name}'; allowed {', '.join(known)}{nearest(name, known)}")
    return TrafficPattern(name, tuple(_FIXED[name](nodes, shape)), ())


def arrivals(
    traffic: TrafficPattern,
    nodes: int,
    packets_per_cycle: float,
    first: int,
    cycles: int,
    generator: np.random.Generator,
) -> tuple[Any, Any, Any]:
    """Times, sources and targets of packets made in [first, first + cycles): each node draws in each cycle."""
    made = generator.random((cycles, nodes)) < packets_per_cycle
    times, sources = np.nonzero(made)
    if traffic.targets:
        targets = np.asarray(traffic.targets, np.int64)[sources]
    else:
        targets = np.asarray(traffic.drawn, np.int64)[generator.integers(0, len(traffic.drawn), times.size)]
    return times + first, sources, targets


def _hotspots(name: str, nodes: int) -> tuple[int, ...]:
    parts = name.split("_")[1:]
    if not parts or not all(part.isdecimal() and int(part) < nodes for part in parts):
        raise ConfigError(f"traffic: found '{name}'; allowed hotspot_A_B... of nodes 0 to {nodes - 1}")
    return tuple(int(part) for part in parts)


def _bits(nodes: int, what: str, *, even: bool = False) -> int:
    bits = nodes.bit_length() - 1
    if nodes != 1 << bits or (even and bits % 2):
        allowed = "powers of four" if even else "powers of two"
        raise ConfigError(f"traffic {what}: found {nodes} nodes; allowed {allowed}")
    return bits


def _transpose(nodes: int, shape: Sequence[int]) -> list[int]:
    half = _bits(nodes, "transpose", even=True) // 2
    return [node >> half | (node & (1 << half) - 1) << half for node in range(nodes)]


def _bitcomp(nodes: int, shape: Sequence[int]) -> list[int]:
    _bits(nodes, "bitcomp")
    return [nodes - 1 - node for node in range(nodes)]


def _bitrev(nodes: int, shape: Sequence[int]) -> list[int]:
    bits = _bits(nodes, "bitrev")
    return [sum((node >> bit & 1) << bits - 1 - bit for bit in range(bits)) for node in range(nodes)]


def _shuffle(nodes: int, shape: Sequence[int]) -> list[int]:
    bits = _bits(nodes, "shuffle")
    return [(node << 1 | node >> bits - 1) & nodes - 1 if bits else 0 for node in range(nodes)]


def _moved(nodes: int, shape: Sequence[int], by: Callable[[int], int]) -> list[int]:
    sizes = shape if math.prod(shape) == nodes else (nodes,)
    found = []
    for node in range(nodes):
        target, stride, left = 0, 1, node
        for size in sizes:
            target += (left % size + by(size)) % size * stride
            left, stride = left // size, stride * size
        found.append(target)
    return found


def _tornado(nodes: int, shape: Sequence[int]) -> list[int]:
    return _moved(nodes, shape, lambda size: -(-size // 2) - 1)


def _neighbor(nodes: int, shape: Sequence[int]) -> list[int]:
    return _moved(nodes, shape, lambda size: 1)


_FIXED: dict[str, _Pattern] = {
    "transpose": _transpose,
    "bitcomp": _bitcomp,
    "bitrev": _bitrev,
    "shuffle": _shuffle,
    "tornado": _tornado,
    "neighbor": _neighbor,
}
