"""Variants: a document on top of the one it extends, and single values set from outside."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.base.errors import ConfigError, nearest
from archsim.spec.nodes import FileNode, Mark, of_value
from archsim.spec.problems import Problems
from archsim.spec.tree import PARALLEL, PLATFORMS, Placed, has_open_keys, known_paths, placed

OPTION = "option"
SET_OPTION, PLATFORM_OPTION = "--set", "--platform"  # the one is another way to write a case of the other
PLATFORM, HOST = "platform", "host"
_OWN = ("extends", "name", "description")  # never inherited
_EXPANSION = ("fanouts", "registers")
_EXPANDED_FROM = ("shape", "dataflow", "kind", "weight_double_buffer", "block")


def merge(base: FileNode, child: FileNode, problems: Problems) -> FileNode:
    """``child`` over ``base``: mappings key by key, parts by name, the rest replaced. Changes ``base``.

    A part that ``base`` lacks goes behind the part that precedes it in ``child`` (outermost if it is the
    first); one inside ``parallel`` joins the base's. A part of another kind than the base's is a problem.
    """
    top = {key: node for key, node in base.mapping.items() if key not in _OWN}
    for key, node in child.mapping.items():
        if key != "hierarchy" or "hierarchy" not in top:
            top[key] = _over(top.get(key), node)
    merged = FileNode(top, child.mark)
    if "hierarchy" in base.mapping:
        _merge_parts(merged, child, problems)
    return merged


def override(root: FileNode, values: Mapping[str, object], origin: str) -> FileNode:
    """A copy of a document with values set by key path, e.g. ``{"dram.channels": 4, "clock": "2 GHz"}``.

    ``origin`` names the place in messages (``--set``, ``replace``). Raises ConfigError for a path that the
    document's grammar does not have, with the nearest one.
    """
    copy = _copy(root)
    known = known_paths(copy)
    for path, value in values.items():
        if path not in known and not has_open_keys(copy, path):
            raise ConfigError(f"{origin} {path}: no such key path in this chip{nearest(path, known)}")
        node = of_value(value, Mark(PLATFORM_OPTION if (origin, path) == (SET_OPTION, PLATFORM) else origin))
        _set_source(node, f"{OPTION}: {origin}")
        _set(copy, path, node)
    for path in values:
        _forget_expansion(copy, path, values)
        _refuse_unheard(copy, path, origin)
    return copy


def _refuse_unheard(root: FileNode, path: str, origin: str) -> None:
    """A key of the host that the platform states on which the chip runs: the host's own would say nothing."""
    first, _, key = path.partition(".")
    chosen = root.mapping.get(PLATFORM)
    if chosen is None or not any(part.kind == HOST and part.name == first for part in placed(root)):
        return
    stated = root
    for step in (PLATFORMS, str(chosen.value), HOST):
        stated = stated.mapping.get(step, FileNode({}, root.mark))
    if key in stated.mapping:
        said = f"platform '{chosen.value}' states its own, which acts in its place"
        raise ConfigError(f"{origin} {path}: {said}; allowed {PLATFORMS}.{chosen.value}.{HOST}.{key}")


def _over(under: FileNode | None, node: FileNode) -> FileNode:
    if under is None or not isinstance(under.value, dict) or not isinstance(node.value, dict):
        return node
    children = dict(under.value)
    for key, child in node.value.items():
        children[key] = _over(children.get(key), child)
    return FileNode(children, node.mark)


def _merge_parts(merged: FileNode, child: FileNode, problems: Problems) -> None:
    there = {part.name: part for part in placed(merged) if part.name}
    anchor: Placed | None = None
    for part in placed(child):
        found = there.get(part.name)
        if found is None:
            _insert(merged, part, anchor)
        elif found.kind != part.kind:
            message = f"found a part of kind {part.kind}; allowed {found.kind}, as in the extended chip"
            problems.add(part.mark, part.name, message)
        else:
            _merge_part(found, part)
        there = {item.name: item for item in placed(merged) if item.name}
        anchor = there.get(part.name)


def _merge_part(found: Placed, part: Placed) -> None:
    children = dict(found.node.mapping)
    if any(key in part.node.mapping for key in _EXPANDED_FROM):
        for key in _EXPANSION:
            children.pop(key, None)
    for key, node in part.node.mapping.items():
        children[key] = _over(children.get(key), node)
    found.node.value = children


def _insert(merged: FileNode, part: Placed, anchor: Placed | None) -> None:
    hierarchy = merged.mapping["hierarchy"]
    entry = FileNode({part.kind: part.node}, part.mark)
    if part.parallel:
        holder = next((item.mapping[PARALLEL] for item in hierarchy.items if PARALLEL in item.mapping), None)
        if holder is None:
            hierarchy.items.append(FileNode({PARALLEL: FileNode([entry], part.mark)}, part.mark))
        else:
            holder.items.append(entry)
        return
    place = 0
    for index, item in enumerate(hierarchy.items):
        if anchor is not None and any(node is anchor.node for node in _nodes_of(item)):
            place = index + 1
    hierarchy.items.insert(place, entry)


def _nodes_of(entry: FileNode) -> list[FileNode]:
    inner = [node for child in entry.mapping.values() for item in child.items for node in item.mapping.values()]
    return [*entry.mapping.values(), *inner]


def _set(root: FileNode, path: str, node: FileNode) -> None:
    first, *steps = path.split(".")
    section = next((part.node for part in placed(root) if part.name == first), None)
    if section is None:
        section, steps = root, [first, *steps]
    for step in steps[:-1]:
        children = section.mapping
        below = children.get(step)
        if below is None:
            below = FileNode({}, node.mark)
        elif not isinstance(below.value, dict):
            below = FileNode({"all": below}, below.mark)
        children[step] = below
        section = below
    section.mapping[steps[-1]] = node


def _forget_expansion(root: FileNode, path: str, values: Mapping[str, object]) -> None:
    """Fan-outs and registers of an array follow from its shape and dataflow: set those, and they are new."""
    name, _, key = path.partition(".")
    if key not in _EXPANDED_FROM:
        return
    for part in placed(root):
        if part.name == name and part.kind == "array":
            for derived in _EXPANSION:
                if f"{name}.{derived}" not in values:
                    part.node.mapping.pop(derived, None)


def _set_source(node: FileNode, source: str) -> None:
    node.source = source
    for child in (*node.mapping.values(), *node.items):
        _set_source(child, source)


def _copy(node: FileNode) -> FileNode:
    if isinstance(node.value, dict):
        return FileNode({key: _copy(child) for key, child in node.value.items()}, node.mark, node.source)
    if isinstance(node.value, list):
        return FileNode([_copy(child) for child in node.value], node.mark, node.source)
    return FileNode(node.value, node.mark, node.source)
