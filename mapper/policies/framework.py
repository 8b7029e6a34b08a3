"""A framework that runs a model operator by operator: each layer is a kernel of its own, in any schedule.

Source: eager execution of PyTorch, which launches one kernel after the other into a stream.
"""

from __future__ import annotations

from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from mapper.policies.catalogue import ScheduleRestriction


def restrict(workload: Workload, chip: Architecture) -> ScheduleRestriction:
    """Nothing but that layers do not run together."""
    return ScheduleRestriction()
