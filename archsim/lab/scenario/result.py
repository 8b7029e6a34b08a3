"""The result of a scenario: the numbers of its best operating point, as the public summary states them.

Powers in W, energies in J of one hyperperiod, times in s. ``energy_breakdown_j`` (by stream, ``idle``, ``wake``,
``sleep``) and ``energy_parts_j`` (by part) each sum to ``energy_j`` exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Any

from archsim.base.units import PS_PER_S
from archsim.energy.chip_tables import NW_PER_W
from archsim.energy.exact_sums import joules, total_joules
from archsim.lab.scenario.form import Scenario
from archsim.lab.scenario.outcome import ScenarioOutcome
from archsim.lab.scenario.serve import facts
from archsim.lab.scenario.timeline import SteadyWindow

MOST_SLICES = 2000  # of the timeline that pages draw


def numbers(found: ScenarioOutcome) -> dict[str, Any]:
    """Everything of an outcome that is a number, in the documented order."""
    window, energy, parts = found.window, found.energy_zj, found.parts_zj
    total = sum(energy.values())
    result = found.services[0].result.result
    architecture = found.services[0].result.built.architecture
    return {
        "architecture": {**result.architecture, "voltage_v": architecture.voltage_v},
        "hyperperiod_s": window.length_ps / PS_PER_S,
        "frames": len(window.done),
        "misses": found.misses,
        "latency_s": max(each.response_ps for each in window.done) / PS_PER_S,
        "slack_min_s": min(each.slack_ps for each in window.done) / PS_PER_S,
        "load": float(found.load),
        "busy_share": window.busy_ps / window.length_ps,
        "idle_share": (window.length_ps - window.busy_ps) / window.length_ps,
        "power_avg_w": found.power_avg_w,
        "power_peak_w": found.power_peak_w,
        "power_idle_w": found.idle_total_nw / NW_PER_W,
        "energy_j": total_joules(total),
        "area_mm2": fsum(result.area_breakdown_mm2.values()),
        "bounds": dict(result.bounds),
        "energy_breakdown_j": joules(total, energy),
        "energy_parts_j": joules(total, parts),
        "idle_breakdown_w": {name: power / NW_PER_W for name, power in found.idle_nw.items()},
        "streams": {service.stream.name: _stream(found, place) for place, service in enumerate(found.services)},
    }


def _stream(found: ScenarioOutcome, place: int) -> dict[str, Any]:
    service, done = found.services[place], found.done(place)
    responses, slacks = [each.response_ps for each in done], [each.slack_ps for each in done]
    return {
        **facts(service),
        "frames": len(done),
        "misses": sum(slack < 0 for slack in slacks),
        "response_worst_s": max(responses) / PS_PER_S,
        "response_mean_s": sum(responses) / len(responses) / PS_PER_S,
        "slack_min_s": min(slacks) / PS_PER_S,
        "slack_mean_s": sum(slacks) / len(slacks) / PS_PER_S,
        "utilization": float(service.run_ps / service.stream.period_ps),
        "energy_frame_j": total_joules(service.energy_zj),
        "power_w": float(service.energy_zj / service.stream.period_ps) * PS_PER_S / 1e21,
    }


def timeline(window: SteadyWindow, scenario: Scenario) -> dict[str, Any]:
    """The hyperperiod as pages draw it: ``slices`` [stream or None while it wakes, frame, start_s, end_s, missed],
    ``releases`` [stream, release_s, deadline_s] of the frames in them, ``until_s`` where they end."""
    shown = window.slices[:MOST_SLICES]
    until = window.length_ps if len(shown) == len(window.slices) else shown[-1].end_ps - window.start_ps
    late = {each.frame for each in window.done if each.slack_ps < 0}
    frames = sorted({each.frame for each in shown if each.frame is not None})
    names = [stream.name for stream in scenario.streams]

    def seconds(instant_ps: int) -> float:
        return (instant_ps - window.start_ps) / PS_PER_S

    return {
        "until_s": until / PS_PER_S,
        "slices": [
            [
                names[each.frame.stream] if each.frame else None,
                each.frame.number if each.frame else None,
                seconds(each.start_ps),
                seconds(each.end_ps),
                each.frame in late,
            ]
            for each in shown
        ],
        "releases": [[names[f.stream], seconds(f.release_ps), seconds(f.deadline_ps)] for f in frames],
    }


def scalars_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers that a table of operating points shows."""
    names = ("load", "misses", "latency_s", "slack_min_s", "power_avg_w", "power_peak_w", "power_idle_w", "energy_j")
    return {name: found[name] for name in names}
