"""The parameters of a workload file: whole numbers, or arithmetic on other parameters, in any order.

    parameters: {batch: 1, hidden: 4096, heads: hidden // 128, ffn: "4 * hidden"}

They are 0 or more (there may be no rows before the first); what a size may be is judged where it is used.
What is set from outside takes the place of what the file says, and what depends on it follows. Rings are refused as the
file stands, whatever is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from archsim.base.errors import nearest
from archsim.frontend.workload_yaml.expression import names_in
from archsim.frontend.workload_yaml.options import EntryOptions
from archsim.spec.nodes import FileNode as Text


def resolved(document: Text, options: EntryOptions, given: Mapping[str, int]) -> dict[str, int]:
    """The parameters with their values, in the order of the file; ``given``: set from outside, in place of the file's.

    Raises ConfigError at the parameter (file:line:column) for names and values that cannot be, and for rings.
    """
    if not options.has("parameters"):
        return {}
    node = document.mapping["parameters"]
    if not isinstance(node.value, dict):
        options.fail(f"found {node.plain()!r}; allowed a mapping of names to sizes", "parameters")
    found: dict[str, int] = {}
    stated = EntryOptions(node, f"{options.path}.parameters", found)
    for name in _order(node, stated):
        if name in given:
            found[name] = given[name] if given[name] >= 0 else stated.fail(_too_small(given[name]), name)
        else:
            found[name] = stated.size(name, low=0)
    return {name: found[name] for name in node.mapping}


def _too_small(value: int) -> str:
    return f"found {value}; allowed 0 or more"


def _order(node: Text, stated: EntryOptions) -> list[str]:
    """Each parameter behind those that it uses."""
    uses = {name: _uses(name, item, node, stated) for name, item in node.mapping.items()}
    try:
        return list(TopologicalSorter(uses).static_order())
    except CycleError as error:
        ring = list(reversed(error.args[1]))[1:]
        names = list(node.mapping)
        first = min(range(len(ring)), key=lambda at: names.index(ring[at]))
        ring = [*ring[first:], *ring[:first], ring[first]]
        return stated.fail(f"depends on itself: {' uses '.join(ring)}", ring[0])


def _uses(name: str, item: Text, node: Text, stated: EntryOptions) -> list[str]:
    """Other parameters in the arithmetic of one."""
    if not isinstance(item.value, str):
        return []
    try:
        used = names_in(item.value)
    except ValueError as error:
        return stated.fail(f"found '{item.value}': {error}", name)
    for other in used:
        if other not in node.mapping:
            known = [each for each in node.mapping if each != name]
            said = f"'{other}' is no parameter{nearest(other, known)}; known: {', '.join(known) or 'none'}"
            stated.fail(f"found '{item.value}': {said}", name)
    return used
