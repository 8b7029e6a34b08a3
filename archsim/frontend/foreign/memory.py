"""Memories of a design as parts of a chip file: drams of constant rate, SRAMs, the way of what has none."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

from archsim.frontend.foreign.design import ForeignDesign, ForeignMemory
from archsim.frontend.foreign.emit import decimal, size
from archsim.frontend.foreign.ledger import APPROXIMATED, ImportLedger
from archsim.frontend.foreign.placing import PlacedMemory
from archsim.frontend.foreign.ports import width_of
from archsim.frontend.foreign.section import SourceQuantity
from archsim.frontend.foreign.sheet import ChipSheet, SheetSection

MOST_BITS = 2**47  # 16 TiB, the largest memory that a chip file may state
STREAM_BITS = 64 * 1024 * 8
BESIDE = {"inputs": ("inputs", "tables", "kv"), "weights": ("weights",), "outputs": ("outputs", "partials")}
_LIMITLESS = "nothing limits it"


def _keeps(roles: tuple[str, ...] | list[str]) -> str | list[str]:
    if len(roles) == len(BESIDE):
        return "all"
    return [kept for role in BESIDE if role in roles for kept in BESIDE[role]]


def _kept(roles: tuple[str, ...] | list[str], summed: bool) -> str | list[str]:
    """Roles of an SRAM; with ``summed`` the partial sums lie in another one."""
    if not summed or "outputs" not in roles:
        return _keeps(roles)
    every = [kept for role in BESIDE if role in roles for kept in BESIDE[role]]
    return [role for role in every if role != "partials"]


def dram(sheet: ChipSheet, place: PlacedMemory, design: ForeignDesign) -> dict[str, Any]:
    """A memory outside the chip. Its instances, if there are several, are one."""
    store, many = place.store, place.instances
    part = sheet.part(store.name, "dram", store.mark)
    part.put("standard", "constant")
    _bandwidth(part, store, many)
    if store.latency_cycles is None:
        part.assume("latency", "0 cycles", f"{design.tool} has no latency of it")
    else:
        part.state("latency", f"{decimal(store.latency_cycles.value)} cycles", store.latency_cycles)
    _capacity(part, "capacity", store, many)
    part.put("keeps", _keeps(place.roles))
    for way, pj in (("read", store.read_pj), ("write", store.write_pj)):
        if pj is not None:
            of_bit = pj.value / store.access_bits.value
            part.state(f"energy.{way}", f"{decimal(of_bit)} pJ", pj, f"over {decimal(store.access_bits.value)} bits")
    _stands(part, store, many)
    return part.document()


def _bandwidth(part: SheetSection, store: ForeignMemory, many: int) -> None:
    read, write = store.read_bits, store.write_bits
    rates = [rate for rate in (read, write) if rate is not None]
    if not rates:
        part.assume("bandwidth", "infinite", _LIMITLESS)
        return
    least = min(rates, key=lambda rate: rate.value)
    part.state("bandwidth", f"{decimal(least.value * many / 8)} B/cycle", least, _several(many))
    for way, rate, other in (("reads", read, write), ("writes", write, read)):
        said = _shared_rate(store, way, rate, other)
        if said and rate is not None:
            settle(part.sheet.ledger, APPROXIMATED, rate, f"{part.name}.bandwidth: {said}: cycles are too many")


def _shared_rate(store: ForeignMemory, way: str, rate: SourceQuantity | None, other: SourceQuantity | None) -> str:
    """What is lost of the rate of a direction in a bandwidth that both share; '' for nothing."""
    if other is None:
        return f"{way} alone have a limit in the source, here both directions together have it"
    if rate is not None and rate.value > other.value:
        return f"{way} are as slow as the other direction, and share its bandwidth"
    return "" if store.shared else "reads and writes share it here, each has a limit of its own in the source"


def _several(many: int) -> str:
    return f"{many} instances as one" if many > 1 else ""


def _capacity(part: SheetSection, key: str, store: ForeignMemory, many: int) -> int:
    """Bits."""
    if store.bits is None:
        part.assume(key, size(Fraction(MOST_BITS)), f"{_LIMITLESS}; the largest that a chip file may state")
        return MOST_BITS
    bits = store.bits.value * many
    part.state(key, size(bits), store.bits, _several(many))
    if bits % 8:
        part.doubt(key, f"{decimal(bits)} bits rounded up to whole bytes")
    if many > 1:
        part.doubt(key, f"{many} instances are one memory here, which holds each value once")
    return max(int(-(-bits // 8)) * 8, 8)


def _stands(part: SheetSection, store: ForeignMemory, many: int) -> None:
    """Area and leakage of all instances; of a memory without limit no table can tell them."""
    for key, unit, found in (("area", "mm2", store.area_mm2), ("leakage", "W", store.leakage_w)):
        if found is not None:
            part.state(key, f"{decimal(found.value * many)} {unit}", found, _several(many))
        elif store.bits is None:
            part.assume(key, f"0 {unit}", f"{_LIMITLESS}, so no table can price it")


def sram(sheet: ChipSheet, place: PlacedMemory, design: ForeignDesign, summed: bool) -> dict[str, Any]:
    """A memory on the chip, all instances as one; ``summed``: partial sums have a memory of their own."""
    store, many = place.store, place.instances
    part = sheet.part(store.name, "sram", store.mark)
    bits = _capacity(part, "size", store, many)
    wanted = _wanted(design, place.roles)
    width = width_of(store, many, bits // 8, wanted)
    stated = store.read_bits or store.write_bits
    settle(sheet.ledger, APPROXIMATED, store.read_bits if width.slowed == "read" else None, width.why)
    settle(sheet.ledger, APPROXIMATED, store.write_bits if width.slowed == "write" else None, width.why)
    for key, value in (("banks", width.banks), ("word", f"{width.word_bytes} B"), ("ports", width.ports)):
        if stated is None or (width.doubt and key == "word"):
            part.assume(key, value, width.doubt)
        else:
            part.state(key, value, stated, "banks x word x ports a cycle")
    part.put("keeps", ["partials"] if place.kind == "sums" else _kept(place.roles, summed))
    _slots(part, store, design)
    for way, pj in (("read", store.read_pj), ("write", store.write_pj)):
        if pj is not None:
            of_word = pj.value * width.word_bytes * 8 / store.access_bits.value
            why = f"{8 * width.word_bytes} of {decimal(store.access_bits.value)} bits"
            part.state(f"energy.{way}", f"{decimal(of_word)} pJ", pj, why)
            if many > 1 and place.kind == "sram":
                said = (
                    f"{part.name}.energy.{way}: {many} instances are one memory here, which is read once for all units "
                    "that take a value: the energy is too low where each instance is read for its own"
                )
                settle(sheet.ledger, APPROXIMATED, pj, said)
    _stands(part, store, many)
    return part.document()


def _slots(part: SheetSection, store: ForeignMemory, design: ForeignDesign) -> None:
    if store.slots is not None and store.slots.value.denominator == 1 and store.slots.value > 0:
        part.state("slots", int(store.slots.value), store.slots)
    else:
        part.assume("slots", 2, f"a tile is moved while another one works, which {design.tool} takes for granted")


def settle(ledger: ImportLedger, state: str, quantity: SourceQuantity | None, said: str) -> None:
    """Enter in the ledger what the writer could do with a number that a reader has read."""
    if quantity is not None:
        ledger.settle(state, quantity.path, quantity.mark, said)


def _wanted(design: ForeignDesign, roles: tuple[str, ...] | list[str]) -> int:
    """Bytes a cycle that never limit the array.

    Systolic: four values of each role for every PE of the longer side, sums of 4 bytes. Else an input for each row, a
    weight for each unit, a sum of 4 bytes for each column, and as much again to fill and drain.
    """
    cols = prod(int(spread.size.value) for spread in design.spreads if spread.axis == "cols")
    rows = design.macs // cols
    side = max(cols, rows)
    values = {"inputs": rows, "weights": design.macs // 2 + 1, "outputs": 4 * cols}
    if design.dataflow:
        values = {"inputs": 2 * side, "weights": 2 * side, "outputs": 8 * side}
    return max(1, min(2 * sum(values[role] for role in roles), 1 << 24))


def outside(sheet: ChipSheet, roles: list[str], design: ForeignDesign) -> dict[str, Any]:
    """Where tensors lie that the source gives no memory outside the chip."""
    part = sheet.part("outside", "outside", design.mark)
    why = f"{', '.join(roles)} begin on the chip in {design.tool}; here they come from outside at no cost"
    part.put("standard", "constant")
    part.assume("bandwidth", "infinite", why)
    part.assume("latency", "0 cycles", why)
    part.assume("capacity", size(Fraction(MOST_BITS)), why)
    part.put("keeps", _keeps(roles))
    part.assume("energy.read", "0 pJ", why)
    part.assume("energy.write", "0 pJ", why)
    return part.document()


def streams(sheet: ChipSheet, roles: list[str], found: list[PlacedMemory], design: ForeignDesign) -> dict[str, Any]:
    """What stands for the way of operands that go to the units without a shared memory on the chip."""
    part = sheet.part("streams", "streams", design.mark)
    own = [place for place in found if place.kind in ("registers", "sums") and set(place.roles) & set(roles)]
    why = f"{', '.join(roles)} have no shared memory on the chip in the source; archsim's arrays work from one"
    held = sum((place.store.bits.value * place.instances for place in own if place.store.bits), Fraction(0))
    names = ", ".join(place.store.name for place in own)
    large = f"{why}; tiles of what {names} hold together, or of 64 KiB, pass through it" if own else why
    bits = max(Fraction(STREAM_BITS), held)
    part.assume("size", size(bits), large)
    wanted = min(_wanted(design, roles), int(bits) // 8)
    banks = 1 << max(0, (wanted - 1).bit_length() - 12)
    part.assume("banks", banks, why)
    part.assume("word", f"{-(-wanted // banks)} B", why)
    part.put("keeps", _kept(roles, any(place.kind == "sums" for place in found)))
    part.assume("slots", 2, why)
    for key in ("energy.read", "energy.write"):
        part.assume(key, "0 pJ", why)
    for key, nothing in (("area", "0 mm2"), ("leakage", "0 W")):
        part.assume(key, nothing, why)
    return part.document()
