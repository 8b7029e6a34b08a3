"""The table of a sweep in other programs' formats: CSV, Excel; the front to publish as LaTeX and Markdown; SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from archsim.base.errors import ConfigError
from archsim.base.writable import write
from archsim.lab.kit import tabular
from archsim.lab.sweep import publish


def _csv(table: pd.DataFrame, front: pd.DataFrame) -> str:
    return tabular.csv(table)


def _xlsx(table: pd.DataFrame, front: pd.DataFrame) -> bytes:
    """Sheets: all rows; the front as published; the unit of each column."""
    units = pd.DataFrame(table.attrs["units"].items(), columns=["column", "unit"])
    tabular.need("openpyxl", "xlsx")
    return tabular.workbook({"results": table, "front": publish.publication(front), "units": units})


FORMATS: Mapping[str, tuple[str, Callable[[pd.DataFrame, pd.DataFrame], str | bytes]]] = {
    "csv": ("results.csv", _csv),
    "xlsx": ("results.xlsx", _xlsx),
    "tex": ("front.tex", lambda table, front: publish.latex(publish.publication(front))),
    "md": ("front.md", lambda table, front: publish.markdown(publish.publication(front))),
}


def export(table: pd.DataFrame, front: pd.DataFrame, folder: Path, name: str) -> Path:
    """Write a sweep's table or its front in one of ``FORMATS`` into ``folder``; returns the path. Raises ConfigError
    where that cannot be done.
    """
    file, made = FORMATS[name]
    return write(folder / file, made(table, front))


def sql(table: pd.DataFrame, text: str) -> pd.DataFrame:
    """What an SQL query of DuckDB says of the table ``results``; raises ConfigError for one that it refuses."""
    duckdb = tabular.need("duckdb", "SQL")
    with duckdb.connect() as connection:
        connection.register("results", pd.DataFrame(table))
        try:
            found: pd.DataFrame = connection.execute(text).df()
        except duckdb.Error as error:
            raise ConfigError(f"query: {error}") from error
    return found
