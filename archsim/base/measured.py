"""What was measured on an exact model, as of one DRAM part or one network, kept for later runs.

Rates follow from the part and from what it is asked for alone; so a file of them is named by a hash of the part and of
the code of the model, and holding them or not changes no result. A measurement is one line of JSON, sealed
(``archsim.base.entries``), that is added to the file in one write: several processes may add to it. A line that was
edited or cut short, or whose numbers are none of what was asked, is dropped with a warning, and the file written anew
without it. A file that cannot be read or written costs the cache alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from archsim.base import entries
from archsim.base.caches import code_sha256, folder

MOST_BYTES = 4 << 20  # of a file: some 40,000 measurements; a larger one is begun anew


class MeasuredModel(NamedTuple):
    """What is measured: the ``folder`` of its files, its ``name`` in messages, and the ``sources`` of its code."""

    folder: str
    name: str
    sources: tuple[str, ...]


class MeasuredIntegers:
    """Integers by what was measured. ``part``: all that is the same in every measurement, as text."""

    def __init__(self, model: MeasuredModel, part: object) -> None:
        root, self._model = folder(), model
        name = _digest((part, sys.version_info[:2], code_sha256(model.sources)))
        self._path = root / model.folder / f"{name}.jsonl" if root is not None else None
        self._known = _read(self._path, model) if self._path is not None else {}

    def numbers(
        self, what: object, measure: Callable[[], Sequence[int]], least: Sequence[int] | None = None
    ) -> tuple[int, ...]:
        """What ``measure`` gives, called unless ``what`` (as text) was measured before.

        ``least``: as many numbers as there are, none of which can be less (None: any); what is kept must be so.
        """
        key = _digest(what)
        found = self._known.get(key)
        if found is not None and not _is_sound(found, least):
            assert self._path is not None
            entries.dropped(self._path, f"a rate of {self._model.name} is none")
            found = None
        if found is None:
            found = self._known[key] = tuple(int(number) for number in measure())
            self._add(key, found)
        return found

    def _add(self, key: str, numbers: tuple[int, ...]) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _append(self._path, f"\n{_line(self._path.name, key, numbers)}\n".encode())
        except OSError as error:
            entries.unkept(self._path, error)
            self._path = None


def _append(path: Path, line: bytes) -> None:
    """Add a line in one write; raises OSError, the file without the part of the line for which there was room."""
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            written = file.write(line)
            while written < len(line):
                written += file.write(line[written:])  # which says why there is no room
        except OSError:
            file.truncate(before)
            raise


def _is_sound(numbers: tuple[int, ...], least: Sequence[int] | None) -> bool:
    if least is None:
        return True
    return len(numbers) == len(least) and all(n >= low for n, low in zip(numbers, least, strict=True))


def _line(place: str, key: str, numbers: tuple[int, ...]) -> str:
    return json.dumps([key, entries.seal(place, key, numbers), *numbers])


def _read(path: Path, model: MeasuredModel) -> dict[str, tuple[int, ...]]:
    """What a file holds; lines that are no measurements of it are told, and it is written anew without them."""
    try:
        found = path.stat()
        if found.st_size > MOST_BYTES:
            path.unlink()
        return dict(_lines(path, model, found.st_size, found.st_mtime_ns))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        entries.unread(path, error)
        return {}


@lru_cache(maxsize=8)
def _lines(path: Path, model: MeasuredModel, _size: int, _time: int) -> dict[str, tuple[int, ...]]:
    """The same of a file of this size and time, read once by a process that runs many designs; raises OSError."""
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    told = [_entry(path.name, line) for line in lines]
    found = dict(entry for entry in told if entry is not None)
    wrong = told.count(None)
    if wrong:
        entries.dropped(path, f"{wrong} of {len(lines)} rates of {model.name} were edited, damaged or cut short")
        _rewrite(path, found)
    return found


def _entry(place: str, line: bytes) -> tuple[str, tuple[int, ...]] | None:
    """Key and numbers of a line, None where it is no measurement that was written to this file."""
    try:
        key, sealed, *numbers = json.loads(line)
        whole = isinstance(key, str) and all(type(number) is int for number in numbers)
        if whole and sealed == entries.seal(place, key, numbers):
            return key, tuple(numbers)
    except (ValueError, TypeError, RecursionError):
        pass  # cut short, or none of ours
    return None


def _rewrite(path: Path, found: dict[str, tuple[int, ...]]) -> None:
    text = "\n".join(_line(path.name, key, numbers) for key, numbers in found.items())
    try:
        entries.replace(path, f"{text}\n".encode())
    except OSError as error:
        entries.unkept(path, error)


def _digest(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:32]
