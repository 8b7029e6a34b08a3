"""Runs a Workload on arrays, point by point over its dims: slow, literal, and independent of how it was made."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.ir.workload import Layer, Operand, Tensor, Workload

Array = npt.NDArray[Any]
UNARY = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "requantise": lambda x: x,
    "clip": lambda x: np.clip(x, 0, 6),
}
REDUCE = {"max": np.maximum, "average": np.add, "add": np.add}
BINARY = {"add": np.add, "multiply": np.multiply, "subtract": np.subtract}


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
        fill = -np.inf if layer.pad_fill == "lowest" else 0.0
        reads = {operand.name: self._read(operand, grid, fill) for operand in layer.inputs}
        base, flat, inside = self._place(layer.output, grid)
        assert inside.all(), layer.name
        if layer.kind == "matmul":
            out = self._matmul(layer, reads, flat, grid)
        elif layer.kind == "copy":
            out = {"flat": flat.reshape(-1), "value": reads["in0"].reshape(-1)}
        else:
            out = self._vector(layer, reads, flat, dims)
        value = out["value"]
        for step in layer.steps:
            for function in step.function.split("+"):
                if function in UNARY:
                    value = UNARY[function](value)
        assert not np.isnan(value).any(), f"{layer.name} reads what nobody wrote"
        self.memory[base][out["flat"]] = value

    def _matmul(self, layer: Layer, reads: dict[str, Array], flat: Array, grid: dict[str, Array]) -> dict[str, Array]:
        unique, position = np.unique(flat.reshape(-1), return_inverse=True)
        total = np.zeros(unique.size)
        np.add.at(total, position.reshape(-1), (reads["a"] * reads["b"]).reshape(-1))
        if "bias" in reads:
            first = np.ones(flat.shape, bool)
            for dim in layer.k:
                first &= grid[dim] == 0
            np.add.at(total, position.reshape(flat.shape)[first], reads["bias"][first])
        return {"flat": unique, "value": total}

    def _vector(self, layer: Layer, reads: dict[str, Array], flat: Array, dims: list[str]) -> dict[str, Array]:
        functions = [name for step in layer.steps for name in step.function.split("+")]
        arrays = [reads[operand.name] for operand in layer.inputs]
        if layer.op == "Softmax":
            axes = tuple(dims.index(dim) for dim in layer.whole)
            shifted = np.exp(arrays[0] - arrays[0].max(axis=axes, keepdims=True))
            value = shifted / shifted.sum(axis=axes, keepdims=True)
        elif layer.op == "LayerNormalization":
            axes = tuple(dims.index(dim) for dim in layer.whole)
            centred = arrays[0] - arrays[0].mean(axis=axes, keepdims=True)
            value = centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + 1e-5) * arrays[1] + arrays[2]
        elif layer.op == "LRN":
            value = self._lrn(layer, arrays[0], dims.index(layer.whole[0]))
        elif np.unique(flat).size < flat.size:
            return self._reduced(functions[0], arrays[0], flat, layer)
        else:
            value = arrays[0]
            operations = [BINARY[name] for name in functions if name in BINARY]
            for operation, other in zip(operations * len(arrays), arrays[1:], strict=False):
                value = operation(value, other)
        return {"flat": flat.reshape(-1), "value": value.reshape(-1)}

    def _reduced(self, function: str, array: Array, flat: Array, layer: Layer) -> dict[str, Array]:
        unique, position = np.unique(flat.reshape(-1), return_inverse=True)
        start = -np.inf if function == "max" else 0.0
        total = np.full(unique.size, start)
        REDUCE[function].at(total, position.reshape(-1), array.reshape(-1))
        return {
            "flat": unique,
            "value": total / (prod(layer.dims[d] for d in layer.whole) if function == "average" else 1),
        }

    def _lrn(self, layer: Layer, array: Array, axis: int) -> Array:
        values = layer.attributes
        size = int(str(values["size"]))
        squares = np.moveaxis(array, axis, 0) ** 2
        total = np.zeros_like(squares)
        for c in range(len(squares)):
            total[c] = squares[max(0, c - (size - 1) // 2) : c + size // 2 + 1].sum(axis=0)
        scale = float(str(values["bias"])) + float(str(values["alpha"])) / size * np.moveaxis(total, 0, axis)
        return np.asarray(array / scale ** float(str(values["beta"])))

    def _read(self, operand: Operand, grid: dict[str, Array], fill: float) -> Array:
        base, flat, inside = self._place(operand, grid)
        return np.where(inside, self.memory[base][np.where(inside, flat, 0)], fill)

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
