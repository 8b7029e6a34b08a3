"""The part of a sweep file that its grammar takes, so that the rest can be judged in the same round.

A key that is wrong, or an item of a list that is, is left out, and what is right is read as if the file said only that:
whoever reads the messages of a file mends all that is wrong with it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from archsim.lab.sweep import schema
from archsim.spec.nodes import Node, parse
from archsim.spec.problems import Problems, validate

_EVERY = parse("{name: a, chip: a, models: [a], axes: {a: [1]}, objectives: [latency_s]}").mapping
_NONE = parse("{name: a, chip: a, models: [], axes: {}, objectives: []}").mapping  # in place of what is wrong
_LISTS = ("models", "zip", "constraints", "objectives")


@dataclass(frozen=True, slots=True)
class Sound:
    """``found``: what is right; ``root``: the nodes of that; ``numbers``: key of a list -> which of its items those
    are; ``wrong``: keys of which something was left out, or all."""

    found: schema.Sweep
    root: Node
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    wrong: frozenset[str] = frozenset()

    def number(self, key: str, at: int) -> int:
        """Which item of the file's list the item ``at`` of those that are right is."""
        numbers = self.numbers.get(key, ())
        return numbers[at] if at < len(numbers) else at

    def item(self, key: str, at: int) -> str:
        """The key path of it in the file."""
        return f"{key}[{self.number(key, at)}]"


def sound(root: Node, problems: Problems) -> Sound:
    """What a file says as far as the grammar takes it; the rest goes to ``problems``."""
    found = validate(schema.Sweep, root, "", problems)
    numbers = {key: tuple(range(len(root.mapping[key].items))) for key in _LISTS if key in root.mapping}
    if found is not None:
        return Sound(found, root, numbers)
    kept: dict[str, Node] = {}
    wrong = {key for key in _EVERY if key not in root.mapping}
    for key, node in root.mapping.items():
        taken = node if _fits(key, node) else None
        if taken is None:
            wrong.add(key)
            taken, numbers[key] = _items(key, node)
        if taken is not None:
            kept[key] = taken
    stated = replace(root, value={**_NONE, **kept})
    rest = validate(schema.Sweep, stated, "", Problems())
    if rest is None:
        raise TypeError("keys of a sweep that are right one by one are not right together")
    return Sound(rest, stated, numbers, frozenset(wrong))


def _items(key: str, node: Node) -> tuple[Node | None, tuple[int, ...]]:
    """The items of a list, or the entries of the axes, that are right, with their numbers; None of another key."""
    if key == "axes":
        own = {name: item for name, item in node.mapping.items() if _fits(key, replace(node, value={name: item}))}
        return (replace(node, value=own) if own else None), ()
    numbers = tuple(n for n, item in enumerate(node.items) if _fits(key, replace(node, value=[item])))
    if key not in _LISTS or not numbers:
        return None, ()
    return replace(node, value=[node.items[n] for n in numbers]), numbers


def _fits(key: str, node: Node) -> bool:
    """Whether a key is right in a file that is right otherwise."""
    found = Problems()
    validate(schema.Sweep, Node({**_EVERY, key: node}, node.mark), "", found)
    return not found.found
