"""Timeloop: architectures of version 3 (``subtree``, ``local``) and 4 (``nodes``), problems, constraints, ERT files.

Format: https://timeloop.csail.mit.edu/v4/input-formats and, of version 3,
https://timeloop.csail.mit.edu/previous_versions/timeloop-accelergy-v3/timeloop/input-formats. Bandwidths are words a
cycle, energies pJ an action of ``width`` bits, which Timeloop takes from Accelergy's reference table (``ERT``).
"""

from __future__ import annotations

from collections.abc import Iterable

from archsim.base.errors import ConfigError
from archsim.frontend.foreign import timeloop_problem
from archsim.frontend.foreign.design import Design
from archsim.frontend.foreign.section import Quantity, Section
from archsim.frontend.foreign.timeloop_chain import Chain
from archsim.frontend.foreign.timeloop_parts import design_of
from archsim.frontend.foreign.timeloop_tree import flat_nodes, flat_subtree
from archsim.frontend.foreign.work import Work

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


def read(sections: list[Section], files: list[str]) -> tuple[Design | None, Work | None]:
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


def _one(sections: Iterable[Section], key: str) -> Section | None:
    found = [section for section in sections if key in section]
    if len(found) > 1:
        raise ConfigError(f"{found[1].node.mapping[key].mark}: {key}: a second one; allowed one in all files together")
    return found[0].mapping(key) if found else None


def _holder(sections: list[Section], key: str) -> Section:
    return next(section for section in sections if key in section)


def _aside(section: Section) -> None:
    section.ignore(_ESTIMATORS, "components", "compound_components", "ART", "ERT_summary", "ART_summary")
    section.ignore(_SEARCH, "mapper", "mapspace")
    section.refuse(_MAPPING, "mapping")
    section.refuse(_SPARSE, "sparse_optimizations")
    section.ignore("Timeloop's own settings", "globals", "model", "layout")


def _variables(section: Section | None) -> dict[str, object]:
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


def _chain(architecture: Section, variables: dict[str, object]) -> Chain:
    architecture.ignore(_VERSION, "version")
    chain = Chain(architecture, variables)
    if "nodes" in architecture:
        flat_nodes(architecture, chain)
    elif "subtree" in architecture:
        flat_subtree(architecture, chain)
    else:
        architecture.fail("found neither 'nodes' (version 4) nor 'subtree' (version 3); allowed one of them")
    return chain


def _clock(variables: Section | None, chain: Chain) -> Quantity | None:
    """From ``global_cycle_seconds``, of the variables or of the compute units."""
    for section in (variables, *chain.attributes):
        if section is not None and "global_cycle_seconds" in section:
            seconds = section.number("global_cycle_seconds", "clock", chain.variables)
            if seconds is None or seconds.value == 0:
                section.fail("found no time; allowed the seconds of a cycle", "global_cycle_seconds")
            return Quantity(1 / seconds.value, seconds.source, seconds.mark, seconds.path)
    return None
