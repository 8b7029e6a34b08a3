"""Windows of an image, shifted or not, and attention within them with a learned bias by distance.

A shifted image is turned by ``shift`` rows and columns, so that windows at its end hold rows from both sides; those see
their own side alone.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from archsim.base.errors import ModelError
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.ir.graph import Array

MOST_PAIRS = 1 << 26  # of a row and one that it sees, of which a mask holds a number
HIDDEN = -100.0  # what is added to scores of rows of another side, as published


class Windows(NamedTuple):
    """Squares of ``size`` rows and columns of an image that is turned by ``shift``."""

    size: int
    shift: int

    def padded(self, rows: int) -> int:
        """Rows of the image with whole windows."""
        return -(-rows // self.size) * self.size


def to_windows(graph: ModuleGraph, windows: Windows, value: str) -> str:
    """(batch * windows, rows of a window, elements), of (batch, rows, columns, elements)."""
    batch, rows, _, width = graph.shape(value)
    size, whole = windows.size, windows.padded(rows)
    if whole > rows:
        more = graph.numbers("pads", (0, 0, 0, 0, 0, whole - rows, whole - rows, 0))
        value = graph.add("Pad", "padded", value, more)
    value = _turned(graph, "shifted", value, windows.shift)
    count = whole // size
    parted = graph.reshape("windows.parted", value, batch, count, size, count, size, width)
    turned = graph.add("Transpose", "windows.transpose", parted, perm=(0, 1, 3, 2, 4, 5))
    return graph.reshape("windows", turned, batch * count * count, size * size, width)


def from_windows(graph: ModuleGraph, windows: Windows, value: str, rows: int) -> str:
    """The image again."""
    size, whole = windows.size, windows.padded(rows)
    count, width = whole // size, graph.shape(value)[2]
    batch = graph.shape(value)[0] // count**2
    parted = graph.reshape("image.parted", value, batch, count, count, size, size, width)
    turned = graph.add("Transpose", "image.transpose", parted, perm=(0, 1, 3, 2, 4, 5))
    found = graph.reshape("image", turned, batch, whole, whole, width)
    found = _turned(graph, "shifted_back", found, whole - windows.shift if windows.shift else 0)
    if whole > rows:
        found = graph.cut("image.cut", graph.cut("image.cut_rows", found, 1, 0, rows), 2, 0, rows)
    return found


def window_attention(graph: ModuleGraph, windows: Windows, heads: int, bias: bool, value: str, rows: int) -> str:
    """Every row of a window attends to all of it, or to those of its side of the image, which has ``rows``."""
    width = graph.shape(value)[2]
    with graph.module("attention"):
        with graph.module("self"):
            query, key, new = (
                graph.heads(part, graph.linear(part, value, width, bias), heads) for part in ("query", "key", "value")
            )
            turned = graph.add("Transpose", "key.turned", key, perm=(0, 1, 3, 2))
            scores = graph.add("MatMul", "attn.scores", query, turned)
            root = graph.numbers("attn.root", 1 / sqrt(width // heads), "float32")
            scores = graph.add("Mul", "attn.scale", scores, root)
            scores = graph.add("Add", "attn.bias", scores, _bias(graph, windows.size, heads))
            if windows.shift:
                scores = _masked(graph, windows, scores, rows)
            shares = graph.add("Softmax", "attn.softmax", scores, axis=-1)
            joined = graph.joined_heads("context", graph.add("MatMul", "attn.context", shares, new))
        return graph.linear("output.dense", joined, width, bias=True)


def _turned(graph: ModuleGraph, name: str, value: str, shift: int) -> str:
    """Rows and columns from ``shift`` on, and behind them those before: quarters, each of which is moved once."""
    if not shift:
        return value
    ends = ((shift, graph.shape(value)[1]), (0, shift))
    halves = list[str]()
    for number, rows in enumerate(ends):
        half = graph.cut(f"{name}.rows_{number}", value, 1, *rows)
        parts = [graph.cut(f"{name}.part_{number}{at}", half, 2, *columns) for at, columns in enumerate(ends)]
        halves.append(graph.add("Concat", f"{name}.half_{number}", *parts, axis=2))
    return graph.add("Concat", name, *halves, axis=1)


def _bias(graph: ModuleGraph, size: int, heads: int) -> str:
    """(heads, rows, rows): of each two rows of a window by their distance; made once, before the run."""
    table = graph.weight("relative_position_bias_table", (2 * size - 1) ** 2, heads)
    found = graph.add("Gather", "bias_rows", table, graph.numbers("distances", _distances(size), "int32"), axis=0)
    return graph.add("Transpose", "bias", found, perm=(2, 0, 1))


def _distances(size: int) -> Array:
    """(rows, rows): the number of the distance of each two places of a square."""
    row, column = np.divmod(np.arange(size * size), size)
    down, across = (place[:, None] - place[None, :] + size - 1 for place in (row, column))
    return np.asarray(down * (2 * size - 1) + across)


def _masked(graph: ModuleGraph, windows: Windows, scores: str, rows: int) -> str:
    """Scores with those of rows of another side of the image made small."""
    batch, heads, size, _ = graph.shape(scores)
    if windows.padded(rows) ** 2 * size > MOST_PAIRS:
        raise ModelError(
            f"module '{graph.named('attn')}': {rows} x {rows} rows that each see {size} are "
            f"{windows.padded(rows) ** 2 * size:,} pairs, of which the mask of a shifted image says whether they are "
            f"near; allowed {MOST_PAIRS:,}: a smaller image or window"
        )
    sides = _sides(windows, windows.padded(rows))
    mask = np.where(sides[:, :, None] == sides[:, None, :], 0.0, HIDDEN)
    stored = graph.numbers("attn.sides", mask[:, None], "float32")
    by_image = graph.reshape("attn.by_image", scores, batch // len(sides), len(sides), heads, size, size)
    return graph.reshape("attn.masked", graph.add("Add", "attn.mask", by_image, stored), batch, heads, size, size)


def _sides(windows: Windows, whole: int) -> Array:
    """(windows, rows of a window): which rows were neighbours before the image was turned, by one number for each of
    nine parts."""
    size, count = windows.size, whole // windows.size
    line = np.zeros(whole, np.int64)
    line[whole - size :] = 1
    line[whole - windows.shift :] = 2
    parts = 3 * line[:, None] + line[None, :]
    return parts.reshape(count, size, count, size).transpose(0, 2, 1, 3).reshape(count * count, size * size)
