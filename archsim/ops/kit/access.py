"""How a layer indexes its operands, and the splitting of dims that lets it read factored views without a copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from archsim.ir.graph import Shape
from archsim.ir.indices import Indices
from archsim.ir.workload import Axis
from archsim.ops.kit.layout import LayoutFactor, LogicalLayout

HERE = Axis(())  # index 0: an axis of extent 1, or a broadcast one


@dataclass(frozen=True, slots=True)
class LogicalAccess:
    """An operand as an operator indexes it: one Axis per *logical* axis of the value.

    ``part``: what the node's scales and shifts make of a constant: weights | bias | scale | shift ('': itself);
    ``channel``: the axis of the constant along which one of them differs from another. ``lookup``: the index of
    logical ``axis`` is the number of an entry of this stream, which says the row.
    """

    operand: str
    value: str
    index: tuple[Axis, ...]
    part: str = ""
    channel: int | None = None
    lookup: Indices | None = None
    axis: int = 0


@dataclass(frozen=True, slots=True)
class DimSplit:
    """A dim cut into ``parts`` (name, extent), outermost first."""

    parts: tuple[tuple[str, int], ...]

    @property
    def terms(self) -> tuple[tuple[str, int], ...]:
        """The dim as a sum over its parts: coefficient = product of the extents inside."""
        return _terms(self.parts)


DimSplits = Mapping[str, DimSplit]


def at(*terms: str | tuple[str, int], offset: int = 0) -> Axis:
    """Axis from dims and (dim, coefficient) pairs: ``at(("p", 2), "r", offset=-1)`` is 2p + r - 1."""
    return Axis(tuple((term, 1) if isinstance(term, str) else term for term in terms), offset)


def pure(axis: Axis) -> str | None:
    """The dim of an axis that is exactly one dim, else None."""
    if axis.offset == 0 and len(axis.terms) == 1 and axis.terms[0][1] == 1:
        return axis.terms[0][0]
    return None


def descending(factors: tuple[LayoutFactor, ...]) -> bool:
    """Whether inner factors step in smaller strides, so that a run stays a run when the axis is walked."""
    strides = [factor.stride for factor in factors]
    return strides == sorted(strides, reverse=True)


def wanted_splits(access: LogicalAccess, layout: LogicalLayout) -> dict[str, Shape] | None:
    """Extents into which dims must be cut to read ``layout``; None when an axis with several factors is no plain
    dim.
    """
    wanted: dict[str, Shape] = {}
    for axis, factors in zip(access.index, layout.axes, strict=True):
        if len(factors) < 2:
            continue
        dim = pure(axis)
        if dim is None:
            return None
        wanted[dim] = tuple(factor.extent for factor in factors)
    return wanted


def refine(first: Shape, second: Shape) -> Shape | None:
    """The coarsest common refinement of two factorings of one extent, or None when their cuts do not nest."""
    cuts = sorted(set(_inner_products(first)) | set(_inner_products(second)))
    extents = [prod(first), *reversed(cuts)]
    if any(outer % inner for outer, inner in zip(extents, extents[1:], strict=False)):
        return None
    return tuple(outer // inner for outer, inner in zip(extents, extents[1:], strict=False))


def substitute(axis: Axis, splits: DimSplits) -> Axis:
    """The axis with every split dim replaced by its parts."""
    terms: list[tuple[str, int]] = []
    for dim, coefficient in axis.terms:
        if dim in splits:
            terms.extend((name, inner * coefficient) for name, inner in splits[dim].terms)
        else:
            terms.append((dim, coefficient))
    return Axis(tuple(terms), axis.offset)


def rename(dims: Iterable[str], splits: DimSplits) -> tuple[str, ...]:
    """A list of dims with every split dim replaced by the names of its parts."""
    return tuple(name for dim in dims for name in (_names(splits[dim]) if dim in splits else (dim,)))


def factor_axes(axis: Axis, factors: tuple[LayoutFactor, ...], splits: DimSplits) -> tuple[Axis, ...]:
    """One Axis per factor of a logical axis."""
    if len(factors) == 1:
        return (substitute(axis, splits),)
    if not factors:
        return ()
    parts = list(splits[axis.terms[0][0]].parts)
    found: list[Axis] = []
    for factor in reversed(factors):
        taken: list[tuple[str, int]] = []
        while prod(extent for _, extent in taken) < factor.extent:
            taken.insert(0, parts.pop())
        found.insert(0, Axis(_terms(tuple(taken))))
    return tuple(found)


def _terms(parts: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    return tuple((name, prod(extent for _, extent in parts[i + 1 :])) for i, (name, _) in enumerate(parts))


def _names(split: DimSplit) -> tuple[str, ...]:
    return tuple(name for name, _ in split.parts)


def _inner_products(extents: Shape) -> list[int]:
    return [prod(extents[index:]) for index in range(1, len(extents) + 1)]
