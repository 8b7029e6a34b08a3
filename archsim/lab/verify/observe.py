"""Compares each layer's result with the reference at the instant at which its last part is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.ir.program import Program
from archsim.ir.unroll import Step
from archsim.ir.workload import Workload
from archsim.lab.verify.outcome import Row
from mapper.execute.run import Executor
from mapper.execute.views import view_bytes

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a tensor of the Workload should hold, in memory order, and who says so. ``allowed``: largest difference."""

    values: Array
    reference: str
    allowed: float


class Observer:
    """Watches one execution. ``expected``: by Workload tensor; ``layers``: those to compare (all when empty)."""

    def __init__(
        self,
        workload: Workload,
        program: Program,
        steps: Mapping[str, tuple[Step, ...]],
        expected: Mapping[str, Expected],
        layers: frozenset[str],
    ) -> None:
        """Count what is still to be written of each layer."""
        self._workload, self._expected = workload, expected
        self._stored = {tensor.name: tensor for tensor in program.tensors}
        self.wanted = {layer.name: layer for layer in workload.layers if not layers or layer.name in layers}
        self._left: Counter[str] = Counter()
        for step in (step for queue in steps.values() for step in queue):
            if self._writes(step):
                self._left[step.command.layer] += 1
        self._all = not layers
        self.rows: dict[str, Row] = {}

    def __call__(self, executor: Executor, step: Step) -> bool:
        """After each command; True when all that was asked for has been compared."""
        if not self._writes(step):
            return False
        name = step.command.layer
        self._left[name] -= 1
        if self._left[name]:
            return False
        layer = self.wanted[name]
        self.rows[name] = self._row(executor, layer.op, layer.output.tensor, name)
        return not self._all and len(self.rows) == len(self.wanted)

    def finish(self, executor: Executor) -> None:
        """At the end: the graph's outputs as the host finds them."""
        if not self._all:
            return
        writers = {layer.output.tensor: layer.op for layer in self._workload.layers}
        for name, tensor in self._workload.tensors.items():
            if tensor.kind == "output":
                self.rows[f"end: {name}"] = self._row(executor, writers.get(name, ""), name, f"end: {name}")

    def _writes(self, step: Step) -> bool:
        """Whether a command writes a part of a watched layer's result."""
        layer = self.wanted.get(step.command.layer)
        if layer is None:
            return False
        root = self._root(layer.output.tensor)
        return any(region.store == root for region in step.command.writes)

    def _row(self, executor: Executor, op: str, tensor: str, name: str) -> Row:
        logical = self._workload.tensors[tensor]
        offset, strides = view_bytes(self._stored[self._root(tensor)], logical.view)
        found = executor.values(self._root(tensor), logical.shape, offset, strides)
        known = self._expected[tensor]
        error, different, apart = differences(found, known.values)
        passed = apart <= known.allowed
        constant = found.size > 1 and is_flat(known.values)
        return Row(name, op, tensor, found.size, error, different, passed, known.reference, constant)

    def _root(self, tensor: str) -> str:
        view = self._workload.tensors[tensor].view
        return tensor if view is None else view.base


def differences(found: Array, expected: Array) -> tuple[float, int, float]:
    """(largest difference over the reference's largest magnitude, number of unequal elements, largest difference)."""
    ours, theirs = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(ours - theirs))
    apart[np.isnan(apart)] = np.inf
    most = float(np.max(apart, initial=0.0))
    return most / (magnitude(expected) or 1.0), int(np.count_nonzero(apart)), most


def is_flat(values: Array) -> bool:
    """Whether all elements are equal."""
    return bool(np.all(values == values.flat[0])) if values.size else True


def magnitude(values: Array) -> float:
    """The largest finite magnitude."""
    known = np.asarray(values, np.float64)
    return float(np.max(np.abs(known), initial=0.0, where=np.isfinite(known)))
