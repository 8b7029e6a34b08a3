"""What was measured on the exact model of one DRAM part, kept for later runs.

Rates follow from the part, the controller and the pattern alone; so a file of them is named by a hash of the part and
of the code of the model, and holding them or not changes no result. A measurement is one line of JSON that is added to
the file in one write: several processes may add to it, and a line that was cut short is no line. A file that cannot be
read or written is no error.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from archsim.caches import code_sha256, folder

SOURCES = ("archsim.memory.dram", "archsim.sim.clock", "archsim.kernels")
MOST_BYTES = 4 << 20  # of a file: some 40,000 measurements; a larger one is begun anew


class Measured:
    """Integers by what was measured. ``part``: all that is the same in every measurement, as text."""

    def __init__(self, part: object) -> None:
        root = folder()
        name = _digest((part, sys.version_info[:2], code_sha256(SOURCES)))
        self._path = root / "dram" / f"{name}.jsonl" if root is not None else None
        self._known = _read(self._path) if self._path is not None else {}

    def numbers(self, what: object, measure: Callable[[], Sequence[int]]) -> tuple[int, ...]:
        """What ``measure`` gives, called unless ``what`` (as text) was measured before."""
        key = _digest(what)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(int(number) for number in measure())
            self._add(key, found)
        return found

    def _add(self, key: str, numbers: tuple[int, ...]) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab", buffering=0) as file:
                file.write(f"\n{json.dumps([key, *numbers])}\n".encode())
        except OSError:
            self._path = None


def _read(path: Path) -> dict[str, tuple[int, ...]]:
    try:
        if path.stat().st_size > MOST_BYTES:
            path.unlink()
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        try:
            key, *numbers = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue  # empty, cut short, or none of ours
        if isinstance(key, str) and all(isinstance(number, int) for number in numbers):
            found[key] = tuple(numbers)
    return found


def _digest(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:32]
