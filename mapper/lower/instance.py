"""The commands of one core of a layer that is spread over several: one text for all, its places put in.

Rings and blocks that all cores have are called ``layer@operand[core]``; in a memory that cores share, cores with the
same tile have one ring, named after the core that brings it. An operand that several cores need at a time is brought by
one of them: it reads once and writes to the rings of all, whose free slots it waits for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from archsim.ir.program import Command, Region, Semaphore, Token
from mapper.channels import load_channel
from mapper.lower.frame import Frame
from mapper.lower.item import Item, Lane
from mapper.lower.partials import SUM, Adding
from mapper.lower.placing import Placing
from mapper.lower.turns import Turns, turns
from mapper.operands import BIAS, OUT, OperandPlan


class Sharing(NamedTuple):
    """One operand's tiles, core by core: the number of a core's tile, the cores that have the same one, and which of
    them brings it to all, -1 for cores that have none. ``cores``: those that have any."""

    groups: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    cores: frozenset[int]


class TokenNames(NamedTuple):
    """Names of the tokens of one kind of a ``ring``, by core: of ``every`` core's ring of this name, and of its own."""

    ring: str
    every: tuple[str, ...]
    own: tuple[str, ...]


class Cores:
    """The cores that have a part of a layer, which is spread over them."""

    def __init__(self, frame: Frame) -> None:
        assert frame.problem.spread is not None
        self.frame, self.problem = frame, frame.problem
        self.spread = frame.problem.spread
        self.count = self.spread.cores
        places = tuple(self.spread.places())
        self._at = [dict(zip(frame.vars[: frame.spread], place, strict=True)) for place in places]
        self._sharing = {plan.name: self._shared(plan) for plan in self.problem.operands}
        self.adding = self._adding()
        found = {plan.name: turns(frame, plan, self._leading(plan)) for plan in self.problem.loads}
        self._turns = {name: made for name, made in found.items() if made is not None}
        self._names = {frame.ring(plan.name): self._named(plan) for plan in self.problem.operands}
        self._token_names: dict[str, TokenNames] = {}
        self._placing = Placing(frame.vars[: frame.spread], places)
        self._names[frame.ring(SUM)] = tuple(f"{frame.ring(SUM)}[{core}]" for core in range(self.count))

    def group(self, plan: OperandPlan, core: int) -> int:
        """The number of the tile of an operand that a core has, among those of all cores."""
        return self._sharing[plan.name].groups[core]

    def shares(self, plan: OperandPlan) -> bool:
        """Whether several cores have the same tile of an operand at a time."""
        return len(self._sharing[plan.name].members[0]) > 1

    def leader(self, plan: OperandPlan, core: int) -> int:
        """The core that brings the tile of an operand to all that have it; others for the next operand's."""
        return self._sharing[plan.name].leaders[core]

    def has(self, plan: OperandPlan, core: int) -> bool:
        """Whether a core has tiles of an operand."""
        return core in self._sharing[plan.name].cores

    def name(self, store: str, core: int) -> str:
        """What a core calls a ring or block of the layer, '' one that it has not; tensors have one name."""
        names = self._names.get(store)
        return store if names is None else names[core]

    def is_remote(self, item: Item) -> bool:
        """Whether one core writes with this command into the memories of others."""
        if not item.operand:
            return False
        plan = self.problem.operand(item.operand)
        return self.shares(plan) and self.problem.crosses(plan)

    def command(self, item: Item, core: int, first: tuple[Token, ...]) -> Command | None:
        """The command as a core has it, None where another core does it; it waits for what is ``first`` before all."""
        if core >= self.count:
            return None
        if item.fetch is not None:
            own = self.adding.command(item, core)
            return self._placed(own, core, {}, first) if own is not None else None
        if not item.operand:
            return self._placed(item.command, core, {}, first)
        sharing = self._sharing[item.operand]
        if sharing.leaders[core] != core:
            return None
        plan = self.problem.operand(item.operand)
        crosses = len(sharing.members[core]) > 1 and self.problem.crosses(plan)
        to = {self.frame.ring(plan.name): sharing.members[core]} if crosses else {}
        return self._placed(item.command, core, to, first, self._turns.get(plan.name))

    def turns(self) -> Iterator[Semaphore]:
        """Whose turn it is at DRAM, operand by operand."""
        for made in self._turns.values():
            yield from made.semaphores()

    def turn_ends(self, lane: Lane, core: int) -> Iterator[Command]:
        """What a core's queue does behind its loads: it takes the turn that the last of its row has handed on."""
        for name, made in self._turns.items():
            channel = load_channel(self.problem, self.problem.operand(name), self.frame.channels)
            if lane == ("load", channel) and made.begins(core):
                waits = (Token(made.of(core)),)
                yield Command(f"{self.frame.name}.turn_{name}", "SYNC", self.frame.name, waits=waits)

    def _leading(self, plan: OperandPlan) -> list[int]:
        """The cores that bring an operand's tiles, by the number of their tile."""
        sharing = self._sharing[plan.name]
        return [leader for _, leader in sorted(set(zip(sharing.groups, sharing.leaders, strict=True)))]

    def _shared(self, plan: OperandPlan) -> Sharing:
        groups = tuple(range(self.count))
        if self.problem.copies(plan) < self.count:
            moved, parts = [dim in plan.dims for dim, _ in self.spread.loops], self.spread.parts
            groups = tuple(_number(place, parts, moved) for place in self.spread.places())
        members: dict[int, list[int]] = {}
        for core, group in enumerate(groups):
            if plan.operand != BIAS or self._begins(core):
                members.setdefault(group, []).append(core)
        turn = self._turn(plan) if len(members) < self.count else 0
        leaders = {group: cores[(group + turn) % len(cores)] for group, cores in members.items()}
        if plan.operand == OUT:
            members = {group: [leader] for group, leader in leaders.items()}
        together = {group: tuple(cores) for group, cores in members.items()}
        having = frozenset(core for cores in together.values() for core in cores)
        mine: list[tuple[int, ...]] = [together.get(group, ()) for group in groups]
        return Sharing(groups, tuple(mine), tuple(leaders.get(group, -1) for group in groups), having)

    def _begins(self, core: int) -> bool:
        """Whether a core has the first part of every reduction that is spread: it alone starts from the bias."""
        cut = zip(self.spread.loops, self._at[core].values(), strict=True)
        return not any(place for (dim, _), place in cut if dim in self.problem.groups["K"])

    def _turn(self, plan: OperandPlan) -> int:
        """Of the inputs; an output is where its first core has it, the next one's where its second core does."""
        return 0 if plan.operand == OUT else [other.operand for other in self.problem.reads].index(plan.operand)

    def _adding(self) -> Adding:
        out = self._sharing[OUT]
        groups: dict[int, list[int]] = {}
        for core, group in enumerate(out.groups if self.problem.adders > 1 else ()):
            groups.setdefault(group, []).append(core)
        return Adding(self.frame, [*groups.values()], [out.leaders[cores[0]] for cores in groups.values()])

    def _named(self, plan: OperandPlan) -> tuple[str, ...]:
        """In a memory that cores share, after the core that brings the tile."""
        owners = self._sharing[plan.name].leaders if plan.level in self.spread.shared else range(self.count)
        ring = self.frame.ring(plan.name)
        return tuple(f"{ring}[{owner}]" if self.has(plan, core) else "" for core, owner in enumerate(owners))

    def _placed(
        self,
        command: Command,
        core: int,
        to: Mapping[str, tuple[int, ...]],
        first: tuple[Token, ...],
        turn: Turns | None = None,
    ) -> Command:
        """``to``: ring -> the cores in whose rings of this name the command writes; ``turn``: whose at DRAM it is, for
        which the command waits, and which it hands on."""
        placed, index = self._placing, command.index
        mine, next_one = ((Token(turn.of(core)),), (Token(turn.after(core)),)) if turn is not None else ((), ())
        return replace(
            command,
            waits=(*first, *self._tokens(command.waits, core, to), *mine),
            signals=(*self._tokens(command.signals, core, to), *next_one),
            extents=placed.extents(command.extents, core),
            reads=tuple(
                [
                    self._region(region, name, core)
                    for region in command.reads
                    if (name := self.name(region.store, core))
                ]
            ),
            writes=tuple([made for region in command.writes for made in self._written(region, core, to)]),
            guards=placed.guards(command.guards, core),
            index=replace(index, start=placed.affine(index.start, core)) if index is not None else None,
        )

    def _tokens(self, tokens: tuple[Token, ...], core: int, to: Mapping[str, tuple[int, ...]]) -> tuple[Token, ...]:
        found = []
        for token in tokens:
            known = self._token_names.get(token.name)
            if known is None:
                known = self._token_names[token.name] = self._tokens_of(token.name)
            if known.ring in to:
                found += [Token(known.every[member], token.n, token.when) for member in to[known.ring]]
            elif not known.every:
                found.append(token)
            elif name := known.own[core]:
                found.append(Token(name, token.n, token.when))
        return tuple(found)

    def _tokens_of(self, token: str) -> TokenNames:
        ring, _, kind = token.rpartition(".")
        if ring not in self._names:
            return TokenNames(ring, (), ())
        names = {f"{ring}[{core}]": f"{ring}[{core}].{kind}" for core in range(self.count)}
        return TokenNames(ring, tuple(names.values()), tuple([name and names[name] for name in self._names[ring]]))

    def _region(self, region: Region, store: str, core: int) -> Region:
        placed = self._placing
        clips = placed.clips(region.clips, core) if region.clips else ()
        offset = placed.affine(region.offset, core)
        return Region(region.operand, store, region.element_bytes, region.strides, offset, clips)

    def _written(self, region: Region, core: int, to: Mapping[str, tuple[int, ...]]) -> list[Region]:
        if region.store not in to:
            return [self._region(region, self.name(region.store, core), core)]
        names = self._names[region.store]
        return [self._region(region, names[member], core) for member in to[region.store]]


def _number(place: tuple[int, ...], parts: tuple[int, ...], moved: Sequence[bool]) -> int:
    """Of a place among those that differ in the dims that move an operand."""
    number = 0
    for at, count, moves in zip(place, parts, moved, strict=True):
        number = number * count + at if moves else number
    return number
