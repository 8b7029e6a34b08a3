"""A chip file that is being written: parts with their keys, a source for every number, a place for every key."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from archsim.frontend.foreign.emit import FlowMapping
from archsim.frontend.foreign.ledger import ImportLedger
from archsim.frontend.foreign.names import plain_name, unique
from archsim.frontend.foreign.section import SourceQuantity
from archsim.spec.nodes import Mark


class ChipSheet:
    """Names in use and, by key path, where each number stands in the source."""

    def __init__(self, ledger: ImportLedger) -> None:
        self.ledger = ledger
        self.marks: dict[str, Mark] = {}
        self.names: list[str] = []

    def part(self, name: str, default: str, mark: Mark) -> SheetSection:
        """A part with the nearest free name."""
        found = unique(plain_name(name, default), self.names)
        self.names.append(found)
        return SheetSection(self, found, mark)


class SheetSection:
    """A section with a name ('' of the top level); values in the order in which they are stated."""

    def __init__(self, sheet: ChipSheet, name: str, mark: Mark) -> None:
        self.sheet = sheet
        self.name = name
        self.mark = mark
        self.keys: dict[str, Any] = {"name": name} if name else {}
        self.sources: dict[str, str] = {}

    def put(self, key: str, value: Any) -> None:
        """A value that is no number."""
        self.keys[key] = value
        self.sheet.marks[self._path(key)] = self.mark

    def state(self, key: str, value: Any, of: SourceQuantity, why: str = "") -> None:
        """A value with its source; ``why``: how it follows."""
        self._set(key, value, f"{of.source}{'; ' + why if why else ''}", of.mark)

    def assume(self, key: str, value: Any, why: str) -> None:
        """A value that the source does not have; enters the ledger."""
        said = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        self.sheet.ledger.assume(self._path(key), f"{said}: {why}")
        self._set(key, value, f"estimated: {why}", self.mark)

    def doubt(self, key: str, why: str) -> None:
        """Enter in the ledger that a value which is stated is not exactly the source's."""
        self.sheet.ledger.assume(self._path(key), f"{self.keys[key]}: {why}")

    def document(self) -> dict[str, Any]:
        """The section with its sources."""
        return {**self.keys, "sources": self.sources} if self.sources else dict(self.keys)

    def _set(self, key: str, value: Any, source: str, mark: Mark) -> None:
        outer, _, inner = key.partition(".")
        if inner:
            self.keys.setdefault(outer, FlowMapping())[inner] = value
        else:
            self.keys[key] = FlowMapping(value) if isinstance(value, dict) else value
        self.sources[key] = source
        self.sheet.marks[self._path(key)] = mark

    def _path(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key


def clip(value: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The nearest value of a range."""
    return max(low, min(value, high))
