"""The Workload: what is to be computed, free of any chip. Layers are einsums or vector functions over named dims.

Tensors are given in *memory order* (outermost first; images N, H, W, C). ``logical`` says which axis of the source
model each memory axis is. A tensor may be a view of another (``base``): an element offset and element strides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from archsim.facts.dataflows.fold import Window
from archsim.ir.composites import Composite
from archsim.ir.functions import Functions, names
from archsim.ir.indices import Indices
from archsim.ir.inside import points_inside

TensorKind = Literal["input", "weight", "activation", "output", "state"]


@dataclass(frozen=True, slots=True)
class View:
    """Placement of a tensor inside another: element ``offset`` and per-axis element ``strides``."""

    base: str
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StateRows:
    """Of a state, when the run begins: rows [0, ``past``) along the memory axis ``axis`` are there."""

    axis: int
    past: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """``shape`` in memory order. ``role``: inputs | weights | outputs | tables | kv as stored (activations: inputs).

    ``logical``: permutation such that memory axis i is axis ``logical[i]`` of the model's tensor (identity if ()).
    ``state``: the rows of a state, which lives in memory from one run to the next; None of views of it, as of others.
    ``format``: of the elements of a weight as the model has them (``archsim.facts.number_formats``), which its views
    share; '' where it states none.
    """

    name: str
    shape: tuple[int, ...]
    kind: TensorKind
    logical: tuple[int, ...] = ()
    view: View | None = None
    state: StateRows | None = None
    format: str = ""

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Axis:
    """Index of one memory axis: sum(coefficient * dim) + offset. Values outside the axis are padding."""

    terms: tuple[tuple[str, int], ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows looked up: the index of memory axis ``axis`` is the number of an entry of ``indices``, which is the row."""

    axis: int
    indices: Indices


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor as a layer indexes it: one Axis per memory axis of the tensor (or of its view).

    ``name``: a, b, bias, epilogue (matmul); in0, in1, ... (vector); out.
    ``role``: inputs | weights | outputs | tables | kv.
    ``rows``: of vector and copy layers, where one axis goes through an index stream.
    """

    name: str
    tensor: str
    role: str
    axes: tuple[Axis, ...]
    rows: Rows | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """Points of ``dims`` take part in a reduction only where ``axis`` is in [0, ``length``): not in the padding."""

    axis: Axis
    length: int


@dataclass(frozen=True, slots=True)
class Bound:
    """Points of a layer's dims take part only where ``axis`` is 0 or more: causal t <= s + past is -t + s + past >= 0.

    A point outside is in no sum, counts as minus infinity for a softmax and is nothing that a result holds. Its terms
    stand by the names of their dims.
    """

    axis: Axis

    def __post_init__(self) -> None:
        """Equal bounds are equal however they were written."""
        object.__setattr__(self, "axis", Axis(tuple(sorted(self.axis.terms)), self.axis.offset))

    @property
    def dims(self) -> frozenset[str]:
        """The dims that it ties together."""
        return frozenset(dim for dim, _ in self.axis.terms)


@dataclass(frozen=True, slots=True)
class VectorStep:
    """What is computed of each output element on its way out, in order: relu, sigmoid, add (with operand) ...

    ``passes``: lane passes per element; ``slow``: functions of the chip's ``function_cycles`` it needs (exp, divide,
    sqrt).
    """

    functions: Functions
    passes: int
    slow: tuple[str, ...] = ()

    @property
    def function(self) -> str:
        """``add+relu``: the names of its functions."""
        return names(self.functions)


@dataclass(frozen=True, slots=True)
class Layer:
    """One unit of scheduling.

    kind 'matmul': out[..] = sum a*b (+bias), then ``steps`` (requantise comes with the drain), whose functions call
    these sums in0 and the operand ``epilogue``, if there is one of the output's shape, in1.
    kind 'vector': out = function of inputs over ``dims``; ``steps`` say what it costs per index point of ``dims``.
    kind 'copy': out = input moved (transposition, concat that cannot be placed); no arithmetic.
    kind 'host': runs on the host (``--on-unsupported host``).
    ``dims``: name -> extent. ``m, n, k, batch``: the part each dim plays in a matmul. ``whole``: dims that may not be
    tiled (softmax axis, LRN channels). Inputs are 0 outside their tensor; ``guards``: points that a reduction takes in.
    ``bounds``: points that take part at all; elements of the output outside are never made, and nobody may count on
    them.
    ``fused``: names of source nodes merged here; ``node``: source node name and operator for messages.
    """

    name: str
    op: str
    kind: Literal["matmul", "vector", "copy", "host"]
    dims: Mapping[str, int]
    inputs: tuple[Operand, ...]
    output: Operand
    m: tuple[str, ...] = ()
    n: tuple[str, ...] = ()
    k: tuple[str, ...] = ()
    batch: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    steps: tuple[VectorStep, ...] = ()
    guards: tuple[Guard, ...] = ()
    fused: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)
    bounds: tuple[Bound, ...] = ()

    @property
    def points(self) -> int:
        """Points of the dims inside all bounds."""
        return points_inside(self.dims, [(bound.axis.terms, bound.axis.offset) for bound in self.bounds])

    @property
    def macs(self) -> int:
        """Multiply-accumulates inside the bounds of a matmul (padding counts), of the host what its layer states."""
        return self.points if self.kind == "matmul" else self.macs_dense

    @property
    def macs_dense(self) -> int:
        """The same without bounds: the product of all dims of a matmul."""
        if self.kind == "host":
            return int(str(self.attributes.get("macs", 0)))
        return prod(self.dims.values()) if self.kind == "matmul" else 0

    @property
    def is_ragged(self) -> bool:
        """Whether elements of the output lie outside the bounds, and are never made."""
        return any(bound.dims <= {dim for axis in self.output.axes for dim, _ in axis.terms} for bound in self.bounds)

    @property
    def windows(self) -> tuple[Window, ...]:
        """Of a matmul, the axes of its input ``a`` that an output row and a reduction share, in memory order.

        That is a convolution's position and tap. An axis of other sums is none, nor is one whose dims move another
        axis too: its positions are no product.
        """
        if self.kind != "matmul":
            return ()
        axes = next(operand.axes for operand in self.inputs if operand.name == "a")
        moved = Counter(dim for axis in axes for dim, _ in axis.terms)
        found = []
        for axis in axes:
            rows = [(dim, step) for dim, step in axis.terms if dim in self.m]
            taps = [(dim, step) for dim, step in axis.terms if dim in self.k]
            if len(rows) == len(taps) == 1 and len(axis.terms) == 2 and all(moved[dim] == 1 for dim, _ in axis.terms):
                ((row, stride),), ((tap, dilation),) = rows, taps
                found += [Window(row, tap, stride, dilation)] if min(stride, dilation) > 0 else []
        return tuple(found)


@dataclass(frozen=True, slots=True)
class ViewNode:
    """A source node that costs nothing because its result is a view; listed in results as ``view_of``."""

    name: str
    op: str
    of: str


@dataclass(frozen=True, slots=True)
class Workload:
    """Layers in execution order, tensors by name, views, and the parameter count of the source model.

    ``dtype``: number format of the source model's inputs ('' when it states none). ``folded_macs``: of the source model
    on constants alone, which are done before it runs. ``composites``: layers that are one thing together, each layer in
    one of them at most.
    """

    name: str
    layers: tuple[Layer, ...]
    tensors: Mapping[str, Tensor]
    views: tuple[ViewNode, ...]
    batch: int
    parameters: int
    sha256: str
    warnings: tuple[str, ...] = ()
    dtype: str = ""
    folded_macs: int = 0
    composites: tuple[Composite, ...] = ()

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all layers, inside their bounds."""
        return sum(layer.macs for layer in self.layers)

    @property
    def macs_dense(self) -> int:
        """The same without bounds, as files are counted."""
        return sum(layer.macs_dense for layer in self.layers)
