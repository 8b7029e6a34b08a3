"""The commands of one core of a layer that is spread over several: one text for all, its places put in.

Rings and blocks that all cores have are called ``layer@operand[core]``; in a memory that cores share, cores with the
same tile have one ring, named after the core that brings it. An operand that several cores need at a time is brought by
one of them: it reads once and writes to the rings of all, whose free slots it waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from archsim.ir.program import Affine, Clip, Command, Extent, Guard, Region, Token
from mapper.lower.frame import Frame
from mapper.lower.item import Item
from mapper.operands import OperandPlan
from mapper.problem import Spread


@dataclass(frozen=True)
class Cores:
    """The cores that have a part of a layer."""

    frame: Frame

    @property
    def spread(self) -> Spread:
        """How the layer is spread."""
        assert self.frame.problem.spread is not None
        return self.frame.problem.spread

    @cached_property
    def places(self) -> list[tuple[int, ...]]:
        """Which part of each dim that is spread a core has."""
        return list(self.spread.places())

    @cached_property
    def _stores(self) -> dict[str, OperandPlan]:
        return {self.frame.ring(plan.name): plan for plan in self.frame.problem.operands}

    def group(self, plan: OperandPlan, core: int) -> int:
        """The number of the tile of an operand that a core has, among those of all cores."""
        if not self.shares(plan):
            return core
        number = 0
        for (dim, _), parts, at in zip(self.spread.loops, self.spread.parts, self.places[core], strict=True):
            number = number * parts + at if dim in plan.dims else number
        return number

    def shares(self, plan: OperandPlan) -> bool:
        """Whether several cores have the same tile of an operand at a time."""
        return self.frame.problem.copies(plan) < self.spread.cores

    def members(self, plan: OperandPlan, core: int) -> tuple[int, ...]:
        """The cores that have the same tile of an operand as one of them."""
        return self._groups[plan.name][self.group(plan, core)]

    def leader(self, plan: OperandPlan, core: int) -> int:
        """The core that brings the tile of an operand to all that have it; others for the next operand's."""
        members = self.members(plan, core)
        if len(members) == 1:
            return core
        turn = [other.operand for other in self.frame.problem.reads].index(plan.operand)
        return members[(self.group(plan, core) + turn) % len(members)]

    @cached_property
    def _groups(self) -> dict[str, dict[int, tuple[int, ...]]]:
        found: dict[str, dict[int, list[int]]] = {}
        for plan in self.frame.problem.operands:
            groups = found.setdefault(plan.name, {})
            for core in range(self.spread.cores):
                groups.setdefault(self.group(plan, core), []).append(core)
        return {name: {group: tuple(cores) for group, cores in groups.items()} for name, groups in found.items()}

    def owner(self, plan: OperandPlan, core: int) -> int:
        """The core after which the ring of an operand is called that a core uses."""
        return self.leader(plan, core) if plan.level in self.spread.shared else core

    def name(self, store: str, core: int) -> str:
        """What a core calls a ring or block of the layer; tensors have one name."""
        plan = self._stores.get(store)
        return store if plan is None else f"{store}[{self.owner(plan, core)}]"

    def is_remote(self, item: Item) -> bool:
        """Whether one core writes with this command into the memories of others."""
        if not item.operand:
            return False
        plan = self.frame.problem.operand(item.operand)
        return self.shares(plan) and self.frame.problem.crosses(plan)

    def command(self, item: Item, core: int) -> Command | None:
        """The command as a core has it; None where another core does it."""
        if core >= self.spread.cores:
            return None
        if not item.operand or not self.shares(self.frame.problem.operand(item.operand)):
            return self._placed(item.command, core, {})
        plan = self.frame.problem.operand(item.operand)
        if self.leader(plan, core) != core:
            return None
        ring = self.frame.ring(plan.name)
        to = self.members(plan, core) if self.frame.problem.crosses(plan) else (core,)
        return self._placed(item.command, core, {ring: to})

    def _placed(self, command: Command, core: int, to: Mapping[str, tuple[int, ...]]) -> Command:
        """``to``: ring -> the cores in whose rings of this name the command writes."""
        at = dict(zip(self.frame.vars[: self.frame.spread], self.places[core], strict=True))
        index = command.index
        return replace(
            command,
            waits=self._tokens(command.waits, core, to),
            signals=self._tokens(command.signals, core, to),
            extents=tuple([_extent(extent, at) for extent in command.extents]),
            reads=tuple([self._region(region, core, at) for region in command.reads]),
            writes=tuple([made for region in command.writes for made in self._written(region, core, at, to)]),
            guards=tuple([_guard(guard, at) for guard in command.guards]),
            index=replace(index, start=_affine(index.start, at)) if index is not None else None,
        )

    def _tokens(self, tokens: tuple[Token, ...], core: int, to: Mapping[str, tuple[int, ...]]) -> tuple[Token, ...]:
        found = []
        for token in tokens:
            ring, _, kind = token.name.rpartition(".")
            if ring in to:
                found += [replace(token, name=f"{ring}[{member}].{kind}") for member in to[ring]]
            else:
                found.append(replace(token, name=f"{self.name(ring, core)}.{kind}"))
        return tuple(found)

    def _region(self, region: Region, core: int, at: Mapping[str, int]) -> Region:
        return replace(
            region,
            store=self.name(region.store, core),
            offset=_affine(region.offset, at),
            clips=tuple([_clip(clip, at) for clip in region.clips]),
        )

    def _written(
        self, region: Region, core: int, at: Mapping[str, int], to: Mapping[str, tuple[int, ...]]
    ) -> list[Region]:
        first = self._region(region, core, at)
        if region.store not in to:
            return [first]
        return [replace(first, store=f"{region.store}[{member}]") for member in to[region.store]]


def _affine(affine: Affine, at: Mapping[str, int]) -> Affine:
    """With the places of a core put in."""
    if not any(var in at for var, _ in affine.terms):
        return affine
    const = affine.const + sum(coefficient * at[var] for var, coefficient in affine.terms if var in at)
    return Affine(const, tuple([term for term in affine.terms if term[0] not in at]))


def _extent(extent: Extent, at: Mapping[str, int]) -> Extent:
    return replace(extent, limits=tuple([_affine(limit, at) for limit in extent.limits])) if extent.limits else extent


def _clip(clip: Clip, at: Mapping[str, int]) -> Clip:
    return replace(clip, start=_affine(clip.start, at))


def _guard(guard: Guard, at: Mapping[str, int]) -> Guard:
    return replace(guard, start=_affine(guard.start, at))
