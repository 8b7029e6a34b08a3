"""The tables of a chip: each part priced by its kind, then what its file states itself.

A part's ``energy`` may name (pJ each): memories ``read``, ``write`` (SRAM: a word access; registers: a byte; DRAM: a bit
on the pins), DRAM also ``activate``, ``refresh`` (a command of one channel); arrays ``mac`` and, per element,
``register_read``, ``register_write``, ``wire``; vector units ``lane_op`` and their functions; the host ``flop``, ``link_bit``.
``area`` and ``leakage`` of a part are those of one instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from archsim.energy.parts import Context, Priced, price_array, price_dma, price_host, price_memory, price_vector
from archsim.energy.tables import ZJ_PER_PJ, Charge, PartTable, Tables
from archsim.energy.technology import load_technology
from archsim.errors import ConfigError, nearest
from archsim.spec.architecture import Architecture, Array, Dma, Host, Memory, Part, Sourced, Vector

_PRICE: Mapping[type[Part], Callable[..., Priced]] = {
    Memory: price_memory,
    Array: price_array,
    Vector: price_vector,
    Dma: price_dma,
    Host: price_host,
}


def tables_for(architecture: Architecture) -> Tables:
    """Tables of every part; raises ConfigError for an unknown technology, DRAM standard, dtype or action."""
    context = Context(load_technology(architecture.technology), architecture.dtypes, architecture.voltage_v)
    parts = {part.name: _table(part, _PRICE[type(part)](part, context)) for part in architecture.parts()}
    return Tables(architecture.technology, parts)


def _table(part: Part, priced: Priced) -> PartTable:
    for action in part.energy_pj:
        if action not in priced.rates:
            have = ", ".join(priced.rates) or "none"
            raise ConfigError(f"{part.name}.energy: no action '{action}'{nearest(action, priced.rates)}; allowed: {have}")
    charges = {action: Charge(0, "counted, charged by another action of this part") for action in priced.unpriced}
    for name, rate in priced.rates.items():
        stated = part.energy_pj.get(name)
        for action, pj in rate.pj.items():
            value = pj if stated is None else stated.value * rate.unit
            charges[action] = Charge(round(value * ZJ_PER_PJ), rate.source if stated is None else stated.source)
    rest = charges["lane_ops"] if isinstance(part, Vector) else None
    return PartTable(
        part.name,
        part.kind if isinstance(part, Memory) else type(part).__name__.lower(),
        part.scope,
        charges,
        _all_copies(part.leakage_w or priced.leakage_w, part.copies),
        _all_copies(part.area_mm2 or priced.area_mm2, part.copies),
        rest,
    )


def _all_copies(one: Sourced, copies: int) -> Sourced:
    return Sourced(one.value * copies, one.source)
