"""What "cycle-level" promises, part by part: the table that the README and every report carry."""

from __future__ import annotations

from archsim.report.kit.table import PAGES, ReportTable, TableColumn

HEADINGS = ("part", "promised", "not promised", "in this version")

PROMISES: tuple[tuple[str, str, str, str], ...] = (
    (
        "array, vector command",
        "exact start and end; cycles by stated formula",
        "operand-by-operand stalls inside a command",
        "yes",
    ),
    (
        "SRAM",
        "fair-rate port sharing and stride bank conflicts",
        "per-cycle arbitration",
        "yes: conflicts by layout; streams that meet in a port or bank share it at fair rates",
    ),
    (
        "DMA",
        "burst issue, outstanding limits, address order",
        "the bus protocol below a burst",
        "yes: one move at a time for each engine, bursts of several in turns of 16",
    ),
    (
        "DRAM",
        "exact: command for command (Ramulator 2.1 rules); fast: calibrated, error stated",
        "a fidelity that the provenance does not name",
        "yes",
    ),
    (
        "NoC",
        "flit: within 2 % of BookSim to 90 % of the knee; link: within 5 % below half load",
        "loads beyond those ranges",
        "yes: in chips, and alone (archsim noc)",
    ),
    ("host", "event-level latencies", "what the host does between events", "yes"),
)


def promises_table() -> ReportTable:
    """The promises as a table of a report."""
    columns = [TableColumn(heading, "prose") for heading in HEADINGS]
    return ReportTable('What "cycle-level" promises', columns, PROMISES, media=PAGES, dense=True)
