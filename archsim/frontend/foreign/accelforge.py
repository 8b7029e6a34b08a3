"""AccelForge: ``arch`` (a list of tagged nodes, outermost first) and ``workload`` (einsums).

Format: https://accelergy-project.github.io/accelforge, "Arch Specification", "Workload and Renames Specification" and
"Arithmetic and Parsing". Energies are joules, areas m2, rates actions a second; an action is of ``bits_per_action``
bits, 1 unless stated. Cycles are those of the compute units: one MAC a cycle.
"""

from __future__ import annotations

import re
from fractions import Fraction

from archsim.base.errors import ConfigError
from archsim.frontend.foreign import accelforge_work
from archsim.frontend.foreign.accelforge_parts import LEAST_HZ, AccelforgeReader
from archsim.frontend.foreign.design import ForeignDesign, ForeignFanout, ForeignLanes, ForeignMemory
from archsim.frontend.foreign.section import SourceQuantity, SourceSection
from archsim.frontend.foreign.sets import Roles, holds
from archsim.frontend.foreign.work import ForeignModel

MARKS = frozenset(("arch", "workload"))
_SEARCH = "AccelForge's search; archsim's mapper has its own (docs/mapping.md)"
_FLAT = ("!Hierarchical", "!Array")
_PARTS = ("!Memory", "!Toll", "!Compute", "!Container", "!Fanout", "!Network", "!Fork", *_FLAT)
_MOST_DEPTH = 30


def read(sections: list[SourceSection], files: list[str]) -> tuple[ForeignDesign | None, ForeignModel | None]:
    """The chip and the workload of several files. Raises ConfigError where either stands twice or is not understood."""
    arch, arch_file = _one(sections, files, "arch")
    workload, work_file = _one(sections, files, "workload")
    renames, _ = _one(sections, files, "renames")
    variables = _variables(_one(sections, files, "variables")[0])
    for section in sections:
        section.ignore(_SEARCH, "mapper", "model", "config")
        section.refuse("a mapping; archsim takes mappings in a form of its own (run --mapping)", "mapping")
    work, facts = None, accelforge_work.AccelforgeFacts({}, {})
    if workload is not None:
        work, facts = accelforge_work.read(workload, renames, work_file, variables)
    elif renames is not None:
        renames.ignore("of a workload that is not among the files")
    if arch is None:
        return None, work
    return _design(arch, arch_file, facts, variables), work


def _one(sections: list[SourceSection], files: list[str], key: str) -> tuple[SourceSection | None, str]:
    found = [(section, file) for section, file in zip(sections, files, strict=True) if key in section]
    if len(found) > 1:
        raise ConfigError(
            f"{found[1][0].node.mapping[key].mark}: {key}: a second one; allowed one in all files together"
        )
    return (found[0][0].mapping(key), found[0][1]) if found else (None, "")


def _variables(section: SourceSection | None) -> dict[str, object]:
    found: dict[str, object] = {}
    for key in section if section is not None else []:
        assert section is not None
        number = section.number(key, "names in arithmetic", found)
        if number is not None:
            found[key] = number.value
    return found


def _design(
    arch: SourceSection, file: str, facts: accelforge_work.AccelforgeFacts, variables: dict[str, object]
) -> ForeignDesign:
    nodes = _flat(arch)
    computes = [node for node in nodes if node.tag == "!Compute" and _enabled(node, facts.roles)]
    if not computes:
        arch.fail("has no compute unit; allowed a node !Compute at the end")
    reader = AccelforgeReader(facts, variables)
    mac = computes[-1]
    clock = reader.rate(mac)
    levels: list[ForeignMemory | ForeignFanout] = []
    lanes: ForeignLanes | None = None
    for node in nodes:
        if node.tag == "!Compute" and node is not mac:
            found = reader.lanes(node, clock, levels) if lanes is None else None
            node.refuse("a further kind of compute unit is left out") if found is None else None
            lanes = found or lanes
            continue
        levels += reader.spreads(node)
        if node.tag == "!Memory":
            levels.append(
                reader.memory(node, clock, outermost=not any(isinstance(each, ForeignMemory) for each in levels))
            )
    if not any(isinstance(level, ForeignMemory) for level in levels):
        arch.fail("has no memory; allowed nodes !Memory before the compute unit")
    units = reader.units(mac)
    if clock is not None and clock.value < LEAST_HZ:
        arch.ledger.assume("clock", f"a cycle is the time of one MAC, {clock.source}: no rate of a chip in seconds")
    return ForeignDesign(
        tool="AccelForge",
        name=re.sub(r"(\.arch)?\.ya?ml$", "", file),
        file=file,
        mark=arch.node.mark,
        levels=tuple(levels),
        units=units,
        clock_hz=clock if clock is None or clock.value >= LEAST_HZ else None,
        value_bits=reader.value_bits(levels),
        technology_nm=_technology(arch),
        lanes=lanes,
        free=("networks between levels and what passes through a toll, which AccelForge prices apart",),
    )


def _flat(branch: SourceSection, depth: int = 0) -> list[SourceSection]:
    """The nodes of the one way from the outermost memory to the last compute unit."""
    found: list[SourceSection] = []
    for node in branch.entries("nodes"):
        if node.tag not in _PARTS:
            node.fail(f"found {node.tag or 'no tag'}; allowed {', '.join(_PARTS)}")
        if node.tag in _FLAT and depth < _MOST_DEPTH:
            node.ignore("the name of a branch; its nodes are read", "name")
            found += _flat(node, depth + 1)
        elif node.tag in ("!Toll", "!Network", "!Fork"):
            said = {
                "!Toll": "energy of values that pass has no counterpart; add it to the memory above or below",
                "!Network": "networks are free in this chip; add a `noc` part yourself",
                "!Fork": "another way to other compute units; import it as a chip of its own",
            }
            node.refuse(said[node.tag])
        else:
            found.append(node)
    return found


def _enabled(node: SourceSection, roles: dict[str, Roles]) -> bool:
    if "enabled" not in node:
        return True
    text = node.text("enabled", "which unit takes products of two tensors")
    try:
        return holds(text, roles)
    except ConfigError as error:
        node.fail(str(error), "enabled")


def _technology(arch: SourceSection) -> SourceQuantity | None:
    """``tech_node`` in metres."""
    extra = arch.mapping("extra_attributes_for_all_component_models")
    if extra is None:
        return None
    node = extra.number("tech_node", "technology.node")
    extra.ignore("AccelForge's component models alone read it", *(key for key in extra if key != "tech_node"))
    return node.scaled(Fraction(10**9), "nm") if node is not None and node.value > 0 else None
