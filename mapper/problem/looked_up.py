"""Operands whose rows are looked up: to the mapping they are as dense as their entries, and a row is not cut as long
as whole ones have room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from archsim.ir.workload import Axis, Layer, Operand, Rows


def by_entries(
    operand: Operand, layer: Layer, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Axis lengths and element strides of a tensor as ``operand`` has them.

    The axis that is looked up is as long as the entries that the layer asks for; its stride is 0, since no row joins
    the one before it.
    """
    if operand.rows is None:
        return shape, strides
    number = operand.rows.axis
    entries = _reach(operand.axes[number], layer.dims)
    return (
        (*shape[:number], entries, *shape[number + 1 :]),
        (*strides[:number], 0, *strides[number + 1 :]),
    )


def inside_rows(layer: Layer) -> frozenset[str]:
    """Dims that move inside rows that are looked up."""
    axes = (axis for operand in layer.inputs if operand.rows for axis in _inside(operand.axes, operand.rows))
    return frozenset(dim for axis in axes for dim, _ in axis.terms)


def row_elements(axes: tuple[Axis, ...], rows: Rows, dims: Mapping[str, int]) -> int:
    """Elements of one row."""
    return prod(_reach(axis, dims) - axis.offset for axis in _inside(axes, rows))


def _inside(axes: tuple[Axis, ...], rows: Rows) -> Iterator[Axis]:
    return (axis for number, axis in enumerate(axes) if number != rows.axis)


def _reach(axis: Axis, dims: Mapping[str, int]) -> int:
    """One more than the largest index."""
    return axis.offset + sum(coefficient * (dims[dim] - 1) for dim, coefficient in axis.terms) + 1
