"""Where each number of a chip file comes from.

The nearest statement wins: an entry of ``sources:`` that names the key, then ``source:`` of the part, then
``source:`` of the top level; a number without any of them was written by the user of the file. Text that
begins with ``estimated:`` marks a number that nobody published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archsim.base.errors import nearest
from archsim.spec.nodes import FileNode
from archsim.spec.problems import Problems
from archsim.spec.tree import placed

USER = "user"
DEFAULT = "default"
ESTIMATED = "estimated:"
_NOT_NUMBERS = ("schema", "name", "description", "extends", "hierarchy", "not_modelled", "source", "sources")


def annotate(root: FileNode, problems: Problems) -> None:
    """Write into every leaf of a document the source that the document states for it.

    A ``sources`` entry for a key that the document does not have is a problem.
    """
    groups = list(_groups(root))
    leaves = {path for _, _, found in groups for path, _ in found}
    stated = dict(_statements(root, "", leaves, problems))
    for part in placed(root):
        stated |= dict(_statements(part.node, f"{part.name}.", leaves, problems))
    top = _own(root, USER)
    for owner, _, found in groups:
        default = _own(owner, top)
        for path, leaf in found:
            leaf.source = _nearest_statement(stated, path) or default


def collect(root: FileNode) -> dict[str, str]:
    """Key path to source of every leaf of a document whose leaves know theirs."""
    return {path: leaf.source for _, _, found in _groups(root) for path, leaf in found}


def lookup(found: Mapping[str, str], path: str) -> str:
    """The source of ``path``: its own, of the value it is part of, of its first part; else ``default``."""
    own = _nearest_statement(found, path) or found.get(f"{path.rpartition('.')[0]}.all", "")
    if own:
        return own
    inside = [text for key, text in found.items() if key.startswith(f"{path}.")]
    return inside[0] if inside else DEFAULT


def _groups(root: FileNode) -> Iterator[tuple[FileNode, str, list[tuple[str, FileNode]]]]:
    """The top level and every part: the section, its key prefix, its leaves with their key paths."""
    yield root, "", list(_leaves(root, ""))
    for part in placed(root):
        yield part.node, f"{part.name}.", list(_leaves(part.node, f"{part.name}."))


def _leaves(section: FileNode, prefix: str) -> Iterator[tuple[str, FileNode]]:
    for key, child in section.mapping.items():
        if key in _NOT_NUMBERS:
            continue
        if isinstance(child.value, dict):
            yield from child.leaves(f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", child


def _own(section: FileNode, default: str) -> str:
    text = section.mapping.get("source")
    return text.value.strip() if text is not None and isinstance(text.value, str) else default


def _statements(section: FileNode, prefix: str, leaves: set[str], problems: Problems) -> Iterator[tuple[str, str]]:
    table = section.mapping.get("sources")
    for key, node in (table.mapping if table is not None else {}).items():
        path = f"{prefix}{key}"
        if path not in leaves and not any(leaf.startswith(f"{path}.") for leaf in leaves):
            known = sorted(leaf.removeprefix(prefix) for leaf in leaves if leaf.startswith(prefix))
            problems.absent(node.mark, f"{prefix}sources", f"no key '{key}' in this file{nearest(key, known)}", path)
        yield path, str(node.value).strip()


def _nearest_statement(stated: Mapping[str, str], path: str) -> str:
    while path:
        if path in stated:
            return stated[path]
        path = path.rpartition(".")[0]
    return ""
