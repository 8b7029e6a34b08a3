"""What an operator family declares. A file of ``archsim/ops`` defines one; ``catalogue`` finds it.

A family file defines one ``FAMILY``. Dropping a new file into archsim/ops, or into the ``ops`` folder of a plugin
directory, makes its operators importable, costed and tested: no other file changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from archsim.ir.graph import Array, Graph, GraphNode, Inputs, Shape
from archsim.ir.workload import VectorStep
from archsim.ops.kit.builder import WorkloadBuilder
from archsim.ops.kit.meaning import Meaning
from archsim.ops.kit.rounding import Rounding


@dataclass(frozen=True, slots=True)
class ScaleShift:
    """``x * scale + shift`` with constants. ``axis``: the one logical axis they vary along, None for scalars."""

    scale: bool
    shift: bool
    axis: int | None


@dataclass(frozen=True, slots=True)
class JoinSlots:
    """Where each data input lies in the output of a joining operator: element ``starts`` along logical ``axis``.

    ``within``: the first input is where all of it lies already (a state, of which the output is the rows up to the last
    of the other inputs); else the output is a tensor of its own.
    """

    axis: int
    starts: tuple[int, ...]
    within: bool = False


def no_lowering(node: GraphNode, build: WorkloadBuilder) -> NoReturn:
    """The ``lower`` of families whose nodes never reach lowering as layers (constants, aliases)."""
    node.unsupported("its inputs are not constants; export the model with fixed shapes")


@dataclass(frozen=True, slots=True)
class OperatorFamily:
    """One operator family.

    names       ONNX operators served
    shapes      (node, inputs) -> logical output shapes
    reference   (node, *arrays) -> NumPy results
    lower       (node, build): emits layers, or a view
    order       memory order: 'channels_last' (an image operator), 'same' (outputs as inputs), 'rows'
    result      'layer' (a layer writes it), 'view' (may be a view of its input), 'alias' (its input, renamed)
    slots       of operators that lay inputs side by side; producers write there directly
    channel     output axis along which a following constant scale or shift folds in; None: nothing folds
    activates   a following activation may run as the result leaves
    combines    a following sum or product with another value of its shape may run as the result leaves
    affine      the node as a constant scale and shift
    epilogue    the node as vector steps on another node's result
    known       contents known from shapes alone
    target      index of the input that bakes in the output shape (Reshape)
    statistics  inputs that are not parameters of the model
    packed      parameters of a node's constants by input, where their elements are bytes of several
    at_run_time what it makes is known only when the model runs, even of constants: nothing is folded
    source      the result is a constant of the model itself: its elements are parameters
    arity       inputs that must be there
    functions   meaning of the vector functions that its steps name, beside the common ones
    factors     attributes that multiply the product and what is added to it (Gemm's alpha and beta): they fold in
    positive    inputs that must be above zero (a variance, a factor): where made-up constants are drawn so
    steers      inputs that say what to do and are no operands (scales of a Resize): never made up
    rounding    what is added up on the way to each element, which bounds how far rounding may move it; views, aliases
                and joining operators move elements; of others without it the largest magnitude counts everywhere
    """

    names: tuple[str, ...]
    shapes: Callable[[GraphNode, Inputs], tuple[Shape, ...]]
    reference: Callable[..., tuple[Array, ...]]
    lower: Callable[[GraphNode, WorkloadBuilder], None] = no_lowering
    order: Literal["channels_last", "same", "rows"] = "rows"
    result: Literal["layer", "view", "alias"] = "layer"
    slots: Callable[[GraphNode, Inputs], JoinSlots] | None = None
    channel: Callable[[GraphNode, Graph], int | None] | None = None
    activates: bool = False
    combines: bool = False
    affine: Callable[[GraphNode, Graph], ScaleShift | None] | None = None
    epilogue: Callable[[GraphNode, Graph], tuple[VectorStep, ...] | None] | None = None
    known: Callable[[GraphNode, Inputs], Array | None] | None = None
    target: int | None = None
    statistics: tuple[int, ...] = ()
    packed: Callable[[GraphNode], Mapping[int, int]] | None = None
    at_run_time: bool = False
    source: bool = False
    arity: int = 1
    functions: Mapping[str, Meaning] = field(default_factory=dict)
    factors: tuple[str, ...] = ()
    positive: tuple[int, ...] = ()
    steers: tuple[int, ...] = ()
    rounding: Rounding | None = None

    def check_inputs(self, node: GraphNode, inputs: Inputs) -> None:
        """Raise a ModelError that names the node where an input that must be there is not."""
        if len(inputs) < self.arity or None in inputs[: self.arity]:
            wanted = "its first input" if self.arity == 1 else f"its first {self.arity} inputs"
            node.fail(f"has {sum(value is not None for value in inputs)} inputs; needs {wanted}")
