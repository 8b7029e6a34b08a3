"""The table of a sweep in other programs' formats: CSV, Excel; the front to publish as LaTeX and Markdown; SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from archsim.errors import ConfigError
from archsim.lab import tabular
from archsim.lab.sweep import publish
from archsim.outputs import write

if TYPE_CHECKING:
    from archsim.lab.sweep.questions import SweepTable


def _csv(table: SweepTable) -> str:
    return tabular.csv(table)


def _xlsx(table: SweepTable) -> bytes:
    """Sheets: all rows; the front as published; the unit of each column."""
    units = pd.DataFrame(table.attrs["units"].items(), columns=["column", "unit"])
    tabular.need("openpyxl", "xlsx")
    return tabular.workbook({"results": table, "front": publish.publication(table), "units": units})


FORMATS: Mapping[str, tuple[str, Callable[[SweepTable], str | bytes]]] = {
    "csv": ("results.csv", _csv),
    "xlsx": ("results.xlsx", _xlsx),
    "tex": ("front.tex", publish.latex),
    "md": ("front.md", publish.markdown),
}


def export(table: SweepTable, folder: Path, name: str) -> Path:
    """Write one of ``FORMATS`` into ``folder``; returns its path. Raises ConfigError where that cannot be done."""
    file, made = FORMATS[name]
    return write(folder / file, made(table))


def sql(table: SweepTable, text: str) -> pd.DataFrame:
    """What an SQL query of DuckDB says of the table ``results``; raises ConfigError for one that it refuses."""
    duckdb = tabular.need("duckdb", "SQL")
    with duckdb.connect() as connection:
        connection.register("results", pd.DataFrame(table))
        try:
            found: pd.DataFrame = connection.execute(text).df()
        except duckdb.Error as error:
            raise ConfigError(f"query: {error}") from error
    return found
