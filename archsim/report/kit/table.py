"""One layout of a table: its columns with their units, its rows, and what each medium leaves out of it.

A report makes each of its tables once, as a ``ReportTable``. The terminal, Markdown, HTML and notebooks each have one
renderer (``table_terminal``, ``table_markdown``, ``table_html``, ``table_notebook``) that shows any table. Headings,
units, order and the text of each cell are therefore the same everywhere, and only the layout says what a medium leaves
out: a column by its ``media``, or by its ``rank`` where a terminal is narrow; rows by the ``short`` form.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from archsim.report.kit.number_format import NONE, count

Medium = Literal["terminal", "markdown", "html", "notebook"]
ColumnKind = Literal["number", "word", "phrase", "name", "text", "prose", "bar"]
SumForm = Literal["", "count", "si", "share"]

TERMINAL: Medium = "terminal"
MARKDOWN: Medium = "markdown"
HTML: Medium = "html"
NOTEBOOK: Medium = "notebook"
EVERYWHERE: tuple[Medium, ...] = (TERMINAL, MARKDOWN, HTML, NOTEBOOK)
PAGES: tuple[Medium, ...] = (MARKDOWN, HTML)
REPORTS: tuple[Medium, ...] = (TERMINAL, MARKDOWN, HTML)  # a notebook shows the most important alone


def plainly(value: Any) -> str:
    """A value as it stands; a dash where there is none."""
    return NONE if value is None else str(value)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: what stands over it and how it is shown.

    ``unit``: what bare numbers are in; '' where each cell says its own. ``kind``: a number stands at the right, all
    else at the left; a terminal keeps numbers and words whole, cuts a name in its middle and longer text at its end.
    A page gives a phrase little room, a text one line, and prose as many lines as it takes. A bar is for terminals
    alone, since pages have charts. ``show``: makes
    text of a value. ``meaning``: a sentence for who points at the heading. ``rank``: 0 is always there; a narrow
    terminal leaves out the highest first. ``media``: where the column is shown at all. ``group``: what several columns
    beside one another have in common. ``find``: the filter of a page looks into it. ``total``: how a page writes the
    sum of the rows that the filter keeps, in ``base`` units for 'si' and of ``whole`` for 'share'. ``code``: cells are
    keys or values as typed.
    """

    heading: str
    kind: ColumnKind = "number"
    unit: str = ""
    show: Callable[[Any], str] = plainly
    meaning: str = ""
    rank: int = 0
    media: tuple[Medium, ...] = EVERYWHERE
    group: str = ""
    find: bool = False
    total: SumForm = ""
    base: str = ""
    whole: float = 0.0
    code: bool = False

    @property
    def head(self) -> str:
        """The heading with the unit, as every medium writes it."""
        return ", ".join(filter(None, (self.heading, self.unit)))

    @property
    def is_number(self) -> bool:
        """Whether cells stand at the right."""
        return self.kind == "number"

    def shown_in(self, medium: Medium) -> bool:
        """Whether the column is shown there; of bars only a terminal knows."""
        return medium in self.media and (self.kind != "bar" or medium == TERMINAL)


@dataclass(frozen=True, slots=True)
class TableCell:
    """A value with what is particular about it: another ``text`` than its column makes of it, the ``colour`` of what it
    names as #rrggbb, a ``tip`` for who points at it, ``aside`` where it does not count as the others do."""

    value: Any
    text: str | None = None
    colour: str = ""
    tip: str = ""
    aside: bool = False

    @property
    def shown(self) -> str:
        """The text; '' before a column has made it."""
        return self.text or ""


NOTHING = TableCell(None, "")  # of a last row: what cannot be summed


class BarCell(NamedTuple):
    """Blocks from one share of the room to another."""

    begin: float
    end: float
    colour: str = ""


class ShortForm(NamedTuple):
    """What media show of many rows: each at most ``most``, those with the largest value (above 0) in column ``by``; in
    their own order where that is None. ``words`` say which they are: 'the longest', 'the first'."""

    most: Mapping[Medium, int]
    by: int | None = None
    words: str = "the first"


ShownCell = TableCell | BarCell


@dataclass(frozen=True)
class ReportTable:
    """A table of a report.

    ``rows``: for each row as many values as ``columns``; a value is shown by its column, or is a TableCell or BarCell.
    ``note``: what a reader of a page must know first. ``total``: the last row, which sums all; absent from short forms.
    ``below``: sentences under the table. ``media``: which of a report's media
    have the table. ``dim``: rows that count
    for nothing. ``key``: its name on a page. ``named``: the column that names a row. ``sortable``: a page sorts it by a
    click; ``search``: what its filter looks for. ``dense``: small letters; ``broad``: wider than the text of the page.
    ``elsewhere``: where columns are found that a narrow terminal leaves out.
    """

    title: str
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    total: Sequence[Any] | None = None
    below: Sequence[str] = ()
    media: tuple[Medium, ...] = REPORTS
    short: ShortForm | None = None
    dim: Collection[int] = field(default_factory=frozenset)
    key: str = ""
    named: int = 0
    sortable: bool = False
    search: str = ""
    dense: bool = False
    broad: bool = False
    elsewhere: str = "--format json has all"

    def __bool__(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.rows)

    def columns_in(self, medium: Medium) -> list[int]:
        """The columns that a medium shows, in their order."""
        return [at for at, column in enumerate(self.columns) if column.shown_in(medium)]

    def headings(self, medium: Medium) -> list[str]:
        """What stands over them, units included."""
        return [self.columns[at].head for at in self.columns_in(medium)]

    def is_short(self, medium: Medium) -> bool:
        """Whether the medium shows only some of the rows."""
        return self.short is not None and medium in self.short.most and len(self.rows_in(medium)) < len(self.rows)

    def titled(self, medium: Medium) -> str:
        """The title, with how many rows of how many there are where not all are shown."""
        if not self.is_short(medium) or self.short is None:
            return self.title
        shown = f"{self.short.words} {count(len(self.rows_in(medium)))} of {count(len(self.rows))} rows"
        return f"{self.title}, {shown}" if self.title else shown

    def rows_in(self, medium: Medium) -> list[int]:
        """The rows that a medium shows, in the order in which it shows them."""
        order = list(range(len(self.rows)))
        if self.short is None or medium not in self.short.most:
            return order
        by = self.short.by
        if by is not None:
            values = [float(_value(row[by]) or 0.0) for row in self.rows]
            kept = (at for at in order if values[at] > 0)
            order = sorted(kept, key=lambda at: (-values[at], str(_value(self.rows[at][0]))))
        return order[: self.short.most[medium]]

    def cells(self, medium: Medium) -> list[list[ShownCell]]:
        """The cells of the rows that a medium shows, in its columns, each with its text."""
        return [self._row(self.rows[at], medium) for at in self.rows_in(medium)]

    def total_cells(self, medium: Medium) -> list[ShownCell]:
        """The cells of the last row, which sums all rows; none where there is no such row or not all rows are shown."""
        return [] if self.total is None or self.is_short(medium) else self._row(self.total, medium)

    def texts(self, medium: Medium) -> list[list[str]]:
        """The same as text alone, the row that sums them last; bars are ''."""
        rows = [*self.cells(medium), *filter(None, [self.total_cells(medium)])]
        return [[cell.shown if isinstance(cell, TableCell) else "" for cell in row] for row in rows]

    def _row(self, row: Sequence[Any], medium: Medium) -> list[ShownCell]:
        return [_shown(self.columns[at], row[at]) for at in self.columns_in(medium)]


def _value(cell: Any) -> Any:
    return cell.value if isinstance(cell, TableCell) else cell


def _shown(column: TableColumn, cell: Any) -> ShownCell:
    """A cell with the text that its column makes of it."""
    if isinstance(cell, BarCell):
        return cell
    found = cell if isinstance(cell, TableCell) else TableCell(cell)
    return found if found.text is not None else replace(found, text=column.show(found.value))
