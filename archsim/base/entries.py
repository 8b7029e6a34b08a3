"""What all caches do alike: entries carry a checksum, files are written beside and renamed, trouble is told once.

An entry is believed only where its seal is that of its content, its key and the file that it lies in: one that was
edited, damaged, or moved from another key or file is dropped. A seal finds accidents and edits; who recomputes it as
well meets the checks of those who use the entry. Whatever goes wrong with a cache costs the cache, never the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from pathlib import Path

from archsim.base import progress
from archsim.base.plain import visible
from archsim.base.whole_files import READABLE, put, replaced

AGAIN = "what it held is worked out again"
_told: dict[str, str] = {}  # warning by what it is about
_noted: set[str] = set()


def warn(about: object, text: str) -> None:
    """Say on stderr what is wrong with a cache: the first thing that is wrong ``about`` a file or folder."""
    if str(about) in _told:
        return
    _told[str(about)] = text
    _say(f"warning: {text}")


def note(text: str) -> None:
    """Say on stderr, once, what caches will spare the next process."""
    if text in _noted:
        return
    _noted.add(text)
    _say(text)


def _say(text: str) -> None:
    with contextlib.suppress(OSError, AttributeError), progress.aside():  # stderr is closed, or there is none
        print(visible(text), file=sys.stderr, flush=True)


def told() -> tuple[str, ...]:
    """All warnings of this process, in order."""
    return tuple(_told.values())


def seal(place: str, key: str, content: object) -> str:
    """The checksum of an entry: of its JSON ``content``, its key, and the name of the file that it belongs to."""
    text = json.dumps([place, key, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def replace(path: Path, data: bytes, mode: int = READABLE) -> None:
    """Write a file beside its place, then rename it, so that nobody ever sees half of it. Raises OSError, and leaves
    nothing behind then; ``mode``: its permissions, less what the user masks. It is not waited for the disk: what a
    power cut takes is dropped by its seal."""
    with replaced([path]) as (beside,):
        put(beside, data, mode, durable=False)


def unkept(path: Path, error: OSError) -> None:
    """Say, once for all caches, that what is new is not kept."""
    reason = error.strerror or str(error)
    warn("unkept", f"cache {path}: cannot be written ({reason}); what is new is not kept")


def unread(path: Path, error: OSError) -> None:
    """Say that what a file holds cannot be read."""
    reason = error.strerror or str(error)
    warn(path, f"cache {path}: cannot be read ({reason}); {AGAIN}")


def dropped(path: Path, why: str) -> None:
    """Say that an entry of a file is not believed; of those that follow nothing more is said."""
    warn(path, f"cache {path}: {why}; dropped, and {AGAIN}")
