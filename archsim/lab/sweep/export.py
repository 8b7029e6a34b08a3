"""The table of a sweep in other programs' formats: CSV, Excel; the front to publish as LaTeX and Markdown; SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from archsim.errors import ConfigError
from archsim.lab.sweep import publish
from archsim.outputs import write
from archsim.plain import cell

if TYPE_CHECKING:
    from archsim.lab.sweep.questions import SweepTable

EXTRA = "studies"  # what Excel and SQL need is installed with it


def _csv(table: SweepTable) -> str:
    return str(_plain(table).to_csv(index=False, lineterminator="\n"))


def _xlsx(table: SweepTable) -> bytes:
    """Sheets: all rows; the front as published; the unit of each column."""
    _need("openpyxl", "xlsx")
    units = pd.DataFrame(table.attrs["units"].items(), columns=["column", "unit"])
    made = BytesIO()
    with pd.ExcelWriter(made, engine="openpyxl") as book:
        for name, rows in (("results", table), ("front", publish.publication(table)), ("units", units)):
            _plain(rows).to_excel(book, sheet_name=name, index=False, freeze_panes=(1, 0))
    return made.getvalue()


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with texts that no program takes for formulas; a frame of its own."""
    made = pd.DataFrame(rows).map(cell)
    made.columns = pd.Index([cell(name) for name in made.columns])
    return made


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
    duckdb = _need("duckdb", "SQL")
    with duckdb.connect() as connection:
        connection.register("results", pd.DataFrame(table))
        try:
            found: pd.DataFrame = connection.execute(text).df()
        except duckdb.Error as error:
            raise ConfigError(f"query: {error}") from error
    return found


def _need(module: str, what: str) -> Any:
    """A library of the extra; raises ConfigError naming it where it is not installed."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(f"{what} needs {module}: pip install 'archsim[{EXTRA}]'") from error
