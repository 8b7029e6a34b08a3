"""YAML text to a tree of nodes that know their place: nothing is ever constructed from tags.

The tree is built from the parser's events alone, so no tag can make an object and no alias is expanded
beyond a limit. Refused with file:line:column: duplicate keys, tags, tabs as indentation, more than one
document, a document that is not a mapping, oversized files, too many aliases or nodes. Plain scalars follow
the core schema of YAML 1.2 (``no``, ``on`` and ``010`` are text or decimal numbers, not booleans or octals);
numbers with a point stay exact (Decimal).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from archsim.base.errors import ConfigError

MAX_BYTES = 2**20
NEWLINE = b"\n"
MAX_NODES = 20_000  # after expansion of aliases
MAX_ALIASES = 100
MAX_DEPTH = 32
MERGE = "<<"

Scalar = None | bool | int | Decimal | str
_INTEGER = re.compile(r"[-+]?[0-9]{1,40}")
_DECIMAL = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}\.[0-9]{0,40})([eE][-+]?[0-9]{1,2})?")
_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file; line and column count from 1. Line 0: not from a file (an option, a call)."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """``file:line:column``, or the name alone when the value is not from a file."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(slots=True)
class FileNode:
    """A value with the place of its key (of the value itself in lists) and, later, its source."""

    value: Scalar | dict[str, FileNode] | list[FileNode]
    mark: Mark
    source: str = field(default="", compare=False)
    tag: str = field(default="", compare=False)  # of files of other tools alone, such as '!Component'

    @property
    def mapping(self) -> dict[str, FileNode]:
        """The children of a mapping; empty for everything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[FileNode]:
        """The children of a list; empty for everything else."""
        return self.value if isinstance(self.value, list) else []

    def plain(self) -> Any:
        """The tree as plain dicts, lists and scalars."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def leaves(self, prefix: str = "") -> Iterator[tuple[str, FileNode]]:
        """Every leaf under a mapping with its key path; a list counts as one leaf."""
        for key, child in self.mapping.items():
            path = f"{prefix}{key}"
            if isinstance(child.value, dict):
                yield from child.leaves(f"{path}.")
            else:
                yield path, child


def read(path: str | Path) -> FileNode:
    """The tree of a YAML file; raises ConfigError naming the file for everything that cannot be read."""
    return parse(bounded_text(path), str(path))


def bounded_text(path: str | Path) -> str:
    """The text of a file of at most ``MAX_BYTES``; raises ConfigError naming the file for what cannot be read."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{_place(path, data)}: more than {MAX_BYTES} bytes; allowed files of at most 1 MiB")
    return decoded(data, path)


def decoded(data: bytes, path: str | Path) -> str:
    """The text of a file's bytes; raises ConfigError with file:line:column for what is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{_place(path, data[: error.start])}: not UTF-8 text (byte {error.start})") from None


def parse_foreign(text: str, file: str) -> FileNode:
    """The tree of YAML text that another tool reads: a mapping or a list, tags kept as text, ``<<`` merged.

    The limits are those of ``parse``. Raises ConfigError with file:line:column.
    """
    return _parsed(text, file, MAX_NODES, foreign=True)


def _place(path: str | Path, before: bytes) -> str:
    """The place in a file behind some of its bytes."""
    return f"{path}:{before.count(NEWLINE) + 1}:{len(before) - before.rfind(NEWLINE)}"


def parse(text: str, file: str = "<text>", most: int = MAX_NODES) -> FileNode:
    """The tree of YAML text; ``file`` names it in messages, ``most``: values that it may have.

    Raises ConfigError with file:line:column.
    """
    return _parsed(text, file, most, foreign=False)


def _parsed(text: str, file: str, most: int, foreign: bool) -> FileNode:
    _refuse_tabs(text, file)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(yaml.parse(text, Loader=loader), file, most, foreign).document()
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_syntax_message(error, file)) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{_of_character(text, error, file)}: not YAML: {str(error).splitlines()[0]}") from None


def _of_character(text: str, error: yaml.YAMLError, file: str) -> str:
    """The place of the character that a YAML reader refuses."""
    refused = getattr(error, "character", None)
    at = text.find(refused if isinstance(refused, str) else chr(refused)) if refused is not None else 0
    return _place(file, text[: max(at, 0)].encode("utf-8", "surrogatepass"))


def scalar(text: str) -> Scalar:
    """The value of a plain scalar under the core schema of YAML 1.2, with exact decimals."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return Decimal(text) if _DECIMAL.fullmatch(text) else text


def of_value(value: object, mark: Mark) -> FileNode:
    """A tree from plain Python data (``replace``, ``--set``): every node gets ``mark``."""
    if isinstance(value, dict):
        return FileNode({str(key): of_value(child, mark) for key, child in value.items()}, mark)
    if isinstance(value, (list, tuple)):
        return FileNode([of_value(child, mark) for child in value], mark)
    if value is None or isinstance(value, (bool, int, Decimal)):
        return FileNode(value, mark)
    return FileNode(repr(value) if isinstance(value, float) else str(value), mark)


class _Builder:
    """Consumes parser events; counts what it expands."""

    def __init__(self, events: Iterator[Any], file: str, most: int, foreign: bool) -> None:
        self._most = most
        self._foreign = foreign
        self._events = events
        self._file = file
        self._anchors: dict[str, FileNode | None] = {}
        self._nodes = 0
        self._aliases = 0

    def document(self) -> FileNode:
        """The one document of the stream, a mapping."""
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise ConfigError(f"{self._file}:1:1: empty; allowed a mapping of keys to values")
        root = self._node(next(self._events), depth=0)
        if not isinstance(root.value, (dict, list) if self._foreign else dict):
            raise ConfigError(f"{root.mark}: the document is not a mapping; allowed lines such as 'name: my_chip'")
        next(self._events)
        following = next(self._events)
        if not isinstance(following, yaml.StreamEndEvent):
            raise ConfigError(f"{self._mark(following)}: a second document; allowed one per file")
        return root

    def _node(self, event: Any, depth: int) -> FileNode:
        mark = self._mark(event)
        if depth > MAX_DEPTH:
            raise ConfigError(f"{mark}: nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, mark)
        self._count(1, mark)
        if event.tag is not None and not self._foreign:
            raise ConfigError(f"{mark}: tag '{event.tag}' is refused; allowed plain values without tags")
        if event.anchor:
            self._anchors[event.anchor] = None
        node = self._content(event, mark, depth)
        node.tag = event.tag or ""
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _content(self, event: Any, mark: Mark, depth: int) -> FileNode:
        if isinstance(event, yaml.MappingStartEvent):
            return FileNode(self._mapping(depth), mark)
        if isinstance(event, yaml.SequenceStartEvent):
            return FileNode(self._sequence(depth), mark)
        return FileNode(scalar(event.value) if event.implicit[0] else event.value, mark)

    def _mapping(self, depth: int) -> dict[str, FileNode]:
        children: dict[str, FileNode] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            mark = self._mark(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise ConfigError(f"{mark}: a key is not plain text; allowed keys such as 'name'")
            if event.value in children:
                first = children[event.value].mark
                raise ConfigError(f"{mark}: duplicate key '{event.value}', first at line {first.line}; allowed once")
            child = self._node(next(self._events), depth + 1)
            children[event.value] = FileNode(child.value, mark, tag=child.tag)
        return _merged(children) if self._foreign and MERGE in children else children

    def _sequence(self, depth: int) -> list[FileNode]:
        children = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            children.append(self._node(event, depth + 1))
        return children

    def _alias(self, event: Any, mark: Mark) -> FileNode:
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise ConfigError(f"{mark}: more than {MAX_ALIASES} aliases; allowed at most {MAX_ALIASES} in a file")
        target = self._anchors.get(event.anchor)
        if target is None:
            raise ConfigError(f"{mark}: alias '*{event.anchor}' has no finished anchor '&{event.anchor}' before it")
        return self._copy(target, mark)

    def _copy(self, node: FileNode, mark: Mark) -> FileNode:
        self._count(1, mark)
        if isinstance(node.value, dict):
            return FileNode(
                {key: self._copy(child, mark) for key, child in node.value.items()}, node.mark, tag=node.tag
            )
        if isinstance(node.value, list):
            return FileNode([self._copy(child, mark) for child in node.value], node.mark, tag=node.tag)
        return FileNode(node.value, node.mark, tag=node.tag)

    def _count(self, nodes: int, mark: Mark) -> None:
        self._nodes += nodes
        if self._nodes > self._most:
            raise ConfigError(f"{mark}: more than {self._most} values after expanding aliases; allowed fewer")

    def _mark(self, event: Any) -> Mark:
        return Mark(self._file, event.start_mark.line + 1, event.start_mark.column + 1)


def _merged(children: dict[str, FileNode]) -> dict[str, FileNode]:
    """A mapping with the keys of those under its ``<<``, which yield to its own, and earlier ones to none of later."""
    merge = children.pop(MERGE)
    given = merge.items if isinstance(merge.value, list) else [merge]
    found: dict[str, FileNode] = {}
    for node in given:
        if not isinstance(node.value, dict):
            raise ConfigError(f"{merge.mark}: '{MERGE}' takes a mapping or a list of mappings; found something else")
        for key, child in node.value.items():
            found.setdefault(key, child)
    return found | children


def _refuse_tabs(text: str, file: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        indent = line[: len(line) - len(line.lstrip())]
        if "\t" in indent and line.strip():
            raise ConfigError(f"{file}:{number}:{indent.index(chr(9)) + 1}: a tab as indentation; allowed spaces")


def _syntax_message(error: yaml.MarkedYAMLError, file: str) -> str:
    mark = error.problem_mark or error.context_mark
    place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
    problem = error.problem or error.context or "cannot be parsed"
    what = "a tab where YAML allows spaces only" if "\\t" in problem else problem
    return f"{place}: not YAML: {what}"
