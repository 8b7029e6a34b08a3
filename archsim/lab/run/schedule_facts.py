"""The schedule that a run's Program was made by, for its result: whose policy, and how many kernels and groups."""

from __future__ import annotations

from dataclasses import replace

from archsim.ir.mapping import ModelMapping
from archsim.ir.result import Result
from archsim.ir.result_parts import BEST, LAYERS, PLATFORM, STATED, Net, ScheduleFacts
from archsim.lab.run.job import BuiltJob, Job
from archsim.spec.architecture import Architecture
from mapper.policies import catalogue


def schedule_facts(job: Job, built: BuiltJob) -> ScheduleFacts | None:
    """Of what the compiler made; None of a Program given as text, which has no schedule to tell."""
    mapping = built.mapping
    if mapping is None:
        return None
    grouped = sum(len(group.members) for group in mapping.groups)
    alone = sum(layer.kind != "host" for layer in mapping.layers) - grouped
    groups = alone + len(mapping.groups)
    return {
        "policy": mapping.schedule or _free(job),
        "kernels": _kernels(built.architecture, mapping, groups),
        "groups": groups,
        "fused_groups": len(mapping.groups),
    }


def netted(result: Result, net: Net) -> Result:
    """A result with what the net found; the cycles of both schedules where it has simulated the platform's as well."""
    tried = net["tried"]
    if PLATFORM in tried:
        result = side_by_side(result, tried[net["kept"]]["cycles"], tried[PLATFORM]["cycles"])
    return replace(result, net=net)


def side_by_side(result: Result, best: int, platform: int) -> Result:
    """A result with the cycles of the best schedule and of the platform's; as it is where something else than latency
    was searched for, since the best is then not the one of fewest cycles."""
    if result.schedule is None or result.provenance["options"]["objective"] != "latency":
        return result
    return replace(result, schedule={**result.schedule, "cycles_best": best, "cycles_platform": platform})


def _free(job: Job) -> str:
    """What a schedule without a policy is made by."""
    if job.mapping is not None:
        return STATED
    return LAYERS if job.schedule == LAYERS else BEST


def _kernels(architecture: Architecture, mapping: ModelMapping, groups: int) -> int:
    """What the host launches in a run: nothing where there is none, a whole Program, or kernel by kernel."""
    if architecture.host is None:
        return 0
    if architecture.host.per != "kernel" or catalogue.is_one_kernel(mapping.schedule):
        return 1
    return groups
