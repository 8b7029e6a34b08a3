"""Which modules of the product its entry points reach, by imports of every kind (``tests.tools.rooms`` reads them).

python -m tests.tools.reach       prints the modules that nothing reaches

A text that is a module's whole dotted path counts as an import of it, since that is how modules are loaded by name.
One that is a package's counts as an import of every public module directly in it where the registry is asked, since
that is how it finds extensions.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.tools.rooms import Plan, plan

ENTRIES = ("archsim", "archsim.__main__", "archsim.cli.app")
REGISTRY = "registry"  # last part of the name of the module that finds extensions by their files


def unreached(found: Plan) -> list[str]:
    """Modules that no entry point reaches, sorted."""
    ahead: dict[str, set[str]] = {module: {module.rpartition(".")[0]} for module in found.files}
    asking = {each.source for each in found.imports if each.target.rpartition(".")[2] == REGISTRY}
    for each in found.imports:
        ahead[each.source].add(each.target)
        if each.kind == "string" and each.source in asking:
            ahead[each.source] |= set(_public(found, each.target))
    reached, waiting = set[str](), [*ENTRIES]
    while waiting:
        name = waiting.pop()
        if name not in reached and name in ahead:
            reached.add(name)
            waiting += ahead[name]
    return sorted(ahead.keys() - reached)


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
