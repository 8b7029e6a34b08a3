"""Runs a Program on numbers: one order of commands that its tokens allow, chosen by a seed.

Commands act at one instant each. Queues have an order of precedence, which half of the seeds keep to the end and the
others draw anew after 1 to all commands (log-uniform): so queues alternate, or run as far ahead as the tokens let. Two
commands that the tokens leave unordered come one way round under some seeds and the other way round under others; when
they touch the same bytes, the results differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from archsim.base.errors import ProgramError
from archsim.base.progress import stretch
from archsim.ir.program import PlacedTensor, Program, Region, Ring
from archsim.ir.unroll import Step, unroll
from mapper.execute.memory import Array, ExactMemory, Memory, RealMemory
from mapper.execute.places import Block, Place
from mapper.execute.tokens import Tokens
from mapper.execute.work import Work

Numbers = Literal["exact", "float32", "float64"]
LASTING = 0.5  # share of the seeds that keep their order of precedence
Observer = Callable[["Executor", Step], bool]


class Executor:
    """A Program with memories. ``numbers``: exact (the integers that its dtypes hold), float32 or float64.

    ``steps``: the unrolled commands of each queue, when the caller has them already. ``executed``: commands done.
    """

    def __init__(
        self,
        program: Program,
        *,
        numbers: Numbers = "exact",
        seed: int = 0,
        steps: Mapping[str, tuple[Step, ...]] | None = None,
    ) -> None:
        """Memories as large as the Program needs, nothing written."""
        self.program = program
        self.executed = 0
        self._steps = steps or unrolled(program)
        self._tensors = {tensor.name: tensor for tensor in program.tensors}
        self._rings = {ring.name: ring for ring in program.rings}
        sizes = _sizes(program)
        self._memories: dict[str, Memory] = {name: _memory(numbers, size) for name, size in sizes.items()}
        self._tokens = Tokens(program)
        self._work = Work(self._place, numbers == "exact")
        self._random = random.Random(seed)

    def fill(self, tensor: str, values: Array) -> None:
        """Put numbers into a tensor before the run; ``values`` of its shape, or the first ones along its axes."""
        if values.size:
            replace(self._tensor_block(tensor), shape=values.shape).write_real(values)

    def values(self, tensor: str, shape: tuple[int, ...] = (), offset: int = 0, strides: tuple[int, ...] = ()) -> Array:
        """The numbers that a tensor, or the part of it of ``shape`` at byte ``offset``, holds now.

        Raises ProgramError for bytes that nothing has written.
        """
        block = self._tensor_block(tensor)
        if shape:
            block = replace(block, shape=shape, offset=offset, strides=strides)
        return np.array(block.read_real())

    def slot_values(
        self, ring: str, number: int, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]
    ) -> Array:
        """The numbers in a part of ``shape`` of slot ``number`` of a ring, in the order in which slots were taken.

        Raises ProgramError for bytes that nothing has written.
        """
        stored = self._rings[ring]
        start = self._tokens.slot_begin(stored, number)
        place = Place(stored, self._memories[stored.memory], stored.base, start, stored.size_bytes, stored.slot_bytes)
        return np.array(Block(place, shape, offset, strides, f"ring '{ring}'").read_real())

    def is_touched(self, tensor: str, shape: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> bool:
        """Whether anything was written to a part of a tensor, from byte ``offset`` on, so far."""
        stored = self._tensors[tensor]
        return self._memories[stored.memory].is_touched(stored, shape, stored.base + offset, strides)

    def run(self, observe: Observer | None = None) -> None:
        """Execute every command; ``observe`` is called after each and ends the run where it returns True.

        Raises ProgramError for a deadlock.
        """
        total = sum(map(len, self._steps.values()))
        with stretch("executing", "commands", total, done=lambda: self.executed):
            self._run(total, observe)

    def _run(self, total: int, observe: Observer | None) -> None:
        queues = [queue for queue in self._steps if self._steps[queue]]
        position = dict.fromkeys(queues, 0)
        lasting = self._random.random() < LASTING
        until_redrawn = 0
        while queues:
            if until_redrawn == 0:
                self._random.shuffle(queues)
                until_redrawn = total if lasting else int(total ** self._random.random())
            until_redrawn -= 1
            ready = (queue for queue in queues if self._tokens.ready(self._steps[queue][position[queue]]))
            queue = next(ready, None)
            if queue is None:
                heads = ", ".join(f"{self._steps[name][position[name]].where} of {name}" for name in sorted(queues))
                raise ProgramError(f"nothing can start any more; waiting: {heads}")
            step = self._steps[queue][position[queue]]
            self._tokens.take(step)
            self._work.do(step)
            self._tokens.give(step)
            position[queue] += 1
            self.executed += 1
            if observe is not None and observe(self, step):
                return
            if position[queue] == len(self._steps[queue]):
                queues.remove(queue)

    def _place(self, region: Region, step: Step, writes: bool) -> Place:
        tensor = self._tensors.get(region.store)
        if tensor is not None:
            size = tensor.size_bytes
            return Place(tensor, self._memories[tensor.memory], tensor.base, 0, size, size)
        ring = self._rings[region.store]
        start = self._tokens.slot_start(ring, step.queue, writes)
        if start is None:
            raise ProgramError(f"{step.where} of {step.queue} touches ring '{ring.name}' before it took a slot")
        return Place(ring, self._memories[ring.memory], ring.base, start, ring.size_bytes, ring.slot_bytes)

    def _tensor_block(self, name: str) -> Block:
        tensor = self._tensors[name]
        place = Place(tensor, self._memories[tensor.memory], tensor.base, 0, tensor.size_bytes, tensor.size_bytes)
        return Block(place, tensor.shape, tensor.origin, tensor.strides, f"tensor '{name}'")


def unrolled(program: Program) -> dict[str, tuple[Step, ...]]:
    """Queue name -> its concrete commands."""
    return {queue.name: tuple(unroll(queue)) for queue in program.queues}


def _memory(numbers: Numbers, size: int) -> Memory:
    return ExactMemory(size) if numbers == "exact" else RealMemory(size, np.dtype(numbers))


def _sizes(program: Program) -> dict[str, int]:
    """Bytes of each memory that the Program uses."""
    stores: list[PlacedTensor | Ring] = [*program.tensors, *program.rings]
    sizes: dict[str, int] = {}
    for store in stores:
        sizes[store.memory] = max(sizes.get(store.memory, 0), store.base + store.size_bytes)
    return sizes
