"""Look-ups of rows: which indices are known beforehand, and the access pattern of those that are not."""

from __future__ import annotations

import zlib

import numpy as np

from archsim.base.errors import ConfigError, ProgramError
from archsim.ir.asm.cursor import WordCursor
from archsim.ir.asm.lexer import phrase
from archsim.ir.asm.lookup import read_indices
from archsim.ir.graph import GraphNode, GraphValue
from archsim.ir.indices import Indices

ROWS, BAG = "GatherRows", "EmbeddingBag"
LOOKUPS = (ROWS, BAG)  # operators whose second input are indices that an access pattern foresees
INDEX_TYPES = ("int32", "int64")  # that ONNX allows for indices


def progression(node: GraphNode, indices: GraphValue) -> tuple[int, int, int] | None:
    """First index, step and count of constant, evenly spaced indices (of the table's own size when negative ones)."""
    if indices.data is None or len(indices.shape) > 1 or not indices.elements:
        return None
    found = [int(index) for index in np.ravel(indices.data)]
    step = found[1] - found[0] if len(found) > 1 else 1
    if step < 1 or found != list(range(found[0], found[0] + step * len(found), step)):
        return None
    return (found[0], step, len(found)) if found[0] >= 0 or found[-1] < 0 else None


def pattern(node: GraphNode) -> Indices:
    """The access pattern of a node that looks rows up."""
    stated = node.attributes.get("indices")
    if isinstance(stated, tuple):
        return Indices("trace", trace=tuple(int(row) for row in stated))
    return read_pattern(node.text("indices", ""), f"node '{node.name}'")


def default_seed(indices: str) -> int:
    """The seed of a look-up that states none, by the name of its indices: those of different indices differ."""
    return zlib.crc32(indices.encode())


def axis_of(node: GraphNode, rank: int) -> int:
    """The axis of the table that is looked up."""
    axis = node.integer("axis", 0)
    if not -rank <= axis < rank:
        node.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
    return axis % rank


def read_pattern(text: str, what: str) -> Indices:
    """The pattern that a text states; ``what`` it is of, for messages. Raises ConfigError."""
    try:
        cursor = WordCursor(phrase(text, 1, what), what)
        found = read_indices(cursor)
        if not cursor.ended:
            cursor.fail("the end of the pattern")
    except ProgramError as error:
        raise ConfigError(str(error).replace(f"{what}:1:", f"{what}:")) from None
    return found
