"""What a schedule policy is: what a vendor's compiler or library allows of the schedules that this compiler could make.

A file of the folder ``policies`` of a plugin directory is found by its name, as those here are. What a policy leaves is
searched, lowered and simulated as any schedule is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from archsim.base import registry
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture


@dataclass(frozen=True, slots=True)
class LayerRestriction:
    """What is left of all schedules of a layer; as it is by default it restricts nothing.

    ``units``: names of the units that it may run on (any when empty, or when none of them can run it, such as a vector
    unit a product in a format that is converted for an array). ``prefetch``: operands that come in are copied
    whole before the layer's first product, the largest first, as far as they fit into this share of the memory that
    the unit reads; None: none has to be. ``tiles``: the tiles (m, n, k) that it may be cut into, of a product on an
    array its output rows, output columns and steps of its reduction, of other layers m outputs; any where there are
    none.
    """

    units: tuple[str, ...] = ()
    prefetch: Fraction | None = None
    tiles: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleRestriction:
    """What is left of the schedules of a model. ``layers``: by their names; those that are not named are not
    restricted."""

    layers: Mapping[str, LayerRestriction] = field(default_factory=dict)


class SchedulePolicy(Protocol):
    """What the file of a schedule policy defines, or may define beside it.

    ``PLATFORM_KEYS``: the keys of a platform that it reads, of those that are there for policies (``prefetch``).
    ``ONE_KERNEL``: a model is launched as one kernel, whose time is that of no single operator; else each layer is a
    kernel of its own. ``USUAL_PREFETCH``: the share that it prefetches where a platform states none.
    """

    PLATFORM_KEYS: tuple[str, ...] = ()
    ONE_KERNEL: bool = False
    USUAL_PREFETCH: Fraction = Fraction(0)

    def restrict(self, workload: Workload, chip: Architecture) -> ScheduleRestriction:
        """What the policy leaves of a model's schedules on a chip.

        It never returns a time, bytes or an order that depends on a shape, and names no model.
        """


KIND = registry.Kind("schedule policy", "mapper.policies", "policies", "restrict", SchedulePolicy)


def get(name: str) -> SchedulePolicy:
    """A policy by its name; raises ConfigError with the names present for another one."""
    found: SchedulePolicy = registry.load(KIND, name)
    return found


def restriction(name: str, workload: Workload, chip: Architecture) -> ScheduleRestriction:
    """What a policy leaves of a model's schedules; everything where there is no policy ('')."""
    return get(name).restrict(workload, chip) if name else ScheduleRestriction()


def reads(name: str, key: str) -> bool:
    """Whether a policy reads a key of the platform that states it."""
    return key in getattr(get(name), "PLATFORM_KEYS", ())


def is_one_kernel(name: str) -> bool:
    """Whether a policy launches a model as one kernel; without one ('') it does not."""
    return bool(name) and bool(getattr(get(name), "ONE_KERNEL", False))


def usual_prefetch(name: str) -> Fraction:
    """What a policy takes where a platform states no ``prefetch``: its file's ``USUAL_PREFETCH``; 0 where it has none,
    or where there is no policy ('')."""
    return Fraction(getattr(get(name), "USUAL_PREFETCH", 0)) if name else Fraction(0)


def names() -> tuple[str, ...]:
    """The policies that there are."""
    return tuple(registry.modules(KIND))
