"""Memories of a design as parts of a chip file: drams of constant rate, SRAMs, registers of the array."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

from archsim.frontend.foreign.design import Design, Store
from archsim.frontend.foreign.emit import Flow, decimal, size
from archsim.frontend.foreign.ledger import IGNORED, REFUSED
from archsim.frontend.foreign.names import plain_name
from archsim.frontend.foreign.placing import Place
from archsim.frontend.foreign.ports import width_of
from archsim.frontend.foreign.section import Quantity
from archsim.frontend.foreign.sheet import Part, Sheet

MOST_BITS = 2**47  # 16 TiB, the largest memory that a chip file may state
STREAM_BITS = 64 * 1024 * 8
BESIDE = {"inputs": ("inputs", "tables", "kv"), "weights": ("weights",), "outputs": ("outputs", "partials")}
_LIMITLESS = "nothing limits it"


def _keeps(roles: tuple[str, ...] | list[str]) -> str | list[str]:
    if len(roles) == len(BESIDE):
        return "all"
    return [kept for role in BESIDE if role in roles for kept in BESIDE[role]]


def _kept(place: Place, summed: bool) -> str | list[str]:
    """Roles of an SRAM: of outputs, finished values and partial sums may lie apart."""
    if place.kind == "sums":
        return ["partials"]
    found = _keeps(place.roles)
    if not summed or "outputs" not in place.roles:
        return found
    every = [kept for role in BESIDE if role in place.roles for kept in BESIDE[role]]
    return [role for role in every if role != "partials"]


def dram(sheet: Sheet, place: Place, design: Design) -> dict[str, Any]:
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


def _bandwidth(part: Part, store: Store, many: int) -> None:
    read, write = store.read_bits, store.write_bits
    rates = [rate for rate in (read, write) if rate is not None]
    if not rates:
        part.assume("bandwidth", "infinite", _LIMITLESS)
        return
    least = min(rates, key=lambda rate: rate.value)
    part.state("bandwidth", f"{decimal(least.value * many / 8)} B/cycle", least, _several(many))
    if not store.shared or len(rates) == 1:
        part.doubt("bandwidth", "reads and writes share it here, each has a limit of its own in the source")
    elif read is not None and write is not None and read.value != write.value:
        part.doubt("bandwidth", "one rate for both directions, that of the slower one")


def _several(many: int) -> str:
    return f"{many} instances as one" if many > 1 else ""


def _capacity(part: Part, key: str, store: Store, many: int) -> int:
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


def _stands(part: Part, store: Store, many: int) -> None:
    """Area and leakage of all instances; of a memory without limit no table can tell them."""
    for key, unit, found in (("area", "mm2", store.area_mm2), ("leakage", "W", store.leakage_w)):
        if found is not None:
            part.state(key, f"{decimal(found.value * many)} {unit}", found, _several(many))
        elif store.bits is None:
            part.assume(key, f"0 {unit}", f"{_LIMITLESS}, so no table can price it")


def sram(sheet: Sheet, place: Place, design: Design, summed: bool) -> dict[str, Any]:
    """A memory on the chip, all instances as one; ``summed``: partial sums have a memory of their own."""
    store, many = place.store, place.instances
    part = sheet.part(store.name, "sram", store.mark)
    bits = _capacity(part, "size", store, many)
    wanted = _wanted(design, place.roles)
    width = width_of(store, many, bits // 8, wanted)
    stated = store.read_bits or store.write_bits
    for key, value in (("banks", width.banks), ("word", f"{width.word_bytes} B"), ("ports", width.ports)):
        if stated is None or (width.doubt and key == "word"):
            part.assume(key, value, width.doubt)
        else:
            part.state(key, value, stated, "banks x word x ports a cycle")
    part.put("keeps", _kept(place, summed))
    _slots(part, store, design)
    for way, pj in (("read", store.read_pj), ("write", store.write_pj)):
        if pj is not None:
            of_word = pj.value * width.word_bytes * 8 / store.access_bits.value
            why = f"{8 * width.word_bytes} of {decimal(store.access_bits.value)} bits"
            part.state(f"energy.{way}", f"{decimal(of_word)} pJ", pj, why)
    _stands(part, store, many)
    return part.document()


def _slots(part: Part, store: Store, design: Design) -> None:
    if store.slots is not None and store.slots.value.denominator == 1 and store.slots.value > 0:
        part.state("slots", int(store.slots.value), store.slots)
    else:
        part.assume("slots", 2, f"a tile is moved while another one works, which {design.tool} takes for granted")


def _wanted(design: Design, roles: tuple[str, ...] | list[str]) -> int:
    """Bytes a cycle that never limit the array.

    Systolic: four values of each role for every PE of the longer side, sums of 4 bytes. Else an input for each row, a
    weight for each unit, a sum of 4 bytes for each column, and as much again to fill and drain.
    """
    cols = prod(int(spread.size.value) for spread in design.spreads if spread.axis == "cols")
    rows = max(design.macs // max(cols, 1), 1)
    side = max(cols, rows)
    values = {"inputs": rows, "weights": design.macs // 2 + 1, "outputs": 4 * cols}
    if design.dataflow:
        values = {"inputs": 2 * side, "weights": 2 * side, "outputs": 8 * side}
    return max(1, min(2 * sum(values[role] for role in roles), 1 << 24))


def outside(sheet: Sheet, roles: list[str], design: Design) -> dict[str, Any]:
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


def streams(sheet: Sheet, roles: list[str], design: Design) -> dict[str, Any]:
    """What stands for the way of operands that go to the units without a memory on the chip."""
    part = sheet.part("streams", "streams", design.mark)
    why = f"{', '.join(roles)} have no memory on the chip in the source; archsim's arrays work from one"
    part.assume("size", size(Fraction(STREAM_BITS)), why)
    wanted = min(_wanted(design, roles), STREAM_BITS // 8)
    banks = 1 << max(0, (wanted - 1).bit_length() - 12)
    part.assume("banks", banks, why)
    part.assume("word", f"{-(-wanted // banks)} B", why)
    part.put("keeps", _keeps(roles))
    part.assume("slots", 2, why)
    part.assume("energy.read", "0 pJ", why)
    part.assume("energy.write", "0 pJ", why)
    return part.document()


def registers_of(part: Part, found: list[Place], design: Design) -> None:
    """Register files of the PEs: sizes of one PE, the energy of an element where all files have the same."""
    if not found:
        return
    files = []
    for place in found:
        bits = place.store.bits.value if place.store.bits else Fraction(8)
        share = max(bits * place.instances / design.macs, Fraction(8))
        name = plain_name(place.store.name, "registers")
        keeps = ["partials" if role == "outputs" else role for role in place.roles]
        files.append(Flow({"name": name, "keeps": keeps, "size": size(share)}))
        if share % 8 or share != bits:
            said = f"{decimal(bits)} bits, {place.instances} instances for {design.macs} units"
            part.sheet.ledger.assume(f"{part.name}.registers.{name}", f"{size(share)} of each PE: {said}")
        for rate in (place.store.read_bits, place.store.write_bits, place.store.slots):
            _settle(part, IGNORED, rate, "inside the array, whose registers never limit it")
    stated = next((place.store.bits for place in found if place.store.bits), None)
    part.keys["registers"] = files
    part.sources["registers"] = "; ".join(place.store.bits.source for place in found if place.store.bits) or "user"
    part.sheet.marks[f"{part.name}.registers"] = stated.mark if stated else part.mark
    for way in ("read", "write"):
        _register_energy(part, found, way)


def _settle(part: Part, state: str, quantity: Quantity | None, said: str) -> None:
    if quantity is not None:
        part.sheet.ledger.settle(state, quantity.path, quantity.mark, said)


def _register_energy(part: Part, found: list[Place], way: str) -> None:
    """pJ of an element; one number for all operands is what an array may state."""
    prices: list[tuple[Fraction, Quantity]] = []
    for place in found:
        pj = place.store.read_pj if way == "read" else place.store.write_pj
        if pj is None:
            continue
        for role in place.roles:
            bits = place.store.value_bits.get(role, place.store.access_bits.value)
            prices.append((pj.value * bits / place.store.access_bits.value, pj))
    if not prices:
        return
    if len({price for price, _ in prices}) == 1 and len(prices) >= len(found):
        part.state(f"energy.register_{way}", f"{decimal(prices[0][0])} pJ", prices[0][1], "of an element")
        held = [role for place in found for role in place.roles]
        if len(held) < len(BESIDE):
            said = f"of every operand; the source states it of {', '.join(held)}"
            part.sheet.ledger.assume(f"{part.name}.energy.register_{way}", said)
        return
    for price, pj in prices:
        said = (
            f"{decimal(price)} pJ an element, and other files of the PE differ: an array has one energy.register_{way} "
            "for all operands; the technology table's is taken, state a number of your own there"
        )
        _settle(part, REFUSED, pj, said)


def array_figures(part: Part, found: list[Place], design: Design) -> None:
    """Area and leakage of the units with their registers, where the source has all of them."""
    units = design.units
    groups = (
        ("area", "mm2", [(units.area_mm2, design.macs)], "area_mm2"),
        ("leakage", "W", [(units.leakage_w, design.macs)], "leakage_w"),
    )
    for key, unit, sums, attribute in groups:
        parts = sums + [(getattr(place.store, attribute), place.instances) for place in found]
        known = [(quantity, many) for quantity, many in parts if quantity is not None]
        if len(known) == len(parts):
            whole = sum((quantity.value * many for quantity, many in known), Fraction(0))
            source = "; ".join(f"{quantity.source} x {many}" for quantity, many in known)
            part.state(key, f"{decimal(whole)} {unit}", Quantity(whole, source, known[0][0].mark))
        for quantity, _ in known if len(known) < len(parts) else []:
            said = f"an array has one {key} for units and registers, of which the source states only some"
            _settle(part, REFUSED, quantity, f"{said}; state {part.name}.{key} yourself")
