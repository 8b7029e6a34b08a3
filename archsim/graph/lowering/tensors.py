"""Declares the tensors that layers name, in memory order, and makes the operands that index them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from archsim.ir.graph import GraphState, GraphValue
from archsim.ir.workload import Axis, Operand, Rows, StateRows, Tensor, TensorKind, View
from archsim.ops.kit.access import HERE, DimSplits, LogicalAccess, at, factor_axes, substitute
from archsim.ops.kit.layout import LayoutFactor, LogicalLayout

STATE_ROLE = "kv"  # of operands that read or write rows of a state


@dataclass(frozen=True, slots=True)
class ConstantContent:
    """What a stored constant holds: ``value`` ('' part), or the ``part`` that the scales and shifts of ``node`` make.

    ``value``: of the graph ('' where folding alone makes the constant).
    ``channel``: the axis of the value along which scales and shifts vary.
    """

    value: str
    part: str
    node: str
    channel: int | None

    def same(self, other: ConstantContent) -> bool:
        """Whether both hold the same numbers."""
        return (self.value, self.part, self.node) == (other.value, other.part, other.node)


class Tensors:
    """The tensors declared so far, by name; the ``contents`` of constants, the ``values`` that the others hold.

    Roots are registered first; views of them are declared when first named.
    """

    def __init__(self, states: Mapping[str, GraphState]) -> None:
        """Start empty. ``states``: of the values that are one."""
        self._states = states
        self.declared: dict[str, Tensor] = {}
        self.contents: dict[str, ConstantContent] = {}
        self.values: dict[str, str] = {}
        self._roots: dict[str, tuple[GraphValue, LogicalLayout]] = {}

    def root(self, value: GraphValue, layout: LogicalLayout) -> None:
        """Register a tensor of its own, so that it and views of it can be declared."""
        self._roots[layout.root] = (replace(value, name=layout.root), layout)

    def activation(
        self, access: LogicalAccess, value: GraphValue, layout: LogicalLayout, splits: DimSplits, role: str
    ) -> Operand:
        """The operand of an input or activation that lies as ``layout`` says; rows of a state have their own role."""
        found: list[Axis] = []
        for axis, factors in zip(access.index, layout.axes, strict=True):
            found.extend(factor_axes(axis, factors, splits))
        order = _memory(layout)
        axes = tuple(found[position] for position in order) or (HERE,)
        looked_up = sum(len(factors) for factors in layout.axes[: access.axis])
        rows = Rows(order.index(looked_up), access.lookup) if access.lookup is not None else None
        role = STATE_ROLE if layout.root in self._states else role
        return Operand(access.operand, self.declare(value, layout), role, axes, rows)

    def declare(self, value: GraphValue, layout: LogicalLayout) -> str:
        """Declare the tensor of a value (and the root it is a view of); returns its name.

        A state is another value before rows are appended to it: all of it afterwards is a view of its own.
        """
        own, own_layout = self._roots[layout.root]
        if own.name not in self.declared:
            self.declared[own.name] = self._own(own, own_layout)
            self.values[own.name] = own.name
        if layout == own_layout and (own.kind != "state" or value.name == own.name):
            return own.name
        factors = _factors(layout)
        view = View(layout.root, layout.offset, tuple(factors[i].stride for i in _memory(layout)) or (1,))
        tensor = _tensor(replace(value, kind=own.kind), layout, view)
        name = value.name if self.declared.setdefault(value.name, tensor) == tensor else self._renamed(tensor)
        self.values.setdefault(name, value.name)
        return name

    def natural(self, access: LogicalAccess, value: GraphValue, content: ConstantContent, splits: DimSplits) -> Operand:
        """The operand of a constant stored row-major in its logical shape."""
        axes = tuple(substitute(axis, splits) for axis in access.index) or (HERE,)
        name = self._weight(Tensor(value.name, value.shape or (1,), "weight"), content)
        if access.lookup is not None:
            return Operand(access.operand, name, "tables", axes, Rows(access.axis, access.lookup))
        return Operand(access.operand, name, "weights", axes)

    def packed(
        self,
        access: LogicalAccess,
        value: GraphValue,
        content: ConstantContent,
        splits: DimSplits,
        order: tuple[str, ...],
        extents: Mapping[str, int],
    ) -> Operand:
        """The operand of a matmul's weights, stored with the layer's dims in ``order`` (reduction innermost)."""
        logical: list[str] = []
        for axis in access.index:
            terms = sorted(substitute(axis, splits).terms, key=lambda term: -term[1])
            logical.extend(dim for dim, _ in terms)
        memory = tuple(dim for dim in order if dim in logical)
        shape = tuple(extents[dim] for dim in memory)
        logical_axes = tuple(logical.index(dim) for dim in memory)
        tensor = Tensor(value.name, shape, "weight", logical_axes, format=value.format)
        return Operand(access.operand, self._weight(tensor, content), "weights", tuple(at(dim) for dim in memory))

    def output(self, value: GraphValue, layout: LogicalLayout) -> None:
        """Mark a graph output: its tensor, and the root it lies in, are stored for the host."""
        for name in dict.fromkeys((layout.root, self.declare(value, layout))):
            tensor = self.declared[name]
            if tensor.kind == "activation":
                self.declared[name] = replace(tensor, kind="output")

    def _own(self, value: GraphValue, layout: LogicalLayout) -> Tensor:
        """A tensor that is no view."""
        tensor, state = _tensor(value, layout, None), self._states.get(value.name)
        if state is None:
            return tensor
        return replace(tensor, state=StateRows(_memory(layout).index(state.axis), state.past))

    def _weight(self, tensor: Tensor, content: ConstantContent) -> str:
        """A constant: the same contents in another memory order, or other contents, are a tensor numbered from 2."""
        number, name = 1, tensor.name
        while name in self.declared and not self._holds(replace(tensor, name=name), content):
            number += 1
            name = f"{tensor.name}#{number}"
        self.declared[name] = replace(tensor, name=name)
        self.contents.setdefault(name, content)
        return name

    def _holds(self, tensor: Tensor, content: ConstantContent) -> bool:
        return self.declared[tensor.name] == tensor and self.contents[tensor.name].same(content)

    def _renamed(self, tensor: Tensor) -> str:
        """The same value seen through another view is another tensor, numbered from 2."""
        number = 2
        while self.declared.setdefault(name := f"{tensor.name}#{number}", replace(tensor, name=name)) != replace(
            tensor, name=name
        ):
            number += 1
        return name


def _tensor(value: GraphValue, layout: LogicalLayout, view: View | None) -> Tensor:
    factors, order = _factors(layout), _memory(layout)
    shape = tuple(factors[i].extent for i in order) or (1,)
    kind: TensorKind = "activation" if value.kind == "constant" else value.kind
    logical = () if order == tuple(range(len(order))) else order
    return Tensor(value.name, shape, kind, logical, view)


def _factors(layout: LogicalLayout) -> tuple[LayoutFactor, ...]:
    return tuple(factor for axis in layout.axes for factor in axis)


def _memory(layout: LogicalLayout) -> tuple[int, ...]:
    """Positions of the factors from the outermost in memory to the innermost."""
    factors = _factors(layout)
    return tuple(sorted(range(len(factors)), key=lambda i: (-abs(factors[i].stride), factors[i].extent == 1)))
