"""The keys of workload files and of each kind of entry: what an entry may say, as the code that reads it asks for it.

Options may be asked for the keys of their section alone, so this is the whole grammar; JSON Schemas come from it. What
a size evaluates to, and which shapes fit, is judged by the code of the kind.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from archsim.frontend.workload_yaml.writer import ACTIVATIONS
from archsim.spec import json_forms as j
from archsim.spec import value_domains as d
from archsim.spec.schema_base import Section

WORKLOAD = "archsim.workload/1"


def _form(allowed: str, json: j.Json) -> d.Domain:
    """What is converted where it is read."""
    return d.Domain(allowed, lambda value: value, json)


_SIZE = j.any_of({"type": "integer"}, j.text())
_SIZES = j.listed(_SIZE, 1)
_NAMES = j.any_of(j.text(), j.listed(j.text(), 1))
Size = Annotated[Any, _form("a whole number, or arithmetic on parameters such as hidden // heads", _SIZE)]
Sizes = Annotated[Any, _form("a list of sizes", _SIZES)]
Pair = Annotated[Any, _form("a size, or a list of two", j.any_of(_SIZE, j.listed(_SIZE, 2, 2)))]
Pads = Annotated[
    Any,
    _form("a size, a list of two or four, or same", j.any_of(_SIZE, j.listed(_SIZE, 2, 2), j.listed(_SIZE, 4, 4))),
]
Names = Annotated[Any, _form("a name, or a list of names", _NAMES)]
Table = Annotated[Any, _form("a mapping of names to sizes", {"type": "object", "additionalProperties": _SIZE})]
Shapes = Annotated[Any, _form("a mapping of names to shapes", {"type": "object", "additionalProperties": _SIZES})]
_STATE = {
    "type": "object",
    "properties": {"shape": _SIZES, "axis": _SIZE, "past": _SIZE},
    "required": ["shape"],
    "additionalProperties": False,
}
States = Annotated[
    Any,
    _form("a mapping of names to {shape, axis: -2, past: 0}", {"type": "object", "additionalProperties": _STATE}),
]
Text = Annotated[Any, d.text()]
Flag = Annotated[Any, d.flag()]
Act = Annotated[Any, d.choice("none", *ACTIVATIONS)]
Pool = Annotated[Any, d.choice("max", "average")]
Entries = Annotated[
    Any, _form("a list of entries", {"type": "array", "items": {"$ref": "#/$defs/entry"}, "minItems": 1})
]


class Named(Section):
    """Keys of every entry."""

    name: Text = Field("", description="name of the result; the kind and its number unless stated")


class Entry(Named):
    """Keys of every entry that computes."""

    act: Act = Field("none", description="activation of the result")


class Unary(Entry):
    """An entry with one input."""

    input: Text = Field("", description="what it reads; the result before it unless stated")


class Conv(Unary):
    """A convolution of an image [n, c, h, w]."""

    out_channels: Size = Field(None, description="output channels; of a depthwise one the input's unless stated")
    kernel: Pair = Field(description="height and width of the filter")
    stride: Pair = Field(1, description="steps between windows")
    dilation: Pair = Field(1, description="steps between the taps of a filter")
    pad: Pads = Field(
        0,
        description="zeros around the image, [h, w] or [top, left, bottom, right]; same: output = input / stride",
    )
    groups: Annotated[Any, _form("a size, or depthwise", _SIZE)] = Field(1, description="groups of channels")
    bias: Flag = Field(True, description="whether a number for each output channel is added")


class Pooling(Unary):
    """A pooling of an image [n, c, h, w]."""

    kind: Pool = Field("max", description="what a window becomes")
    kernel: Pair = Field(description="height and width of the window")
    stride: Pair = Field(None, description="steps between windows; the kernel unless stated")
    pad: Pads = Field(0, description="places around the image, [h, w] or [top, left, bottom, right]")


class GlobalPool(Unary):
    """A pooling over all positions."""

    kind: Pool = Field("average", description="what an image becomes")


class Gemm(Entry):
    """A product of its own, with its own input."""

    m: Size = Field(description="rows")
    n: Size = Field(description="columns")
    k: Size = Field(description="length of the sums")
    bias: Flag = Field(False, description="whether a number for each column is added")


class Dense(Unary):
    """A product with weights along the last axis."""

    out: Size = Field(description="features of the result")
    bias: Flag = Field(True, description="whether a number for each feature is added")


class Einsum(Unary):
    """A product of two operands; one without an input is a weight."""

    equation: Text = Field(description="b m k, k n -> b m n")
    inputs: Names = Field(None, description="what the operands are; the result before it, and a weight")
    sizes: Table = Field({}, description="sizes of indices that no input has")
    bias: Flag = Field(False, description="whether a number for each element of the last axis is added")


class Joined(Entry):
    """Two inputs or more, element by element."""

    inputs: Names = Field(description="what it reads")


class Concat(Joined):
    """Inputs one after another along an axis."""

    axis: Size = Field(1, description="along which they are joined")


class Append(Unary):
    """New rows of a state behind those that are there; the result is all of them."""

    state: Text = Field(description="of the file, or of the round")


class Split(Unary):
    """Parts of an input along an axis."""

    into: Names = Field(description="names of the parts")
    axis: Size = Field(1, description="that is split")
    sizes: Sizes = Field(None, description="of the parts; equal unless stated")


class Slice(Unary):
    """The indices from `start` to before `stop` of an axis."""

    axis: Size = Field(1, description="that is cut")
    start: Size = Field(0, description="first index")
    stop: Size = Field(description="behind the last index")


class Softmax(Unary):
    """Shares along an axis."""

    axis: Size = Field(-1, description="that sums to 1")


class Activation(Unary):
    """An activation of its own."""

    function: Annotated[Any, d.choice(*sorted(set(ACTIVATIONS) - {"relu6"}))] = Field(description="which one")


class Reshape(Unary):
    """Another shape of the same elements."""

    shape: Sizes = Field(description="the new one; one size may be -1")


class Transpose(Unary):
    """Another order of the axes."""

    order: Sizes = Field(description="the old axes in their new order")


class Embedding(Unary):
    """Rows of a table that are looked up."""

    rows: Size = Field(description="of the table")
    dim: Size = Field(description="elements of a row")
    lookups: Annotated[Any, _form("a size, or a list of sizes", j.any_of(_SIZE, _SIZES))] = Field(
        None, description="shape of the indices, where they are no input of the file"
    )
    distribution: Annotated[Any, d.choice("uniform", "zipf", "trace", "in_order")] = Field(
        "uniform", description="which rows: in_order: 0, 1, 2, ..., known beforehand"
    )
    exponent: Annotated[Any, _form("a number of 0 or more", {"type": "number", "minimum": 0})] = Field(
        None, description="of a zipf distribution"
    )
    seed: Size = Field(None, description="of what is drawn; of the name unless stated")
    trace: Annotated[
        Any, _form("row numbers, or a file of them", j.any_of(j.text(), j.listed({"type": "integer"}, 1)))
    ] = Field(None, description="rows in their order")
    reduce: Annotated[Any, d.choice("none", "sum", "mean")] = Field(
        "none", description="joins rows along the last axis"
    )


class Repeat(Named):
    """Entries that come several times; round 2 names its results NAME.2.RESULT."""

    times: Size = Field(description="rounds")
    input: Text = Field("", description="what the first round reads; the result before it unless stated")
    carry: Text = Field("", description="what a round calls its input")
    states: States = Field({}, description="states of which each round has its own")
    layers: Entries = Field(description="the entries of a round")


class WorkloadSection(Section):
    """Top level of a workload file."""

    schema_: Annotated[Any, d.choice(WORKLOAD)] = Field(alias="schema", description="version of this grammar")
    name: Text = Field("", description="name of the workload; that of the file unless stated")
    description: Text = Field("", description="one line for `show models`")
    source: Text = Field("", description="where the sizes come from")
    parameters: Table = Field({}, description="names usable in every size and in one another; --batch sets `batch`")
    inputs: Shapes = Field({}, description="name to shape: [n, c, h, w] of images")
    states: States = Field(
        {}, description="name to the shape with room for all rows, the axis along which they follow, and rows there"
    )
    layers: Entries = Field(description="the entries in their order")
    outputs: Names = Field(None, description="results of the network; every result that nothing reads")


SECTIONS: dict[str, type[Named]] = {
    "act": Activation,
    "add": Joined,
    "append": Append,
    "concat": Concat,
    "conv": Conv,
    "dense": Dense,
    "einsum": Einsum,
    "embedding": Embedding,
    "flatten": Unary,
    "gemm": Gemm,
    "global_pool": GlobalPool,
    "layernorm": Unary,
    "mul": Joined,
    "pool": Pooling,
    "repeat": Repeat,
    "reshape": Reshape,
    "rmsnorm": Unary,
    "slice": Slice,
    "softmax": Softmax,
    "split": Split,
    "transpose": Transpose,
}
