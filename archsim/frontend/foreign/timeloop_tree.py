"""The two forms of Timeloop's architectures as one chain: fan-outs and components, outermost first."""

from __future__ import annotations

import re

from archsim.frontend.foreign.design import constant
from archsim.frontend.foreign.section import Quantity, Section
from archsim.frontend.foreign.timeloop_chain import SPATIAL, Chain, Piece

_RANGE = re.compile(r"(.*?)\s*\[\s*(-?[0-9]{1,9})\s*\.\.\s*([0-9]{1,9})\s*\]")
_MOST_DEPTH = 30
_FLAT = ("!Hierarchical", "!Parallel", "!Pipelined")


def flat_nodes(branch: Section, chain: Chain, parallel: bool = False, depth: int = 0) -> None:
    """Version 4: a list of tagged nodes; what stands behind a node lies below it, except in ``!Parallel``."""
    for node in branch.entries("nodes"):
        if node.tag in _FLAT and depth < _MOST_DEPTH:
            if node.tag == "!Pipelined":
                node.refuse("stages of a pipeline; they are read as a hierarchy")
            node.ignore("the name of a branch; its nodes are read", "name")
            flat_nodes(node, chain, node.tag == "!Parallel", depth + 1)
        elif node.tag == "!Container":
            _container(node, chain, parallel)
        elif node.tag == "!Component":
            _component(node, chain, parallel)
        elif node.tag == "!Nothing":
            node.ignore("a place where nothing stands")
        else:
            allowed = ", ".join(("!Component", "!Container", *_FLAT, "!Nothing"))
            node.fail(f"found {node.tag or 'no tag'}; allowed {allowed}")


def _container(node: Section, chain: Chain, parallel: bool) -> None:
    chain.inherit(node.mapping("attributes"))
    _spatial(node, chain, parallel)
    node.ignore("the name of a container; fan-outs are named after it", "name")
    if "networks" in node:
        node.refuse("networks between levels are free in this chip; add a `noc` part yourself", "networks")
    node.ignore("a component that estimates energy", "class", "subclass")
    node.refuse(SPATIAL, "constraints")


def _component(node: Section, chain: Chain, parallel: bool) -> None:
    node.ignore("whether the component is used", "enabled") if node.flag("enabled", "", True) else None
    if not node.flag("enabled", "", True):
        node.refuse("a component that is switched off is left out", "enabled")
        return
    name = node.text("name", "the name of the part")
    if not name:
        node.fail("key 'name' is missing")
    _spatial(node, chain, parallel)
    chain.add(Piece(node, name, node.mapping("attributes"), node.mapping("constraints")))


def _spatial(node: Section, chain: Chain, parallel: bool) -> None:
    spatial = node.mapping("spatial")
    if spatial is None:
        return
    name = node.text("name", "the name of the part", "fanout")
    for key, axis in (("meshX", "cols"), ("meshY", "rows")):
        count = spatial.count(key, "array.shape", chain.variables)
        size = spatial.number(key, "array.shape", chain.variables)
        if count is None or size is None or count == 1:
            continue
        if parallel:
            spatial.refuse("a fan-out of one of several parallel nodes; it is read as one copy", key)
        else:
            chain.spread(f"{name}_{key[-1]}", size, axis)


def flat_subtree(architecture: Section, chain: Chain) -> None:
    """Version 3: nested subtrees with ``local`` components; ``name[0..N]`` is N + 1 of them."""
    level: Section | None = architecture
    for _ in range(_MOST_DEPTH):
        trees = level.entries("subtree") if level is not None else []
        if not trees:
            return
        if len(trees) > 1:
            trees[1].fail("a second subtree beside the first; allowed one below another")
        tree = trees[0]
        _, count = _counted(tree, chain)
        chain.inherit(tree.mapping("attributes"))
        chain.multiply(count)
        for local in tree.entries("local"):
            name, own = _counted(local, chain)
            chain.add_counted(Piece(local, name, local.mapping("attributes"), None), own)
        level = tree
    architecture.fail(f"nested deeper than {_MOST_DEPTH} subtrees")


def _counted(node: Section, chain: Chain) -> tuple[str, Quantity]:
    """Name without its range, and how many there are."""
    text = node.text("name", "the name of the part")
    if not text:
        node.fail("key 'name' is missing")
    found = _RANGE.fullmatch(text)
    place = node.node.mapping["name"].mark
    if found is None:
        return text, constant(1, node.source("name"), place)
    first, last = int(found[2]), int(found[3])
    if last < first:
        node.fail(f"found '{text}'; allowed NAME[FIRST..LAST] in ascending order", "name")
    return found[1], constant(last - first + 1, node.source("name"), place)
