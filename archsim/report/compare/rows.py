"""The rows of a comparison (schema ``archsim.compare/1``) as text, for pages and the terminal alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.report.charts.diverging import ChangeBar
from archsim.report.kit.causes import cause, label
from archsim.report.kit.number_format import NONE, shorten
from archsim.report.kit.quantity import quantity

Told = Mapping[str, Any]
CompareRow = dict[str, Any]
LEAST = 0.001  # of the whole difference: rows of a chart
ROUNDED = 1e-9  # of an energy of a layer


def question_rows(told: Told) -> list[list[str]]:
    """Label and a value for each run."""
    return [[row["label"], *(_plain(value) for value in row["values"])] for row in told["question"]]


def figure_rows(told: Told) -> list[list[str]]:
    """Label and a figure for each run, from the second on with its ratio to the first."""
    rows = []
    for row in told["figures"]:
        texts = [quantity(value, row["unit"]) for value in row["values"]]
        ratios = [NONE if ratio is None else f"{ratio:.4g} x" for ratio in row["ratios"]]
        rows.append(
            [row["label"], texts[0], *(cell for pair in zip(texts[1:], ratios[1:], strict=True) for cell in pair)]
        )
    return rows


def figure_heads(told: Told) -> list[str]:
    """Over the columns of ``figure_rows``."""
    base, *others = [run["name"] for run in told["runs"]]
    return ["", base, *(cell for name in others for cell in (name, "ratio"))]


def part_rows(rows: Sequence[Told], unit: str, key: str) -> list[list[str]]:
    """Name, base, other, difference of each part that has any, then of all."""
    whole = {column: sum(row[column] for row in rows) for column in ("base", "other", "difference")}
    named = [(label(row[key]) if key == "cause" else row[key], row) for row in rows]
    return [[name, *amounts(row, unit)] for name, row in (*named, ("all", whole))]


def amounts(row: Told, unit: str) -> list[str]:
    """Base, other, difference with its sign."""
    return [amount(row["base"], unit), amount(row["other"], unit), signed(row["difference"], unit)]


def amount(value: float, unit: str) -> str:
    """Cycles whole, though shares of a mean array's may not be."""
    return quantity(round(value) if unit == "cycles" else value, unit)


def signed(value: float, unit: str) -> str:
    """With its sign, a dash for no difference."""
    text = amount(abs(value), unit)
    return f"{'+' if value > 0 else '-'}{text}" if value else NONE


def layer_rows(found: Told) -> list[CompareRow]:
    """Layers that differ or need a remark, the largest difference first."""
    kept = [row for row in found["layers"] if row["difference"] or row["remark"] or _change(row["energy_j"])]
    order = sorted(kept, key=lambda row: (-abs(row["difference"]), -abs(_change(row["energy_j"]))))
    return [
        {
            **row,
            "texts": amounts(row, found["unit"]),
            "energy": signed(_change(row["energy_j"]), "J"),
            "dram": signed(row["dram_bytes"]["difference"], "B"),
            "why": ", ".join(
                f"{label(key)} {signed(change, found['unit'])}"
                for key, change in sorted(row["causes"].items(), key=lambda item: (-abs(item[1]), item[0]))
            ),
        }
        for row in order
    ]


def _change(part: Told) -> float:
    """The difference of energies whose last bits are rounded, 0 where no more than these differ."""
    found: float = part["difference"]
    return found if abs(found) > ROUNDED * max(part["base"], part["other"]) else 0.0


def wait_rows(found: Told, most: int) -> list[list[str]]:
    """Where the arrays' time changed most: layer, cause and operand, base, other, difference."""
    rows = [row for row in found["arrays"] if row["difference"]][:most]
    return [[row["layer"] or NONE, label(row["cause"]), *amounts(row, found["unit"])] for row in rows]


def changes(rows: Sequence[Told], unit: str, key: str) -> list[ChangeBar]:
    """The differences as bars of a chart, without those that could not be seen."""
    most = sum(abs(row["difference"]) for row in rows)
    made = []
    for row in rows:
        if abs(row["difference"]) > LEAST * most:
            name = label(row[key]) if key == "cause" else row[key]
            colour = cause(row[key]).colour if key == "cause" else "#0072B2"
            base, other, change = amounts(row, unit)
            made.append(ChangeBar(name, row["difference"], colour, change, f"{name}: {base} before, {other} now"))
    return made


def _plain(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return shorten(str(value), 40)
