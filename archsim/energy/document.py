"""Reading of table files: figures with sources, errors that name file and key."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from archsim.errors import ConfigError, nearest
from archsim.spec import nodes
from archsim.spec.locate import config_files
from archsim.spec.part import Sourced


class Document:
    """A table file. A figure is ``{value: NUMBER, source: TEXT}``; TEXT may be a key of the file's ``sources``."""

    def __init__(self, path: Path, schema: str) -> None:
        self._path = path
        self._tree: Mapping[str, Any] = nodes.read(path).plain()
        if self._tree.get("schema") != schema:
            raise ConfigError(f"{path}: schema: found '{self._tree.get('schema')}'; allowed '{schema}'")

    def figure(self, *keys: str) -> Sourced:
        """The figure at a key path; raises ConfigError when it is missing, negative or without a source."""
        found = self.mapping(*keys)
        return Sourced(self.number(found.get("value"), *keys, "value"), self.source(found.get("source"), *keys))

    def mapping(self, *keys: str) -> Mapping[str, Any]:
        """The mapping at a key path."""
        return self._at(keys, dict, "a mapping")  # type: ignore[no-any-return]

    def rows(self, *keys: str) -> list[Any]:
        """The list at a key path."""
        return self._at(keys, list, "a list")  # type: ignore[no-any-return]

    def number(self, value: object, *keys: str) -> float:
        """``value`` as a number of 0 or more; ``keys`` name its place in errors."""
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value < 0:
            raise self._wrong(keys, value, "a number of 0 or more")
        return float(value)

    def source(self, value: object, *keys: str) -> str:
        """The text of a source, looked up in ``sources`` when it is a key there."""
        if not isinstance(value, str) or not value:
            raise self._wrong((*keys, "source"), value, "where the number comes from")
        known = self._tree.get("sources", {})
        return str(known.get(value, value))

    def _at(self, keys: tuple[str, ...], kind: type, allowed: str) -> Any:
        here: Any = self._tree
        for key in keys:
            here = here.get(key) if isinstance(here, dict) else None
        if not isinstance(here, kind):
            raise self._wrong(keys, here, allowed)
        return here

    def _wrong(self, keys: tuple[str, ...], value: object, allowed: str) -> ConfigError:
        return ConfigError(f"{self._path}: {'.'.join(keys)}: found '{value}'; allowed {allowed}")


def find(kind: str, name: str, what: str) -> Path:
    """The table file ``name`` of ``kind``; raises ConfigError naming those that exist."""
    files = config_files(kind)
    if name not in files:
        raise ConfigError(f"no {what} '{name}' in configs/{kind}{nearest(name, files)}; known: {', '.join(files)}")
    return files[name]
