"""The tables of a scenario, each laid out once: streams, operating points, power at rest.

``tables`` gives them all by name. Pages, terminal and notebook render these and lay out nothing themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from archsim.ir.result import Summary
from archsim.report.kit.assumptions import estimated_table, sourced_table
from archsim.report.kit.number_format import count, percent, si
from archsim.report.kit.table import PAGES, ReportTable, TableColumn
from archsim.report.run.layouts import figures
from archsim.report.run.layouts import provenance as provenance_of_run
from archsim.report.scenario.words import headline


def tables(summary: Summary) -> dict[str, ReportTable]:
    """Every table of a scenario by its name, in the order of the report; those without rows are left out."""
    sources = summary["details"]["sources"]
    made = {
        "headline": figures(headline(summary)),
        "streams": streams(summary),
        "points": points(summary),
        "rest": rest(summary),
        "estimated": estimated_table(sources),
        "sourced": sourced_table(sources),
        "provenance": provenance_of_run(summary),
    }
    return {name: table for name, table in made.items() if table}


def _in(unit: str) -> Callable[[float | None], str]:
    """How a quantity of that unit is shown."""
    return partial(si, unit=unit)


def streams(summary: Summary) -> ReportTable:
    """A row for each stream."""
    rows = [
        (
            name, row["model"], row["rate_hz"], row["deadline_s"], row["run_s"], row["response_worst_s"],
            row["response_mean_s"], row["slack_min_s"], f"{count(row['misses'])} of {count(row['frames'])}",
            row["utilization"], row["energy_frame_j"], row["power_w"],
        )
        for name, row in summary["streams"].items()
    ]  # fmt: skip
    columns = (
        TableColumn("stream", "name"),
        TableColumn("model", "name", rank=7),
        TableColumn("rate", show=_in("Hz")),
        TableColumn("deadline", show=_in("s"), rank=6),
        TableColumn("run", show=_in("s"), rank=2, meaning="how long a run on the whole chip takes"),
        TableColumn("worst response", show=_in("s")),
        TableColumn("mean response", show=_in("s"), rank=4),
        TableColumn("least slack", show=_in("s"), rank=3),
        TableColumn("misses"),
        TableColumn("load", show=percent, rank=1),
        TableColumn("energy a frame", show=_in("J"), rank=5),
        TableColumn("power", show=_in("W")),
    )
    note = (
        "A response is the time from a frame's release to its result, slack what is left to its deadline. Load is the "
        "share of the time that the stream's runs take. Power is that of its runs, spread over its period."
    )
    return ReportTable("Streams", columns, rows, note, key="stream-table", sortable=True)


def points(summary: Summary) -> ReportTable:
    """A row for each operating point, the one taken marked."""
    rows = [
        (
            f"{row['point']} \N{LEFTWARDS ARROW}" if row["point"] == summary["point"] else row["point"],
            ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in row["set"].items()),
            row["load"],
            row["misses"],
            row["latency_s"],
            row.get("power_idle_w"),
            row["power_peak_w"],
            row["power_avg_w"],
        )
        for row in summary["points"]
    ]
    columns = (
        TableColumn("point", "name"),
        TableColumn("set", "word", rank=1),
        TableColumn("load", show=percent, rank=2),
        TableColumn("misses", show=count),
        TableColumn("worst response", show=_in("s")),
        TableColumn("power at rest", show=_in("W"), rank=3),
        TableColumn("peak power", show=_in("W"), rank=4),
        TableColumn("average power", show=lambda watts: "more load than time" if watts is None else si(watts, "W")),
    )
    note = (
        "Each operating point is mapped, simulated and served anew. The arrow marks the one that this report is of: it "
        "takes the least average power of those that meet all deadlines."
    )
    return ReportTable("Operating points", columns, rows, note, key="point-table", sortable=True)


def rest(summary: Summary) -> ReportTable:
    """What each part draws at rest, and where that figure comes from; the terminal says it in a sentence."""
    sources = summary["details"]["sources"]
    rows: list[tuple[str, float, str, str]] = []
    for name, watts in summary["idle_breakdown_w"].items():
        kind = "idle" if f"{name}.idle" in sources else "leakage"
        rows.append((name, watts, "stated" if kind == "idle" else "leakage", sources[f"{name}.{kind}"]))
    sleep = summary["details"]["sleep"]
    if sleep is not None:
        wake = f"asleep, {si(sleep['wake_s'], 's')} to wake"
        rows.append(("chip", sleep["power_w"], wake, sources["sleep"]))
    columns = (
        TableColumn("part", "name"),
        TableColumn("power", show=_in("W")),
        TableColumn("which", "word"),
        TableColumn("source", "text"),
    )
    return ReportTable("Power at rest", columns, rows, assumed(summary), media=PAGES, key="rest-table", sortable=True)


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
