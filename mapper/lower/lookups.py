"""Which rows of its table a looked-up operand's tile has."""

from __future__ import annotations

from archsim.ir.program import Affine, Lookup
from archsim.ir.workload import Rows
from mapper.lower.frame import Frame
from mapper.problem.operands import OperandPlan


def lookup(frame: Frame, plan: OperandPlan, depth: int) -> Lookup | None:
    """By the extents of ``frame.tensor_region``; None where the operand is not looked up."""
    if plan.rows is None:
        return None
    parts = [part for part in frame.parts[plan.name] if part.axis == plan.rows.axis]
    terms = tuple((part.name, part.unit) for part in parts if part.has_extent)
    steps = {dim: part.unit * coef for part in parts for dim, coef in part.terms}
    start = Affine(sum(part.offset for part in parts), frame.starts(steps, depth))
    return _lookup(frame, plan, plan.rows, terms, start)


def dims_lookup(frame: Frame, plan: OperandPlan, depth: int) -> Lookup | None:
    """By the layer's dims, as ``frame.dims_region`` has them; None where the operand is not looked up."""
    if plan.rows is None:
        return None
    axis = plan.axes[plan.rows.axis]
    start = Affine(axis.offset, frame.starts(dict(axis.terms), depth))
    return _lookup(frame, plan, plan.rows, frame.moving(dict(axis.terms), depth), start)


def _lookup(frame: Frame, plan: OperandPlan, rows: Rows, terms: tuple[tuple[str, int], ...], start: Affine) -> Lookup:
    stored = frame.stored[plan.operand]
    return Lookup(rows.indices, stored.shape[rows.axis], stored.strides[rows.axis], terms, start)
