"""A validated chip file before it is resolved: its top level, its parts, and where each key stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from archsim.spec import schema
from archsim.spec.nodes import FileNode, Mark
from archsim.spec.problems import Problems, validate
from archsim.spec.sections import PartSection
from archsim.spec.tree import Placed, placed


@dataclass(frozen=True)
class DeclaredPart:
    """A part of the file with its validated section ``spec``, whose keys the part's resolved class defines."""

    at: Placed
    spec: Any

    def mark(self, key: str) -> Mark:
        """The place of a key path, of the deepest key of it that the file states, or of the part."""
        node, mark = self.at.node, self.at.mark
        for step in key.split("."):
            below = node.mapping.get(step)
            if below is None:
                break
            node, mark = below, below.mark
        return mark

    def found(self, key: str) -> object:
        """The value of a key as the file writes it; None when it does not."""
        node = self.at.node.mapping.get(key)
        return node.plain() if node is not None else None


@dataclass(frozen=True)
class File:
    """A validated file: the document, its top level, its parts, and where to report."""

    root: FileNode
    chip: schema.ChipSection
    parts: tuple[DeclaredPart, ...]
    problems: Problems

    def of(self, kind: type[PartSection]) -> Iterator[DeclaredPart]:
        """The parts whose section is a ``kind`` (``schema.SRAM``, ``schema.STORAGE``, ...), in order."""
        for part in self.parts:
            if isinstance(part.spec, kind):
                yield part

    def mark(self, *keys: str) -> Mark:
        """The place of a top-level key path, or of the deepest part of it that the file states."""
        node = self.root
        for key in keys:
            node = node.mapping.get(key, node)
        return node.mark

    def add(self, part: DeclaredPart, key: str, message: str) -> None:
        """Report a problem with a key of a part."""
        self.problems.add(part.mark(key), f"{part.spec.name}.{key}", message)


def declare(root: FileNode, problems: Problems) -> File | None:
    """The validated sections of a document; None, with problems added, when one does not fit the schema."""
    chip = validate(schema.ChipSection, root, "", problems)
    parts = []
    whole = True
    for part in placed(root):
        if part.kind not in schema.PARTS:
            continue
        spec = validate(schema.PARTS[part.kind], part.node, part.name or part.label, problems)
        whole = whole and spec is not None
        if spec is not None:
            parts.append(DeclaredPart(part, spec))
    return File(root, chip, tuple(parts), problems) if chip is not None and whole else None


def explicit(part: DeclaredPart) -> bool:
    """Whether a part is a memory with rings and moves of its own."""
    spec = part.spec
    return isinstance(spec, schema.DRAM) or (isinstance(spec, schema.SRAM) and spec.filled_by == "dma")


def clocks(file: File) -> dict[str, int]:
    """Clock of each part: its own, else that of the nearest memory or network above it, else the chip's."""
    found: dict[str, int] = {}
    above = file.chip.clock
    for part in file.parts:
        inherited = file.chip.clock if isinstance(part.spec, (schema.DMA, schema.HOST, schema.CONTROL)) else above
        found[part.spec.name] = part.spec.clock or inherited
        if isinstance(part.spec, (schema.STORAGE, schema.NOC)):
            above = found[part.spec.name]
    return found
