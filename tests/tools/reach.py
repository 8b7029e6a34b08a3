"""Which modules of the product its entry points reach, by imports of every kind.

python -m tests.tools.reach       prints the modules that nothing reaches

An import counts wherever it stands: at the top, inside a function, for types alone. A text that is a module's whole
dotted path counts as an import of it, since that is how modules are loaded by name. One that is a package's counts as
an import of every public module directly in it where the registry is asked, since that is how it finds extensions. The
front door hands ``lazy_loader`` names that are relative to itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGES = ("archsim", "mapper")
ENTRIES = ("archsim", "archsim.__main__", "archsim.cli")
REGISTRY = "registry"  # last part of the name of the module that finds extensions by their files
LAZY = "submod_attrs"  # what lazy_loader is told: module, relative to the front door -> names


@dataclass(frozen=True)
class Module:
    """One file of a package."""

    name: str
    path: Path

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__`` of a folder."""
        return self.path.name == "__init__.py"

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.path.read_text(encoding="utf-8"), str(self.path))

    @property
    def folder(self) -> str:
        """The package that relative names in it begin at."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


class Tree:
    """The modules of the product under a folder, by name."""

    def __init__(self, root: Path) -> None:
        paths = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
        found = [Module(_name(path.relative_to(root)), path) for path in paths]
        self.modules = {module.name: module for module in found}

    def unreached(self) -> list[str]:
        """Modules that no entry point reaches, sorted."""
        reached: set[str] = set()
        waiting = [*ENTRIES]
        while waiting:
            name = waiting.pop()
            if name not in reached and name in self.modules:
                reached.add(name)
                waiting += [*self.imported(self.modules[name]), name.rpartition(".")[0]]
        return sorted(self.modules.keys() - reached)

    def imported(self, module: Module) -> set[str]:
        """Modules that one imports, in any way."""
        nodes = [*ast.walk(module.tree)]
        stated = {name for node in nodes for name in self._stated(module, node)}
        texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
        named = {text for text in texts if isinstance(text, str) and text in self.modules and "." in text}
        asks = any(name.rpartition(".")[2] == REGISTRY for name in {module.name, *stated})
        return stated | named | {name for folder in named if asks for name in self._public(folder)}

    def _stated(self, module: Module, node: ast.AST) -> Iterator[str]:
        """What one node imports by name."""
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.folder.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (base, *(f"{base}.{name.name}" for name in node.names))
        elif isinstance(node, ast.keyword) and node.arg == LAZY and isinstance(node.value, ast.Dict):
            yield from (f"{module.name}.{ast.literal_eval(key)}" for key in node.value.keys if key is not None)

    def _public(self, folder: str) -> Iterator[str]:
        """Modules directly in a package that are no helpers."""
        for name in self.modules:
            above, _, own = name.rpartition(".")
            if above == folder and not own.startswith("_"):
                yield name


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def main() -> None:
    """Print what nothing reaches."""
    from tests.tools.commands import ROOT

    for name in Tree(ROOT).unreached():
        print(name)


if __name__ == "__main__":
    main()
