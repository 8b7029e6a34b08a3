"""Timeloop: architectures of version 3 (``subtree``, ``local``) and 4 (``nodes``), problems, constraints, ERT files.

Format: https://timeloop.csail.mit.edu/v4/input-formats and, of version 3,
https://timeloop.csail.mit.edu/previous_versions/timeloop-accelergy-v3/timeloop/input-formats. Bandwidths are words a
cycle, energies pJ an action of ``width`` bits, which Timeloop takes from Accelergy's reference table (``ERT``).

Both forms of an architecture are read into one chain of fan-outs and components, outermost first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from archsim.base.errors import ConfigError
from archsim.frontend.foreign import timeloop_problem
from archsim.frontend.foreign.design import ForeignDesign, constant
from archsim.frontend.foreign.section import SourceQuantity, SourceSection
from archsim.frontend.foreign.timeloop_chain import SPATIAL, TimeloopChain, TimeloopPiece
from archsim.frontend.foreign.timeloop_parts import design_of
from archsim.frontend.foreign.work import ForeignModel

_RANGE = re.compile(r"(.*?)\s*\[\s*(-?[0-9]{1,9})\s*\.\.\s*([0-9]{1,9})\s*\]")
_MOST_DEPTH = 30
_FLAT = ("!Hierarchical", "!Parallel", "!Pipelined")


def flat_nodes(branch: SourceSection, chain: TimeloopChain, parallel: bool = False, depth: int = 0) -> None:
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


def _container(node: SourceSection, chain: TimeloopChain, parallel: bool) -> None:
    chain.inherit(node.mapping("attributes"))
    _spatial(node, chain, parallel)
    node.ignore("the name of a container; fan-outs are named after it", "name")
    if "networks" in node:
        node.refuse("networks between levels are free in this chip; add a `noc` part yourself", "networks")
    node.ignore("a component that estimates energy", "class", "subclass")
    node.refuse(SPATIAL, "constraints")


def _component(node: SourceSection, chain: TimeloopChain, parallel: bool) -> None:
    node.ignore("whether the component is used", "enabled") if node.flag("enabled", "", True) else None
    if not node.flag("enabled", "", True):
        node.refuse("a component that is switched off is left out", "enabled")
        return
    name = node.text("name", "the name of the part")
    if not name:
        node.fail("key 'name' is missing")
    _spatial(node, chain, parallel)
    chain.add(TimeloopPiece(node, name, node.mapping("attributes"), node.mapping("constraints")))


def _spatial(node: SourceSection, chain: TimeloopChain, parallel: bool) -> None:
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


def flat_subtree(architecture: SourceSection, chain: TimeloopChain) -> None:
    """Version 3: nested subtrees with ``local`` components; ``name[0..N]`` is N + 1 of them."""
    level: SourceSection | None = architecture
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
            chain.add_counted(TimeloopPiece(local, name, local.mapping("attributes"), None), own)
        level = tree
    architecture.fail(f"nested deeper than {_MOST_DEPTH} subtrees")


def _counted(node: SourceSection, chain: TimeloopChain) -> tuple[str, SourceQuantity]:
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


MARKS = frozenset(
    ("architecture", "problem", "architecture_constraints", "mapspace_constraints", "ERT", "constraints", "mapspace")
)
_VERSION = "the version of Timeloop's own grammar"
_ESTIMATORS = (
    "compound components, of which Timeloop's energy estimators alone make something; the ERT has their result"
)
_SEARCH = "Timeloop's search; archsim's mapper has its own (docs/mapping.md)"
_MAPPING = "a mapping; archsim takes mappings in a form of its own (archsim map --export, run --mapping)"
_SPARSE = "sparse tensors are not modelled: everything is computed dense"
_TOP = (
    "architecture",
    "problem",
    "ERT",
    "variables",
    "architecture_constraints",
    "mapspace_constraints",
    "constraints",
)


def read(sections: list[SourceSection], files: list[str]) -> tuple[ForeignDesign | None, ForeignModel | None]:
    """The chip and the problem of several files. Raises ConfigError where either stands twice or is not understood."""
    found = {key: _one(sections, key) for key in _TOP}
    for section in sections:
        _aside(section)
    variables = _variables(found["variables"])
    names = dict(zip((id(section) for section in sections), files, strict=True))
    work = None
    roles: dict[str, str] = {}
    if found["problem"] is not None:
        file = names[id(_holder(sections, "problem"))]
        work, roles = timeloop_problem.read(found["problem"], file)
    if found["architecture"] is None:
        for key in ("ERT", "architecture_constraints", "mapspace_constraints", "constraints"):
            alone = found[key]
            if alone is not None:
                alone.refuse("of an architecture; give its file too")
        return None, work
    chain = _chain(found["architecture"], variables)
    file = names[id(_holder(sections, "architecture"))]
    limits = [found[key] for key in ("architecture_constraints", "mapspace_constraints", "constraints")]
    chain.restrict([section for section in limits if section is not None], roles)
    chain.price(found["ERT"])
    return design_of(chain, file, _clock(found["variables"], chain), found["variables"]), work


def _one(sections: Iterable[SourceSection], key: str) -> SourceSection | None:
    found = [section for section in sections if key in section]
    if len(found) > 1:
        raise ConfigError(f"{found[1].node.mapping[key].mark}: {key}: a second one; allowed one in all files together")
    return found[0].mapping(key) if found else None


def _holder(sections: list[SourceSection], key: str) -> SourceSection:
    return next(section for section in sections if key in section)


def _aside(section: SourceSection) -> None:
    section.ignore(_ESTIMATORS, "components", "compound_components", "ART", "ERT_summary", "ART_summary")
    section.ignore(_SEARCH, "mapper", "mapspace")
    section.refuse(_MAPPING, "mapping")
    section.refuse(_SPARSE, "sparse_optimizations")
    section.ignore("Timeloop's own settings", "globals", "model", "layout")


def _variables(section: SourceSection | None) -> dict[str, object]:
    """Numbers that arithmetic in other keys may name."""
    found: dict[str, object] = {}
    if section is None:
        return found
    section.ignore(_VERSION, "version")
    for key in section:
        try:
            number = section.number(key, "names in arithmetic", found) if key != "version" else None
        except ConfigError:
            section.ignore("a text that Timeloop's estimators read", key)
            continue
        if number is not None:
            found[key] = number.value
    return found


def _chain(architecture: SourceSection, variables: dict[str, object]) -> TimeloopChain:
    architecture.ignore(_VERSION, "version")
    chain = TimeloopChain(architecture, variables)
    if "nodes" in architecture:
        flat_nodes(architecture, chain)
    elif "subtree" in architecture:
        flat_subtree(architecture, chain)
    else:
        architecture.fail("found neither 'nodes' (version 4) nor 'subtree' (version 3); allowed one of them")
    return chain


def _clock(variables: SourceSection | None, chain: TimeloopChain) -> SourceQuantity | None:
    """From ``global_cycle_seconds``, of the variables or of the compute units."""
    for section in (variables, *chain.attributes):
        if section is not None and "global_cycle_seconds" in section:
            seconds = section.number("global_cycle_seconds", "clock", chain.variables)
            if seconds is None or seconds.value == 0:
                section.fail("found no time; allowed the seconds of a cycle", "global_cycle_seconds")
            return SourceQuantity(1 / seconds.value, seconds.source, seconds.mark, seconds.path)
    return None
