"""Process nodes that no technology table states, between two that do: ``6nm`` lies between ``5nm`` and ``7nm``."""

from __future__ import annotations

import re
from math import log
from typing import NamedTuple

from archsim.spec.locate import config_files

_NODE = re.compile(r"([1-9][0-9]{0,2})nm")


class NodePair(NamedTuple):
    """Names of the tables below and above a node; ``share`` of the way up, along the logarithm of the node."""

    names: tuple[str, str]
    share: float


def of(name: str) -> NodePair | None:
    """The tables between which the node ``name`` lies; None where it has a table itself, or lies between none."""
    files = config_files("technology")
    found = _NODE.fullmatch(name)
    if name in files or found is None:
        return None
    node = int(found[1])
    known = sorted(int(match[1]) for each in files if (match := _NODE.fullmatch(each)))
    below, above = [each for each in known if each < node], [each for each in known if each > node]
    if not below or not above:
        return None
    low, high = below[-1], above[0]
    return NodePair((f"{low}nm", f"{high}nm"), log(node / low) / log(high / low))
