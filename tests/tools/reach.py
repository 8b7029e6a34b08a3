"""Which modules of the product its entry points reach, by imports of every kind (``tests.tools.rooms`` reads them).

python -m tests.tools.reach       prints the modules that nothing reaches

A text that is a module's whole dotted path counts as an import of it, since that is how modules are loaded by name.
One that is the package of a ``registry.Kind`` counts as an import of every public module directly in it, since that is
how the registry finds extensions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tools.rooms import Plan, plan

ENTRIES = ("archsim", "archsim.__main__", "archsim.cli.app")
KIND = "Kind"  # the class that tells the registry of a package of extensions


def unreached(found: Plan) -> list[str]:
    """Modules that no entry point reaches, sorted."""
    ahead: dict[str, set[str]] = {module: {module.rpartition(".")[0]} for module in found.files}
    for each in found.imports:
        ahead[each.source].add(each.target)
    for module in found.files:
        for package in _packages(found, module):
            ahead[module] |= set(_public(found, package))
    reached, waiting = set[str](), [*ENTRIES]
    while waiting:
        name = waiting.pop()
        if name not in reached and name in ahead:
            reached.add(name)
            waiting += ahead[name]
    return sorted(ahead.keys() - reached)


def _packages(found: Plan, module: str) -> Iterator[str]:
    """Packages of extensions that a file tells the registry of."""
    text = found.files[module].read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if f"{KIND}(" in text else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == KIND:
            yield from (
                each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
            )


def _public(found: Plan, folder: str) -> Iterator[str]:
    """Modules directly in a package that are no helpers."""
    for name in found.files:
        above, _, own = name.rpartition(".")
        if above == folder and not own.startswith("_"):
            yield name


def main() -> None:
    """Print what nothing reaches."""
    for name in unreached(plan()):
        print(name)


if __name__ == "__main__":
    main()
