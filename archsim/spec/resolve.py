"""A document to the canonical Architecture: checked, units as integers, sugar expanded, clocks inherited."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from archsim.spec import build, canonical, rules_die, rules_noc, rules_parts, rules_tree, schema
from archsim.spec import sources as origins
from archsim.spec.architecture import Architecture, Dma, Host, Vector, dataflow_name
from archsim.spec.declared import DeclaredPart, File, clocks, declare
from archsim.spec.dtypes import BITS, ROLES
from archsim.spec.expand import ArrayFacts, DataflowFacts, dataflow_facts
from archsim.spec.network import Noc
from archsim.spec.nodes import FileNode
from archsim.spec.on_die import Control
from archsim.spec.on_platform import on_platform
from archsim.spec.problems import Problems
from archsim.spec.topology_facts import TopologyFacts
from archsim.spec.tree import check as check_tree


def resolve(root: FileNode, facts: DataflowFacts = dataflow_facts) -> Architecture:
    """The canonical chip of a document whose leaves know their sources (``sources.annotate``).

    ``facts``: fan-outs and registers of a dataflow by name. Raises ConfigError (NotBuiltError for parts of
    the grammar that this version lacks) with one line of file:line:column, key path, value found and what
    is allowed for each problem of the file.
    """
    problems = Problems()
    check_tree(root, problems)
    file = declare(root, problems)
    if file is None:
        problems.raise_all()
        raise TypeError("a document was refused without a reason")
    rules_tree.check(file)
    rules_parts.check(file)
    rules_die.check(file)
    fabrics = rules_noc.check(file)
    bits = _bits(file.chip.dtypes)
    arrays = [(part, rules_parts.array_facts(file, part, facts, bits)) for part in file.of(schema.ARRAY)]
    problems.raise_all()
    chip = _architecture(file, {part.spec.name: found for part, found in arrays if found is not None}, fabrics)
    if chip.noc is not None:
        rules_noc.check_routes(file, fabrics, chip.noc)
        problems.raise_all()
    return chip


def _bits(dtypes: schema.DtypesSection) -> dict[str, int]:
    """Bits per value by tensor role; partial sums have the accumulate width."""
    by_role = {role: BITS[getattr(dtypes, role)] for role in ROLES if role != "partials"}
    return by_role | {"partials": BITS[dtypes.accumulate]}


def _architecture(file: File, facts: dict[str, ArrayFacts], fabrics: list[TopologyFacts]) -> Architecture:
    chip = file.chip
    stated = origins.collect(file.root) | _derived(file)
    hertz = clocks(file)
    below = rules_noc.below(file)
    copies = {part.spec.name: prod(fabric.cores for fabric in fabrics) for part in below} if fabrics else {}
    rules_die.check_on_die(file, copies)

    def at(part: DeclaredPart) -> build.Standing:
        name = part.spec.name
        return build.Standing(part.spec, part.at.kind, hertz[name], copies.get(name, 1), stated)

    def noc() -> Noc | None:
        levels = [(at(part), fabric) for part, fabric in zip(file.of(schema.NOC), fabrics, strict=False)]
        inside = tuple(item.spec.name for item in below if isinstance(item.spec, schema.STORAGE))
        return build.noc(levels, inside) if levels else None

    bare = Architecture(
        name=chip.name,
        description=chip.description,
        clock_hz=chip.clock,
        technology=chip.technology.node,
        voltage_v=chip.technology.voltage,
        memories=tuple(build.memory(at(part)) for part in file.of(schema.STORAGE)),
        caches=tuple(build.cache(at(part), _address_bits(file)) for part in file.of(schema.CACHE)),
        arrays=tuple(build.array(at(part), facts[part.spec.name]) for part in file.of(schema.ARRAY)),
        vectors=tuple(build.part(Vector, at(part)) for part in file.of(schema.VECTOR)),
        dma=next((build.part(Dma, at(part)) for part in file.of(schema.DMA)), _default_dma(chip.clock, copies)),
        controls=tuple(build.part(Control, at(part)) for part in file.of(schema.CONTROL)),
        links=build.links(chip.links),
        floorplan=build.floorplan(chip.floorplan),
        power=build.power(chip.power, stated),
        stated_idle_class=chip.idle_class or "",
        chip_class=chip.class_ or "",
        noc=noc(),
        host=next((build.part(Host, at(part)) for part in file.of(schema.HOST)), None),
        dtypes={**chip.dtypes.model_dump(), "partials": chip.dtypes.accumulate},
        not_modelled=chip.not_modelled,
        source=chip.source or origins.USER,
        platforms={name: build.platform(name, section, chip.clock) for name, section in chip.platforms.items()},
        platform=chip.platform or "",
    )
    parts = canonical.parts(bare)
    sourced = {path: origins.lookup(stated, path) for path in canonical.number_paths(parts, bare)}
    whole = replace(bare, sources=sourced)
    return on_platform(replace(whole, sha256=hashlib.sha256(canonical.to_yaml(whole, parts).encode()).hexdigest()))


def _derived(file: File) -> dict[str, str]:
    """Sources of what follows from a dataflow, for arrays that do not state it."""
    return {
        f"{part.spec.name}.{key}": f"derived: dataflow {dataflow_name(part.spec.dataflow, part.spec.kind)}"
        for part in file.of(schema.ARRAY)
        for key in ("fanouts", "registers")
        if getattr(part.spec, key) is None
    }


def _address_bits(file: File) -> int:
    """Bits of an address of any of the chip's DRAM parts, which lie one behind the other."""
    return max(1, sum(int(part.spec.capacity) for part in file.of(schema.DRAM)) - 1).bit_length()


def _default_dma(clock_hz: int, copies: Mapping[str, int]) -> Dma:
    many = max(copies.values(), default=1)
    return build.part(Dma, build.Standing(build.default("dma"), "dma", clock_hz, many, {}))
