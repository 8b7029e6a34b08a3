"""Networks as text (.net): one layer a line, each of the result before it.

input NAME ROWS COLUMNS      the first line
dense NAME COLUMNS WEIGHT    a product with a matrix of which every element is WEIGHT
relu NAME
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from archsim.base.errors import ModelError
from archsim.frontend.catalogue import ImportOptions
from archsim.ir.graph import Array, Graph, GraphNode, GraphValue

SUFFIXES = (".net",)
OPTIONS = ("batch",)


def load(path: Path, asked: ImportOptions) -> Graph:
    """The graph of a file; ``batch`` replaces the rows of its input. Raises ModelError with file and line."""
    nodes: list[GraphNode] = []
    values: dict[str, GraphValue] = {}
    last, columns = "", 0
    for number, words in enumerate(_lines(path), start=1):
        match words:
            case ["input", name, rows, width] if not values:
                columns = int(width)
                values[name] = GraphValue(name, (asked.batch or int(rows), columns), "input")
            case ["dense", name, width, _]:
                shape, columns = (columns, int(width)), int(width)
                values[f"{name}.weight"] = GraphValue(f"{name}.weight", shape, "constant", sources=(f"{name}.weight",))
                nodes.append(GraphNode(name, "MatMul", (last, f"{name}.weight"), (name,)))
            case ["relu", name]:
                nodes.append(GraphNode(name, "Relu", (last,), (name,)))
            case _:
                raise ModelError(f"{path}:{number}: found '{' '.join(words)}'; allowed input first, dense, relu")
        last = words[1]
    return Graph(asked.name or path.stem, tuple(nodes), values, tuple(values)[:1], (last,))


def stored(path: Path) -> dict[str, Array]:
    """The matrices."""
    found: dict[str, Array] = {}
    columns = 0
    for words in _lines(path):
        if words[0] == "dense":
            found[f"{words[1]}.weight"] = np.full((columns, int(words[2])), float(words[3]), np.float32)
        columns = int(words[3] if words[0] == "input" else words[2]) if words[0] != "relu" else columns
    return found


def _lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
