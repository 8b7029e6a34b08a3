"""The list of entries under ``layers``, and entries that are repeated:

    - repeat: blocks                     # a size; the option that matters most
      name: encoder
      carry: x                           # what a round reads: the input, then the result of the round before
      layers:
        - dense: {name: up, input: x, out: 64}

Rounds count from 0. Round 2 names its results ``encoder.2.up``; inside the round, ``up`` is enough. ``encoder`` is the
last result of the last round. Rounds have weights of their own, and the states that stand in the entry.
"""

from __future__ import annotations

from collections.abc import Mapping

from archsim.base.errors import ConfigError, nearest
from archsim.frontend.workload_yaml.grammar import SECTIONS
from archsim.frontend.workload_yaml.layers import KINDS, MAIN
from archsim.frontend.workload_yaml.options import EntryOptions
from archsim.frontend.workload_yaml.states import add_states
from archsim.frontend.workload_yaml.writer import GraphWriter
from archsim.spec.nodes import FileNode as Text

REPEAT = "repeat"
KEYS = {kind: frozenset(section.model_fields) for kind, section in SECTIONS.items()}
ALL_KINDS = (*KINDS, REPEAT)
ALL_MAIN = {**MAIN, REPEAT: "times"}


def add_entries(writer: GraphWriter, options: EntryOptions, sizes: Mapping[str, int]) -> None:
    """Add every entry of the list ``layers``; ConfigError names file, line and key path."""
    where = "" if options.path == "workload" else f"{options.path}."
    for index, entry in enumerate(options.entries("layers")):
        path = f"{where}layers[{index}]"
        kind, node = _entry(entry, path)
        found = EntryOptions(node, f"{path}.{kind}", sizes, KEYS[kind])
        name = found.text("name", f"{kind}{index}")
        if kind == REPEAT:
            _repeat(writer, found, name, sizes)
        else:
            KINDS[kind](writer, found, writer.named(name))
        found.finish()


def _repeat(writer: GraphWriter, options: EntryOptions, name: str, sizes: Mapping[str, int]) -> None:
    """``{times, input, carry, states, layers}``: the same entries ``times`` times."""
    times, carry = options.size("times"), options.text("carry", "")
    value = writer.source(options)
    for number in range(times):
        with writer.inside(f"{name}.{number}.", **({carry: value} if carry else {})):
            writer.last = value
            add_states(writer, options, sizes)
            add_entries(writer, options, sizes)
        value = writer.last
    writer.call(options, name, value)


def _entry(entry: Text, path: str) -> tuple[str, Text]:
    """Kind and options of an entry ``KIND: {options}`` or ``KIND: text`` with the other options beside it."""
    kinds = [key for key in entry.mapping if key in ALL_KINDS]
    if not kinds:
        first = next(iter(entry.mapping), "")
        raise ConfigError(
            f"{entry.mark}: {path}: found '{first or entry.plain()}'; "
            f"allowed one of {', '.join(ALL_KINDS)}{nearest(first, ALL_KINDS)}"
        )
    kind = kinds[0]
    body, rest = entry.mapping[kind], {key: node for key, node in entry.mapping.items() if key != kind}
    if isinstance(body.value, dict):
        if rest:
            raise ConfigError(
                f"{next(iter(rest.values())).mark}: {path}: '{next(iter(rest))}' stands beside '{kind}'; "
                "allowed inside its braces"
            )
        return kind, body
    if body.value is None:
        return kind, Text(rest, body.mark)
    if kind not in ALL_MAIN:
        raise ConfigError(f"{body.mark}: {path}.{kind}: found {body.plain()!r}; allowed options in braces")
    return kind, Text({ALL_MAIN[kind]: body, **rest}, body.mark)
