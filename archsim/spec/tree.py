"""The hierarchy of a chip document: its parts, where they stand, and the key paths that reach into them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from archsim.base.errors import nearest
from archsim.spec.nodes import FileNode, Mark
from archsim.spec.problems import Problems, field_of, keys, submodel
from archsim.spec.schema import PARTS, PARTS_LATER, PLATFORM, ChipSection

PARALLEL = "parallel"
PLATFORMS = "platforms"
FIXED = ("schema", "name", "extends", "hierarchy", "source", "sources")
_DEFAULT_NAMES = ("dma", "host")


@dataclass(frozen=True, slots=True)
class Placed:
    """A part where it stands: ``holder`` is the list with it, ``label`` its place in the file's own terms."""

    kind: str
    name: str
    node: FileNode
    mark: Mark
    holder: FileNode
    label: str
    parallel: bool


def placed(root: FileNode) -> Iterator[Placed]:
    """Every part of a document in order; entries that are none are passed over (``check`` reports them)."""
    hierarchy = root.mapping.get("hierarchy")
    if hierarchy is not None:
        yield from _of_list(hierarchy, "hierarchy", parallel=False)


def _of_list(holder: FileNode, label: str, parallel: bool) -> Iterator[Placed]:
    for index, item in enumerate(holder.items):
        if len(item.mapping) != 1:
            continue
        kind, node = next(iter(item.mapping.items()))
        place = f"{label}[{index}].{kind}"
        if kind == PARALLEL and not parallel:
            yield from _of_list(node, place, parallel=True)
        elif isinstance(node.value, dict):
            yield Placed(kind, part_name(kind, node), node, node.mark, holder, place, parallel)


def part_name(kind: str, node: FileNode) -> str:
    """The name of a part; '' when it has none."""
    given = node.mapping.get("name")
    if given is not None:
        return given.value if isinstance(given.value, str) else ""
    return kind if kind in _DEFAULT_NAMES else ""


def check(root: FileNode, problems: Problems) -> None:
    """Report entries of the hierarchy that are not one part each, and kinds that do not exist (yet)."""
    hierarchy = root.mapping.get("hierarchy")
    if hierarchy is not None and isinstance(hierarchy.value, list):
        _check_list(hierarchy, "hierarchy", problems, parallel=False)


def _check_list(holder: FileNode, label: str, problems: Problems, parallel: bool) -> None:
    for index, item in enumerate(holder.items):
        place = f"{label}[{index}]"
        if len(item.mapping) != 1:
            problems.add(item.mark, place, f"found {_entry(item)}; allowed one part such as 'sram: {{name: l1, ...}}'")
            continue
        kind, node = next(iter(item.mapping.items()))
        if kind == PARALLEL:
            _check_parallel(node, place, problems, parallel)
        else:
            _check_kind(kind, node, place, problems)


def _check_parallel(node: FileNode, place: str, problems: Problems, inside: bool) -> None:
    if inside:
        problems.not_built(node.mark, place, "parallel inside parallel is not built yet; this version has one level")
    elif not node.items:
        problems.add(node.mark, f"{place}.parallel", "allowed a list of parts that stand side by side")
    else:
        _check_list(node, f"{place}.parallel", problems, parallel=True)


def _check_kind(kind: str, node: FileNode, place: str, problems: Problems) -> None:
    known = (*PARTS, PARALLEL)
    if kind in PARTS_LATER:
        problems.not_built(
            node.mark, place, f"part kind '{kind}' is not built yet; this version has: {', '.join(known)}"
        )
    elif kind not in PARTS:
        hint = nearest(kind, known)
        problems.add(node.mark, place, f"unknown part kind '{kind}'; allowed {', '.join(known)}{hint}")
    elif not isinstance(node.value, dict):
        problems.add(node.mark, f"{place}.{kind}", f"found no mapping; allowed the keys {', '.join(keys(PARTS[kind]))}")


def _entry(item: FileNode) -> str:
    if item.mapping:
        return f"{len(item.mapping)} keys ({', '.join(item.mapping)}) in one entry"
    return "a value" if item.value is not None else "nothing"


def known_paths(root: FileNode) -> list[str]:
    """Every key path that ``replace`` and ``--set`` accept on this document, sorted."""
    paths = [key for key in keys(ChipSection) if key not in (*FIXED, PLATFORMS)]
    paths += [f"{key}.{inner}" for key in paths for inner in inner_paths(ChipSection, key)]
    for name in root.mapping[PLATFORMS].mapping if PLATFORMS in root.mapping else ():
        own = keys(PLATFORM)
        own += [f"{key}.{inner}" for key in own for inner in inner_paths(PLATFORM, key)]
        paths += [f"{PLATFORMS}.{name}.{key}" for key in own]
    for part in placed(root):
        model = PARTS.get(part.kind)
        if model is None or not part.name:
            continue
        own = [key for key in keys(model) if key not in FIXED]
        paths += [f"{part.name}.{key}" for key in own]
        paths += [f"{part.name}.{key}.{inner}" for key in own for inner in inner_paths(model, key)]
    return sorted(paths)


def has_open_keys(root: FileNode, path: str) -> bool:
    """Whether ``path`` is an entry of a table with free keys, such as ``mxu.rates.int8``."""
    first, _, rest = path.partition(".")
    key = rest.partition(".")[0]
    if key in FIXED:
        return False
    model = next((PARTS.get(part.kind) for part in placed(root) if part.name == first), None)
    info = field_of(model, key) if model is not None else None
    return info is not None and rest.count(".") == 1 and "dict[" in str(info.annotation)


def inner_paths(model: type[BaseModel], key: str) -> list[str]:
    """Key paths below a key that holds a section, of sections in it too."""
    info = field_of(model, key)
    section = submodel(info.annotation) if info is not None else None
    if section is None or "list[" in str(info and info.annotation):
        return []
    own = keys(section)
    return own + [f"{name}.{inner}" for name in own for inner in inner_paths(section, name)]
