"""The bound of a network: cycles that no schedule of it undercuts on a chip.

However layers are cut, ordered and fused, its engines have their least work to do, and every DRAM part has the
compulsory bytes to move at its peak; nothing begins before the host has launched it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from archsim.ir.workload import Layer, Workload
from mapper.bound.compulsory import compulsory_bytes
from mapper.bound.engine_time import EngineTime, least_of_both, least_time
from mapper.cost.chip_rates import ChipCosts
from mapper.problem.engines import engines_of_layer
from mapper.problem.problem import Problem, build, content


class NetworkBound(NamedTuple):
    """``cycles`` of the reference clock and DRAM ``bytes`` of a run that was launched on a chip of which nothing is
    filled."""

    cycles: int
    bytes: int


def network_bound(workload: Workload, chip: ChipCosts, dtypes: Mapping[str, str]) -> NetworkBound:
    """Of a workload in the chip's formats; raises ConfigError for a format or a role that the chip lacks."""
    capacity = {memory.name: memory.capacity_bytes for memory in chip.architecture.memories}
    ways: dict[object, tuple[list[EngineTime], int]] = {}
    problems: list[Problem] = []
    for layer in workload.layers:
        own = list(_ways(layer, workload, chip, dtypes, capacity))
        if own:
            problems.append(own[0])
            key = tuple(content(problem) for problem in own)
            times, count = ways.get(key) or ([least_time(problem, chip) for problem in own], 0)
            ways[key] = times, count + 1
    moved = compulsory_bytes(workload, problems, chip.architecture)
    cycles = max(least_of_both(ways.values()), *(_at_peak(chip, name, size) for name, size in moved.items()), 0.0)
    return NetworkBound(int(cycles) + _launch(workload, chip), sum(moved.values()))


def _ways(
    layer: Layer, workload: Workload, chip: ChipCosts, dtypes: Mapping[str, str], capacity: Mapping[str, int]
) -> Iterator[Problem]:
    """The layer on each engine that may run it."""
    if layer.kind == "host":
        return
    for engine in engines_of_layer(layer, workload, chip.architecture, dtypes):
        yield build(layer, workload, chip.architecture, dtypes, capacity, {}, engine)


def _at_peak(chip: ChipCosts, memory: str, size_bytes: int) -> float:
    outer = chip.outer.get(memory)
    return size_bytes / outer.peak_bytes_per_s * chip.architecture.clock_hz if outer is not None else 0.0


def _launch(workload: Workload, chip: ChipCosts) -> int:
    host = chip.architecture.host
    on_host = all(layer.kind == "host" for layer in workload.layers)
    return 0 if host is None or on_host else host.launch_ps * chip.architecture.clock_hz // 10**12
