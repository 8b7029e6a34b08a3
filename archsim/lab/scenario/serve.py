"""What one frame of each stream takes on a chip: a run of its model alone, once for streams that share one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from archsim.base.errors import ConfigError, SimulationError
from archsim.base.progress import each
from archsim.energy.chip_tables import ZJ_PER_J
from archsim.ir.workload import Workload
from archsim.lab.run.job import Job, Progress
from archsim.lab.run.run import RunResult, execute
from archsim.lab.scenario.find import LoadedScenario
from archsim.lab.scenario.form import FrameStream

_PS = 10**12


@dataclass(frozen=True)
class FrameService:
    """A frame: its time, the instants of it at which a layer ends, its energy by part in zJ, its peak power."""

    stream: FrameStream
    run_ps: int
    layer_ends_ps: tuple[int, ...]
    parts_zj: Mapping[str, int]
    peak_w: float
    result: RunResult

    @property
    def energy_zj(self) -> int:
        """Of all parts."""
        return sum(self.parts_zj.values())


def services(loaded: LoadedScenario, job: Job, say: Progress) -> tuple[FrameService, ...]:
    """A frame of each stream on the job's chip; raises ArchsimError's children as a run does."""
    runs: list[tuple[Workload, str | None, RunResult]] = []
    found = []
    for stream in each(loaded.scenario.streams, "running", "streams", attrgetter("name")):
        workload = loaded.workloads[stream.name]
        run = next((run for other, dtype, run in runs if dtype == stream.dtype and other == workload), None)
        if run is None:
            run = _run(workload, stream, job, say)
            runs.append((workload, stream.dtype, run))
        found.append(service(stream, run))
    return tuple(found)


def service(stream: FrameStream, run: RunResult) -> FrameService:
    """A frame as a run of its model says."""
    activity = run.result.activity
    if activity is None:
        raise SimulationError(f"stream {stream.name}: its run has no record")
    total, hz = activity.total_ps, activity.clock_hz
    ends = {min(layer.cycles_end * _PS // hz, total) for layer in run.result.single_layers if layer.cycles_end}
    parts = {name: round(joules * ZJ_PER_J) for name, joules in run.result.energy_breakdown_j.items()}
    return FrameService(stream, total, tuple(sorted(ends | {total})), parts, run.result.power_peak_w, run)


def _run(workload: Workload, stream: FrameStream, job: Job, say: Progress) -> RunResult:
    say(f"{stream.name}: {workload.name}")
    try:
        return execute(replace(job, model=workload, dtype=stream.dtype), say)
    except ConfigError as error:
        raise ConfigError(f"stream {stream.name}: {error}") from None


def facts(service: FrameService) -> dict[str, Any]:
    """Of a stream and its run, as plain data."""
    stream, summary = service.stream, service.result.result
    return {
        "model": str(summary.workload["name"]),
        "rate_hz": float(stream.rate_hz),
        "period_s": float(stream.period_ps) / _PS,
        "deadline_s": float(stream.deadline_ps) / _PS,
        "offset_s": stream.offset_ps / _PS,
        "run_s": service.run_ps / _PS,
        "run_cycles": summary.cycles_total,
        "run_power_w": summary.power_avg_w,
    }
