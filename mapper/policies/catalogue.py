"""What a schedule policy is: the Protocol of a kind that has its folder already and is not run yet.

A policy says what another compiler or runtime would allow of the schedules that this one could make. Files in the
folder ``policies`` of a plugin directory are refused by name (``archsim.base.registry``) until policies are run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from archsim.base import registry
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture


@dataclass(frozen=True, slots=True)
class ScheduleRestriction:
    """What is left of all schedules; as it is by default it restricts nothing.

    ``groups``: names of layers that run as one, each layer in one group. ``tiles``: by layer, tile sizes of
    dims from which the search may choose, any where a layer or dim is not named. ``prefetched``: by layer, operands
    that are copied whole before the group's first product. ``overlapping``: pairs of engines that may work at one
    time; None: all.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    tiles: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    prefetched: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    overlapping: tuple[tuple[str, str], ...] | None = None


class SchedulePolicy(Protocol):
    """What the file of a schedule policy defines."""

    def restrict(self, workload: Workload, chip: Architecture) -> ScheduleRestriction:
        """What the policy leaves of a model's schedules on a chip.

        It never returns a time, bytes or an order that depends on a shape, and names no model: what is left is
        searched, lowered and simulated as any schedule is.
        """


KIND = registry.Kind("schedule policy", "mapper.policies", "policies", "restrict", SchedulePolicy)
