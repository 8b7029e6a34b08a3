"""What the plans of commands follow from, as tables of the compiled machine: extents, clips, operands and sorts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from archsim.base.arrays import AnyArray, BoolArray, IntArray
from archsim.base.ragged import Items, alike, firsts, stretches
from archsim.ir.columns import UNKNOWN, ProgramColumns, TokenColumns, identities, numbered
from archsim.ir.inside import counting_guards
from archsim.ir.program import Affine, Ring, When
from archsim.sim.clock import ClockDomain
from archsim.sim.compiled import layout as k
from archsim.sim.given_up import UnsuitedError
from archsim.sim.plans import OWN, guard_starts
from archsim.sim.token_tables import TokenTables
from archsim.spec.network import core_of, part_of

NEVER_BITS = (0, 1)


class QueueFacts(NamedTuple):
    """Who runs a queue: its clock, its core (None: the chip has one), ``family``: engines that make the same plans.

    ``granule``: of a memory by name, in bytes, to which addresses matter; ``planned``: operations with plans.
    """

    clock: ClockDomain
    core: int | None
    family: str
    granule: Callable[[str], int]
    planned: frozenset[str]


class CommandCells:
    """The rows ``of`` COMMANDS, as they are filled, for the commands ``at`` of a Program."""

    def __init__(self, columns: ProgramColumns, at: IntArray) -> None:
        self.columns, self.at = columns, at
        self.of = np.zeros((len(at), k.COMMAND_WIDTH), dtype=np.int64)
        self.inside = columns.inside[at]
        self.depths = [{var: depth for depth, var in enumerate(variables)} for variables in columns.variables]
        whens = list(map(attrgetter("when"), columns.commands))
        self.of[:, k.WHEN_BITS : k.WHEN + 1] = self._bits(self.inside, columns.shared("when")[at], at, whens)

    def span(self, column: int, begin: IntArray, end: IntArray) -> None:
        """Set where rows of each command begin, and end in the column behind."""
        self.of[:, column], self.of[:, column + 1] = begin, end

    def fresh(self, rows: IntArray) -> None:
        """Set the condition under which commands of these rows start afresh."""
        whens, at = list(map(attrgetter("fresh"), self.columns.commands)), self.at[rows]
        bits = self._bits(self.inside[rows], self.columns.shared("fresh")[at], at, whens)
        self.of[rows, k.FRESH_BITS], self.of[rows, k.FRESH] = bits.T

    def token_bits(self, rows: IntArray, command: IntArray, tokens: TokenColumns) -> IntArray:
        """Of some rows of tokens which edges of loops matter, and which of them are to be there."""
        return self._bits(self.columns.inside[command], tokens.when[rows], tokens.when[rows], tokens.whens)

    def _bits(self, inside: IntArray, marks: IntArray, which: IntArray, whens: Sequence[When]) -> IntArray:
        """The same of conditions that are equal where ``marks`` are; ``which`` of ``whens`` each is."""
        chosen, kind = alike([inside, marks])
        pairs = zip(inside[chosen].tolist(), which[chosen].tolist(), strict=True)
        found = [self._bits_of(self.depths[path], whens[at]) for path, at in pairs]
        return np.array(found, dtype=np.int64).reshape(-1, 2)[kind]

    @staticmethod
    def _bits_of(depths: dict[str, int], when: When) -> tuple[int, int]:
        wanted = banned = 0
        for edge in when:
            bit = (1 if edge.kind == "first" else 2) << 2 * depths[edge.var]
            wanted, banned = (wanted, banned | bit) if edge.negated else (wanted | bit, banned)
        return NEVER_BITS if wanted & banned else (wanted | banned, wanted)


class PlanTexts:
    """Fills the ``cells`` of what plans follow from, and makes the ``rows`` of the tables that they point to.

    ``facts``: of each queue of the Program, None of one outside; ``tapes``: where slots of a ring with halos begin.
    """

    def __init__(
        self,
        cells: CommandCells,
        facts: Sequence[QueueFacts | None],
        tokens: TokenTables,
        tapes: Callable[[Ring], Sequence[int]],
    ) -> None:
        self._cells, self._columns, self._facts = cells, cells.columns, facts
        self._terms: list[tuple[int, int]] = []
        self._known_terms: dict[tuple[int, tuple[tuple[str, int], ...]], tuple[int, int]] = {}
        self._affines: list[tuple[int, int, int]] = []
        planned = self._planned()
        self._rows, self._at = np.flatnonzero(planned), cells.at[planned]
        cells.fresh(self._rows)
        extents = self._extents()
        clips = self._clips()
        operand, row = stretches(self._columns.operands[self._at], np.diff(self._columns.operands)[self._at])
        touched = _Touched(self._columns, facts, operand)
        self._operands(touched, row)
        self._sorts(touched, row)
        self._check_keys()
        offsets = self._offsets(operand, row)
        affines = np.array(self._affines, dtype=np.int64).reshape(-1, 3)
        sites, tapes_of = touched.sites(tokens, tapes)
        self.rows: dict[str, AnyArray] = {
            "EXTENTS": extents,
            "CLIPS": clips,
            "TERMS": np.array(self._terms, dtype=np.int64).reshape(-1, 2),
            "AFFINES": np.concatenate((affines, offsets)),
            "OPERANDS": np.stack((touched.site, len(affines) + np.arange(len(operand))), axis=1),
            "PLACES": self._places,
            "SITES": sites,
            "TAPES": tapes_of,
        }

    def _planned(self) -> BoolArray:
        """Which commands have plans; of each what it does."""
        columns, cells = self._columns, self._cells
        ops = [command.op for command in columns.commands]
        kinds = {op: number for number, op in enumerate(dict.fromkeys(ops))}
        does = np.full((len(self._facts), len(kinds)), k.FOREIGN, dtype=np.int64)
        for queue, facts in enumerate(self._facts):
            for op, number in kinds.items():
                if facts is not None and op in facts.planned:
                    does[queue, number] = k.PLANNED
        if "SYNC" in kinds:
            does[:, kinds["SYNC"]] = k.SYNC
        cells.of[:, k.DOES] = does[columns.queue, numbered(ops)][cells.at]
        planned: BoolArray = cells.of[:, k.DOES] == k.PLANNED
        return planned

    def _affine(self, affine: Affine, inside: int) -> tuple[int, int, int]:
        """A row of AFFINES in loops of this number."""
        key = inside, affine.terms
        if key not in self._known_terms:
            first, depths = len(self._terms), self._cells.depths[inside]
            self._terms += [(depths[var], coefficient) for var, coefficient in affine.terms]
            self._known_terms[key] = first, len(self._terms)
        return affine.const, *self._known_terms[key]

    def _extents(self) -> IntArray:
        """Rows of EXTENTS, once for all commands with the same extents in the same loops."""
        inside = self._columns.inside[self._at]
        chosen, kind = alike([inside, self._columns.shared("extents")[self._at]])
        rows: list[tuple[int, int, int]] = []
        spans = []
        for at, path in zip(self._at[chosen].tolist(), inside[chosen].tolist(), strict=True):
            first = len(rows)
            for extent in self._columns.commands[at].extents:
                begin = len(self._affines)
                self._affines += [self._affine(limit, path) for limit in extent.limits]
                rows.append((extent.size, begin, len(self._affines)))
            spans.append((first, len(rows)))
        self._set(k.EXTENTS, spans, kind)
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    def _clips(self) -> IntArray:
        """Rows of CLIPS, once for all commands with the same clips, guards and extents in the same loops."""
        columns, inside = self._columns, self._columns.inside[self._at]
        operands, _ = stretches(columns.operands[self._at], np.diff(columns.operands)[self._at])
        marks = self._part("clips")[operands]
        first = firsts(np.diff(columns.operands)[self._at])
        chosen, kind = alike(
            [inside, columns.shared("extents")[self._at], columns.shared("guards")[self._at]], [Items(first, [marks])]
        )
        rows: list[tuple[int, int, int]] = []
        spans = []
        for at, path in zip(self._at[chosen].tolist(), inside[chosen].tolist(), strict=True):
            command, begin = columns.commands[at], len(rows)
            dims = [extent.dim for extent in command.extents]
            clips = [clip for region in command.reads + command.writes for clip in region.clips]
            for clip in (*clips, *guard_starts(command)):
                place = dims.index(clip.dim) if clip.dim in dims else k.NONE
                rows.append((place, len(self._affines), clip.length))
                self._affines.append(self._affine(clip.start, path))
            spans.append((begin, len(rows)))
        self._set(k.CLIPS, spans, kind)
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    def _set(self, column: int, spans: list[tuple[int, int]], kind: IntArray) -> None:
        """Where rows of commands of each kind begin and end."""
        found = np.array(spans, dtype=np.int64).reshape(-1, 2)[kind]
        self._cells.of[self._rows, column], self._cells.of[self._rows, column + 1] = found.T

    def _part(self, name: str) -> IntArray:
        """Marks of a part of all operands, as an object."""
        regions = self._columns.regions
        return identities(map(attrgetter(name), regions), len(regions))

    def _offsets(self, operand: IntArray, row: IntArray) -> IntArray:
        """A row of AFFINES for the offset of each operand."""
        inside = self._columns.inside[self._at][row]
        chosen, kind = alike([inside, self._part("offset.terms")[operand]])
        regions, pairs = self._columns.regions, zip(operand[chosen].tolist(), inside[chosen].tolist(), strict=True)
        spans = [self._affine(regions[at].offset, path)[1:] for at, path in pairs]
        terms = np.array(spans, dtype=np.int64).reshape(-1, 2)[kind]
        return np.concatenate((self._columns.offset[operand][:, None], terms), axis=1)

    def _operands(self, touched: _Touched, row: IntArray) -> None:
        """Where the operands of each command are, and those in memories to which places matter."""
        ends = firsts(np.bincount(row, minlength=len(self._at)))
        placed = np.flatnonzero(touched.granule > 1)
        places = firsts(np.bincount(row[placed], minlength=len(self._at)))
        self._places = np.stack((placed, touched.granule[placed]), axis=1)
        cells, rows = self._cells.of, self._rows
        cells[rows, k.OPERANDS], cells[rows, k.OPERANDS_END] = ends[:-1], ends[1:]
        cells[rows, k.PLACES], cells[rows, k.PLACES_END] = places[:-1], places[1:]

    def _sorts(self, touched: _Touched, row: IntArray) -> None:
        """A number for all commands that are of one kind, as of ``plans.EnginePlans``."""
        columns, at = self._columns, self._at
        family = numbered([facts.family if facts is not None else "" for facts in self._facts])[columns.queue[at]]
        setup = [command.nbytes if command.op == "SETUP" else 0 for command in columns.commands]
        plain = [columns.stated("op"), columns.stated("passes"), columns.stated("combine"), columns.reads]
        plain += [numbered(setup), *map(columns.shared, ("nest", "dtypes", "slow", "extents", "guards"))]
        operand, kind = touched.operand, touched.kind
        parts = [numbered(map(attrgetter("operand"), columns.regions))]
        parts += [numbered(map(attrgetter("element_bytes"), columns.regions))]
        parts += [self._part("strides"), self._part("clips")]
        items = Items(firsts(np.bincount(row, minlength=len(at))), [kind, *(part[operand] for part in parts)])
        chosen, which = alike([family, *(column[at] for column in plain)], [items])
        sorts = [self._sort(int(number), items, kind) for number in chosen]
        self._cells.of[self._rows, k.SORT] = numbered(zip(family[chosen].tolist(), sorts, strict=True))[which]

    def _sort(self, number: int, items: Items, kinds: IntArray) -> tuple[object, ...]:
        """Equal for commands of one kind that one family of engines runs."""
        command = self._columns.commands[self._at[number]]
        kind = kinds[items.first[number] : items.first[number + 1]].tolist()
        operands = []
        for region, of in zip(command.reads + command.writes, kind, strict=True):
            bounds = tuple([(clip.dim, clip.length) for clip in region.clips])
            operands.append((region.operand, of, region.element_bytes, region.strides, bounds))
        nbytes = command.nbytes if command.op == "SETUP" else 0
        dims = tuple([extent.dim for extent in command.extents])
        stated = command.op, command.passes, command.combine, len(command.reads), nbytes
        guards = tuple([(guard.terms, guard.length) for guard in counting_guards(command)])
        return *stated, tuple(operands), command.nest, command.dtypes, command.slow, dims, guards

    def _check_keys(self) -> None:
        """Refuse commands whose plans follow from too much."""
        cells = self._cells.of[self._rows]
        extents, clips, places = (
            cells[:, end] - cells[:, begin]
            for begin, end in ((k.EXTENTS, k.EXTENTS_END), (k.CLIPS, k.CLIPS_END), (k.PLACES, k.PLACES_END))
        )
        if (extents + 2 * clips + places + 3 > k.KEY_WIDTH).any():
            raise UnsuitedError("a command has too many extents, clips and places")


class _Touched:
    """Stores as queues touch them, for each ``operand``: its ``site``, the ``kind`` of the store and the ``granule`` of
    its memory. A site is a store that a queue touches.
    """

    def __init__(self, columns: ProgramColumns, facts: Sequence[QueueFacts | None], operand: IntArray) -> None:
        self._columns, self._facts, self.operand = columns, facts, operand
        store, queue = columns.store[operand], columns.queue[columns.operator[operand]]
        if (store == UNKNOWN).any():
            raise UnsuitedError("a store is not declared")
        self._queues = max(1, len(facts))
        self._pairs, self.site = np.unique(store * self._queues + queue, return_inverse=True)
        self._store, self._queue = self._pairs // self._queues, self._pairs % self._queues
        memories = list(map(attrgetter("memory"), columns.items))
        self._names = list(dict.fromkeys(memories))
        memory = numbered(memories)[self._store]
        self.kind = self._kinds(memory)[self.site]
        self.granule = self._granules(memory)[self.site]

    def _kinds(self, memory: IntArray) -> IntArray:
        """Of each site a number: equal for stores of one role and format in memories that cores call the same."""
        cores = np.array([_core(core_of(name)) for name in self._names], dtype=np.int64)
        owners = np.array([_core(each.core if each is not None else None) for each in self._facts], dtype=np.int64)
        own = (owners[self._queue] >= 0) & (cores[memory] == owners[self._queue])
        called = numbered([part_of(name) + OWN for name in self._names] + self._names)
        sorts = numbered([(item.role, item.dtype) for item in self._columns.items])
        return alike([called[np.where(own, memory, memory + len(self._names))], sorts[self._store]])[1]

    def _granules(self, memory: IntArray) -> IntArray:
        pairs, which = np.unique(memory * self._queues + self._queue, return_inverse=True)
        found = []
        for pair in pairs.tolist():
            facts = self._facts[pair % self._queues]
            found.append(facts.granule(self._names[pair // self._queues]) if facts is not None else 1)
        return np.array(found, dtype=np.int64)[which]

    def sites(self, tokens: TokenTables, tapes: Callable[[Ring], Sequence[int]]) -> tuple[IntArray, IntArray]:
        """Rows of SITES, and of TAPES: where slots of rings with halos begin."""
        items, tensors = self._columns.items, len(self._columns.program.tensors)
        base = _stated(map(attrgetter("base"), items), len(items))[self._store]
        nothing = np.zeros_like(base)
        rows = np.stack((base, nothing, nothing + 1, nothing + k.NONE, nothing + k.NONE, nothing), axis=1)
        on = np.flatnonzero(self._store >= tensors)
        ring, rings = self._store[on] - tensors, self._columns.program.rings
        names = ("slot_bytes", "slots", "retain", "size_bytes")
        wide, slots, retain, size = (_stated(map(attrgetter(name), rings), len(rings))[ring] for name in names)
        rows[on, 1], rows[on, 2], rows[on, 5] = wide, slots, size
        rows[on, 3] = tokens.slots(ring, self._queue[on])
        begins: list[int] = []
        known: dict[int, int] = {}
        for row, number in zip(on[retain != 0].tolist(), ring[retain != 0].tolist(), strict=True):
            if number not in known:
                known[number] = len(begins)
                begins += tapes(rings[number])
            rows[row, 4] = known[number]
        return rows, np.array(begins, dtype=np.int64).reshape(-1, 1)


def _core(core: int | None) -> int:
    return -1 if core is None else core


def _stated(numbers: Iterable[int], count: int) -> IntArray:
    return np.fromiter(numbers, np.int64, count)
