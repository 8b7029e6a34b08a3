"""What each operation does to the numbers: moves, products that add up, vector functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

import numpy as np

from archsim.base.errors import ProgramError
from archsim.facts.number_codes import decode
from archsim.facts.number_formats import ElementFormat, element_format
from archsim.ir.footprint import clip
from archsim.ir.functions import Function
from archsim.ir.inside import guarded_operand
from archsim.ir.program import Affine, Command, CommandGuard, Region
from archsim.ir.streams import lookups, rows_of
from archsim.ir.unroll import Step
from archsim.ops.kit.catalogue import meanings
from archsim.ops.kit.meaning import FunctionCall, apply
from mapper.execute.memory import Array
from mapper.execute.places import Block, Place, Ranges, block

Finder = Callable[[Region, Step, bool], Place]
SINGLE_BITS = 24  # integers up to 2^24 are exact in single precision
_COMBINE = {"add": np.add, "max": np.maximum}
_BIAS = {"MATMUL": "bias", "VECTOR": "in2"}
_FACTORS = {"MATMUL": ("a", "b"), "VECTOR": ("in0", "in1")}


@dataclass(frozen=True)
class Work:
    """Does commands on the places that ``find`` (region, step, whether it is written) tells. ``exact``: on integers."""

    find: Finder
    exact: bool

    def do(self, step: Step) -> None:
        """One command; raises ProgramError for what cannot be computed."""
        command = step.command
        if step.is_empty:
            return
        if command.op == "MOVE":
            self._move(step)
        elif command.index is not None:
            self._look_up(step)
        elif command.op == "MATMUL" or command.function == "mac":
            self._accumulate(step)
        elif command.op == "VECTOR" and (stored := stored_format(command)) is not None:
            self._convert(step, stored)
        elif command.op == "VECTOR":
            self._vector(step)
        elif command.op == "HOST" and (command.reads or command.writes):
            raise ProgramError(f"{step.where} of {step.queue}: what the host computes is not known to the Program")

    def _block(self, region: Region, step: Step, dims: tuple[str, ...], writes: bool, ranges: Ranges) -> Block:
        return block(region, step, self.find(region, step, writes), dims, ranges)

    # moves

    def _move(self, step: Step) -> None:
        dims, whole = tuple(step.extents), _whole(step)
        pieces = [self._source(step, region, dims) for region in step.command.reads]
        for target in step.command.writes:
            out = self._block(target, step, dims, True, whole)
            zero = out.place.store.zero if self.exact else 0
            filled = np.full(out.shape, step.command.fill + zero, out.place.memory.kind(out.place.store))
            for ranges, values in pieces:
                filled[tuple(slice(*ranges[dim]) for dim in dims)] = values
            if step.command.combine:
                filled = _COMBINE[step.command.combine](out.read(), filled)
            out.write(filled)

    def _source(self, step: Step, region: Region, dims: tuple[str, ...]) -> tuple[Ranges, Array]:
        """(ranges inside the source, its elements there, copied)."""
        ranges = {**_whole(step), **clip(region, step)}
        ranges = {dim: (low, max(low, high)) for dim, (low, high) in ranges.items()}
        found = self._block(region, step, dims, False, ranges)
        return ranges, found.read().copy() if prod(found.shape) else np.zeros(found.shape, np.int8)

    def _look_up(self, step: Step) -> None:
        """Row by row, in order: of equal rows of a scatter the last one stays."""
        command = step.command
        counted, numbers = lookups(step)
        dims, whole = tuple(step.extents), _whole(step)
        for point, row in zip(np.ndindex(numbers.shape), rows_of(step).tolist(), strict=True):
            here = {**whole, **{dim: (at, at + 1) for dim, at in zip(counted, point, strict=True)}}
            (source,) = command.reads
            values = self._block(_row(source, step, row), step, dims, False, here).read().copy()
            for target in command.writes:
                out = self._block(_row(target, step, row), step, dims, True, here)
                out.write(_COMBINE[command.combine](out.read(), values) if command.combine else values)

    def _convert(self, step: Step, stored: ElementFormat) -> None:
        """Bytes of packed elements, and of their scales, to numbers."""
        command = step.command
        (target,) = command.writes
        outer = tuple(dim for dim in step.extents if dim in _moving(command.reads[0], step))
        inner = tuple(dim for dim in step.extents if dim not in outer)
        sizes = [step.extents[dim] for dim in outer]
        found = [(self._block(region, step, outer, False, _whole(step)).read(), region) for region in command.reads]
        rows = [each.reshape(*sizes, region.element_bytes) for each, region in found]
        scales = rows[1] if len(rows) > 1 else np.zeros((*rows[0].shape[:-1], 0))
        values = decode(rows[0], scales, stored, prod(step.extents[dim] for dim in inner))
        out = self._block(target, step, (*outer, *inner), True, _whole(step))
        out.write_real(values.reshape(out.shape))

    # products

    def _accumulate(self, step: Step) -> None:
        """acc (+)= sum of a * b, from the bias or 0 where the command is fresh."""
        regions = {region.operand: region for region in step.command.reads}
        first, second = (regions[name] for name in _FACTORS[step.command.op])
        (target,) = step.command.writes
        kept = _moving(target, step)
        groups = _groups(step, _moving(first, step), _moving(second, step), kept)
        total = self._product(step, first, second, groups)
        order = (*groups.batch, *groups.rows, *groups.columns)
        out = self._block(target, step, order, True, _whole(step))
        total = _guarded(step, target, order, total.reshape(out.shape))
        if not step.fresh:
            total = out.read() + total
        elif (name := _BIAS[step.command.op]) in regions:
            total = self._start(regions[name], step, order, out) + total
        out.write(_wrapped(total) if self.exact else total)

    def _start(self, bias: Region, step: Step, order: tuple[str, ...], out: Block) -> Array:
        """The bias in elements of the accumulator."""
        found = self._block(bias, step, order, False, _whole(step))
        elements = out.place.memory.elements(out.place.store, found.read_real())
        return elements.astype(np.float64) if self.exact else elements

    def _product(self, step: Step, first: Region, second: Region, groups: _Groups) -> Array:
        a = self._factor(first, step, (groups.batch, groups.rows, groups.sums))
        b = self._factor(second, step, (groups.batch, groups.columns, groups.sums))
        if self.exact and np.max(np.abs(a), initial=0) * np.max(np.abs(b), initial=0) * a.shape[2] >= 2**SINGLE_BITS:
            a, b = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(all="ignore"):
            total = np.matmul(a, b.transpose(0, 2, 1))
        return np.asarray(total, np.float64) if self.exact else np.asarray(total)

    def _factor(self, region: Region, step: Step, parts: tuple[tuple[str, ...], ...]) -> Array:
        """The operand as (batch, rows or columns, reduction), its zero taken off."""
        dims = tuple(dim for part in parts for dim in part)
        found = self._block(region, step, dims, False, _whole(step))
        sizes = tuple(prod(step.extents[dim] for dim in part) for part in parts)
        raw = found.read()
        values = raw.astype(np.float32 if self.exact else raw.dtype)
        values = values - found.place.store.zero if self.exact and found.place.store.zero else values
        return _guarded(step, region, dims, values).reshape(sizes)

    # vector functions

    def _vector(self, step: Step) -> None:
        command, dims = step.command, tuple(step.extents)
        (target,) = command.writes
        kept = _moving(target, step)
        values = {region.operand: self._operand(region, step, dims) for region in command.reads}
        reduced = tuple(axis for axis, dim in enumerate(dims) if dim not in kept)
        inside = _inside(command.guards, step, dims)
        result: Array | None = None
        for function in command.functions:
            call = FunctionCall(_arguments(function, result, values), dims, reduced, inside, dict(function.parameters))
            try:
                result = apply(function, meanings(), call)
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                raise ProgramError(
                    f"{step.where} of {step.queue}: '{function.name}' does not fit its operands: {error}"
                ) from None
        assert result is not None
        if inside is not None and all(dim in kept for guard in command.guards for dim, _ in guard.terms):
            result = np.where(inside, result, 0.0)
        order = tuple(dim for dim in dims if dim in kept)
        out = self._block(target, step, order, True, _whole(step))
        out.write_real(_without(np.asarray(result), reduced, dims, step).reshape(out.shape))

    def _operand(self, region: Region, step: Step, dims: tuple[str, ...]) -> Array:
        """The operand's numbers with one axis per extent, 1 long where it does not move."""
        moving = _moving(region, step)
        ranges = {dim: (0, step.extents[dim] if dim in moving else 1) for dim in dims}
        return np.asarray(self._block(region, step, dims, False, ranges).read_real(), np.float64)


@dataclass(frozen=True, slots=True)
class _Groups:
    """The part that each extent of a product plays."""

    batch: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    sums: tuple[str, ...]


def _groups(step: Step, first: set[str], second: set[str], kept: set[str]) -> _Groups:
    dims = tuple(step.extents)
    batch = tuple(dim for dim in dims if dim in kept and dim in first and dim in second)
    columns = tuple(dim for dim in dims if dim in kept and dim in second and dim not in first)
    sums = tuple(dim for dim in dims if dim not in kept)
    rows = tuple(dim for dim in dims if dim not in (*batch, *columns, *sums))
    return _Groups(batch, rows, columns, sums)


def stored_format(command: Command) -> ElementFormat | None:
    """The format of packed elements that a command converts; None of others."""
    text = next((dict(function.parameters).get("format") for function in command.functions), None)
    found = element_format(str(text)) if command.function == "convert" and text is not None else None
    return None if found is None or found.is_plain else found


def _row(region: Region, step: Step, row: int) -> Region:
    """The region itself or, where it is the table of a lookup, one row of it."""
    lookup = step.command.index
    if lookup is None or region is not step.command.table:
        return region
    return replace(region, offset=Affine(region.offset.at(step.env) + row * lookup.row_bytes))


def _moving(region: Region, step: Step) -> set[str]:
    return {dim for dim, stride in region.strides if stride}


def _whole(step: Step) -> Ranges:
    return {dim: (0, size) for dim, size in step.extents.items()}


def _wrapped(total: Array) -> Array:
    """Two's complement, as accumulators overflow."""
    return np.rint(total).astype(np.int64).astype(np.int32)


def _inside(guards: tuple[CommandGuard, ...], step: Step, dims: tuple[str, ...]) -> Array | None:
    """Which points take part; None when all do."""
    if not guards:
        return None
    masks = []
    for guard in guards:
        index = np.full([1] * len(dims), guard.start.at(step.env))
        for dim, coefficient in guard.terms:
            shape = [-1 if other == dim else 1 for other in dims]
            index = index + coefficient * np.arange(step.extents[dim]).reshape(shape)
        masks.append((index >= 0) & (index < guard.length))
    return np.asarray(reduce(np.logical_and, masks))


def _guarded(step: Step, region: Region, dims: tuple[str, ...], values: Array) -> Array:
    """Values of an operand, one axis for each of ``dims``, which are 0 where a guard of its extents leaves them out."""
    guards = [each for each in step.command.guards if guarded_operand(step.command, each) == region.operand]
    inside = _inside(tuple(guards), step, dims)
    return values if inside is None else np.where(inside, values, np.zeros((), values.dtype))


def _arguments(function: Function, result: Array | None, values: dict[str, Array]) -> tuple[Array, ...]:
    """What the function takes: the result so far, then the operands it names; all of them where it is the first."""
    named = tuple(values[item] if isinstance(item, str) else np.asarray(float(item)) for item in function.operands)
    if result is not None:
        return (result, *named)
    return named or tuple(values.values())


def _without(result: Array, reduced: tuple[int, ...], dims: tuple[str, ...], step: Step) -> Array:
    """The result without the axes that are reduced; raises ProgramError where a function left them."""
    shape = tuple(1 if axis in reduced else step.extents[dim] for axis, dim in enumerate(dims))
    try:
        full = np.broadcast_to(result, shape)
    except ValueError:
        raise ProgramError(
            f"{step.where} of {step.queue}: '{step.command.function}' does not reduce what its output lacks: its "
            f"result has shape {list(result.shape)}, its output {list(shape)}"
        ) from None
    return full
