"""A plain numerical interpreter of Programs: any token-legal interleaving, on physical addresses, in float64.

One value per element, stored at the element's first byte address. Reading bytes that nobody wrote gives NaN, so a
race or a wrong address shows in the result.
"""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np

from archsim.ir.footprint import clip
from archsim.ir.program import Program, Region
from archsim.ir.unroll import Step, unroll


class Executor:
    """Runs a Program on NumPy arrays, one per memory; ``seed`` picks the interleaving."""

    def __init__(self, program: Program, memory_bytes: dict[str, int], seed: int = 0) -> None:
        self.program = program
        self.memory = {name: np.full(size, np.nan) for name, size in memory_bytes.items()}
        self.tensors = {t.name: t for t in program.tensors}
        self.rings = {r.name: r for r in program.rings}
        self.tokens: dict[tuple[str, str], int] = defaultdict(int)
        self.starts: dict[tuple[str, str], list[int]] = defaultdict(
            list
        )  # (ring, '') -> slot start positions
        self.taken: dict[tuple[str, str], int] = defaultdict(
            int
        )  # (ring, reading queue or "writer") -> slots taken so far
        self.random = random.Random(seed)
        for semaphore in program.semaphores:
            self.tokens[semaphore.name, ""] = semaphore.initial

    def run(self) -> None:
        queues = {q.name: list(unroll(q)) for q in self.program.queues}
        position = dict.fromkeys(queues, 0)
        while any(position[q] < len(steps) for q, steps in queues.items()):
            ready = [
                q
                for q, steps in queues.items()
                if position[q] < len(steps) and self._ready(steps[position[q]])
            ]
            assert ready, (
                f"deadlock at {[queues[q][p].where for q, p in position.items() if p < len(queues[q])]}"
            )
            queue = self.random.choice(ready)
            step = queues[queue][position[queue]]
            for name, n in step.waits:
                self._take(step, name, n)
            self._do(step)
            for name, n in step.signals:
                self._give(step, name, n)
            position[queue] += 1

    def _available(self, step: Step, name: str) -> int:
        stem, _, kind = name.rpartition(".")
        if stem in self.rings and kind == "free":
            ring = self.rings[stem]
            freed = min(self.tokens[name, reader] for reader in ring.readers)
            return ring.slots + freed - self.taken[stem, "writer"]
        if stem in self.rings and kind == "full":
            return self.tokens[name, ""] - self.taken[stem, step.queue]
        return self.tokens[name, ""]

    def _ready(self, step: Step) -> bool:
        return all(self._available(step, name) >= n for name, n in step.waits)

    def _take(self, step: Step, name: str, n: int) -> None:
        stem, _, kind = name.rpartition(".")
        if stem in self.rings and kind in ("free", "full"):
            if kind == "free":
                ring = self.rings[stem]
                self.taken[stem, "writer"] += n
                history = self.starts[stem, ""]
                end = history[-1] + ring.slot_bytes if history else 0
                history.append(end - (ring.retain if step.command.retains else 0))
            else:
                self.taken[stem, step.queue] += n
            return
        self.tokens[name, ""] -= n

    def _give(self, step: Step, name: str, n: int) -> None:
        stem, _, kind = name.rpartition(".")
        self.tokens[name, step.queue if stem in self.rings and kind == "free" else ""] += n

    # data ----------------------------------------------------------------------------------------------------------

    def _index(
        self, region: Region, step: Step, dims: list[str], ranges: dict[str, tuple[int, int]]
    ) -> tuple[str, np.ndarray]:
        writes = region in step.command.writes
        offset = region.offset.at(step.env)
        strides = dict(region.strides)
        index = np.full([ranges[d][1] - ranges[d][0] for d in dims], offset, dtype=np.int64)
        for axis, dim in enumerate(dims):
            shape = [1] * len(dims)
            shape[axis] = -1
            index = index + (np.arange(*ranges[dim]) * strides.get(dim, 0)).reshape(shape)
        if region.store in self.tensors:
            tensor = self.tensors[region.store]
            assert index.size == 0 or (
                index.min() >= 0 and index.max() + region.element_bytes <= tensor.size_bytes
            ), (step.where, region)
            return tensor.memory, index + tensor.base
        ring = self.rings[region.store]
        taker = "writer" if writes else step.queue
        start = self.starts[ring.name, ""][self.taken[ring.name, taker] - 1]
        assert index.size == 0 or (
            index.min() >= 0 and index.max() + region.element_bytes <= ring.slot_bytes
        ), (step.where, region)
        return ring.memory, ring.base + (start + index) % ring.size_bytes

    def _full(self, step: Step) -> dict[str, tuple[int, int]]:
        return {dim: (0, size) for dim, size in step.extents.items()}

    def _read(self, region: Region, step: Step, dims: list[str]) -> np.ndarray:
        memory, index = self._index(region, step, dims, self._full(step))
        values = self.memory[memory][index]
        assert not np.isnan(values).any(), f"{step.where}: reads unwritten bytes of {region.store}"
        return values

    def _do(self, step: Step) -> None:
        op = step.command.op
        if op == "MOVE":
            self._move(step)
        elif op == "MATMUL":
            self._matmul(step)
        elif op == "VECTOR":
            self._vector(step)

    def _move(self, step: Step) -> None:
        command, dims = step.command, list(step.extents)
        for target in command.writes:
            memory, index = self._index(target, step, dims, self._full(step))
            self.memory[memory][index] = command.fill
            for source in command.reads:
                ranges = {**self._full(step), **clip(source, step)}
                if any(high <= low for low, high in ranges.values()):
                    continue
                from_memory, from_index = self._index(source, step, dims, ranges)
                values = self.memory[from_memory][from_index]
                assert not np.isnan(values).any(), f"{step.where}: reads unwritten bytes of {source.store}"
                self.memory[memory][index[tuple(slice(*ranges[d]) for d in dims)]] = values

    def _matmul(self, step: Step) -> None:
        dims = list(step.extents)
        reads = {
            {"in0": "a", "in1": "b", "in2": "bias"}.get(r.operand, r.operand): r for r in step.command.reads
        }
        product_ = self._read(reads["a"], step, dims) * self._read(reads["b"], step, dims)
        self._accumulate(step, dims, product_, reads.get("bias"))

    def _accumulate(self, step: Step, dims: list[str], values: np.ndarray, bias: Region | None) -> None:
        (acc,) = step.command.writes
        moving = {d for d, _ in acc.strides}
        keep = [d for d in dims if d in moving]
        total = values.sum(axis=tuple(i for i, d in enumerate(dims) if d not in moving))
        ranges = {d: (0, step.extents[d]) for d in keep}
        memory, index = self._index(acc, step, keep, ranges)
        if step.fresh:
            start = np.zeros(total.shape)
            if bias is not None:
                from_memory, from_index = self._index(bias, step, keep, ranges)
                start = self.memory[from_memory][from_index]
        else:
            start = self.memory[memory][index]
        self.memory[memory][index] = start + total

    def _vector(self, step: Step) -> None:
        command, dims = step.command, list(step.extents)
        if command.function == "mac":
            self._matmul(step)
            return
        inputs = [self._read(region, step, dims) for region in command.reads]
        (out,) = command.writes
        moving = {d for d, _ in out.strides}
        reduced = tuple(i for i, d in enumerate(dims) if d not in moving)
        value = inputs[0] if len(inputs) == 1 else sum(inputs)
        if "max" in command.function:
            value = value.max(axis=reduced)
        elif reduced:
            value = value.sum(axis=reduced)
        if "relu" in command.function:
            value = np.maximum(value, 0)
        keep = [d for d in dims if d in moving]
        memory, index = self._index(out, step, keep, {d: (0, step.extents[d]) for d in keep})
        self.memory[memory][index] = value


def tensor_values(executor: Executor, name: str) -> np.ndarray:
    """A tensor's elements by its declared shape and strides (origin at its base)."""
    tensor = executor.tensors[name]
    return executor.memory[tensor.memory][tensor.base + _offsets(tensor.shape, tensor.strides)]


def fill_tensor(executor: Executor, name: str, values: np.ndarray) -> None:
    """Write a tensor's elements before the run."""
    tensor = executor.tensors[name]
    executor.memory[tensor.memory][tensor.base + _offsets(tensor.shape, tensor.strides)] = values


def _offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    index = np.zeros(shape, dtype=np.int64)
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        view = [1] * len(shape)
        view[axis] = -1
        index = index + (np.arange(size) * stride).reshape(view)
    return index
