"""What moved between DRAM and the chip by its role: weights, inputs, results, rows of tables and of states."""

from __future__ import annotations

from archsim.ir.result import Summary
from archsim.report.kit.number_format import percent, si
from archsim.report.kit.table import PAGES, ReportTable, TableColumn


def roles_table(summary: Summary) -> ReportTable:
    """A row for each role, that with most bytes on the pins first; none where a summary does not tell them apart."""
    found = summary["dram"].get("roles", {})
    on_pins = {role: part["read_bytes"] + part["write_bytes"] for role, part in found.items()}
    whole = sum(on_pins.values())
    rows = [
        (
            role,
            found[role]["useful_read_bytes"],
            found[role]["useful_write_bytes"],
            on_pins[role],
            on_pins[role],
            on_pins[role] / max(1, found[role]["useful_read_bytes"] + found[role]["useful_write_bytes"]),
        )
        for role in sorted(on_pins, key=lambda role: (-on_pins[role], role))
        if on_pins[role]
    ]
    columns = (
        TableColumn("role", "word"),
        TableColumn("read", show=lambda size: si(size, "B", 4)),
        TableColumn("written", show=lambda size: si(size, "B", 4)),
        TableColumn("on the pins", show=lambda size: si(size, "B", 4)),
        TableColumn("share", show=lambda size: percent(size, whole)),
        TableColumn("pins over asked", show=lambda ratio: f"{ratio:.2f}"),
    )
    note = (
        "Read and written are the bytes that commands asked for; the pins move whole bursts. Role kv: rows of keys and "
        "values, which live from one step to the next."
    )
    return ReportTable("DRAM by role", columns, rows, note, media=PAGES, named=1)
