"""ZigZag workloads: a list of layers with ``equation``, ``dimension_relations``, ``loop_dims`` and ``loop_sizes``."""

from __future__ import annotations

import re

from archsim.base.errors import nearest
from archsim.base.units import shown
from archsim.frontend.foreign.section import MOST, SourceQuantity, SourceSection
from archsim.frontend.foreign.work import ForeignCoordinate, ForeignLayer, ForeignModel, ForeignOperand

_OPERAND = r"([A-Za-z]\w*)((?:\s*\[\s*\w*\s*\])+)"
_EQUATION = re.compile(rf"\s*{_OPERAND}\s*(\+?=)\s*{_OPERAND}\s*([*+])\s*{_OPERAND}\s*")
_RELATION = re.compile(r"\s*(\w+)\s*=\s*(?:([0-9]{1,9})\s*\*\s*)?(\w+)\s*\+\s*(?:([0-9]{1,9})\s*\*\s*)?(\w+)\s*")
_POOLS = {"Pooling": "max", "Pool": "max", "MaxPool": "max", "AveragePool": "average", "GlobalAveragePool": "average"}
_BITS = {"I": "inputs", "W": "weights", "O_final": "outputs", "O": "accumulate"}


def read(section: SourceSection, file: str) -> tuple[ForeignModel, dict[str, SourceQuantity]]:
    """The layers, and the bits of each role in the first one. Raises ConfigError for what it cannot understand."""
    tasks: list[ForeignLayer] = []
    bits: dict[str, SourceQuantity] = {}
    known: dict[str, str] = {}  # id -> tensor of the result
    for layer in section.items():
        if not layer.node.mapping:
            layer.fail("found no mapping; allowed a layer with id, equation, loop_dims, loop_sizes")
        task = _task(layer, known)
        _precision(layer, bits)
        tasks.append(task)
    name = file.rpartition(".")[0] or file
    return ForeignModel("ZigZag", name, file, section.node.mark, tuple(tasks)), bits


def _task(layer: SourceSection, known: dict[str, str]) -> ForeignLayer:
    number = layer.text("id", "the layer's place", str(len(known)))
    name = layer.text("name", "layers.name") or f"layer{number}"
    operator = layer.text("operator_type", "the kind of layer")
    layer.refuse("a dimension in time has no counterpart", "time_dim")
    found = _EQUATION.fullmatch(layer.text("equation", "the tensors' indices"))
    if found is None:
        layer.fail(f"found {shown(layer.text('equation', ''))}; allowed O[b][k]+=I[b][c]*W[c][k]", "equation")
    extents = _extents(layer)
    windows = _windows(layer, extents)
    operands = {found[4]: found[5], found[7]: found[8]}
    if found[1] in operands or len(operands) != 2:
        layer.fail("one operand twice; allowed three with names of their own", "equation")
    sources = _sources(layer)
    tensors = {operand: known.get(sources.get(operand, ""), f"{name}_{operand}") for operand in operands}
    kind = _kind(operator, found[6])
    accesses = [
        ForeignOperand(
            tensors[operand], "weights" if operand == "W" else "inputs", _indices(layer, text, extents, windows)
        )
        for operand, text in operands.items()
    ]
    known[number] = f"layer{number}.result"
    result = ForeignOperand(known[number], "outputs", _indices(layer, found[2], extents, windows))
    return ForeignLayer(
        name=name,
        mark=layer.node.mark,
        place=layer.path,
        extents=extents,
        operands=tuple(accesses),
        result=result,
        kind=kind,
        padding=_padding(layer, windows),
        pooling=_POOLS.get(operator, "max"),
    )


def _kind(operator: str, sign: str) -> str:
    if sign == "+":
        return "add"
    return "pool" if operator in _POOLS else "product"


def _extents(layer: SourceSection) -> dict[str, int]:
    dims = [dim.upper() for dim in layer.words("loop_dims", "layers.sizes")]
    sizes = layer.at("loop_sizes")
    numbers = [item.value for item in sizes.node.items] if sizes is not None else []
    if not dims or len(dims) != len(numbers) or len(set(dims)) != len(dims):
        layer.fail(f"found {len(dims)} loop_dims and {len(numbers)} loop_sizes; allowed as many of each, each dim once")
    layer.take("layers.sizes", "loop_sizes")
    found = {}
    for dim, number in zip(dims, numbers, strict=True):
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MOST:
            layer.fail(f"found {shown(number)}; allowed whole numbers from 1 to 2^40", "loop_sizes")
        found[dim] = number
    return found


def _windows(layer: SourceSection, extents: dict[str, int]) -> dict[str, ForeignCoordinate]:
    """Index -> sum of dims, such as IX -> OX + FX."""
    found: dict[str, ForeignCoordinate] = {}
    relations = layer.at("dimension_relations")
    for item in relations.node.items if relations is not None else []:
        match = _RELATION.fullmatch(str(item.value))
        if match is None or match[3].upper() == match[5].upper():
            layer.fail(f"found {shown(item.plain())}; allowed ix=1*ox+1*fx", "dimension_relations")
        terms = ((match[3].upper(), int(match[2] or 1)), (match[5].upper(), int(match[4] or 1)))
        for dim, step in terms:
            if dim not in extents or step < 1:
                layer.fail(f"no size of '{dim}'{nearest(dim, extents)}, or a step of 0", "dimension_relations")
        found[match[1].upper()] = terms
    layer.take("stride and dilation", "dimension_relations")
    return found


def _indices(
    layer: SourceSection, text: str, extents: dict[str, int], windows: dict[str, ForeignCoordinate]
) -> tuple[ForeignCoordinate, ...]:
    found = []
    for index in re.findall(r"\w+", text):
        key = index.upper()
        if key not in windows and key not in extents:
            layer.fail(f"no size of '{index}'{nearest(key, extents)}; allowed {', '.join(extents)}", "equation")
        found.append(windows.get(key, ((key, 1),)))
    return tuple(found)


def _sources(layer: SourceSection) -> dict[str, str]:
    """Operand -> id of the layer that makes it."""
    table = layer.mapping("operand_source")
    if table is None:
        return {}
    return {operand: table.text(operand, "layers.input") for operand in table}


def _padding(layer: SourceSection, windows: dict[str, ForeignCoordinate]) -> dict[str, tuple[int, int]]:
    """By the dim of the result: zeros before and behind. ``pr_loop_dims`` names the windowed indices."""
    names = [name.upper() for name in layer.words("pr_loop_dims", "layers.pad")]
    layer.ignore("extents of the image follow from windows and padding", "pr_loop_sizes")
    pads = layer.at("padding")
    if pads is None:
        return {}
    pairs = [[item.value for item in pair.node.items] for pair in pads.items()]
    layer.take("layers.pad", "padding")
    if len(pairs) != len(names):
        layer.fail(f"found {len(pairs)} paddings and {len(names)} pr_loop_dims; allowed as many of each", "padding")
    found = {}
    for name, pair in zip(names, pairs, strict=True):
        whole = [zeros for zeros in pair if isinstance(zeros, int) and not isinstance(zeros, bool) and zeros >= 0]
        if len(pair) != 2 or len(whole) != 2 or name not in windows:
            layer.fail(
                f"found {shown(pair)} of '{name}'; allowed two whole numbers, of an index with a window", "padding"
            )
        for dim, _ in windows[name]:
            found[dim] = (whole[0], whole[1])
    return found


def _precision(layer: SourceSection, bits: dict[str, SourceQuantity]) -> None:
    """Bits by role, of the first layer that has it; of outputs the finished ones, of sums the partial ones."""
    found: dict[str, SourceQuantity] = {}
    for key in ("operand_precision", "operand_precision_bits"):
        table = layer.mapping(key)
        for operand in table if table is not None else []:
            assert table is not None
            role = _BITS.get(operand) or ("inputs" if operand in _operands(layer) else "")
            if not role:
                table.ignore("an operand that this layer does not have", operand)
                continue
            width = table.number(operand, "dtypes of the chip, or --dtype")
            if width is not None and width.value >= 1:
                _agree(table, operand, width, bits.get(role) or found.setdefault(role, width))
    if "accumulate" in found:
        found.setdefault("outputs", found["accumulate"])
    for role, width in found.items():
        bits.setdefault(role, width)


def _operands(layer: SourceSection) -> list[str]:
    """Names in the equation."""
    found = _EQUATION.fullmatch(layer.text("equation", ""))
    return [found[4], found[7]] if found is not None else []


def _agree(table: SourceSection, operand: str, width: SourceQuantity, known: SourceQuantity) -> None:
    if width.value != known.value:
        said = f"{known.value} b as {known.source}; a run has one dtype for each role (--dtype)"
        table.refuse(said, operand)
