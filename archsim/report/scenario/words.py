"""A scenario in words: title, setting, headline figures, what it says."""

from __future__ import annotations

from archsim.ir.result import Summary
from archsim.report.kit.number_format import count, percent, si
from archsim.report.run.headline import bound_of

_DOT = " \N{MIDDLE DOT} "
_POLICY = {
    "edf": "earliest deadline first",
    "rate_monotonic": "highest rate first",
    "fifo": "first come, first served",
}
_PREEMPT = {"never": "a frame runs to its end", "layer": "a more urgent frame may start at the end of a layer"}


def title(summary: Summary) -> str:
    """``ar_glasses on ar_soc``."""
    return f"{summary['scenario']['name']} on {summary['architecture']['name']}"


def setting(summary: Summary) -> tuple[str, str]:
    """Streams and queue; then the chip as it runs here and the options."""
    streams = ", ".join(f"{name} {row['rate_hz']:g} Hz" for name, row in summary["streams"].items())
    scenario, chip = summary["scenario"], summary["architecture"]
    queue = f"{_POLICY[scenario['policy']]}; {_PREEMPT[scenario['preempt']]}"
    options = summary["provenance"]["options"]
    told = [f"{si(chip['clock_hz'], 'Hz')} at {chip['voltage_v']:g} V", f"objective {options['objective']}"]
    told += [f"{key}={value}" for key, value in options["set"].items()]
    point = [f"operating point {summary['point']}"] if summary["point"] else []
    return f"{streams}{_DOT}{queue}", _DOT.join([*point, *told])


def headline(summary: Summary) -> list[tuple[str, str, str]]:
    """Eight figures with a remark."""
    period = si(summary["hyperperiod_s"], "s")
    return [
        ("average power", si(summary["power_avg_w"], "W"), f"frames and rest{_bound(summary)}"),
        ("misses", count(summary["misses"]), f"of {count(summary['frames'])} frames in {period}"),
        ("longest response", si(summary["latency_s"], "s"), "release to result"),
        ("least slack", si(summary["slack_min_s"], "s"), "before a deadline"),
        ("load", percent(summary["load"]), "runs at their rates"),
        ("power at rest", si(summary["power_idle_w"], "W"), _rest(summary)),
        ("energy", si(summary["energy_j"], "J"), f"in {period}"),
        ("peak power", si(summary["power_peak_w"], "W"), "of any run"),
    ]


def _bound(summary: Summary) -> str:
    found = bound_of(summary, "power_avg_w")
    return f", {found}" if found else ""


def sentences(summary: Summary) -> list[str]:
    """Deadlines, who takes the power, which operating point is best and what the others cost."""
    energy = summary["energy_breakdown_j"]
    largest = max(energy, key=lambda name: energy[name])
    share = percent(energy[largest], summary["energy_j"])
    said = [_deadlines(summary), f"{si(summary['power_avg_w'], 'W')} on average; {_who(largest)} takes {share}."]
    part = max(summary["energy_parts_j"], key=lambda name: summary["energy_parts_j"][name])
    said.append(f"By part, most goes to {part}: {percent(summary['energy_parts_j'][part], summary['energy_j'])}.")
    return [*said, *_points(summary)]


def _rest(summary: Summary) -> str:
    sleep = summary["details"]["sleep"]
    if sleep is None:
        return f"{percent(summary['idle_share'])} of the time"
    return f"while it wakes; asleep {si(sleep['power_w'], 'W')}"


def _who(name: str) -> str:
    return {"idle": "the chip at rest", "sleep": "the sleeping chip", "wake": "waking up"}.get(name, name)


def _deadlines(summary: Summary) -> str:
    if not summary["misses"]:
        tight = min(summary["streams"], key=lambda name: summary["streams"][name]["slack_min_s"])
        return f"All deadlines are met; the tightest is {tight}'s, by {si(summary['slack_min_s'], 's')}."
    late = [f"{name} {row['misses']} of {row['frames']}" for name, row in summary["streams"].items() if row["misses"]]
    return f"{count(summary['misses'])} of {count(summary['frames'])} deadlines are missed: {', '.join(late)}."


def _points(summary: Summary) -> list[str]:
    rows = summary["points"]
    if not rows:
        return []
    meeting = [row for row in rows if row["misses"] == 0]
    if not meeting:
        return [f"No operating point meets all deadlines; {summary['point']} misses fewest."]
    others = [
        f"{row['point']} {row['power_avg_w'] / summary['power_avg_w']:.2f} times as much"
        for row in meeting
        if row["point"] != summary["point"]
    ]
    behind = f"; {', '.join(others)}" if others else ""
    return [f"Of the {len(meeting)} points that meet all deadlines {summary['point']} takes the least power{behind}."]
