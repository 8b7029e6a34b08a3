"""Which expert each token goes to: where a program chooses, and what the choice is taken as.

A grouped product (``_grouped_mm``) multiplies rows that are sorted by expert; where an expert's rows end is computed
from the experts that a router chose, ``topk`` of its scores. That is known at run time only, so choice n of all tokens'
is taken as expert n modulo the number of experts, as for models that are read from a config.json: as even as it can
be, each token's experts differ. From there on order, counts and ends are constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from archsim.frontend.torch.program import TensorName, TorchCall, TorchGraph
from archsim.ir.graph import Array, Shape

GROUPED = ("_grouped_mm", "grouped_mm", "grouped_mm_fallback")  # the last as transformers calls its own
ENDS = ("offs",)  # arguments of these that say where each expert's rows end
_CHOOSERS = {"topk": 1, "argmax": 0, "max": 1}  # operator -> which of its results are places
WARNING = "which experts tokens go to is known at run time only; choices are taken as spread evenly over all experts"


def expert_choices(graph: TorchGraph) -> frozenset[str]:
    """Tensors of a graph that hold the experts which a router chose, of those that a grouped product depends on."""
    grouped = [call for call in graph.calls if operator(call) in GROUPED]
    makers = {tensor: call for call in graph.calls for tensor in call.outputs if tensor}
    waiting = [name for call in grouped for key in ENDS for name in tensors((call.arguments.get(key),))]
    found, seen = set[str](), set[str]()
    while waiting:
        name = waiting.pop()
        call = makers.get(name)
        if name in seen or call is None:
            continue
        seen.add(name)
        if _is_choice(call, name):
            found.add(name)
        else:
            waiting.extend(tensors(call.arguments.values()))
    return frozenset(found)


def chosen(graph: TorchGraph, choices: frozenset[str]) -> frozenset[str]:
    """Tensors that depend on what a router chose."""
    found = set(choices)
    for call in graph.calls if choices else ():
        if not found.isdisjoint(tensors(call.arguments.values())):
            found.update(filter(None, call.outputs))
    return frozenset(found)


def spread(shape: Shape, experts: int) -> Array:
    """Experts of tokens: of shape (tokens, ..., chosen), each token's one after the other."""
    return np.arange(prod(shape)).reshape(shape) % experts


def operator(call: TorchCall) -> str:
    """An operator's name without its overload and without the mark of those that write into their operand."""
    name = call.op.partition(".")[0]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def tensors(arguments: object) -> Iterator[str]:
    """Names of all tensors in arguments, in lists too."""
    for each in arguments if hasattr(arguments, "__iter__") else ():
        if isinstance(each, TensorName):
            yield each.name
        elif isinstance(each, tuple):
            yield from tensors(each)


def _is_choice(call: TorchCall, name: str) -> bool:
    place = _CHOOSERS.get(operator(call))
    return place is not None and len(call.outputs) > place and call.outputs[place] == name
