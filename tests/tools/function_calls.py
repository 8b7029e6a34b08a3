"""Who calls a compiled function, from the source: which files must be compiled anew, which functions Python sees."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.tools.function_mutations import Function

Named = tuple[str, str]  # module, name in it


class Calls:
    """Callers of functions, by the names that functions use and what their files import under these."""

    def __init__(self, every: list[Function]) -> None:
        self._by_caller: dict[Named, list[Function]] = defaultdict(list)
        self._every = every
        modules = {_module(function.path) for function in every}
        imports = {function.path: function.source for function in every}
        self._known = {path: _imported(source, modules) for path, source in imports.items()}
        for function in every:
            for used in sorted(set(_used(function, self._known[function.path]))):
                self._by_caller[used].append(function)

    def compiled_files(self, function: Function) -> list[str]:
        """Files with compiled functions that call a compiled one, at whatever remove."""
        return sorted({caller.path for caller in self._closure(function) if caller.is_compiled})

    def entries(self, function: Function) -> list[Function]:
        """The function itself; of a compiled one, the functions of Python that call it. Where none does by name, those
        of its own file's importers."""
        if not function.is_compiled:
            return [function]
        inside = self._closure(function)
        found = [caller for caller in inside if not caller.is_compiled]
        if found:
            return found
        modules = {_module(each.path) for each in inside}
        return [
            each
            for each in self._every
            if not each.is_compiled and any(module in modules for module, _ in self._known[each.path].values())
        ]

    def _closure(self, function: Function) -> list[Function]:
        """A compiled function with its callers, and those of them that are compiled."""
        found, waiting = [function], [function]
        while waiting:
            one = waiting.pop()
            for caller in self._by_caller[_module(one.path), one.name]:
                if caller not in found:
                    found.append(caller)
                    waiting += [caller] if caller.is_compiled else []
        return found


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _imported(source: bytes, modules: set[str]) -> dict[str, Named]:
    """What each imported name of a file is: a name in a module, or a module of the product (whose name is '')."""
    found: dict[str, Named] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                found[each.asname or each.name] = (whole, "") if whole in modules else (node.module, each.name)
    return found


def _used(function: Function, imported: dict[str, Named]) -> Iterator[Named]:
    for node in ast.walk(function.node):
        if isinstance(node, ast.Name):
            yield imported.get(node.id, (_module(function.path), node.id))
        elif isinstance(node, ast.Attribute):  # a module may be held as an attribute: each that the file imports
            yield from ((module, node.attr) for module, name in imported.values() if not name)
