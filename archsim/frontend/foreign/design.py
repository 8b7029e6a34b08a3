"""A chip as other tools describe it: memories and fan-outs, outermost first, with the compute units below.

Bits and cycles throughout; energies in pJ of one access, areas in mm2 and powers in W of one instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from archsim.frontend.foreign.section import SourceQuantity
from archsim.spec.nodes import Mark

ROLES = ("inputs", "weights", "outputs")


@dataclass(frozen=True)
class ForeignMemory:
    """A memory. ``bits``: capacity of an instance, None where nothing limits it. ``access_bits``: of one access.

    ``read_bits``, ``write_bits``: in a cycle of one instance, None where nothing limits them; with ``shared`` over the
    same ports, so that their sum is limited. ``value_bits``: of an operand's values where they differ from the chip's.
    ``copies``: instances, where they are not those of the fan-outs above. ``offchip``: where tensors lie at first.
    ``slots``: tiles of an operand that it must hold at a time.
    """

    name: str
    mark: Mark
    roles: frozenset[str]
    bits: SourceQuantity | None
    access_bits: SourceQuantity
    read_pj: SourceQuantity | None = None
    write_pj: SourceQuantity | None = None
    read_bits: SourceQuantity | None = None
    write_bits: SourceQuantity | None = None
    shared: bool = False
    ports: int = 1
    area_mm2: SourceQuantity | None = None
    leakage_w: SourceQuantity | None = None
    latency_cycles: SourceQuantity | None = None
    slots: SourceQuantity | None = None
    offchip: bool = False
    copies: int | None = None
    value_bits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ForeignFanout:
    """A fan-out to ``size`` instances of all that stands below it.

    ``axis``: 'rows' where partial sums are added over it, 'cols' elsewhere, '' where the tool does not say.
    """

    name: str
    size: SourceQuantity
    axis: str = ""


@dataclass(frozen=True)
class ForeignMacs:
    """Multiply-accumulate units: ``rate`` MACs a cycle of one of them, ``pj`` of one MAC."""

    name: str
    mark: Mark
    rate: SourceQuantity | None = None
    pj: SourceQuantity | None = None
    area_mm2: SourceQuantity | None = None
    leakage_w: SourceQuantity | None = None


@dataclass(frozen=True)
class ForeignLanes:
    """A second kind of unit, which archsim takes for the vector unit: elements a cycle."""

    name: str
    lanes: SourceQuantity
    pj: SourceQuantity | None = None


@dataclass(frozen=True)
class ForeignDesign:
    """``levels`` outermost first. ``value_bits``: role or 'accumulate' -> bits. ``dataflow``: '' for a generic array.

    ``free``: what the tool leaves out of its model, in words, for ``not_modelled``.
    """

    tool: str
    name: str
    file: str
    mark: Mark
    levels: tuple[ForeignMemory | ForeignFanout, ...]
    units: ForeignMacs
    clock_hz: SourceQuantity | None = None
    value_bits: Mapping[str, SourceQuantity] = field(default_factory=dict)
    floating: bool = False
    technology_nm: SourceQuantity | None = None
    dataflow: str = ""
    lanes: ForeignLanes | None = None
    free: tuple[str, ...] = ()

    @property
    def stores(self) -> tuple[ForeignMemory, ...]:
        """Outermost first."""
        return tuple(level for level in self.levels if isinstance(level, ForeignMemory))

    @property
    def spreads(self) -> tuple[ForeignFanout, ...]:
        """Outermost first."""
        return tuple(level for level in self.levels if isinstance(level, ForeignFanout))

    def instances(self, store: ForeignMemory) -> int:
        """How many of a memory there are."""
        if store.copies is not None:
            return store.copies
        above = self.levels[: next(at for at, level in enumerate(self.levels) if level is store)]
        return prod(int(level.size.value) for level in above if isinstance(level, ForeignFanout))

    @property
    def macs(self) -> int:
        """Compute units."""
        return prod(int(spread.size.value) for spread in self.spreads)


def constant(value: int | Fraction, source: str, mark: Mark) -> SourceQuantity:
    """A number that no key states."""
    return SourceQuantity(Fraction(value), source, mark)
