"""Judges results: integers must be equal; real numbers may differ by what inputs and rounding explain, and no more.

A layer's result in the Program, ``ours``, and in the reference, ``theirs``, are both its function f of what came
before, rounded: ours = f(a) + r, theirs = f(b) + s. So

    ours - theirs = (f(a) - f(b)) + (r - s)

The first part, passed on from the layers before, is computed (in double precision); the second is bounded, element by
element, by what each sum added up (``archsim.graph.numeric.rough``). Each layer answers for its own roundings only, so
the bound is as tight after a hundred layers as after one, and a result whose true value is zero is judged by its terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from archsim.graph.lowering.lower import LoweredModel
from archsim.graph.numeric.contents import from_memory, to_memory
from archsim.graph.numeric.rough import UNITS, Rough, rough
from archsim.lab.verify.inside import Inside
from archsim.lab.verify.numbered import Array, NumberedModel
from archsim.lab.verify.observe import ObservedResult, differences, is_flat
from archsim.lab.verify.outcome import VerifyRow


class VerifyJudge(Protocol):
    """Makes rows of what an execution left."""

    def row(self, found: ObservedResult, executed: Mapping[str, Array]) -> VerifyRow:
        """One result; ``executed``: results of the Program by tensor, in memory order."""


class EqualJudge:
    """Every element is equal. ``expected``: by tensor in memory order; ``references``: who says so; ``inside``: which
    elements are made."""

    def __init__(self, expected: Mapping[str, Array], reference: str, inside: Inside) -> None:
        """See the class."""
        self._expected, self._reference, self._inside = expected, reference, inside

    def row(self, found: ObservedResult, executed: Mapping[str, Array]) -> VerifyRow:
        """One result."""
        expected = self._expected[found.tensor]
        found = replace(found, values=self._inside.of(found.tensor, found.values, expected))
        error, different, apart = differences(found.values, expected)
        return as_row(found, expected, error, different, math.inf if apart else 0.0, self._reference)


class NearJudge:
    """Every element is within the rounding of its own sums.

    ``values``: of the reference, by value of the graph, logical; ``references``: who said each; ``numbers``: of the
    Program (float32, float64), ``theirs``: of what the reference computed each in.
    """

    def __init__(
        self,
        model: NumberedModel,
        values: Mapping[str, Array],
        references: Mapping[str, str],
        numbers: str,
        theirs: Mapping[str, str],
    ) -> None:
        """See the class."""
        self._model, self._values, self._references = model, values, references
        self._numbers, self._theirs = numbers, theirs
        self._tensors = model.lowered.workload.tensors
        self._inside = Inside(model.lowered.workload)
        self._first = first_tensors(model.lowered)
        self._settled = {name: values[name] for name in (*model.graph.inputs, *self._first) if name in values}
        self._judged: dict[tuple[str, bool], Rough] = {}

    def row(self, found: ObservedResult, executed: Mapping[str, Array]) -> VerifyRow:
        """One result, in the light of what the Program made of the layers before it."""
        value = self._model.lowered.values[found.tensor]
        copied = self._first.get(value, found.tensor) != found.tensor
        tensor = self._tensors[found.tensor]
        expected = to_memory(tensor, self._values[value])
        found = replace(found, values=self._inside.of(found.tensor, found.values, expected))
        error, different, _ = differences(found.values, expected)
        said = self._said_with(value)
        judged = self._judged.get((value, copied)) or self._made(value, copied, said)
        self._judged[value, copied] = judged
        theirs = judged.error * (UNITS[self._theirs[value]] / UNITS[self._numbers])
        alone = len(said) == len(self._settled)  # else the bound holds roundings that the Program has in other results
        share = largest_share(found.values, expected, to_memory(tensor, judged.error + theirs)) if alone else math.inf
        if share > 1.0:
            ours = self._made(value, copied, self._settled | self._executed(executed))
            with np.errstate(invalid="ignore"):
                passed_on = ours.value - judged.value
            passed_on = np.where(np.isfinite(passed_on), passed_on, 0.0)
            wanted = expected + self._inside.of(found.tensor, to_memory(tensor, passed_on), np.zeros(()))
            share = min(share, largest_share(found.values, wanted, to_memory(tensor, ours.error + theirs)))
        return as_row(found, expected, error, different, share, self._references[value])

    def _said_with(self, value: str) -> Mapping[str, Array]:
        """What is settled of a result of the reference. Results that a runtime does not give, such as the parts of an
        attention that it does at once, lie on its own way to the next one: their roundings are its own."""
        if self._theirs[value] == "float64":
            return self._settled
        inputs, said = self._model.graph.inputs, self._references[value]
        given = (name for name in self._settled if name in inputs or self._references[name] == said)
        return {name: self._settled[name] for name in given}

    def _made(self, value: str, copied: bool, settled: Mapping[str, Array]) -> Rough:
        """``value`` made of what is ``settled``; a constant, an input or a copy is itself, once rounded."""
        graph = self._model.graph
        if copied or value in graph.inputs or graph.values[value].constant:
            array = np.asarray(settled.get(value, self._values[value]), np.float64)
            return Rough(array, np.abs(array) * UNITS[self._numbers])
        return rough(graph, self._model.constants, settled, value, self._numbers)

    def _executed(self, executed: Mapping[str, Array]) -> dict[str, Array]:
        """What the Program has made so far, by value."""
        found = {}
        for name, tensor in self._first.items():
            if tensor in executed:
                made = self._inside.of(tensor, executed[tensor], np.zeros(()))
                found[name] = from_memory(self._tensors[tensor], made, self._model.graph.shape(name))
        return found


def first_tensors(lowered: LoweredModel) -> dict[str, str]:
    """Value -> the tensor that the layer which computes it writes; not those that later hold a copy."""
    found: dict[str, str] = {}
    for layer in lowered.workload.layers:
        value = lowered.values[layer.output.tensor]
        read = {lowered.values.get(operand.tensor) for operand in layer.inputs}
        if value not in read:
            found.setdefault(value, layer.output.tensor)
    return found


def largest_share(found: Array, wanted: Array, allowed: Array) -> float:
    """The largest difference as a share of what is ``allowed`` there, element by element; infinite where none is."""
    ours, theirs = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        share = np.where(same, 0.0, np.abs(ours - theirs) / allowed)
    return float(np.max(np.where(np.isnan(share), np.inf, share), initial=0.0))


def as_row(
    found: ObservedResult, expected: Array, error: float, different: int, share: float, reference: str
) -> VerifyRow:
    """The row of a result; it passes where the share is at most 1."""
    flat = found.values.size > 1 and is_flat(expected)
    return VerifyRow(
        found.name,
        found.op,
        found.tensor,
        found.values.size,
        error,
        different,
        share <= 1.0,
        reference,
        flat,
        share,
    )
