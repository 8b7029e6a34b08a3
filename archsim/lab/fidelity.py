"""Which models of DRAM and network a run uses: what was asked for, else the exact ones where they are affordable."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from archsim.base.errors import ConfigError
from archsim.ir.program import Program
from archsim.lab import traffic
from archsim.spec import load
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory

MODES: Mapping[str, str] = {"exact": "flit", "fast": "link"}  # of DRAM, and what goes with it of a network
EXACT_REQUESTS = 120_000_000  # a minute at the 2 M requests a second that the exact model serves at least
EXACT_FLITS = 480_000_000  # a minute at the 8 M flits a second through routers that the kernel moves at least


def timed(architecture: Architecture) -> list[Memory]:
    """The DRAM parts that have a fidelity: all but those of constant rate."""
    return [part for part in architecture.memories if part.kind == "dram" and part.standard != "constant"]


def with_fidelity(architecture: Architecture, mode: str) -> Architecture:
    """The chip with its DRAM, and its network, at a fidelity.

    Raises ConfigError when it has none to change, and when a part cannot have it: then naming the part and why.
    """
    if mode not in MODES:
        raise ConfigError(f"fidelity: found '{mode}'; allowed {', '.join(MODES)}")
    values = {f"{part.name}.fidelity": mode for part in timed(architecture)}
    if architecture.noc is not None:
        values[f"{architecture.noc.name}.fidelity"] = MODES[mode]
    if not values:
        raise ConfigError(
            f"fidelity: chip '{architecture.name}' has no network, and no DRAM but of constant rate, which has none"
        )
    try:
        return load.replace(architecture, values)
    except ConfigError as error:
        raise ConfigError(_refusal(architecture, mode, values)) from error


def _refusal(architecture: Architecture, mode: str, values: Mapping[str, str]) -> str:
    """Which parts cannot have a fidelity and why, and what is allowed."""
    why = []
    for key, value in values.items():
        try:
            load.replace(architecture, {key: value})
        except ConfigError as error:
            part, reason = key.removesuffix(".fidelity"), str(error).partition(": ")[2]
            why.append(f"part '{part}' cannot be simulated with fidelity {value} ({reason})")
    stated = [f"{part.name} {part.fidelity}" for part in timed(architecture)]
    stated += [f"{noc.name} {noc.fidelity}" for noc in (architecture.noc,) if noc is not None]
    others = ", ".join(other for other in MODES if other != mode)
    return (
        f"fidelity: found '{mode}'; chip '{architecture.name}': {'; '.join(why)}; "
        f"allowed {others}, or none, which is what the chip states: {', '.join(stated)}"
    )


def affordable(architecture: Architecture, program: Program) -> tuple[Architecture, tuple[str, ...]]:
    """The chip on which to simulate ``program``, and what was lowered, in words (nothing when nothing was)."""
    values: dict[str, object] = {}
    said = []
    exact = [part for part in timed(architecture) if part.fidelity == "exact"]
    requests = sum(_requests(part, program) for part in exact)
    if requests > EXACT_REQUESTS:
        values |= {f"{part.name}.fidelity": "fast" for part in exact}
        said.append(
            f"DRAM simulated with fidelity fast: some {requests / 1e6:.0f} M requests; --fidelity exact insists"
        )
    noc = architecture.noc
    if noc is not None and noc.fidelity == "flit":
        flits = ceil(traffic.flits(program, noc) * traffic.mean_routers(noc))
        if flits > EXACT_FLITS:
            values[f"{noc.name}.fidelity"] = "link"
            said.append(
                f"network simulated with fidelity link: some {flits / 1e6:.0f} M flits through routers; "
                "--fidelity exact insists"
            )
    return load.replace(architecture, values) if values else architecture, tuple(said)


def _requests(part: Memory, program: Program) -> int:
    from archsim.facts.dram import catalogue

    dram = catalogue.dram(part.standard, part.speed_mts, part.width_bits, part.channels, part.capacity_bytes)
    return traffic.moved_bytes(program, part.name) // dram.device.burst_bytes
