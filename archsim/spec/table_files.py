"""Reading of table files: validated by their schema, errors with file:line:column and key path.

A link may be named instead of stated: `phy: ucie_advanced` stands for the numbers of a file in configs/links, and for
their sources.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from archsim.base import registry
from archsim.base.errors import ConfigError, nearest
from archsim.spec import schema_tables as st
from archsim.spec.locate import config_files
from archsim.spec.nodes import FileNode, bounded_text, parse, read
from archsim.spec.problems import Problems, validate
from archsim.spec.schema import PHY
from archsim.spec.schema_base import Section
from archsim.spec.schema_tables import LinkTable
from archsim.spec.tree import placed

if TYPE_CHECKING:  # chips that name no table need none of their sections
    from archsim.spec import schema_tables as st

_GONE = {
    "archsim.technology/1": "allowed archsim.technology/2, in which areas are densities: leave out multiply_um2, "
    "add_um2, um2_per_bit and the column area_um2, and state logic.density_mtr_per_mm2 and sram.cell_um2_per_bit "
    "(configs/area has the gates of each unit)",
    "archsim.dram_energy/1": "allowed archsim.dram_energy/2, which has `interface: hbm` (or ddr, lpddr, gddr: of "
    "configs/area) in the place of interface_mm2_per_bit",
}
M = TypeVar("M", bound=Section)


def load(path: Path, model: type[M]) -> M:
    """The table of a file as ``model``, a top level of ``schema_tables``. Raises ConfigError with every problem."""
    return cast(M, _of_text(bounded_text(path), str(path), model))


@lru_cache(maxsize=64)
def _of_text(text: str, file: str, model: type[Section]) -> Section:
    """Chips of a sweep name the same tables: a process reads a text once."""
    return of_node(parse(text, file), model)


def of_node(root: FileNode, model: type[M]) -> M:
    """As ``load`` for a document that was read."""
    problems = Problems()
    _check_version(root)
    found = validate(model, root, "", problems)
    if found is not None:
        _check(found, root, problems)
    problems.raise_all()
    if found is None:
        raise TypeError("a table was refused without a reason")
    return found


def _check_version(root: FileNode) -> None:
    """Tables of a schema that is gone are refused with what came in the place of its keys."""
    node = root.mapping.get("schema")
    said = _GONE.get(str(node.value)) if node is not None else None
    if node is not None and said is not None:
        raise ConfigError(f"{node.mark}: schema: found '{node.value}'; {said}")


def find(kind: str, name: str, what: str) -> Path:
    """The table file ``name`` of ``kind``; raises ConfigError naming those that exist."""
    files = config_files(kind)
    if name not in files:
        raise registry.unknown(what, name, files)
    return files[name]


def _check(found: Section, root: FileNode, problems: Problems) -> None:
    """What goes beyond single values: columns and order of points, a source for each number of a link."""
    if isinstance(found, st.TechnologyTable):
        _check_sram(found.sram, root.mapping["sram"], problems)
    if isinstance(found, st.AreaTable):
        _check_efficiency(found.sram.macro_efficiency, root, problems)
    if isinstance(found, st.LinkTable):
        for key in PHY.model_fields:
            if key in root.mapping and key not in found.sources:
                problems.add(root.mapping[key].mark, key, "no source; allowed one in `sources`")


def _check_efficiency(table: st.EfficiencyTable, root: FileNode, problems: Problems) -> None:
    sizes, shares = zip(*table.points, strict=True) if table.points else ((), ())
    mark = root.mapping["sram"].mapping["macro_efficiency"].mapping["points"].mark
    path = "sram.macro_efficiency.points"
    if len(sizes) < 2 or sorted(set(sizes)) != [*sizes]:
        told = ", ".join(f"{size:g}" for size in sizes) or "none"
        problems.add(mark, path, f"found the sizes {told}; allowed two or more that grow")
    if any(share > 1 for share in shares):
        problems.add(mark, path, f"found a share of {max(shares):g}; allowed up to 1")


def _check_sram(sram: st.SramPoints, node: FileNode, problems: Problems) -> None:
    columns = node.mapping["columns"]
    if sram.columns[:1] != [st.COLUMNS[0]] or sorted(sram.columns) != sorted(st.COLUMNS):
        found, allowed = (", ".join(names) for names in (sram.columns, st.COLUMNS))
        problems.add(columns.mark, "sram.columns", f"found [{found}]; allowed {allowed}, the first one first")
    for key in ("word_64", "word_256"):
        sizes = [row[0] for row in getattr(sram, key).points]
        where, path = node.mapping[key].mapping["points"], f"sram.{key}.points"
        if len(sizes) < 2:
            problems.add(where.mark, path, f"found {len(sizes)} rows; allowed two or more, joined by lines")
        for number in range(1, len(sizes)):
            if sizes[number] <= sizes[number - 1]:
                said = f"found the size {sizes[number]:g} behind {sizes[number - 1]:g}; allowed sizes that rise"
                problems.add(where.items[number].mark, f"{path}[{number}]", said)


KIND = "links"
_KEY = "phy"
_NOT_NUMBERS = ("schema", "name", "description", "source", "sources")


def expand(root: FileNode) -> None:
    """Write the numbers of a preset where a network names one. Raises ConfigError for a name that is not there."""
    problems = Problems()
    for part in placed(root):
        named = part.node.mapping.get(_KEY)
        if part.kind == "noc" and named is not None and isinstance(named.value, str):
            _expand(part.node, named, f"{part.name}.{_KEY}", problems)
    problems.raise_all()


def _expand(section: FileNode, named: FileNode, path: str, problems: Problems) -> None:
    name, known = str(named.value), config_files(KIND)
    if name in known:
        section.mapping[_KEY] = FileNode(preset(name).value, named.mark)
        return
    allowed = f"{', '.join(known)}, or a mapping of its keys"
    problems.add(named.mark, path, f"found '{name}'; allowed {allowed}{nearest(name, known)}")


def preset(name: str) -> FileNode:
    """The numbers of a file in configs/links, each with its source. Raises ConfigError for one without."""
    document = read(config_files(KIND)[name])
    link = of_node(document, LinkTable)
    found = FileNode({}, document.mark)
    for key, node in document.mapping.items():
        if key not in _NOT_NUMBERS:
            source = link.sources[key]
            node.source = source if source.startswith("estimated:") else f"{name}: {source}"
            found.mapping[key] = node
    return found
