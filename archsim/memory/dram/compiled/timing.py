"""When a command may issue: the constraints it puts on those after it."""

from __future__ import annotations

from archsim.base.jit import inlined
from archsim.memory.dram.compiled.records import COMMAND_BITS, UNSIGNED, ChannelRecord, DramRules

_OF_RANK = 1 << COMMAND_BITS


@inlined
def code_of(rules: DramRules, command: int, bank: int) -> int:
    """The code of a command on a bank of the channel."""
    unit = (bank >> rules.rank_bits << COMMAND_BITS) + command
    code: int = (unit << rules.rank_bits) + (bank & ((1 << rules.rank_bits) - 1))
    return code


@inlined
def command_of(rules: DramRules, code: int) -> int:
    """The command of a code."""
    command: int = (code >> rules.rank_bits) & (_OF_RANK - 1)
    return command


@inlined
def bank_of(rules: DramRules, code: int) -> int:
    """The bank of a code."""
    rank = code >> (rules.rank_bits + COMMAND_BITS)
    bank: int = (rank << rules.rank_bits) + (code & ((1 << rules.rank_bits) - 1))
    return bank


@inlined
def legal_at(rules: DramRules, ch: ChannelRecord, code: int) -> int:
    """The first cycle at which a command may issue on a bank."""
    at: int = max(ch.ready[code], ch.bus[UNSIGNED(code) >> UNSIGNED(rules.rank_bits)])
    return at


@inlined
def later(one: int, other: int) -> int:
    """The maximum, as a sum: of a max() that is stored the compiler makes masked stores, which are slow."""
    return one + max(other - one, 0)


@inlined
def constrain(rules: DramRules, ch: ChannelRecord, command: int, bank: int, now: int) -> None:
    """Enter a command on a bank into the first legal cycles of those after it."""
    own = bank >> rules.rank_bits
    _space(rules, ch, command, 0, own, now)
    for rank in range(rules.ranks if rules.ranks > 1 else 0):
        if rank != own:
            _space(rules, ch, command, 1, rank, now)
    base, wide = code_of(rules, 0, bank), UNSIGNED(rules.first_wide[command])
    for k in range(UNSIGNED(rules.first[command]), wide):
        code = UNSIGNED(base + rules.follow[k])
        ch.ready[code] = max(ch.ready[code], now + rules.cycles[k])
    for k in range(wide, UNSIGNED(rules.first[command + 1])):
        low = ((base + rules.follow[k]) & rules.mask[k]) ^ rules.flip[k]
        _postpone(ch, low, rules.size[k], now + rules.cycles[k])
    for w in range(rules.windows):
        if rules.window_before[w] == command:
            _enter_window(rules, ch, w, bank, now)


@inlined
def _space(rules: DramRules, ch: ChannelRecord, command: int, others: int, rank: int, now: int) -> None:
    """Enter a command into the first cycles of those after it on a rank, its own or another one."""
    first = UNSIGNED(rank << COMMAND_BITS)
    for follow in range(UNSIGNED(rules.follows)):
        ch.bus[first + follow] = later(ch.bus[first + follow], now + rules.spacing[command, others, follow])


@inlined
def _postpone(ch: ChannelRecord, low: int, banks: int, legal: int) -> None:
    for code in range(UNSIGNED(low), UNSIGNED(low + banks)):
        ch.ready[code] = later(ch.ready[code], legal)


@inlined
def _enter_window(rules: DramRules, ch: ChannelRecord, w: int, bank: int, now: int) -> None:
    bits, follow = rules.window_bits[w], rules.window_follow[w]
    unit = bank >> bits
    at = ch.history_at[w, unit]
    ch.history[w, unit, at] = now
    at += 1
    if at == rules.window_count[w]:
        at = 0
    ch.history_at[w, unit] = at
    legal = ch.history[w, unit, at] + rules.window_cycles[w]
    if bits < rules.rank_bits:
        _postpone(ch, code_of(rules, follow, unit << bits), 1 << bits, legal)
        return
    for rank in range(unit << (bits - rules.rank_bits), (unit + 1) << (bits - rules.rank_bits)):
        on_rank = (rank << COMMAND_BITS) + follow
        ch.bus[on_rank] = max(ch.bus[on_rank], legal)
