"""Bytes that a run of a network has to move to and from DRAM, however it is scheduled.

Weights and rows of tables that are looked up, the model's inputs and the rows of states that were there before come in
once; the model's outputs and the rows that are appended to states go out once. What layers make for one another could
stay on chip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from archsim.ir.workload import Tensor, Workload
from archsim.spec.architecture import Architecture
from mapper.bound.touched import touched
from mapper.problem.operands import ACC, OUT, OperandPlan
from mapper.problem.packed import SCALE, base_of
from mapper.problem.problem import Problem
from mapper.problem.strides import row_major

READ = ("weight", "input", "state")  # kinds of tensors that are there when a run begins
WRITTEN = ("output", "state")  # kinds of tensors that are there when it has ended


class _Part(NamedTuple):
    """Bytes of a tensor, or of a view of one, that an operand touches; its scales are apart from its elements."""

    tensor: str
    scales: bool
    size_bytes: int


def compulsory_bytes(workload: Workload, problems: Iterable[Problem], architecture: Architecture) -> dict[str, int]:
    """By DRAM part, of the layers that are these ``problems``."""
    moved: dict[tuple[str, str, bool], list[_Part]] = {}
    for problem in problems:
        for plan in _outermost(problem, architecture):
            base = workload.tensors[base_of(workload, _owner(plan, workload))]
            is_out = plan.operand == OUT
            if base.kind in (WRITTEN if is_out else READ):
                part = _part(problem, plan, workload, base)
                moved.setdefault((plan.home, base.name, is_out), []).append(part)
    found = {memory.name: 0 for memory in architecture.memories if memory.kind == "dram"}
    for (home, _, _), parts in moved.items():
        found[home] += _union(parts, workload)
    return found


def _outermost(problem: Problem, architecture: Architecture) -> Iterator[OperandPlan]:
    """Of each operand what moves between its tensor in DRAM and the chip."""
    for plan in problem.operands:
        is_first = plan.operand != ACC and not plan.made_of and not plan.beyond
        if is_first and not plan.resident and architecture.memory(plan.home).kind == "dram":
            yield plan


def _owner(plan: OperandPlan, workload: Workload) -> str:
    """The tensor of the workload that a plan moves elements of, or scales."""
    return plan.tensor if plan.tensor in workload.tensors else plan.tensor.removesuffix(SCALE)


def _part(problem: Problem, plan: OperandPlan, workload: Workload, base: Tensor) -> _Part:
    name = _owner(plan, workload)
    rows = workload.tensors[name].shape[plan.rows.axis] if plan.rows is not None else 0
    axis, past = -1, 0
    if base.state is not None and plan.operand != OUT:
        axis, past = _state_axis(workload.tensors[name], base), base.state.past
        if axis < 0:
            return _Part(name, plan.tensor != name, 0)
    elements = touched(plan, problem.layer, rows, axis, past)
    return _Part(name, plan.tensor != name, elements * plan.element_bytes)


def _state_axis(tensor: Tensor, base: Tensor) -> int:
    """The axis of a state's rows, of a view of it the one that moves from row to row from its beginning; -1: none."""
    assert base.state is not None
    if tensor.view is None:
        return base.state.axis
    step = row_major(base.shape, 1)[base.state.axis]
    begins = tensor.view.offset // step % base.shape[base.state.axis]
    return tensor.view.strides.index(step) if step in tensor.view.strides and not begins else -1


def _union(parts: Sequence[_Part], workload: Workload) -> int:
    """Bytes that any of the parts touches, at least: all of those that cannot meet, the largest of those that can."""
    largest: dict[tuple[str, bool], int] = {}
    for part in parts:
        key = part.tensor, part.scales
        largest[key] = max(largest.get(key, 0), part.size_bytes)
    boxes = {name: _box(workload, name) for name, _ in largest}
    return sum(_apart(largest, boxes, scales) for scales in (False, True))


Box = tuple[range, ...]


def _apart(sizes: Mapping[tuple[str, bool], int], boxes: Mapping[str, Box | None], scales: bool) -> int:
    names = [name for name, of in sizes if of == scales]
    clusters = {name: {name} for name in names}
    for one, other in combinations(names, 2):
        if clusters[one] is not clusters[other] and _meet(boxes[one], boxes[other]):
            clusters[one] |= clusters[other]
            clusters.update(dict.fromkeys(clusters[other], clusters[one]))
    distinct = {id(cluster): cluster for cluster in clusters.values()}
    return sum(max(sizes[name, scales] for name in cluster) for cluster in distinct.values())


def _meet(one: Box | None, other: Box | None) -> bool:
    """Whether two boxes may have elements in common; None may with any."""
    if one is None or other is None:
        return True
    return all(max(a.start, b.start) < min(a.stop, b.stop) for a, b in zip(one, other, strict=True))


def _box(workload: Workload, name: str) -> Box | None:
    """Where a tensor lies in the one that owns its storage, along the axes of that; None where it is no box of it."""
    tensor, offset = workload.tensors[name], 0
    strides = tensor.view.strides if tensor.view is not None else row_major(tensor.shape, 1)
    base = tensor
    while base.view is not None:
        offset += base.view.offset
        base = workload.tensors[base.view.base]
    if strides != row_major(base.shape, 1):
        return None
    found = []
    for step, length, size in zip(strides, base.shape, tensor.shape, strict=True):
        begin = offset // step % length
        if begin + size > length:
            return None
        found.append(range(begin, begin + size))
    return tuple(found)
