"""Which memories of a design become memories of a chip, and which lie inside its array.

A chip has memories that all of an array's PEs share, and registers inside the array. A memory of which each compute
unit has one lies in the array; so does one of which there are at least as many as units each has, if its operands have
another one on the chip. Of those the innermost one, where it keeps outputs alone and is large enough, becomes the
memory of partial sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from archsim.frontend.foreign.design import ROLES, ForeignDesign, ForeignMemory

SUM_ROWS = 16  # rows of sums, a value for each column, that a memory of partial sums must hold twice


@dataclass(frozen=True)
class PlacedMemory:
    """A memory and the roles that it keeps as what it is: ``dram``, ``sram``, ``sums`` or ``registers`` of the array.

    ``sums``: an SRAM of partial sums alone, beside the one of outputs.
    """

    store: ForeignMemory
    kind: str
    instances: int
    roles: tuple[str, ...]


def places(design: ForeignDesign) -> list[PlacedMemory]:
    """Outermost first. A memory may be shared for one operand and lie in the array for another."""
    kinds = {(id(store), role): kind for role in ROLES for store, kind in _way(design, role)}
    found = []
    for store in design.stores:
        for kind in ("dram", "sram", "sums", "registers"):
            roles = tuple(role for role in ROLES if kinds.get((id(store), role)) == kind)
            if roles:
                found.append(PlacedMemory(store, kind, design.instances(store), roles))
    return found


def _way(design: ForeignDesign, role: str) -> list[tuple[ForeignMemory, str]]:
    """The memories of a role, outermost first, with what each becomes."""
    found: list[tuple[ForeignMemory, str]] = []
    for store in design.stores:
        if role not in store.roles:
            continue
        kinds = [kind for _, kind in found]
        if store.offchip and set(kinds) <= {"dram"}:
            found.append((store, "dram"))
        else:
            found.append((store, "registers" if _inside(design, store, shared="sram" in kinds) else "sram"))
    if found and role == "outputs" and found[-1][1] == "registers" and _sums(design, found[-1][0]):
        found[-1] = found[-1][0], "sums"
    return found


def _sums(design: ForeignDesign, store: ForeignMemory) -> bool:
    """Whether all instances together can add up the sums of a tile; a systolic array streams longer ones."""
    if store.roles != frozenset(("outputs",)):
        return False
    cols = prod(int(spread.size.value) for spread in design.spreads if spread.axis == "cols")
    width = store.value_bits.get("outputs", int(store.access_bits.value))
    needed = 2 * SUM_ROWS * cols * width
    return not design.dataflow and store.bits is not None and store.bits.value * design.instances(store) >= needed


def _inside(design: ForeignDesign, store: ForeignMemory, shared: bool) -> bool:
    """``shared``: its operand has a memory for all units above it."""
    instances = design.instances(store)
    return instances > 1 and (instances >= design.macs or (shared and instances**2 >= design.macs))
