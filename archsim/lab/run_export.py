"""The tables of a run in other programs' formats: CSV, Excel, Parquet; to publish as LaTeX and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from archsim.base.plain import visible
from archsim.base.writable import write_all
from archsim.lab import tabular
from archsim.lab.run_tables import published, raw
from archsim.lab.sweep.publish import alignment
from archsim.report.headline import title
from archsim.report.markdown import table as markdown_table
from archsim.report.summary import load

Summary = Mapping[str, Any]
Files = Mapping[str, str | bytes]  # name -> content

LONG = "layers"  # in LaTeX a longtable, which goes on over pages


def _csv(summary: Summary) -> Files:
    return {f"{name}.csv": tabular.csv(rows) for name, rows in raw(summary).items()}


def _parquet(summary: Summary) -> Files:
    tables = dict(raw(summary))
    tables["figures"] = tables["figures"].astype({"figure": float})
    return {f"{name}.parquet": tabular.parquet(rows) for name, rows in tables.items()}


def _xlsx(summary: Summary) -> Files:
    """A sheet for each table, and the units of their columns."""
    tables = raw(summary)
    units = [(name, column, unit) for name, rows in tables.items() for column, unit in rows.attrs["units"].items()]
    sheets = {**tables, "units": pd.DataFrame(units, columns=["table", "column", "unit"])}
    return {"tables.xlsx": tabular.workbook(sheets)}


def _tex(summary: Summary) -> Files:
    """Tabulars for booktabs, the layers a longtable, all text escaped."""
    parts = [f"% {visible(title(summary))}"]
    parts += [f"% {name}\n{_latex(name, rows)}" for name, rows in published(summary).items()]
    return {"tables.tex": "\n".join(parts)}


def _latex(name: str, rows: pd.DataFrame) -> str:
    style = rows.style.format(escape="latex").format_index(escape="latex", axis="columns").hide(axis="index")
    kind = "longtable" if name == LONG else None
    text: str = style.to_latex(hrules=True, column_format=alignment(rows), environment=kind)
    return text


def _md(summary: Summary) -> Files:
    parts = [f"## {name}\n\n{_pipes(rows)}" for name, rows in published(summary).items()]
    return {"tables.md": "\n\n".join(parts) + "\n"}


def _pipes(rows: pd.DataFrame) -> str:
    cells = [[str(text) for text in row] for row in rows.itertuples(index=False, name=None)]
    return markdown_table([*rows.columns], alignment(rows), cells)


FORMATS: Mapping[str, Callable[[Summary], Files]] = {
    "csv": _csv,
    "xlsx": _xlsx,
    "tex": _tex,
    "md": _md,
    "parquet": _parquet,
}


def export(folder: Path, name: str) -> list[Path]:
    """Write one of ``FORMATS`` of the run in ``folder`` into it, all of its files or none; returns their paths.

    Raises ConfigError where that cannot be done.
    """
    return write_all(folder, FORMATS[name](load(folder)))
