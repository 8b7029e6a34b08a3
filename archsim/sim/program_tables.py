"""A Program as tables of the compiled machine: its loops and commands, its tokens, and where its operands lie.

What is asked of every command is asked of columns. Commands of cores that do alike share the parts of their text as
objects, so what is made of a part is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from archsim.base.arrays import IntArray
from archsim.base.ragged import firsts
from archsim.ir.activity import charged_to
from archsim.ir.columns import ProgramColumns, numbered
from archsim.ir.program import Command, CommandLoop, ProgramNode, Queue, Ring
from archsim.ir.records import CommandText
from archsim.sim.clock import ClockDomain
from archsim.sim.compiled import layout as k
from archsim.sim.given_up import UnsuitedError
from archsim.sim.plan_texts import CommandCells, PlanTexts, QueueFacts
from archsim.sim.token_tables import TokenTables


@dataclass
class ProgramTables:
    """Rows of the tables of a Program, by name. ``commands``: the command of each row; ``texts``: of each queue what
    records say of its commands; ``runs``: concrete commands of all queues. ``others``: the clocks of queues that others
    run. Most columns are let go of behind that.
    """

    columns: ProgramColumns
    facts: Mapping[str, QueueFacts]
    tapes: Callable[[Ring], Sequence[int]]
    others: Mapping[str, ClockDomain] = field(default_factory=dict)
    rows: dict[str, Any] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)
    texts: list[list[CommandText]] = field(default_factory=list)
    layers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program = self.columns.program
        queues = self.program.queues
        self.queues = [queue for queue in queues if queue.name in self.facts]
        self.numbers = {queue.name: number for number, queue in enumerate(self.queues)}
        ranks = {name: rank for rank, name in enumerate(sorted(queue.name for queue in queues))}
        self.units, self.ranks = [queue.name for queue in queues], ranks
        self.clocks: dict[tuple[int, int], int] = {}
        self.depth, self._seen = 1, 0
        self.rows = {"CLOCKS": [], "QUEUES": [], "NODES": []}
        for queue in self.queues:
            self._add_queue(queue)
        self._tokens = self._add_commands(self.columns)
        own = np.array([queue.name in self.facts for queue in queues], dtype=np.bool_)
        self.runs = int(self.columns.runs[own[self.columns.queue]].sum())
        self._variables = self.columns.variables
        self.columns.forget()

    def _add_commands(self, columns: ProgramColumns) -> TokenTables:
        """The rows of all commands, and of what they are made of."""
        number = np.array([self.numbers.get(queue.name, k.NONE) for queue in self.program.queues], dtype=np.int64)
        facts = [self.facts.get(queue.name) for queue in self.program.queues]
        clocks = {**self.others, **{name: each.clock for name, each in self.facts.items()}}
        of_queues = [clocks.get(queue.name) for queue in self.program.queues]
        tokens = TokenTables(columns, number, of_queues, self.clock)
        at = np.flatnonzero(number[columns.queue] >= 0)
        cells = CommandCells(columns, at)
        self.commands = listed = [columns.commands[row] for row in at.tolist()]
        queue = number[columns.queue[at]]
        self._inside = columns.inside[at]
        texts = _texts(listed)
        ends = firsts(np.bincount(queue, minlength=len(self.queues)))
        self.texts = [texts[ends[row] : ends[row + 1]] for row in range(len(self.queues))]
        accounts = [charged_to(command) for command in listed]
        self.layers = {account: rank for rank, account in enumerate(dict.fromkeys(accounts))}
        cells.of[:, k.LAYER] = numbered(accounts)
        cells.of[:, k.TEXT] = np.arange(len(at)) - ends[queue]
        for name, found in (("WAITS", tokens.waits), ("SIGNALS", tokens.signals)):
            self.rows[name], first = found(at, cells.token_bits)
            cells.span(k.WAITS if name == "WAITS" else k.SIGNALS, first[:-1], first[1:])
        self.rows |= tokens.rows | PlanTexts(cells, facts, tokens, self.tapes).rows
        tokens.rows.clear()
        self.rows["COMMANDS"] = cells.of
        spans = ((k.EXTENTS, k.EXTENTS_END, 1), (k.CLIPS, k.CLIPS_END, 2), (k.PLACES, k.PLACES_END, 1))
        widths = sum(times * (cells.of[:, end] - cells.of[:, begin]) for begin, end, times in spans)
        self.key_width = int(np.max(widths, initial=0)) + 3
        return tokens

    def variables(self, row: int) -> tuple[str, ...]:
        """The variables of the loops around a command."""
        return self._variables[int(self._inside[row])]

    def take(self, name: str) -> Any:
        """The rows of a table, which are let go of; but for those of clocks, of which more may come."""
        return self.rows[name] if name == "CLOCKS" else self.rows.pop(name)

    @property
    def outside(self) -> Mapping[tuple[str, str], int]:
        """Tokens that queues outside take, by taker and token: their sinks."""
        return self._tokens.outside

    @property
    def room_for_tokens(self) -> int:
        """Tokens that counters hold at most, all together."""
        return self._tokens.room

    @property
    def initial(self) -> tuple[IntArray, IntArray]:
        """Counters that have tokens at time 0, and how many."""
        return self._tokens.initial

    def counter(self, ring: int, queue: str) -> int:
        """The counter of the slots of a ring, by its number, that a queue takes."""
        taker = self.units.index(queue)
        return int(self._tokens.slots(np.array([ring]), np.array([taker]))[0])

    def sinks(self, token: str) -> list[tuple[int, int, str]]:
        """(kind, sink, who takes the tokens) of all that a signal of ``token`` by a queue outside raises."""
        return self._tokens.sinks(token)

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
        facts, first = self.facts[queue.name], len(self.rows["NODES"])
        for node in queue.body:
            self._add_node(node, 0)
        row = [0] * k.QUEUE_WIDTH
        row[k.PC], row[k.PC_END] = first, len(self.rows["NODES"])
        row[k.CORE], row[k.CLOCK] = facts.core or 0, self.clock(facts.clock)
        row[k.CURRENT], row[k.INDEX], row[k.UNIT_RANK] = k.NONE, -1, self.ranks[queue.name]
        self.rows["QUEUES"].append(tuple(row))

    def _add_node(self, node: ProgramNode, depth: int) -> None:
        nodes = self.rows["NODES"]
        if not isinstance(node, CommandLoop):
            nodes.append((k.COMMAND, 0, 0, self._seen))
            self._seen += 1
            return
        first = len(nodes)
        self.depth = max(self.depth, depth + 1)
        nodes.append(())
        for each in node.body:
            self._add_node(each, depth + 1)
        nodes[first] = k.LOOP, node.trips, depth, len(nodes)
        nodes.append((k.END, 0, 0, first))


def _texts(commands: Sequence[Command]) -> list[CommandText]:
    """What records say of each command: one object for equal ones."""
    known: dict[tuple[str, str, str, str], CommandText] = {}
    found = []
    for each in commands:
        key = each.name, each.op, each.layer, each.role
        text = known.get(key)
        if text is None:
            text = known[key] = CommandText(*key)
        found.append(text)
    return found
