"""The front of this room: chips by name, path or text, variants of them, and their canonical text.

    chip = load("edge_npu")                          # a resolved, frozen Architecture
    faster = replace(chip, {"clock": "1.2 GHz", "dram.channels": 8})
    text = to_yaml(chip)                             # loads(text) == chip

The schema library is imported at the first load, not with this module.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base import registry
from archsim.base.errors import ConfigError
from archsim.spec import canonical
from archsim.spec.architecture import Architecture
from archsim.spec.locate import config_files, is_file
from archsim.spec.nodes import MAX_DEPTH, FileNode, parse, read

if TYPE_CHECKING:
    from archsim.spec.expand import DataflowFacts

KIND = "accelerators"


def names() -> tuple[str, ...]:
    """Names of all chips that ``load`` finds, sorted."""
    return tuple(config_files(KIND))


def load(
    name_or_path: str | Path,
    values: Mapping[str, object] | None = None,
    *,
    facts: DataflowFacts | None = None,
    origin: str = "--set",
) -> Architecture:
    """The chip of a name (``names()``) or of a YAML file, with values set by key path.

    ``values``: e.g. ``{"dram.channels": 4, "l1.size": "4 MiB"}``; ``origin`` names them in messages;
    ``facts`` replaces the look-up of dataflow facts. Raises ConfigError with file:line:column, key path,
    value found and what is allowed; NotBuiltError for parts of the grammar that this version lacks.
    """
    return _resolve(_document(name_or_path), values, facts, origin)


def loads(
    text: str,
    values: Mapping[str, object] | None = None,
    *,
    file: str = "<text>",
    facts: DataflowFacts | None = None,
    origin: str = "--set",
) -> Architecture:
    """As ``load`` for YAML text; ``file`` names it in messages and anchors relative paths in ``extends``."""
    return _resolve(_extended(parse(text, file), file, ()), values, facts, origin)


def replace(chip: Architecture | str | Path, values: Mapping[str, object], *, origin: str = "replace") -> Architecture:
    """A variant of a chip with values set by key path; an Architecture is left as it is.

    Fan-outs and registers of an array are derived anew when its shape or dataflow is set. Raises ConfigError
    for a key path that the chip does not have (with the nearest one) and for every value that is not allowed.
    """
    if isinstance(chip, Architecture):
        return loads(to_yaml(chip), values, file=chip.name, origin=origin)
    return load(chip, values, origin=origin)


def to_yaml(chip: Architecture) -> str:
    """The canonical text of a chip: all stated, arrays expanded; ``loads`` reads it back to an equal one."""
    return canonical.to_yaml(chip)


def key_paths(name_or_path: str | Path) -> list[str]:
    """Every key path that ``replace`` and ``--set`` accept for a chip, sorted."""
    from archsim.spec import tree

    return tree.known_paths(_document(name_or_path))


def lineage(chip: str | Path) -> list[str]:
    """The names by which a chip and those that it extends are called, nearest first; files called by their path are
    passed through without a name. Raises ConfigError for a file that cannot be read."""
    found, asked, folder = list[str](), str(chip), Path()
    for _ in range(MAX_DEPTH + 1):
        if not ("/" in asked or asked.endswith((".yaml", ".yml"))):
            found.append(asked)
        path = _find(asked, folder)
        entry = read(path).mapping.get("extends")
        if entry is None or not isinstance(entry.value, str):
            break
        asked, folder = entry.value, path.parent
    return found


def where(name_or_path: str | Path, values: Mapping[str, object], key_path: str, *, origin: str = "--set") -> str:
    """The place that states a key of a part or of ``platforms``, for a message: file:line:column, or ``origin`` where
    ``values`` set it.

    The chip's file where nothing does, and the default holds.
    """
    from archsim.spec import tree

    if any(f"{key_path}.".startswith(f"{path}.") for path in values):
        return origin
    document = _document(name_or_path)
    name, _, key = key_path.partition(".")
    for part in tree.placed(document):
        if part.name == name and key in part.node.mapping:
            return str(part.node.mapping[key].mark)
    return str(_deepest(document, key_path).mark if name == tree.PLATFORMS else document.mark)


def _deepest(node: FileNode, key_path: str) -> FileNode:
    """The node of a key path, or of as much of it as is stated."""
    for step in key_path.split("."):
        if step not in node.mapping:
            break
        node = node.mapping[step]
    return node


def assignments(texts: Iterable[str]) -> dict[str, object]:
    """``["dram.channels=4", "clock=2 GHz"]`` as values for ``load``; the text after ``=`` is read as YAML.

    Raises ConfigError for text without ``=`` and for a path given twice.
    """
    values: dict[str, object] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        path = path.strip()
        if not equals or not path or not value.strip():
            raise ConfigError(f"--set: found '{text}'; allowed KEY.PATH=VALUE such as dram.channels=4")
        if path in values:
            raise ConfigError(f"--set {path}: given twice; allowed once")
        values[path] = parse(f"value: {value.strip()}", f"--set {path}").mapping["value"].plain()
    return values


def _resolve(
    document: FileNode, values: Mapping[str, object] | None, facts: DataflowFacts | None, origin: str
) -> Architecture:
    from archsim.spec import expand, merge, resolve, table_files

    if values:
        document = merge.override(document, values, origin)
        table_files.expand(document)
    return dataclasses.replace(resolve.resolve(document, facts or expand.dataflow_facts), variant=replace)


def _document(name_or_path: str | Path) -> FileNode:
    path = _find(str(name_or_path), Path())
    return _extended(read(path), str(path), ())


def _find(name: str, folder: Path) -> Path:
    """The file of a chip's name, or of a path relative to ``folder``."""
    known = config_files(KIND)
    if name in known:
        return known[name]
    if "/" in name or name.endswith((".yaml", ".yml")):
        path = folder / name
        if not is_file(path):
            raise ConfigError(f"{path}: no such file")
        return path
    raise registry.unknown("chip", name, known)


def _extended(document: FileNode, file: str, chain: tuple[Path, ...]) -> FileNode:
    """A document over the one it extends, with the sources of all of them written into their leaves."""
    from archsim.spec import declared, merge, sources, table_files
    from archsim.spec.problems import Problems

    problems = Problems()
    sources.annotate(document, problems)
    table_files.expand(document)
    entry = document.mapping.get("extends")
    if problems.found and entry is None:
        declared.declare(document, problems)  # a misspelt key is told beside the source that misses it
    problems.raise_all()
    if entry is None:
        return document
    if not isinstance(entry.value, str):
        raise ConfigError(f"{entry.mark}: extends: found no text; allowed a chip's name or a path")
    chain = (*chain, Path(file).resolve())
    try:
        path = _find(entry.value, Path(file).parent)
    except ConfigError as error:
        raise ConfigError(f"{entry.mark}: extends: found '{entry.value}'; {error}") from None
    if path.resolve() in chain or len(chain) > MAX_DEPTH:
        loop = " -> ".join(item.stem for item in (*chain, path))
        raise ConfigError(f"{entry.mark}: extends: found '{entry.value}', a circle: {loop}; allowed another chip")
    base = _extended(read(path), str(path), chain)
    merged = merge.merge(base, document, problems)
    problems.raise_all()
    return merged
