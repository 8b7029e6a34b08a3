"""Where it is mapped: memories, outermost first, fan-outs between them, and the compute units below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

READ, WRITE, COMPUTE = "read", "write", "compute"


@dataclass(frozen=True)
class Action:
    """``energy_j`` for one action of ``bits`` bits (of one value when 0), ``per_s`` of which an instance does."""

    energy_j: float
    per_s: float
    bits: float = 1.0


@dataclass(frozen=True)
class Memory:
    """A level that keeps tiles. ``size_bits`` of one instance, None where nothing limits it.

    ``keep``: operands that must have a tile in it, ``may_keep``: those that may. ``bits``: of an operand's values
    where they differ from its own. Latency of an instance: ``combine`` of (actions / rate) over reads and writes,
    or, with ``actions_per_s``, all of its actions at that rate. ``leak_w``: of all instances.
    """

    name: str
    size_bits: float | None
    keep: frozenset[str]
    may_keep: frozenset[str]
    actions: Mapping[str, Action] = field(hash=False)
    combine: Literal["sum", "max"] = "sum"
    actions_per_s: float | None = None
    leak_w: float = 0.0
    bits: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def allowed(self) -> frozenset[str]:
        """Operands that can have a tile in it."""
        return self.keep | self.may_keep


@dataclass(frozen=True)
class Axis:
    """A fan-out to ``fanout`` instances of all below it.

    Operands of ``may_reuse`` are multicast to, or reduced over, instances that differ in no dim of theirs; no loop on
    it may index an operand of ``must_reuse``. ``most_used``: as much of it is used as can be.
    """

    name: str
    fanout: int
    may_reuse: frozenset[str]
    must_reuse: frozenset[str] = frozenset()
    most_used: bool = False


@dataclass(frozen=True)
class Compute:
    """The multiply-accumulate units; one does ``action.per_s`` a second, or ``actions_per_s`` where that is given."""

    name: str
    action: Action
    actions_per_s: float | None = None
    leak_w: float = 0.0


@dataclass(frozen=True)
class Hierarchy:
    """Memories and fan-outs, outermost first, then the compute units."""

    name: str
    parts: tuple[Memory | Axis, ...]
    compute: Compute

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Outermost first."""
        return tuple(part for part in self.parts if isinstance(part, Memory))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Outermost first."""
        return tuple(part for part in self.parts if isinstance(part, Axis))

    def memory(self, name: str) -> Memory:
        """By name; raises KeyError."""
        return {memory.name: memory for memory in self.memories}[name]

    def axis(self, name: str) -> Axis:
        """By name; raises KeyError."""
        return {axis.name: axis for axis in self.axes}[name]

    def blocks(self) -> tuple[tuple[Memory | Axis, ...], ...]:
        """Runs of memories and of axes: a mapping's nodes and spatial loops keep the order of the runs."""
        found: list[list[Memory | Axis]] = []
        for part in self.parts:
            if found and type(found[-1][0]) is type(part):
                found[-1].append(part)
            else:
                found.append([part])
        return tuple(tuple(block) for block in found)
