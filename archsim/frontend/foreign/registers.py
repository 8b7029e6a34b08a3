"""Memories inside the array: register files of its PEs, what each MAC reads and writes there, the array's own figures.

A MAC reads an input and a weight from the innermost memory that has them, and reads and writes its sum. Where units
share an instance, one access serves them all. The dataflow of a generic array counts no accesses of sums in its PEs,
so theirs are part of the energy of a MAC; a systolic one counts them.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

from archsim.frontend.foreign.design import ROLES, ForeignDesign, ForeignMemory
from archsim.frontend.foreign.emit import FlowMapping, decimal, size
from archsim.frontend.foreign.ledger import APPROXIMATED, IGNORED, REFUSED
from archsim.frontend.foreign.memory import settle
from archsim.frontend.foreign.names import plain_name
from archsim.frontend.foreign.placing import PlacedMemory
from archsim.frontend.foreign.section import SourceQuantity
from archsim.frontend.foreign.sheet import SheetSection

_NAMED = {"inputs": "inputs", "weights": "weights", "outputs": "partials"}  # roles of registers
_WAYS = ("read", "write")


def registers_of(part: SheetSection, places: list[PlacedMemory], design: ForeignDesign) -> None:
    """Register files of the PEs with their sizes, and the energy of the MACs and of an element of each operand."""
    found = [place for place in places if place.kind == "registers"]
    _files(part, found, design)
    inner = _innermost(places)
    for place in found:
        _rates(part, place, design)
        if all(inner[role] is not place for role in place.roles):
            for pj in (place.store.read_pj, place.store.write_pj):
                said = "values pass from memory to memory inside the array at no energy here: it is too low"
                settle(part.sheet.ledger, APPROXIMATED, pj, said)
    _mac(part, inner["outputs"], design)
    if _priced(design):
        _registers(part, inner, design)


def _files(part: SheetSection, found: list[PlacedMemory], design: ForeignDesign) -> None:
    if not found:
        return
    files = []
    for place in found:
        bits = place.store.bits.value if place.store.bits else Fraction(8)
        share = max(bits * place.instances / design.macs, Fraction(8))
        name = plain_name(place.store.name, "registers")
        keeps = [_NAMED[role] for role in place.roles]
        files.append(FlowMapping({"name": name, "keeps": keeps, "size": size(share)}))
        if share % 8 or share != bits:
            said = f"{decimal(bits)} bits, {place.instances} instances for {design.macs} units"
            part.sheet.ledger.assume(f"{part.name}.registers.{name}", f"{size(share)} of each PE: {said}")
    stated = next((place.store.bits for place in found if place.store.bits), None)
    part.keys["registers"] = files
    part.sources["registers"] = "; ".join(place.store.bits.source for place in found if place.store.bits) or "user"
    part.sheet.marks[f"{part.name}.registers"] = stated.mark if stated else part.mark


def _rates(part: SheetSection, place: PlacedMemory, design: ForeignDesign) -> None:
    """Registers never limit their array; a rate of less than a value a cycle would."""
    need = max(_bits(design, place.store, role) for role in place.roles)
    settle(part.sheet.ledger, IGNORED, place.store.slots, "inside the array, whose registers have no slots")
    for rate in (place.store.read_bits, place.store.write_bits):
        slow = rate is not None and rate.value < need
        said = "inside the array, whose registers never limit it"
        said += f"; less than a value of {need} b a cycle is stated: cycles are too few" if slow else ""
        if slow or (rate is not None and rate.path != place.store.access_bits.path):
            settle(part.sheet.ledger, APPROXIMATED if slow else IGNORED, rate, said)


def _innermost(places: list[PlacedMemory]) -> dict[str, PlacedMemory | None]:
    """By role the innermost memory, if it lies inside the array."""
    found: dict[str, PlacedMemory | None] = dict.fromkeys(ROLES)
    for place in places:
        for role in place.roles:
            found[role] = place if place.kind in ("registers", "sums") else None
    return found


def _bits(design: ForeignDesign, store: ForeignMemory, role: str) -> int:
    """Bits of a value as this memory keeps it; of outputs those of partial sums."""
    stated = [design.value_bits[key] for key in ("accumulate", role) if key == role or role == "outputs"
              if key in design.value_bits]  # fmt: skip
    return store.value_bits.get(role) or (int(stated[0].value) if stated else 8)


def _price(design: ForeignDesign, place: PlacedMemory, role: str, way: str) -> tuple[Fraction, SourceQuantity] | None:
    """pJ that a MAC spends on one access of its value, its share of it where units have an instance together."""
    pj = place.store.read_pj if way == "read" else place.store.write_pj
    if pj is None:
        return None
    share = Fraction(min(place.instances, design.macs), design.macs)
    return pj.value * _bits(design, place.store, role) / place.store.access_bits.value * share, pj


def _mac(part: SheetSection, sums: PlacedMemory | None, design: ForeignDesign) -> None:
    """The energy of a MAC, with the sum that it reads and writes in a generic array."""
    own = design.units.pj
    cols = prod(int(spread.size.value) for spread in design.spreads if spread.axis == "cols")
    counted = bool(design.dataflow) or sums is None or (sums.kind == "sums" and sums.instances <= cols)
    found = [] if counted or sums is None else [_price(design, sums, "outputs", way) for way in _WAYS]
    known = [each for each in found if each is not None]
    if own is None:
        for _, pj in known:
            said = (
                f"each MAC reads and writes its sum, of a MAC itself no energy is stated; state {part.name}.energy.mac"
            )
            settle(part.sheet.ledger, REFUSED, pj, said)
        return
    if not known or sums is None:
        part.state("energy.mac", f"{decimal(own.value)} pJ", own)
        return
    whole = own.value + sum((price for price, _ in known), Fraction(0))
    beside = "; ".join(pj.source for _, pj in known)
    part.state("energy.mac", f"{decimal(whole)} pJ", own, f"with the sum that a MAC reads and writes: {beside}")
    kept = f"{sums.store.name}.energy, and " if sums.kind == "sums" else ""
    said = f"{kept}{part.name}.energy.mac: each MAC reads and writes its sum; moving sums within the array is free here"
    for _, pj in known:
        settle(part.sheet.ledger, APPROXIMATED, pj, f"{said}: the energy is too low")


def _priced(design: ForeignDesign) -> bool:
    """Whether the source states energies, so that what it does not have costs nothing in it."""
    return any(pj is not None for pj in (design.units.pj, *(s.read_pj for s in design.stores)))


def _registers(part: SheetSection, inner: dict[str, PlacedMemory | None], design: ForeignDesign) -> None:
    """pJ of an element of each operand; an operand without registers in the source costs nothing in them."""
    none = []
    for role, named in _NAMED.items():
        place = inner[role]
        if place is None or (role == "outputs" and not design.dataflow):
            none.append(named)
            continue
        for way in _WAYS:
            found, key = _price(design, place, role, way), f"energy.register_{way}_{named}"
            if found is None:
                said = f"that of the technology table: the source states none of {place.store.name}"
                part.sheet.ledger.assume(f"{part.name}.{key}", said)
                continue
            part.state(key, f"{decimal(found[0])} pJ", found[1], "of an element")
            _streamed(part, role, way, found[1], design)
    why = f"{design.tool} has no register of it in the array"
    if len(none) == len(_NAMED):
        for way in _WAYS:
            part.assume(f"energy.register_{way}", "0 pJ", why)
    else:
        for named in none:
            said = why if named != "partials" or inner["outputs"] is None else "part of a MAC's energy"
            for way in _WAYS:
                part.assume(f"energy.register_{way}_{named}", "0 pJ", said)
    part.assume("energy.wire", "0 pJ", f"{design.tool} has no wires between PEs among these parts")


def _streamed(part: SheetSection, role: str, way: str, pj: SourceQuantity, design: ForeignDesign) -> None:
    """The dataflow of a generic array sends inputs anew for each MAC and keeps weights."""
    if role == "inputs" and way == "write" and not design.dataflow:
        said = (
            f"{part.name}.energy.register_write_inputs: an input is written for each MAC here (dataflow dot_product): "
            "the energy is too high where it stays for several"
        )
        settle(part.sheet.ledger, APPROXIMATED, pj, said)


def array_figures(part: SheetSection, found: list[PlacedMemory], design: ForeignDesign) -> None:
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
            part.state(key, f"{decimal(whole)} {unit}", SourceQuantity(whole, source, known[0][0].mark))
        for quantity, _ in known if len(known) < len(parts) else []:
            said = f"an array has one {key} for units and registers, of which the source states only some"
            settle(part.sheet.ledger, REFUSED, quantity, f"{said}; state {part.name}.{key} yourself")
