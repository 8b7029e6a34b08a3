"""Multiply-accumulates by who does them: arrays, vector units, the host. Together they are those of the workload."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from archsim.base.errors import SimulationError
from archsim.ir.activity import Activity
from archsim.ir.workload import Workload


class Macs(NamedTuple):
    """MACs done by each kind of engine."""

    array: int
    vector: int
    host: int

    @property
    def total(self) -> int:
        """MACs of all engines and the host."""
        return self.array + self.vector + self.host


def macs_by_engine(workload: Workload | None, activity: Activity) -> Macs:
    """MACs that commands did, and those of layers on the host.

    Raises SimulationError when they are not the workload's: a MAC that nobody did, or that was done twice.
    """
    done = {"MATMUL": 0, "VECTOR": 0}
    for records in activity.records.values():
        columns = records.columns()
        for op in done:
            of_op = np.array([text.op == op for text in records.texts], dtype=np.bool_)
            done[op] += int(columns.macs[of_op[columns.text]].sum())
    layers = workload.layers if workload is not None else ()
    found = Macs(done["MATMUL"], done["VECTOR"], sum(layer.macs for layer in layers if layer.kind == "host"))
    if workload is not None and found.total != workload.macs:
        raise SimulationError(
            f"MACs are not conserved: the model has {workload.macs}, arrays did {found.array}, vector units "
            f"{found.vector}, the host {found.host}"
        )
    return found
