"""What an operator family declares, and how a family is found: by the name of its file in archsim/ops.

A family file defines one ``FAMILY``. Dropping a new file into archsim/ops, or into the ``ops`` folder of a plugin
directory, makes its operators importable, costed and tested: no other file changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from archsim import registry
from archsim.errors import ConfigError, nearest
from archsim.ir.workload import VectorStep
from archsim.ops.graph.meaning import COMMON, Meaning
from archsim.ops.graph.nodes import Array, Graph, Inputs, Node, Shape
from archsim.ops.graph.rounding import Rounding

if TYPE_CHECKING:
    from archsim.ops.lowering.builder import Builder

PACKAGE = "archsim.ops"
_HERE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Affine:
    """``x * scale + shift`` with constants. ``axis``: the one logical axis they vary along, None for scalars."""

    scale: bool
    shift: bool
    axis: int | None


@dataclass(frozen=True, slots=True)
class Slots:
    """Where each data input lies in the output of a joining operator: element ``starts`` along logical ``axis``."""

    axis: int
    starts: tuple[int, ...]


def no_lowering(node: Node, build: Builder) -> NoReturn:
    """The ``lower`` of families whose nodes never reach lowering as layers (constants, aliases)."""
    node.unsupported("its inputs are not constants; export the model with fixed shapes")


@dataclass(frozen=True, slots=True)
class Family:
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
    affine      the node as a constant scale and shift
    epilogue    the node as vector steps on another node's result
    known       contents known from shapes alone
    target      index of the input that bakes in the output shape (Reshape)
    statistics  inputs that are not parameters of the model
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
    shapes: Callable[[Node, Inputs], tuple[Shape, ...]]
    reference: Callable[..., tuple[Array, ...]]
    lower: Callable[[Node, Builder], None] = no_lowering
    order: Literal["channels_last", "same", "rows"] = "rows"
    result: Literal["layer", "view", "alias"] = "layer"
    slots: Callable[[Node, Inputs], Slots] | None = None
    channel: Callable[[Node, Graph], int | None] | None = None
    activates: bool = False
    affine: Callable[[Node, Graph], Affine | None] | None = None
    epilogue: Callable[[Node, Graph], tuple[VectorStep, ...] | None] | None = None
    known: Callable[[Node, Inputs], Array | None] | None = None
    target: int | None = None
    statistics: tuple[int, ...] = ()
    source: bool = False
    arity: int = 1
    functions: Mapping[str, Meaning] = field(default_factory=dict)
    factors: tuple[str, ...] = ()
    positive: tuple[int, ...] = ()
    steers: tuple[int, ...] = ()
    rounding: Rounding | None = None


def operators() -> dict[str, str]:
    """Every operator name served, sorted, with the family (file) that serves it."""
    return {op: name for op, (name, _) in sorted(_table(_plugins()).items())}


def find(op: str) -> Family | None:
    """The family that serves an operator, or None."""
    entry = _table(_plugins()).get(op)
    return None if entry is None else entry[1]


def family(node: Node) -> Family:
    """The family that serves a node; raises UnsupportedError with the nearest known operator."""
    found = find(node.op)
    if found is None:
        node.unsupported(f"operator '{node.op}' has no rule{nearest(node.op, operators())}; add a file to archsim/ops")
    return found


def meanings() -> Mapping[str, Meaning]:
    """Every vector function by name, with what it means in numbers."""
    return _meanings(_plugins())


@lru_cache(maxsize=8)
def _meanings(plugins: str) -> Mapping[str, Meaning]:
    found = dict(COMMON)
    owner = dict.fromkeys(found, "all operators")
    for name, family_ in dict(_table(plugins).values()).items():
        for function, meaning in family_.functions.items():
            if function in found:
                raise ConfigError(f"vector function '{function}' of '{name}' is taken by {owner[function]}")
            found[function], owner[function] = meaning, f"'{name}'"
    return found


def _plugins() -> str:
    return os.environ.get(registry.PLUGINS_VARIABLE, "")


@lru_cache(maxsize=8)
def _table(plugins: str) -> dict[str, tuple[str, Family]]:
    """Operator -> (family name, family); cached by the plugin directories in force."""
    table: dict[str, tuple[str, Family]] = {}
    for name, path in registry.modules(PACKAGE).items():
        found = getattr(registry.load(PACKAGE, name), "FAMILY", None)
        if found is None and Path(path).parent == _HERE:
            continue  # pure helpers live beside the families
        if not isinstance(found, Family):
            raise ConfigError(f"{path}: an operator file must define FAMILY, an archsim.ops.graph.family.Family")
        for op in found.names:
            if op in table:
                raise ConfigError(
                    f"{path}: operator '{op}' is already served by '{table[op][0]}'; allowed one file each"
                )
            table[op] = (name, found)
    return table
