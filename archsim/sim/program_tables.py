"""A Program as tables of the compiled machine: its loops and commands, its tokens, and where its operands lie.

Commands of cores that do alike share the parts of their text as objects; so what is made of a part is kept by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from archsim.ir.program import (
    Affine,
    Command,
    CommandLoop,
    PlacedTensor,
    Program,
    ProgramNode,
    Queue,
    Region,
    Ring,
    When,
)
from archsim.ir.records import CommandText
from archsim.ir.unroll import count_commands, count_runs
from archsim.sim.clock import ClockDomain
from archsim.sim.compiled import layout as k
from archsim.sim.given_up import UnsuitedError
from archsim.sim.plans import OWN
from archsim.spec.network import core_of, part_of


class QueueFacts(NamedTuple):
    """Who runs a queue: its clock, its core (None: the chip has one), ``family``: engines that make the same plans.

    ``granule``: of a memory by name, in bytes, to which addresses matter; ``planned``: operations with plans.
    """

    clock: ClockDomain
    core: int | None
    family: str
    granule: Callable[[str], int]
    planned: frozenset[str]


Columns = list[tuple[int, ...]]
Bits = tuple[int, int]
NEVER_BITS = (0, 1)


@dataclass
class ProgramTables:
    """Rows of the tables of a Program, by name. ``commands``: the command of each row, and its queue's number."""

    program: Program
    facts: Mapping[str, QueueFacts]
    tapes: Callable[[Ring], Sequence[int]]
    rows: dict[str, Columns] = field(default_factory=dict)
    commands: list[tuple[Command, int, tuple[str, ...]]] = field(default_factory=list)
    texts: list[list[CommandText]] = field(default_factory=list)
    layers: dict[str, int] = field(default_factory=dict)
    outside: dict[tuple[str, str], int] = field(default_factory=dict)  # tokens that queues outside take: their sinks

    def __post_init__(self) -> None:
        names: tuple[str, ...] = (
            "NODES",
            "COMMANDS",
            "WAITS",
            "SIGNALS",
            "EXTENTS",
            "AFFINES",
            "TERMS",
            "CLIPS",
            "PLACES",
        )
        names += ("OPERANDS", "SITES", "TAPES", "QUEUES", "COUNTERS", "RINGS", "RELEASES", "GUARDS", "CLOCKS")
        self.rows = {name: [] for name in names}
        self.queues = [queue for queue in self.program.queues if queue.name in self.facts]
        self.numbers = {queue.name: number for number, queue in enumerate(self.queues)}
        ranks = {name: rank for rank, name in enumerate(sorted(queue.name for queue in self.program.queues))}
        self.units, self.ranks = [queue.name for queue in self.program.queues], ranks
        self.clocks: dict[tuple[int, int], int] = {}
        self.depth = 1
        self._stores: dict[str, PlacedTensor | Ring] = {store.name: store for store in self.program.tensors}
        self._stores |= {ring.name: ring for ring in self.program.rings}
        self._kept: dict[Any, Any] = {}
        self._sorts: dict[Any, int] = {}
        self._tokens = _Tokens(self)
        for queue in self.queues:
            self._add_queue(queue)

    @property
    def room_for_tokens(self) -> int:
        """Tokens that counters hold at most, all together."""
        return self._tokens.room

    @property
    def initial(self) -> list[tuple[int, int]]:
        """Counters that have tokens at time 0, and how many."""
        return self._tokens.initial

    def counter(self, ring: Ring, queue: str) -> int:
        """The counter of the slots of a ring that a queue takes."""
        return self._tokens.slots(ring, queue)

    def sinks(self, queue: str, token: str) -> list[tuple[int, int, str]]:
        """(kind, sink, who takes the tokens) of all that a signal of ``token`` by a queue raises."""
        return self._tokens.sinks(queue, token)

    def clock(self, clock: ClockDomain) -> int:
        """The number of a clock."""
        key = clock.hz, clock.sync_stages
        if key not in self.clocks:
            ps = 10**12 // np.gcd(10**12, clock.hz)
            edges = clock.hz // np.gcd(10**12, clock.hz)
            if int(ps) * int(edges) >= 1 << 62:
                raise UnsuitedError(f"a clock of {clock.hz} Hz")
            self.clocks[key] = len(self.clocks)
            self.rows["CLOCKS"].append((int(ps), int(edges), clock.sync_stages))
        return self.clocks[key]

    def _add_queue(self, queue: Queue) -> None:
        facts, number = self.facts[queue.name], len(self.rows["QUEUES"])
        first = len(self.rows["NODES"])
        self.texts.append([])
        for node in queue.body:
            self._add_node(node, number, queue, ())
        row = [0] * k.QUEUE_WIDTH
        row[k.PC], row[k.PC_END] = first, len(self.rows["NODES"])
        row[k.CORE], row[k.CLOCK] = facts.core or 0, self.clock(facts.clock)
        row[k.CURRENT], row[k.INDEX], row[k.UNIT_RANK] = k.NONE, -1, self.ranks[queue.name]
        self.rows["QUEUES"].append(tuple(row))

    def _add_node(self, node: ProgramNode, number: int, queue: Queue, inside: tuple[str, ...]) -> None:
        nodes = self.rows["NODES"]
        if not isinstance(node, CommandLoop):
            nodes.append((k.COMMAND, 0, 0, len(self.rows["COMMANDS"])))
            self._add_command(node, number, queue, inside)
            return
        first = len(nodes)
        self.depth = max(self.depth, len(inside) + 1)
        nodes.append(())
        for each in node.body:
            self._add_node(each, number, queue, (*inside, node.var))
        nodes[first] = k.LOOP, node.trips, len(inside), len(nodes)
        nodes.append((k.END, 0, 0, first))

    def _add_command(self, command: Command, number: int, queue: Queue, inside: tuple[str, ...]) -> None:
        facts, rows = self.facts[queue.name], self.rows
        depths = self._kept.setdefault(inside, {var: depth for depth, var in enumerate(inside)})
        does = k.SYNC if command.op == "SYNC" else k.PLANNED if command.op in facts.planned else k.FOREIGN
        texts = self.texts[number]
        texts.append(CommandText(command.name, command.op, command.layer, command.role))
        row = [0] * k.COMMAND_WIDTH
        row[k.WHEN_BITS], row[k.WHEN] = self._bits(command.when, depths)
        row[k.WAITS], row[k.WAITS_END] = self._tokens.waits(command, queue, depths)
        row[k.SIGNALS], row[k.SIGNALS_END] = self._tokens.signals(command, queue, depths)
        row[k.DOES], row[k.TEXT] = does, len(texts) - 1
        row[k.LAYER] = self.layers.setdefault(command.layer, len(self.layers))
        if does == k.PLANNED:
            self._add_plan_text(command, facts, queue, depths, row)
        rows["COMMANDS"].append(tuple(row))
        self.commands.append((command, number, inside))

    def _add_plan_text(
        self, command: Command, facts: QueueFacts, queue: Queue, depths: Mapping[str, int], row: list[int]
    ) -> None:
        """What the plan of a command follows from."""
        regions = (*command.reads, *command.writes)
        row[k.EXTENTS], row[k.EXTENTS_END] = self._extents(command, depths)
        row[k.FRESH_BITS], row[k.FRESH] = self._bits(command.fresh, depths)
        row[k.CLIPS], row[k.CLIPS_END] = self._clips(command, depths)
        row[k.SORT] = self._sort(command, facts, regions)
        row[k.OPERANDS] = len(self.rows["OPERANDS"])
        for region in regions:
            self.rows["OPERANDS"].append((self._site(region, queue), self._affine(region.offset, depths)))
        row[k.OPERANDS_END] = len(self.rows["OPERANDS"])
        row[k.PLACES] = len(self.rows["PLACES"])
        for place, region in enumerate(regions):
            granule = facts.granule(self._store(region).memory)
            if granule > 1:
                self.rows["PLACES"].append((row[k.OPERANDS] + place, granule))
        row[k.PLACES_END] = len(self.rows["PLACES"])
        clips, places = row[k.CLIPS_END] - row[k.CLIPS], row[k.PLACES_END] - row[k.PLACES]
        if row[k.EXTENTS_END] - row[k.EXTENTS] + 2 * clips + places + 3 > k.KEY_WIDTH:
            raise UnsuitedError(f"{command.name} has too many extents, clips and places")

    def _store(self, region: Region) -> PlacedTensor | Ring:
        store = self._stores.get(region.store)
        if store is None:
            raise UnsuitedError(f"there is no '{region.store}'")
        return store

    def bits(self, when: When, depths: Mapping[str, int]) -> Bits:
        """Which edges of loops matter to a condition, and which of them are to be there."""
        return self._bits(when, depths)

    @staticmethod
    def _bits(when: When, depths: Mapping[str, int]) -> Bits:
        wanted = banned = 0
        for edge in when:
            bit = (1 if edge.kind == "first" else 2) << 2 * depths[edge.var]
            wanted, banned = (wanted, banned | bit) if edge.negated else (wanted | bit, banned)
        return NEVER_BITS if wanted & banned else (wanted | banned, wanted)

    def _extents(self, command: Command, depths: Mapping[str, int]) -> tuple[int, int]:
        key = "extents", id(command.extents), id(depths)
        if key not in self._kept:
            limits = [[self._affine_row(limit, depths) for limit in extent.limits] for extent in command.extents]
            rows, affines = self.rows["EXTENTS"], self.rows["AFFINES"]
            first = len(rows)
            for extent, of in zip(command.extents, limits, strict=True):
                rows.append((extent.size, len(affines), len(affines) + len(of)))
                affines += of
            self._kept[key] = first, len(rows)
        found: tuple[int, int] = self._kept[key]
        return found

    def _clips(self, command: Command, depths: Mapping[str, int]) -> tuple[int, int]:
        rows, dims = self.rows["CLIPS"], [extent.dim for extent in command.extents]
        first = len(rows)
        for region in (*command.reads, *command.writes):
            for clip in region.clips:
                place = dims.index(clip.dim) if clip.dim in dims else k.NONE
                rows.append((place, self._affine(clip.start, depths), clip.length))
        return first, len(rows)

    def _affine(self, affine: Affine, depths: Mapping[str, int]) -> int:
        self.rows["AFFINES"].append(self._affine_row(affine, depths))
        return len(self.rows["AFFINES"]) - 1

    def _affine_row(self, affine: Affine, depths: Mapping[str, int]) -> tuple[int, int, int]:
        key = "terms", affine.terms, id(depths)
        if key not in self._kept:
            rows = self.rows["TERMS"]
            first = len(rows)
            rows += [(depths[var], coefficient) for var, coefficient in affine.terms]
            self._kept[key] = first, len(rows)
        return affine.const, *self._kept[key]

    def _site(self, region: Region, queue: Queue) -> int:
        key = "site", region.store, queue.name
        if key not in self._kept:
            store, rows = self._store(region), self.rows["SITES"]
            self._kept[key] = len(rows)
            if isinstance(store, Ring):
                counter, tape = self._tokens.slots(store, queue.name), k.NONE
                if store.retain:
                    tape = self._tape(store)
                rows.append((store.base, store.slot_bytes, store.slots, counter, tape, store.size_bytes))
            else:
                rows.append((store.base, 0, 1, k.NONE, k.NONE, 0))
        found: int = self._kept[key]
        return found

    def _tape(self, ring: Ring) -> int:
        key = "tape", ring.name
        if key not in self._kept:
            rows = self.rows["TAPES"]
            self._kept[key] = len(rows)
            rows += [(start,) for start in self.tapes(ring)]
        found: int = self._kept[key]
        return found

    def _sort(self, command: Command, facts: QueueFacts, regions: Sequence[Region]) -> int:
        """A number for all commands that are of one kind, as of ``plans.EnginePlans``."""
        dims = tuple([extent.dim for extent in command.extents])
        what = (facts.family, command.op, command.nest, command.dtypes, command.passes, command.slow, command.combine)
        operands = tuple([self._operand(region, facts.core) for region in regions])
        key = (*what, dims, len(command.reads), operands, command.nbytes if command.op == "SETUP" else 0)
        return self._sorts.setdefault(key, len(self._sorts))

    def _operand(self, region: Region, core: int | None) -> tuple[Any, ...]:
        key = "operand", region.store, region.operand, region.element_bytes, region.strides, id(region.clips), core
        found = self._kept.get(key)
        if found is None:
            store = self._store(region)
            memory = store.memory
            if core is not None and core_of(memory) == core:
                memory = part_of(memory) + OWN
            bounds = tuple([(clip.dim, clip.length) for clip in region.clips])
            found = (region.operand, memory, store.role, store.dtype, region.element_bytes, region.strides, bounds)
            self._kept[key] = found
        of: tuple[Any, ...] = found
        return of


class _Tokens:
    """Counters, rings and who signals what."""

    def __init__(self, tables: ProgramTables) -> None:
        self._tables = tables
        self.room = 0
        self.initial: list[tuple[int, int]] = []
        self._counters: dict[tuple[str, str], int] = {}  # by queue and token
        self._sinks: dict[tuple[str, str], list[tuple[int, int, str]]] = {}  # by giver and token
        program = tables.program
        self._semaphores = {semaphore.name for semaphore in program.semaphores}
        self._takers = _takers(program)
        given = _given(program)
        for semaphore in program.semaphores:
            taker = self._takers.get(semaphore.name)
            if taker is not None:
                most = semaphore.initial + given.get(semaphore.name, 0)
                self._add_counter(taker, semaphore.name, most, semaphore.initial)
        for ring in program.rings:
            self._add_ring(ring)

    def waits(self, command: Command, queue: Queue, depths: Mapping[str, int]) -> tuple[int, int]:
        """Rows of what a command waits for."""
        rows = self._tables.rows["WAITS"]
        first = len(rows)
        if len({token.name for token in command.waits}) < len(command.waits):
            raise UnsuitedError(f"{command.name} waits for a token by several names")
        for token in command.waits:
            counter = self._counters.get((queue.name, token.name))
            if counter is None:
                raise UnsuitedError(f"{command.name} waits for '{token.name}', which it does not take")
            if token.n:
                rows.append((*self._tables.bits(token.when, depths), counter, token.n))
        return first, len(rows)

    def signals(self, command: Command, queue: Queue, depths: Mapping[str, int]) -> tuple[int, int]:
        """Rows of where the signals of a command go."""
        tables, rows = self._tables, self._tables.rows["SIGNALS"]
        first, own = len(rows), tables.facts[queue.name].clock
        for token in command.signals:
            for kind, sink, taker in self.sinks(queue.name, token.name) if token.n else ():
                clock = k.NONE
                if kind != k.TO_GUARD and taker in tables.facts and tables.facts[taker].clock.crosses(own):
                    clock = tables.clock(tables.facts[taker].clock)
                rows.append((*tables.bits(token.when, depths), kind, sink, token.n, clock))
        return first, len(rows)

    def sinks(self, queue: str, token: str) -> list[tuple[int, int, str]]:
        """(kind, sink, who takes the tokens) of all that a signal of ``token`` by a queue raises."""
        found = self._sinks.get((queue, token))
        if found is not None:
            return found
        taker = self._takers.get(token)
        if taker is None:
            if token in self._semaphores:
                return []
            raise UnsuitedError(f"{queue} signals '{token}', which is not for it")
        if taker in self._tables.facts:
            return [(k.TO_COUNTER, self._counters[taker, token], taker)]
        outside = self._tables.outside
        return [(k.TO_PYTHON, outside.setdefault((taker, token), len(outside)), taker)]

    def slots(self, ring: Ring, queue: str) -> int:
        """The counter of the slots of a ring that a queue takes."""
        counter = self._counters.get((queue, f"{ring.name}.free" if queue == ring.writer else f"{ring.name}.full"))
        if counter is None:
            raise UnsuitedError(f"{queue} touches ring '{ring.name}' without taking slots of it")
        return counter

    def _add_ring(self, ring: Ring) -> None:
        tables = self._tables
        if not all(name in tables.facts for name in (ring.writer, *ring.readers)):
            raise UnsuitedError(f"ring '{ring.name}' of a queue outside")
        if not ring.readers:
            raise UnsuitedError(f"ring '{ring.name}' has no readers")
        free = self._add_counter(ring.writer, f"{ring.name}.free", ring.slots, ring.slots)
        number, releases = len(tables.rows["RINGS"]), tables.rows["RELEASES"]
        first = len(releases)
        filled = [(k.TO_GUARD, self._guard(free), ring.writer)]
        for reader in ring.readers:
            full = self._add_counter(reader, f"{ring.name}.full", ring.slots, 0)
            filled.append((k.TO_COUNTER, full, reader))
            freeing = [(k.TO_GUARD, self._guard(full), reader), (k.TO_RELEASE, len(releases), ring.writer)]
            self._sinks[reader, f"{ring.name}.free"] = freeing
            releases.append((number, 0))
        self._sinks[ring.writer, f"{ring.name}.full"] = filled
        tables.rows["RINGS"].append((free, 0, len(ring.readers), first, len(releases)))

    def _guard(self, counter: int) -> int:
        guards = self._tables.rows["GUARDS"]
        guards.append((counter, 0))
        return len(guards) - 1

    def _add_counter(self, queue: str, token: str, most: int, initial: int) -> int:
        rows = self._tables.rows["COUNTERS"]
        if queue not in self._tables.facts:
            return k.NONE
        self._counters[queue, token] = len(rows)
        rows.append((self._tables.numbers[queue], self.room, max(most, 1), 0, initial, 0, 0))
        self.room += max(most, 1)
        if initial:
            self.initial.append((len(rows) - 1, initial))
        return len(rows) - 1


def _takers(program: Program) -> dict[str, str]:
    """Semaphore -> the queue that waits for it."""
    semaphores = {semaphore.name for semaphore in program.semaphores}
    found: dict[str, str] = {}
    for queue in program.queues:
        for command, _ in _commands(queue.body, {}):
            for token in command.waits:
                if token.name in semaphores and found.setdefault(token.name, queue.name) != queue.name:
                    raise UnsuitedError(f"semaphore '{token.name}' has two takers")
    return found


def _given(program: Program) -> dict[str, int]:
    """How many tokens of each name are given in all."""
    found: dict[str, int] = {}
    for queue in program.queues:
        for command, trips in _commands(queue.body, {}):
            for token in command.signals:
                runs = count_runs((*command.when, *token.when), trips)
                found[token.name] = found.get(token.name, 0) + runs * token.n
    return found


def _commands(body: Sequence[ProgramNode], trips: Mapping[str, int]) -> Iterator[tuple[Command, Mapping[str, int]]]:
    """The commands of a text, with the loops that they stand in and how often these run."""
    for node in body:
        if isinstance(node, CommandLoop):
            yield from _commands(node.body, {**trips, node.var: node.trips})
        else:
            yield node, trips


def commands_in(queues: Sequence[Queue]) -> int:
    """Concrete commands of some queues."""
    return sum(chain(map(count_commands, queues)))
