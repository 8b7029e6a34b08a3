"""The Architecture as text: the resolved chip in the grammar of chip files; it loads to an equal one.

What a part states, and which of it are numbers, its fields say (``keys``); here is where the parts and the top level
stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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


class CanonicalPart(NamedTuple):
    """What canonical text states of a part; ``leaf``: it stands below all memories, beside others of its kind."""

    kind: str
    name: str
    leaf: bool
    keys: Sequence[tuple[Key, object]]


def parts(chip: Architecture) -> list[CanonicalPart]:
    """What canonical text states of each part of a chip, in the order of the text."""
    return [CanonicalPart(part.kind, part.name, leaf, _stated(part, hertz)) for part, hertz, leaf in _placed(chip)]


def number_paths(stated: Iterable[CanonicalPart]) -> list[str]:
    """Key paths of every number of the canonical text of a chip with these parts, in its order."""
    found = ["technology.voltage", "clock"]
    for part in stated:
        found += keys.numbers(part.keys, f"{part.name}.")
    return found


def to_yaml(chip: Architecture, stated: Sequence[CanonicalPart] | None = None) -> str:
    """The canonical text of a chip; ``load.loads`` reads it back to an equal Architecture.

    Every value is stated, defaults and expanded arrays included, except clocks that follow from the one
    above; ``sources`` says where each number comes from. Comments at the top give the peak rates. ``stated``: its
    ``parts``, where they are at hand.
    """
    head = "".join(f"# {line}\n" for line in peaks.lines(chip))
    document = _document(chip, parts(chip) if stated is None else stated)
    return head + _dump(document, _Dumper) + _dump({"sources": dict(chip.sources)}, yaml.SafeDumper)


def _placed(chip: Architecture) -> Iterator[tuple[Part, int, bool]]:
    """The parts in the order of the text, each with the clock above it and whether it is a leaf."""
    above = chip.clock_hz
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
    yield from ((leaf, above, True) for leaf in (*chip.arrays, *chip.vectors))


def _stated(part: Part, above_hz: int) -> list[tuple[Key, object]]:
    """What the text states of a part: no clock that is the one above, of outer networks no crossing into them."""
    hidden = ("clock",) if part.clock_hz == above_hz else ()
    if isinstance(part, OuterNetwork):
        hidden = (*hidden, "sync_stages")
    return [(key, text) for key, text in keys.texts(part, part.kind) if key.name not in hidden]


def _document(chip: Architecture, stated: Sequence[CanonicalPart]) -> CanonicalSection:
    hierarchy: list[CanonicalSection] = []
    leaves: list[CanonicalSection] = []
    for part in stated:
        section = {key.name: text for key, text in part.keys}
        (leaves if part.leaf else hierarchy).append({part.kind: section})
    hierarchy.append({"parallel": leaves} if len(leaves) > 1 else leaves[0])
    document: CanonicalSection = {"schema": "archsim.chip/1", "name": chip.name}
    if chip.description:
        document["description"] = chip.description
    document |= {
        "source": chip.source,
        "technology": {"node": chip.technology, "voltage": f"{d.shortest(chip.voltage_v)} V"},
        "clock": units.exact(chip.clock_hz, units.FREQUENCY),
        "dtypes": {key: dtype for key, dtype in chip.dtypes.items() if key != "partials"},
        "hierarchy": hierarchy,
    }
    if chip.not_modelled:
        document["not_modelled"] = list(chip.not_modelled)
    return document


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


def _dump(document: CanonicalSection, dumper: type[yaml.SafeDumper]) -> str:
    text = yaml.dump(
        document, Dumper=dumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=10**6
    )
    return str(text)


def _short(nodes: list[yaml.Node]) -> bool:
    scalars = all(isinstance(node, yaml.ScalarNode) for node in nodes)
    return scalars and sum(len(node.value) + 2 for node in nodes) < _LINE
