"""What a table of a report shows, by its headings."""

from __future__ import annotations

from archsim.report.kit.table import HTML, Medium, ReportTable, TableCell


def shown(made: ReportTable, medium: Medium = HTML) -> list[dict[str, str]]:
    """The rows of a medium as heading -> text, without the row that sums them."""
    heads = made.headings(medium)
    return [{head: text_of(cell) for head, cell in zip(heads, row, strict=True)} for row in made.cells(medium)]


def cell(made: ReportTable, row: int, heading: str, medium: Medium = HTML) -> TableCell:
    """One cell with all that it says."""
    found = made.cells(medium)[row][made.headings(medium).index(heading)]
    assert isinstance(found, TableCell)
    return found


def text_of(cell: object) -> str:
    """The text of a cell, '' of a bar."""
    return cell.shown if isinstance(cell, TableCell) else ""
