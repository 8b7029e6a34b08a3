"""Key paths of a chip with values (``clock``, ``l1.size``), judged where the chip is not known: by the grammar alone.

A first word that is a key of the top level is judged as that key. Any other is taken for the name of a part: some kind
of part must have the keys behind it, and take the value.
"""

from __future__ import annotations

from collections.abc import Mapping

from archsim.base.errors import nearest
from archsim.spec.nodes import FileNode
from archsim.spec.problems import Problems, field_of, keys, meant_by, validate_part
from archsim.spec.schema import PARTS, ChipSection
from archsim.spec.sections import PartSection
from archsim.spec.tree import FIXED, inner_paths

_TOP = tuple(key for key in keys(ChipSection) if key not in FIXED)
_OF_PARTS = tuple(dict.fromkeys(key for model in PARTS.values() for key in keys(model) if key not in FIXED))


def check(values: Mapping[str, FileNode], prefix: str, problems: Problems) -> None:
    """Add a problem for each key path that no chip has, and each value that none takes; ``prefix``: their key path."""
    for path, node in values.items():
        first, *steps = path.split(".")
        if first in _TOP:
            validate_part(ChipSection, _nested([first, *steps], node), prefix, problems)
        elif not steps or not all(steps) or not _kinds(steps[0]):
            problems.add(node.mark, f"{prefix}.{path}", f"no such key path in any chip{_hint(path)}")
        else:
            _check_part(first, steps, node, f"{prefix}.{first}", problems)


def _check_part(name: str, steps: list[str], node: FileNode, prefix: str, problems: Problems) -> None:
    """A kind of part that has the key takes the value, or the first that has it says what it wants."""
    told = []
    for model in _kinds(steps[0]):
        found = Problems()
        validate_part(model, _nested(steps, node), prefix, found)
        if not found.found:
            return
        told.append(found)
    problems.take(told[0])


def _kinds(key: str) -> list[type[PartSection]]:
    return [model for model in PARTS.values() if key not in FIXED and field_of(model, key) is not None]


def _nested(steps: list[str], node: FileNode) -> FileNode:
    """The node below its key path: ``{technology: {voltage: node}}``."""
    for step in reversed(steps):
        node = FileNode({step: node}, node.mark)
    return node


def _hint(path: str) -> str:
    """The nearest key path, of the top level or of a part of the same name."""
    part, dot, key = path.partition(".")
    top = [*_TOP, *(f"{name}.{inner}" for name in _TOP for inner in inner_paths(ChipSection, name))]
    said = nearest(path, top)
    if said or not dot:
        return said
    meant = meant_by(key.partition(".")[0], _OF_PARTS)
    return f" (did you mean '{part}.{meant}'?)" if meant else f"; allowed PART.KEY with one of {', '.join(_OF_PARTS)}"
