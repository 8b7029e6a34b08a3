"""The options of one layer entry: typed look-ups that name file, line and key path when something does not fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

from archsim.base.errors import ConfigError, nearest, nearest_spare
from archsim.frontend.workload_yaml.expression import evaluate
from archsim.spec.nodes import FileNode as Text

Shape = tuple[int, ...]


class EntryOptions:
    """A mapping of the file at key ``path``; ``finish`` refuses keys that no look-up asked for."""

    def __init__(self, node: Text, path: str, parameters: Mapping[str, int], known: Collection[str] = ()) -> None:
        """``parameters``: names usable in sizes; ``known``: the keys of the grammar, () where any may be asked for."""
        self.path = path
        self._known = known
        self._node = node
        self._parameters = parameters
        self._asked: dict[str, None] = {}

    @property
    def place(self) -> str:
        """Where this mapping stands: file:line:column and key path."""
        return f"{self._node.mark}: {self.path}"

    def fail(self, message: str, key: str = "") -> NoReturn:
        """Raise ConfigError at a key of this mapping (or at the mapping)."""
        place = self._node.mapping[key].mark if key in self._node.mapping else self._node.mark
        raise ConfigError(f"{place}: {self.path}{'.' + key if key else ''}: {message}")

    def _missing(self, key: str) -> NoReturn:
        """Raise ConfigError for a key that has to be there, with the one that may be meant by it."""
        self.fail(f"key '{key}' is missing{nearest_spare(key, self._node.mapping, self._asked)}")

    def has(self, key: str) -> bool:
        """Whether the file gives ``key``."""
        if self._known and key not in self._known:
            raise TypeError(f"{self.path}: '{key}' is read and stands in no section of the grammar")
        self._asked[key] = None
        return key in self._node.mapping

    def text(self, key: str, default: str | None = None, allowed: tuple[str, ...] = ()) -> str:
        """A word; required when there is no default."""
        if not self.has(key):
            return default if default is not None else self._missing(key)
        found = self._node.mapping[key].value
        if not isinstance(found, str):
            self.fail(f"found {self._shown(key)}; allowed a name", key)
        if allowed and found not in allowed:
            self.fail(f"found '{found}'; allowed {', '.join(allowed)}{nearest(found, allowed)}", key)
        return found

    def word(self, key: str) -> str:
        """The text of a key that may be a word or something else; '' for something else."""
        found = self._node.mapping[key].value if self.has(key) else None
        return found if isinstance(found, str) else ""

    def names(self, key: str) -> tuple[str, ...] | None:
        """A list of names (one name alone is a list of one); None when absent."""
        if not self.has(key):
            return None
        found = self._node.mapping[key]
        items = found.items or [found]
        names = tuple(item.value for item in items if isinstance(item.value, str))
        if len(names) != len(items):
            self.fail(f"found {self._shown(key)}; allowed a list of names", key)
        return names

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        if not self.has(key):
            return default
        found = self._node.mapping[key].value
        return found if isinstance(found, bool) else self.fail(f"found {self._shown(key)}; allowed true, false", key)

    def size(self, key: str, default: int | None = None, low: int = 1) -> int:
        """A whole number or expression of at least ``low``."""
        if not self.has(key):
            return default if default is not None else self._missing(key)
        return self._number(self._node.mapping[key], key, low)

    def listed(self, key: str) -> bool:
        """Whether the file gives a list under ``key``."""
        return self.has(key) and isinstance(self._node.mapping[key].value, list)

    def entries(self, key: str) -> list[Text]:
        """A list of mappings; required."""
        found = self._node.mapping[key].items if self.has(key) else []
        return found or self.fail(
            f"has no {key}; allowed a list of entries such as '- conv: {{out_channels: 16, kernel: 3}}'"
        )

    def real(self, key: str, low: float) -> float:
        """A number of at least ``low``; required."""
        if not self.has(key):
            self._missing(key)
        value = self._node.mapping[key].value
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            self.fail(f"found {self._shown(key)}; allowed a number", key)
        return float(value) if value >= low else self.fail(f"found {value}; allowed {low:g} or more", key)

    @property
    def folder(self) -> Path:
        """The directory of the file."""
        return Path(self._node.mark.file).parent

    def sizes(self, key: str, default: Shape | None = None, low: int = 1) -> Shape:
        """A list of whole numbers or expressions."""
        if not self.has(key):
            return default if default is not None else self._missing(key)
        found = self._node.mapping[key]
        if not isinstance(found.value, list) or not found.items:
            self.fail(f"found {self._shown(key)}; allowed a list of sizes", key)
        return tuple(self._number(item, key, low) for item in found.items)

    def pair(self, key: str, default: int | None = None, low: int = 1) -> Shape:
        """One size for both spatial axes, or a list of two."""
        if self.has(key) and isinstance(self._node.mapping[key].value, list):
            found = self.sizes(key, low=low)
            return found if len(found) == 2 else self.fail(f"found {len(found)} sizes; allowed 1 or 2", key)
        return (self.size(key, default, low),) * 2

    def sides(self, key: str) -> Shape:
        """Top, left, bottom and right from 0: one size, a list of two (height, width) or of all four; 0 when absent."""
        if self.has(key) and isinstance(self._node.mapping[key].value, list):
            found = self.sizes(key, low=0)
            if len(found) not in (2, 4):
                self.fail(f"found {len(found)} sizes; allowed 1, 2 or 4", key)
            return found if len(found) == 4 else found * 2
        return (self.size(key, 0, 0),) * 4

    def inside(self, key: str, parameters: Mapping[str, int], what: str) -> EntryOptions:
        """The mapping under ``key``, an empty one when absent; ``what``: what it has to be."""
        if not self.has(key):
            return EntryOptions(Text({}, self._node.mark), self.path, parameters)
        found = self._node.mapping[key]
        if not isinstance(found.value, dict):
            self.fail(f"found {self._shown(key)}; allowed {what}", key)
        return EntryOptions(found, f"{self.path}.{key}", parameters)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the mapping, as the file has them."""
        return tuple(self._node.mapping)

    def table(self, key: str) -> dict[str, int]:
        """A mapping of names to sizes; {} when absent."""
        if not self.has(key):
            return {}
        found = self._node.mapping[key]
        if not isinstance(found.value, dict):
            self.fail(f"found {self._shown(key)}; allowed a mapping of names to sizes", key)
        return {name: self._number(item, key, 1) for name, item in found.mapping.items()}

    def finish(self) -> None:
        """Refuse the keys that were not asked for."""
        for key in self._node.mapping:
            if key not in self._asked:
                known = sorted(self._asked)
                self.fail(f"unknown key '{key}'; allowed {', '.join(known)}{nearest(key, known)}", key)

    def _number(self, item: Text, key: str, low: int) -> int:
        value = item.value
        if isinstance(value, str):
            try:
                value = evaluate(value, self._parameters)
            except ValueError as error:
                self.fail(f"found '{item.value}': {error}", key)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(f"found {item.plain()!s}; allowed a whole number or arithmetic on parameters", key)
        return value if value >= low else self.fail(f"found {value}; allowed {low} or more", key)

    def _shown(self, key: str) -> str:
        return repr(self._node.mapping[key].plain())
