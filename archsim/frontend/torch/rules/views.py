"""Shapes, axes and parts of tensors: views, joins and pads."""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.frontend.torch.bound import BoundCall
from archsim.ir.graph import Shape

_END = (1 << 63) - 1  # 'to the end' of slices


def shaped(call: BoundCall) -> str:
    """Any operator that only states a new shape: view, reshape, flatten, squeeze ..."""
    return call.reshaped(call.tensor("self"), call.shape)


def unsqueeze(call: BoundCall) -> str:
    """One more axis of size 1."""
    source = call.tensor("self")
    axis = call.axis("dim", len(call.size(source)) + 1)
    return call.add("Unsqueeze", source, call.integers_value("axes", (axis,)))


def permute(call: BoundCall) -> str:
    """Axes in another order."""
    source = call.tensor("self")
    rank = len(call.size(source))
    order = tuple(axis % rank for axis in call.integers("dims") if -rank <= axis < rank)
    if sorted(order) != list(range(rank)):
        call.fail(f"'dims' {list(call.integers('dims'))} is no order of {rank} axes")
    return source if order == tuple(range(rank)) else call.add("Transpose", source, perm=order)


def transpose(call: BoundCall) -> str:
    """Two axes swapped."""
    source = call.tensor("self")
    rank = len(call.size(source))
    if call.name in ("t", "numpy_T", "mT") and rank < 2:
        return source
    first, second = (rank - 2, rank - 1) if call.name in ("t", "mT") else _pair(call, rank)
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return source if first == second else call.add("Transpose", source, perm=tuple(order))


def _pair(call: BoundCall, rank: int) -> Shape:
    keys = ("dim0", "dim1") if call.call.arguments.get("dim0") is not None else ("axis0", "axis1")
    return tuple(call.axis(key, rank) for key in keys)


def shuffled(call: BoundCall) -> str:
    """Blocks of channels as blocks of pixels."""
    source, factor = call.tensor("self"), call.integer("upscale_factor")
    *outer, channels, rows, columns = (1, *call.size(source))
    if factor < 1 or channels % (factor * factor):
        call.fail(f"{channels} channels are no blocks of {factor} by {factor}")
    parted = (prod(outer), channels // factor**2, factor, factor, rows, columns)
    found = call.reshaped(source, parted, "blocks")
    found = call.add("Transpose", found, part="pixels", perm=(0, 1, 4, 2, 5, 3))
    return call.reshaped(found, call.shape)


def move_axes(call: BoundCall) -> str:
    """Axes moved to other places, the rest in order."""
    source = call.tensor("self")
    rank = len(call.size(source))
    starts, ends = ([axis % rank for axis in call.integers(key)] for key in ("source", "destination"))
    if len(starts) != len(ends) or len(set(starts)) != len(starts):
        call.fail("'source' and 'destination' are not as many axes")
    places = dict(zip(ends, starts, strict=True))
    rest = iter(axis for axis in range(rank) if axis not in starts)
    return call.add("Transpose", source, perm=tuple(places[at] if at in places else next(rest) for at in range(rank)))


def expand(call: BoundCall) -> str:
    """Repeated along axes of size 1."""
    source = call.tensor("self")
    if call.size(source) == call.shape:
        return source
    return call.add("Expand", source, call.integers_value("shape", call.shape))


def repeat(call: BoundCall) -> str:
    """Copies side by side along each axis."""
    source, times = call.tensor("self"), call.integers("repeats", call.integers("dims", ()))
    shape = call.size(source)
    axes = max(len(times), len(shape))
    source = call.reshaped(source, (*[1] * (axes - len(shape)), *shape), "wide")
    times = (*[1] * (axes - len(times)), *times)
    return call.add("Tile", source, call.integers_value("times", times)) if max((1, *times)) > 1 else source


def part_of(call: BoundCall) -> str:
    """Some of an axis, with steps."""
    source = call.tensor("self")
    axis = call.axis("dim", len(call.size(source)), 0)
    start, end, step = call.integer("start", 0), call.integer("end", _END), call.integer("step", 1)
    return call.cut(source, axis, (start, end, step))


def narrow(call: BoundCall) -> str:
    """So many elements of an axis from a place on."""
    source = call.tensor("self")
    start, length = call.integer("start"), call.integer("length")
    return call.cut(source, call.axis("dim", len(call.size(source))), (start, start + length, 1))


def select(call: BoundCall) -> str:
    """One element of an axis, which is gone then."""
    source = call.tensor("self")
    axis = call.axis("dim", len(call.size(source)))
    index = call.maker.constant(f"{call.label}.index", call.integer("index"), "int64")
    return call.add("Gather", source, index, axis=axis)


def joined(call: BoundCall) -> str:
    """Side by side along an axis; what is empty is left out."""
    parts = [name for name in call.tensors("tensors") if call.value(name).elements]
    if not parts:
        call.fail("joins nothing")
    axis = call.axis("dim", len(call.shape), 0)
    return call.add("Concat", *parts, axis=axis) if len(parts) > 1 else parts[0]


def stack(call: BoundCall) -> str:
    """Side by side along a new axis."""
    axis = call.axis("dim", len(call.shape), 0)
    axes = call.integers_value("axes", (axis,))
    parts = [call.add("Unsqueeze", name, axes, part="row") for name in call.tensors("tensors")]
    return call.add("Concat", *parts, axis=axis)


def split(call: BoundCall) -> tuple[str, ...]:
    """Parts of an axis, of the sizes that the program states of them."""
    source = call.tensor("self")
    axis = call.axis("dim", len(call.size(source)), 0)
    if len(call.shapes) < 2:
        return (source,)
    sizes = call.integers_value("sizes", tuple(shape[axis] for shape in call.shapes))
    return call.add_many("Split", len(call.shapes), source, sizes, axis=axis)


def unbind(call: BoundCall) -> tuple[str, ...]:
    """Every element of an axis by itself."""
    source = call.tensor("self")
    axis = call.axis("dim", len(call.size(source)), 0)
    indices = [call.maker.constant(f"{call.label}.index", at, "int64") for at in range(len(call.shapes))]
    return tuple(
        call.add("Gather", source, index, part=f"row{at}" if at else "", dtype=call.dtype, axis=axis)
        for at, index in enumerate(indices)
    )


def roll(call: BoundCall) -> str:
    """Moved along axes, what leaves at the end enters in front."""
    found = call.tensor("self")
    rank = len(call.size(found))
    axes, shifts = call.integers("dims", ()), call.integers("shifts")
    if len(axes) != len(shifts):
        call.refuse("rolls a tensor as if it had one axis")
    for at, (axis, shift) in enumerate(zip(axes, shifts, strict=True)):
        if not -rank <= axis < rank:
            call.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
        found = _rolled(call, found, axis % rank, shift, f"{at}." if at < len(axes) - 1 else "")
    return found


def _rolled(call: BoundCall, source: str, axis: int, shift: int, part: str) -> str:
    size = call.size(source)[axis]
    if not size or not shift % size:
        return source
    back = call.cut(source, axis, (size - shift % size, _END, 1), f"{part}back.")
    front = call.cut(source, axis, (0, size - shift % size, 1), f"{part}front.")
    return call.add("Concat", back, front, part=f"{part}join" if part else "", dtype=call.dtype, axis=axis)


def flipped(call: BoundCall) -> str:
    """Axes from their end."""
    found = call.tensor("self")
    for axis in call.axes("dims", len(call.size(found))):
        size = call.size(found)[axis]
        found = call.add(
            "Slice", found, *(call.integers_value(f"axis{axis}.{key}", (number,)) for key, number in
                              (("from", size), ("to", -size - 1), ("axis", axis), ("by", -1))),
            part=f"axis{axis}",
        )  # fmt: skip
    return found


def windows(call: BoundCall) -> str:
    """Windows along an axis, each as a new last axis."""
    source = call.tensor("self")
    axis = call.axis("dimension", len(call.size(source)))
    size, step = call.integer("size"), call.integer("step")
    if size < 1 or step < 1 or not 0 < size <= call.size(source)[axis]:
        call.fail(f"windows of {size} every {step} of {call.size(source)[axis]}")
    count = call.shape[axis]
    if size == step and count * size == call.size(source)[axis]:
        parted = (*call.size(source)[:axis], count, size, *call.size(source)[axis + 1 :])
        found = call.reshaped(source, parted, "windows")
    else:
        places = np.add.outer(np.arange(count) * step, np.arange(size))
        taken = call.maker.constant(f"{call.label}.places", places.ravel(), "int64")
        index = call.reshaped(taken, places.shape, "places.windows")
        found = call.add("Gather", source, index, part="taken", axis=axis)
    rank = len(call.size(found))
    order = (*range(axis + 1), *range(axis + 2, rank), axis + 1)
    return found if order == tuple(range(rank)) else call.add("Transpose", found, perm=order)


def repeated(call: BoundCall) -> str:
    """Every element of an axis several times, one after the other."""
    source = call.tensor("self")
    if call.plain("dim") is None:
        source = call.reshaped(source, (call.value(source).elements,), "flat")
    if call.is_tensor("repeats"):
        call.refuse("repeats each element as often as a tensor says")
    shape = call.size(source)
    axis, times = call.axis("dim", len(shape), 0), call.integer("repeats")
    parted = call.reshaped(source, (*shape[: axis + 1], 1, *shape[axis + 1 :]), "parted")
    target = call.integers_value("times", (*shape[: axis + 1], times, *shape[axis + 1 :]))
    return call.reshaped(call.add("Expand", parted, target, part="times"), call.shape)


def unshuffled(call: BoundCall) -> str:
    """Blocks of pixels as blocks of channels."""
    source, factor = call.tensor("self"), call.integer("downscale_factor")
    *outer, channels, rows, columns = (1, *call.size(source))
    if factor < 1 or rows % factor or columns % factor:
        call.fail(f"{rows} by {columns} pixels are no blocks of {factor} by {factor}")
    parted = (prod(outer), channels, rows // factor, factor, columns // factor, factor)
    found = call.add("Transpose", call.reshaped(source, parted, "blocks"), part="channels", perm=(0, 1, 3, 5, 2, 4))
    return call.reshaped(found, call.shape)


def pad(call: BoundCall) -> str:
    """Zeros, or elements of the tensor, around the last axes; pads are listed from the last axis on, before and
    after."""
    source = call.tensor("self")
    stated = call.integers("pad" if "pad" in call.call.arguments else "padding")
    mode = call.plain("mode") or call.name.partition("_pad")[0]
    mode = "constant" if mode in ("", "pad") else _PAD_MODES.get(str(mode), str(mode))
    rank = len(call.size(source))
    if len(stated) % 2 or len(stated) > 2 * rank:
        call.fail(f"{len(stated)} pads for {rank} axes")
    if not any(stated):
        return source
    before = [0] * (rank - len(stated) // 2) + list(stated[::2][::-1])
    after = [0] * (rank - len(stated) // 2) + list(stated[1::2][::-1])
    value = call.plain("value") or 0
    if not isinstance(value, int | float):
        call.fail("'value' is not a number")
    fill = call.scalar_value("fill", value, call.dtype)
    fills = [fill] if mode == "constant" else []
    return call.add("Pad", source, call.integers_value("pads", (*before, *after)), *fills, mode=mode)


_PAD_MODES = {"replicate": "edge", "replication": "edge", "circular": "wrap", "reflection": "reflect"}


RULES = {
    **dict.fromkeys(
        (
            "_reshape_alias",
            "_unsafe_view",
            "flatten",
            "reshape",
            "reshape_as",
            "squeeze",
            "unflatten",
            "view",
            "view_as",
        ),
        shaped,
    ),
    "unsqueeze": unsqueeze,
    "permute": permute,
    "transpose": transpose,
    "swapaxes": transpose,
    "t": transpose,
    "mT": transpose,
    "movedim": move_axes,
    "pixel_shuffle": shuffled,
    "expand": expand,
    "expand_as": expand,
    "broadcast_to": expand,
    "repeat": repeat,
    "tile": repeat,
    "slice": part_of,
    "narrow": narrow,
    "select": select,
    "cat": joined,
    "concat": joined,
    "stack": stack,
    "split": split,
    "split_with_sizes": split,
    "chunk": split,
    "unbind": unbind,
    "roll": roll,
    "pad": pad,
    "constant_pad_nd": pad,
    **dict.fromkeys((f"{kind}_pad{axes}d" for kind in ("reflection", "replication") for axes in (1, 2, 3)), pad),
    "flip": flipped,
    "unfold": windows,
    "repeat_interleave": repeated,
    "pixel_unshuffle": unshuffled,
}
