"""The tables of a chip: each part priced by its kind, then what its file states itself.

A part's ``energy`` may name (pJ each): memories ``read``, ``write`` (SRAM, cache: a word access; registers: a byte;
DRAM: a bit on the pins), caches also ``lookup`` (of the tags of a set), DRAM also ``activate``, ``refresh`` (a command
of one channel); networks ``router``, ``link`` (a flit through one); arrays ``mac`` and, per element,
``register_read``, ``register_write``, ``wire``, or each with ``_inputs``, ``_weights``, ``_partials`` behind it;
vector units ``lane_op`` and their functions; the host ``flop``, ``link_bit``.
``area``, ``leakage`` and ``idle`` of a part are those of one instance; instances that are on the die and not in use
count in the area alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from archsim.base.errors import ConfigError, nearest
from archsim.energy import die
from archsim.energy.chip_tables import ZJ_PER_PJ, ChipTables, PartTable, area_breakdown
from archsim.energy.part_prices import (
    ActionRate,
    PricedPart,
    PricingContext,
    price_array,
    price_cache,
    price_control,
    price_dma,
    price_host,
    price_memory,
    price_noc,
    price_vector,
)
from archsim.energy.states import load_states, with_states
from archsim.energy.structures import load_structures
from archsim.energy.technology import load_technology
from archsim.facts.dram.catalogue import dram
from archsim.ir.dtypes import sum_dtype
from archsim.spec.architecture import Architecture, Array, Dma, Host, Vector
from archsim.spec.memories import Cache, Memory
from archsim.spec.network import NetworkLevel, Noc, OuterNetwork
from archsim.spec.on_die import Control
from archsim.spec.part import Part, SourcedNumber

_PRICE: Mapping[type[Part], Callable[..., PricedPart]] = {
    Memory: price_memory,
    Cache: price_cache,
    Noc: price_noc,
    OuterNetwork: price_noc,
    Array: price_array,
    Vector: price_vector,
    Dma: price_dma,
    Control: price_control,
    Host: price_host,
}

UNPAIRED: Mapping[str, tuple[str, str]] = MappingProxyType({})
_PAIR = "{}x{}"
MOST_MM2 = 1_000_000  # of a chip: a square metre, 14 wafers of 300 mm
_BYTES = {
    "dram": ("pin_{}_bytes", 1),
    "registers": ("{}_bytes", 1),
    "sram": ("{}_accesses", 0),
}  # action, bytes (0: a word)


def tables_for(
    architecture: Architecture,
    dtypes: Mapping[str, str] | None = None,
    pairs: Mapping[str, tuple[str, str]] = UNPAIRED,
) -> ChipTables:
    """Tables of every part. ``dtypes``: role -> number format of the run, where it differs from the chip's; ``pairs``:
    layer -> formats of inputs and weights that an array computes it in.

    Raises ConfigError for an unknown technology, DRAM standard, dtype or action, and for a chip of more than MOST_MM2.
    """
    priced = modelled(architecture, dtypes)
    bare = {part.name: _table(part, priced[part.name]) for part in architecture.parts()}
    others = die.beside(architecture, bare)
    die_mm2 = sum(area_breakdown(bare, others).values())
    parts = with_states(architecture, bare, die_mm2, load_technology(architecture.technology).voltage_v.value)
    formats = {**architecture.dtypes, **(dtypes or {})}
    apart = {layer: pair for layer, pair in pairs.items() if pair != (formats.get("inputs"), formats.get("weights"))}
    tables = ChipTables(
        architecture.technology,
        parts,
        {_PAIR.format(*pair): _arrays(architecture, formats, pair) for pair in sorted(set(apart.values()))},
        {layer: _PAIR.format(*pair) for layer, pair in apart.items()},
        others,
    )
    _check_area(tables)
    return tables


def _arrays(architecture: Architecture, formats: Mapping[str, str], pair: tuple[str, str]) -> dict[str, PartTable]:
    """The arrays where they compute with a pair of formats."""
    inputs, weights = pair
    sums = sum_dtype(inputs, formats["accumulate"])
    priced = modelled(architecture, {**formats, "inputs": inputs, "weights": weights, "accumulate": sums})
    return {array.name: _table(array, priced[array.name]) for array in architecture.arrays}


def modelled(architecture: Architecture, dtypes: Mapping[str, str] | None = None) -> dict[str, PricedPart]:
    """What the models make of one instance of each part, whatever its chip file states; arguments and errors as of
    ``tables_for``."""
    formats = {**architecture.dtypes, **(dtypes or {})}
    technology = load_technology(architecture.technology)
    simt = any(control.subcores for control in architecture.controls)
    delivery = load_states().delivery if simt else None
    adds, shared = architecture.dtypes["accumulate"], _shared(architecture)
    context = PricingContext(
        technology, load_structures(), formats, architecture.voltage_v, delivery, adds, frozenset(shared)
    )
    return {part.name: _PRICE[type(part)](part, context) for part in architecture.parts()}


def _shared(architecture: Architecture) -> Iterator[str]:
    """Memories above the network, whose nodes share them."""
    if architecture.noc is not None:
        yield from (memory.name for memory in architecture.memories if memory.name not in architecture.noc.inside)


class MappedEnergies(NamedTuple):
    """What depends on the mapping. ``pj``: (memory, 'read' | 'write') -> pJ per byte of whole words or bursts;
    (array, 'mac') and (vector unit, 'lane_ops') -> pJ of one operation. ``standing_w``: what time alone costs while the
    chip works: leakage of all parts, and of DRAM the rows that are open and the refreshes."""

    pj: Mapping[tuple[str, str], float]
    standing_w: float


def mapped_energies(architecture: Architecture) -> MappedEnergies:
    """The energies by which mappings are ranked; raises as ``tables_for``."""
    tables = tables_for(architecture)
    found = {}
    for memory in architecture.memories:
        for way in ("read", "write"):
            action, size = _BYTES[memory.kind]
            found[memory.name, way] = tables.pj(memory.name, action.format(way)) / (size or memory.word_bytes)
    operations = [(array.name, "mac") for array in architecture.arrays]
    operations += [(vector.name, "lane_ops") for vector in architecture.vectors]
    standing_w = sum(part.leakage_w + part.waiting_w for part in tables.parts.values())
    for memory in architecture.memories:
        if memory.kind == "dram" and memory.standard != "constant":
            standing_w += _working_w(memory, tables)
    return MappedEnergies(found | {key: tables.pj(*key) for key in operations}, standing_w)


def _working_w(part: Memory, tables: ChipTables) -> float:
    """Of a DRAM whose rows are open and which is refreshed, beside what it leaks; a pJ each ps is a watt."""
    memory = dram(part.standard, part.speed_mts, part.width_bits, part.channels, part.capacity_bytes)
    device, ranks = memory.device, memory.channels * memory.device.ranks
    refreshes_per_s = ranks * device.clock_hz / device.refresh_cycles
    return ranks * tables.pj(part.name, "row_open_ps") + refreshes_per_s * tables.pj(part.name, "refreshes") * 1e-12


def _table(part: Part, priced: PricedPart) -> PartTable:
    _check_actions(part, priced)
    rates = {name: _stated(rate, part.energy_pj.get(name)) for name, rate in priced.rates.items()}
    finer = {name: _stated(rate, part.energy_pj[name]) for name, rate in priced.finer.items() if name in part.energy_pj}
    told = {action for rate in finer.values() for action in rate.pj}
    rates = {name: rate for name, rate in rates.items() if not set(rate.pj) <= told or not told} | finer
    charges = dict.fromkeys(priced.unpriced, 0)
    for rate in rates.values():
        charges |= {action: round(pj * ZJ_PER_PJ) for action, pj in rate.pj.items()}
    leakage, area = part.leakage_w or priced.leakage_w, part.area_mm2 or priced.area_mm2
    energy_sources = {f"energy.{name}": rate.source for name, rate in rates.items()}
    idle_source = {"idle": part.idle_w.source} if part.idle_w is not None else {}
    return PartTable(
        part.name,
        part.kind if isinstance(part, (Memory, NetworkLevel)) else type(part).__name__.lower(),
        part.scope,
        charges,
        leakage.value * part.copies,
        area.value * float(part.copies if part.on_die is None else part.on_die),
        {**energy_sources, "leakage": leakage.source, **idle_source, "area": area.source},
        charges["lane_ops"] if isinstance(part, Vector) else None,
        None if part.idle_w is None else part.idle_w.value * part.copies,
    )


def _check_area(tables: ChipTables) -> None:
    """A chip larger than can be built is a mistake in some size: the largest part is named."""
    areas = tables.area_breakdown_mm2()
    whole = sum(areas.values())
    if not whole <= MOST_MM2:
        part = max(areas, key=lambda name: areas[name])
        raise ConfigError(
            f"{part}: found an area of {areas[part]:.3g} mm2, {whole:.3g} mm2 of the whole chip; "
            f"allowed at most {MOST_MM2:,} mm2 of the whole chip"
        )


def _check_actions(part: Part, priced: PricedPart) -> None:
    known = [*priced.rates, *priced.finer]
    for action in part.energy_pj:
        if action not in known:
            have, near = ", ".join(known) or "none", nearest(action, known)
            raise ConfigError(f"{part.name}.energy: no action '{action}'{near}; allowed: {have}")


def _stated(rate: ActionRate, own: SourcedNumber | None) -> ActionRate:
    """The rate with the figure that the chip file states for it, if any."""
    if own is None:
        return rate
    return ActionRate(dict.fromkeys(rate.pj, own.value * rate.unit), own.source, rate.unit)
