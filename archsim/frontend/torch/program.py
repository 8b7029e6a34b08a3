"""What an exported program says, free of its file: calls of ATen operators on named tensors of stated shapes.

An argument is a number, text, None, a list of these, or a name: of a tensor (``TensorName``) or of a number that
follows from the sizes of the inputs (``NumberName``). A size is a number or a formula of such sizes, as sympy writes
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from archsim.ir.graph import Array

TorchSize = int | str


@dataclass(frozen=True, slots=True)
class TensorName:
    """A tensor that an argument names."""

    name: str


@dataclass(frozen=True, slots=True)
class NumberName:
    """A whole number that an argument names, known as soon as the sizes of the inputs are."""

    name: str


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """What the program states of a tensor. ``dtype`` as NumPy calls it."""

    sizes: tuple[TorchSize, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class TorchCall:
    """One call. ``op`` without its namespace (``conv2d.default``); ``outputs``: names, '' where nothing is named;
    ``module``: path of the module that calls."""

    op: str
    name: str
    module: str
    arguments: Mapping[str, TorchArgument]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TorchGraph:
    """Calls in order. ``inputs`` and ``outputs``: names of tensors, '' for what is none. ``numbers``: whole numbers by
    name, each a size."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    calls: tuple[TorchCall, ...]
    tensors: Mapping[str, TensorFacts]
    numbers: Mapping[str, TorchSize] = field(default_factory=dict)


TorchArgument = (
    int | float | bool | str | None | TensorName | NumberName | TorchGraph | tuple["TorchArgument", ...]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A parameter, buffer or constant. ``name`` in the model; ``memory``: the same for those that are one (tied
    weights); ``trained``: it is a parameter; ``data``: contents that were read."""

    name: str
    memory: str
    trained: bool
    data: Array | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TorchProgram:
    """A graph, with ``stored``: what each input is that the model brings along;
    ``ranges``: least and, where there is one, largest value of each number that is open."""

    graph: TorchGraph
    stored: Mapping[str, StoredTensor]
    ranges: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)

    def with_numbers(self, numbers: Mapping[str, Array]) -> TorchProgram:
        """The same with contents of what it stores, by the names of the model."""
        known = {key: replace(each, data=numbers.get(each.name)) for key, each in self.stored.items()}
        return replace(self, stored={key: self.stored[key] if each.trained else each for key, each in known.items()})
