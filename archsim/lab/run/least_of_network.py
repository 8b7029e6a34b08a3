"""What no schedule of a run's network undercuts on its chip."""

from __future__ import annotations

from archsim.lab.run.job import BuiltJob
from archsim.lab.run.offchip import outer_rates
from mapper.bound.network import NetworkBound, network_bound
from mapper.cost.chip_rates import ChipCosts


def least_of(built: BuiltJob) -> NetworkBound | None:
    """Of all layers, left out or not; None for a Program given as text."""
    if built.workload is None or built.mapping is None:
        return None
    chip = ChipCosts(built.architecture, outer_rates(built.architecture), {})
    return network_bound(built.workload, chip, built.mapping.dtypes)
