"""Which model of DRAM a run uses: what was asked for, else the exact one as long as it is affordable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from archsim.errors import ConfigError
from archsim.ir.program import Command, Node, Program
from archsim.spec import load
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory

MODES = ("exact", "fast")
EXACT_REQUESTS = 120_000_000  # a minute at the 2 M requests a second that the exact model serves at least


def timed(architecture: Architecture) -> list[Memory]:
    """The DRAM parts that have a fidelity: all but those of constant rate."""
    return [part for part in architecture.memories if part.kind == "dram" and part.standard != "constant"]


def with_fidelity(architecture: Architecture, mode: str) -> Architecture:
    """The chip with all its DRAM at a fidelity; raises ConfigError when it has none to change."""
    if mode not in MODES:
        raise ConfigError(f"fidelity: found '{mode}'; allowed {', '.join(MODES)}")
    parts = timed(architecture)
    if not parts:
        raise ConfigError(f"fidelity: chip '{architecture.name}' has no DRAM but such of constant rate, which has none")
    return load.replace(architecture, {f"{part.name}.fidelity": mode for part in parts})


def affordable(architecture: Architecture, program: Program) -> tuple[Architecture, str]:
    """The chip on which to simulate ``program``, and what was lowered ('' when nothing was)."""
    from archsim.memory.dram import catalogue

    exact = [part for part in timed(architecture) if part.fidelity == "exact"]
    requests = 0
    for part in exact:
        dram = catalogue.dram(part.standard, part.speed_mts, part.width_bits, part.channels, part.capacity_bytes)
        requests += moved_bytes(program, part.name) // dram.device.burst_bytes
    if requests <= EXACT_REQUESTS:
        return architecture, ""
    lowered = load.replace(architecture, {f"{part.name}.fidelity": "fast" for part in exact})
    text = f"DRAM simulated with fidelity fast: some {requests / 1e6:.0f} M requests; --fidelity exact insists"
    return lowered, text


def moved_bytes(program: Program, memory: str) -> int:
    """Bytes that the commands of ``program`` ask of a memory, at most: with all their extents in full."""
    here = {store.name: store.memory == memory for store in program.tensors}
    here |= {store.name: store.memory == memory for store in program.rings}
    return sum(_moved(queue.body, here) for queue in program.queues)


def _moved(nodes: Iterable[Node], here: Mapping[str, bool]) -> int:
    total = 0
    for node in nodes:
        total += _of_command(node, here) if isinstance(node, Command) else node.trips * _moved(node.body, here)
    return total


def _of_command(command: Command, here: Mapping[str, bool]) -> int:
    sizes = {extent.dim: extent.size for extent in command.extents}
    regions = [region for region in (*command.reads, *command.writes) if here.get(region.store)]
    return sum(region.element_bytes * prod(sizes[dim] for dim, _ in region.strides) for region in regions)
