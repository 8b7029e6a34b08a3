"""Which memories of a design become memories of a chip, and which lie inside its array.

A chip has memories that all of an array's PEs share, and registers inside the array. A memory of which there are at
least as many instances as it has compute units each lies in the array, if its operands have another one on the chip.
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.frontend.foreign.design import ROLES, Design, Store


@dataclass(frozen=True)
class Place:
    """A memory and the roles that it keeps as what it is: ``dram``, ``sram`` or ``registers`` of the array."""

    store: Store
    kind: str
    instances: int
    roles: tuple[str, ...]


def places(design: Design) -> list[Place]:
    """Outermost first. A memory may be shared for one operand and lie in the array for another."""
    kinds = {(id(store), role): kind for role in ROLES for store, kind in _way(design, role)}
    found = []
    for store in design.stores:
        for kind in ("dram", "sram", "registers"):
            roles = tuple(role for role in ROLES if kinds.get((id(store), role)) == kind)
            if roles:
                found.append(Place(store, kind, design.instances(store), roles))
    return found


def _way(design: Design, role: str) -> list[tuple[Store, str]]:
    """The memories of a role: the first one on the chip is shared, whatever it is."""
    found: list[tuple[Store, str]] = []
    for store in design.stores:
        if role not in store.roles:
            continue
        kinds = [kind for _, kind in found]
        if store.offchip and "sram" not in kinds:
            found.append((store, "dram"))
        else:
            found.append((store, "registers" if "sram" in kinds and _inside(design, store) else "sram"))
    return found


def _inside(design: Design, store: Store) -> bool:
    instances = design.instances(store)
    return instances > 1 and instances**2 >= design.macs
