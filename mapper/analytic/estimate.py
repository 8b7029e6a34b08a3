"""The analytic model alone, of a whole model on a chip: expected cycles and action counts of its layers, no Program.

Layers follow one another: neither what the next one brings ahead nor what it waits for is seen. Counts of memories on
chip and of units are exact (those of the Program). DRAM: bursts as if every tile began with one; a move opens a row in
every channel that it reaches, again after as many bytes as those rows have together. Network: every move passes half of
each side of it, a tree to several cores one more link for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from archsim.base.errors import MappingError
from archsim.ir.activity import CountKey
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from archsim.spec.network import Noc
from mapper.allocate.placement import PlaceError
from mapper.analytic.cache_counts import cached_counts
from mapper.analytic.expected_actions import border_counts, padding_counts
from mapper.analytic.shared_counts import CountedLayer, LayerCounter, moves
from mapper.cost.chip_rates import Outer
from mapper.groups.ties import GroupError
from mapper.layers import Layers
from mapper.lower.frame import Frame
from mapper.lower.model import Lowering, Mapped
from mapper.lower.window_padding import WindowPadding
from mapper.options import Options, check_objective, resolve_dtypes
from mapper.policies import catalogue as policies
from mapper.problem.formats import formatted
from mapper.problem.operands import OUT, OperandPlan


@dataclass(frozen=True)
class Estimate:
    """``cycles`` of each layer but those on the host; ``counts`` as in Activity, DRAM's commands and a network's flits
    estimated; ``dtypes`` by role; ``pairs``: those of inputs and weights that the array computes layers in;
    ``kernels``: the layers of each, by number, where the host launches kernels."""

    cycles: Mapping[str, int]
    counts: Mapping[CountKey, int]
    dtypes: Mapping[str, str]
    pairs: Mapping[str, tuple[str, str]]
    kernels: tuple[range, ...] = ()


def estimate(workload: Workload, architecture: Architecture, options: Options) -> Estimate:
    """Map every layer and add up what the cost model expects; raises as ``compile_model`` does."""
    check_objective(options.objective)
    dtypes = resolve_dtypes(architecture, options.dtypes or {})
    workload = formatted(workload, architecture, options.dtypes or {})
    try:
        mapped = Layers(workload, architecture, dtypes, options).map()
        lowering = Lowering(workload, architecture, dtypes, options, mapped.groups)
        tensors = lowering.place(mapped.residency)
        frames = list(lowering.frames(mapped, tensors))
        counts = _counts(frames, architecture, dtypes, options)
        counts.update(_borders(workload, architecture, mapped))
        counts.update(_padding(workload, architecture, mapped))
        if any(plan.cached for frame in frames for plan in frame.problem.operands):
            counts.update(cached_counts(lowering.lower(mapped).program, architecture))
    except GroupError as error:
        raise MappingError(f"{options.given.place(f'group {error.name}')}{error}") from None
    except PlaceError as error:
        raise MappingError(f"{options.given.place(f'placement {error.tensor}')}{error}") from None
    cycles = {m.layer: m.expected_cycles for m in mapped.mappings if m.kind != "host"}
    used = {frame.name: frame.problem.pair for frame in frames if frame.problem.engine == "array"}
    pairs = {name: (pair["inputs"], pair["weights"]) for name, pair in used.items()}
    kernels = _kernels(workload, options, mapped)
    return Estimate(cycles, {key: count for key, count in counts.items() if count}, dtypes, pairs, kernels)


def _kernels(workload: Workload, options: Options, mapped: Mapped) -> tuple[range, ...]:
    """A kernel is a group, or a layer that is in none; a policy may have the model launched as one."""
    if policies.is_one_kernel(options.policy):
        return (range(len(workload.layers)),)
    ends = {plan.first: plan.last + 1 for plan in mapped.groups}
    found: list[range] = []
    while not found or found[-1].stop < len(workload.layers):
        begin = found[-1].stop if found else 0
        found.append(range(begin, ends.get(begin, begin + 1)))
    return tuple(found)


def _counts(
    frames: list[Frame], architecture: Architecture, dtypes: Mapping[str, str], options: Options
) -> Counter[CountKey]:
    total: Counter[CountKey] = Counter()
    drams = [memory.name for memory in architecture.memories if memory.kind == "dram"]
    outers = {name: options.outer.get(name, Outer(inf)) for name in drams}
    counter = LayerCounter(architecture, dtypes, {name: outer.burst_bytes for name, outer in outers.items()})
    for frame in frames:
        counted = counter.of(frame)
        found = Counter(counted.counts)
        for name, outer in outers.items():
            for way in ("read", "write"):
                found[name, f"pin_{way}_bytes"] = found.pop((name, f"{way}_accesses"), 0) * outer.burst_bytes
            found[name, "activates"] = _rows(
                frame, counted, name, outer, found[name, "read_bytes"] + found[name, "write_bytes"]
            )
        found.update(_flits(frame, counted, architecture.noc))
        for (part, action), count in found.items():
            total[frame.name, part, action] += count
    return total


def _rows(frame: Frame, counted: CountedLayer, memory: str, outer: Outer, size_bytes: int) -> int:
    """Rows that a layer opens in a DRAM: by its moves, of a copy by its bytes."""
    if frame.problem.engine == "copy":
        return outer.rows(size_bytes) if size_bytes else 0
    plans = (plan for plan in frame.problem.operands if plan.home == memory and moves(plan) and not plan.cached)
    return sum(outer.rows(size) * times for plan in plans for size, times in counted.moves[plan.name])


def _borders(workload: Workload, architecture: Architecture, mapped: Mapped) -> Counter[CountKey]:
    """Writes that fill the borders of tensors pinned on chip."""
    total: Counter[CountKey] = Counter()
    for pinned in mapped.residency.tensors.values():
        layer = workload.layers[pinned.life.first].name
        for (part, action), count in border_counts(pinned, workload.tensors[pinned.tensor].shape, architecture).items():
            total[layer, part, action] += count
    return total


def _padding(workload: Workload, architecture: Architecture, mapped: Mapped) -> Counter[CountKey]:
    """Writes that fill windows of groups where readers see padding."""
    total: Counter[CountKey] = Counter()
    problems = {layer.name: problem for layer, problem in zip(workload.layers, mapped.problems, strict=True)}
    for plan in mapped.groups:
        for window in plan.windows:
            problem, ties = problems[window.maker], plan.ties[window.maker]
            assert problem is not None
            padding = WindowPadding(window, window.maker, [tie.dim for tie in ties], "")
            trips = [-(-problem.layer.dims[tie.dim] // tie.tile) for tie in ties]
            for (part, action), count in padding_counts(padding, trips, problem.vector, architecture).items():
                total[window.maker, part, action] += count
    return total


def _flits(frame: Frame, counted: CountedLayer, noc: Noc | None) -> Counter[tuple[str, str]]:
    """Flits through routers and over links of what goes over the network."""
    found: Counter[tuple[str, str]] = Counter()
    if noc is None:
        return found
    for plan in frame.problem.operands:
        if moves(plan) and frame.problem.crosses(plan):
            for size_bytes, times in counted.moves[plan.name]:
                _pass(found, noc, times * _packed(noc, size_bytes), _targets(frame, plan, noc))
    return found


def _packed(noc: Noc, size_bytes: int) -> int:
    """Flits of a move: its payload, and a header for each packet."""
    return -(-size_bytes // noc.link_bytes) + -(-size_bytes // noc.packet_bytes) * noc.header_flits


def _targets(frame: Frame, plan: OperandPlan, noc: Noc) -> tuple[int, int]:
    """(messages that a move is, cores that one of them reaches)."""
    problem = frame.problem
    cores = max(1, problem.having(plan) // problem.copies(plan)) if plan.operand != OUT else 1
    return (1, cores) if noc.multicast else (cores, 1)


def _pass(found: Counter[tuple[str, str]], noc: Noc, flits: int, targets: tuple[int, int]) -> None:
    messages, reached = targets
    for number, level in enumerate(noc.levels):
        hops = sum(level.shape) // 2 + (reached - 1 if number == 0 else 0) if level.links else 0
        found[level.name, "link_flits"] += flits * messages * hops
        found[level.name, "router_flits"] += flits * messages * (hops + 1)
