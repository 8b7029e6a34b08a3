"""The table of a sweep in other programs' formats: CSV, Excel; the front to publish as LaTeX and Markdown; SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from archsim.errors import ConfigError
from archsim.lab.sweep import publish
from archsim.outputs import unwritable
from archsim.plain import cell

if TYPE_CHECKING:
    from archsim.lab.sweep.questions import SweepTable

EXTRA = "studies"  # what Excel and SQL need is installed with it


def _csv(table: SweepTable, path: Path) -> None:
    _plain(table).to_csv(path, index=False, lineterminator="\n")


def _xlsx(table: SweepTable, path: Path) -> None:
    """Sheets: all rows; the front as published; the unit of each column."""
    _need("openpyxl", "xlsx")
    units = pd.DataFrame(table.attrs["units"].items(), columns=["column", "unit"])
    with pd.ExcelWriter(path, engine="openpyxl") as book:
        for name, rows in (("results", table), ("front", publish.publication(table)), ("units", units)):
            _plain(rows).to_excel(book, sheet_name=name, index=False, freeze_panes=(1, 0))


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with texts that no program takes for formulas; a frame of its own."""
    made = pd.DataFrame(rows).map(cell)
    made.columns = pd.Index([cell(name) for name in made.columns])
    return made


def _tex(table: SweepTable, path: Path) -> None:
    path.write_text(publish.latex(table), encoding="utf-8", newline="\n")


def _md(table: SweepTable, path: Path) -> None:
    path.write_text(publish.markdown(table), encoding="utf-8", newline="\n")


FORMATS: Mapping[str, tuple[str, Callable[[SweepTable, Path], None]]] = {
    "csv": ("results.csv", _csv),
    "xlsx": ("results.xlsx", _xlsx),
    "tex": ("front.tex", _tex),
    "md": ("front.md", _md),
}


def export(table: SweepTable, folder: Path, name: str) -> Path:
    """Write one of ``FORMATS`` into ``folder``; returns its path. Raises ConfigError where that cannot be done."""
    file, write = FORMATS[name]
    try:
        write(table, folder / file)
    except OSError as error:
        raise unwritable(folder / file, error.errno) from error
    return folder / file


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
