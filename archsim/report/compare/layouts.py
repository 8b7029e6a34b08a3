"""The tables of a comparison (schema ``archsim.compare/1``), each laid out once for pages, terminal and notebook.

``tables`` gives those of all runs by name; ``difference_tables`` those of one run against the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.kit.causes import label
from archsim.report.kit.number_format import NONE, shorten
from archsim.report.kit.quantity import quantity
from archsim.report.kit.table import (
    EVERYWHERE,
    HTML,
    MARKDOWN,
    PAGES,
    REPORTS,
    TERMINAL,
    Medium,
    ReportTable,
    ShortForm,
    TableCell,
    TableColumn,
)

Told = Mapping[str, Any]
FEW: Mapping[Medium, int] = {TERMINAL: 10}  # layers
WAITS: Mapping[Medium, int] = {TERMINAL: 10, MARKDOWN: 20, HTML: 20}
SLOTS_NOTE = (
    "The run's time is divided in the shares of its MAC slots. The parts sum to the whole, and their differences to "
    "its difference."
)
ROUNDED = 1e-9  # of an energy of a layer
_CYCLES = "cycles"  # the unit whose numbers are written without it


def tables(told: Told) -> dict[str, ReportTable]:
    """What was asked differently, and the figures; those without rows are left out."""
    made = {"question": question(told), "figures": figures(told)}
    return {name: table for name, table in made.items() if table}


def difference_tables(found: Told, key: str = "") -> dict[str, ReportTable]:
    """The difference of a run to the first by cause, layer and part; ``key`` tells pages its table of layers."""
    made = {
        "slots": parts(found, "slots", "Time by cause", "cause"),
        "waits": waits(found),
        "layers": layers(found, key),
        "energy": parts(found, "energy", "Energy by part", "part", "J"),
        "area": parts({"area": [], **found}, "area", "Area by part", "part", "mm2", PAGES),
    }
    return {name: table for name, table in made.items() if table}


def question(told: Told) -> ReportTable:
    """What differs, and its value for each run."""
    rows = [[row["label"], *(_plain(value) for value in row["values"])] for row in told["question"]]
    names = [run["name"] for run in told["runs"]]
    columns = [
        TableColumn("what differs", "word"),
        *(TableColumn(name, "text", rank=at) for at, name in enumerate(names)),
    ]
    return ReportTable("What was asked differently", columns, rows, media=EVERYWHERE)


def figures(told: Told) -> ReportTable:
    """A figure for each run, from the second on with its ratio to the first. Of many runs a narrow terminal leaves out
    the last."""
    rows = []
    for row in told["figures"]:
        texts = [quantity(value, row["unit"]) for value in row["values"]]
        ratios = [NONE if ratio is None else f"{ratio:.4g} x" for ratio in row["ratios"]]
        pairs = zip(texts[1:], ratios[1:], strict=True)
        rows.append([row["label"], texts[0], *(cell for pair in pairs for cell in pair)])
    base, *others = [run["name"] for run in told["runs"]]
    columns = [TableColumn("figure", "word"), TableColumn(base)]
    for rank, name in enumerate(others):
        columns += [TableColumn(name, rank=rank), TableColumn("ratio", rank=rank)]
    return ReportTable("Figures", columns, rows, media=EVERYWHERE)


def parts(
    found: Told, name: str, title: str, key: str, unit: str = "", media: tuple[Medium, ...] = REPORTS
) -> ReportTable:
    """Base, other and difference of each part that has any, then of all."""
    rows, unit = found[name], unit or found["unit"]
    named = [(label(row[key]) if key == "cause" else row[key], *_trio(row)) for row in rows]
    whole = tuple(sum(row[column] for row in rows) for column in ("base", "other", "difference"))
    columns = (TableColumn(key, "name"), *_pair(found, unit))
    return ReportTable(title, columns, named, SLOTS_NOTE if name == "slots" else "", ("all", *whole), media=media)


def waits(found: Told) -> ReportTable:
    """Where the arrays' time changed most."""
    rows = [row for row in found["arrays"] if row["difference"]]
    made = [(row["layer"] or NONE, label(row["cause"]), *_trio(row)) for row in rows]
    columns = (TableColumn("layer", "name"), TableColumn("cause", "phrase"), *_pair(found, found["unit"]))
    note = "The largest differences of the mean array's time."
    return ReportTable("The arrays' time by layer, cause and operand", columns, made, note, short=ShortForm(WAITS))


def layers(found: Told, key: str = "") -> ReportTable:
    """Layers that differ or need a remark, the largest difference first."""
    kept = [row for row in found["layers"] if row["difference"] or row["remark"] or _change(row["energy_j"])]
    order = sorted(kept, key=lambda row: (-abs(row["difference"]), -abs(_change(row["energy_j"]))))
    rows = [
        (
            row["name"],
            row["op"],
            *_trio(row),
            _why(row["causes"], found["unit"]),
            TableCell(row["energy_j"]["difference"], signed(_change(row["energy_j"]), "J")),
            row["dram_bytes"]["difference"],
            row["remark"],
        )
        for row in order
    ]
    columns = (
        TableColumn("layer", "name", find=True),
        TableColumn("operator", "word", find=True, media=PAGES),
        *_pair(found, found["unit"]),
        TableColumn("from", "text", find=True, media=PAGES, meaning="the causes whose cycles changed"),
        TableColumn("energy", meaning="difference of all the energy that the layer caused"),
        TableColumn("DRAM", show=partial(signed, unit="B"), media=PAGES, meaning="difference of its bytes of DRAM"),
        TableColumn("remarks", "text", rank=1),
    )
    note = f"Layers that differ, in {found['unit']}; all layers of either run sum to its time."
    return ReportTable(
        "Layers along the critical path", columns, rows, note, short=ShortForm(FEW), key=key,
        sortable=True, search="name, operator, cause", dense=True, broad=True,
    )  # fmt: skip


def _why(causes: Mapping[str, float], unit: str) -> str:
    """The causes of a layer's difference, the largest first."""
    order = sorted(causes.items(), key=lambda item: (-abs(item[1]), item[0]))
    return ", ".join(f"{label(key)} {signed(change, unit)}" for key, change in order)


def _pair(found: Told, unit: str) -> tuple[TableColumn, ...]:
    """The columns of base, other and difference."""
    bare = unit if unit == _CYCLES else ""
    return (
        TableColumn(found["base"], unit=bare, show=partial(amount, unit=unit)),
        TableColumn(found["name"], unit=bare, show=partial(amount, unit=unit)),
        TableColumn("difference", unit=bare, show=partial(signed, unit=unit)),
    )


def _trio(row: Told) -> tuple[float, float, float]:
    return row["base"], row["other"], row["difference"]


def amount(value: float, unit: str) -> str:
    """Cycles whole, though shares of a mean array's may not be."""
    return quantity(round(value) if unit == _CYCLES else value, unit)


def signed(value: float, unit: str) -> str:
    """With its sign, a dash for no difference."""
    text = amount(abs(value), unit)
    return f"{'+' if value > 0 else '-'}{text}" if value else NONE


def _change(part: Told) -> float:
    """The difference of energies whose last bits are rounded, 0 where no more than these differ."""
    found: float = part["difference"]
    return found if abs(found) > ROUNDED * max(part["base"], part["other"]) else 0.0


def _plain(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return shorten(str(value), 40)
