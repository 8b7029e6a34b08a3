"""The text of a Program in columns: its commands in order, their tokens and operands by number.

A token, a store or a queue is found by its name once, when the columns are made; whoever asks many commands the same
thing asks the columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import chain, repeat
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from archsim.base.arrays import IntArray
from archsim.base.ragged import Items, alike, firsts
from archsim.ir.program import Command, CommandLoop, PlacedTensor, Program, ProgramNode, Region, Ring, Token, When
from archsim.ir.unroll import count_runs

UNKNOWN = -1  # number of a name that is not declared

_SHARED = ("when", "extents", "nest", "fresh", "dtypes", "functions", "guards", "slow", "index")  # parts, as objects
_STATED = ("op", "passes", "flops", "nbytes", "fill", "combine", "retains")


class TokenColumns(NamedTuple):
    """What commands take, or give: command c the rows ``first[c]`` to ``first[c + 1]``; ``command`` of each row.

    ``token``: its number, UNKNOWN where it is not declared; ``when``: the number of its condition as an object, 0 for
    always; ``whens``: conditions by their number.
    """

    first: IntArray
    command: IntArray
    token: IntArray
    n: IntArray
    when: IntArray
    whens: Sequence[When]


class LoopAt(NamedTuple):
    """A loop of queue number ``queue``, and the number of the first command behind its begin."""

    queue: int
    at: int
    loop: CommandLoop


class ProgramColumns:
    """The columns of a Program. ``commands`` of all queues, one queue's after those of another; ``first``: of each
    queue, and the end of the last one. ``inside``: the number of the loops around each command; ``nests``: of these by
    number, variable and trips of each. ``loops``: all of them.

    Ring number r has the tokens 2r (free) and 2r + 1 (full); semaphores follow. Stores are tensors, then rings.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.commands: list[Command] = []
        self.loops: list[LoopAt] = []
        self._paths: dict[tuple[tuple[str, int], ...], int] = {}
        inside: list[int] = []
        sizes = []
        for queue, each in enumerate(program.queues):
            before = len(self.commands)
            self._walk(queue, each.body, (), inside)
            sizes.append(len(self.commands) - before)
        self.nests = list(self._paths)
        self.inside = np.array(inside, dtype=np.int64)
        self.first = firsts(np.array(sizes, dtype=np.int64))
        self.queue = np.repeat(np.arange(len(sizes)), sizes)
        self.queues = {queue.name: number for number, queue in enumerate(program.queues)}
        self.items: list[PlacedTensor | Ring] = [*program.tensors, *program.rings]
        self.token_count = 2 * len(program.rings) + len(program.semaphores)

    def forget(self, *names: str) -> None:
        """Let go of what is worked out again when it is asked for: of what has one of these ``names``, else of all."""
        for name, found in vars(type(self)).items():
            if isinstance(found, cached_property) and (not names or name in names):
                self.__dict__.pop(name, None)

    @cached_property
    def stores(self) -> dict[str, int]:
        """The numbers of stores by name."""
        return {item.name: number for number, item in enumerate(self.items)}

    @cached_property
    def tokens(self) -> dict[str, int]:
        """The numbers of tokens by name."""
        names = [f"{ring.name}.{kind}" for ring in self.program.rings for kind in ("free", "full")]
        names += [semaphore.name for semaphore in self.program.semaphores]
        return {name: number for number, name in enumerate(names)}

    def _walk(
        self, queue: int, body: Sequence[ProgramNode], around: tuple[tuple[str, int], ...], inside: list[int]
    ) -> None:
        path = self._paths.setdefault(around, len(self._paths))
        for node in body:
            if isinstance(node, CommandLoop):
                self.loops.append(LoopAt(queue, len(self.commands), node))
                self._walk(queue, node.body, (*around, (node.var, node.trips)), inside)
            else:
                self.commands.append(node)
                inside.append(path)

    @cached_property
    def variables(self) -> list[tuple[str, ...]]:
        """The variables of loops, by the number of these."""
        return [tuple([var for var, _ in loops]) for loops in self.nests]

    @cached_property
    def runs(self) -> IntArray:
        """How often each command runs."""
        chosen, kind = alike([self.inside, self.shared("when")])
        counts = [count_runs(self.commands[at].when, dict(self.nests[self.inside[at]])) for at in chosen.tolist()]
        return np.array(counts, dtype=np.int64)[kind]

    def stated(self, name: str) -> IntArray:
        """Numbers of what commands state under ``name``; equal ones have equal numbers."""
        return numbered(map(attrgetter(name), self.commands))

    def shared(self, name: str) -> IntArray:
        """Marks of the part ``name`` of commands, as an object."""
        return identities(map(attrgetter(name), self.commands), len(self.commands))

    @cached_property
    def waits(self) -> TokenColumns:
        """What commands take."""
        return self._tokens([command.waits for command in self.commands])

    @cached_property
    def signals(self) -> TokenColumns:
        """What commands give."""
        return self._tokens([command.signals for command in self.commands])

    def _tokens(self, given: Sequence[Sequence[Token]]) -> TokenColumns:
        sizes = np.fromiter(map(len, given), np.int64, len(given))
        tokens = list(chain.from_iterable(given))
        number = self._found(self.tokens, map(attrgetter("name"), tokens), len(tokens))
        whens = [token.when for token in tokens]
        known: dict[int, int] = {}
        objects: list[When] = [()]
        for mark, when in {id(when): when for when in whens}.items():
            known[mark] = len(objects) if when else 0
            objects += [when] if when else ()
        number_of = np.fromiter(map(known.__getitem__, map(id, whens)), np.int64, len(whens))
        n = np.fromiter(map(attrgetter("n"), tokens), np.int64, len(tokens))
        command = np.repeat(np.arange(len(given)), sizes)
        return TokenColumns(firsts(sizes), command, number, n, number_of, objects)

    @staticmethod
    def _found(numbers: dict[str, int], names: Iterable[str], count: int) -> IntArray:
        return np.fromiter(map(numbers.get, names, repeat(UNKNOWN)), np.int64, count)

    @cached_property
    def reads(self) -> IntArray:
        """How many operands each command reads."""
        return np.fromiter(map(len, map(attrgetter("reads"), self.commands)), np.int64, len(self.commands))

    @cached_property
    def regions(self) -> list[Region]:
        """Operands of all commands, what each reads before what it writes."""
        return list(chain.from_iterable([command.reads + command.writes for command in self.commands]))

    @cached_property
    def operands(self) -> IntArray:
        """The first operand of each command, and the end of the last one's."""
        writes = np.fromiter(map(len, map(attrgetter("writes"), self.commands)), np.int64, len(self.commands))
        return firsts(self.reads + writes)

    @cached_property
    def operator(self) -> IntArray:
        """The command of each operand."""
        return np.repeat(np.arange(len(self.commands)), np.diff(self.operands))

    @cached_property
    def writes(self) -> IntArray:
        """Of each operand 1 where it is written, else 0."""
        place = np.arange(len(self.operator)) - self.operands[self.operator]
        return (place >= self.reads[self.operator]).astype(np.int64)

    @cached_property
    def store(self) -> IntArray:
        """The number of the store of each operand, UNKNOWN where it is not declared."""
        return self._found(self.stores, map(attrgetter("store"), self.regions), len(self.regions))

    @cached_property
    def offset(self) -> IntArray:
        """The constant offset of each operand in its store, in bytes."""
        return np.fromiter(map(attrgetter("offset.const"), self.regions), np.int64, len(self.regions))

    @cached_property
    def shape(self) -> tuple[IntArray, IntArray]:
        """The first command of each shape, and the shape of each command.

        Commands of one shape are alike but for name, layer, role, tokens, stores and where in these their operands
        begin. Cores that run the same share the parts of their commands as objects, so that these tell a shape.
        """
        regions, count = self.regions, len(self.regions)
        columns = [*map(self.shared, _SHARED), *map(self.stated, _STATED), self.reads]
        offsets = map(attrgetter("offset.terms"), regions)
        parts: list[IntArray] = [
            numbered(map(attrgetter("operand"), regions)),
            numbered(map(attrgetter("element_bytes"), regions)),
            identities(map(attrgetter("strides"), regions), count),
            identities(map(attrgetter("clips"), regions), count),
            identities(offsets, count),
        ]
        return alike(columns, [Items(self.operands, parts)])

    def conditions(self) -> list[Items]:
        """The conditions of the tokens of each command, of those that have any."""
        found = []
        for tokens in (self.waits, self.signals):
            rows = np.flatnonzero(tokens.when)
            sizes = np.bincount(tokens.command[rows], minlength=len(self.commands))
            found.append(Items(firsts(sizes), [tokens.when[rows]]))
        return found


def numbered(values: Iterable[Hashable]) -> IntArray:
    """A number for each value, equal for equal ones."""
    listed = list(values)
    known = {value: number for number, value in enumerate(dict.fromkeys(listed))}
    return np.fromiter(map(known.__getitem__, listed), np.int64, len(listed))


def identities(objects: Iterable[Any], count: int) -> IntArray:
    """A number for each of ``count`` objects, which live as long as it is used: equal for one object."""
    return np.fromiter(map(id, objects), np.int64, count)
