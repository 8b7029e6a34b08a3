"""SCALE-Sim topology files (.csv): one independent layer a row, each reading its own input tensor.

conv: name, IFMAP H, IFMAP W, filter H, filter W, channels, filters, stride [, stride W or N:M sparsity]
gemm: name, M, N, K [, batch or N:M sparsity]

The first line is a header, whose names say the order of the columns (``scalesim_columns``). Outputs are
ceil((IFMAP - filter) / stride) + 1, so a last window may reach past the edge: it is padded. A name containing "DP" is
depthwise: every channel has its own filters. What follows the last expected field is ignored, as SCALE-Sim does, and
says so where it has a name or a number; sparsity is not modelled and says so. A row without a name is called by its
shape (``archsim.frontend.names``), a name that stands above already gets its line.

Columns are told by the names of the header where it has all of them, else by their positions. A column behind the sizes
is a second stride, a number of products or sparsity: the first such column by its value, others where their names say
so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from archsim.base.errors import ModelError
from archsim.frontend.catalogue import ImportOptions
from archsim.frontend.names import layer_name
from archsim.graph.lowering.lower import LoweredModel, lower_graph
from archsim.ir.graph import Graph, GraphNode, GraphValue, OperatorAttribute, Shape

SUFFIXES = (".csv",)
OPTIONS = ("batch", "on_unsupported", "lookups")  # convolutions and products have a rule, and look nothing up
CONV_FIELDS = (
    "IFMAP height",
    "IFMAP width",
    "filter height",
    "filter width",
    "channels",
    "filters",
    "stride",
)
GEMM_FIELDS = ("M", "N", "K")
GEMM_MOST = 6  # filled fields of a gemm row: name, M, N, K, sparsity, batch
_ALIASES = {"numfilter": "filters", "numfilters": "filters", "strides": "stride", "strideheight": "stride"}
_EXTRAS = {CONV_FIELDS: ("stride", "spars"), GEMM_FIELDS: ("batch", "spars")}  # parts of names of what may follow


@dataclass(frozen=True, slots=True)
class ScalesimColumns:
    """``wanted``: the sizes; ``places``: the column of each; ``header``: the names of all columns, () without one."""

    wanted: tuple[str, ...]
    places: tuple[int, ...]
    header: tuple[str, ...]

    def sizes(self, fields: Sequence[str]) -> list[str]:
        """The texts of the sizes, as many as there are."""
        return [fields[at] for at in self.places if at < len(fields)]

    def beside(self, fields: Sequence[str]) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The text of a second stride, of products or of sparsity, and (name, text) of columns that nothing reads."""
        extra, unread = "", []
        for at, text in enumerate(fields):
            if at == 0 or at in self.places or not text:
                continue
            if not extra and self._counts(at):
                extra = text
            else:
                unread.append((self._name(at) or f"column {at + 1}", text))
        return extra, tuple(unread)

    def _name(self, at: int) -> str:
        return self.header[at] if at < len(self.header) else ""

    def _counts(self, at: int) -> bool:
        name = plain(self._name(at))
        if not name:
            return at == len(self.wanted) + 1
        return any(part in name for part in _EXTRAS[self.wanted])


def columns_of(header: Sequence[str], first: Sequence[str]) -> ScalesimColumns:
    """``header``: its fields, () without one; ``first``: the fields of the first row."""
    named = [_ALIASES.get(plain(name), plain(name)) for name in header]
    for wanted in (CONV_FIELDS, GEMM_FIELDS):
        found = [plain(name) for name in wanted]
        if set(found) <= set(named):
            return ScalesimColumns(wanted, tuple(named.index(name) for name in found), tuple(header))
    wanted = CONV_FIELDS if len([part for part in first if part]) > GEMM_MOST else GEMM_FIELDS
    return ScalesimColumns(wanted, tuple(range(1, len(wanted) + 1)), tuple(header))


def plain(name: str) -> str:
    """A name in lower case, its letters and digits alone."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


_RATIO = re.compile(r"\s*(\d+)\s*:\s*(\d+)\s*")


@dataclass(frozen=True, slots=True)
class ScalesimRow:
    """A layer as its line states it: the sizes of ``CONV_FIELDS`` or ``GEMM_FIELDS``."""

    place: str  # file:line
    line: int
    name: str
    sizes: tuple[int, ...]
    extra: str  # the optional field after them
    unread: tuple[tuple[str, str], ...] = ()  # (name, text) of columns that nothing reads


def load(path: Path, asked: ImportOptions) -> LoweredModel:
    """See ``import_scalesim``."""
    return import_scalesim(path, name=asked.name, batch=asked.batch, lookups=asked.lookups)


def import_scalesim(
    path: Path, *, name: str = "", batch: int | None = None, lookups: Mapping[str, str] | None = None
) -> LoweredModel:
    """Import a topology file; ``batch``: images (conv) or products (gemm) a layer; ``lookups``: it has none.

    ModelError names file:line and field.
    """
    rows, data = _read(path)
    nodes: list[GraphNode] = []
    values: dict[str, GraphValue] = {}
    warnings: list[str] = []
    for row in rows:
        node, operands = _layer(row, batch or 1, warnings)
        nodes.append(node)
        values.update({value.name: value for value in operands})
    graph = Graph(
        name=name or path.stem,
        nodes=tuple(nodes),
        values=values,
        inputs=tuple(key for key, value in values.items() if value.kind == "input"),
        outputs=tuple(node.outputs[0] for node in nodes),
        warnings=tuple(warnings),
    )
    return lower_graph(graph, batch=batch or 1, sha256=hashlib.sha256(data).hexdigest(), lookups=lookups)


def layers(path: Path) -> list[ScalesimRow]:
    """The layers of a topology file. Raises ModelError with file:line and field."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[ScalesimRow], bytes]:
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: cannot be read as text: {error}") from None
    rows = _rows(path, text)
    if not rows:
        raise ModelError(f"{path}: has no layer; allowed a header line and one row a layer")
    return rows, data


def _rows(path: Path, text: str) -> list[ScalesimRow]:
    """The rows after the header, each with a name of its own."""
    rows: dict[str, ScalesimRow] = {}
    columns: ScalesimColumns | None = None
    header: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fields = [part.strip() for part in line.split(",")]
        if number == 1 and not all(part.isdecimal() for part in fields[1:4]):
            header = fields
        if not any(fields) or fields is header:
            continue
        place = f"{path}:{number}"
        columns = columns or columns_of(header, fields)
        texts = columns.sizes(fields)
        if len(texts) < len(columns.wanted):
            raise ModelError(f"{place}: found {len(fields) - 1} sizes; allowed name, {', '.join(columns.wanted)}")
        sizes = tuple(_size(place, label, part) for label, part in zip(columns.wanted, texts, strict=True))
        extra, unread = columns.beside(fields)
        label = fields[0] or _shape_name(sizes, extra, len(rows) + 1)
        label = f"{label}#{number}" if label in rows else label
        rows[label] = ScalesimRow(place, number, label, sizes, extra, unread)
    return list(rows.values())


def _shape_name(sizes: Shape, extra: str, ordinal: int) -> str:
    """The name of a row without one: rows, columns, channels of a convolution, rows and columns of a product."""
    if len(sizes) == len(GEMM_FIELDS):
        return layer_name("MatMul", ordinal, sizes[:2])
    height, width, kernel_h, kernel_w, _, filters, stride = sizes
    across = int(extra) if extra.isdecimal() and int(extra) else stride
    return layer_name("Conv", ordinal, (1 - (kernel_h - height) // stride, 1 - (kernel_w - width) // across, filters))


def _size(place: str, label: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ModelError(f"{place}: {label}: found '{text}'; allowed whole numbers from 1")
    return int(text)


def _layer(row: ScalesimRow, batch: int, warnings: list[str]) -> tuple[GraphNode, tuple[GraphValue, GraphValue]]:
    ratio = _RATIO.fullmatch(row.extra)
    if ratio is not None and ratio[1] != ratio[2]:
        warnings.append(f"{row.place}: sparsity {row.extra} of '{row.name}' is not modelled: computed dense")
    for column, text in row.unread:
        if text.isdecimal() or not column.startswith("column "):
            warnings.append(f"{row.place}: {column} '{text}' of '{row.name}' is not known: ignored")
    second = int(row.extra) if row.extra.isdecimal() else 0
    return _gemm(row, batch, second or 1) if len(row.sizes) == len(GEMM_FIELDS) else _conv(row, batch, second)


def _gemm(row: ScalesimRow, batch: int, products: int) -> tuple[GraphNode, tuple[GraphValue, GraphValue]]:
    m, n, k = row.sizes
    several = (products,) if products > 1 else ()
    leading = (batch, *several) if batch > 1 else several
    a, b = _operands(row, (*leading, m, k), (*several, k, n))
    return GraphNode(row.name, "MatMul", (a.name, b.name), (f"{row.name}.output",)), (a, b)


def _conv(row: ScalesimRow, batch: int, stride_w: int) -> tuple[GraphNode, tuple[GraphValue, GraphValue]]:
    height, width, kernel_h, kernel_w, channels, filters, stride = row.sizes
    if kernel_h > height or kernel_w > width:
        raise ModelError(f"{row.place}: filter {kernel_h}x{kernel_w} is larger than its input {height}x{width}")
    groups = channels if "DP" in row.name else 1
    strides = (stride, stride_w or stride)
    ends = ((kernel_h - height) % strides[0], (kernel_w - width) % strides[1])
    a, b = _operands(row, (batch, channels, height, width), (filters * groups, channels // groups, kernel_h, kernel_w))
    attributes: dict[str, OperatorAttribute] = {"strides": strides, "pads": (0, 0, *ends), "group": groups}
    return GraphNode(row.name, "Conv", (a.name, b.name), (f"{row.name}.output",), attributes), (a, b)


def _operands(row: ScalesimRow, data: Shape, weights: Shape) -> tuple[GraphValue, GraphValue]:
    a, b = f"{row.name}.input", f"{row.name}.weights"
    return GraphValue(a, data, "input"), GraphValue(b, weights, "constant", sources=(b,))
