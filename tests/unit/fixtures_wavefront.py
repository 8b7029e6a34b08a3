"""A systolic array stepped PE by PE and cycle by cycle, to check closed formulas against.

The model knows no formula: values hop one PE per cycle, a controller at PE (0, 0) starts the next load or
fold as soon as that PE is free (with overlap) or the array is empty (without), and sums are real, so a
start that is too early for any PE shows in them. Counts are tallied where things happen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from math import ceil, floor

from archsim.facts.dataflows.fold import ArrayShape

Place = tuple[int, int]
Values = tuple[int, ...]


@dataclass(frozen=True)
class Token:
    """One cycle of one step of one fold; ``first`` and ``last`` cycle of the step, of the fold."""

    job: int
    step: int
    first: bool
    last: bool


@dataclass
class Machine(ABC):
    """Controller and skewed registers; subclasses say what a PE does with a token."""

    array: ArrayShape
    loads: bool
    jobs: int = 0
    steps: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    sums: dict[tuple[int, int, int], int] = field(default_factory=dict)  # the accumulators outside

    def run(self) -> int:
        """Step until every fold has left; returns the number of cycles."""
        rows, cols = self.array.rows, self.array.cols
        self.tokens: list[list[Token | None]] = [[None] * cols for _ in range(rows)]
        self.edge: list[Token | None] = [None] * rows  # delay lines at the left edge
        self.pushes: list[Place | None] = [None] * cols  # per column: (job, row the value is for)
        self.issue: list[Token] = []
        self.load: list[Place] = []
        self.free_of: list[int] = []  # job -> first cycle in which PE (0, 0) is done with it
        self.loads_begun = self.loads_done = self.cycle = 0
        while len(self.free_of) < self.jobs or self.issue or self.occupied():
            self.control()
            self.edge = [self.issue.pop(0) if self.issue else None, *self.edge[: rows - 1]]
            self.tokens = [[self.edge[r], *self.tokens[r][: cols - 1]] for r in range(rows)]
            self.pushes = [self.load.pop(0) if self.load else None, *self.pushes[: cols - 1]]
            self.step_pes()
            self.loads_done = self.loads_begun - bool(self.load)  # column 0, at the end of this cycle
            self.cycle += 1
        return self.cycle

    def control(self) -> None:
        """Begin a load or a fold in this cycle, if what PE (0, 0) sees allows it."""
        start = len(self.free_of)
        may = not self.issue and (self.array.fold_overlap or not self.occupied())
        registers = 2 if self.array.weight_double_buffer else 1
        user = self.loads_begun - registers  # the fold whose value lies in the register to fill
        free = user < 0 or (user < start and self.free_of[user] <= self.cycle)
        if self.loads and not self.load and self.loads_begun < self.jobs and free and (may or registers == 2):
            self.load = [(self.loads_begun, row) for row in reversed(range(self.array.rows))]
            self.loads_begun += 1
        if may and start < self.jobs and (self.loads_done > start or not self.loads):
            self.issue = self.tokens_of(start)
            self.free_of.append(self.cycle + len(self.issue))

    def occupied(self) -> bool:
        """A token is in some PE in this cycle even if none is issued."""
        inside = (token for row in self.tokens for token in row[: self.array.cols - 1])
        return any(self.edge[: self.array.rows - 1]) or any(inside)

    def tokens_of(self, job: int) -> list[Token]:
        """One token for each cycle that PE (0, 0) spends on the fold."""
        pace = self.array.rate / self.array.pack  # steps per cycle
        steps = [floor(cycle * pace) for cycle in range(ceil(self.steps / pace))]
        return [Token(job, s, i == 0 or steps[i - 1] != s, i == len(steps) - 1) for i, s in enumerate(steps)]

    def step_pes(self) -> None:
        """One cycle of every PE, then of the load chains."""
        places = [(r, c) for r in range(self.array.rows) for c in range(self.array.cols)]
        self.pes([(token, r, c) for r, c in places if (token := self.tokens[r][c]) is not None])
        for col, push in enumerate(self.pushes):
            if push is not None:
                self.shift(col, *push)

    @abstractmethod
    def pes(self, work: list[tuple[Token, int, int]]) -> None:
        """One cycle of the PEs that have a token."""

    @abstractmethod
    def shift(self, col: int, job: int, for_row: int) -> None:
        """One cycle of a column's load chain."""


@dataclass
class HeldMachine(Machine):
    """A stationary and a moving operand, sums that shift down."""

    held: list[dict[Place, Values]] = field(default_factory=list)  # job -> (row, col) -> values
    moving: list[dict[Place, Values]] = field(default_factory=list)  # job -> (step, row) -> values
    place: list[tuple[int, int, bool]] = field(default_factory=list)  # job -> batch, first column, no old sum
    banks: tuple[dict[Place, tuple[int, Values]], ...] = field(default_factory=lambda: ({}, {}))
    passing: dict[Place, tuple[Token, int]] = field(default_factory=dict)  # sums of the cycle before

    def pes(self, work: list[tuple[Token, int, int]]) -> None:
        before, self.passing = self.passing, {}
        for token, row, col in work:
            if (row, col) in self.held[token.job]:
                self.multiply(token, row, col, before)

    def multiply(self, token: Token, row: int, col: int, before: dict[Place, tuple[Token, int]]) -> None:
        tag, held = self.bank(token.job)[row, col]
        assert tag == token.job, "a stationary value was overwritten too early"
        batch, first_col, fresh = self.place[token.job]
        key = (batch, token.step, first_col + col)
        if (row - 1, col) in self.held[token.job]:
            source, value = before[row - 1, col]
            assert (source.job, source.step) == (token.job, token.step)
        else:
            value = 0 if fresh else self.sums[key]
            self.counts["acc_read"] += token.first and not fresh
        moving = self.moving[token.job][token.step, row]
        value += sum(a * b for a, b in zip(held, moving, strict=True))
        self.passing[row, col] = (token, value)
        if token.first:
            size = len(held)
            self.counts.update({"mac": size, "moving.shift": size, "held.read": size, "acc.shift": 1})
            self.counts["moving.edge"] += size if col == 0 else 0
        if token.first and row == self.array.rows - 1:
            self.sums[key] = value
            self.counts["acc_write"] += 1

    def bank(self, job: int) -> dict[Place, tuple[int, Values]]:
        """The registers that hold the values of ``job``: (row, col) -> (job, values)."""
        return self.banks[job % 2 if self.array.weight_double_buffer else 0]

    def shift(self, col: int, job: int, for_row: int) -> None:
        """Push one value in at the top of a column; a register changes when a value of this load arrives."""
        bank = self.bank(job)
        arriving = {0: (job, self.held[job].get((for_row, col), ()))}
        for row in range(1, self.array.rows):
            if (above := bank.get((row - 1, col))) is not None and above[0] == job:
                arriving[row] = above
        for row, entry in arriving.items():
            bank[row, col] = entry
            self.counts["held.write"] += len(entry[1])
            self.counts["held.edge" if row == 0 else "held.read"] += len(entry[1])


@dataclass
class SumMachine(Machine):
    """Sums stay; factors come from the left by (step, row) and from the top by (step, col)."""

    left: list[dict[Place, Values]] = field(default_factory=list)
    top: list[dict[Place, Values]] = field(default_factory=list)
    place: list[tuple[int, int, int]] = field(default_factory=list)  # job -> batch, first row, first column
    accumulate: bool = False
    inside: dict[Place, int] = field(default_factory=dict)  # (row, col) -> the sum in that PE

    def shift(self, col: int, job: int, for_row: int) -> None:
        raise AssertionError("nothing is loaded into this machine")

    def pes(self, work: list[tuple[Token, int, int]]) -> None:
        for token, row, col in work:
            if (0, row) in self.left[token.job] and (0, col) in self.top[token.job]:
                self.multiply(token, row, col)

    def multiply(self, token: Token, row: int, col: int) -> None:
        batch, first_row, first_col = self.place[token.job]
        key = (batch, first_row + row, first_col + col)
        way = self.array.rows - row
        if token.first and token.step == 0:
            assert (row, col) not in self.inside, "two folds in one sum"
            self.inside[row, col] = self.sums[key] if self.accumulate else 0
            entry = {"acc_read": 1, "acc.write": 1, "acc.read": 1, "acc.hops": way}
            self.counts.update(entry if self.accumulate else {})
        if token.first:
            left, top = self.left[token.job][token.step, row], self.top[token.job][token.step, col]
            self.inside[row, col] += sum(a * b for a, b in zip(left, top, strict=True))
            self.counts.update({"mac": len(left), "acc.write": 1, "acc.read": int(token.step > 0)})
            self.counts["left.edge"] += len(left) if col == 0 else 0
            self.counts["top.edge"] += len(top) if row == 0 else 0
        if token.last:
            self.sums[key] = self.inside.pop((row, col))
            self.counts.update({"acc_write": 1, "acc.read": 1, "acc.hops": way})
