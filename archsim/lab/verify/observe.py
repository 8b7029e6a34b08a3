"""Keeps each layer's result as it is at the instant at which its last part is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ProgramError
from archsim.ir.program import Program
from archsim.ir.unroll import Step
from archsim.ir.workload import Tensor, Workload
from archsim.lab.verify.slots import WindowedResult
from mapper.execute.run import Executor
from mapper.execute.views import view_bytes
from mapper.groups.windows import WindowPlan

Array = npt.NDArray[Any]
NO_WINDOWS: Mapping[str, WindowPlan] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ObservedResult:
    """A result as an execution left it. ``name``: of its layer, or ``end: TENSOR`` for a graph output and the rows of a
    state; ``values`` in memory order.
    """

    name: str
    op: str
    tensor: str
    values: Array


class ExecutionObserver:
    """Watches one execution. ``layers``: those to keep; the run ends with the last of them where it need not go on.

    ``executed``: what each kept layer's tensor held when its last part was written; ``found``: the same as results.
    """

    def __init__(
        self,
        workload: Workload,
        program: Program,
        steps: Mapping[str, tuple[Step, ...]],
        layers: Collection[str],
        to_the_end: bool,
        appended: Collection[str] = (),
        windows: Mapping[str, WindowPlan] = NO_WINDOWS,
    ) -> None:
        """Count what is still to be written of each layer. ``appended``: tensors of all rows that states have in the
        end; ``windows``: of tensors that have no other place."""
        self._appended = appended
        self._windows = {name: WindowedResult(plan) for name, plan in windows.items()}
        self._workload = workload
        self._stored = {tensor.name: tensor for tensor in program.tensors}
        self._watched = {layer.name: layer for layer in workload.layers if layer.name in layers}
        self._left: Counter[str] = Counter()
        for step in (step for queue in steps.values() for step in queue):
            if self._writes(step):
                self._left[step.command.layer] += 1
        self._to_the_end = to_the_end
        self.found: dict[str, ObservedResult] = {}
        self.executed: dict[str, Array] = {}

    def __call__(self, executor: Executor, step: Step) -> bool:
        """After each command; True when all that was asked for is there."""
        if not self._writes(step):
            return False
        name = step.command.layer
        window = self._windows.get(self._watched[name].output.tensor)
        if window is not None:
            window.collect(executor)
        self._left[name] -= 1
        if self._left[name]:
            return False
        layer = self._watched[name]
        tensor = layer.output.tensor
        self.found[name] = ObservedResult(name, layer.op, tensor, self._held(executor, tensor))
        self.executed[tensor] = self.found[name].values
        return not self._to_the_end and len(self.found) == len(self._watched)

    def finish(self, executor: Executor) -> None:
        """At the end: the graph's outputs as the host finds them, and all rows that its states have then.

        Raises ProgramError where something has written behind them.
        """
        if not self._to_the_end:
            return
        writers = {layer.output.tensor: layer.op for layer in self._workload.layers}
        for name, tensor in self._workload.tensors.items():
            if tensor.kind == "output" or name in self._appended:
                key = f"end: {name}"
                self.found[key] = ObservedResult(key, writers.get(name, ""), name, self._held(executor, name))
        for name in self._appended:
            self._check_behind(executor, self._workload.tensors[name])

    def _check_behind(self, executor: Executor, rows: Tensor) -> None:
        """Raise ProgramError where something lies behind the last row of a state."""
        state = self._workload.tensors[self._root(rows.name)]
        assert state.state is not None
        axis, stored = state.state.axis, self._stored[state.name]
        end, room = rows.shape[axis], state.shape[axis]
        rest = (*state.shape[:axis], room - end, *state.shape[axis + 1 :])
        offset = stored.origin + end * stored.strides[axis]
        if end < room and executor.is_touched(state.name, rest, offset, stored.strides):
            raise ProgramError(f"rows {end} to {room - 1} of state '{state.name}' are written, which nobody appends")

    def _writes(self, step: Step) -> bool:
        """Whether a command writes a part of a watched layer's result."""
        layer = self._watched.get(step.command.layer)
        if layer is None:
            return False
        root = self._root(layer.output.tensor)
        if root in self._windows:
            return any(token == f"{self._windows[root].plan.name}.full" for token, _ in step.signals)
        return any(region.store == root for region in step.command.writes)

    def _held(self, executor: Executor, tensor: str) -> Array:
        if tensor in self._windows:
            return self._windows[tensor].values
        logical = self._workload.tensors[tensor]
        offset, strides = view_bytes(self._stored[self._root(tensor)], logical.view)
        return executor.values(self._root(tensor), logical.shape, offset, strides)

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
