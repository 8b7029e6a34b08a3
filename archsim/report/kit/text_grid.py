"""Tables of text as wide as a terminal: numbers, units and headings are never cut.

Where room is short, in this order: bars shrink, headings take several lines, bars go, names and texts are cut with an
ellipsis, then columns are left out, the least important first, and a line says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from archsim.base.plain import visible
from archsim.report.kit.number_format import shorten
from archsim.report.kit.table import BarCell, ColumnKind

MOST_BAR, LEAST_BAR = 44, 8
MOST_HEAD = 26
LEAST = {"name": 20, "text": 12}
LONG_WORD = 16  # of a heading; longer ones may be broken
PAD = 2  # blanks of each column
ALL = "--format json has all"
_NUMBER_AT_END = re.compile(r"(^|\s)[-+<]?[0-9][0-9.,]*$")
_NUMBER = re.compile(r"[-+<]?\s*[0-9][0-9.,]*(\s\S{1,8})?")


class GridColumn(NamedTuple):
    """``kind``: numbers stand at the right, words at the left, both whole; a name is cut in its middle, a text at its
    end. ``rank``: 0 is always there; of others the highest is left out first, the last of those that are equal."""

    head: str
    kind: ColumnKind = "number"
    rank: int = 0


GridCell = str | Text | BarCell


@dataclass(frozen=True, slots=True)
class TextGrid:
    """``rows``: as many cells as ``columns``; ``note``: where a column that is left out can be found."""

    columns: Sequence[GridColumn]
    rows: Sequence[Sequence[GridCell]]
    note: str = ALL

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Line by line."""
        yield from self.lines(options.max_width)

    def text(self, width: int | None) -> str:
        """Without style; None: as wide as it likes."""
        return "\n".join(line.plain for line in self.lines(width or 10_000))

    def lines(self, width: int) -> Iterator[Text]:
        """Heads, a rule, the rows, and what was left out."""
        widths, left_out = self.fitted(width)
        yield from self._heads(widths)
        yield Text("\N{BOX DRAWINGS LIGHT HORIZONTAL}" * min(width, sum(widths.values()) + PAD * len(widths)))
        for row in self.rows:
            yield self._line([self._cell(row[at], at, room) for at, room in widths.items()])
        if left_out:
            names = ", ".join(dict.fromkeys(head for head in left_out if head))
            yield Text(f" left out here: {names}; {self.note}", style="dim")

    def fitted(self, width: int) -> tuple[dict[int, int], list[str]]:
        """Column -> characters of those that are shown, and the headings of those that are left out."""
        kept, left_out = list(range(len(self.columns))), list[str]()
        while True:
            widths = self._widths(kept, width)
            most = max(kept, key=lambda at: (self.columns[at].rank, at))
            if sum(widths.values()) + PAD * len(widths) <= width or not self.columns[most].rank:
                return widths, left_out
            kept.remove(most)
            left_out.insert(0, self.columns[most].head)

    def _widths(self, kept: Sequence[int], width: int) -> dict[int, int]:
        """As wide as is needed, or as they can be made narrow."""
        found = {at: self._full(at) for at in kept}
        room = width - PAD * len(found)
        bars = [at for at in kept if self.columns[at].kind == "bar"]
        found = _shrunk(found, dict.fromkeys(bars, LEAST_BAR), room)
        if sum(found.values()) > room:
            folded = {at: min(found[at], max(self._folded(at), self._content(at))) for at in kept if at not in bars}
            found = _shrunk(found, folded, room)
            found = _shrunk(found | dict.fromkeys(bars, MOST_BAR), dict.fromkeys(bars, LEAST_BAR), room)
        if bars and sum(found.values()) > room:
            room += PAD * len(bars)
            found = {at: size for at, size in found.items() if at not in bars}
        texts = {at: self._least(at) for at in found if self.columns[at].kind in ("name", "text")}
        return _shrunk(found, texts, room)

    def _full(self, at: int) -> int:
        column = self.columns[at]
        head = min(cell_len(visible(column.head)), max(MOST_HEAD, self._folded(at)))
        return MOST_BAR if column.kind == "bar" else max(head, self._content(at))

    def _content(self, at: int) -> int:
        return max((cell_len(_plain(row[at])) for row in self.rows), default=0)

    def _folded(self, at: int) -> int:
        """The narrowest that the heading is readable in."""
        return max((min(cell_len(word), LONG_WORD) for word in visible(self.columns[at].head).split()), default=0)

    def _least(self, at: int) -> int:
        """Of a column of texts: its heading stays readable, and numbers among the texts are whole."""
        cells = [_plain(row[at]) for row in self.rows]
        whole = max((cell_len(cell) for cell in cells if _NUMBER.fullmatch(cell)), default=0)
        return max(whole, self._folded(at), min(LEAST.get(self.columns[at].kind, 0), self._content(at)))

    def _heads(self, widths: dict[int, int]) -> Iterator[Text]:
        folded = {at: wrap(visible(self.columns[at].head), max(room, 1)) for at, room in widths.items()}
        height = max((len(lines) for lines in folded.values()), default=1)
        for row in range(height):
            cells = []
            for at, room in widths.items():
                line = row - height + len(folded[at])
                cells.append(self._placed(Text(folded[at][line] if line >= 0 else "", style="dim"), at, room))
            yield self._line(cells)

    def _cell(self, cell: GridCell, at: int, room: int) -> Text:
        if isinstance(cell, BarCell):
            return _blocks(cell, room)
        text = cell if isinstance(cell, Text) else Text(visible(cell))
        if cell_len(text.plain) > room:
            text = Text(_cut(text.plain, room, self.columns[at].kind), style=text.style)
        return self._placed(text, at, room)

    def _placed(self, text: Text, at: int, room: int) -> Text:
        blanks = Text(" " * max(room - cell_len(text.plain), 0))
        parts = (blanks, text) if self.columns[at].kind == "number" else (text, blanks)
        return Text.assemble(*parts)

    def _line(self, cells: Sequence[Text]) -> Text:
        line = Text(" ").append_text(Text("  ").join(cells))
        line.rstrip()
        return line


def _plain(cell: GridCell) -> str:
    return "" if isinstance(cell, BarCell) else visible(cell) if isinstance(cell, str) else cell.plain


def _shrunk(widths: dict[int, int], least: dict[int, int], room: int) -> dict[int, int]:
    """The widest of the columns of ``least`` narrower, and again, until all fit or none can be."""
    found = dict(widths)
    while sum(found.values()) > room:
        able = [at for at, size in least.items() if found[at] > size]
        if not able:
            break
        found[max(able, key=lambda at: (found[at], -at))] -= 1
    return found


def _cut(text: str, room: int, kind: ColumnKind) -> str:
    """To ``room`` columns: names in their middle, texts behind a word where one ends in their second half, and never
    behind a number, whose unit may follow."""
    if kind not in ("name", "text"):
        return text
    if kind == "text":
        head = text[: room - 1]
        word = head if text[room - 1 : room].isspace() else head.rpartition(" ")[0]
        kept = _NUMBER_AT_END.sub("", word if len(word) >= room // 2 else head)
        text = f"{kept.rstrip(' ,;(')}\N{HORIZONTAL ELLIPSIS}"
    cut = Text(shorten(text, room))
    cut.truncate(room, overflow="ellipsis")
    return cut.plain


def _blocks(bar: BarCell, room: int) -> Text:
    """At least one block where there is anything."""
    first = min(round(room * bar.begin), room - 1)
    last = min(max(round(room * bar.end), first + 1 if bar.end > bar.begin else first), room)
    blocks = Text("\N{FULL BLOCK}" * (last - first), style=bar.colour)
    return Text(" " * first).append_text(blocks).append_text(Text(" " * (room - last)))
