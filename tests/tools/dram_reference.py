"""A second implementation of the machine's DRAM from its rules alone: it ticks every cycle of every channel.

It knows all submissions beforehand, keeps plain lists, looks back over every command that was issued, and shares
neither data structures nor shortcuts with the kernel.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramChannel, DramMemory
from archsim.memory.dram.interface import BurstAsker, Transfer, TransferCompletion

INTAKE = 8
Burst = tuple[int, int, int]  # number on the channel, request of the transfer (its row, or itself), itself in order
Place = tuple[int, int, int]  # bank of the channel, row, column


@dataclass(eq=False)
class Offers:
    """What an asker has offered: bursts of all of its transfers, and when they were taken in."""

    asker: BurstAsker
    total: int = 0
    taken: list[int] = field(default_factory=list)

    def offers(self, burst: int, now: int, hz: int) -> bool:
        """The next one in order, at an edge of the asker at or after so many before it were taken in."""
        early = burst - self.asker.requests
        if burst != len(self.taken) or early < 0:
            return burst == len(self.taken)
        taken_ps = self.taken[early] * 10**12 // hz
        edge = -(-taken_ps * self.asker.hz // 10**12)
        return edge * 10**12 // self.asker.hz < now * 10**12 // hz


@dataclass(eq=False)
class Job:
    """A transfer with the results that build up."""

    transfer: Transfer
    visible: int
    left: int = 0  # bursts that have not been issued, merged or served from a write
    beats: list[int] = field(default_factory=list)  # ends
    counted: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    order: int = 0
    at_ps: int = 0
    bursts: dict[int, int] = field(default_factory=lambda: defaultdict(int))  # of each request
    ends: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))  # of bursts, by request
    asked_ps: list[int] = field(default_factory=list)  # by request, as far as known
    retired: int = 0  # requests, in order
    offers: list[tuple[Offers, int]] = field(default_factory=list)  # with its bursts before those of this transfer

    def over(self, request: int, hz: int, at: int) -> int | None:
        """When all bursts of a request have ended, in ps, if that is known in cycle ``at``; 0 without bursts."""
        ends = self.ends[request]
        if len(ends) < self.bursts[request] or max(ends, default=0) > at:
            return None
        return max(ends, default=0) * 10**12 // hz

    def may_take(self, burst: Burst, now: int, hz: int) -> bool:
        """Whether a burst may be taken in now."""
        offered = [offers.offers(first + burst[2], now, hz) for offers, first in self.offers]
        return all(offered) and self.may_ask(burst[1], now, hz)

    def may_ask(self, request: int, now: int, hz: int) -> bool:
        """Whether a request may be taken in now."""
        limit = self.transfer.outstanding
        if self.transfer.rows is None:
            while limit is not None and self.retired <= request - limit:
                if self.over(self.retired, hz, now) is None:
                    return False
                self.retired += 1
            return True
        while len(self.asked_ps) <= request:
            number = len(self.asked_ps)
            ended = 0 if limit is None or number < limit else self.over(number - limit, hz, now)
            if ended is None:
                return False
            self.asked_ps.append(self.next_ask(ended))
        return self.asked_ps[request] < now * 10**12 // hz

    def next_ask(self, ended_ps: int) -> int:
        """The edge of the engine at which it asks for its next row."""
        rows = self.transfer.rows
        assert rows
        before = self.asked_ps[-1] if self.asked_ps else self.at_ps
        first, second = (-(-at_ps * rows.engine_hz // 10**12) for at_ps in (before, ended_ps))
        return max(first + rows.setup_cycles, second) * 10**12 // rows.engine_hz


@dataclass(eq=False)
class Access:
    """A burst in a queue."""

    job: Job
    burst: int
    request: int
    place: Place
    arrived: int
    counted: str = ""

    @property
    def write(self) -> bool:
        return self.job.transfer.write


class Reference:
    """All channels of a DRAM part."""

    def __init__(self, dram: DramMemory, policy: ControllerPolicy, mapping: AddressMap, interleave_bytes: int) -> None:
        self.dram, self.policy, self.mapping = dram, policy, mapping
        self.interleave = interleave_bytes // dram.device.burst_bytes

    def run(self, submissions: list[tuple[int, list[Transfer]]]) -> list[TransferCompletion]:
        """Completions by time, then in order of submission."""
        hz = self.dram.device.clock_hz
        jobs = []
        for at_ps, transfers in submissions:
            visible = at_ps * hz // 10**12
            while visible * 10**12 // hz <= at_ps:
                visible += 1
            jobs += [Job(transfer, visible, order=len(jobs) + n, at_ps=at_ps) for n, transfer in enumerate(transfers)]
        self.ticked = 0
        self.channels = [ReferenceChannel(self, number) for number in range(self.dram.channels)]
        askers: dict[BurstAsker, Offers] = {}
        for job in jobs:
            for channel in self.channels:
                channel.expect(job)
            for asker in job.transfer.askers:
                offers = askers.setdefault(asker, Offers(asker))
                job.offers.append((offers, offers.total))
                offers.total += job.left
        while any(job.left for job in jobs):
            self.tick()
        ends = [(max(job.beats, default=job.visible), n) for n, job in enumerate(jobs)]
        return [self.completion(jobs[n]) for _, n in sorted(ends)]

    def tick(self) -> None:
        for channel in self.channels:
            channel.tick(self.ticked)
        while any([channel.again(self.ticked) for channel in self.channels]):
            pass
        self.ticked += 1

    def open_cycles(self, end: int) -> int:
        """Cycles below ``end`` in which a rank has a row open, of all ranks and channels."""
        while self.ticked < end:
            self.tick()
        return sum(sum(channel.rank_open[:end]) for channel in self.channels)

    def completion(self, job: Job) -> TransferCompletion:
        device = self.dram.device

        def ps(cycle: int) -> int:
            return cycle * 10**12 // device.clock_hz

        useful = job.transfer.run_bytes
        for extent in job.transfer.extents:
            useful *= extent
        if rows := job.transfer.rows:
            useful = sum(rows.sizes.tolist())
            job.may_ask(rows.count - 1, 2**62, device.clock_hz)
        on_pins = sum(job.counted[kind] for kind in ("hit", "miss", "conflict"))
        return TransferCompletion(
            id=job.transfer.id,
            time_ps=ps(max(job.beats, default=job.visible)),
            first_beat_ps=ps(min(job.beats) - device.burst_cycles if job.beats else job.visible),
            write=job.transfer.write,
            useful_bytes=useful,
            pin_bytes=on_pins * device.burst_bytes,
            row_hits=job.counted["hit"],
            row_misses=job.counted["miss"],
            row_conflicts=job.counted["conflict"],
            activates=job.counted["activate"],
            asked_ps=job.asked_ps[-1] if job.asked_ps else 0,
        )

    def runs(self, transfer: Transfer) -> list[tuple[int, int, int]]:
        """Address, bytes and row of each run, in order; one row if it is not by rows."""
        if rows := transfer.rows:
            return list(zip(rows.addresses.tolist(), rows.sizes.tolist(), rows.row.tolist(), strict=True))
        starts = [transfer.address]
        for extent, stride in zip(transfer.extents, transfer.strides, strict=True):
            starts = [start + i * stride for start in starts for i in range(extent)]
        return [(start, transfer.run_bytes, 0) for start in starts] if transfer.run_bytes else []

    def bursts(self, transfer: Transfer, channel: int) -> list[Burst]:
        """Bursts on a channel, in order; the last of one run is not repeated as the first of the next of its row."""
        size = self.dram.device.burst_bytes
        found: list[tuple[int, int]] = []
        last = None
        for start, run_bytes, row in self.runs(transfer):
            for burst in range(start // size, (start + run_bytes - 1) // size + 1):
                if (burst, row) != last:
                    found.append((burst, row if transfer.rows else len(found)))
                last = burst, row
        channels = self.dram.channels
        mine = [(n, *item) for n, item in enumerate(found) if item[0] // self.interleave % channels == channel]
        return [(b // self.interleave // channels * self.interleave + b % self.interleave, m, n) for n, b, m in mine]

    def place(self, burst: int) -> Place:
        values = dict.fromkeys(("column", "rank", "bankgroup", "bank"), 0)
        widths = dict(values)
        for name, bits in self.mapping.fields:
            values[name] += (burst % 2**bits) << widths[name]
            widths[name] += bits
            burst >>= bits
        values["row"] = burst
        for name, other, start in self.mapping.xors:
            shifted = values[other] >> start
            values[name] ^= shifted if name == "row" else shifted % 2 ** widths[name]
        device = self.dram.device
        bank = (values["rank"] * device.groups + values["bankgroup"]) * device.banks + values["bank"]
        return bank, values["row"], values["column"]


class ReferenceChannel:
    """One channel, cycle by cycle."""

    def __init__(self, memory: Reference, number: int) -> None:
        self.memory, self.number = memory, number
        self.device: DramChannel = memory.dram.device
        self.policy = memory.policy
        self.pending: list[tuple[Job, list[Burst]]] = []
        self.rings: dict[bool, list[tuple[Job, list[Burst]]]] = {False: [], True: []}
        self.turns = {False: 0, True: 0}
        self.parked: list[tuple[Job, list[Burst]]] = []
        self.queues: dict[bool, list[Access]] = {False: [], True: []}
        self.active: list[Access] = []
        self.open: dict[int, int] = {}
        self.holder: dict[int, Access] = {}
        self.writing = False
        self.held: tuple[Access, int] | None = None  # between the halves of its activate, and the deadline
        self.synced: Access | None = None
        self.clock_until = 0
        intervals = {"all_bank": self.device.refresh_cycles, "per_bank": self.device.bank_refresh_cycles}
        self.interval = self.due = intervals.get(self.policy.refresh, 0)
        self.accessed: dict[int, int] = defaultdict(int)
        self.taken = {False: 0, True: 0}  # into each queue in this cycle
        self.asked = self.done = 0
        self.rank_open: list[int] = []  # by cycle: ranks with a row that is open, or half way there
        self.issued: list[tuple[int, str, int, int]] = []  # cycle, command, bank, row
        self.times: dict[tuple[str, int], list[int]] = defaultdict(list)  # by command and bank
        split = self.device.protocol == "split"
        self.names = {"ACT": "ACT1" if split else "ACT", "PRE": "PREpb", "RD": "RD", "WR": "WR"}
        self.before: dict[str, list[tuple[str, str, int, int, bool]]] = defaultdict(list)
        for c in self.device.constraints:
            for after in c.after:
                self.before[after] += [(b, c.level, c.cycles, c.window, c.siblings) for b in c.before]

    def expect(self, job: Job) -> None:
        bursts = self.memory.bursts(job.transfer, self.number)
        if bursts:
            self.pending.append((job, bursts))
            job.left += len(bursts)
            for _, request, _ in bursts:
                job.bursts[request] += 1

    def tick(self, now: int) -> None:
        if self.due and now == self.due:
            per_rank = self.policy.refresh == "all_bank"
            self.asked += self.device.ranks if per_rank else 1
            self.due += self.interval
        if self.device.protocol == "dual":
            self.column_bus(now)
            self.row_bus(now)
        else:
            self.command_bus(now)
        banks = [*self.open, *([self.held[0].place[0]] if self.held else [])]
        self.rank_open.append(len({bank // self.device.size_of("rank") for bank in banks}))
        for job, bursts in [entry for entry in self.pending if entry[0].visible <= now]:
            self.rings[job.transfer.write].append((job, bursts))
        self.pending = [entry for entry in self.pending if entry[0].visible > now]
        self.taken = {False: 0, True: 0}
        self.rejoin(now)
        self.take_in(now, False)
        self.take_in(now, True)

    # ---- intake

    def rejoin(self, now: int) -> bool:
        """Whether any parked transfer goes back to its ring."""
        hz = self.device.clock_hz
        freed = [entry for entry in self.parked if entry[0].may_take(entry[1][0], now, hz)]
        for entry in sorted(freed, key=lambda entry: entry[0].order):
            self.parked.remove(entry)
            self.rings[entry[0].transfer.write].append(entry)
        return bool(freed)

    def again(self, now: int) -> bool:
        """A later round of a cycle: whether something may go on since another channel has taken bursts in."""
        freed = self.rejoin(now)
        if freed:
            self.take_in(now, False)
            self.take_in(now, True)
        return freed

    def take_in(self, now: int, write: bool) -> None:
        room = self.policy.write_queue if write else self.policy.read_queue
        ring, queue = self.rings[write], self.queues[write]
        while ring and len(queue) < room and self.taken[write] < INTAKE:
            job, bursts = ring[0]
            if not job.may_take(bursts[0], now, self.device.clock_hz):
                self.parked.append(ring.pop(0))
                self.turns[write] = 0
                continue
            burst, request, _ = bursts.pop(0)
            self.taken[write] += 1
            for offers, _ in job.offers:
                offers.taken.append(now)
            if any(other.burst == burst for other in self.queues[True]):
                self.ends(job, request, now, write)
            else:
                queue.append(Access(job, burst, request, self.memory.place(burst), now))
            self.turns[write] += 1
            if not bursts:
                ring.pop(0)
                self.turns[write] = 0
            elif self.turns[write] == self.policy.turn_bursts:
                ring.append(ring.pop(0))
                self.turns[write] = 0

    def ends(self, job: Job, request: int, now: int, write: bool) -> None:
        latency = self.device.write_latency if write else self.device.read_latency
        job.beats.append(now + latency + self.device.burst_cycles)
        job.ends[request].append(job.beats[-1])
        job.left -= 1

    # ---- choice

    def legal(self, command: str, bank: int, now: int) -> bool:
        for before, level, cycles, window, siblings in self.before[command]:
            size, around = self.device.size_of(level), self.device.around(level)  # type: ignore[arg-type]
            low, outer = bank // size * size, bank // around * around
            if siblings:
                banks = [b for b in range(outer, outer + around) if not low <= b < low + size]
            else:
                banks = list(range(low, low + size))
            times = sorted(t for b in banks for t in self.times[before, b][-window:])
            if len(times) >= window and now - times[-window] < cycles:
                return False
        return True

    def needs(self, access: Access) -> str:
        bank, row, _ = access.place
        if self.open.get(bank) == row:
            return "WR" if access.write else "RD"
        if bank in self.holder:
            return ""
        return "PRE" if bank in self.open else "ACT"

    def oldest_active(self, now: int) -> Access | None:
        ready = [a for a in self.active if self.legal(self.needs(a), a.place[0], now)]
        return min(ready, key=lambda access: access.arrived, default=None)

    def oldest_queued(self, now: int, allowed: tuple[str, ...]) -> Access | None:
        reads, writes = self.queues[False], self.queues[True]
        if self.writing:
            if len(writes) < self.policy.write_low * self.policy.write_queue and reads:
                self.writing = False
        elif len(writes) > self.policy.write_high * self.policy.write_queue or not reads:
            self.writing = True
        known: dict[tuple[str, int], bool] = {}
        waiting = self.next_unit() if self.asked > self.done else []
        for access in self.queues[self.writing]:
            need, bank = self.needs(access), access.place[0]
            if need in allowed and bank not in waiting:
                if (need, bank) not in known:
                    known[need, bank] = self.legal(self.names[need], bank, now)
                if known[need, bank]:
                    return access
        return None

    def command_bus(self, now: int) -> None:
        if self.synced is not None:
            self.issue(self.synced, now)
        elif self.held and self.held[1] <= now:
            self.second_half(now)
        elif not self.due_command(now):
            if self.held:
                self.second_half(now)
            else:
                self.close_idle(now)

    def due_command(self, now: int) -> bool:
        """Whether an access or a refresh got a command."""
        if (access := self.oldest_active(now)) is not None:
            self.issue(access, now)
            return True
        if self.asked > self.done and self.refresh(now):
            return True
        if self.all_wait():
            return False
        access = self.oldest_queued(now, ("RD", "WR", "PRE") if self.held else ("RD", "WR", "PRE", "ACT"))
        if access is not None:
            self.issue(access, now)
        return access is not None

    def column_bus(self, now: int) -> None:
        access = self.oldest_active(now)
        if access is None and not self.all_wait():
            access = self.oldest_queued(now, ("RD", "WR"))
        if access is not None:
            self.issue(access, now)

    def row_bus(self, now: int) -> None:
        issued = self.asked > self.done and self.refresh(now)
        if not issued and not self.all_wait():
            access = self.oldest_queued(now, ("PRE", "ACT"))
            issued = access is not None
            if access is not None:
                self.issue(access, now)
        if not issued:
            self.close_idle(now)

    # ---- commands

    def put(self, command: str, bank: int, row: int, now: int) -> None:
        self.issued.append((now, command, bank, row))
        for member in self.unit(bank) if command == "REFpb" else [bank]:
            self.times[command, member].append(now)

    def unit(self, low: int) -> list[int]:
        """The banks of a refresh: a rank, or some banks of a rank that are equally far apart."""
        of_rank = self.device.size_of("rank")
        step = 1 if self.policy.refresh == "all_bank" else of_rank // self.device.bank_refresh_banks
        return list(range(low, low - low % of_rank + of_rank, step))

    def close_idle(self, now: int) -> None:
        """Precharge the first bank whose row has been idle for long enough."""
        if self.policy.rows != "timeout":
            return
        wait = max(1, -(-self.policy.row_timeout_ps * self.device.clock_hz // 10**12))
        wanted = {a.place[:2] for queue in self.queues.values() for a in queue}
        for bank, row in sorted(self.open.items()):
            idle = now >= self.accessed[bank] + wait and bank not in self.holder and (bank, row) not in wanted
            if idle and self.legal("PREpb", bank, now):
                self.put("PREpb", bank, row, now)
                del self.open[bank]
                return

    def issue(self, access: Access, now: int) -> None:
        need = self.needs(access)
        bank, row, _ = access.place
        if need in ("RD", "WR"):
            self.column(access, need, now)
            return
        access.counted = access.counted or {"ACT": "miss", "PRE": "conflict"}[need]
        self.put(self.names[need], bank, row, now)
        if need == "PRE":
            del self.open[bank]
            return
        self.queues[access.write].remove(access)
        self.holder[bank] = access
        if self.device.protocol == "split":
            self.held = access, now + self.device.activate_window
        else:
            self.opened(access)

    def opened(self, access: Access) -> None:
        access.job.counted["activate"] += 1
        self.open[access.place[0]] = access.place[1]
        self.active.append(access)

    def second_half(self, now: int) -> None:
        assert self.held
        access = self.held[0]
        self.put("ACT2", *access.place[:2], now)
        self.held = None
        self.opened(access)

    def column(self, access: Access, need: str, now: int) -> None:
        bank, row, _ = access.place
        if self.device.clock_linger and self.synced is None and now >= self.clock_until:
            if self.held and self.held[1] <= now + 1:
                self.second_half(now)
                return
            self.put(f"CAS_{need}", bank, row, now)
            self.synced = access
            return
        self.synced = None
        self.accessed[bank] = now
        access.job.counted[access.counted or "hit"] += 1
        if access in self.active:
            self.active.remove(access)
            del self.holder[bank]
        else:
            self.queues[access.write].remove(access)
        others = [a for queue in self.queues.values() for a in queue if a.place[:2] == (bank, row)]
        closes = self.policy.rows == "closed" and bank not in self.holder and not others
        self.put(f"{need}A" if closes else need, bank, row, now)
        if closes:
            del self.open[bank]
        self.ends(access.job, access.request, now, access.write)
        self.clock_until = max(self.clock_until, access.job.beats[-1] + self.device.clock_linger)

    def all_wait(self) -> bool:
        """Whether a refresh of a rank keeps all queued accesses waiting; one of single banks, those of its banks."""
        return self.asked > self.done and self.policy.refresh == "all_bank"

    def next_unit(self) -> list[int]:
        """The banks of the refresh that was asked for first."""
        of_rank = self.device.size_of("rank")
        in_rank = 1 if self.policy.refresh == "all_bank" else of_rank // self.device.bank_refresh_banks
        number = self.done % (in_rank * self.device.ranks)
        return self.unit(number // in_rank * of_rank + number % in_rank)

    def refresh(self, now: int) -> bool:
        """Whether a command for the refresh that was asked for first was issued."""
        per_rank, unit = self.policy.refresh == "all_bank", self.next_unit()
        if any(bank in self.holder for bank in unit):
            return False
        is_open = [bank for bank in unit if bank in self.open]
        command, first = "REFab" if per_rank else "REFpb", unit[0]
        if is_open:
            command, first = ("PREab", first) if per_rank else ("PREpb", is_open[0])
        touched = unit if command == "REFpb" else [first]
        if not all(self.legal(command, bank, now) for bank in touched):
            return False
        self.put(command, first, -1, now)
        for bank in is_open if per_rank else is_open[:1]:
            del self.open[bank]
        self.done += not is_open
        return True
