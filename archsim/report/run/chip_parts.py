"""Parts of the chip in area and power: one colour each on every chart, what has no area model, power in a sentence."""

from __future__ import annotations

from archsim.ir.result import Summary
from archsim.report.charts.power import colours, largest_first, peak
from archsim.report.kit.number_format import percent, si
from archsim.report.run.headline import bound_of
from archsim.spec.part import INTERFACE


def part_colours(summary: Summary) -> dict[str, str]:
    """Part -> colour: those that spend energy first, the largest first, then others with an area."""
    windows = summary["details"].get("power", {})
    names = largest_first(windows) if windows else []
    names += [name for part in summary["details"].get("area_breakdown_mm2", {}) if (name := bare(part)) not in names]
    return colours(names)


def area_colours(summary: Summary) -> dict[str, str]:
    """The same by the names of the area breakdown."""
    known = part_colours(summary)
    return {part: known[bare(part)] for part in summary["details"].get("area_breakdown_mm2", {})}


def bare(part: str) -> str:
    """A DRAM's interface by the name of the DRAM."""
    return part.removesuffix(INTERFACE)


def without_model(summary: Summary) -> list[str]:
    """Parts of the area breakdown that no area is known of."""
    return [part for part, mm2 in summary["details"].get("area_breakdown_mm2", {}).items() if not mm2]


def power_sentence(summary: Summary) -> str:
    """Average and energy of the plot, its highest window and what spends most in it; '' without windows."""
    windows = summary["details"].get("power", {})
    if not windows:
        return ""
    count = len(next(iter(windows.values())))
    width_s = summary["latency_s"] / count
    index, energy_j = peak(windows)
    part = max(windows, key=lambda name: (windows[name][index], name))
    average, whole = si(summary["power_avg_w"], "W"), si(summary["energy_j"], "J")
    high, share = si(energy_j / width_s, "W", 3), percent(windows[part][index], energy_j)
    width, begin = si(width_s, "s", 3), si(index * width_s, "s", 3)
    shortest, most = si(summary["power_window_s"], "s", 3), si(summary["power_peak_w"], "W", 3)
    bound = bound_of(summary, "power_avg_w")
    average += f" ({bound})" if bound else ""
    return (
        f"{average} on average; the area of the plot is the energy of the run, {whole}. Of {count} windows of {width} "
        f"the highest, at {begin}, takes {high}, {share} of it in {part}; over {shortest} the peak is {most}."
    )
