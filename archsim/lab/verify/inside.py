"""Which elements of results lie inside the bounds of what made them: the others are never made, and are nobody's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.ir.workload import Axis, Layer, Workload

Mask = npt.NDArray[np.bool_]


class Inside:
    """Of the tensors of a workload, those of whose elements some lie outside."""

    def __init__(self, workload: Workload) -> None:
        """By name, in memory order."""
        self._masks: Mapping[str, Mask] = {
            layer.output.tensor: _inside(layer, workload.tensors[layer.output.tensor].shape)
            for layer in workload.layers
            if layer.is_ragged
        }

    def of(self, tensor: str, values: npt.NDArray[Any], otherwise: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of a tensor inside the bounds, those ``otherwise`` outside."""
        mask = self._masks.get(tensor)
        return values if mask is None else np.where(mask, values, otherwise)


def _inside(layer: Layer, shape: tuple[int, ...]) -> Mask:
    """Of each element whether a point of the layer inside all bounds makes it."""
    moving = list(dict.fromkeys(dim for axis in layer.output.axes for dim, _ in axis.terms))
    sizes = [layer.dims[dim] for dim in moving]
    grid = dict(zip(moving, np.ix_(*map(np.arange, sizes)), strict=True))
    inside = np.ones(sizes, dtype=np.bool_)
    for bound in layer.bounds:
        if bound.dims <= grid.keys():
            inside &= _index(bound.axis, grid) >= 0
    found = np.zeros(shape, dtype=np.bool_)
    found[tuple(np.broadcast_to(_index(axis, grid), sizes) for axis in layer.output.axes)] = inside
    return found


def _index(axis: Axis, grid: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    index = np.full((1,) * len(grid), axis.offset, dtype=np.int64)
    for dim, step in axis.terms:
        index = index + step * grid[dim]
    return index
