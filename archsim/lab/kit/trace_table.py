"""Traces from files: CSV or parquet with named columns, a row for each event.

Integers are decimal or 0x...; whatever is wrong is named with its line, value and what is allowed.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ConfigError, nearest

Numbers = npt.NDArray[np.int64]
_LARGEST = (1 << 63) - 1
_WRITTEN = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]{1,32})|([0-9]{1,32}))")
_INTEGERS = "integers below 2^63, decimal or 0x..."
_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}


def read(path: Path, times: Sequence[str], others: Sequence[str], what: str) -> Any:
    """A table of the needed columns: one of ``times`` and all ``others``; ``what``: a row's name, in the plural.

    Raises ConfigError for a file that cannot be read or is empty, and for the first value that is not there.
    """
    import pandas as pd

    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else _csv(path)
    except (OSError, ValueError, Warning, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    if table.empty:
        raise ConfigError(
            f"{path}: no {what}; needed are columns {' or '.join(times)}, {', '.join(others)} and a row each"
        )
    table.columns = [str(name).strip() for name in table.columns]
    needed = _needed(path, list(table.columns), times, others)
    for name in needed:
        absent = table[name].isna().to_numpy()
        if absent.any():
            line = int(np.argmax(absent)) + 2
            raise ConfigError(f"{path}:{line}: no value for {name}; needed in each row are {', '.join(needed)}")
    return table[needed]


def _csv(path: Path) -> Any:
    """Text as it stands, a row for each line below the header; empty lines at the end do not count."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            table = pd.read_csv(path, dtype=str, index_col=False, skip_blank_lines=False)
        except (pd.errors.ParserWarning, pd.errors.ParserError):
            _check_lines(path)
            raise
    _check_separator(path, list(table.columns))
    filled = np.flatnonzero(table.notna().any(axis=1).to_numpy())
    return table.iloc[: int(filled[-1]) + 1 if filled.size else 0]


def _check_lines(path: Path) -> None:
    """Raise ConfigError for the first line with more values than there are names of columns."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        names = next(lines)
        _check_separator(path, names)
        for values in lines:
            if len(values) > len(names):
                raise ConfigError(
                    f"{path}:{lines.line_num}: found {len(values)} values; "
                    f"needed are {len(names)}, as the first line has names: {', '.join(names)}"
                )


def _check_separator(path: Path, names: Sequence[str]) -> None:
    """Raise ConfigError where the one name of a column is several, with something else than commas between them."""
    for sign, called in _SEPARATORS.items():
        if len(names) == 1 and sign in names[0]:
            raise ConfigError(f"{path}:1: found columns separated by {called}; needed are commas")


def _needed(path: Path, columns: list[str], times: Sequence[str], others: Sequence[str]) -> list[str]:
    """The columns to read; raises ConfigError naming a misspelt one, or one that is not there."""
    present = [name for name in times if name in columns]
    needed = [*(present or times[:1]), *others]
    for name in needed:
        if columns.count(name) > 1:
            raise ConfigError(f"{path}:1: column '{name}' twice")
        if name not in columns:
            unknown = [other for other in columns if other not in needed]
            raise ConfigError(f"{path}:1: {_absent(times if name in times else (name,), unknown)}")
    if len(present) > 1:
        found = " and ".join(f"'{name}'" for name in present)
        raise ConfigError(f"{path}:1: found columns {found}; needed is one of them")
    return needed


def _absent(meant: Sequence[str], others: list[str]) -> str:
    for other in others:
        if hint := nearest(other, meant):
            return f"unknown column '{other}'{hint}"
    return f"no column {' or '.join(repr(each) for each in meant)}; the first line names the columns"


def integers(path: Path, table: Any, name: str) -> Numbers:
    """A column of integers; raises ConfigError for the first that is none."""
    values = table[name].to_numpy()
    check_kind(path, values, name)
    if values.dtype.kind in "iu":
        check(path, values > _LARGEST, values, name, _INTEGERS)
        return np.asarray(values, np.int64)
    found = [_integer(str(value)) for value in values.tolist()]
    check(path, np.array([each is None for each in found]), values, name, _INTEGERS)
    return np.asarray(found, np.int64)


def _integer(text: str) -> int | None:
    """The number, None where it is not written as one or does not fit."""
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        return None
    sign, hexadecimal, decimal = match.groups()
    number = int(hexadecimal, 16) if hexadecimal else int(decimal)
    return None if number > _LARGEST else -number if sign == "-" else number


def check_kind(path: Path, values: Any, name: str) -> None:
    """Raise ConfigError for a typed column (parquet) of something else than numbers or text."""
    if values.dtype.kind not in "iufOUST":
        raise ConfigError(f"{path}: column '{name}': found {values.dtype}; allowed numbers")


def check(path: Path, wrong: Any, values: Any, name: str, allowed: str) -> None:
    """Raise ConfigError for the first row that is wrong; rows are lines of the file below its header."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ConfigError(f"{path}:{row + 2}: {name}: found {values[row]}; allowed {allowed}")
