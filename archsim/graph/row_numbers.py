"""Numbers of rows: places along several axes as one number, and a tensor as rows that such numbers pick.

Places that are known beforehand become known numbers; of others they are computed when the model runs, by a product
with the rows behind each place and a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from archsim.graph.pieces import Pieces
from archsim.ir.graph import Array, Shape


def known_numbers(places: Sequence[Array], sizes: Shape) -> Array:
    """Row-major numbers of places along axes of these sizes; those below 0 count from the end."""
    total: Array = np.zeros((), np.int64)
    for each, size in zip(places, sizes, strict=True):
        total = total * size + np.where(each < 0, each + size, each)
    return np.asarray(total, np.int64)


def numbers(pieces: Pieces, name: str, places: Sequence[str], sizes: Shape) -> str:
    """The same of values; ``name``: what the nodes that compute them are called."""
    data = [pieces.values[each].data for each in places]
    known = known_numbers([np.zeros((), np.int64) if each is None else each for each in data], sizes)
    if all(each is not None for each in data):
        return pieces.constant(f"{name}.numbers", known)
    found = ""
    for at, place in enumerate(places):
        if data[at] is not None:
            continue
        behind = prod(sizes[at + 1 :])
        part = place
        if behind > 1:
            stride = pieces.constant(f"{name}.stride{at}", behind)
            part = pieces.add("Mul", f"{name}.place{at}", place, stride)
        found = pieces.add("Add", f"{name}.rows{at}", found, part) if found else part
    if not known.any():
        return found
    return pieces.add("Add", f"{name}.numbers", found, pieces.constant(f"{name}.known", known))


def as_rows(pieces: Pieces, name: str, source: str, axes: int) -> str:
    """A value with its first ``axes`` as one."""
    shape = pieces.shape(source)
    if axes == 1:
        return source
    target = pieces.constant(f"{name}.rows.sizes", (prod(shape[:axes]), *shape[axes:]))
    return pieces.add("Reshape", f"{name}.rows", source, target)
