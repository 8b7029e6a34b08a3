"""Every number of a part that acts on time is tried by ``--why``, or has its reason for not being tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from archsim.lab.what_if.variants import UNTRIED, variants
from archsim.spec.architecture import Architecture
from archsim.spec.json_schema import Sections
from archsim.spec.load import load, loads, names
from archsim.spec.load import replace as vary
from archsim.spec.schema import PARTS
from tests.tools.commands import GOLDEN

NO_TIME = ("energy", "area", "leakage", "idle", "on_die", "sources")  # of every part: what it draws and how large it is

ENGINES = """  - dma: {name: dma, outstanding: 8, requests: 2, setup: 4 cycles, run_setup: 2 cycles,
         row_setup: 2 cycles}
  - cache: {name: rows, size: 1 KiB, line: 32 B, ways: 2, word: 8 B, keeps: [tables]}
"""
DDR4 = "standard: ddr4, speed: 3200 MT/s, width: 64 b, channels: 2, capacity: 16 GiB, requests: 2"


def numbers(form: Any, found: dict[str, Any], path: str = "") -> Iterator[str]:
    """Key paths of the numbers of a section: also quantities, lists and tables of numbers, not words and flags."""
    if "$ref" in form:
        form = found[form["$ref"].rpartition("/")[2]]
    options = form.get("anyOf", [form])
    inner = [option for option in options if option.get("properties") or "$ref" in option]
    if inner:
        for option in inner:
            section = found[option["$ref"].rpartition("/")[2]] if "$ref" in option else option
            for key, value in section["properties"].items():
                yield from numbers(value, found, f"{path}.{key}")
    elif any(map(numeric, options)) or "$ref" in form.get("items", {}):
        yield path


def numeric(form: dict[str, Any]) -> bool:
    """Whether it is a number, a quantity, or a list or table of them."""
    if form.get("type") in ("integer", "number") or "[0-9]" in form.get("pattern", ""):
        return True
    beneath = [form.get("items"), form.get("additionalProperties"), *form.get("anyOf", ())]
    return any(numeric(each) for each in beneath if isinstance(each, dict))


def of_grammar() -> set[str]:
    """``kind.key`` of all numbers that act on time, or may; lists of sections (fan-outs) as their key."""
    sections = Sections()
    roots = {kind: sections.section(model) for kind, model in PARTS.items()}
    found = {kind + path for kind, root in roots.items() for path in numbers(root, sections.found)}
    return {path for path in found if path.split(".")[1] not in NO_TIME}


def full() -> Architecture:
    """A chip with all that may be doubled: limits, caches, costs of descriptors and commands, ports of engines' own."""
    text = (GOLDEN / "chip.yaml").read_text(encoding="utf-8").replace("  - dma: {name: dma}\n", ENGINES)
    text = text.replace("standard: constant, bandwidth: 8 GB/s, latency: 0 ns, capacity: 16 MiB", DDR4)
    ports = {engine: {"read": 1, "write": 1} for engine in ("dma", "array", "vector")}
    return loads(text, {"mxu.startup": "4 cycles", "vpu.startup": "4 cycles", "l1.ports": ports})


def chips() -> Iterator[Architecture]:
    shared = {engine: {"shared": 2} for engine in ("dma", "array", "vector")}
    yield from (full(), load(GOLDEN / "chip.yaml"), vary(load(GOLDEN / "chip.yaml"), {"l1.ports": {"shared": 1}}))
    yield vary(load(GOLDEN / "chip.yaml"), {"l1.ports": shared})
    yield vary(full(), {"rows.ports": {"shared": 1}})
    yield from map(load, ("simba", "mtia_v2i", "a100"))


def kinds(chip: Architecture) -> dict[str, str]:
    """Kind of each part that has a name."""
    found = {memory.name: memory.kind for memory in chip.memories} | {cache.name: "cache" for cache in chip.caches}
    found |= {array.name: "array" for array in chip.arrays} | {unit.name: "vector" for unit in chip.vectors}
    found |= {level.name: "noc" for level in (chip.noc.levels if chip.noc is not None else ())}
    return found | {chip.dma.name: "dma"}


def test_every_number_is_tried_or_has_its_reason() -> None:
    tried = set()
    for chip in chips():
        of = kinds(chip)
        for variant in variants(chip):
            for key in variant.keys:
                part, _, rest = key.partition(".")
                tried.add(f"{of[part]}.{rest}" if rest else f"chip.{part}")
    stated = of_grammar()
    assert sorted(stated - tried - UNTRIED.keys()) == []
    assert sorted(UNTRIED.keys() & tried) == [] and sorted(UNTRIED.keys() - stated) == []
    assert "chip.clock" in tried


def test_limits_and_costs_are_tried_where_they_are_stated() -> None:
    found = {variant.name: variant.keys for variant in variants(full())}
    assert found["dma requests x2"] == {"dma.requests": 4} and found["dram requests x2"] == {"dram.requests": 4}
    assert found["dram queues x2"] == {"dram.read_queue": 64, "dram.write_queue": 64}
    assert found["dma descriptors /2"] == {
        "dma.setup": "2 cycles", "dma.run_setup": "1 cycles", "dma.row_setup": "1 cycles",
    }  # fmt: skip
    assert found["vpu lanes x2"] and found["mxu startup /2"] == {"mxu.startup": "2 cycles"}
    plain = {variant.name for variant in variants(load(GOLDEN / "chip.yaml"))}
    assert not {name for name in plain if "requests" in name or "/2" in name or "queues" in name}
    longest = vary(full(), {"dram.read_queue": 128, "dram.write_queue": 100})
    keys = {variant.name: variant.keys for variant in variants(longest)}
    assert keys["dram queues x2"] == {"dram.write_queue": 128}


@pytest.mark.parametrize("name", [None, *names()])
def test_every_variant_is_another_chip(name: str | None) -> None:
    chip = full() if name is None else load(name)
    for variant in variants(chip):
        assert vary(chip, variant.keys) != chip, variant.name
