"""What a chip states of a DRAM's controller, as the models of the controller take it."""

from __future__ import annotations

from typing import cast

from archsim.facts.dram.device import ControllerPolicy, RefreshPolicy, RowPolicy
from archsim.spec.memories import DramControl


def policy_of(control: DramControl) -> ControllerPolicy:
    """What the controller does with queues, rows and refreshes."""
    return ControllerPolicy(
        read_queue=control.read_queue,
        write_queue=control.write_queue,
        rows=cast(RowPolicy, control.rows),
        row_timeout_ps=control.row_timeout_ps,
        refresh=cast(RefreshPolicy, control.refresh),
        turn_bursts=control.turn,
    )
