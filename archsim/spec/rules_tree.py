"""Rules on the hierarchy: names, order, folded levels, and a place for every tensor role."""

from __future__ import annotations

from archsim.spec import schema
from archsim.spec.declared import DeclaredPart, File, explicit
from archsim.spec.problems import keys

NEEDED = ("inputs", "weights", "outputs", "partials")
AT_REST = ("inputs", "weights", "outputs")  # lie in DRAM at time 0
_LEAVES = (schema.ARRAY, schema.VECTOR)
_ONCE = (schema.DMA, schema.HOST)


def check(file: File) -> None:
    """Add a problem for every broken rule."""
    for rule in (_names, _once, _order, _folded, _paths, _slots, _caches):
        rule(file)


def _names(file: File) -> None:
    reserved = {*keys(schema.ChipSection), "fill", "all"}
    first: dict[str, DeclaredPart] = {}
    for part in file.parts:
        name = part.spec.name
        if name in reserved:
            file.add(part, "name", f"found '{name}', a top-level key; allowed another name")
        if name in first:
            line = first[name].mark("name").line
            file.add(part, "name", f"found '{name}', the name of a part at line {line}; allowed a unique name")
        first.setdefault(name, part)


def _once(file: File) -> None:
    for kind in _ONCE:
        for extra in list(file.of(kind))[1:]:
            message = f"a second {extra.at.kind}; allowed one"
            file.problems.add(extra.at.mark, extra.spec.name, message)
    if not any(file.of(schema.ARRAY)):
        file.problems.add(file.mark("hierarchy"), "hierarchy", "missing an array; allowed one or more")


def _order(file: File) -> None:
    leaf: DeclaredPart | None = None
    for part in file.parts:
        if isinstance(part.spec, (*_ONCE, schema.CONTROL)):
            continue
        if isinstance(part.spec, (schema.STORAGE, schema.CACHE, schema.NOC)) and part.at.parallel:
            what = "network" if isinstance(part.spec, schema.NOC) else "memory"
            message = f"a {what} inside parallel is not built yet; this version shares memories between all leaves"
            file.problems.not_built(part.at.mark, part.spec.name, message)
        elif leaf is not None and not (leaf.at.parallel and leaf.at.holder is part.at.holder):
            where = f"the {leaf.at.kind} '{leaf.spec.name}'"
            message = f"found below {where}; allowed above it, or beside it in `parallel`"
            file.problems.add(part.at.mark, part.spec.name, message)
        leaf = part if isinstance(part.spec, _LEAVES) else leaf


def _folded(file: File) -> None:
    folded: DeclaredPart | None = None
    for part in file.of(schema.STORAGE):
        if not explicit(part):
            folded = folded or part
        elif folded is not None:
            name = folded.spec.name
            message = f"an explicit memory below the folded '{name}'; allowed above it, or with `filled_by: array`"
            file.problems.add(part.at.mark, part.spec.name, message)


def _paths(file: File) -> None:
    for role in NEEDED:
        keepers = [part for part in file.of(schema.STORAGE) if explicit(part) and role in part.spec.keeps]
        if not keepers:
            message = f"no explicit memory keeps '{role}'; allowed `keeps: all` or a list with '{role}' in one"
            file.problems.add(file.mark("hierarchy"), "hierarchy", message)
            continue
        if isinstance(keepers[-1].spec, schema.DRAM):
            message = f"'{role}' has no keeper on the chip; allowed an sram below that keeps '{role}' too"
            file.add(keepers[-1], "keeps", message)
        if role in AT_REST and not isinstance(keepers[0].spec, schema.DRAM):
            message = f"'{role}' has no keeper outside the chip; allowed a dram above that keeps '{role}' too"
            file.add(keepers[0], "keeps", message)


def _slots(file: File) -> None:
    tables = [(part, "slots", part.spec.slots) for part in file.of(schema.STORAGE)]
    tables += [(part, "padding", part.spec.padding) for part in file.of(schema.SRAM)]
    for part, key, table in tables:
        for role in table:
            if role != "all" and role not in part.spec.keeps:
                message = f"found '{role}', which is not kept here; allowed {', '.join(part.spec.keeps)}"
                file.add(part, key, message)


def _caches(file: File) -> None:
    """Every role goes through one cache at most, from a dram above it."""
    served: dict[str, str] = {}
    outer: set[str] = set()
    for part in file.parts:
        if isinstance(part.spec, schema.DRAM):
            outer.update(part.spec.keeps)
        if not isinstance(part.spec, schema.CACHE):
            continue
        for role in part.spec.keeps:
            if role not in outer:
                file.add(part, "keeps", f"found '{role}', which no dram above it keeps; allowed roles of a dram above")
            if role in served:
                message = f"'{role}' goes through cache '{served[role]}' already; this version has one cache for a role"
                file.problems.not_built(part.mark("keeps"), f"{part.spec.name}.keeps", message)
            served.setdefault(role, part.spec.name)
