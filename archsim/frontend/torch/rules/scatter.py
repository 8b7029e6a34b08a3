"""Elements written into a tensor: at places that are known, into a slice of it, or at places of each row."""

from __future__ import annotations

import numpy as np

from archsim.frontend.torch.bound import BoundCall
from archsim.ir.graph import Array

SLICES = ("slice", "select", "narrow")  # views through which a call may write


def put(call: BoundCall) -> str:
    """Values at places of the first axes."""
    stated = call.tensors("indices")
    if "" in stated:
        call.refuse("writes at places of axes that are not the first ones")
    source, values = call.tensor("self"), call.tensor("values")
    data = [call.value(name).data for name in (source, values, *stated)]
    if all(each is not None for each in data):
        return _computed(call, [np.asarray(each) for each in data])
    places = [np.asarray(each) for each in data[2:] if each is not None]
    if len(places) < len(stated) or call.flag("accumulate"):
        call.refuse("writes at places that are known only when the model runs, or adds to what is there")
    if any(each.dtype == bool for each in places):
        places = [place for each in places for place in (np.nonzero(each) if each.dtype == bool else (each,))]
    try:
        joined = np.stack(np.broadcast_arrays(*places), -1).astype(np.int64)
    except ValueError:
        call.fail("its indices do not fit one another")
    shape = (*joined.shape[:-1], *call.size(source)[joined.shape[-1] :])
    indices = call.known(f"{call.label}.places", joined)
    return call.add("ScatterND", source, indices, _wide(call, values, shape))


def _computed(call: BoundCall, data: list[Array]) -> str:
    found, values, places = data[0].copy(), data[1], tuple(data[2:])
    try:
        if call.flag("accumulate"):
            np.add.at(found, places, values)
        else:
            found[places] = values
    except (IndexError, ValueError) as error:
        call.fail(f"its indices or values do not fit: {error}")
    return call.known(call.label, found)


def _wide(call: BoundCall, name: str, shape: tuple[int, ...]) -> str:
    name = call.cast(name, call.dtype, "same")
    if call.size(name) == shape:
        return name
    return call.add("Expand", name, call.integers_value("wide", shape), part="wide", dtype=call.dtype)


def along(call: BoundCall) -> str:
    """One number, or the elements of a tensor, at places along an axis that each row states.

    Where the places are known only when the model runs, every place is compared with every index: that costs as much
    for each element of an axis as there are indices, which are few where models write so.
    """
    source, places = call.tensor("self"), call.tensor("index")
    shape, rank = call.size(source), len(call.size(source))
    axis = call.axis("dim", rank)
    if call.plain("reduce") is not None or not rank:
        call.refuse("combines with what is there")
    data, known = call.value(source).data, call.value(places).data
    values = call.tensor("src") if call.is_tensor("src") else ""
    if known is not None:
        updates = _updates(call, values, call.size(places))
        given = call.value(updates).data
        if data is not None and given is not None:
            found = data.copy()
            np.put_along_axis(found, known.astype(np.int64), given, axis)
            return call.known(call.label, found)
        return call.add("ScatterElements", source, places, updates, axis=axis)
    if values or any(size != call.size(places)[at] for at, size in enumerate(shape) if at != axis):
        call.refuse("writes a tensor at places that are known only when the model runs")
    own = call.known(f"{call.label}.places", np.arange(shape[axis]).reshape(-1, *[1] * (rank - 1 - axis)))
    each = call.reshaped(places, (*call.size(places)[: axis + 1], 1, *call.size(places)[axis + 1 :]), "each")
    hits = call.add("Equal", each, own, part="hits", dtype="bool")
    axes = call.integers_value("axes", (axis,))
    hit = call.add("ReduceMax", hits, axes, part="hit", dtype="bool", keepdims=0)
    return call.add("Where", hit, call.scalar_value("value", call.number("value"), call.dtype), source)


def _updates(call: BoundCall, values: str, shape: tuple[int, ...]) -> str:
    """What is written, of the shape of the places."""
    if not values:
        return call.known(f"{call.label}.value", np.full(shape, call.number("value")))
    for axis, size in enumerate(shape):
        values = call.cut(values, axis, (0, size, 1), f"values{axis}.")
    return values


def copied(call: BoundCall) -> str:
    """Another tensor in the place of one, as wide and of the same type."""
    return _wide(call, call.tensor("src"), call.shape)


def filled(call: BoundCall) -> str:
    """One number everywhere."""
    if call.is_tensor("value"):
        return _wide(call, call.tensor("value"), call.shape)
    number = call.number("value", 0.0)
    return _wide(call, call.scalar_value("value", number, call.dtype), call.shape)


def part_written(call: BoundCall) -> str:
    """A slice, or one element, of an axis that is another tensor's."""
    return written(call, call.tensor("src"), call.name.removesuffix("_scatter"))


def written(view: BoundCall, value: str, kind: str = "") -> str:
    """What a tensor is of which a view was made, after ``value`` has been written into the view."""
    source, kind = view.tensor("self"), kind or view.name
    shape = view.size(source)
    axis = view.axis("dim", len(shape), 0)
    if kind == "select":
        start = view.integer("index") % shape[axis]
        taken = range(start, start + 1)
        value = view.reshaped(value, (*shape[:axis], 1, *shape[axis + 1 :]), "element")
    else:
        start = view.integer("start", 0)
        end = start + view.integer("length") if kind == "narrow" else view.integer("end", shape[axis])
        taken = range(shape[axis])[start : end : view.integer("step", 1)]
    value = view.cast(value, view.value(source).dtype, "same")
    if len(taken) == shape[axis]:
        return value
    return _beside(view, source, value, axis, taken)


def _beside(view: BoundCall, source: str, value: str, axis: int, taken: range) -> str:
    shape = view.size(source)
    if taken.step == 1:
        parts = [part for part in (
            view.maker.part(view.label, source, axis, 0, taken.start), value,
            view.maker.part(view.label, source, axis, taken.stop, shape[axis]),
        ) if part]  # fmt: skip
        return view.maker.beside(f"{view.label}.written", axis, parts)
    takes = np.arange(shape[axis])
    takes[list(taken)] = shape[axis] + np.arange(len(taken))
    both = view.maker.beside(f"{view.label}.both", axis, [source, value])
    rows = view.known(f"{view.label}.rows", takes)
    return view.add("Gather", both, rows, part="written", dtype=view.value(source).dtype, axis=axis)


RULES = {
    "index_put": put,
    "_index_put_impl": put,
    "scatter": along,
    "slice_scatter": part_written,
    "select_scatter": part_written,
    "copy": copied,
    "fill": filled,
    "zero": filled,
}
