"""Tables and lists as GitHub-flavoured Markdown; all text is escaped."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.base.plain import code
from archsim.base.plain import markdown as escaped
from archsim.report.kit.table import MARKDOWN, ReportTable

Alignment = str  # one letter for each column: l or r


def rendered(made: ReportTable) -> str:
    """A pipe table and the sentences below it; '' of a table without rows."""
    if not made:
        return ""
    columns = [made.columns[at] for at in made.columns_in(MARKDOWN)]
    heads = [escaped(column.head) for column in columns]
    rows = [
        [code(text) if column.code and text else escaped(text) for column, text in zip(columns, row, strict=True)]
        for row in made.texts(MARKDOWN)
    ]
    blocks = [pipes(heads, "".join("r" if column.is_number else "l" for column in columns), rows)]
    return "\n\n".join([*blocks, *map(escaped, made.below)])


def section(made: ReportTable, level: int = 2) -> list[str]:
    """The title as a heading, the note and the table; nothing of a table that has no rows or is not for Markdown."""
    if not made or MARKDOWN not in made.media:
        return []
    return [
        block
        for block in (f"{'#' * level} {escaped(made.titled(MARKDOWN))}", escaped(made.note), rendered(made))
        if block
    ]


def table(headings: Sequence[str], alignment: Alignment, rows: Sequence[Sequence[str]]) -> str:
    """A pipe table; ``alignment`` has one letter for each column, ``r`` for numbers. What its cells hold is text."""
    return pipes([escaped(cell) for cell in headings], alignment, [[escaped(cell) for cell in row] for row in rows])


def pipes(headings: Sequence[str], alignment: Alignment, rows: Sequence[Sequence[str]]) -> str:
    """As ``table``, of cells that are Markdown already, such as links."""
    rule = ["---:" if letter == "r" else "---" for letter in alignment]
    return "\n".join("| " + " | ".join(line) + " |" for line in [headings, rule, *rows])


def bullets(texts: Sequence[str]) -> str:
    """A list, one line for each text."""
    return "\n".join(f"- {escaped(text)}" for text in texts)
