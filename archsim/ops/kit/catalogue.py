"""Which operator family serves which operator: each file of ``archsim/ops``, or of a plugin, that defines FAMILY."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol, cast

from archsim.base import registry
from archsim.base.errors import ConfigError, nearest
from archsim.ir.graph import GraphNode
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.meaning import COMMON, Meaning


class Operator(Protocol):
    """What the file of an operator family defines: ``FAMILY``, whose fields are those of ``OperatorFamily``."""

    FAMILY: OperatorFamily


KIND = registry.Kind("operator", "archsim.ops", "ops", "FAMILY", Operator)


def operators() -> dict[str, str]:
    """Every operator name served, sorted, with the family (file) that serves it."""
    return {op: name for op, (name, _) in sorted(_table(_plugins()).items())}


def find(op: str) -> OperatorFamily | None:
    """The family that serves an operator, or None."""
    entry = _table(_plugins()).get(op)
    return None if entry is None else entry[1]


def family(node: GraphNode) -> OperatorFamily:
    """The family that serves a node; raises UnsupportedError with the nearest known operator."""
    found = find(node.op)
    if found is None:
        node.unsupported(f"operator '{node.op}' has no rule{nearest(node.op, operators())}; add a file to archsim/ops")
    return found


def meanings() -> Mapping[str, Meaning]:
    """Every vector function by name, with what it means in numbers."""
    return _meanings(_plugins())


@lru_cache(maxsize=8)
def _meanings(plugins: str) -> Mapping[str, Meaning]:
    found = dict(COMMON)
    owner = dict.fromkeys(found, "all operators")
    for name, family_ in dict(_table(plugins).values()).items():
        for function, meaning in family_.functions.items():
            if function in found:
                raise ConfigError(f"vector function '{function}' of '{name}' is taken by {owner[function]}")
            found[function], owner[function] = meaning, f"'{name}'"
    return found


def _plugins() -> str:
    return os.environ.get(registry.PLUGINS_VARIABLE, "")


@lru_cache(maxsize=8)
def _table(plugins: str) -> dict[str, tuple[str, OperatorFamily]]:
    """Operator -> (family name, family); cached by the plugin directories in force."""
    table: dict[str, tuple[str, OperatorFamily]] = {}
    for name, path in registry.modules(KIND).items():
        found = cast(Operator, registry.load(KIND, name)).FAMILY
        for op in found.names:
            if op in table:
                raise ConfigError(
                    f"{path}: operator '{op}' is already served by '{table[op][0]}'; allowed one file each"
                )
            table[op] = (name, found)
    return table
