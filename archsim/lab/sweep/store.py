"""The index of a sweep: one SQLite file to which each row is committed when it is there, so that nothing is lost.

A row is found by the key of all that it depends on (``keys``): a sweep that goes on takes those that it needs, whatever
was changed in its file. One that failed counts under the limits of a point under which it did.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from archsim.errors import ConfigError
from archsim.lab.sweep.form import Limits
from archsim.lab.sweep.worker import FAILED, Row

FILE = "index.sqlite"
VERSION = 2
_TABLE = """
create table if not exists rows (
    key text primary key, point integer, model text, fidelity text, design text,
    status text, reason text, numbers text, seconds real, limits text
)
"""
_COUNTS = "(status <> ? or limits = ?)"


@dataclass(frozen=True, slots=True)
class Stored:
    """A row as it was kept; ``seconds``: of CPU."""

    status: str
    reason: str
    numbers: dict[str, float | None]
    seconds: float


class Store:
    """Rows in ``folder``, which is made; to be closed. Raises ConfigError when it cannot be used."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        path = folder / FILE
        self._limits = str(limits)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, timeout=60)
            self._base.execute("pragma journal_mode = wal")
            (version,) = self._base.execute("pragma user_version").fetchone()
            if version not in (0, VERSION):
                raise ConfigError(f"{path}: made by another version of archsim; take another --out")
            self._base.execute(_TABLE)
            self._base.execute(f"pragma user_version = {VERSION}")
            self._base.commit()
        except (OSError, sqlite3.Error) as error:
            also = "; another sweep is writing into it" if "locked" in str(error) else ""
            raise ConfigError(f"{path}: cannot be used ({error}{also})") from error

    def put(self, row: Row) -> None:
        """Keep a row; it is on disk when this returns."""
        task = row.task
        design = json.dumps({key: str(value) for key, value in task.values.items()})
        place = task.key, task.point, task.model.label, task.fidelity, design
        self._base.execute(
            "insert or replace into rows values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*place, row.status, row.reason, json.dumps(dict(row.numbers)), row.seconds, self._limits),
        )
        self._base.commit()

    def get(self, keys: Iterable[str]) -> dict[str, Stored]:
        """The rows that are there, by key."""
        found = ((key, self._one(key)) for key in keys)
        return {key: row for key, row in found if row is not None}

    def holds_rows(self) -> bool:
        """Whether any row is there."""
        return self._base.execute("select 1 from rows limit 1").fetchone() is not None

    def close(self) -> None:
        """To be called at the end."""
        self._base.close()

    def _one(self, key: str) -> Stored | None:
        found = f"select status, reason, numbers, seconds from rows where key = ? and {_COUNTS}"
        row = self._base.execute(found, (key, FAILED, self._limits)).fetchone()
        if row is None:
            return None
        status, reason, numbers, seconds = row
        return Stored(status, reason, json.loads(numbers), seconds)


def known(folder: Path, keys: Iterable[str], limits: Limits) -> set[str]:
    """Which rows are there; nothing is made or changed. Raises ConfigError when the index cannot be read."""
    path = folder / FILE
    if not path.exists():
        return set()
    how = "mode=ro" if path.with_name(f"{FILE}-wal").exists() else "immutable=1"  # nobody writes: no file is made
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as base:
            found = base.execute(f"select key from rows where {_COUNTS}", (FAILED, str(limits)))
            return {key for (key,) in found} & set(keys)
    except sqlite3.Error as error:
        raise ConfigError(f"{path}: cannot be used ({error})") from error
