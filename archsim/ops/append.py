"""Rows appended to a state: what a run adds to keys and values that live on in memory from one run to the next.

Append(state, new) is the rows [0, past + new) of the state along one axis. No other byte of the state moves: whoever
makes the new rows writes them where they belong, and what cannot be placed there is copied once. Attribute ``axis``:
the logical axis along which rows follow one another; ``past``: rows that are there when the run begins, as the graph's
states say (archsim/graph/states.py enters it).
"""

from __future__ import annotations

import numpy as np

from archsim.ir.graph import Array, GraphNode, Inputs, Shape
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.family import JoinSlots, OperatorFamily
from archsim.ops.kit.layout import part

STATE, NEW = range(2)


def shapes(node: GraphNode, inputs: Inputs) -> tuple[Shape, ...]:
    """The state's shape with the rows that are there then; raises ModelError where it has no room for them."""
    state, new = inputs[:2]
    assert state is not None and new is not None
    axis, past = _axis(node, len(state.shape)), node.integer("past", 0)
    rest = [(*shape[:axis], *shape[axis + 1 :]) for shape in (state.shape, new.shape)]
    if len(new.shape) != len(state.shape) or rest[0] != rest[1]:
        node.fail(f"rows of shape {list(new.shape)} do not fit the state '{state.name}' of {list(state.shape)}")
    rows, room = past + new.shape[axis], state.shape[axis]
    if rows > room:
        node.fail(
            f"appends rows {past} to {rows - 1} to '{state.name}', which has room for {room}; give it room "
            f"for {rows} rows or more, such as by --parameter context={rows} where the model has that parameter"
        )
    return ((*state.shape[:axis], rows, *state.shape[axis + 1 :]),)


def slots(node: GraphNode, inputs: Inputs) -> JoinSlots:
    """New rows begin where those of before end."""
    state = inputs[STATE]
    assert state is not None
    return JoinSlots(_axis(node, len(state.shape)), (0, node.integer("past", 0)), within=True)


def lower(node: GraphNode, build: WorkloadBuilder) -> None:
    """A view of the state; a copy layer for rows that are not written there by who makes them."""
    joined = slots(node, tuple(build.value(name) for name in node.inputs))
    whole, new = build.home(node.outputs[0]), node.inputs[NEW]
    if whole is None:
        node.fail("its state has no place")
    target = part(whole, build.shape(new), joined.axis, joined.starts[NEW])
    if build.home(new) != target:
        build.copy_into(node, NEW, target, name=node.name)
    build.joined(node)


def reference(node: GraphNode, state: Array, new: Array) -> tuple[Array, ...]:
    """The rows of before, and the new ones behind them."""
    axis = _axis(node, state.ndim)
    older = np.take(state, np.arange(node.integer("past", 0)), axis)
    return (np.concatenate([older, new], axis),)


def _axis(node: GraphNode, rank: int) -> int:
    axis = node.integer("axis", 0)
    if not -rank <= axis < rank:
        node.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
    return axis % rank


FAMILY = OperatorFamily(("Append",), shapes, reference, lower, order="same", result="view", slots=slots, arity=2)
