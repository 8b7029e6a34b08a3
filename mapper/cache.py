"""Mappings on disk, keyed by content: problem, chip, objective and a hash of the code that makes them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from archsim.caches import code_sha256
from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode

SOURCES = ("mapper", "archsim.pe.dataflows", "archsim.ops", "archsim.energy")
MACHINE = tuple(f"archsim.{room}" for room in ("sim", "pe", "memory", "noc", "host", "system"))  # what simulates them
PLAIN = ("unit", "kind", "bound_cycles", "expected_cycles", "space", "evaluated", "proof", "simulated_cycles")


class MappingCache:
    """Found and new mappings of one chip in one JSON file; ``folder`` None keeps them in memory only."""

    def __init__(self, folder: Path | None, chip_sha256: str) -> None:
        name = f"{chip_sha256[:16]}-{code_sha256(SOURCES)[:16]}.json"
        self._path = folder / "mappings" / name if folder is not None else None
        self._entries: dict[str, Any] = self._read()
        self._changed = False

    def get(self, key: str) -> LayerMapping | None:
        """The mapping stored under ``key``, or None."""
        entry = self._entries.get(key)
        return _from_json(entry) if entry is not None else None

    def put(self, key: str, mapping: LayerMapping) -> None:
        """Remember a mapping."""
        self._entries[key] = _to_json(mapping)
        self._changed = True

    def save(self) -> None:
        """Write the file at once (atomically); a folder that cannot be written is no error."""
        if self._path is None or not self._changed:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, delete=False, suffix=".tmp") as handle:
                json.dump(self._entries, handle, sort_keys=True)
            os.replace(handle.name, self._path)
        except OSError:
            self._path = None

    def _read(self) -> dict[str, Any]:
        if self._path is None:
            return {}
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


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
    nodes: list[MapNode] = [Loop(*node["loop"]) if "loop" in node else Keep(*node["keep"]) for node in entry["nodes"]]
    rest = {name: entry[name] for name in PLAIN}
    return LayerMapping(layer="", nodes=tuple(nodes), resident=tuple(entry["resident"]), **rest)
