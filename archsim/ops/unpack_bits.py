"""UnpackBits: whole numbers of a few bits each, which a file keeps in bytes, the first one in the lowest bits.

Of ``rows`` rows of bytes, the first ``count`` numbers of ``bits`` bits each, less half of how many there are: 0 to 15
become -8 to 7. They come out as (count, rows), as a product reads weights. Bytes are constants, so it costs nothing.
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.family import OperatorFamily
from archsim.ops.kit.rounding import moved


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """Bytes of any shape to (count, rows)."""
    assert inputs[0] is not None
    bits, rows, count = (node.integer(key, 0) for key in ("bits", "rows", "count"))
    needed = -(-count * bits // 8)
    if rows < 1 or inputs[0].elements % rows or inputs[0].elements // rows < needed:
        node.fail(f"'{inputs[0].name}' has {inputs[0].elements} bytes; needs {rows} rows of {needed}")
    return ((count, rows),)


def reference(node: GraphNode, packed: Array) -> tuple[Array, ...]:
    """By shifts and masks."""
    bits, rows, count = (node.integer(key, 0) for key in ("bits", "rows", "count"))
    whole = np.asarray(packed, np.uint8).reshape(rows, -1, 1)
    numbers = (whole >> np.arange(0, 8, bits, dtype=np.uint8)) & np.uint8((1 << bits) - 1)
    signed = numbers.reshape(rows, -1)[:, :count].astype(np.int16) - (1 << bits - 1)
    return (np.ascontiguousarray(signed.T.astype(np.int8)),)


FAMILY = OperatorFamily(("UnpackBits",), shapes, reference, rounding=moved)
