"""Rules on what stands on the die beside what is timed: links, floorplan, control, instances that are switched off."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.base.errors import nearest
from archsim.spec import schema, table_files
from archsim.spec.declared import File
from archsim.spec.nodes import FileNode
from archsim.spec.part import FILL, INTERFACE, SEQUENCERS, WHOLE
from archsim.spec.schema_tables import AreaTable

_NO_AREA = (schema.HOST, schema.DMA)


def check(file: File) -> None:
    """Add a problem for every broken rule."""
    for rule in (_links, _floorplan, _control):
        rule(file)


def check_on_die(file: File, copies: Mapping[str, int]) -> None:
    """Add a problem for every part of which fewer instances are on the die than are in use, and raise all."""
    for part in file.parts:
        used, on_die = copies.get(part.spec.name, 1), part.spec.on_die
        if on_die is None:
            continue
        if isinstance(part.spec, _NO_AREA):
            file.add(part, "on_die", f"has no meaning of a {part.at.kind}, which has no area")
        elif on_die < used:
            file.add(part, "on_die", f"found {part.found('on_die')}; allowed from {used}, the instances in use")
    file.problems.raise_all()


def _links(file: File) -> None:
    if not file.chip.links:
        return
    known = table_files.load(table_files.find("area", "structures", "area table"), AreaTable).links
    for number, link in enumerate(file.chip.links):
        kind = link.kind  # type: ignore[attr-defined]
        if kind not in known:
            path = f"links.{number}.kind"
            _add(file, ("links", number, "kind"), path, f"found '{kind}'; allowed {', '.join(known)}", kind, known)


def _floorplan(file: File) -> None:
    kinds = {link.kind for link in file.chip.links}  # type: ignore[attr-defined]
    parts = [part for part in file.parts if not isinstance(part.spec, schema.HOST)]
    known = [f"{part.spec.name}{INTERFACE}" if isinstance(part.spec, schema.DRAM) else part.spec.name for part in parts]
    known += [*(f"link {kind}" for kind in sorted(kinds)), SEQUENCERS, FILL, WHOLE]
    for name, block in file.chip.floorplan.items():
        place = ("floorplan", name, "parts")
        for part in block.parts:  # type: ignore[attr-defined]
            if part not in known:
                said = f"found '{part}'; allowed {', '.join(known)}"
                _add(file, place, f"floorplan.{name}.parts", said, part, known)


def _control(file: File) -> None:
    for part in file.of(schema.CONTROL):
        spec = part.spec
        if not (spec.scalar_cores or spec.subcores or spec.units):
            file.problems.add(part.at.mark, spec.name, "found none of scalar_cores, subcores, units; allowed some")
        if "lanes" in spec.model_fields_set and not spec.subcores:
            file.add(part, "lanes", "has no meaning without `subcores`, which issue to them")


def _add(
    file: File, place: tuple[str | int, ...], path: str, said: str, found: str, known: Mapping[str, object] | list[str]
) -> None:
    """Report a problem at a place of the top level, or as near to it as the file goes."""
    node: FileNode = file.root
    for step in place:
        inside = node.items[step : step + 1] if isinstance(step, int) else [node.mapping.get(step)]
        node = next((child for child in inside if child is not None), node)
    file.problems.add(node.mark, path, f"{said}{nearest(found, known)}")
