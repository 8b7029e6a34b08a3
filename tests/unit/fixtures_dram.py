"""A second implementation of the open_row DRAM, written from the rules of the model alone, burst by burst.

It knows all submissions in advance, keeps whole lists and looks back over every command issued, so it shares neither
data structures nor shortcuts with the kernel. Its list of commands can be checked against each timing constraint.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field

from archsim.memory.dram.interface import Completion, Transfer
from archsim.memory.dram.timing import DramTiming

NAMES = ("burst", "rcd", "rp", "ras", "rtp", "cl", "cwl", "wr", "wtr", "rtw", "rrd", "faw", "rfc", "refi")
PAST = -(10**9)


@dataclass
class Job:
    """A transfer with the results that build up."""

    transfer: Transfer
    visible: int
    beats: list[tuple[int, int]] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=lambda: defaultdict(int))


@dataclass(frozen=True)
class Command:
    """A command on one channel: activate, precharge, read, write or refresh."""

    kind: str
    cycle: int
    bank: int
    row: int


class Reference:
    """All channels of an open-row DRAM, given every submission beforehand."""

    def __init__(self, timing: DramTiming, interleave_bytes: int, window: int, turn: int) -> None:
        self.timing = timing
        self.cycles = {name: timing.cycles(getattr(timing, f"t_{name}_ps")) for name in NAMES}
        self.interleave_bytes, self.window, self.turn = interleave_bytes, window, turn
        self.commands: dict[int, list[Command]] = {}

    def run(self, submissions: list[tuple[int, list[Transfer]]]) -> list[Completion]:
        jobs = []
        for at_ps, transfers in submissions:
            visible = next(n for n in itertools.count(at_ps * self.timing.clock_hz // 10**12) if self.ps(n) > at_ps)
            jobs += [Job(transfer, visible) for transfer in transfers]
        for channel in range(self.timing.channels):
            ReferenceChannel(self, channel).run(jobs)
        ends = [(max((end for _, end in job.beats), default=job.visible), n) for n, job in enumerate(jobs)]
        return [self.completion(jobs[n]) for _, n in sorted(ends)]

    def ps(self, cycle: int) -> int:
        return cycle * 10**12 // self.timing.clock_hz

    def completion(self, job: Job) -> Completion:
        transfer = job.transfer
        useful = transfer.run_bytes
        for extent in transfer.extents:
            useful *= extent
        return Completion(
            id=transfer.id,
            time_ps=self.ps(max((end for _, end in job.beats), default=job.visible)),
            first_beat_ps=self.ps(min((start for start, _ in job.beats), default=job.visible)),
            write=transfer.write,
            useful_bytes=useful,
            pin_bytes=len(job.beats) * self.timing.burst_bytes,
            row_hits=job.rows["hit"],
            row_misses=job.rows["closed"],
            row_conflicts=job.rows["conflict"],
        )

    def granules(self, transfer: Transfer) -> list[int]:
        """All granules in order, the last of one run not repeated as the first of the next."""
        result: list[int] = []
        previous = None
        if transfer.run_bytes == 0:
            return result
        for index in itertools.product(*(range(extent) for extent in transfer.extents)):
            start = transfer.address + sum(i * s for i, s in zip(index, transfer.strides, strict=True))
            last = (start + transfer.run_bytes - 1) // self.timing.burst_bytes
            run = list(range(start // self.timing.burst_bytes, last + 1))
            result += run[1:] if run[0] == previous else run
            previous = last
        return result

    def locate(self, granule: int) -> tuple[int, int, int]:
        """Channel, bank and row of a granule."""
        per_block = self.interleave_bytes // self.timing.burst_bytes
        block, offset = divmod(granule, per_block)
        local = block // self.timing.channels * per_block + offset
        page = local // (self.timing.row_bytes // self.timing.burst_bytes)
        return block % self.timing.channels, page % self.timing.banks, page // self.timing.banks


class ReferenceChannel:
    """One channel; looks up in its list of past commands what each new command must wait for."""

    def __init__(self, dram: Reference, number: int) -> None:
        self.dram, self.number, self.t = dram, number, dram.cycles
        self.log: list[Command] = dram.commands.setdefault(number, [])
        self.columns: list[int] = []
        self.row: dict[int, int] = {}
        self.refresh_end = 0
        self.refreshes = 0
        self.data_free = 0

    def run(self, jobs: list[Job]) -> None:
        waiting = []
        for job in jobs:
            places = [self.dram.locate(granule) for granule in self.dram.granules(job.transfer)]
            mine = [(bank, row) for channel, bank, row in places if channel == self.number]
            if mine:
                waiting.append((job, mine))
        ready: list[tuple[Job, list[tuple[int, int]]]] = []
        now = taken = 0
        while waiting or ready:
            if not ready:
                now = max(now, waiting[0][0].visible)
            if len(self.columns) >= self.dram.window:
                now = max(now, self.columns[-self.dram.window])
            while waiting and waiting[0][0].visible <= now:
                ready.append(waiting.pop(0))
            if taken == self.dram.turn:
                ready.append(ready.pop(0))
                taken = 0
            job, mine = ready[0]
            self.burst(job, *mine.pop(0), now)
            taken += 1
            if not mine:
                ready.pop(0)
                taken = 0

    def burst(self, job: Job, bank: int, row: int, now: int) -> None:
        commands = self.plan(job.transfer.write, bank, row, now)
        while self.t["refi"] and commands[-1].cycle >= (self.refreshes + 1) * self.t["refi"]:
            self.refresh()
            commands = self.plan(job.transfer.write, bank, row, now)
        job.rows[{1: "hit", 2: "closed", 3: "conflict"}[len(commands)]] += 1
        self.log += commands
        self.row[bank] = row
        column = commands[-1].cycle
        self.columns.append(column)
        start = column + self.t["cwl" if job.transfer.write else "cl"]
        self.data_free = start + self.t["burst"]
        job.beats.append((start, self.data_free))

    def plan(self, write: bool, bank: int, row: int, now: int) -> list[Command]:
        """Precharge and activate where needed, then the column command."""
        t, commands = self.t, []
        if self.row.get(bank) == row:
            opened = self.last("activate", bank)
        else:
            at = max(now, self.refresh_end)
            if bank in self.row:
                precharge = max(now, self.closable(bank))
                commands.append(Command("precharge", precharge, bank, -1))
                at = max(at, precharge + t["rp"])
            ranks = self.dram.timing.ranks
            rank = [c.cycle for c in self.log if c.kind == "activate" and c.bank % ranks == bank % ranks]
            at = max([at, *(c + t["rrd"] for c in rank[-1:]), *(c + t["faw"] for c in rank[-4:-3])])
            commands.append(Command("activate", at, bank, row))
            opened = at
        column = max(now, opened + t["rcd"])
        if write:
            column = max(column, self.data_free - t["cwl"], self.last("read") + t["rtw"])
        else:
            column = max(column, self.data_free - t["cl"], self.last("write") + t["cwl"] + t["burst"] + t["wtr"])
        return [*commands, Command("write" if write else "read", column, bank, row)]

    def closable(self, bank: int) -> int:
        """Earliest precharge of an open bank, by its own last commands."""
        t = self.t
        write_end = self.last("write", bank) + t["cwl"] + t["burst"]
        return max(self.last("activate", bank) + t["ras"], self.last("read", bank) + t["rtp"], write_end + t["wr"])

    def refresh(self) -> None:
        self.refreshes += 1
        start = due = self.refreshes * self.t["refi"]
        if self.row:
            precharge = max([due, *(self.closable(bank) for bank in self.row)])
            self.log += [Command("precharge", precharge, bank, -1) for bank in sorted(self.row)]
            start = precharge + self.t["rp"]
        self.log.append(Command("refresh", start, -1, -1))
        self.row.clear()
        self.refresh_end = start + self.t["rfc"]

    def last(self, kind: str, bank: int | None = None) -> int:
        found = (c.cycle for c in reversed(self.log) if c.kind == kind and bank in (None, c.bank))
        return next(found, PAST)


def check_constraints(log: list[Command], t: dict[str, int], ranks: int) -> None:
    """Law 26: no command comes earlier after another than its constraint allows, on one channel."""
    by_kind = {
        kind: [c for c in log if c.kind == kind] for kind in ("activate", "precharge", "read", "write", "refresh")
    }
    columns = sorted(by_kind["read"] + by_kind["write"], key=lambda c: c.cycle)
    for first, then in itertools.pairwise(columns):
        starts = [c.cycle + t["cwl" if c.kind == "write" else "cl"] for c in (first, then)]
        assert starts[1] - starts[0] >= t["burst"]
        if (first.kind, then.kind) == ("read", "write"):
            assert then.cycle - first.cycle >= t["rtw"]
        if (first.kind, then.kind) == ("write", "read"):
            assert then.cycle - (starts[0] + t["burst"]) >= t["wtr"]
    for rank in range(ranks):
        activates = sorted(c.cycle for c in by_kind["activate"] if c.bank % ranks == rank)
        assert all(b - a >= t["rrd"] for a, b in itertools.pairwise(activates))
        assert all(b - a >= t["faw"] for a, b in zip(activates, activates[4:], strict=False))
    for bank in sorted({c.bank for c in by_kind["activate"]}):
        check_bank(sorted((c for c in log if c.bank in (bank, -1)), key=lambda c: c.cycle), t)


def check_bank(log: list[Command], t: dict[str, int]) -> None:
    row, opened, closed, refreshed, read, written = -1, PAST, PAST, PAST, PAST, PAST
    for command in log:
        if command.kind == "activate":
            assert row == -1 and command.cycle >= closed + t["rp"] and command.cycle >= refreshed + t["rfc"]
            row, opened, read, written = command.row, command.cycle, PAST, PAST
        elif command.kind == "precharge":
            assert row != -1 and command.cycle >= opened + t["ras"] and command.cycle >= read + t["rtp"]
            assert command.cycle >= written + t["wr"]
            row, closed = -1, command.cycle
        elif command.kind == "refresh":
            assert row == -1 and command.cycle >= closed + t["rp"] and command.cycle >= refreshed + t["rfc"]
            refreshed = command.cycle
        else:
            assert row == command.row and command.cycle >= opened + t["rcd"]
            read = command.cycle if command.kind == "read" else read
            written = command.cycle + t["cwl"] + t["burst"] if command.kind == "write" else written
