"""Tables in notebooks: as a fragment of HTML that needs no style sheet, or column by column for a DataFrame."""

from __future__ import annotations

from archsim.base.plain import html as escaped
from archsim.base.plain import visible
from archsim.report.kit.table import NOTEBOOK, Medium, ReportTable

STYLE = (
    "<style>.archsim svg.chart{width:100%;max-width:1120px;height:auto;font:13px sans-serif}"
    ".archsim .dim{fill:#5f6873;color:#5f6873}.archsim .link{stroke:#aab2bc}.archsim .axis{stroke:#9aa3ad}"
    ".archsim td,.archsim th{text-align:left}.archsim td.n,.archsim th.n{text-align:right}</style>"
)


def rendered(made: ReportTable) -> str:
    """The table as HTML; '' of a table without rows."""
    if not made:
        return ""
    columns = [made.columns[at] for at in made.columns_in(NOTEBOOK)]
    classes = [" class='n'" if column.is_number else "" for column in columns]
    head = "".join(f"<th{kind}>{escaped(column.head)}</th>" for kind, column in zip(classes, columns, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{escaped(cell)}</td>' for kind, cell in zip(classes, row, strict=True))}</tr>"
        for row in made.texts(NOTEBOOK)
    )
    below = "".join(f"<p class='dim'>{escaped(sentence)}</p>" for sentence in made.below)
    return f"<table><tr>{head}</tr>{body}</table>{below}"


def columns(made: ReportTable, medium: Medium = NOTEBOOK) -> dict[str, list[str]]:
    """Heading -> the texts of its rows, without the row that sums them: what ``pandas.DataFrame`` takes."""
    heads, rows = made.headings(medium), made.cells(medium)
    return {visible(head): [visible(getattr(row[at], "shown", "")) for row in rows] for at, head in enumerate(heads)}
