"""The plan of rooms, read from the imports: who imports whom, by which kind of import, on which floor each room is.

Every kind of import counts: at the top of a file, inside a function, for the type checker alone, and a module's path
as a string, by which files are found at run time. No import is relative. ``python -m
tests.tools.rooms`` prints the plan.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FRONT_DOOR = "archsim"  # archsim/__init__.py: what `import archsim as ax` offers
FLOORS = (
    ("base",),
    ("facts",),
    ("spec",),
    ("ir",),
    ("ops", "energy"),
    ("graph",),
    ("frontend", "sim"),
    ("pe", "memory", "noc", "host"),
    ("mapper", "system"),
    ("repetition",),
    ("report",),
    ("lab",),
    (FRONT_DOOR, "cli"),
    ("__main__",),
)
LOOSE = {"__init__", "__main__", "repetition", "system"}  # files that may stand directly under archsim/
_PATH = re.compile(r"(?:archsim|mapper)(?:\.\w+)+")


class Import(NamedTuple):
    """One file names another. ``kind``: top, lazy (inside a function), type (for the type checker), string."""

    source: str
    target: str
    kind: str


@dataclass(frozen=True)
class Plan:
    """Modules by dotted name with their files, and every import between them."""

    files: Mapping[str, Path]
    imports: frozenset[Import]

    def arrows(self) -> set[tuple[str, str]]:
        """Which room imports from which other."""
        found = {(room(each.source), room(each.target)) for each in self.imports}
        return {(source, target) for source, target in found if source != target}

    def rooms_of_mapper(self) -> dict[str, set[str]]:
        """The rooms inside mapper/, each with those that it imports from."""
        found: dict[str, set[str]] = {name: set() for name in map(mapper_room, self.files) if name}
        for each in self.imports:
            source, target = mapper_room(each.source), mapper_room(each.target)
            if source and target and source != target:
                found[source].add(target)
        return found

    def circles_in_mapper(self) -> list[list[str]]:
        """Sets of rooms inside mapper/ that import from each other in a circle, each sorted."""
        rooms = self.rooms_of_mapper()
        return _circles(rooms, [(source, target) for source in rooms for target in rooms[source]])

    def loaded_with(self, module: str) -> set[str]:
        """The module, its packages, and all that is loaded with it since files import it at their top."""
        found: set[str] = set()
        ahead = [module]
        while ahead:
            each = ahead.pop()
            if each in self.files and each not in found:
                found.add(each)
                ahead += [each.rpartition(".")[0], *self._tops.get(each, ())]
        return found - {FRONT_DOOR}

    @cached_property
    def _tops(self) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = {}
        for each in self.imports:
            if each.kind == "top":
                found.setdefault(each.source, set()).add(each.target)
        return found

    def circles(self) -> list[list[str]]:
        """Sets of files that import each other in a circle, each sorted."""
        return _circles(self.files, [(each.source, each.target) for each in self.imports])


def outside(path: Path, *, top: bool = False) -> set[str]:
    """The packages, Python's own too, that a file imports; those that are loaded with it alone: ``top``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top else list(ast.walk(tree))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names}


def room(module: str) -> str:
    """The room of a module: a package or a file directly under archsim/, or mapper."""
    parts = module.split(".")
    return parts[0] if parts[0] == "mapper" or len(parts) == 1 else parts[1]


def mapper_room(module: str) -> str:
    """The room of a module inside mapper/: a package or a file directly under it; '' for all others."""
    package, _, path = module.partition(".")
    return path.partition(".")[0] if package == "mapper" else ""


def floor(name: str) -> int:
    """The floor of a room, counted from the ground; raises KeyError for a room that has none."""
    floors = {each: number for number, rooms in enumerate(FLOORS) for each in rooms}
    return floors[name]


@cache
def plan(root: Path = ROOT) -> Plan:
    """Of archsim/ and mapper/ in a checkout."""
    files = {_dotted(path.relative_to(root)): path for name in ("archsim", "mapper") for path in _sources(root / name)}
    found = {each for module, path in files.items() for each in _imports(module, path, files)}
    return Plan(files, frozenset(found))


def _sources(folder: Path) -> Iterable[Path]:
    return sorted(folder.rglob("*.py"))


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(module: str, path: Path, files: Mapping[str, Path]) -> set[Import]:
    reader = _Reader(module, files)
    reader.visit(ast.parse(path.read_text(encoding="utf-8")))
    return {each for each in reader.found if each.target != module}


class _Reader(ast.NodeVisitor):
    """Collects what one file imports."""

    def __init__(self, module: str, files: Mapping[str, Path]) -> None:
        self.module, self.files = module, files
        self.found: set[Import] = set()
        self._kind = "top"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside(node, "lazy")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._inside(node, "lazy")

    def visit_If(self, node: ast.If) -> None:
        checked = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        self._inside(node, "type" if checked else self._kind)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, self._kind)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._add(f"{node.module}.{alias.name}", self._kind)

    def visit_keyword(self, node: ast.keyword) -> None:
        """What the front door tells lazy_loader: modules, relative to it, from which names come when first used."""
        if node.arg == "submod_attrs" and isinstance(node.value, ast.Dict):
            for key in node.value.keys:
                if isinstance(key, ast.Constant):
                    self._add(f"{self.module}.{key.value}", "lazy")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _PATH.fullmatch(node.value):
            self._add(node.value, "string")

    def _inside(self, node: ast.AST, kind: str) -> None:
        before, self._kind = self._kind, kind
        self.generic_visit(node)
        self._kind = before

    def _add(self, name: str, kind: str) -> None:
        """The longest part of a dotted name that is a module of ours."""
        if name.split(".", maxsplit=1)[0] not in ("archsim", "mapper"):
            return
        while name not in self.files:
            name = name.rpartition(".")[0]
        if not (kind == "string" and name in ("archsim", "mapper")):
            self.found.add(Import(self.module, name, kind))


def _circles(nodes: Iterable[str], arrows: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Strongly connected sets of more than one node: what is left when ends of arrows are taken away in turn."""
    ahead: dict[str, set[str]] = {node: set() for node in nodes}
    behind: dict[str, set[str]] = {node: set() for node in nodes}
    for source, target in arrows:
        ahead[source].add(target)
        behind[target].add(source)
    left, found = set(ahead), []
    while left:
        start = min(left)
        circle = _reach(start, ahead, left) & _reach(start, behind, left)
        if len(circle) > 1:
            found.append(sorted(circle))
        left -= circle
    return found


def _reach(start: str, arrows: Mapping[str, set[str]], among: set[str]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for target in (arrows[waiting.pop()] & among) - seen:
            seen.add(target)
            waiting.append(target)
    return seen


def main() -> None:
    """Print the floors from the top down, each room with the rooms that it imports from."""
    arrows = plan().arrows()
    for rooms in reversed(FLOORS):
        for name in rooms:
            print(f"{name:<12}", ", ".join(sorted((t for s, t in arrows if s == name), key=floor)))


if __name__ == "__main__":
    main()
