"""Views say where elements lie: any chain of view operators equals NumPy's on an array of addresses."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.graph.lowering.reading import by_stride, read_all
from archsim.ir.graph import Shape
from archsim.ir.workload import Axis
from archsim.ops.kit.access import LogicalAccess, at, factor_axes, refine, substitute
from archsim.ops.kit.layout import LayoutFactor, LogicalLayout, broadcast, cut, dense, part, reshape, transpose

Array = npt.NDArray[Any]
quick = settings(max_examples=60, deadline=None, derandomize=True)


def addresses(layout: LogicalLayout) -> Array:
    """Address of every element, in logical order."""
    found = np.full((), layout.offset)
    for axis in layout.axes:
        steps = np.zeros((), int)
        for factor in axis:
            steps = np.add.outer(steps, np.arange(factor.extent) * factor.stride).reshape(-1)
        found = np.add.outer(found, steps.reshape(-1))
    return np.asarray(found)


@st.composite
def layouts(draw: st.DrawFn) -> LogicalLayout:
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    return dense("t", shape, tuple(draw(st.permutations(range(len(shape))))))


@st.composite
def factorings(draw: st.DrawFn, size: int) -> Shape:
    """A shape with ``size`` elements."""
    shape = []
    while size > 1:
        factor = draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
        shape.append(factor)
        size //= factor
        if len(shape) > 4:
            return (*shape, size)
    return tuple(shape) or (1,)


@quick
@given(layouts(), st.data())
def test_chains_of_views_equal_numpy(layout: LogicalLayout, data: st.DataObject) -> None:
    expected = addresses(layout)
    for _ in range(4):
        kind = data.draw(st.sampled_from(["reshape", "transpose", "cut"]))
        if kind == "reshape":
            shape = data.draw(factorings(prod(layout.shape)))
            found = reshape(layout, shape)
            wanted = expected.reshape(shape)
        elif kind == "transpose":
            order = tuple(data.draw(st.permutations(range(len(layout.axes)))))
            found, wanted = transpose(layout, order), expected.transpose(order)
        else:
            axis = data.draw(st.integers(0, len(layout.axes) - 1))
            size = layout.shape[axis]
            start, step = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, 2))
            count = len(range(start, size, step))
            found = cut(layout, axis, start, step, count)
            wanted = expected.take(range(start, size, step), axis=axis)
        if found is None:
            continue
        layout, expected = found, wanted
        assert layout.shape == expected.shape
        np.testing.assert_array_equal(addresses(layout), expected)


@quick
@given(layouts(), st.data())
def test_a_dense_row_major_tensor_takes_every_shape(layout: LogicalLayout, data: st.DataObject) -> None:
    rows = dense("t", layout.shape, tuple(range(len(layout.shape))))
    shape = data.draw(factorings(prod(rows.shape)))
    found = reshape(rows, shape)
    assert found is not None
    np.testing.assert_array_equal(addresses(found).reshape(-1), np.arange(prod(shape)))


def test_flattened_image_keeps_its_factors() -> None:
    image = dense("t", (2, 8, 4, 4), (0, 2, 3, 1))
    flat = reshape(image, (2, 128))
    assert flat is not None
    assert flat.axes == ((LayoutFactor(2, 128),), (LayoutFactor(8, 1), LayoutFactor(16, 8)))
    assert reshape(dense("t", (6, 4), (1, 0)), (3, 8)) == LogicalLayout(
        "t", 0, ((LayoutFactor(3, 2),), (LayoutFactor(2, 1), LayoutFactor(4, 6)))
    )
    assert reshape(dense("t", (4, 6), (1, 0)), (3, 8)) is None


def test_parts_and_broadcasts() -> None:
    whole = dense("t", (1, 6, 2, 2), (0, 2, 3, 1))
    placed = part(whole, (1, 2, 2, 2), 1, 4)
    assert placed.offset == 4 and placed.strides == (24, 1, 12, 6)
    wide = broadcast(dense("t", (3, 1), (0, 1)), (2, 3, 5))
    assert wide.axes == ((LayoutFactor(2, 0),), (LayoutFactor(3, 1),), (LayoutFactor(5, 0),))


def test_dims_are_cut_to_read_two_factorings_of_one_axis() -> None:
    assert refine((2, 12), (8, 3)) == (2, 4, 3)
    assert refine((4, 6), (6, 4)) is None
    first = LogicalAccess("a", "x", (at("k"),))
    second = LogicalAccess("b", "y", (at("k"),))
    found = {
        "x": LogicalLayout("x", 0, ((LayoutFactor(2, 1), LayoutFactor(12, 2)),)),
        "y": LogicalLayout("y", 0, ((LayoutFactor(8, 3), LayoutFactor(3, 100)),)),
    }
    readings, splits = read_all((first, second), found.get, lambda name: found[name], ("k",))
    assert splits["k"].parts == (("k_0", 2), ("k_1", 4), ("k_2", 3))
    assert factor_axes(at("k"), found["x"].axes[0], splits) == (at("k_0"), at(("k_1", 3), "k_2"))
    assert factor_axes(at("k"), found["y"].axes[0], splits) == (at(("k_0", 4), "k_1"), at("k_2"))
    assert substitute(at(("k", 5), offset=2), splits) == Axis((("k_0", 60), ("k_1", 15), ("k_2", 5)), 2)
    assert by_stride(("k_0", "k_1", "k_2"), readings[0], splits) == ("k_1", "k_2", "k_0")


def test_a_view_that_jumps_inside_a_run_is_copied_unless_the_dim_is_free() -> None:
    shuffled = LogicalLayout("x", 0, ((LayoutFactor(4, 1), LayoutFactor(2, 4)),))
    copied: list[str] = []

    def copy(name: str) -> LogicalLayout:
        copied.append(name)
        return dense("x.copy", (8,), (0,))

    read_all((LogicalAccess("in0", "x", (at("d0"),)),), {"x": shuffled}.get, copy, ())
    assert copied == ["x"]
    read_all((LogicalAccess("in0", "x", (at("d0"),)),), {"x": shuffled}.get, copy, ("d0",))
    assert copied == ["x"]
    read_all((LogicalAccess("in0", "x", (at("d0", "r"),)),), {"x": shuffled}.get, copy, ("d0", "r"))
    assert copied == ["x", "x"]
