"""Where the elements of a value lie: each logical axis as factors (extent, stride) inside one root tensor.

Reshape, transpose, slice and broadcast only re-arrange factors, as long as the wanted axes are products of whole
factors (a factor may be cut in two). So a flattened channels-last image is a view: its one axis has the factors
(C, 1), (H, W*C), (W, C). Where no such re-arrangement exists the functions return None, and the caller copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from archsim.ir.graph import Shape


@dataclass(frozen=True, slots=True)
class LayoutFactor:
    """``extent`` steps of ``stride`` elements."""

    extent: int
    stride: int


LayoutAxes = tuple[tuple[LayoutFactor, ...], ...]


@dataclass(frozen=True, slots=True)
class LogicalLayout:
    """Element ``offset`` in tensor ``root``, and per logical axis its factors, outermost first."""

    root: str
    offset: int
    axes: LayoutAxes

    @property
    def shape(self) -> Shape:
        """Logical shape."""
        return tuple(prod(factor.extent for factor in axis) for axis in self.axes)

    @property
    def strides(self) -> Shape:
        """Element stride of each logical axis, for layouts with at most one factor an axis."""
        return tuple(axis[0].stride if axis else 0 for axis in self.axes)


def dense(root: str, shape: Shape, order: Shape) -> LogicalLayout:
    """A tensor of its own: logical ``shape`` stored contiguously with logical axes in memory ``order``."""
    axes: dict[int, tuple[LayoutFactor, ...]] = {}
    stride = 1
    for axis in reversed(order):
        axes[axis] = (LayoutFactor(shape[axis], stride),)
        stride *= shape[axis]
    return LogicalLayout(root, 0, tuple(axes[axis] for axis in range(len(shape))))


def part(layout: LogicalLayout, shape: Shape, axis: int, start: int) -> LogicalLayout:
    """A box of ``shape`` inside a layout with one factor an axis, at ``start`` along ``axis``."""
    offset = layout.offset + start * layout.axes[axis][0].stride
    axes = tuple((replace(old[0], extent=size),) for old, size in zip(layout.axes, shape, strict=True))
    return LogicalLayout(layout.root, offset, axes)


def transpose(layout: LogicalLayout, order: Shape) -> LogicalLayout:
    """Logical axis i of the result is axis ``order[i]``."""
    return replace(layout, axes=tuple(layout.axes[axis] for axis in order))


def reshape(layout: LogicalLayout, shape: Shape) -> LogicalLayout | None:
    """The same elements in row-major logical order under another shape, or None."""
    waiting = [factor for axis in layout.axes for factor in axis if factor.extent > 1]
    waiting = list(_merged(waiting))
    axes: list[tuple[LayoutFactor, ...]] = []
    for size in shape:
        taken = _take(waiting, size)
        if taken is None:
            return None
        axes.append(_merged(taken))
    return replace(layout, axes=tuple(axes))


def _take(waiting: list[LayoutFactor], size: int) -> list[LayoutFactor] | None:
    """Remove factors worth ``size`` from the front, cutting the last one where it divides."""
    taken: list[LayoutFactor] = []
    while size > 1:
        factor = waiting.pop(0)
        if size % factor.extent == 0:
            taken.append(factor)
            size //= factor.extent
        elif factor.extent % size == 0:
            inner = factor.extent // size
            taken.append(LayoutFactor(size, factor.stride * inner))
            waiting.insert(0, LayoutFactor(inner, factor.stride))
            size = 1
        else:
            return None
    return taken


def _merged(factors: list[LayoutFactor]) -> tuple[LayoutFactor, ...]:
    """Neighbouring factors that step regularly become one."""
    merged: list[LayoutFactor] = []
    for factor in factors:
        if merged and merged[-1].stride == factor.extent * factor.stride:
            merged[-1] = LayoutFactor(merged[-1].extent * factor.extent, factor.stride)
        else:
            merged.append(factor)
    return tuple(merged)


def cut(layout: LogicalLayout, axis: int, start: int, step: int, count: int) -> LogicalLayout | None:
    """Elements ``start``, ``start + step``, ... (``count`` of them; ``step`` may be negative) of one axis, or None."""
    factors = layout.axes[axis]
    if len(factors) > 1:
        inner = prod(factor.extent for factor in factors[1:])
        if step != 1 or start % inner or count % inner:
            return None
        head = LayoutFactor(count // inner, factors[0].stride)
        return _with_axis(layout, axis, (head, *factors[1:]), start // inner * head.stride)
    stride = factors[0].stride if factors else 0
    return _with_axis(layout, axis, (LayoutFactor(count, stride * step),), start * stride)


def broadcast(layout: LogicalLayout, shape: Shape) -> LogicalLayout:
    """The value repeated to ``shape`` by strides of 0 (new axes in front)."""
    new = len(shape) - len(layout.axes)
    axes: list[tuple[LayoutFactor, ...]] = [(LayoutFactor(size, 0),) for size in shape[:new]]
    for factors, size in zip(layout.axes, shape[new:], strict=True):
        extent = prod(factor.extent for factor in factors)
        axes.append(factors if extent == size else (LayoutFactor(size, 0),))
    return replace(layout, axes=tuple(axes))


def _with_axis(layout: LogicalLayout, axis: int, factors: tuple[LayoutFactor, ...], shift: int) -> LogicalLayout:
    axes = (*layout.axes[:axis], factors, *layout.axes[axis + 1 :])
    return replace(layout, offset=layout.offset + shift, axes=axes)
