"""The Architecture as text: the resolved chip in the grammar of chip files; it loads to an equal one.

What a part states, and which of it are numbers, its fields say (``keys``); here is where the parts and the top level
stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import yaml

from archsim.base import units
from archsim.spec import keys, peaks
from archsim.spec import value_domains as d
from archsim.spec.architecture import Architecture
from archsim.spec.keys import Key
from archsim.spec.network import OuterNetwork
from archsim.spec.part import Part

CanonicalSection = dict[str, Any]
_LINE = 100  # characters of a mapping or list that goes on one line
_MOST_TEXTS = 4096  # pieces of text that a process keeps
_texts: dict[str, str] = {}


class CanonicalPart(NamedTuple):
    """What canonical text states of a part; ``leaf``: it stands below all memories, beside others of its kind."""

    kind: str
    name: str
    leaf: bool
    keys: Sequence[tuple[Key, object]]


def parts(chip: Architecture) -> list[CanonicalPart]:
    """What canonical text states of each part of a chip, in the order of the text."""
    return [CanonicalPart(part.kind, part.name, leaf, _stated(part, hertz)) for part, hertz, leaf in _placed(chip)]


def number_paths(stated: Iterable[CanonicalPart], chip: Architecture) -> list[str]:
    """Key paths of every number of the canonical text of a chip with these parts, in its order."""
    found = ["technology.voltage", "clock", *(["links"] if chip.links else [])]
    found += keys.numbers(keys.texts(chip.power, ""), "power.")
    found += [f"floorplan.{name}.area" for name in chip.floorplan]
    for name, platform in chip.platforms.items():
        found += keys.numbers(keys.texts(platform, ""), f"platforms.{name}.")
    for part in stated:
        found += keys.numbers(part.keys, f"{part.name}.")
    return found


def to_yaml(chip: Architecture, stated: Sequence[CanonicalPart] | None = None) -> str:
    """The canonical text of a chip; ``load.loads`` reads it back to an equal Architecture.

    Every value is stated, defaults and expanded arrays included, except clocks that follow from the one
    above; ``sources`` says where each number comes from. Comments at the top give the peak rates. ``stated``: its
    ``parts``, where they are at hand.
    """
    chip = chip.base or chip
    head = "".join(f"# {line}\n" for line in peaks.lines(chip))
    above, hierarchy, below = _document(chip, parts(chip) if stated is None else stated)
    texts = [head, _known_text(above), "hierarchy:\n", *(_known_text([part]) for part in hierarchy)]
    texts += [_known_text(below)] if below else []
    return "".join([*texts, _sources(chip)])


def _sources(chip: Architecture) -> str:
    """The mapping of the sources, a line or more for each."""
    lines = [_source_text(path, source) for path, source in chip.sources.items()]
    return "".join(["sources:\n", *lines]) if lines else "sources: {}\n"


@lru_cache(maxsize=1 << 14)
def _source_text(path: str, source: str) -> str:
    """The lines of one source."""
    return _dump({"sources": {path: source}}, yaml.SafeDumper).partition("\n")[2]


def _known_text(document: CanonicalSection | list[CanonicalSection]) -> str:
    """A piece of the text, which is the same in all chips that have it: those of a sweep differ in few parts."""
    asked = repr(document)
    found = _texts.get(asked)
    if found is None:
        if len(_texts) == _MOST_TEXTS:
            _texts.clear()
        found = _texts[asked] = _dump(document, _Dumper)
    return found


def _placed(chip: Architecture) -> Iterator[tuple[Part, int, bool]]:
    """The parts in the order of the text, each with the clock above it and whether it is a leaf."""
    above = chip.clock_hz
    shared = [control for control in chip.controls if control.copies == 1]
    yield from ((control, chip.clock_hz, False) for control in shared)
    last = max((n for n, memory in enumerate(chip.memories) if memory.kind == "dram"), default=-1)
    for number, memory in enumerate(chip.memories):
        if chip.noc is not None and memory.name == chip.noc.inside[0]:
            for level in reversed(chip.noc.levels):
                yield level, above, False
                above = level.clock_hz
        yield memory, above, False
        above = memory.clock_hz
        if number == last:
            yield from ((cache, above, False) for cache in chip.caches)
    yield chip.dma, chip.clock_hz, False
    if chip.host is not None:
        yield chip.host, chip.clock_hz, False
    yield from ((control, chip.clock_hz, False) for control in chip.controls if control not in shared)
    yield from ((leaf, above, True) for leaf in (*chip.arrays, *chip.vectors))


def _stated(part: Part, above_hz: int) -> list[tuple[Key, object]]:
    """What the text states of a part: no clock that is the one above, of outer networks no crossing into them."""
    hidden = ("clock",) if part.clock_hz == above_hz else ()
    if isinstance(part, OuterNetwork):
        hidden = (*hidden, "sync_stages")
    return [(key, text) for key, text in keys.texts(part, part.kind) if key.name not in hidden]


def _document(
    chip: Architecture, stated: Sequence[CanonicalPart]
) -> tuple[CanonicalSection, list[CanonicalSection], CanonicalSection]:
    """What stands above the hierarchy, the hierarchy, and what stands below it."""
    hierarchy: list[CanonicalSection] = []
    leaves: list[CanonicalSection] = []
    for part in stated:
        section = {key.name: text for key, text in part.keys}
        (leaves if part.leaf else hierarchy).append({part.kind: section})
    hierarchy.append({"parallel": leaves} if len(leaves) > 1 else leaves[0])
    above: CanonicalSection = {"schema": "archsim.chip/1", "name": chip.name}
    if chip.description:
        above["description"] = chip.description
    above |= {
        "source": chip.source,
        "technology": {"node": chip.technology, "voltage": f"{d.shortest(chip.voltage_v)} V"},
        "clock": units.exact(chip.clock_hz, units.FREQUENCY),
        "dtypes": {key: dtype for key, dtype in chip.dtypes.items() if key != "partials"},
    }
    if chip.chip_class:
        above["class"] = chip.chip_class
    if chip.stated_idle_class:
        above["idle_class"] = chip.stated_idle_class
    if chip.power.idle_w is not None:
        above["power"] = keys.text(chip.power, "")
    if chip.links:
        above["links"] = [keys.text(link, "") for link in chip.links]
    if chip.floorplan:
        above["floorplan"] = {name: keys.text(block, "") for name, block in chip.floorplan.items()}
    if chip.platforms:
        above["platforms"] = {name: keys.text(platform, "") for name, platform in chip.platforms.items()}
    if chip.platform:
        above["platform"] = chip.platform
    return above, hierarchy, {"not_modelled": list(chip.not_modelled)} if chip.not_modelled else {}


class _Dumper(yaml.SafeDumper):
    """Short lists and mappings of scalars on one line, the rest in blocks."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        """One line for a short mapping of scalars, a block for others."""
        node = super().represent_mapping(tag, mapping, flow_style=False)
        node.flow_style = _short([part for pair in node.value for part in pair])
        return node

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        """One line for a short list of scalars, a block for others."""
        node = super().represent_sequence(tag, sequence, flow_style=False)
        node.flow_style = _short(node.value)
        return node


def _dump(document: CanonicalSection | list[CanonicalSection], dumper: type[yaml.SafeDumper]) -> str:
    text = yaml.dump(
        document, Dumper=dumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=10**6
    )
    return str(text)


def _short(nodes: list[yaml.Node]) -> bool:
    scalars = all(isinstance(node, yaml.ScalarNode) for node in nodes)
    return scalars and sum(len(node.value) + 2 for node in nodes) < _LINE
