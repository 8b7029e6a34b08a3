"""One iteration of a block of layers: what its layers, views, composites and tensors are called, and which they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from archsim.ir.composites import Composite
from archsim.ir.workload import Layer, Operand, Tensor, TensorKind, ViewNode


class NumberedName(NamedTuple):
    """A block's name: what stands before and behind the number of an iteration."""

    before: str
    behind: str

    def of(self, iteration: int, name: str) -> str:
        """What ``name`` is called in an iteration."""
        return f"{self.before}{iteration}{self.behind}.{name}"

    def split(self, name: str) -> tuple[int, str] | None:
        """The iteration that a name is of, and the name that it has inside the block; None where it is of none."""
        found = re.fullmatch(rf"{re.escape(self.before)}(0|[1-9]\d*){re.escape(self.behind)}\.(.*)", name, re.DOTALL)
        return (int(found[1]), found[2]) if found else None


def home(tensors: Mapping[str, Tensor], name: str) -> str:
    """The tensor whose elements ``name`` stands for, where there is one."""
    tensor = tensors.get(name)
    return tensor.view.base if tensor is not None and tensor.view is not None else name


@dataclass(slots=True)
class RepeatedBlock:
    """``carried``: IN -> OUT, what an iteration reads of the one before in place of IN.

    ``own``: tensors named so; ``written``: those that its layers write, no views; ``numbered``: all tensors of which
    each iteration has its own.
    """

    name: NumberedName
    times: int
    carried: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    written: frozenset[str] = frozenset()
    numbered: Mapping[str, None] = field(default_factory=dict)

    def last(self, name: str) -> str:
        """What ``name`` is called in the last iteration, if each has its own."""
        return self.name.of(self.times - 1, name) if name in self.numbered else name

    def at(self, iteration: int, name: str) -> str:
        """The tensor that ``name`` stands for in an iteration."""
        if iteration and name in self.carried:
            return self.name.of(iteration - 1, self.carried[name])
        return self.name.of(iteration, name) if name in self.numbered else name

    def layer(self, iteration: int, layer: Layer) -> Layer:
        """The layer of an iteration."""
        return replace(
            layer,
            name=self.name.of(iteration, layer.name),
            inputs=tuple(self._operand(iteration, operand) for operand in layer.inputs),
            output=self._operand(iteration, layer.output),
            fused=tuple(self.name.of(iteration, name) for name in layer.fused),
        )

    def _operand(self, iteration: int, operand: Operand) -> Operand:
        return replace(operand, tensor=self.at(iteration, operand.tensor))

    def view(self, iteration: int, view: ViewNode) -> ViewNode:
        """The view of an iteration."""
        return ViewNode(self.name.of(iteration, view.name), view.op, self.at(iteration, view.of))

    def composite(self, iteration: int, composite: Composite) -> Composite:
        """The composite of an iteration."""
        members = tuple(self.name.of(iteration, name) for name in composite.members)
        return Composite(self.name.of(iteration, composite.name), composite.kind, members)

    def tensor(self, iteration: int, name: str, tensors: Mapping[str, Tensor]) -> Tensor:
        """The tensor of an iteration that is declared as ``name``, one of those that are numbered."""
        tensor, base = tensors[name], home(tensors, name)
        kind = self._kind(iteration, name, tensors)
        if iteration and base in self.carried:
            kind = self._kind(iteration - 1, self.carried[base], tensors)
        view = replace(tensor.view, base=self.at(iteration, base)) if tensor.view is not None else None
        return replace(tensor, name=self.name.of(iteration, name), kind=kind, view=view)

    def _kind(self, iteration: int, name: str, tensors: Mapping[str, Tensor]) -> TensorKind:
        """An output that the next iteration reads is an activation."""
        kind = tensors[name].kind
        handed_on = home(tensors, name) in {home(tensors, out) for out in self.carried.values()}
        return "activation" if kind == "output" and handed_on and iteration < self.times - 1 else kind
