"""A small file of its own for one thing that a cache knows: JSON with a seal, believed only where that is right.

One that is edited or damaged is dropped with a warning. A folder that cannot be written costs the cache alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from archsim.base import entries

SEAL = "seal"


class SealedFile:
    """The file ``name`` of a ``kind`` below the folder of caches, None where there is none; ``what`` it tells."""

    def __init__(self, folder: Path | None, kind: str, name: str, what: str) -> None:
        self._path = folder / kind / f"{name}.json" if folder is not None else None
        self._kind, self._what = kind, what

    def read(self, is_right: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """What it holds, None where there is none; ``is_right``: whether that has the form of such a thing."""
        if self._path is None:
            return None
        try:
            found = json.loads(self._path.read_bytes())
            content = {name: value for name, value in found.items() if name != SEAL}
            if found[SEAL] == entries.seal(self._path.name, self._kind, content) and is_right(content):
                return content
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            entries.unread(self._path, error)
            return None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # cut short, or none of ours
        entries.dropped(self._path, f"{self._what} was edited, damaged or cut short")
        return None

    def write(self, content: dict[str, Any]) -> None:
        """Remember it."""
        if self._path is None:
            return
        sealed = {**content, SEAL: entries.seal(self._path.name, self._kind, content)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            entries.replace(self._path, json.dumps(sealed).encode())
        except OSError as error:
            entries.unkept(self._path, error)
