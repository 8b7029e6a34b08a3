"""Products of rows that are sorted by expert, each expert's with its own weights."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from archsim.frontend.torch.bound import BoundCall
from archsim.ir.graph import Shape


def grouped(call: BoundCall) -> str:
    """Rows (rows, elements) times weights (experts, elements, columns): a product for each expert that has rows.

    The part of the weights that an expert without rows has is not read. Where the rows of each end is known by the time
    of the call (``archsim.frontend.torch.choices``), or the rows are taken as spread evenly.
    """
    source, weight = (call.tensor(new if call.is_tensor(new) else old) for new, old in _OPERANDS)
    if call.optional("bias"):
        call.refuse("adds a bias to each group")
    if len(call.size(source)) == len(call.size(weight)) == 3:
        return call.add("MatMul", source, weight)
    if len(call.size(source)) != 2 or len(call.size(weight)) != 3:
        call.refuse("allowed are rows, and a matrix of weights for each group")
    parts = []
    for expert, (start, stop) in enumerate(pairwise((0, *_ends(call, call.size(source)[0], call.size(weight)[0])))):
        if start < stop:
            parts.append(_product(call, (source, weight), expert, (start, stop)))
    return call.add("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]


def _product(call: BoundCall, operands: tuple[str, str], expert: int, rows: tuple[int, int]) -> str:
    """Of one expert, called by the path of its weights, as if these were apart."""
    source, weight = operands
    sources = call.value(weight).sources
    module, _, leaf = sources[0].rpartition(".") if len(sources) == 1 else (call.label, "", "")
    name = ".".join(filter(None, (module, str(expert), leaf)))
    if rows != (0, call.size(source)[0]):
        bounds = zip(("start", "stop", "axes"), (*rows, 0), strict=True)
        given = [call.maker.constant(f"{name}.tokens.{key}", np.asarray([number]), "int64") for key, number in bounds]
        source = call.add("Slice", source, *given, name=f"{name}.tokens")
    index = call.maker.constant(f"{name}.expert", expert, "int64")
    own = call.add("Gather", weight, index, name=f"{name}.weight", axis=0)
    return call.add("MatMul", source, own, name=name)


def _ends(call: BoundCall, rows: int, experts: int) -> Shape:
    """Where the rows of each expert end."""
    data = call.value(call.tensor("offs")).data if call.optional("offs") else None
    if data is None:
        return tuple(rows // experts * count + min(count, rows % experts) for count in range(1, experts + 1))
    ends = tuple(int(end) for end in np.ravel(data))
    if len(ends) != experts or any(after < before for before, after in pairwise((0, *ends))) or ends[-1] != rows:
        call.fail(f"its groups of rows end at {list(ends)[:8]}; allowed {experts} ends in order, the last at {rows}")
    return ends


def counted(call: BoundCall) -> str:
    """How many of known numbers fall into each of equal ranges."""
    data = call.value(call.tensor("self")).data
    if data is None:
        call.refuse("counts numbers that are known at run time only")
    bins, low, high = call.integer("bins", 100), call.number("min", 0.0), call.number("max", 0.0)
    if bins < 1 or (bins,) != call.shape or not low < high:
        call.fail(f"{bins} ranges from {low} to {high}, of which the program states {list(call.shape)}")
    found, _ = np.histogram(np.ravel(data), bins=bins, range=(low, high))
    return call.maker.constant(call.label, found, call.dtype)


_OPERANDS = (("input", "self"), ("weight", "mat2"))
RULES = {"_grouped_mm": grouped, "grouped_mm": grouped, "grouped_mm_fallback": grouped, "histc": counted}
