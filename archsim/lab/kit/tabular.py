"""Tables for other programs: what a file may hold without being taken for a formula, and the libraries it needs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import pandas as pd

from archsim.base.errors import ConfigError
from archsim.base.plain import cell

EXTRA = "studies"  # what Excel and SQL need is installed with it


def plain(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with texts that no program takes for formulas; a frame of its own."""
    made = pd.DataFrame(rows).map(cell)
    made.columns = pd.Index([cell(name) for name in made.columns])
    return made


def csv(rows: pd.DataFrame) -> str:
    """RFC 4180 with newlines; empty where there is no figure."""
    return str(plain(rows).to_csv(index=False, lineterminator="\n"))


def workbook(sheets: Mapping[str, pd.DataFrame]) -> bytes:
    """An Excel file of these sheets, heads kept in sight; raises ConfigError where openpyxl is not installed."""
    need("openpyxl", "xlsx")
    made = BytesIO()
    with pd.ExcelWriter(made, engine="openpyxl") as book:
        for name, rows in sheets.items():
            plain(rows).to_excel(book, sheet_name=name, index=False, freeze_panes=(1, 0))
    return made.getvalue()


def parquet(rows: pd.DataFrame) -> bytes:
    """Parquet with ``attrs``; texts as they are."""
    made = BytesIO()
    rows.to_parquet(made, index=False)
    return made.getvalue()


def need(module: str, what: str) -> Any:
    """A library of the extra; raises ConfigError naming it where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(f"{what} needs {module}: pip install 'archsim[{EXTRA}]'") from error
