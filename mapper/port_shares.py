"""How evenly the parts of a layer on many cores lie behind the network ports of a shared memory.

What crosses the network goes in messages, each through the port that its first byte's address names: (address / message
size) mod ports. Where cores and messages step by multiples of ports x message size, or many short runs make a message,
few ports carry all of it, and the layer takes as long as the busiest of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mapper.geometry import Component, components
from mapper.operands import OperandPlan
from mapper.problem import Problem

Steps = tuple[int, int]  # how many, and the bytes from one to the next


def busiest_share(problem: Problem, plan: OperandPlan, message_bytes: int, ports: int) -> float:
    """Of an operand's bytes, those behind the busiest port, if every core moves its part at once: 1/ports to 1."""
    parts = components(plan.axes, plan.shape, problem.layer.dims)
    steps = [*_messages(problem, plan, parts, message_bytes), *_cores(problem, plan, parts)]
    period = message_bytes * ports
    return _share(tuple(sorted((count, step % period) for count, step in steps if count > 1)), message_bytes, ports)


@lru_cache(maxsize=4096)
def _share(steps: tuple[Steps, ...], message_bytes: int, ports: int) -> float:
    """The same of messages at all sums of a step each."""
    period = message_bytes * ports
    found: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    messages: NDArray[np.float64] = np.ones(1)
    for count, step in steps:
        sums = (found[:, None] + np.arange(count) * step).reshape(-1) % period
        found, places = np.unique(sums, return_inverse=True)
        messages = np.asarray(np.bincount(places, weights=np.repeat(messages, count)), np.float64)
    behind = np.bincount(found // message_bytes, weights=messages, minlength=ports)
    return float(behind.max() / behind.sum())


def _messages(problem: Problem, plan: OperandPlan, parts: tuple[Component, ...], message_bytes: int) -> Iterator[Steps]:
    """From one message of a core's part to the next, extent by extent.

    As the machine cuts a move: a longer run by itself, else whole inner extents, then a stretch of the next one.
    """
    block, cut = plan.element_bytes, False
    for part in reversed(parts):
        size, stride = part.size(problem.dims), _bytes(plan, part)
        together = 1 if cut else min(size, max(1, message_bytes // block))
        if stride == block and together < size:  # a run that goes on: its messages follow one another
            yield -(-size * block // message_bytes), message_bytes
        elif together < size:
            yield -(-size // together), stride * together
        cut = cut or together < size
        block *= size


def _cores(problem: Problem, plan: OperandPlan, parts: tuple[Component, ...]) -> Iterator[Steps]:
    """From the part of one core to that of the next, dim by dim."""
    assert problem.spread is not None
    for (dim, tile), count in zip(problem.spread.loops, problem.spread.parts, strict=True):
        yield count, sum(part.step(dim) * _bytes(plan, part) for part in parts) * tile


def _bytes(plan: OperandPlan, part: Component) -> int:
    """From one position of a component to the next."""
    return plan.strides[part.axis] * part.unit * plan.element_bytes
