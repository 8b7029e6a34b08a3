"""The text form of a LoopTree: nodes and loops top to bottom.

``[W,O in GlobalBuffer]`` a Keep of each; ``O reserves GlobalBuffer`` from where its room is held (at once when absent);
``T-k in [0..2) shape=384`` a temporal loop and its tile; ``S-reuse_input-n in [0..32) shape=1`` one over a fan-out;
``MAC computes GEMM`` ends it. This is how AccelForge writes its mappings.
"""

from __future__ import annotations

import re

from archsim.base.errors import MappingError
from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.nest import Nest

_KEEP = re.compile(r"\[([\w,]+) in (\w+)\]")
_RESERVE = re.compile(r"([\w,]+) reserves (\w+)")
_LOOP = re.compile(r"(?:T|S-(\w+))-(\w+) in \[0\.\.([\d.]+)\) shape=([\d.]+)")
_COMPUTE = re.compile(r"(\w+) computes (\w+)")
_FORMS = (_KEEP, _RESERVE, _LOOP, _COMPUTE)


def parse(text: str, slots: int = 1) -> tuple[MapNode, ...]:
    """Nodes of a text. Raises MappingError with the first piece that is no node."""
    nodes: list[MapNode] = []
    at = 0
    text = text.strip()
    while at < len(text):
        found = next((match for form in _FORMS if (match := form.match(text, at))), None)
        if found is None:
            raise MappingError(f"mapping text: no node or loop at '{text[at : at + 40]}' (character {at})")
        _enter(nodes, found, slots)
        at = found.end()
        while at < len(text) and text[at].isspace():
            at += 1
    return tuple(nodes)


def _enter(nodes: list[MapNode], found: re.Match[str], slots: int) -> None:
    if found.re is _KEEP:
        for operand in found[1].split(","):
            nodes.append(Keep(operand, found[2], slots, len(nodes)))
    elif found.re is _RESERVE:
        _reserve(nodes, found[1].split(","), found[2])
    elif found.re is _LOOP:
        nodes.append(Loop(found[2], int(float(found[4])), found[1] or ""))


def _reserve(nodes: list[MapNode], operands: list[str], level: str) -> None:
    for place, node in enumerate(nodes):
        if isinstance(node, Keep) and node.operand in operands and node.level == level:
            nodes[place] = Keep(node.operand, level, node.slots, len(nodes))


def write(nest: Nest) -> str:
    """The text of a LoopTree."""
    lines = []
    for place, node in enumerate(nest.nodes):
        lines += _reserved(nest, place)
        if isinstance(node, Keep):
            lines.append(f"[{node.operand} in {node.level}]")
        else:
            kind = f"S-{node.axis}" if node.axis else "T"
            lines.append(f"{kind}-{node.dim} in [0..{nest.trips(place)}) shape={node.tile}")
    lines += _reserved(nest, len(nest.nodes))
    return " ".join([*lines, f"MAC computes {nest.einsum.name}"])


def _reserved(nest: Nest, place: int) -> list[str]:
    keeps = [keep for placed in nest.keeps.values() for at, keep in placed if keep.reserve_at == place != at]
    return [f"{keep.operand} reserves {keep.level}" for keep in keeps]
