"""Runs a Workload on arrays, point by point over its dims: slow, literal, and independent of how it was made."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.ir.workload import Guard, Layer, Operand, Tensor, Workload
from archsim.ops.kit.catalogue import meanings
from archsim.ops.kit.meaning import FunctionCall, apply

Array = npt.NDArray[Any]


def to_memory(tensor: Tensor, logical: Array) -> Array:
    """The tensor's memory contents (flat) from the model's array."""
    return logical.reshape(logical_shape(tensor)).transpose(order(tensor)).reshape(-1)


def order(tensor: Tensor) -> tuple[int, ...]:
    return tensor.logical or tuple(range(len(tensor.shape)))


def logical_shape(tensor: Tensor) -> tuple[int, ...]:
    """Sizes of the logical axes (split as the tensor splits them)."""
    sizes = dict(zip(order(tensor), tensor.shape, strict=True))
    return tuple(sizes[axis] for axis in range(len(sizes)))


class Interpreter:
    """Memory of every root tensor, and the layers in order."""

    def __init__(self, workload: Workload, inputs: dict[str, Array]) -> None:
        self.workload = workload
        self.memory: dict[str, Array] = {}
        for name, tensor in workload.tensors.items():
            if tensor.view is not None:
                continue
            given = inputs.get(name.partition("#")[0])
            if given is not None:
                self.memory[name] = to_memory(tensor, given.astype(np.float64))
            else:
                self.memory[name] = np.full(tensor.elements, np.nan)

    def run(self) -> None:
        for layer in self.workload.layers:
            self.layer(layer)

    def result(self, name: str, shape: tuple[int, ...]) -> Array:
        """A tensor as the model's array."""
        tensor = self.workload.tensors[name]
        grid = np.indices(tensor.shape)
        flat = self._address(tensor, list(grid))
        memory = self.memory[tensor.view.base if tensor.view else name][flat]
        return memory.transpose(np.argsort(order(tensor))).reshape(shape)

    def layer(self, layer: Layer) -> None:
        dims = list(layer.dims)
        grid = dict(zip(dims, np.indices(tuple(layer.dims.values())), strict=True))
        reads = {operand.name: self._read(operand, grid) for operand in layer.inputs}
        base, flat, inside = self._place(layer.output, grid)
        assert inside.all(), layer.name
        if layer.kind == "matmul":
            values = self._matmul(layer, reads)
        else:
            values = tuple(reads[operand.name] for operand in layer.inputs)
        kept = {dim for axis in layer.output.axes for dim, _ in axis.terms}
        reduced = tuple(dims.index(dim) for dim in dims if dim not in kept)
        points = [self._inside(guard, grid) for guard in layer.guards]
        value = self._apply(layer, values, dims, reduced, np.logical_and.reduce(points) if points else None)
        target = np.take(flat, [0], axis=reduced[0]) if len(reduced) == 1 else flat[self._first(dims, reduced)]
        value = np.broadcast_to(value, np.broadcast_shapes(value.shape, target.shape))
        value = value[self._first(dims, reduced)] if value.shape != target.shape else value
        assert not np.isnan(value).any(), f"{layer.name} reads what nobody wrote"
        self.memory[base][target.reshape(-1)] = value.reshape(-1)

    def _first(self, dims: list[str], reduced: tuple[int, ...]) -> tuple[slice, ...]:
        return tuple(slice(0, 1) if axis in reduced else slice(None) for axis in range(len(dims)))

    def _inside(self, guard: Guard, grid: dict[str, Array]) -> Array:
        index = guard.axis.offset + sum(coefficient * grid[dim] for dim, coefficient in guard.axis.terms)
        return np.asarray((index >= 0) & (index < guard.length))

    def _matmul(self, layer: Layer, reads: dict[str, Array]) -> tuple[Array, ...]:
        """The sums, and what the drain reads beside them where there is something."""
        axes = tuple(list(layer.dims).index(dim) for dim in layer.k)
        total = (reads["a"] * reads["b"]).sum(axis=axes, keepdims=True)
        first = tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(total.ndim))
        total = total + reads["bias"][first] if "bias" in reads else total
        return (total, reads["epilogue"][first]) if "epilogue" in reads else (total,)

    def _apply(
        self, layer: Layer, values: tuple[Array, ...], dims: list[str], reduced: tuple[int, ...], inside: Array | None
    ) -> Array:
        if layer.kind == "matmul":
            reduced = ()
        named = {operand.name: value for operand, value in zip(layer.inputs, values, strict=False)}
        if layer.kind == "matmul":
            named = {f"in{number}": value for number, value in enumerate(values)}
        value = values[0]
        for number, function in enumerate(function for step in layer.steps for function in step.functions):
            given = tuple(named[item] if isinstance(item, str) else np.asarray(item) for item in function.operands)
            arguments = (value, *given) if number else given or values
            call = FunctionCall(arguments, tuple(dims), reduced, inside, dict(function.parameters))
            value = apply(function, meanings(), call)
        return value

    def _read(self, operand: Operand, grid: dict[str, Array]) -> Array:
        base, flat, inside = self._place(operand, grid)
        return np.where(inside, self.memory[base][np.where(inside, flat, 0)], 0.0)

    def _place(self, operand: Operand, grid: dict[str, Array]) -> tuple[str, Array, Array]:
        """Root tensor, flat index and whether it is inside, for every point of the grid."""
        tensor = self.workload.tensors[operand.tensor]
        shape = next(iter(grid.values())).shape
        inside = np.ones(shape, bool)
        indices = []
        assert len(operand.axes) == len(tensor.shape), operand
        for axis, size in zip(operand.axes, tensor.shape, strict=True):
            index = np.full(shape, axis.offset)
            for dim, coefficient in axis.terms:
                index = index + coefficient * grid[dim]
            inside &= (index >= 0) & (index < size)
            indices.append(index)
        return tensor.view.base if tensor.view else tensor.name, self._address(tensor, indices), inside

    def _address(self, tensor: Tensor, indices: list[Array]) -> Array:
        if tensor.view is not None:
            flat = np.full(indices[0].shape, tensor.view.offset)
            strides = tensor.view.strides
        else:
            flat = np.zeros(indices[0].shape, int)
            strides = tuple(prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape)))
        for index, stride in zip(indices, strides, strict=True):
            flat = flat + index * stride
        return flat
