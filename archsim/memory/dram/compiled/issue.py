"""Issuing the planned command: what it does to its bank, its access and the data clock."""

from __future__ import annotations

from archsim.base.jit import inlined, njit
from archsim.memory.dram.compiled.queues import is_wanted, leave, leave_active, leave_open, needed, reconsider
from archsim.memory.dram.compiled.records import (
    ACT,
    ACT2,
    ACTIVE,
    CAS_RD,
    CLOSED,
    CLOSING,
    COLUMN,
    CONFLICT,
    DUAL,
    HIT,
    MISS,
    NONE,
    NUMBER,
    OPENED,
    PRE,
    PREAB,
    RD,
    RDA,
    REFPB,
    REFRESH,
    SECOND,
    SPLIT,
    WR,
    ChannelRecord,
    CommandLog,
    DramRules,
)
from archsim.memory.dram.compiled.select import plan_row, refresh_code, suspend
from archsim.memory.dram.compiled.timing import bank_of, code_of, command_of, constrain


@inlined
def tick(rules: DramRules, ch: ChannelRecord, log: CommandLog, now: int) -> int:
    """Issue what is planned for cycle ``now``; the slot of the access that got its column command, or NONE."""
    if rules.protocol == DUAL:
        return _both(rules, ch, log, now)
    return _issue(rules, ch, log, now)


@njit
def _both(rules: DramRules, ch: ChannelRecord, log: CommandLog, now: int) -> int:
    """Issue what is planned for the column bus, then for the row bus, which is planned anew in between."""
    done = NONE
    if ch.column_at == now:
        ch.planned_at, ch.planned_from, ch.planned = ch.column_at, ch.column_from, ch.column
        done = _issue(rules, ch, log, now)
        plan_row(rules, ch, now)
    if ch.planned_at == now:
        done = max(done, _issue(rules, ch, log, now))
    return done


@njit
def _issue(rules: DramRules, ch: ChannelRecord, log: CommandLog, now: int) -> int:
    if ch.planned_from == REFRESH:
        _refresh(rules, ch, log, now)
        return NONE
    if ch.planned_from >= SECOND:
        _apart(rules, ch, log, now)
        return NONE
    slot = ch.planned
    need = needed(ch, slot)
    command = RD + ch.write[slot] if need == COLUMN else PRE - CLOSING + need
    if command <= WR:
        if rules.clock_linger and _synchronise(rules, ch, log, slot, command, now):
            return NONE
        _count(ch, slot, command)
        _access(rules, ch, log, slot, command, now)
        return slot
    _count(ch, slot, command)
    if command == ACT:
        _activate(rules, ch, log, slot, now)
    else:
        _put(rules, ch, log, PRE, slot, now)
        _close(rules, ch, ch.bank[slot], 1, now)
    return NONE


@njit
def _apart(rules: DramRules, ch: ChannelRecord, log: CommandLog, now: int) -> None:
    """The second half of an activate, or the precharge of a row left idle."""
    if ch.planned_from == SECOND:
        _second(rules, ch, log, now)
    else:
        _enter(rules, ch, log, PRE, ch.planned, ch.open_row[ch.planned], NONE, now)
        _close(rules, ch, ch.planned, 1, now)


@inlined
def _put(rules: DramRules, ch: ChannelRecord, log: CommandLog, command: int, slot: int, now: int) -> None:
    """A command of an access on the bus."""
    _enter(rules, ch, log, command, NUMBER(ch.bank[slot]), ch.row[slot], ch.col[slot], now)


@njit
def _enter(
    rules: DramRules, ch: ChannelRecord, log: CommandLog, command: int, bank: int, row: int, column: int, now: int
) -> None:
    constrain(rules, ch, command, bank, now)
    ch.counts[command] += 1
    if log.count < log.limit:
        log.rows[log.count, 0], log.rows[log.count, 1], log.rows[log.count, 2] = now, command, bank
        log.rows[log.count, 3], log.rows[log.count, 4] = row, column
        log.count += 1


@inlined
def _count(ch: ChannelRecord, slot: int, command: int) -> None:
    """An access is a row hit, miss or conflict by the first command that it causes."""
    if ch.counted[slot]:
        return
    if command <= WR:
        ch.hits += 1
        ch.counted[slot] = HIT
    elif command == ACT:
        ch.misses += 1
        ch.counted[slot] = MISS
    else:
        ch.conflicts += 1
        ch.counted[slot] = CONFLICT


@inlined
def _activate(rules: DramRules, ch: ChannelRecord, log: CommandLog, slot: int, now: int) -> None:
    bank = NUMBER(ch.bank[slot])
    _put(rules, ch, log, ACT, slot, now)
    leave(ch, slot)
    ch.holder[bank] = 1
    rank = bank // rules.rank_banks
    if ch.open_banks[rank] == 0:
        ch.open_since[rank] = now
    ch.open_banks[rank] += 1
    if rules.protocol == SPLIT:
        ch.held, ch.deadline = slot, now + rules.activate_window
        reconsider(rules, ch, bank, bank + 1)
    else:
        _hold(rules, ch, slot)


@njit
def _second(rules: DramRules, ch: ChannelRecord, log: CommandLog, now: int) -> None:
    _put(rules, ch, log, ACT2, ch.held, now)
    _hold(rules, ch, ch.held)
    ch.held = NONE


@inlined
def _hold(rules: DramRules, ch: ChannelRecord, slot: int) -> None:
    """The row is open, and kept so until the access that opened it has had its column command."""
    bank = NUMBER(ch.bank[slot])
    ch.open_row[bank] = ch.row[slot]
    ch.counted[slot] += OPENED
    ch.code[slot] = code_of(rules, RD + ch.write[slot], bank)
    ch.active_order[ch.active] = slot
    ch.active += 1
    reconsider(rules, ch, bank, bank + 1)


@inlined
def _access(rules: DramRules, ch: ChannelRecord, log: CommandLog, slot: int, command: int, now: int) -> None:
    bank = NUMBER(ch.bank[slot])
    if ch.planned_from == ACTIVE:
        leave_active(ch, slot)
        ch.holder[bank] = 0
        reconsider(rules, ch, bank, bank + 1)
    else:
        leave_open(rules, ch, slot)
    ch.synced, ch.accessed[bank] = NONE, now
    if rules.clock_linger:
        end = rules.write_end if command == WR else rules.read_end
        ch.clock_until = max(ch.clock_until, now + end + rules.clock_linger)
    if rules.row_policy == CLOSED and ch.holder[bank] == 0 and not is_wanted(ch, bank, ch.row[slot]):
        _put(rules, ch, log, RDA + command, slot, now)
        _close(rules, ch, bank, 1, now)
    else:
        _put(rules, ch, log, command, slot, now)


@inlined
def _synchronise(rules: DramRules, ch: ChannelRecord, log: CommandLog, slot: int, command: int, now: int) -> bool:
    """Start the data clock with a CAS when it has stopped; the access follows in the next cycle."""
    if ch.synced != NONE or now < ch.clock_until:
        return False
    if ch.held != NONE and ch.deadline <= now + 1:
        _second(rules, ch, log, now)
        return True
    _put(rules, ch, log, CAS_RD + command, slot, now)
    ch.synced, ch.synced_from = slot, ch.planned_from
    return True


@njit
def _refresh(rules: DramRules, ch: ChannelRecord, log: CommandLog, now: int) -> None:
    code = refresh_code(rules, ch, ch.planned)
    command, bank = command_of(rules, code), bank_of(rules, code)
    _enter(rules, ch, log, command, bank, NONE, NONE, now)
    if command == PRE:
        _close(rules, ch, bank, 1, now)
    elif command == PREAB:
        _close(rules, ch, bank, rules.refresh_scope, now)
    else:
        ch.refresh_done += 1
        if command == REFPB:
            for i in range(1, rules.refresh_scope):
                constrain(rules, ch, REFPB, bank + i * rules.refresh_stride, now)
            suspend(rules, ch)


@njit
def _close(rules: DramRules, ch: ChannelRecord, low: int, banks: int, now: int) -> None:
    """The rows of ``banks`` banks of a rank are closed."""
    rank, before = low // rules.rank_banks, ch.open_banks[low // rules.rank_banks]
    for b in range(low, low + banks):
        ch.open_banks[rank] -= ch.open_row[b] != NONE
        ch.open_row[b] = NONE
    if before and ch.open_banks[rank] == 0:
        ch.open_cycles[rank] += now - ch.open_since[rank]
    reconsider(rules, ch, low, low + banks)
