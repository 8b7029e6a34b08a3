"""A chip as other tools describe it: memories and fan-outs, outermost first, with the compute units below.

Bits and cycles throughout; energies in pJ of one access, areas in mm2 and powers in W of one instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from archsim.frontend.foreign.section import Quantity
from archsim.spec.nodes import Mark

ROLES = ("inputs", "weights", "outputs")


@dataclass(frozen=True)
class Store:
    """A memory. ``bits``: capacity of an instance, None where nothing limits it. ``access_bits``: of one access.

    ``read_bits``, ``write_bits``: in a cycle of one instance, None where nothing limits them; with ``shared`` over the
    same ports, so that their sum is limited. ``value_bits``: of an operand's values where they differ from the chip's.
    ``copies``: instances, where they are not those of the fan-outs above. ``offchip``: where tensors lie at first.
    ``slots``: tiles of an operand that it must hold at a time.
    """

    name: str
    mark: Mark
    roles: frozenset[str]
    bits: Quantity | None
    access_bits: Quantity
    read_pj: Quantity | None = None
    write_pj: Quantity | None = None
    read_bits: Quantity | None = None
    write_bits: Quantity | None = None
    shared: bool = False
    ports: int = 1
    area_mm2: Quantity | None = None
    leakage_w: Quantity | None = None
    latency_cycles: Quantity | None = None
    slots: Quantity | None = None
    offchip: bool = False
    copies: int | None = None
    value_bits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Spread:
    """A fan-out to ``size`` instances of all that stands below it.

    ``axis``: 'rows' where partial sums are added over it, 'cols' elsewhere, '' where the tool does not say.
    """

    name: str
    size: Quantity
    axis: str = ""


@dataclass(frozen=True)
class Units:
    """Multiply-accumulate units: ``rate`` MACs a cycle of one of them, ``pj`` of one MAC."""

    name: str
    mark: Mark
    rate: Quantity | None = None
    pj: Quantity | None = None
    area_mm2: Quantity | None = None
    leakage_w: Quantity | None = None


@dataclass(frozen=True)
class Lanes:
    """A second kind of unit, which archsim takes for the vector unit: elements a cycle."""

    name: str
    lanes: Quantity
    pj: Quantity | None = None


@dataclass(frozen=True)
class Design:
    """``levels`` outermost first. ``value_bits``: role or 'accumulate' -> bits. ``dataflow``: '' for a generic array.

    ``free``: what the tool leaves out of its model, in words, for ``not_modelled``.
    """

    tool: str
    name: str
    file: str
    mark: Mark
    levels: tuple[Store | Spread, ...]
    units: Units
    clock_hz: Quantity | None = None
    value_bits: Mapping[str, Quantity] = field(default_factory=dict)
    floating: bool = False
    technology_nm: Quantity | None = None
    dataflow: str = ""
    lanes: Lanes | None = None
    free: tuple[str, ...] = ()

    @property
    def stores(self) -> tuple[Store, ...]:
        """Outermost first."""
        return tuple(level for level in self.levels if isinstance(level, Store))

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """Outermost first."""
        return tuple(level for level in self.levels if isinstance(level, Spread))

    def instances(self, store: Store) -> int:
        """How many of a memory there are."""
        if store.copies is not None:
            return store.copies
        above = self.levels[: next(at for at, level in enumerate(self.levels) if level is store)]
        return prod(int(level.size.value) for level in above if isinstance(level, Spread))

    @property
    def macs(self) -> int:
        """Compute units."""
        return prod(int(spread.size.value) for spread in self.spreads)


def constant(value: int | Fraction, source: str, mark: Mark) -> Quantity:
    """A number that no key states."""
    return Quantity(Fraction(value), source, mark)
