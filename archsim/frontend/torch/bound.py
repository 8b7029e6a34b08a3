"""A call with its arguments at hand: what a rule reads it through, and makes nodes with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import NoReturn

import numpy as np

from archsim.base.errors import ModelError
from archsim.frontend.torch.maker import GraphMaker
from archsim.frontend.torch.program import NumberName, TensorName, TorchArgument, TorchCall
from archsim.ir.graph import Array, GraphValue, OperatorAttribute, Shape, UnsupportedError


class BoundCall:
    """One call. ``names``: value of the graph by tensor; ``number``: of a name; ``shapes`` and ``dtypes``: what the
    program states of the outputs; ``label``: what its node is called."""

    def __init__(
        self,
        maker: GraphMaker,
        call: TorchCall,
        names: Mapping[str, str],
        number: Callable[[str], int],
        label: str,
        stated: tuple[tuple[Shape, str], ...],
        read: Callable[[str], bool] = lambda _: True,
        is_chosen: bool = False,
    ) -> None:
        """Of a graph that is being made; ``read``: whether a call, or the user, reads a tensor of the program;
        ``is_chosen``: its operands depend on what a router chooses."""
        self.maker, self.call, self.label, self._is_read, self.is_chosen = maker, call, label, read, is_chosen
        self.names, self.number_of = names, number
        self.shapes = [shape for shape, _ in stated]
        self.dtypes = [dtype for _, dtype in stated]

    @property
    def name(self) -> str:
        """The operator without its overload: ``conv2d``."""
        return self.call.op.partition(".")[0]

    def wanted(self, output: int) -> bool:
        """Whether anything reads the output of this number."""
        outputs = self.call.outputs
        return output < len(outputs) and bool(outputs[output]) and self._is_read(outputs[output])

    @property
    def shape(self) -> Shape:
        """What the program states of its only output."""
        return self.shapes[0] if self.shapes else self.fail("has no output")

    @property
    def dtype(self) -> str:
        """Type of the elements of its first output."""
        return self.dtypes[0] if self.dtypes else self.fail("has no output")

    def fail(self, message: str) -> NoReturn:
        """Raise a ModelError that names the call."""
        raise ModelError(f"'{self.label}' (aten.{self.call.op}): {message}")

    def refuse(self, message: str) -> NoReturn:
        """Raise an UnsupportedError that names the call and the way out."""
        raise UnsupportedError(f"'{self.label}' (aten.{self.call.op}): {message}, or pass --on-unsupported host")

    def plain(self, key: str) -> TorchArgument:
        """An argument, names of numbers resolved; None where it is not there."""
        return self._plain(self.call.arguments.get(key))

    def _plain(self, found: TorchArgument) -> TorchArgument:
        if isinstance(found, NumberName):
            return self.number_of(found.name)
        return tuple(self._plain(each) for each in found) if isinstance(found, tuple) else found

    def is_tensor(self, key: str) -> bool:
        """Whether an argument is a tensor."""
        return isinstance(self.call.arguments.get(key), TensorName)

    def tensor(self, key: str) -> str:
        """The value that a tensor argument is."""
        found = self.call.arguments.get(key)
        return self.value_name(found) if isinstance(found, TensorName) else self.fail(f"'{key}' is not a tensor")

    def optional(self, key: str) -> str:
        """The same; '' where it is absent."""
        return "" if self.call.arguments.get(key) is None else self.tensor(key)

    def tensors(self, key: str) -> list[str]:
        """The values of a list of tensors, '' for None."""
        found = self.call.arguments.get(key)
        if not isinstance(found, tuple) or not found:
            self.fail(f"'{key}' is not a list of tensors")
        return [self.value_name(each) if isinstance(each, TensorName) else "" for each in found]

    def value_name(self, found: TensorName) -> str:
        """The value of a tensor."""
        if found.name not in self.names:
            self.fail(f"reads '{found.name}', which nothing produces")
        return self.names[found.name]

    def value(self, name: str) -> GraphValue:
        """A value of the graph."""
        return self.maker.values[name]

    def size(self, name: str) -> Shape:
        """Its shape."""
        return self.maker.values[name].shape

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number."""
        found = self.plain(key)
        found = default if found is None else found
        return int(found) if isinstance(found, int) else self.fail(f"'{key}' is not a whole number")

    def number(self, key: str, default: float | None = None) -> float:
        """A real number."""
        found = self.plain(key)
        found = default if found is None else found
        return float(found) if isinstance(found, int | float) else self.fail(f"'{key}' is not a number")

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        found = self.plain(key)
        return default if found is None else bool(found)

    def integers(self, key: str, default: Shape | None = None) -> Shape:
        """A list of whole numbers; one number is a list of one."""
        found = self.plain(key)
        found = default if found is None or (found == () and default) else found
        if isinstance(found, int):
            return (found,)
        if not isinstance(found, tuple):
            self.fail(f"'{key}' is not a list of whole numbers")
        return tuple(int(each) if isinstance(each, int) else self.fail(f"'{key}' is no such list") for each in found)

    def spread(self, key: str, axes: int, default: int) -> Shape:
        """One number for each spatial axis, from as many or from one."""
        found = self.integers(key, (default,))
        if len(found) not in (1, axes):
            self.fail(f"'{key}' has {len(found)} numbers; allowed 1 or {axes}")
        return found if len(found) == axes else found * axes

    def axis(self, key: str, rank: int, default: int | None = None) -> int:
        """An axis, counted from the front."""
        found = self.integer(key, default)
        if not -rank <= found < max(rank, 1):
            self.fail(f"'{key}' is {found}; allowed {-rank} to {rank - 1}")
        return found % rank if rank else 0

    def axes(self, key: str, rank: int) -> Shape:
        """Axes, counted from the front; all where none are given."""
        found = self.integers(key, tuple(range(rank)))
        if any(not -rank <= axis < rank for axis in found):
            self.fail(f"'{key}' is {list(found)}; allowed {-rank} to {rank - 1}")
        return tuple(sorted({axis % rank for axis in found}))

    def add(
        self,
        op: str,
        *inputs: str,
        part: str = "",
        name: str = "",
        dtype: str = "",
        attributes: Mapping[str, OperatorAttribute] | None = None,
        **more: OperatorAttribute,
    ) -> str:
        """A node of one output; ``part``: what it is called behind the label, '' for the call's own node; ``name``:
        what it is called, where that is not the label's; attributes as a mapping or by name."""
        kind = dtype or (self.maker.values[inputs[0]].dtype if part and inputs else self.dtype)
        return self.maker.node(op, name or self._called(part), inputs, {**(attributes or {}), **more}, [kind])[0]

    def add_many(self, op: str, outputs: int, *inputs: str, **attributes: OperatorAttribute) -> tuple[str, ...]:
        """A node of several outputs."""
        return self.maker.node(op, self.label, inputs, attributes, [self.dtype] * outputs)

    def add_kinds(self, op: str, kinds: list[str], *inputs: str, **attributes: OperatorAttribute) -> tuple[str, ...]:
        """A node with an output of each of these types of elements, none where it is ''."""
        return self.maker.node(op, self.label, inputs, attributes, kinds)

    def _called(self, part: str) -> str:
        return f"{self.label}.{part}" if part else self.label

    def known(self, name: str, data: Array) -> str:
        """A constant that keeps its contents, however many; of the type of the call's result, or whole numbers."""
        kind = "int64" if data.dtype.kind == "i" else self.dtype
        return self.maker.constant(name, data, kind, keep=True)

    def integers_value(self, part: str, numbers: Shape) -> str:
        """A constant list of whole numbers."""
        return self.maker.constant(f"{self.label}.{part}", np.asarray(numbers, np.int64), "int64")

    def scalar_value(self, part: str, number: float, dtype: str) -> str:
        """A constant number, of the type of what it is combined with where that holds it."""
        whole = "int" in dtype or dtype == "bool"
        if whole and not (isfinite(number) and number == int(number)):
            dtype = "float32"
        try:
            with np.errstate(over="ignore"):
                return self.maker.constant(f"{self.label}.{part}", number, "int64" if dtype == "bool" else dtype)
        except (OverflowError, TypeError, ValueError):
            self.fail(f"{number} is no {dtype}")

    def operand(self, key: str, dtype: str) -> str:
        """A tensor argument, or a number as a constant."""
        return self.tensor(key) if self.is_tensor(key) else self.scalar_value(key, self.number(key), dtype)

    def reshaped(self, name: str, shape: Shape, part: str = "") -> str:
        """A value in another shape; itself where it has that."""
        if self.size(name) == shape:
            return name
        target = self.integers_value(f"{part or 'view'}.shape", shape)
        return self.add("Reshape", name, target, part=part, dtype=self.maker.values[name].dtype)

    def cut(self, source: str, axis: int, taken: tuple[int, int, int], part: str = "") -> str:
        """Elements of an axis: start, end and step; the value itself where that is all of them. ``part``: what the
        node and its numbers are called behind the label."""
        shape = self.size(source)
        if not shape or taken[2] < 1:
            self.fail(f"takes {taken} of an axis of {list(shape)}")
        if range(shape[axis])[slice(*taken)] == range(shape[axis]):
            return source
        bounds = [
            self.integers_value(f"{part}{key}", (number,))
            for key, number in zip(("from", "to", "axes", "by"), (taken[0], taken[1], axis, taken[2]), strict=True)
        ]
        return self.add("Slice", source, *bounds, part=part.rstrip("."), dtype=self.value(source).dtype)

    def fitted(self, name: str, part: str) -> str:
        """A result with as many axes as the program states: in its shape where these were more on the way."""
        return name if len(self.size(name)) == len(self.shape) else self.reshaped(name, self.shape, part)

    def cast(self, name: str, dtype: str, part: str = "") -> str:
        """A value with elements of another type; itself where they are."""
        if self.maker.values[name].dtype == dtype:
            return name
        return self.add("Cast", name, part=part, dtype=dtype, to=dtype)
