"""A design of another tool as a chip file: memories of constant rate, shared SRAMs, one array, a vector unit."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, log
from typing import Any

from archsim.base.errors import ArchsimError, ConfigError
from archsim.frontend.foreign.design import ROLES, ForeignDesign, ForeignFanout
from archsim.frontend.foreign.emit import FlowMapping, decimal
from archsim.frontend.foreign.ledger import REFUSED, ImportLedger
from archsim.frontend.foreign.memory import dram, outside, sram, streams
from archsim.frontend.foreign.names import plain_name
from archsim.frontend.foreign.placing import PlacedMemory, places
from archsim.frontend.foreign.registers import array_figures, registers_of
from archsim.frontend.foreign.section import SourceQuantity
from archsim.frontend.foreign.sheet import ChipSheet, SheetSection
from archsim.spec.nodes import Mark

TABLES = {45: ("45nm", "0.9 V"), 7: ("7nm", "0.75 V")}  # feature size in nm -> table, its supply
TEXT = "<chip>"  # the file's name in messages of archsim's own check
_WHOLE = {4: "int4", 8: "int8", 16: "int16", 32: "int32"}
_REAL = {8: "fp8", 16: "fp16", 32: "fp32"}


def document(design: ForeignDesign, ledger: ImportLedger) -> tuple[dict[str, Any], dict[str, Mark]]:
    """The chip file, and by key path where each number stands in the source. Raises ConfigError naming a place."""
    sheet = ChipSheet(ledger)
    top = SheetSection(sheet, "", design.mark)
    _head(top, design)
    dtypes = _dtypes(top, design)
    found = places(design)
    hierarchy = [_outer(sheet, design, found)] if not _covered(found, "dram") else []
    hierarchy += [{"dram": dram(sheet, place, design)} for place in found if place.kind == "dram"]
    summed = any(place.kind == "sums" for place in found)
    hierarchy += [{"sram": sram(sheet, place, design, summed)} for place in found if place.kind in ("sram", "sums")]
    missing = [role for role in ROLES if role not in _roles(found, "sram")]
    if missing:
        hierarchy.append({"sram": streams(sheet, missing, found, design)})
    hierarchy.append({"parallel": _leaves(sheet, design, found, dtypes)})
    head = top.document()
    sources = head.pop("sources")
    whole = {**head, "sources": sources, "hierarchy": hierarchy}
    if design.free:
        whole["not_modelled"] = list(design.free)
    return whole, sheet.marks


def _outer(sheet: ChipSheet, design: ForeignDesign, found: list[PlacedMemory]) -> dict[str, Any]:
    held = _roles(found, "dram")
    return {"dram": outside(sheet, [role for role in ROLES if role not in held], design)}


def _covered(found: list[PlacedMemory], kind: str) -> bool:
    return set(_roles(found, kind)) == set(ROLES)


def _roles(found: list[PlacedMemory], kind: str) -> list[str]:
    return [role for place in found if place.kind == kind for role in place.roles]


def _head(top: SheetSection, design: ForeignDesign) -> None:
    top.put("schema", "archsim.chip/1")
    top.put("name", plain_name(design.name, "chip"))
    top.put("description", f"imported from {design.tool}")
    top.put("source", f"{design.tool}: {design.file}")
    nm = design.technology_nm
    node, supply = TABLES[min(TABLES, key=lambda known: abs(log(known / float(nm.value))))] if nm else TABLES[45]
    top.put("technology", FlowMapping())
    if nm and node == f"{decimal(nm.value)}nm":
        top.state("technology.node", node, nm)
    else:
        why = f"the table nearest to {decimal(nm.value)} nm" if nm else "no node is stated"
        top.assume("technology.node", node, f"{why}; it prices what states no energy or area of its own")
    top.assume("technology.voltage", supply, f"nominal supply of the {node} table")
    clock = design.clock_hz
    if clock is None:
        top.assume("clock", "1 GHz", f"{design.tool} counts in cycles, no clock is stated")
    else:
        top.state("clock", _frequency(clock.value), clock)
    del top.sources["technology.node"]  # a name is no number


def _frequency(hz: Fraction) -> str:
    for unit, factor in (("GHz", 10**9), ("MHz", 10**6), ("kHz", 10**3)):
        if hz >= factor:
            return f"{decimal(hz / factor)} {unit}"
    return f"{decimal(hz)} Hz"


def _dtypes(top: SheetSection, design: ForeignDesign) -> dict[str, str]:
    """The number format of each role: of the bits that the source states, else 8 and sums of 32."""
    dtypes = FlowMapping()
    known = _REAL if design.floating else _WHOLE
    stated = dict(design.value_bits)
    _as_inputs(top, stated)
    for role, usual in (("inputs", 8), ("weights", 8), ("outputs", 8), ("accumulate", 32)):
        of = stated.get(role)
        bits = of.value if of else usual
        dtypes[role] = known[next((n for n in known if n >= bits), max(known))]
        if of is None:
            top.sheet.ledger.assume(f"dtypes.{role}", f"{dtypes[role]}: no width is stated for {role}")
        else:
            top.sheet.marks[f"dtypes.{role}"] = of.mark
        if of is not None and of.value not in known:
            said = f"{dtypes[role]}: {of.source}; archsim has {', '.join(map(str, known))} bits"
            top.sheet.ledger.assume(f"dtypes.{role}", said)
    _wide_sums(top, dtypes, known)
    dtypes |= {"tables": dtypes["inputs"], "kv": dtypes["inputs"]}
    top.keys["dtypes"] = dtypes
    return dtypes


def _as_inputs(top: SheetSection, stated: dict[str, SourceQuantity]) -> None:
    """Outputs have the format of inputs, which they become; wider ones are what sums are."""
    outputs, inputs = stated.get("outputs"), stated.get("inputs")
    if outputs is None:
        stated.update({"outputs": inputs} if inputs is not None else {})
        return
    if outputs.value != (inputs.value if inputs is not None else 8):
        said = "outputs are the next layer's inputs in archsim and have their width; this one is that of partial sums"
        top.sheet.ledger.settle(REFUSED, outputs.path, outputs.mark, said)
        top.sheet.ledger.assume("dtypes.outputs", f"as inputs: {said}: {outputs.source}")
        stated.setdefault("accumulate", outputs)
        stated.pop("outputs")
        stated.update({"outputs": inputs} if inputs is not None else {})


def _wide_sums(top: SheetSection, dtypes: dict[str, str], known: dict[int, str]) -> None:
    """Sums are no narrower than factors."""
    bits = {name: number for number, name in known.items()}
    wide = max(dtypes["inputs"], dtypes["weights"], key=lambda name: bits[name])
    if bits[dtypes["accumulate"]] < bits[wide]:
        dtypes["accumulate"] = wide
        top.sheet.ledger.assume("dtypes.accumulate", f"{wide}: archsim's sums are no narrower than their factors")


def _leaves(
    sheet: ChipSheet, design: ForeignDesign, found: list[PlacedMemory], dtypes: dict[str, str]
) -> list[dict[str, Any]]:
    units = design.units
    part = sheet.part(units.name, "array", units.mark)
    part.put("kind", "systolic" if design.dataflow else "generic")
    rows, cols = _shape(part, design)
    _dataflow(part, design)
    _rate(part, design, dtypes)
    registers_of(part, found, design)
    array_figures(part, [place for place in found if place.kind == "registers"], design)
    return [{"array": part.document()}, {"vector": _vector(sheet, design, cols)}]


def _dataflow(part: SheetSection, design: ForeignDesign) -> None:
    if design.dataflow:
        part.put("dataflow", design.dataflow)
        return
    part.assume("dataflow", "dot_product", f"{design.tool} leaves the dataflow to its mapper; no fill and no drain")
    del part.sources["dataflow"]


def _rate(part: SheetSection, design: ForeignDesign, dtypes: dict[str, str]) -> None:
    pair = dtypes["inputs"]
    pair = pair if dtypes["weights"] == pair else f"{pair}x{dtypes['weights']}"
    rate = design.units.rate
    if rate is None:
        part.assume("rates", {pair: 1}, "one MAC a cycle of each unit")
    else:
        part.state("rates", {pair: str(rate.value) if rate.value.denominator > 1 else int(rate.value)}, rate)


def _shape(part: SheetSection, design: ForeignDesign) -> tuple[int, int]:
    """Rows (over which sums are added) and columns of all fan-outs."""
    sides = {"rows": 1, "cols": 1}
    loose = []
    for spread in design.spreads:
        if spread.axis:
            sides[spread.axis] *= int(spread.size.value)
        elif spread.size.value > 1:
            loose.append(spread)
    said = "; ".join(spread.size.source for spread in design.spreads) or f"{design.file}: no fan-out, one unit"
    if loose:
        _fold(loose, sides)
        names = ", ".join(f"'{spread.name}'" for spread in loose)
        why = f"which fan-outs add partial sums is left to the mapper: {names} are laid out so"
        part.sheet.ledger.assume(f"{part.name}.shape", f"[{sides['rows']}, {sides['cols']}]: {why}")
    shape = sides["rows"], sides["cols"]
    mark = design.spreads[0].size.mark if design.spreads else design.units.mark
    part.state("shape", list(shape), SourceQuantity(Fraction(1), said, mark))
    return shape


def _fold(loose: list[ForeignFanout], sides: dict[str, int]) -> None:
    """One fan-out as near to a square as it divides; of several the last one is the rows."""
    *others, last = [int(spread.size.value) for spread in loose]
    if not others:
        rows = next(rows for rows in range(isqrt(min(last, 1 << 32)), 0, -1) if last % rows == 0)
        sides["rows"] *= rows
        sides["cols"] *= last // rows
        return
    sides["rows"] *= last
    for count in others:
        sides["cols"] *= count


def _vector(sheet: ChipSheet, design: ForeignDesign, cols: int) -> dict[str, Any]:
    lanes = design.lanes
    part = sheet.part(lanes.name if lanes else "vector", "vector", design.units.mark)
    if lanes is None:
        part.assume("lanes", min(cols, 1 << 20), f"not in the {design.tool} file; a lane for each column of the array")
    else:
        part.state("lanes", int(lanes.lanes.value), lanes.lanes)
        if lanes.pj is not None:
            part.state("energy.lane_op", f"{decimal(lanes.pj.value)} pJ", lanes.pj)
    part.assume("functions", {"exp": 1, "divide": 1, "sqrt": 1}, "as fast as other operations")
    return part.document()


def misfit(error: ArchsimError, marks: dict[str, Mark], mark: Mark) -> ConfigError:
    """What is said where archsim's own check refuses the chip: at the place of the source that led to it."""
    lines = [line.strip() for line in str(error).splitlines()]
    line = lines[1] if len(lines) > 1 else lines[0]
    _, _, said = line.partition(": ") if line.startswith(TEXT) else ("", "", line)
    path = said.partition(": ")[0]
    while path and path not in marks:
        path = path.rpartition(".")[0]
    return ConfigError(f"{marks.get(path, mark)}: as a chip of archsim: {said}")
