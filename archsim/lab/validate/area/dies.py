"""Published dies with what is on them: ``dies.json``, a mapping of names to dies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from archsim.base.errors import ConfigError
from archsim.spec import value_domains as d
from archsim.spec.nodes import FileNode
from archsim.spec.nodes import read as read_node
from archsim.spec.part import CLASSES
from archsim.spec.problems import Problems, validate
from archsim.spec.schema_base import Section

FILE = "dies.json"
SCORED = ("seen", "bound")  # how areas are known that count; those published as "less than" as equal
STRUCTURE = {"local": "local", "shared": "shared", "cache": "cache", "rf": "register_file"}
_STATUSES = (*SCORED, "recalled", "derived")

Count = Annotated[float, d.number("0", "1e9")]
Positive = Annotated[float, d.number("0", "1e9", positive=True)]
Word = Annotated[str, d.text()]


class DieMemory(Section):
    """A memory on a die."""

    kib: Positive = Field(description="KiB in all")
    macro_kib: Positive = Field(description="KiB of a macro")
    ports_factor: Annotated[float, d.number("1", "100")] = Field(1.0, description="area relative to one port")
    kind: Annotated[str, d.choice(*STRUCTURE)] = Field(description="what stands around its macros")


class DieInterface(Section):
    """The interface of a die to its DRAM."""

    kind: Word = Field(description="a kind of `memories` of the area table")
    units: Count = Field(description="HBM stacks, or 32-bit channels of other kinds")


class DieLink(Section):
    """A link of a die to a host or another one."""

    kind: Word = Field(description="a kind of `links` of the area table")
    lanes: Count = Field(description="lanes, or links where a kind has several lanes in one")


class Die(Section):
    """One die: its node, its published area and what is on it, harvested parts included."""

    node_nm: Annotated[float, d.number("1", "1000", "nm")] = Field(description="process node")
    die_mm2: Annotated[float, d.number("0", "1e6", "mm2", positive=True)] = Field(description="published area")
    area_status: Annotated[str, d.choice(*_STATUSES)] = Field(description="how the area is known")
    class_: Annotated[str, d.choice(*CLASSES)] = Field(alias="class", description="whose fill holds")
    inventory_status: Word = Field("", description="how what is on it is known")
    macs: dict[Word, Count] = Field({}, description="MACs by number format; the dearest counts")
    sram: list[DieMemory] = Field([], description="memories")
    lanes: dict[Word, Count] = Field({}, description="lanes beside the MACs, by number format")
    simt_subcores: Count = Field(0.0, description="SIMT sub-cores")
    simt_lanes: Count = Field(0.0, description="lanes to which a sub-core issues")
    scalar_cores: Count = Field(0.0, description="scalar cores, in fractions where smaller")
    flip_flops_kib: Count = Field(0.0, description="KiB in flip-flops")
    dram: DieInterface | None = Field(None, description="interface to DRAM")
    links: list[DieLink] = Field([], description="links")

    @property
    def scored(self) -> bool:
        """Whether its area counts in the figures of a suite."""
        return self.area_status in SCORED


def read(directory: Path) -> Mapping[str, Die]:
    """The dies of a directory by name; raises ConfigError with file:line:column for what it cannot read."""
    path = directory / FILE
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; the suite reads {FILE}")
    root, problems = read_node(path), Problems()
    found = {name: validate(Die, _stated(node), name, problems) for name, node in root.mapping.items()}
    problems.raise_all()
    dies = {name: die for name, die in found.items() if die is not None}
    if not any(die.scored for die in dies.values()):
        raise ConfigError(f"{path}: no die whose area_status is {' or '.join(SCORED)}")
    return dies


def _stated(node: FileNode) -> FileNode:
    """A die without its nulls, which say that something is not there."""
    if not isinstance(node.value, dict):
        return node
    return replace(node, value={key: child for key, child in node.mapping.items() if child.value is not None})
