"""Tables on pages: one macro, templates/table.html.j2, draws them all; whatever is text in them is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from archsim.report.kit.table import HTML, ReportTable, ShownCell, TableCell, TableColumn
from archsim.report.kit.templates import fragment

CLASSES = {"number": "n", "word": "one", "phrase": "phrase", "name": "name", "text": "wide line", "prose": "wide"}


def rendered(made: ReportTable, level: int = 0, charts: Sequence[str] = ()) -> Markup:
    """The table with its note, drawings (SVG), its filter and the sentences below it, under its title as a heading of
    ``level``, 0: without; '' of a table without rows."""
    values = {**_values(made, level), "charts": [Markup(chart) for chart in charts]}
    return Markup(fragment("table.html.j2", values)) if made else Markup("")


def by_name(made: Mapping[str, ReportTable]) -> Callable[..., Markup]:
    """What templates call as ``table(name, level, charts)``: '' where there is no such table, or none on pages."""

    def table(name: str, level: int = 0, charts: Sequence[str] = ()) -> Markup:
        found = made.get(name)
        return rendered(found, level, charts) if found is not None and HTML in found.media else Markup("")

    return table


def _values(made: ReportTable, level: int) -> dict[str, Any]:
    kept = made.columns_in(HTML)
    columns = [made.columns[at] for at in kept]
    first = [at > 0 and column.group != columns[at - 1].group for at, column in enumerate(columns)]
    total = made.total_cells(HTML)
    return {
        "table": made,
        "level": level,
        "title": made.titled(HTML),
        "note": made.note,
        "below": made.below,
        "classes": " ".join(_classes(made)),
        "groups": list(_groups(columns)),
        "heads": [(column, _class(column, first[at], head=True)) for at, column in enumerate(columns)],
        "rows": [
            (at in made.dim, [_cell(made, *each) for each in zip(columns, row, first, strict=True)])
            for at, row in zip(made.rows_in(HTML), made.cells(HTML), strict=True)
        ],
        "total": [_total(*each) for each in zip(columns, total, first, strict=True)] if total else [],
    }


def _classes(made: ReportTable) -> Iterator[str]:
    if made.sortable:
        yield "sortable"
    if made.dense:
        yield "dense"
    if made.named:
        yield "second"


def _groups(columns: list[TableColumn]) -> Iterator[tuple[str, int]]:
    """(what they have in common, how many) of columns beside one another; nothing where no column has a group."""
    if any(column.group for column in columns):
        for group, members in groupby(columns, key=lambda column: column.group):
            yield group, len(list(members))


def _class(column: TableColumn, first: bool, head: bool = False, aside: bool = False) -> str:
    kind = CLASSES.get(column.kind, "")
    names = [kind if not head or column.is_number else "", "first" if first else "", "aside" if aside else ""]
    return " ".join(filter(None, names))


def _cell(made: ReportTable, column: TableColumn, cell: ShownCell, first: bool) -> dict[str, Any]:
    assert isinstance(cell, TableCell)
    value = cell.value if made.sortable and column.is_number else None
    return {
        "classes": _class(column, first, aside=cell.aside),
        "text": cell.shown,
        "colour": cell.colour,
        "tip": cell.tip,
        "code": column.code and bool(cell.shown),
        "value": value if isinstance(value, int | float) else None,
    }


def _total(column: TableColumn, cell: ShownCell, first: bool) -> dict[str, Any]:
    assert isinstance(cell, TableCell)
    return {"classes": _class(column, first), "text": cell.shown, "column": column}
