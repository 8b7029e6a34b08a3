"""Which models of DRAM and network a run uses: what was asked for, else the exact ones where they are affordable.

What they would cost is told before the Program runs, by the most that it can ask of a memory and of a network: all its
extents in full.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from math import ceil, prod

from archsim.base.errors import ConfigError
from archsim.facts.dram import catalogue
from archsim.ir.program import Command, Program, ProgramNode, Region
from archsim.spec import load
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory
from archsim.spec.network import Noc, core_of

MODES: Mapping[str, str] = {"exact": "flit", "fast": "link"}  # of DRAM, and what goes with it of a network
EXACT_REQUESTS = 120_000_000  # a minute at the 2 M requests a second that the exact model serves at least
EXACT_FLITS = 480_000_000  # a minute at the 8 M flits a second through routers that the compiled code moves at least


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
        count = ceil(flits(program, noc) * mean_routers(noc))
        if count > EXACT_FLITS:
            values[f"{noc.name}.fidelity"] = "link"
            said.append(
                f"network simulated with fidelity link: some {count / 1e6:.0f} M flits through routers; "
                "--fidelity exact insists"
            )
    return load.replace(architecture, values) if values else architecture, tuple(said)


def _requests(part: Memory, program: Program) -> int:
    dram = catalogue.dram(part.standard, part.speed_mts, part.width_bits, part.channels, part.capacity_bytes)
    return moved_bytes(program, part.name) // dram.device.burst_bytes


_MOVES = ("MOVE", "GATHER", "SCATTER")
_Cost = Callable[[Command], int]


def moved_bytes(program: Program, memory: str) -> int:
    """Bytes that the commands of ``program`` ask of a memory."""
    here = {store for store, place in _places(program).items() if place == memory}

    def cost(command: Command) -> int:
        return sum(_bytes(command, region) for region in _regions(command) if region.store in here)

    return _total(program, cost)


def flits(program: Program, noc: Noc) -> int:
    """Flits, headers too, that moves send from one side of a network to the other or from core to core.

    What goes to several cores counts for each.
    """
    cores = {store: core_of(place) for store, place in _places(program).items()}

    def cost(command: Command) -> int:
        if command.op not in _MOVES or not command.reads:
            return 0
        source = cores.get(command.reads[0].store)
        away = [region for region in command.writes if cores.get(region.store) != source]
        return sum(ceil(_bytes(command, region) / noc.packet_bytes) * noc.packet_flits for region in away)

    return _total(program, cost)


def mean_routers(noc: Noc) -> float:
    """Routers that a packet from the first core passes on its way to another one, in the mean of all, by the fewest."""
    from archsim.spec import topology as chip_topology  # its arrays are slow to import: only for chips with a network

    topology = chip_topology.topology(noc)
    ahead: dict[int, list[int]] = {}
    for link in topology.links:
        ahead.setdefault(link.source, []).append(link.target)
    first = topology.nodes[0].router
    passed = {first: 1}
    waiting = deque([first])
    while waiting:
        router = waiting.popleft()
        for target in ahead.get(router, []):
            if target not in passed:
                passed[target] = passed[router] + 1
                waiting.append(target)
    return sum(passed[node.sink] for node in topology.nodes[: noc.cores]) / noc.cores


def _places(program: Program) -> dict[str, str]:
    found = {store.name: store.memory for store in program.tensors}
    return found | {store.name: store.memory for store in program.rings}


def _regions(command: Command) -> tuple[Region, ...]:
    return (*command.reads, *command.writes)


def _total(program: Program, cost: _Cost) -> int:
    return sum(_of_nodes(queue.body, cost) for queue in program.queues)


def _of_nodes(nodes: Iterable[ProgramNode], cost: _Cost) -> int:
    total = 0
    for node in nodes:
        total += cost(node) if isinstance(node, Command) else node.trips * _of_nodes(node.body, cost)
    return total


def _bytes(command: Command, region: Region) -> int:
    sizes = {extent.dim: extent.size for extent in command.extents}
    return region.element_bytes * prod(sizes[dim] for dim, _ in region.strides)
