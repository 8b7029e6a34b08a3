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
ALWAYS_BITS, NEVER_BITS = (0, 0), (0, 1)


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
        self.key_width = 3  # numbers that a plan follows from at most, and how many they are
        stores: list[PlacedTensor | Ring] = [*self.program.tensors, *self.program.rings]
        self._stores = {store.name: store for store in stores}
        self._loops: dict[tuple[str, ...], _Loops] = {}
        self._kinds: dict[tuple[str, str, str], int] = {}
        self._tapes: dict[str, int] = {}
        self._sorts: dict[Any, int] = {}  # by the ids of parts, as operands; and by the parts
        self._equal_sorts: dict[Any, int] = {}
        self._operands: dict[Any, int] = {}
        self._equal_operands: dict[Any, int] = {}
        self._tokens = _Tokens(self)
        for queue in self.queues:
            self._add_queue(queue)

    def clear(self) -> None:
        """Forget the rows, which have been copied."""
        for name, rows in self.rows.items():
            if name != "CLOCKS":
                rows.clear()

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
        around = _Around(queue.name, number, facts)
        for node in queue.body:
            self._add_node(node, around, ())
        row = [0] * k.QUEUE_WIDTH
        row[k.PC], row[k.PC_END] = first, len(self.rows["NODES"])
        row[k.CORE], row[k.CLOCK] = facts.core or 0, self.clock(facts.clock)
        row[k.CURRENT], row[k.INDEX], row[k.UNIT_RANK] = k.NONE, -1, self.ranks[queue.name]
        self.rows["QUEUES"].append(tuple(row))

    def _add_node(self, node: ProgramNode, around: _Around, inside: tuple[str, ...]) -> None:
        nodes = self.rows["NODES"]
        if not isinstance(node, CommandLoop):
            nodes.append((k.COMMAND, 0, 0, len(self.rows["COMMANDS"])))
            self._add_command(node, around, inside)
            return
        first = len(nodes)
        self.depth = max(self.depth, len(inside) + 1)
        nodes.append(())
        for each in node.body:
            self._add_node(each, around, (*inside, node.var))
        nodes[first] = k.LOOP, node.trips, len(inside), len(nodes)
        nodes.append((k.END, 0, 0, first))

    def _add_command(self, command: Command, around: _Around, inside: tuple[str, ...]) -> None:
        loops = self._loops.get(inside)
        if loops is None:
            loops = self._loops[inside] = _Loops(inside)
        does = k.SYNC if command.op == "SYNC" else k.PLANNED if command.op in around.facts.planned else k.FOREIGN
        texts = self.texts[around.number]
        texts.append(CommandText(command.name, command.op, command.layer, command.role))
        row = [0] * k.COMMAND_WIDTH
        row[k.WHEN_BITS], row[k.WHEN] = loops.bits(command.when)
        row[k.WAITS], row[k.WAITS_END] = self._tokens.waits(command, around.name, loops)
        row[k.SIGNALS], row[k.SIGNALS_END] = self._tokens.signals(command, around.name, loops)
        row[k.DOES], row[k.TEXT] = does, len(texts) - 1
        row[k.LAYER] = self.layers.setdefault(command.layer, len(self.layers))
        if does == k.PLANNED:
            self._add_plan_text(command, around, loops, row)
        self.rows["COMMANDS"].append(tuple(row))
        self.commands.append((command, around.number, inside))

    def _add_plan_text(self, command: Command, around: _Around, loops: _Loops, row: list[int]) -> None:
        """What the plan of a command follows from."""
        regions = command.reads + command.writes
        operands, places, affines = self.rows["OPERANDS"], self.rows["PLACES"], self.rows["AFFINES"]
        row[k.EXTENTS], row[k.EXTENTS_END] = self._extents(command, loops)
        row[k.FRESH_BITS], row[k.FRESH] = loops.bits(command.fresh)
        row[k.CLIPS], row[k.CLIPS_END] = self._clips(command, regions, loops)
        touched = [around.stores.get(region.store) or self._touched(region.store, around) for region in regions]
        row[k.SORT] = self._sort(command, around.facts, regions, touched)
        row[k.OPERANDS], row[k.PLACES] = len(operands), len(places)
        for region, (site, _, granule) in zip(regions, touched, strict=True):
            if granule > 1:
                places.append((len(operands), granule))
            operands.append((site, len(affines)))
            affines.append(self._affine_row(region.offset, loops))
        row[k.OPERANDS_END], row[k.PLACES_END] = len(operands), len(places)
        clips, placed = row[k.CLIPS_END] - row[k.CLIPS], row[k.PLACES_END] - row[k.PLACES]
        self.key_width = max(self.key_width, row[k.EXTENTS_END] - row[k.EXTENTS] + 2 * clips + placed + 3)

    def _extents(self, command: Command, loops: _Loops) -> Bits:
        found = loops.extents.get(id(command.extents))
        if found is None:
            limits = [[self._affine_row(limit, loops) for limit in extent.limits] for extent in command.extents]
            rows, affines = self.rows["EXTENTS"], self.rows["AFFINES"]
            first = len(rows)
            for extent, of in zip(command.extents, limits, strict=True):
                rows.append((extent.size, len(affines), len(affines) + len(of)))
                affines += of
            found = loops.extents[id(command.extents)] = first, len(rows)
        return found

    def _clips(self, command: Command, regions: Sequence[Region], loops: _Loops) -> Bits:
        rows, affines = self.rows["CLIPS"], self.rows["AFFINES"]
        first = len(rows)
        for region in regions:
            for clip in region.clips:
                dims = [extent.dim for extent in command.extents]
                place = dims.index(clip.dim) if clip.dim in dims else k.NONE
                rows.append((place, len(affines), clip.length))
                affines.append(self._affine_row(clip.start, loops))
        return first, len(rows)

    def _affine_row(self, affine: Affine, loops: _Loops) -> tuple[int, int, int]:
        found = loops.terms.get(id(affine.terms))
        if found is None:
            found = loops.equal.get(affine.terms)
            if found is None:
                rows = self.rows["TERMS"]
                first = len(rows)
                rows += [(loops.depths[var], coefficient) for var, coefficient in affine.terms]
                found = loops.equal[affine.terms] = first, len(rows)
            loops.terms[id(affine.terms)] = found
        return affine.const, *found

    def _touched(self, name: str, around: _Around) -> _Touched:
        """What is to be known of a store that a queue touches."""
        store = self._stores.get(name)
        if store is None:
            raise UnsuitedError(f"there is no '{name}'")
        known = around.memories.get(store.memory)
        if known is None:
            own = around.facts.core is not None and core_of(store.memory) == around.facts.core
            called = part_of(store.memory) + OWN if own else store.memory
            known = around.memories[store.memory] = called, around.facts.granule(store.memory)
        kind = self._kinds.setdefault((known[0], store.role, store.dtype), len(self._kinds))
        found = around.stores[name] = _Touched(self._site(store, around.name), kind, known[1])
        return found

    def _site(self, store: PlacedTensor | Ring, queue: str) -> int:
        counter, tape, rows = k.NONE, k.NONE, self.rows["SITES"]
        if isinstance(store, Ring):
            counter = self._tokens.slots(store, queue)
            if store.retain:
                tape = self._tape(store)
            rows.append((store.base, store.slot_bytes, store.slots, counter, tape, store.size_bytes))
        else:
            rows.append((store.base, 0, 1, counter, tape, 0))
        return len(rows) - 1

    def _tape(self, ring: Ring) -> int:
        if ring.name not in self._tapes:
            rows = self.rows["TAPES"]
            self._tapes[ring.name] = len(rows)
            rows += [(start,) for start in self.tapes(ring)]
        return self._tapes[ring.name]

    def _sort(self, command: Command, facts: QueueFacts, regions: Sequence[Region], touched: Sequence[_Touched]) -> int:
        """A number for all commands that are of one kind, as of ``plans.EnginePlans``."""
        operands = tuple([self._operand(region, store.kind) for region, store in zip(regions, touched, strict=True)])
        plain = facts.family, command.op, command.passes, command.combine, len(command.reads), operands
        nbytes = command.nbytes if command.op == "SETUP" else 0
        key = (*plain, nbytes, id(command.nest), id(command.dtypes), id(command.slow), id(command.extents))
        found = self._sorts.get(key)
        if found is None:
            dims = tuple([extent.dim for extent in command.extents])
            equal = (*plain, nbytes, command.nest, command.dtypes, command.slow, dims)
            found = self._sorts[key] = self._equal_sorts.setdefault(equal, len(self._equal_sorts))
        return found

    def _operand(self, region: Region, kind: int) -> int:
        """A number for all operands that are of one sort in stores of one ``kind``."""
        key = region.operand, kind, region.element_bytes, id(region.strides), id(region.clips)
        found = self._operands.get(key)
        if found is None:
            bounds = tuple([(clip.dim, clip.length) for clip in region.clips])
            equal = region.operand, kind, region.element_bytes, region.strides, bounds
            found = self._operands[key] = self._equal_operands.setdefault(equal, len(self._equal_operands))
        return found


class _Touched(NamedTuple):
    """A store as a queue touches it: its row of SITES, the number of its ``kind``, the granule of its memory."""

    site: int
    kind: int
    granule: int


class _Around:
    """The queue that a text is of; ``stores``: by name, those that it touches; ``memories``: of each what it is called
    by all cores that touch their own, and its granule.
    """

    __slots__ = ("facts", "memories", "name", "number", "stores")

    def __init__(self, name: str, number: int, facts: QueueFacts) -> None:
        self.name, self.number, self.facts = name, number, facts
        self.stores: dict[str, _Touched] = {}
        self.memories: dict[str, tuple[str, int]] = {}


class _Loops:
    """The loops that texts stand in: ``depths`` of their variables, and rows of what texts in them are made of.

    Rows of ``extents`` and ``terms`` are found by the id of the object; those of terms also by ``equal`` ones.
    """

    __slots__ = ("_bits", "depths", "equal", "extents", "terms")

    def __init__(self, inside: tuple[str, ...]) -> None:
        self.depths = {var: depth for depth, var in enumerate(inside)}
        self.extents: dict[int, Bits] = {}
        self.terms: dict[int, Bits] = {}
        self.equal: dict[tuple[tuple[str, int], ...], Bits] = {}
        self._bits: dict[int, Bits] = {}

    def bits(self, when: When) -> Bits:
        """Which edges of loops matter to a condition, and which of them are to be there."""
        if not when:
            return ALWAYS_BITS
        found = self._bits.get(id(when))
        if found is None:
            found = self._bits[id(when)] = self._bits_of(when)
        return found

    def _bits_of(self, when: When) -> Bits:
        wanted = banned = 0
        for edge in when:
            bit = (1 if edge.kind == "first" else 2) << 2 * self.depths[edge.var]
            wanted, banned = (wanted, banned | bit) if edge.negated else (wanted | bit, banned)
        return NEVER_BITS if wanted & banned else (wanted | banned, wanted)


class _Tokens:
    """Counters, rings and who signals what."""

    def __init__(self, tables: ProgramTables) -> None:
        self._tables = tables
        self.room = 0
        self.initial: list[tuple[int, int]] = []
        self._counters: dict[str, dict[str, int]] = {queue.name: {} for queue in tables.queues}  # and by token
        self._sinks: dict[tuple[str, str], list[tuple[int, int, str]]] = {}  # of rings, by giver and token
        self._crossings: dict[tuple[int, str], int] = {}
        program = tables.program
        self._semaphores = {semaphore.name for semaphore in program.semaphores}
        self._takers, given = _takers_and_given(program)
        for semaphore in program.semaphores:
            taker = self._takers.get(semaphore.name)
            if taker is not None:
                self._add_counter(taker, semaphore.name, semaphore.initial + given[semaphore.name], semaphore.initial)
        for ring in program.rings:
            self._add_ring(ring)

    def waits(self, command: Command, queue: str, loops: _Loops) -> Bits:
        """Rows of what a command waits for."""
        rows, tokens = self._tables.rows["WAITS"], command.waits
        first = len(rows)
        if len(tokens) > 1 and len({token.name for token in tokens}) < len(tokens):
            raise UnsuitedError(f"{command.name} waits for a token by several names")
        counters = self._counters[queue]
        for token in tokens:
            counter = counters.get(token.name)
            if counter is None:
                raise UnsuitedError(f"{command.name} waits for '{token.name}', which it does not take")
            if token.n:
                rows.append((*loops.bits(token.when), counter, token.n))
        return first, len(rows)

    def signals(self, command: Command, queue: str, loops: _Loops) -> Bits:
        """Rows of where the signals of a command go."""
        rows, own = self._tables.rows["SIGNALS"], self._tables.facts[queue].clock
        first = len(rows)
        for token in command.signals:
            if token.n:
                bits = loops.bits(token.when)
                for kind, sink, taker in self.sinks(queue, token.name):
                    clock = k.NONE if kind == k.TO_GUARD else self._crossing(own, taker)
                    rows.append((*bits, kind, sink, token.n, clock))
        return first, len(rows)

    def _crossing(self, own: ClockDomain, taker: str) -> int:
        """The clock of a queue that takes tokens across clock domains; NONE where it needs no time."""
        found = self._crossings.get((id(own), taker))
        if found is None:
            facts = self._tables.facts.get(taker)
            crosses = facts is not None and facts.clock.crosses(own)
            found = self._crossings[id(own), taker] = self._tables.clock(facts.clock) if facts and crosses else k.NONE
        return found

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
            return [(k.TO_COUNTER, self._counters[taker][token], taker)]
        outside = self._tables.outside
        return [(k.TO_PYTHON, outside.setdefault((taker, token), len(outside)), taker)]

    def slots(self, ring: Ring, queue: str) -> int:
        """The counter of the slots of a ring that a queue takes."""
        counter = self._counters[queue].get(f"{ring.name}.free" if queue == ring.writer else f"{ring.name}.full")
        if counter is None:
            raise UnsuitedError(f"{queue} touches ring '{ring.name}' without taking slots of it")
        return counter

    def _add_ring(self, ring: Ring) -> None:
        tables, free_token, full_token = self._tables, f"{ring.name}.free", f"{ring.name}.full"
        if not self._counters.keys() >= {ring.writer, *ring.readers}:
            raise UnsuitedError(f"ring '{ring.name}' of a queue outside")
        if not ring.readers:
            raise UnsuitedError(f"ring '{ring.name}' has no readers")
        free = self._add_counter(ring.writer, free_token, ring.slots, ring.slots)
        number, releases = len(tables.rows["RINGS"]), tables.rows["RELEASES"]
        first = len(releases)
        filled = [(k.TO_GUARD, self._guard(free), ring.writer)]
        for reader in ring.readers:
            full = self._add_counter(reader, full_token, ring.slots, 0)
            filled.append((k.TO_COUNTER, full, reader))
            freeing = [(k.TO_GUARD, self._guard(full), reader), (k.TO_RELEASE, len(releases), ring.writer)]
            self._sinks[reader, free_token] = freeing
            releases.append((number, 0))
        self._sinks[ring.writer, full_token] = filled
        tables.rows["RINGS"].append((free, 0, len(ring.readers), first, len(releases)))

    def _guard(self, counter: int) -> int:
        guards = self._tables.rows["GUARDS"]
        guards.append((counter, 0))
        return len(guards) - 1

    def _add_counter(self, queue: str, token: str, most: int, initial: int) -> int:
        rows = self._tables.rows["COUNTERS"]
        counters = self._counters.get(queue)
        if counters is None:
            return k.NONE
        room = most if most > 1 else 1
        counters[token] = len(rows)
        rows.append((self._tables.numbers[queue], self.room, room, 0, initial, 0, 0))
        self.room += room
        if initial:
            self.initial.append((len(rows) - 1, initial))
        return len(rows) - 1


def _takers_and_given(program: Program) -> tuple[dict[str, str], dict[str, int]]:
    """Of semaphores the queue that waits for each, and how many tokens of each are given in all."""
    takers: dict[str, str] = {}
    given = dict.fromkeys([semaphore.name for semaphore in program.semaphores], 0)
    for queue in program.queues:
        for command, trips in _commands(queue.body, {}):
            for token in command.waits:
                if token.name in given and takers.setdefault(token.name, queue.name) != queue.name:
                    raise UnsuitedError(f"semaphore '{token.name}' has two takers")
            for token in command.signals:
                if token.name in given:
                    runs = count_runs((*command.when, *token.when), trips) if trips else 1
                    given[token.name] += runs * token.n
    return takers, given


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
