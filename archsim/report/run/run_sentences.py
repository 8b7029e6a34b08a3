"""The run in a few sentences: what an architect would read out of the tables first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.ir.figure_table import FIGURES
from archsim.ir.result import single_layers
from archsim.ir.result_parts import IN_TURN, LAYERS
from archsim.report.kit.causes import bound_label, cause, waiting
from archsim.report.kit.number_format import count, counted, percent, si
from archsim.report.run.headline import busiest_memory
from archsim.report.run.noc_rows import array_count


def sentences(summary: Mapping[str, Any]) -> list[str]:
    """A few sentences: use of the array, the largest loss, the slow layers, DRAM, how far all is from what no schedule
    undercuts, and energy; one a cache, one where layers ran together, one where the mappings are not those of the
    objective that was asked for, and one for what the platform's schedule takes; and how far off predictions of the
    like were on a chip that was measured."""
    found = [_use(summary), _largest_wait(summary), _slow_layers(summary), _dram(summary), _gap(summary)]
    found += [_cache(name, cache) for name, cache in summary["details"].get("caches", {}).items()]
    found += [_energy(summary), _groups(summary), _net(summary), _platform(summary), _band(summary)]
    return [sentence for sentence in found if sentence]


def operand_stalls(summary: Mapping[str, Any]) -> dict[str, int]:
    """'cause.operand' -> cycles, summed over layers, largest first."""
    totals: dict[str, int] = {}
    for layer in single_layers(summary):
        for key, cycles in layer["stalls"].items():
            totals[key] = totals.get(key, 0) + cycles
    return dict(sorted(totals.items(), key=lambda item: (-item[1], item[0])))


def slow_layers(summary: Mapping[str, Any], most: int) -> list[Mapping[str, Any]]:
    """Layers by critical cycles, longest first; without rows that took no time."""
    rows = [layer for layer in single_layers(summary) if layer["cycles_critical"] > 0]
    return sorted(rows, key=lambda layer: (-layer["cycles_critical"], layer["name"]))[:most]


def _use(summary: Mapping[str, Any]) -> str:
    breakdown = summary["mac_breakdown"]
    slots = sum(breakdown.values())
    losses = sorted(((size, key) for key, size in breakdown.items() if key != "useful" and size), reverse=True)
    use = f"{percent(breakdown.get('useful', 0), slots)} of the MAC slots did useful work"
    used = summary.get("utilization_dtype", summary["utilization"])
    if used != summary["utilization"]:
        use = f"{percent(used)} of the MACs that the formats used allow were done; {use}"
    if not losses:
        return f"{use}; nothing was lost."
    size, key = losses[0]
    loss = cause(key).label.replace("waits for", "waiting for")
    return f"{use}; the largest loss is {loss} ({percent(size, slots)})."


def _largest_wait(summary: Mapping[str, Any]) -> str:
    stalls = operand_stalls(summary)
    if not stalls:
        return ""
    key, cycles = next(iter(stalls.items()))
    arrays = array_count(summary)
    over = f"over all layers and {arrays} arrays" if arrays > 1 else "over all layers"
    return f"The arrays wait longest for {waiting(key)}: {count(cycles)} cycles {over}."


def _slow_layers(summary: Mapping[str, Any]) -> str:
    total = summary["cycles_total"]
    rows = [layer for layer in slow_layers(summary, len(single_layers(summary))) if not layer["name"].startswith("_")]
    if not rows or not total:
        return ""
    needed, reached = 0, 0
    while needed < len(rows) and 2 * reached < total:
        reached += rows[needed]["cycles_critical"]
        needed += 1
    first = rows[0]
    share = percent(first["cycles_critical"], total)
    whole = summary["workload"]["layers"] or len(rows)  # the count of the headline; views take no time
    half = (
        f"{needed} of {counted(whole, 'layer')} make half of the time"
        if needed > 1
        else "One layer makes half of the time"
    )
    bound = bound_label(first["bound_by"])
    return f"{half}; the slowest is {first['name']} ({first['op']}), {share}, bound by {bound}."


def _dram(summary: Mapping[str, Any]) -> str:
    dram = summary["dram"]
    moved = FIGURES["dram_bytes"].of(summary)
    if not moved:
        return ""
    busiest = busiest_memory(dram)
    whose = f"{busiest}'s peak bandwidth, the busiest" if busiest else "its peak bandwidth"
    use = f", {percent(dram['bandwidth_utilization'])} of {whose}" if dram["peak_bytes_per_s"] else ""
    hits = dram["row_hit_rate"]
    rows = f"; {percent(hits)} of the accesses hit an open row" if hits is not None else ""
    return f"DRAM moved {si(moved, 'B')}{use}{rows}."


def _gap(summary: Mapping[str, Any]) -> str:
    """How far the run is from what no schedule undercuts."""
    least, compulsory = summary.get("network_bound_cycles"), summary.get("compulsory_bytes")
    if not least:
        return ""
    moved = FIGURES["dram_bytes"].of(summary)
    bytes_ = f", and it moves {moved / compulsory:.2f} times the bytes that it has to" if moved and compulsory else ""
    return f"No schedule takes less than {count(least)} cycles: the run takes {percent(summary['gap'])} more{bytes_}."


def _cache(name: str, cache: Mapping[str, int]) -> str:
    asked = cache["hits"] + cache["misses"]
    if not asked:
        return ""
    return f"Cache {name} held {percent(cache['hits'], asked)} of the {count(asked)} lines that gathers asked for."


def _energy(summary: Mapping[str, Any]) -> str:
    parts, whole = summary["energy_breakdown_j"], summary["energy_j"]
    if not parts or not whole:
        return ""
    most, name = max((joules, name) for name, joules in parts.items())
    peak = ""
    if summary["power_peak_w"] is not None and summary["power_window_s"]:
        peak = f"; power peaks at {si(summary['power_peak_w'], 'W', 3)} over {si(summary['power_window_s'], 's', 3)}"
    return f"The largest consumer is {name} with {percent(most, whole)} of {si(whole, 'J')}{peak}."


def _groups(summary: Mapping[str, Any]) -> str:
    """How many layers ran together, where any did."""
    groups = summary["details"].get("groups", ())
    if not groups:
        return ""
    layers, windows = (sum(len(group[key]) for group in groups) for key in ("layers", "windows"))
    return (
        f"{counted(layers, 'layer')} ran together, in {counted(len(groups), 'group')} with passes of their own; "
        f"{counted(windows, 'result')} between them stayed on chip."
    )


def _net(summary: Mapping[str, Any]) -> str:
    """Whose mappings were kept, where simulation showed that another objective's are better."""
    found, asked = summary["details"].get("net"), summary["provenance"]["options"].get("objective")
    if not found or found["kept"] == asked:
        return ""
    kept, own = (found["tried"][name] for name in (found["kept"], asked))
    apart = {IN_TURN: "each layer by itself, in turn", LAYERS: "layers one by one"}
    whose = apart.get(found["kept"], f"the mappings for {found['kept']}")
    return (
        f"Shown are {whose}, which the simulator found better than those for {asked}: {count(kept['cycles'])} cycles "
        f"and {si(kept['energy_j'], 'J')} in place of {count(own['cycles'])} and {si(own['energy_j'], 'J')}."
    )


def _platform(summary: Mapping[str, Any]) -> str:
    """What the platform's schedule takes, where it was simulated beside the best one."""
    found = summary.get("schedule") or {}
    if "cycles_platform" not in found:
        return ""
    platform, best = found["cycles_platform"], found["cycles_best"]
    if platform <= best:
        return f"No schedule was found that is better than the platform's own, of {count(platform)} cycles."
    return (
        f"The schedule of the platform's own policy takes {count(platform)} cycles, {percent(platform - best, best)} "
        f"more than the best one that was found, {count(best)}."
    )


def _band(summary: Mapping[str, Any]) -> str:
    """How far off predictions were of measured operators that are like the layers of the run."""
    found = (summary.get("bands") or {}).get("interval_s")
    if not found:
        return ""
    if not found["cases"]:
        return f"How far off silicon is cannot be told: {found['reason']}."
    between = f"between {_off(found['low_pct'])} and {_off(found['high_pct'])}"
    fitted = ", to which numbers of the chip were fitted" if found["fitted"] else ""
    sets = f"{' and '.join(found['sets'])}{fitted}"
    part = f", which take {percent(found['share'])} of the time," if found["share"] < 0.995 else ""
    whose = f"{counted(found['cases'], 'measured operator')} like its layers ({sets}){part}"
    times = f"{si(found['low'], 's', 3)} to {si(found['high'], 's', 3)}"
    return f"Predictions for {whose} were {between}; with these errors silicon takes {times} a run."


def _off(pct: float) -> str:
    """A relative error in percent, in words."""
    return f"{abs(pct):.1f} % too {'long' if pct >= 0 else 'short'}"
