"""When a command may issue: the constraints it puts on those after it."""

from __future__ import annotations

from archsim.kernels import inlined
from archsim.memory.dram.kernel.layout import Channel, Rules


@inlined
def legal_at(rules: Rules, ch: Channel, code: int) -> int:
    """The first cycle at which a command may issue on a bank."""
    at: int = max(ch.ready[code], ch.bus[code >> rules.bank_bits])
    return at


@inlined
def constrain(rules: Rules, ch: Channel, command: int, bank: int, now: int) -> None:
    """Enter a command on a bank into the first legal cycles of those after it."""
    for k in range(rules.first[command], rules.first[command + 1]):
        legal = now + rules.cycles[k]
        size = rules.size[k]
        if size == 0:
            follow = rules.follow[k]
            ch.bus[follow] = max(ch.bus[follow], legal)
        elif rules.around[k] == 0:
            low = bank & -size
            _postpone(rules, ch, k, low, low + size, legal)
        else:
            low, outer = bank & -size, bank & -rules.around[k]
            _postpone(rules, ch, k, outer, low, legal)
            _postpone(rules, ch, k, low + size, outer + rules.around[k], legal)
    for w in range(rules.windows):
        if rules.window_before[w] == command:
            _enter_window(rules, ch, w, bank, now)


@inlined
def _postpone(rules: Rules, ch: Channel, k: int, low: int, high: int, legal: int) -> None:
    base, step = rules.follow[k] << rules.bank_bits, rules.step[k]
    for code in range(base + (low & -step), base + high, step):
        ch.ready[code] = max(ch.ready[code], legal)


@inlined
def _enter_window(rules: Rules, ch: Channel, w: int, bank: int, now: int) -> None:
    size = rules.window_size[w]
    unit = bank // size
    at = ch.history_at[w, unit]
    ch.history[w, unit, at] = now
    at += 1
    if at == rules.window_count[w]:
        at = 0
    ch.history_at[w, unit] = at
    legal = ch.history[w, unit, at] + rules.window_cycles[w]
    if size == rules.banks:
        ch.bus[rules.window_follow[w]] = max(ch.bus[rules.window_follow[w]], legal)
        return
    base = (rules.window_follow[w] << rules.bank_bits) + unit * size
    for code in range(base, base + size):
        ch.ready[code] = max(ch.ready[code], legal)
