"""Tables on a terminal: as wide as it is, with its numbers whole (``text_grid``)."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from archsim.base.plain import visible
from archsim.report.kit.table import TERMINAL, BarCell, ReportTable, ShownCell, TableColumn
from archsim.report.kit.text_grid import GridCell, GridColumn, TextGrid


def rendered(made: ReportTable) -> TextGrid:
    """The table as lines of text for a terminal of any width."""
    kept = [made.columns[at] for at in made.columns_in(TERMINAL)]
    total = made.total_cells(TERMINAL)
    rows = [*made.cells(TERMINAL), *([total] if total else [])]
    return TextGrid(
        [_column(column) for column in kept], [[_cell(cell) for cell in row] for row in rows], made.elsewhere
    )


def show(made: ReportTable, console: Console) -> None:
    """Print an empty line, the title, the table and the sentences below it; nothing where there are no rows."""
    if not made or TERMINAL not in made.media:
        return
    console.print()
    if made.title:
        console.print(Text(made.titled(TERMINAL), style="bold"))
    console.print(rendered(made))
    for sentence in made.below:
        console.print(Text(sentence, style="dim"))


def show_named(made: Mapping[str, ReportTable], name: str, console: Console) -> None:
    """Print the table of that name, if there is one."""
    if name in made:
        show(made[name], console)


def text(made: ReportTable, width: int | None) -> list[str]:
    """The same as plain lines at most ``width`` columns wide; None: as wide as the table likes."""
    if not made or TERMINAL not in made.media:
        return []
    return ["", *filter(None, [made.titled(TERMINAL)]), rendered(made).text(width), *made.below]


def _column(column: TableColumn) -> GridColumn:
    return GridColumn(column.head, "text" if column.kind in ("phrase", "prose") else column.kind, column.rank)


def _cell(cell: ShownCell) -> GridCell:
    if isinstance(cell, BarCell):
        return cell
    return Text(visible(cell.shown), style=cell.colour) if cell.colour else cell.shown
