"""Bounds of layers, and results of which they leave elements unmade: who reads these must have the same bounds."""

from __future__ import annotations

from collections.abc import Iterator

from archsim.base.errors import ModelError, nearest
from archsim.ir.workload import Axis, Bound, Layer, Operand, Workload

MOST_OFFSET = 2**40  # up to which the number of a bound may reach; indices are counted in 64 bits
Along = tuple[tuple[tuple[int, int], ...], int]  # (memory axis, coefficient), offset: a bound as a tensor sees it


def check_bounds(layer: Layer) -> None:
    """Raise ModelError for a bound of what has none, of other dims, or that leaves nothing."""
    where = f"layer '{layer.name}' ({layer.op})"
    if layer.bounds and layer.kind not in ("matmul", "vector"):
        raise ModelError(f"{where} has bounds; allowed of matmul and vector layers, not of a {layer.kind}")
    for bound in layer.bounds:
        for dim, _ in bound.axis.terms:
            if dim not in layer.dims:
                known = ", ".join(layer.dims)
                raise ModelError(f"{where}: a bound of no dim '{dim}'{nearest(dim, layer.dims)}; there are: {known}")
        operands = [{dim for axis in each.axes for dim, _ in axis.terms} for each in (*layer.inputs, layer.output)]
        if not any(bound.dims <= dims for dims in operands):
            raise ModelError(
                f"{where}: a bound of {', '.join(sorted(bound.dims))}, which no operand has together; allowed the dims "
                "of one operand"
            )
        steps = [abs(step) * layer.dims[dim] for dim, step in bound.axis.terms]
        if not bound.axis.terms or abs(bound.axis.offset) + sum(steps) >= MOST_OFFSET:
            raise ModelError(f"{where}: a bound without a dim, or beyond 2^40")
        highest = bound.axis.offset + sum(max(step, 0) * (layer.dims[dim] - 1) for dim, step in bound.axis.terms)
        if highest < 0:
            raise ModelError(f"{where}: a bound that leaves no point; allowed such as t <= s")


def check_ragged(workload: Workload) -> None:
    """Raise ModelError for a layer that reads elements which the bounds of their maker leave unmade. What reads them
    through another view than they were made by has no bounds in common with their maker."""
    made: dict[str, tuple[str, Layer, list[Along]]] = {}
    for layer in workload.layers:
        for operand in layer.inputs:
            name, maker, wanted = made.get(_base(workload, operand.tensor), ("", layer, []))
            here = list(_along(layer, operand)) if name == operand.tensor else []
            if any(not _implied(bound, here) for bound in wanted):
                raise ModelError(
                    f"layer '{layer.name}' ({layer.op}) reads all of '{operand.tensor}', of which the bounds of "
                    f"'{maker.name}' leave elements unmade; state the same bounds here"
                )
        if layer.is_ragged:
            name = layer.output.tensor
            made[_base(workload, name)] = name, layer, list(_along(layer, layer.output))


def _base(workload: Workload, name: str) -> str:
    view = workload.tensors[name].view
    return name if view is None else view.base


def _implied(bound: Along, given: list[Along]) -> bool:
    """Whether one of the bounds ``given`` leaves no more than ``bound`` does."""
    return any(terms == bound[0] and offset <= bound[1] for terms, offset in given)


def _along(layer: Layer, operand: Operand) -> Iterator[Along]:
    """The bounds of a layer by the memory axes of an operand, as far as these have all of their dims."""
    for bound in layer.bounds:
        found = _by_axes(bound, operand.axes)
        if found is not None:
            yield found


def _by_axes(bound: Bound, axes: tuple[Axis, ...]) -> Along | None:
    rest, offset = dict(bound.axis.terms), bound.axis.offset
    terms: list[tuple[int, int]] = []
    for number, axis in enumerate(axes):
        steps = dict(axis.terms)
        shares = {rest[dim] / step for dim, step in axis.terms if dim in rest}
        if not shares:
            continue
        if len(shares) > 1 or not steps.keys() <= rest.keys() or not (share := shares.pop()).is_integer():
            return None
        terms.append((number, int(share)))
        offset -= int(share) * axis.offset
        rest = {dim: step for dim, step in rest.items() if dim not in steps}
    return None if rest else (tuple(terms), offset)
