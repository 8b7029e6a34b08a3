"""A place in a file of another tool: typed look-ups that enter each key in the ledger and name file:line:column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from pathlib import PurePath
from typing import NoReturn

from archsim.base.errors import ConfigError
from archsim.base.plain import visible
from archsim.base.units import shown
from archsim.frontend.foreign.expression import evaluate
from archsim.frontend.foreign.ledger import APPROXIMATED, IGNORED, READ, REFUSED, ImportLedger
from archsim.spec.nodes import FileNode, Mark

MOST = 2**40  # of an extent or a number of instances
_UNIT = re.compile(r"\s*[0-9][0-9_.]*(?:[eE][+-]?[0-9]+)?\s*([A-Za-z\u00b5%][A-Za-z0-9/^]*)\s*")
_LONGEST = 80  # characters of a value that a source repeats


@dataclass(frozen=True)
class SourceQuantity:
    """A number with where it comes from: ``source`` says file, key and text; ``path`` is its key, at ``mark``."""

    value: Fraction
    source: str
    mark: Mark
    path: str = ""

    def scaled(self, factor: Fraction | int, why: str = "") -> SourceQuantity:
        """In another unit, or for several instances; ``why`` is added to the source."""
        return replace(self, value=self.value * factor, source=f"{self.source}{'; ' + why if why else ''}")


class SourceSection:
    """A node at ``path``. Look-ups of keys that are absent give None or the default and enter nothing."""

    def __init__(self, node: FileNode, path: str, ledger: ImportLedger) -> None:
        """``path``: the key path of the node, '' of a document."""
        self.node = node
        self.path = path
        self.ledger = ledger

    @property
    def tag(self) -> str:
        """The tag of the node, such as ``!Component``."""
        return self.node.tag

    def __contains__(self, key: str) -> bool:
        """Whether there is such a key, with or without a value."""
        return key in self.node.mapping

    def __iter__(self) -> Iterator[str]:
        """The keys of a mapping."""
        return iter(list(self.node.mapping))

    def key_path(self, key: str) -> str:
        """The path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def fail(self, message: str, key: str = "") -> NoReturn:
        """Raise ConfigError at a key of this mapping (or at the mapping)."""
        place = self.node.mapping[key].mark if key in self.node.mapping else self.node.mark
        path = self.key_path(key) if key else self.path
        raise ConfigError(f"{place}: {path + ': ' if path else ''}{message}")

    def at(self, key: str) -> SourceSection | None:
        """The section under a key; None where it is absent or empty."""
        found = self.node.mapping.get(key)
        if found is None or found.value is None:
            return None
        return SourceSection(found, self.key_path(key), self.ledger)

    def mapping(self, key: str) -> SourceSection | None:
        """As ``at``; raises where the value is no mapping."""
        found = self.at(key)
        if found is not None and not isinstance(found.node.value, dict):
            self.fail(f"found {shown(found.node.plain())}; allowed a mapping", key)
        return found

    def items(self) -> list[SourceSection]:
        """The entries of a list."""
        return [SourceSection(node, f"{self.path}[{at}]", self.ledger) for at, node in enumerate(self.node.items)]

    def entries(self, key: str) -> list[SourceSection]:
        """The mappings listed under a key, () where it is absent."""
        found = self.at(key)
        if found is None:
            return []
        if not isinstance(found.node.value, list):
            self.fail(f"found {shown(found.node.plain())}; allowed a list", key)
        return found.items()

    def enter(self, state: str, said: str, *keys: str) -> None:
        """Enter what stands under the keys that are there, or with no key all of this section."""
        if not keys:
            self.ledger.enter(state, self.path, self.node, said)
        for key in keys:
            if key in self.node.mapping:
                self.ledger.enter(state, self.key_path(key), self.node.mapping[key], said)

    def take(self, to: str, *keys: str) -> None:
        """Enter keys as read, ``to`` what they became."""
        self.enter(READ, to, *keys)

    def approximate(self, why: str, *keys: str) -> None:
        """Enter keys as approximated: what is written follows them in part; ``why`` says what is lost."""
        self.enter(APPROXIMATED, why, *keys)

    def ignore(self, why: str, *keys: str) -> None:
        """Enter keys as ignored."""
        self.enter(IGNORED, why, *keys)

    def refuse(self, why: str, *keys: str) -> None:
        """Enter keys as refused: they would change the result and cannot be expressed; ``why`` says what to do."""
        self.enter(REFUSED, why, *keys)

    def text(self, key: str, to: str, default: str = "") -> str:
        """A word; numbers as they are written. It is entered as read, unless ``to`` is ''."""
        found = self.node.mapping.get(key)
        if found is None or found.value is None:
            return default
        if isinstance(found.value, (dict, list)):
            self.fail(f"found {shown(found.plain())}; allowed a text", key)
        if to:
            self.take(to, key)
        return str(found.value)

    def flag(self, key: str, to: str, default: bool = False) -> bool:
        """true or false."""
        text = self.text(key, to, str(default)).lower()
        if text not in ("true", "false", "1", "0"):
            self.fail(f"found {shown(text)}; allowed true or false", key)
        return text in ("true", "1")

    def number(self, key: str, to: str, names: Mapping[str, object] | None = None) -> SourceQuantity | None:
        """A number of 0 or more, None where it is absent or infinite."""
        found = self.node.mapping.get(key)
        if found is None or found.value is None:
            return None
        return self._quantity(found, key, to, names)

    def endless(self, key: str, names: Mapping[str, object] | None = None) -> bool:
        """Whether a number is infinite."""
        found = self.node.mapping.get(key)
        return found is not None and found.value is not None and self._value(found, key, names) == inf

    def first(self, to: str, *keys: str, names: Mapping[str, object] | None = None) -> SourceQuantity | None:
        """The number of the first of some spellings of a key that is there."""
        for key in keys:
            if key in self.node.mapping:
                return self.number(key, to, names)
        return None

    def count(self, key: str, to: str, names: Mapping[str, object] | None = None) -> int | None:
        """A whole number from 1 to 2^40."""
        found = self.number(key, to, names)
        if found is None:
            return None
        if found.value.denominator != 1 or not 1 <= found.value <= MOST:
            self.fail(f"found {shown(self.node.mapping[key].plain())}; allowed a whole number from 1 to 2^40", key)
        return int(found.value)

    def words(self, key: str, to: str) -> list[str]:
        """A list of texts; a text alone is a list of one, or of those between commas."""
        found = self.node.mapping.get(key)
        if found is None or found.value is None:
            return []
        given = found.items or ([] if isinstance(found.value, list) else [found])
        if any(isinstance(item.value, (dict, list)) for item in given):
            self.fail(f"found {shown(found.plain())}; allowed a list of texts", key)
        self.take(to, key)
        if isinstance(found.value, str):
            return [part.strip() for part in found.value.split(",") if part.strip()]
        return [str(item.value) for item in given]

    def _quantity(self, node: FileNode, key: str, to: str, names: Mapping[str, object] | None) -> SourceQuantity | None:
        value = self._value(node, key, names)
        self.take(to, key)
        if isinstance(value, float):
            return None
        return SourceQuantity(value, self.source(key), node.mark, self.key_path(key))

    def _value(self, node: FileNode, key: str, names: Mapping[str, object] | None) -> Fraction | float:
        try:
            value = evaluate(node.value, names)
        except ConfigError as error:
            unit = _UNIT.fullmatch(str(node.value))
            hint = f"; units are not allowed in these files: a plain number, without '{unit[1]}'" if unit else ""
            self.fail(f"{error}{hint}", key)
        if value < 0:
            self.fail(f"found {shown(node.plain())}; allowed a number of 0 or more", key)
        return value

    def source(self, key: str) -> str:
        """File, key and text of a value, for ``source:``."""
        node = self.node.mapping[key]
        said = visible(str(node.plain()))
        said = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."
        return f"{PurePath(node.mark.file).name}: {self.key_path(key)} {said}"
