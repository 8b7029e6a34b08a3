"""Rows and elements picked by indices."""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.frontend.torch.bound import BoundCall
from archsim.ops.kit.lookups import INDEX_TYPES, ROWS

POOLINGS = ("ReduceSum", "ReduceMean", "ReduceMax")  # by torch's number of the mode


def embedding(call: BoundCall) -> str:
    """Rows of a table."""
    return call.add("Gather", call.tensor("weight"), call.tensor("indices"), axis=0)


def index_select(call: BoundCall) -> str:
    """Elements of an axis."""
    source = call.tensor("self")
    return call.add("Gather", source, call.tensor("index"), axis=call.axis("dim", len(call.size(source))))


def gather(call: BoundCall) -> str:
    """Of each row along an axis the elements at places of its own."""
    source = call.tensor("self")
    places = call.tensor("indices" if call.name == "take_along_dim" else "index")
    axis = call.axis("dim", len(call.size(source)))
    return call.add("GatherElements", source, places, axis=axis) if call.size(source) else source


def index(call: BoundCall) -> str:
    """Elements by indices of one axis, or of several, which are brought together and taken as one."""
    source, stated = call.tensor("self"), call.tensors("indices")
    axes = [axis for axis, name in enumerate(stated) if name]
    shape = call.size(source)
    if not axes or len(stated) > len(shape):
        call.refuse("picks by no indices, or of more axes than there are")
    for axis in axes:
        if call.value(stated[axis]).dtype not in INDEX_TYPES:
            call.refuse(f"picks by {call.value(stated[axis]).dtype}; allowed {', '.join(INDEX_TYPES)}")
    if axes != list(range(axes[0], axes[0] + len(axes))):  # then what is picked comes first
        rest = [axis for axis in range(len(shape)) if axis not in axes]
        stated = [stated[axis] for axis in axes]
        source = call.add("Transpose", source, part="front", perm=(*axes, *rest))
        axes, shape = list(range(len(axes))), call.size(source)
    if len(axes) == 1:
        return _rows(call, source, stated[axes[0]], axes[0])
    joined = call.reshaped(
        source, (*shape[: axes[0]], prod(shape[axes[0] : axes[-1] + 1]), *shape[axes[-1] + 1 :]), "rows"
    )
    found = stated[axes[0]]
    for axis in axes[1:]:
        stride = call.scalar_value("stride", shape[axis], "int64")
        scaled = call.add("Mul", found, stride, part="rows.first", dtype="int64")
        found = call.add("Add", scaled, stated[axis], part="rows.index", dtype="int64")
    return call.add("Gather", joined, found, axis=axes[0])


def _rows(call: BoundCall, source: str, indices: str, axis: int) -> str:
    """Rows of a table; of a constant one by a router's choice they are looked up when the model runs."""
    data = call.value(indices).data
    if data is None or not call.is_chosen or not call.value(source).constant or call.value(source).data is not None:
        return call.add("Gather", source, indices, axis=axis)
    return call.add(ROWS, source, indices, axis=axis, indices=tuple(int(row) for row in np.ravel(data)))


def embedding_bag(call: BoundCall) -> str:
    """Sum, mean or maximum of the rows of each bag, where bags are of one size."""
    if call.integer("padding_idx", -1) >= 0:
        call.refuse("leaves rows out of its bags that are known at run time only")
    mode = call.integer("mode", 0)
    indices, offsets = call.tensor("indices"), call.value(call.tensor("offsets"))
    bags, size = call.shape[0], _bag_size(call, offsets.data, call.value(indices).elements)
    parted = call.reshaped(indices, (bags, size), "bags")
    rows = call.add("Gather", call.tensor("weight"), parted, axis=0)
    if call.is_tensor("per_sample_weights"):
        weights = call.reshaped(call.tensor("per_sample_weights"), (bags, size, 1), "weights")
        rows = call.add("Mul", rows, weights, part="weighted")
    return call.add(POOLINGS[mode], rows, call.integers_value("axes", (1,)), part="bag", keepdims=0)


def _bag_size(call: BoundCall, offsets: object, elements: int) -> int:
    starts = None if offsets is None else [int(start) for start in np.ravel(np.asarray(offsets))]
    bags = call.shape[0]
    size = elements // bags if bags else 0
    if starts is None or not size or starts[:bags] != list(range(0, elements, size)):
        call.refuse("its bags differ in size, or are known at run time only; allowed equal ones")
    return size


RULES = {
    "embedding": embedding,
    "index_select": index_select,
    "index": index,
    "gather": gather,
    "take_along_dim": gather,
    "embedding_bag": embedding_bag,
    "_embedding_bag_forward_only": embedding_bag,
}
