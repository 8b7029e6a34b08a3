"""The commands of one core of a layer that is spread over several: one text for all, its places put in.

Rings and blocks that all cores have are called ``layer@operand[core]``; in a memory that cores share, cores with the
same tile have one ring, named after the core that brings it. An operand that several cores need at a time is brought by
one of them: it reads once and writes to the rings of all, whose free slots it waits for. Where the network carries each
packet to one node, every core reads for itself out of an on-chip memory: a ring there has all of them as readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, product
from math import prod
from typing import NamedTuple, TypeVar

from archsim.ir.program import Command, Lookup, Region, Semaphore, Token
from mapper.lower.dram_turns import Turns, turns
from mapper.lower.frame import Frame
from mapper.lower.item import Item, Lane
from mapper.lower.partials import NOBODY, SUM, Adding
from mapper.lower.placing import Placing
from mapper.problem.channels import load_channel
from mapper.problem.operands import BIAS, FINISHED, OUT, OperandPlan

Part = TypeVar("Part")


class Sharing(NamedTuple):
    """One operand's tiles, core by core: the number of a core's tile, the cores that have the same one, and which of
    them brings it to all, -1 for cores that have none. ``cores``: those that have any."""

    groups: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    cores: frozenset[int]


class RingTokens(NamedTuple):
    """Tokens of one kind of a ``ring``: of ``every`` core's ring of this name, by core, and the ``owner`` of that which
    is a core's own, NOBODY where it has none. Nothing is known of what is no ring."""

    ring: str
    every: tuple[Token, ...]
    owner: tuple[int, ...]


class Crossing(NamedTuple):
    """Cores of which each writes into the ``ring`` of several, its ``members``, in the order of the cores."""

    ring: str
    members: Sequence[tuple[int, ...]]


class Cores:
    """The cores that have a part of a layer, which is spread over them."""

    def __init__(self, frame: Frame) -> None:
        assert frame.problem.spread is not None
        self.frame, self.problem = frame, frame.problem
        self.spread = frame.problem.spread
        self.count = self.spread.cores
        self._places = tuple(self.spread.places())
        self._sharing = {plan.name: self._shared(plan) for plan in self.problem.operands}
        self.adding = self._adding()
        self._staged, self._turns = self._in_turns()
        self._next: Turns | None = None  # of the layer to which this one hands its turns
        self._names = {frame.ring(plan.name): self._named(plan) for plan in self.problem.operands}
        self._ring_tokens: dict[Token, RingTokens] = {}
        self._placing = Placing(frame.vars[: frame.spread], self._places)
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

    def readers(self, plan: OperandPlan, leader: int) -> tuple[int, ...]:
        """The cores that take tiles out of the ring of an operand in a memory that all share: the one that brought
        them, or each that needs them where each reads for itself."""
        inner = next((other for other in self.problem.operands if other.beyond == plan.name), None)
        if inner is None or self.shares(inner) or plan.operand == OUT:
            return (leader,)
        return self._sharing[plan.name].members[leader]

    def name(self, plan: OperandPlan, core: int) -> str:
        """What a core calls the ring or block of an operand, '' one that it has not."""
        return self._names[self.frame.ring(plan.name)][core]

    def is_remote(self, item: Item) -> bool:
        """Whether one core writes with this command into the memories of others."""
        if not item.operand:
            return False
        plan = self.problem.operand(item.operand)
        return self.shares(plan) and self.problem.crosses(plan)

    def commands(self, item: Item, first: Sequence[tuple[Token, ...]]) -> list[Command | None]:
        """The command as each core has it, None where another core does it or the layer has no part; it waits for what
        is ``first`` of its core before all. Shape of ``first`` and of the result: (cores of the chip,)."""
        found: list[Command | None] = [None] * len(first)
        if item.fetch is not None:
            for core in range(self.count):
                own = self.adding.command(item, core)
                found[core] = self._placed(own, (core,), first)[0] if own is not None else None
            return found
        if not item.operand:
            return [*self._placed(item.command, range(self.count), first), *found[self.count :]]
        sharing, plan = self._sharing[item.operand], self.problem.operand(item.operand)
        turn, ring = self._turns.get(plan.name), self.frame.ring(plan.name)
        leading = [core for core, leader in enumerate(sharing.leaders) if core == leader]
        crossing = [core for core in leading if self.problem.crosses(plan) and len(sharing.members[core]) > 1]
        to = Crossing(ring, [sharing.members[core] for core in crossing])
        within = sorted({*leading} - {*crossing})
        for at, target in ((crossing, to), (within, None)):
            for core, made in zip(at, self._placed(item.command, at, first, target, turn), strict=True):
                found[core] = made
        return found

    @property
    def stages_from(self) -> str:
        """The DRAM out of which cores bring tiles of their own, in turns, into a memory that all share; '': none."""
        return self.problem.operand(self._staged).home if self._staged else ""

    def follow(self, before: Cores) -> None:
        """Take turns at a DRAM when those of a layer ``before`` have had theirs; both stage tiles out of it."""
        self._turns[self._staged] = before._next = replace(self._turns[self._staged], follows=True)

    def turns(self) -> Iterator[Semaphore]:
        """Whose turn it is at DRAM, operand by operand."""
        for made in self._turns.values():
            yield from made.semaphores()

    def turn_ends(self, lane: Lane) -> dict[int, list[Command]]:
        """What a core's queue does behind its loads: it takes the turn that the last of its row has handed on. By
        core; most have none."""
        found: dict[int, list[Command]] = {}
        for name, made in self._turns.items():
            if lane == ("load", load_channel(self.problem, self.problem.operand(name), self.frame.channels)):
                after = self._next if name == self._staged else None
                for core in made.first:
                    waits, signals = (Token(made.of(core)),), made.handed(core, after) if after is not None else ()
                    ended = Command(f"{self.frame.name}.turn_{name}", "SYNC", self.frame.name, "", waits, signals)
                    found.setdefault(core, []).append(ended)
        return found

    def _in_turns(self) -> tuple[str, dict[str, Turns]]:
        """The largest operand that is staged, '' for none, whose turns are what layers hand on to one another; and the
        turns of each operand. Of others than the largest there are none where all may load at once."""
        found = {plan.name: turns(self.frame, plan, self._leading(plan)) for plan in self.problem.loads}
        made = {name: each for name, each in found.items() if each is not None}
        plans = {name: self.problem.operand(name) for name in made}
        sizes = {name: prod(plan.shape) * plan.element_bytes for name, plan in plans.items()}
        staged = max(sizes, key=lambda name: sizes[name], default="")
        return staged, {name: each for name, each in made.items() if name == staged or each.streams < len(each.leaders)}

    def _leading(self, plan: OperandPlan) -> list[int]:
        """The cores that bring an operand's tiles, by the number of their tile."""
        sharing = self._sharing[plan.name]
        return [leader for _, leader in sorted(set(zip(sharing.groups, sharing.leaders, strict=True)))]

    def _shared(self, plan: OperandPlan) -> Sharing:
        loops, apart = self.spread.loops, self.problem.copies(plan) == self.count
        moved = tuple([apart or dim in plan.dims for dim, _ in loops])
        added = tuple([plan.operand == BIAS and dim in self.problem.groups["K"] for dim, _ in loops])
        return _sharing(self.spread.parts, moved, added, self._turn(plan), plan.operand in FINISHED)

    def _turn(self, plan: OperandPlan) -> int:
        """Of the inputs; an output is where its first core has it, the next one's where its second core does."""
        inputs = [other.operand for other in self.problem.reads]
        return inputs.index(plan.operand) if plan.operand in inputs else 0

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
        at: Sequence[int],
        first: Sequence[tuple[Token, ...]],
        to: Crossing | None = None,
        turn: Turns | None = None,
    ) -> list[Command]:
        """The command of each core ``at`` which it is; ``first``: by core. ``to``: in whose rings the commands write;
        ``turn``: whose at DRAM it is, for which a command waits, and which it hands on."""
        placed = self._placing
        before: list[tuple[Token, ...]] = [(Token(turn.of(core)),) if turn is not None else () for core in at]
        behind: list[tuple[Token, ...]] = [(Token(turn.after(core)),) if turn is not None else () for core in at]
        rows = zip(
            _joined([[first[core] for core in at], *self._tokens(command.waits, at, to), before], at),
            _joined([*self._tokens(command.signals, at, to), behind], at),
            placed.extents(command.extents, at),
            _joined([self._regions(region, at, None) for region in command.reads], at),
            _joined([self._regions(region, at, to) for region in command.writes], at),
            placed.guards(command.guards, at),
            self._lookups(command.index, at),
            strict=True,
        )
        return [
            Command(
                command.name, command.op, command.layer, command.role, waits, signals, command.when, extents, reads,
                writes, command.nest, command.fresh, command.dtypes, command.functions, guards, command.passes,
                command.slow, command.flops, command.nbytes, command.fill, command.combine, lookup, command.retains,
            )
            for waits, signals, extents, reads, writes, guards, lookup in rows
        ]  # fmt: skip

    def _lookups(self, index: Lookup | None, at: Sequence[int]) -> Sequence[Lookup | None]:
        if index is None:
            return [None] * len(at)
        return [replace(index, start=start) for start in self._placing.affines(index.start, at)]

    def _tokens(
        self, tokens: tuple[Token, ...], at: Sequence[int], to: Crossing | None
    ) -> Iterator[list[tuple[Token, ...]]]:
        """Of each token those of the cores ``at``."""
        for token in tokens:
            known = self._ring_tokens.get(token)
            if known is None:
                known = self._ring_tokens[token] = self._of_ring(token)
            every, owner = known.every, known.owner
            if to is not None and known.ring == to.ring:
                yield [tuple([every[member] for member in members]) for members in to.members]
            elif not every:
                yield [(token,)] * len(at)
            else:
                yield [(every[owner[core]],) if owner[core] != NOBODY else () for core in at]

    def _of_ring(self, token: Token) -> RingTokens:
        """One object for all commands that take or give the same."""
        ring, _, kind = token.name.rpartition(".")
        if ring not in self._names:
            return RingTokens(ring, (), ())
        numbers = {f"{ring}[{core}]": core for core in range(self.count)}
        every = tuple([Token(f"{name}.{kind}", token.n, token.when) for name in numbers])
        return RingTokens(ring, every, tuple([numbers.get(name, NOBODY) for name in self._names[ring]]))

    def _regions(self, region: Region, at: Sequence[int], to: Crossing | None) -> list[tuple[Region, ...]]:
        """The region of each core, none of a store that it has not; several of a ring that it writes ``to``."""
        names = self._names.get(region.store)
        stores: list[tuple[str, ...]]
        if names is None:
            stores = [(region.store,)] * len(at)
        elif to is not None and region.store == to.ring:
            stores = [tuple([names[member] for member in members]) for members in to.members]
        else:
            stores = [(names[core],) if names[core] else () for core in at]
        offsets, clipped = self._placing.affines(region.offset, at), self._placing.clips(region.clips, at)
        operand, size, strides = region.operand, region.element_bytes, region.strides
        return [
            tuple([Region(operand, store, size, strides, offset, clips) for store in own])
            for own, offset, clips in zip(stores, offsets, clipped, strict=True)
        ]


def _joined(columns: Sequence[Sequence[tuple[Part, ...]]], at: Sequence[int]) -> list[tuple[Part, ...]]:
    """Of several columns, each with a tuple of every core ``at`` which something is, one with all of a core."""
    if not columns:
        return [()] * len(at)
    return [tuple(chain.from_iterable(row)) for row in zip(*columns, strict=True)]


@lru_cache(maxsize=4096)
def _sharing(
    parts: tuple[int, ...], moved: tuple[bool, ...], added: tuple[bool, ...], turn: int, alone: bool
) -> Sharing:
    """How the cores of a layer that is spread into ``parts`` share an operand; once for all layers that do alike.

    ``moved``: whether a spread dim moves the operand; ``added``: whether only cores with the first part of it have any;
    ``turn``: which of those that share a tile brings it; ``alone``: only that one has it.
    """
    places = list(product(*map(range, parts)))
    groups = tuple([_number(place, parts, moved) for place in places])
    members: dict[int, list[int]] = {}
    for core, (group, place) in enumerate(zip(groups, places, strict=True)):
        if not any(at for at, sums in zip(place, added, strict=True) if sums):
            members.setdefault(group, []).append(core)
    turn = turn if len(members) < len(places) else 0
    leaders = {group: cores[(group + turn) % len(cores)] for group, cores in members.items()}
    if alone:
        members = {group: [leader] for group, leader in leaders.items()}
    together = {group: tuple(cores) for group, cores in members.items()}
    having = frozenset(core for cores in together.values() for core in cores)
    mine: list[tuple[int, ...]] = [together.get(group, ()) for group in groups]
    return Sharing(groups, tuple(mine), tuple([leaders.get(group, -1) for group in groups]), having)


def _number(place: tuple[int, ...], parts: tuple[int, ...], moved: Sequence[bool]) -> int:
    """Of a place among those that differ in the dims that move an operand."""
    number = 0
    for at, count, moves in zip(place, parts, moved, strict=True):
        number = number * count + at if moves else number
    return number
