"""The tables of a scenario as cells of text: streams, operating points, power at rest."""

from __future__ import annotations

from archsim.ir.result import Summary
from archsim.report.kit.number_format import NONE, count, percent, si

TextRow = tuple[str, ...]
TextTable = tuple[TextRow, list[TextRow]]  # headings, rows


def streams(summary: Summary) -> TextTable:
    """A row per stream, and one for the chip at rest."""
    heads = (
        "stream", "model", "rate", "deadline", "run", "worst response", "mean", "least slack", "misses", "load",
        "energy a frame", "power",
    )  # fmt: skip
    rows: list[TextRow] = [
        (
            name,
            row["model"],
            si(row["rate_hz"], "Hz"),
            si(row["deadline_s"], "s"),
            si(row["run_s"], "s"),
            si(row["response_worst_s"], "s"),
            si(row["response_mean_s"], "s"),
            si(row["slack_min_s"], "s"),
            f"{count(row['misses'])} of {count(row['frames'])}",
            percent(row["utilization"]),
            si(row["energy_frame_j"], "J"),
            si(row["power_w"], "W"),
        )
        for name, row in summary["streams"].items()
    ]
    return heads, rows


def points(summary: Summary) -> TextTable:
    """A row per operating point, the one taken marked."""
    heads = ("point", "set", "load", "misses", "worst", "at rest", "peak", "average")
    rows: list[TextRow] = [
        (
            f"{row['point']} \N{LEFTWARDS ARROW}" if row["point"] == summary["point"] else row["point"],
            ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in row["set"].items()),
            percent(row["load"]),
            NONE if row["misses"] is None else count(row["misses"]),
            si(row["latency_s"], "s"),
            si(row.get("power_idle_w"), "W"),
            si(row["power_peak_w"], "W"),
            "more load than time" if row["power_avg_w"] is None else si(row["power_avg_w"], "W"),
        )
        for row in summary["points"]
    ]
    return heads, rows


def rest(summary: Summary) -> TextTable:
    """What each part draws at rest, and where that figure comes from."""
    sources = summary["details"]["sources"]
    rows: list[TextRow] = []
    for name, watts in summary["idle_breakdown_w"].items():
        kind = "idle" if f"{name}.idle" in sources else "leakage"
        rows.append((name, si(watts, "W"), "stated" if kind == "idle" else "leakage", sources[f"{name}.{kind}"]))
    sleep = summary["details"]["sleep"]
    if sleep is not None:
        wake = f"asleep, {si(sleep['wake_s'], 's')} to wake"
        rows.append(("chip", si(sleep["power_w"], "W"), wake, sources["sleep"]))
    return ("part", "power", "which", "source"), rows


def assumed(summary: Summary) -> str:
    """In one sentence what the power at rest is made of."""
    sleep = summary["details"]["sleep"]
    if sleep is not None:
        power, wake = si(sleep["power_w"], "W"), si(sleep["wake_s"], "s")
        return f"While no frame waits the chip sleeps at {power} and takes {wake} to wake."
    sources, watts = summary["details"]["sources"], summary["idle_breakdown_w"]
    stated = [f"{name} {si(drawn, 'W')} as stated" for name, drawn in watts.items() if f"{name}.idle" in sources]
    free = [name for name, drawn in watts.items() if not drawn and f"{name}.idle" not in sources]
    parts = ["leakage of the parts", *stated, *([f"nothing known for {', '.join(free)}"] if free else [])]
    return f"At rest the chip draws {si(summary['power_idle_w'], 'W')}: {'; '.join(parts)}."
