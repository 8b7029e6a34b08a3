"""Typed access to the keys of a YAML mapping, and to the short phrases in it, with file:line:column in every error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

import yaml

from archsim.base.errors import ConfigError, ProgramError, nearest, nearest_spare
from archsim.ir.asm.cursor import WordCursor
from archsim.ir.asm.lexer import phrase
from archsim.spec.nodes import FileNode, parse, scalar
from archsim.spec.problems import Problems

T = TypeVar("T")
MOST = 2_000_000  # values: a mapping of thousands of layers
LONG = 1 << 16  # columns before a text is folded


class MappingFields:
    """The keys of one mapping; ``end`` refuses those that nobody asked for. Raises ConfigError."""

    def __init__(self, node: FileNode, path: str) -> None:
        """``path``: key path of the mapping, '' at the top."""
        self.node = node
        self.path = path
        self._asked: list[str] = []
        if not isinstance(node.value, dict):
            fail(node, path, node.plain(), "a mapping of keys to values")

    def at(self, key: str) -> str:
        """Key path of ``key``."""
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        self._asked.append(key)
        return key in self.node.mapping

    def ask(self, *keys: str) -> None:
        """These keys may be there, whoever reads them."""
        self._asked += keys

    def child(self, key: str) -> FileNode:
        """The value of a key that must be there."""
        if not self.has(key):
            meant = nearest_spare(key, self.node.mapping, self._asked)
            raise ConfigError(f"{self.node.mark}: {self.at(key)}: missing{meant}")
        return self.node.mapping[key]

    def text(self, key: str, allowed: Iterable[str] = ()) -> str:
        """A text; one of ``allowed`` if given."""
        return text_of(self.child(key), self.at(key), tuple(allowed))

    def integer(self, key: str) -> int:
        """An integer of 0 or more."""
        return integer_of(self.child(key), self.at(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; () when the key is not there."""
        return texts_of(self.child(key), self.at(key)) if self.has(key) else ()

    def items(self, key: str) -> list[tuple[FileNode, str]]:
        """The items of a list with their key paths; [] when the key is not there."""
        if not self.has(key):
            return []
        return items_of(self.child(key), self.at(key))

    def entries(self, key: str) -> list[tuple[str, FileNode, str]]:
        """The entries of a mapping: name, value, key path; [] when the key is not there."""
        if not self.has(key):
            return []
        node = self.child(key)
        if not isinstance(node.value, dict):
            fail(node, self.at(key), node.plain(), "a mapping of names to values")
        return [(name, item, f"{self.at(key)}.{name}") for name, item in node.mapping.items()]

    def end(self) -> None:
        """Refuse keys that do not belong here, all at once."""
        problems = Problems()
        for key, child in self.node.mapping.items():
            if key not in self._asked:
                allowed = ", ".join(dict.fromkeys(self._asked))
                problems.add(child.mark, self.at(key), f"unknown key; allowed {allowed}{nearest(key, self._asked)}")
        problems.raise_all()


def fail(node: FileNode, path: str, found: object, allowed: str) -> NoReturn:
    """Raise what was found at a place and what is allowed there."""
    raise ConfigError(f"{node.mark}: {path or 'document'}: found {found!r}; allowed {allowed}")


def text_of(node: FileNode, path: str, allowed: tuple[str, ...] = ()) -> str:
    """A node's text; one of ``allowed`` if given."""
    if not isinstance(node.value, str):
        fail(node, path, node.plain(), ", ".join(allowed) or "text")
    if allowed and node.value not in allowed:
        fail(node, path, node.value, ", ".join(allowed) + nearest(node.value, allowed))
    return node.value


def items_of(node: FileNode, path: str) -> list[tuple[FileNode, str]]:
    """The items of a list with their key paths."""
    if not isinstance(node.value, list):
        fail(node, path, node.plain(), "a list")
    return [(item, f"{path}[{number}]") for number, item in enumerate(node.items)]


def texts_of(node: FileNode, path: str) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(text_of(item, at) for item, at in items_of(node, path))


def integer_of(node: FileNode, path: str) -> int:
    """A node's integer of 0 or more."""
    if isinstance(node.value, bool) or not isinstance(node.value, int) or node.value < 0:
        fail(node, path, node.plain(), "an integer of 0 or more")
    return node.value


def phrase_of(node: FileNode, path: str, read: Callable[[WordCursor], T]) -> T:
    """A node's text read as words (names, numbers, brackets) by ``read``, to its end."""
    text = text_of(node, path)
    cursor = WordCursor(phrase(text, node.mark.line, node.mark.file), node.mark.file)
    try:
        value = read(cursor)
        if not cursor.ended:
            cursor.fail(f"the end of {path}")
    except ProgramError as error:
        raise ConfigError(f"{error} in {path}: {text}") from None
    return value


def open_form(text: str, path: str, *schemas: str) -> MappingFields:
    """The document's fields after checking its ``schema`` line."""
    fields = MappingFields(parse(text, path, MOST), "")
    fields.text("schema", schemas)
    return fields


def frozen(value: object) -> object:
    """JSON values with lists as tuples."""
    if isinstance(value, list):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value


def json_of(node: FileNode, path: str) -> Any:
    """A node's text read as JSON, lists as tuples."""
    text = text_of(node, path)
    try:
        return frozen(json.loads(text))
    except json.JSONDecodeError as error:
        fail(node, path, text, f"JSON ({error})")


class OneLineList(list[Any]):
    """A list to be written on one line."""


class OneLineMapping(dict[str, Any]):
    """A mapping to be written on one line."""


class _Dumper(yaml.CSafeDumper):
    """Quotes every text that ``spec.nodes`` would read as something else."""


def _text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    plain = isinstance(scalar(value), str)
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


def _row(dumper: yaml.CSafeDumper, value: OneLineList) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)


def _pairs(dumper: yaml.CSafeDumper, value: OneLineMapping) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=True)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(OneLineList, _row)
_Dumper.add_representer(OneLineMapping, _pairs)


def to_yaml(document: dict[str, Any]) -> str:
    """YAML text of plain data, keys in their order."""
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=LONG, default_flow_style=False))
