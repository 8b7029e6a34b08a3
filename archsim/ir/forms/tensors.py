"""A tensor of a Workload <-> its phrase in the text form: ``input [1, 12, 12, 8] logical [0, 2, 3, 1]``; views too."""

from __future__ import annotations

from typing import Any, get_args

from archsim.ir.asm.cursor import WordCursor
from archsim.ir.asm.words import quote
from archsim.ir.workload import StateRows, Tensor, TensorKind, View, ViewNode


def tensor_text(tensor: Tensor) -> str:
    """``weight [16, 3, 3, 8] logical [0, 2, 3, 1]``."""
    text = f"{tensor.kind} {list(tensor.shape)}"
    if tensor.logical:
        text += f" logical {list(tensor.logical)}"
    if tensor.state is not None:
        text += f" axis {tensor.state.axis} past {tensor.state.past}"
    if tensor.format:
        text += f" format {quote(tensor.format)}"
    if tensor.view is not None:
        view = tensor.view
        text += f" view {quote(view.base)} offset {view.offset} strides {list(view.strides)}"
    return text


def read_tensor(name: str, cursor: WordCursor) -> Tensor:
    """The tensor called ``name`` that a phrase states."""
    kind: Any = cursor.keyword(get_args(TensorKind), "a kind")
    shape = _integers(cursor)
    logical = _integers(cursor) if cursor.skip_if("logical") else ()
    state = _state(cursor) if cursor.skip_if("axis") else None
    stated = cursor.name("a number format") if cursor.skip_if("format") else ""
    return Tensor(name, shape, kind, logical, _view(cursor) if cursor.skip_if("view") else None, state, stated)


def _state(cursor: WordCursor) -> StateRows:
    axis = cursor.integer("a memory axis")
    cursor.keyword(("past",), "the rows that are there")
    return StateRows(axis, cursor.integer("a number of rows"))


def _view(cursor: WordCursor) -> View:
    base = cursor.name("a tensor")
    cursor.keyword(("offset",), "the offset in elements")
    offset = cursor.integer("an offset in elements")
    cursor.keyword(("strides",), "the strides in elements")
    return View(base, offset, _integers(cursor))


def _integers(cursor: WordCursor) -> tuple[int, ...]:
    return cursor.many("[", "]", lambda: cursor.integer("an integer"))


def view_text(view: ViewNode) -> str:
    """``flat = Reshape of y``."""
    return f"{quote(view.name)} = {quote(view.op)} of {quote(view.of)}"


def read_view_node(cursor: WordCursor) -> ViewNode:
    """The view that a phrase states: ``flat = Reshape of y``."""
    name = cursor.name("the name of a node")
    cursor.expect("=")
    op = cursor.name("an operator")
    cursor.keyword(("of",), "what it is a view of")
    return ViewNode(name, op, cursor.name("a name"))
