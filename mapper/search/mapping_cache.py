"""Mappings on disk, keyed by content: problem, chip, objective and a hash of the code that makes them.

An entry carries a seal (``archsim.base.entries``); one that is edited, damaged or of another key, chip or code is
dropped with a warning. Whether a sealed one is a mapping of its problem is for who knows that (``mapper.given.judge``).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from archsim.base import entries
from archsim.base.caches import code_sha256
from archsim.base.registry import plugins_sha256
from archsim.base.trust import distrust
from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode

SOURCES = ("mapper", "archsim.facts", "archsim.ops", "archsim.graph", "archsim.energy")
MACHINE = tuple(f"archsim.{room}" for room in ("sim", "pe", "memory", "noc", "host", "system"))  # what simulates them
PLAIN = ("unit", "kind", "bound_cycles", "expected_cycles", "space", "evaluated", "proof", "simulated_cycles")
SEAL = "seal"
KINDS = ("matmul", "vector", "copy")


class MappingCache:
    """Found and new mappings of one chip in one JSON file; ``folder`` None keeps them in memory only."""

    def __init__(self, folder: Path | None, chip_sha256: str) -> None:
        code = hashlib.sha256(f"{code_sha256(SOURCES)}{plugins_sha256()}".encode()).hexdigest()
        name = f"{chip_sha256[:16]}-{code[:16]}.json"
        self._path = folder / "mappings" / name if folder is not None else None
        self._entries: dict[str, Any] = self._read()
        self._new: dict[str, LayerMapping] = {}
        self._dropped: set[str] = set()

    @cached_property
    def is_shared(self) -> bool:
        """Whether others may have written what is in the file, whose figures are then judged too."""
        if self._path is None:
            return False
        try:
            return bool(distrust(Path(os.path.realpath(self._path))))
        except OSError:
            return False  # there is none

    def get(self, key: str) -> LayerMapping | None:
        """The mapping stored under ``key``, or None; an entry that is none is dropped with a warning."""
        if key in self._new:
            return self._new[key]
        entry = self._entries.get(key)
        if entry is None or self._path is None:
            return None
        try:
            content = {name: value for name, value in entry.items() if name != SEAL}
            if entry[SEAL] != entries.seal(self._path.name, key, content):
                raise ValueError("its checksum is of something else")
            return _from_json(content)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            told = str(error) if isinstance(error, ValueError) else "it is malformed"
            self.drop(key, f"a mapping was edited or damaged ({told})")
        return None

    def put(self, key: str, mapping: LayerMapping) -> None:
        """Remember a mapping."""
        self._new[key] = mapping

    def drop(self, key: str, why: str) -> None:
        """Believe an entry no longer, and say so."""
        del self._entries[key]
        self._dropped.add(key)
        if self._path is not None:
            entries.dropped(self._path, why)

    def save(self) -> None:
        """Write the file at once, with what other processes have written meanwhile; one that cannot be written costs
        the cache alone."""
        if self._path is None or not (self._new or self._dropped):
            return
        added = {key: self._sealed(self._path.name, key, mapping) for key, mapping in self._new.items()}
        there = {key: entry for key, entry in self._read().items() if key not in self._dropped}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            entries.replace(self._path, json.dumps({**there, **added}, sort_keys=True).encode())
        except OSError as error:
            entries.unkept(self._path, error)
            self._path = None
            return
        self._entries = {**there, **added}
        self._new, self._dropped = {}, set()

    @staticmethod
    def _sealed(place: str, key: str, mapping: LayerMapping) -> dict[str, Any]:
        content = _to_json(mapping)
        return {**content, SEAL: entries.seal(place, key, content)}

    def _read(self) -> dict[str, Any]:
        if self._path is None:
            return {}
        try:
            found = json.loads(self._path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            entries.unread(self._path, error)
            return {}
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
        entries.dropped(self._path, "the file is damaged or cut short")
        return {}


def digest(parts: Iterable[object]) -> str:
    """Key of a problem: sha256 of the parts' text."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def _to_json(mapping: LayerMapping) -> dict[str, Any]:
    nodes = [
        {"loop": [node.dim, node.tile, node.axis]}
        if isinstance(node, Loop)
        else {"keep": [node.operand, node.level, node.slots, node.reserve_at]}
        for node in mapping.nodes
    ]
    plain = {name: getattr(mapping, name) for name in PLAIN}
    return {**plain, "resident": list(mapping.resident), "nodes": nodes}


def _from_json(entry: dict[str, Any]) -> LayerMapping:
    """The mapping that an entry states; raises ValueError, TypeError or KeyError where it states none."""
    kind = entry["kind"]
    if kind not in KINDS:
        raise ValueError(f"of kind '{kind}'")
    return LayerMapping(
        layer="",
        unit=_text(entry["unit"]),
        kind=kind,
        nodes=tuple(_node(node) for node in entry["nodes"]),
        resident=tuple(_text(name) for name in entry["resident"]),
        bound_cycles=_whole(entry["bound_cycles"]),
        space=_whole(entry["space"]),
        evaluated=_whole(entry["evaluated"]),
        proof=_text(entry["proof"]),
        simulated_cycles=_whole(entry["simulated_cycles"]),
        expected_cycles=_whole(entry["expected_cycles"]),
    )


def _node(node: dict[str, Any]) -> MapNode:
    if "loop" in node:
        dim, tile, axis = node["loop"]
        return Loop(_text(dim), _whole(tile), _text(axis))
    operand, level, slots, reserve_at = node["keep"]
    return Keep(_text(operand), _text(level), _whole(slots), _whole(reserve_at))


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError
    return value
