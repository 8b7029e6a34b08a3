"""Weights packed below a byte or in blocks: layers whose dims can be cut between their groups, and what lies where.

A *group* of a row is what can be moved by itself, with whole bytes of elements and of scales
(``archsim.facts.number_formats``). The dim along which a weight is packed becomes two: ``k`` of 4096 in groups of 256
is ``k_groups`` of 16 outside ``k`` of 256, which no loop cuts. To the DMA a packed row is a row of groups of so many
bytes; its scales are a tensor NAME.scale, whose rows have as many groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from archsim.facts.number_formats import ElementFormat, element_format
from archsim.ir.workload import Axis, Guard, Layer, Operand, Tensor, Workload

GROUPS_OF = "_groups"  # behind the name of a dim
SCALE = ".scale"  # behind the name of a tensor, and of an operand
BYTES = "uint8"


def base_of(workload: Workload, tensor: str) -> str:
    """The tensor that owns the storage behind ``tensor`` (itself, or the base of its chain of views)."""
    found = workload.tensors[tensor]
    while found.view is not None:
        found = workload.tensors[found.view.base]
    return found.name


def stated_format(workload: Workload, tensor: str) -> str:
    """The format that a tensor states, or the one of which it is a view; '' for none."""
    return workload.tensors[base_of(workload, tensor)].format


def packed_format(workload: Workload, tensor: str) -> ElementFormat | None:
    """The format of a tensor that is packed; None of others."""
    stated = stated_format(workload, tensor)
    found = element_format(stated) if stated else None
    return None if found is None or found.is_plain else found


@dataclass(frozen=True, slots=True)
class Groups:
    """How an operand's tensor lies in groups: ``axes`` as the layer indexes them, ``shape`` and ``strides`` of them,
    ``first`` the one that it begins with in its base; bytes of one, and of its scales."""

    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    first: int
    own_bytes: int
    scale_bytes: int


def groups_of(operand: Operand, layer: Layer, workload: Workload) -> Groups:
    """Those of a packed operand of a layer that ``split`` has made."""
    tensor = workload.tensors[operand.tensor]
    base, stated = workload.tensors[base_of(workload, operand.tensor)], packed_format(workload, operand.tensor)
    assert stated is not None
    row = base.shape[-1]
    size = stated.group(row)
    last = operand.axes[-1]
    terms = tuple([(dim, step // size) for dim, step in last.terms if step >= size and layer.dims[dim] > 1])
    outer = tensor.view.strides[:-1] if tensor.view is not None else _outer_strides(base.shape)
    first = tensor.view.offset // size if tensor.view is not None else 0
    return Groups(
        (*operand.axes[:-1], Axis(terms)),
        (*tensor.shape[:-1], row // size),
        (*(stride // size for stride in outer), 1),
        first,
        stated.row_bytes(size),
        stated.scale_bytes(size),
    )


def _outer_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape) - 1))


def why_unpacked(operand: Operand, layer: Layer, workload: Workload, stated: ElementFormat) -> str:
    """Why a layer cannot read an operand in groups of a format, '' where it can."""
    tensor, base = workload.tensors[operand.tensor], workload.tensors[base_of(workload, operand.tensor)]
    row = base.shape[-1] if base.shape else 1
    if not tensor.shape or tensor.shape[-1] != row or not _has_whole_rows(tensor, base, row):
        return f"it reads parts of the rows of '{base.name}'"
    last = operand.axes[-1]
    if any(dim in bound.dims for bound in layer.bounds for dim, _ in last.terms):
        return "a bound cuts it along the axis on which it is packed"
    if last.offset or _splits(last, layer.dims, row, stated.group(row)) is None:
        return f"it does not go along the last axis of '{base.name}' element by element"
    return ""


def _has_whole_rows(tensor: Tensor, base: Tensor, row: int) -> bool:
    view = tensor.view
    if view is None:
        return True
    return view.strides[-1] == 1 and not any(step % row for step in (view.offset, *view.strides[:-1]))


def _splits(axis: Axis, dims: Mapping[str, int], row: int, size: int) -> dict[str, int] | None:
    """Of the dims of an axis that lie inside a group of ``size`` how much of each; None where they do not go along the
    ``row`` element by element, no dim ends where
    groups do, or several count them."""
    found: dict[str, int] = {}
    reached, left, outside = 1, size, 0
    for dim, step in sorted(axis.terms, key=lambda term: term[1]):
        extent = dims[dim]
        if extent == 1:
            continue
        if step != reached:
            return None
        inside = min(left, extent)
        if extent % inside or left % inside:
            return None
        if inside > 1 or left > 1:
            found[dim] = inside
        reached, left, outside = reached * extent, left // inside, outside + (inside < extent)
    return found if reached == row and left == 1 and outside <= 1 else None


def split(layer: Layer, workload: Workload) -> Layer:
    """The layer with the dims of its packed operands in groups; itself where they are, or none is packed."""
    for operand in layer.inputs:
        stated = packed_format(workload, operand.tensor)
        if stated is not None:
            row = workload.tensors[base_of(workload, operand.tensor)].shape[-1]
            found = _splits(operand.axes[-1], layer.dims, row, stated.group(row))
            assert found is not None
            layer = _split(layer, found)
    return layer


def _split(layer: Layer, inside: Mapping[str, int]) -> Layer:
    """Each of some dims as groups and what lies ``inside`` one, which is never cut."""
    cut = {dim: size for dim, size in inside.items() if size < layer.dims[dim]}

    def names(dims: tuple[str, ...]) -> tuple[str, ...]:
        return tuple([name for dim in dims for name in _named(dim, cut)])

    dims: dict[str, int] = {}
    for dim, extent in layer.dims.items():
        dims |= {f"{dim}{GROUPS_OF}": extent // cut[dim], dim: cut[dim]} if dim in cut else {dim: extent}
    whole = (*layer.whole, *(dim for dim in inside if dim not in layer.whole))
    return replace(
        layer,
        dims=dims,
        inputs=tuple([replace(each, axes=tuple(_axes(each.axes, cut))) for each in layer.inputs]),
        output=replace(layer.output, axes=tuple(_axes(layer.output.axes, cut))),
        m=names(layer.m), n=names(layer.n), k=names(layer.k), batch=names(layer.batch), whole=whole,
        guards=tuple([Guard(next(_axes((each.axis,), cut)), each.length) for each in layer.guards]),
    )  # fmt: skip


def _named(dim: str, cut: Mapping[str, int]) -> tuple[str, ...]:
    return (f"{dim}{GROUPS_OF}", dim) if dim in cut else (dim,)


def _axes(axes: tuple[Axis, ...], cut: Mapping[str, int]) -> Iterator[Axis]:
    for axis in axes:
        terms: list[tuple[str, int]] = []
        for dim, step in axis.terms:
            terms += [(f"{dim}{GROUPS_OF}", step * cut[dim]), (dim, step)] if dim in cut else [(dim, step)]
        yield replace(axis, terms=tuple(terms))


def scales_of(tensor: Tensor) -> Tensor | None:
    """The tensor of a tensor's scales and zeros, in bytes; None where it has none."""
    stated = element_format(tensor.format) if tensor.format else None
    if stated is None or not stated.block:
        return None
    shape = (*tensor.shape[:-1], stated.scale_bytes(tensor.shape[-1]))
    return Tensor(f"{tensor.name}{SCALE}", shape, tensor.kind, format=BYTES)


def scales_named(workload: Workload, tensor: str) -> tuple[str, ...]:
    """The name of the tensor of a tensor's scales, of one in blocks."""
    found = scales_of(workload.tensors[tensor])
    return (found.name,) if found is not None else ()


def riding(layer: Layer) -> dict[str, int]:
    """Of the dims of a layer that count groups: elements of one group along them."""
    return {
        dim: layer.dims[dim.removesuffix(GROUPS_OF)]
        for dim in layer.dims
        if dim.endswith(GROUPS_OF) and dim.removesuffix(GROUPS_OF) in layer.whole
    }
