"""The index of a sweep: one SQLite file to which each row is committed when it is there, so that nothing is lost.

A row is found by the key of all that it depends on (``keys``): a sweep that goes on takes those that it needs, whatever
was changed in its file. One that failed counts under the limits of a point under which it did. Each row carries a hash
of what it says: one that was changed by hand, or by a disk, is no row, and is worked out again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archsim.base.errors import ConfigError
from archsim.lab.sweep.form import SweepLimits
from archsim.lab.sweep.worker import FAILED, SweepRow

FILE = "index.sqlite"
VERSION = 3
OPENING_S, WRITING_S = 2.0, 20.0  # that another program may hold the index before this one says so and ends
_COLUMNS = ("key", "point", "model", "fidelity", "design", "status", "reason", "numbers", "seconds", "limits")
_TABLE = """
create table if not exists rows (
    key text primary key, point integer, model text, fidelity text, design text,
    status text, reason text, numbers text, seconds real, limits text, sha256 text
)
"""
_COUNTS = "(status <> ? or limits = ?)"
_ROWS = f"select {', '.join(_COLUMNS)}, sha256 from rows where key = ? and {_COUNTS}"
_SAID = {
    sqlite3.SQLITE_FULL: "the disk is full; make room and go on with --resume",
    sqlite3.SQLITE_BUSY: "another program is writing into it; wait for it, or take another --out",
    sqlite3.SQLITE_LOCKED: "another program is writing into it; wait for it, or take another --out",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it away and sweep again, or take another --out",
    sqlite3.SQLITE_NOTADB: "it is damaged; move it away and sweep again, or take another --out",
    sqlite3.SQLITE_IOERR: "the disk is full or broken; mend it and go on with --resume",
    sqlite3.SQLITE_READONLY: "it may not be written; take another --out",
}
_PRIMARY = 0xFF  # of SQLite's codes: the rest says where it happened


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row as it was kept; ``seconds``: of CPU."""

    status: str
    reason: str
    numbers: dict[str, float | None]
    seconds: float


class RowStore:
    """Rows in ``folder``, which is made; to be closed. Raises ConfigError when it cannot be used, at any time.

    ``say`` is told of rows that were changed by others.
    """

    def __init__(self, folder: Path, limits: SweepLimits, say: Callable[[str], None] = lambda text: None) -> None:
        self._path = folder / FILE
        self._limits = str(limits)
        self._say = say
        self._told: set[str] = set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{self._path}: cannot be used ({error})") from error
        with _explained(self._path):
            self._base = sqlite3.connect(self._path, timeout=OPENING_S)
            self._open()

    def put(self, row: SweepRow) -> None:
        """Keep a row; it is on disk when this returns."""
        task = row.task
        design = json.dumps({key: str(value) for key, value in task.values.items()})
        place = task.key, task.point, task.model.label, task.fidelity, design
        said = row.status, row.reason, json.dumps(dict(row.numbers)), float(row.seconds)
        values = (*place, *said, self._limits)
        marks = ", ".join("?" * (len(values) + 1))
        with _explained(self._path):
            try:
                self._write(f"insert or replace into rows values ({marks})", (*values, _sha256(values)))
            except sqlite3.OperationalError as error:
                if _number(error) != sqlite3.SQLITE_BUSY:
                    raise
                self._say(f"{self._path}: another program holds it; waiting up to {WRITING_S:g} s")
                self._base.execute(f"pragma busy_timeout = {round(1000 * WRITING_S)}")
                self._write(f"insert or replace into rows values ({marks})", (*values, _sha256(values)))

    def get(self, keys: Iterable[str]) -> dict[str, StoredRow]:
        """The rows that are there, by key."""
        with _explained(self._path):
            found = ((key, self._one(key)) for key in keys)
            return {key: row for key, row in found if row is not None}

    def holds_rows(self) -> bool:
        """Whether any row is there."""
        with _explained(self._path):
            return self._base.execute("select 1 from rows limit 1").fetchone() is not None

    def close(self) -> None:
        """To be called at the end."""
        self._base.close()

    def _open(self) -> None:
        """Make the table, or see that it is of this version."""
        self._base.execute("pragma journal_mode = wal")
        (version,) = self._base.execute("pragma user_version").fetchone()
        if version not in (0, VERSION):
            raise ConfigError(f"{self._path}: made by another version of archsim; take another --out")
        with self._base:
            self._base.execute("begin immediate")  # who cannot write is told now
            self._base.execute(_TABLE)
            self._base.execute(f"pragma user_version = {VERSION}")

    def _write(self, statement: str, values: Sequence[Any]) -> None:
        with self._base:
            self._base.execute(statement, values)

    def _one(self, key: str) -> StoredRow | None:
        row = self._base.execute(_ROWS, (key, FAILED, self._limits)).fetchone()
        if row is None:
            return None
        if not _is_whole(row):
            if key not in self._told:
                self._told.add(key)
                what = f"the row of point {row[1]} of {row[2]} was changed after it was written; it is worked out again"
                self._say(f"warning: {self._path}: {what}")
            return None
        _, _, _, _, _, status, reason, numbers, seconds, *_ = row
        return StoredRow(status, reason, json.loads(numbers), seconds)


def known(folder: Path, keys: Iterable[str], limits: SweepLimits) -> set[str]:
    """Which rows are there; nothing is made or changed. Raises ConfigError when the index cannot be read."""
    path = folder / FILE
    if not path.exists():
        return set()
    how = "mode=ro" if path.with_name(f"{FILE}-wal").exists() else "immutable=1"  # nobody writes: no file is made
    with _explained(path), closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as base:
        (version,) = base.execute("pragma user_version").fetchone()
        if version == 0:
            return set()  # made, and nothing more
        if version != VERSION:
            raise ConfigError(f"{path}: made by another version of archsim; take another --out")
        rows = ((key, base.execute(_ROWS, (key, FAILED, str(limits))).fetchone()) for key in keys)
        return {key for key, row in rows if row is not None and _is_whole(row)}


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Errors of SQLite as ConfigError that says what happened to the index and what can be done."""
    try:
        yield
    except sqlite3.Error as error:
        said = _SAID.get(_number(error), "take another --out")
        raise ConfigError(f"{path}: cannot be used ({error}): {said}") from error


def _number(error: sqlite3.Error) -> int:
    """SQLite's primary code of an error, 0 where it has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY


def _sha256(values: Sequence[Any]) -> str:
    """Of the columns of a row before its hash."""
    return hashlib.sha256(json.dumps(list(values)).encode()).hexdigest()


def _is_whole(row: Sequence[Any]) -> bool:
    """Whether a row says what was written. ``row``: its columns, the hash last."""
    try:
        return _sha256(row[:-1]) == str(row[-1])
    except (TypeError, ValueError):  # bytes where text was
        return False
