"""A scenario on a chip, from its file to its result: each stream's model run alone, then the frames served.

Of several operating points the one of least average power that meets all deadlines is the result's; where none meets
them, the one that misses fewest.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archsim.base import registry
from archsim.base.errors import ConfigError
from archsim.base.plain import cell
from archsim.base.progress import each
from archsim.base.version import __version__
from archsim.energy.chip import tables_for
from archsim.lab.run.job import Job, Progress, load_chip, quiet
from archsim.lab.run.run import RunResult
from archsim.lab.scenario.find import LoadedScenario, load
from archsim.lab.scenario.form import OperatingPoint, Scenario
from archsim.lab.scenario.outcome import ScenarioOutcome, check_load, outcome
from archsim.lab.scenario.outcome import load as load_of
from archsim.lab.scenario.result import numbers, scalars_of, timeline
from archsim.lab.scenario.serve import FrameService, services
from archsim.lab.scenario.words import SCHEMA
from archsim.spec.architecture import Architecture

if TYPE_CHECKING:
    from pandas import DataFrame

NOT_MODELLED = (
    "what a frame leaves on chip for the next: each begins cold, and its weights come in again",
    "moving the chip from one clock and voltage to another while it runs",
    "the way of DRAM into self-refresh and back",
    "sensors, what is done before and behind the models, displays and radios",
)
_CUT = "what a frame that is stopped at the end of a layer loses: what it had brought ahead is taken as kept"


@dataclass(frozen=True)
class ScenarioRun:
    """The result of a scenario: ``summary`` (``archsim.scenario_result/1`` and ``details``) as plain JSON types, and
    ``runs``, the run of each stream's model at the operating point that the summary is of."""

    summary: dict[str, Any]
    runs: Mapping[str, RunResult] = field(repr=False)

    @property
    def streams(self) -> DataFrame:
        """A row for each stream."""
        from pandas import DataFrame

        return DataFrame.from_dict(self.summary["streams"], orient="index").rename_axis("stream")

    @property
    def points(self) -> DataFrame:
        """A row for each operating point; numbers of one that has more load than time are missing."""
        from pandas import DataFrame

        return DataFrame(self.summary["points"]).set_index("point") if self.summary["points"] else DataFrame()

    def save(self, directory: str | Path) -> list[Path]:
        """Write summary.json, streams.csv, report.html and report.md; returns the paths.

        Raises ConfigError when the directory cannot be written.
        """
        from archsim.report.run import run_files

        return run_files.write_scenario(Path(directory), self.summary, _csv(self.summary["streams"]))

    def _repr_html_(self) -> str:
        from archsim.report.scenario.page import card

        return card(self.summary)


@dataclass(frozen=True)
class TriedPoint:
    """An operating point (None: the chip as it is) with the frames on it; no ``outcome`` with a load above 1."""

    point: OperatingPoint | None
    services: tuple[FrameService, ...]
    outcome: ScenarioOutcome | None

    @property
    def rank(self) -> tuple[int, float]:
        """The least is the best."""
        assert self.outcome is not None
        return self.outcome.misses, self.outcome.power_avg_w


def execute(job: Job, say: Progress = quiet) -> ScenarioRun:
    """Run the scenario that the job's ``model`` names, a name or a path; of the job's other fields those of the chip,
    ``objective``, ``fidelity``, ``on_unsupported`` and ``seed`` hold for all streams. Raises ArchsimError's children.
    """
    assert isinstance(job.model, str | Path)
    return serve(load(job.model), job, say)


def serve(loaded: LoadedScenario, job: Job, say: Progress = quiet) -> ScenarioRun:
    """As ``execute`` for a scenario that was read."""
    scenario = loaded.scenario
    _check_points(scenario, job)
    points = scenario.points or (None,)
    named = each(points, "trying", "operating points", attrgetter("name")) if scenario.points else points
    tried = [_try(loaded, point, job, say) for point in named]
    served = [each for each in tried if each.outcome is not None]
    if not served:
        check_load(min(tried, key=lambda each: load_of(each.services)).services)
    best = min(served, key=lambda each: each.rank)
    runs = {service.stream.name: service.result for service in best.services}
    return ScenarioRun(_summary(loaded, job, tried, best), runs)


def _check_points(scenario: Scenario, job: Job) -> None:
    for point in scenario.points:
        for key in point.values:
            if key in job.values:
                raise ConfigError(
                    f"{key}: set for the chip, and by the operating point '{point.name}' of scenario "
                    f"'{scenario.name}'; allowed one of them"
                )


def _try(loaded: LoadedScenario, point: OperatingPoint | None, job: Job, say: Progress) -> TriedPoint:
    chip = _chip(job, point)
    on = replace(job, chip=chip, values={}, fidelity=None)
    told = f"{point.name}: " if point else ""
    found = services(loaded, on, lambda step: say(told + step))
    if load_of(found) > 1:
        return TriedPoint(point, found, None)
    return TriedPoint(point, found, outcome(loaded.scenario, found, idle_nw(chip)))


def _chip(job: Job, point: OperatingPoint | None) -> Architecture:
    """The chip at an operating point; what it refuses there is said with the place in the scenario's file."""
    chip = load_chip(job)
    if point is None:
        return chip
    there = replace(job, values={**job.values, **point.values})
    try:
        return load_chip(there)
    except ConfigError:
        load_chip(there, f"{next(iter(point.marks.values()), job.model)}: points.{point.name}.set")
        raise


def idle_nw(chip: Architecture) -> dict[str, int]:
    """Power of each part at rest, in nW."""
    return {name: table.idle_nw for name, table in tables_for(chip).parts.items()}


def _summary(loaded: LoadedScenario, job: Job, tried: Sequence[TriedPoint], best: TriedPoint) -> dict[str, Any]:
    scenario, found = loaded.scenario, best.outcome
    assert found is not None
    return {
        "schema": SCHEMA,
        "scenario": {"name": scenario.name, "policy": scenario.policy, "preempt": scenario.preempt},
        "point": best.point.name if best.point else None,
        **numbers(found),
        "points": [_row(each) for each in tried if each.point is not None],
        "provenance": _provenance(loaded, job, best),
        "details": {
            "description": scenario.description,
            "timeline": timeline(found.window, scenario),
            "sources": _sources(scenario, best),
            "not_modelled": [*NOT_MODELLED, *([_CUT] if scenario.preempt == "layer" else [])],
            "sleep": _sleep(scenario),
        },
    }


def _row(tried: TriedPoint) -> dict[str, Any]:
    assert tried.point is not None
    shown = {"point": tried.point.name, "set": {key: str(value) for key, value in tried.point.values.items()}}
    if tried.outcome is None:
        blank = dict.fromkeys(("misses", "latency_s", "slack_min_s", "power_avg_w", "power_peak_w"))
        return {**shown, "load": float(load_of(tried.services)), **blank}
    return {**shown, **scalars_of(numbers(tried.outcome))}


def _provenance(loaded: LoadedScenario, job: Job, best: TriedPoint) -> dict[str, Any]:
    told = [
        f"{service.stream.name}: {text}"
        for service in best.services
        for text in service.result.result.provenance["warnings"]
    ]
    chip = best.services[0].result.built.architecture
    outside = registry.extensions_sha256()
    return {
        "archsim_version": __version__,
        "scenario_sha256": loaded.sha256,
        "chip_sha256": chip.sha256,
        **({"extensions_sha256": outside} if outside else {}),
        "options": {
            "objective": job.objective,
            "set": {key: str(value) for key, value in sorted(job.values.items())},
            "on_unsupported": job.on_unsupported,
            "fidelity": job.fidelity,
        },
        "seed": job.seed,
        "fidelity": best.services[0].result.result.provenance["fidelity"],
        "warnings": list(dict.fromkeys(told)),
    }


def _sources(scenario: Scenario, best: TriedPoint) -> dict[str, str]:
    """Key path to source: the scenario's own figures, then those of the chip's power at rest."""
    chip = best.services[0].result.built.architecture
    found = {"scenario": scenario.source}
    found |= {f"points.{point.name}": point.source for point in scenario.points}
    if scenario.sleep:
        found["sleep"] = scenario.sleep.source
    for name, table in tables_for(chip).parts.items():
        key = "idle" if "idle" in table.sources else "leakage"
        found[f"{name}.{key}"] = table.sources[key]
    return found


def _sleep(scenario: Scenario) -> dict[str, float] | None:
    if scenario.sleep is None:
        return None
    return {"power_w": float(scenario.sleep.power_w), "wake_s": scenario.sleep.wake_ps / 1e12}


def _csv(streams: Mapping[str, Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["stream", *next(iter(streams.values()))])
    writer.writerows([cell(value) for value in (name, *row.values())] for name, row in streams.items())
    return text.getvalue()
