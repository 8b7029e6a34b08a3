"""What repeats in a Workload, as a block of its text form: found by the names that layers have.

Layers that are called ``NAME.0.LAYER`` (or ``NAME[0].LAYER``), ``NAME.1.LAYER`` and so on may be a block. What it would
be is taken from its first two iterations; whether it is one is seen when the text that states it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from archsim.ir.composites import Composite
from archsim.ir.forms.blocks import MADE, PLACE
from archsim.ir.forms.composites import composite_form
from archsim.ir.forms.fields import OneLineList, OneLineMapping
from archsim.ir.forms.iterations import NumberedName
from archsim.ir.forms.layers import layer_form
from archsim.ir.forms.tensors import view_text
from archsim.ir.workload import Layer, Operand, Tensor, Workload

_FIRST = re.compile(r"(?<=\[)0(?=\]\.)|(?<=\.)0(?=\.)")


@dataclass(frozen=True, slots=True)
class Run:
    """``times`` iterations of ``size`` layers each, of which the first begins at layer number ``first``."""

    name: NumberedName
    first: int
    size: int
    times: int

    @property
    def stop(self) -> int:
        """The number of the layer behind it."""
        return self.first + self.size * self.times


def longest_run(workload: Workload) -> Run | None:
    """The run of most layers; None where there is none of two iterations or more."""
    found: dict[NumberedName, Run] = {}
    for at, layer in enumerate(workload.layers):
        for name in _names(layer.name):
            if name not in found:
                found[name] = _run(name, at, workload.layers)
    several = (run for run in found.values() if run.times > 1)
    return max(several, key=lambda run: (run.size * run.times, run.times), default=None)


def _names(layer: str) -> Iterator[NumberedName]:
    """The blocks in whose first iteration a layer may be."""
    for found in _FIRST.finditer(layer):
        before, behind = layer[: found.start()], layer[found.end() :].partition(".")[0]
        if PLACE not in before:
            yield NumberedName(before, behind)


def _run(name: NumberedName, first: int, layers: Sequence[Layer]) -> Run:
    """As many iterations as have the layers of the first one, which begins at layer number ``first``."""
    inside: list[str] = []
    for layer in layers[first:]:
        split = name.split(layer.name)
        if split is None or split[0] != 0:
            break
        inside.append(split[1])
    size, times = len(inside), 1
    while [layer.name for layer in layers[first + times * size : first + (times + 1) * size]] == [
        name.of(times, called) for called in inside
    ]:
        times += 1
    return Run(name, first, size, times)


class Folding:
    """A run of a Workload as a block: ``block``, its keys, and ``around``, what the file around it states."""

    def __init__(self, workload: Workload, run: Run) -> None:
        """Take apart what is the block's and what is the file's."""
        self._workload, self._run = workload, run
        layers = [self._layer(layer) for layer in workload.layers[run.first : run.first + run.size]]
        tensors = dict(self._tensors())
        views = [(self._split(view.name), view) for view in workload.views]
        composites = [(self._split(each.name), each) for each in workload.composites]
        self.around = replace(
            workload,
            layers=(*workload.layers[: run.first], *workload.layers[run.stop :]),
            tensors=tensors,
            views=tuple(view for split, view in views if split is None),
            composites=tuple(each for split, each in composites if split is None),
        )
        before, behind = run.name
        form: dict[str, Any] = {
            "name": before[:-1] if behind == "]" else f"{before}{PLACE}{behind}",
            "times": run.times,
            "carry": OneLineMapping(self._carry()),
            "own": OneLineList(self._own(layers, tensors)),
            "layers": [layer_form(layer) for layer in layers],
            "views": [
                view_text(replace(view, name=split[1], of=self._inner(view.of)))
                for split, view in views
                if split is not None and split[0] == 0
            ],
            "composites": [
                composite_form(Composite(split[1], each.kind, tuple(map(self._called, each.members))))
                for split, each in composites
                if split is not None and split[0] == 0
            ],
        }
        self.block = {key: value for key, value in form.items() if value}

    def _split(self, name: str) -> tuple[int, str] | None:
        """Iteration and name inside the block of what is in one of its iterations."""
        split = self._run.name.split(name)
        return split if split is not None and split[0] < self._run.times else None

    def _called(self, name: str) -> str:
        """What something of the first iteration is called inside the block."""
        split = self._split(name)
        return split[1] if split is not None and split[0] == 0 else name

    def _inner(self, tensor: str) -> str:
        """What a tensor is called inside the block; one that is in the first iteration alone is the file's."""
        called = self._called(tensor)
        return called if self._run.name.of(1, called) in self._workload.tensors else tensor

    def _layer(self, layer: Layer) -> Layer:
        def inside(operand: Operand) -> Operand:
            return replace(operand, tensor=self._inner(operand.tensor))

        return replace(
            layer,
            name=self._called(layer.name),
            inputs=tuple(map(inside, layer.inputs)),
            output=inside(layer.output),
            fused=tuple(map(self._called, layer.fused)),
        )

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        """What the file declares: the tensors of the first iteration stand for all."""
        tensors, run = self._workload.tensors, self._run
        for name, tensor in tensors.items():
            called, split = self._inner(name), self._split(name)
            if split is not None and split[0] > 0:
                continue
            last = tensors.get(run.name.of(run.times - 1, called), tensor)
            view = tensor.view
            yield (
                called,
                replace(
                    tensor,
                    name=called,
                    kind="output" if last.kind == "output" else tensor.kind,
                    view=replace(view, base=self._inner(view.base)) if view is not None else None,
                ),
            )

    def _carry(self) -> dict[str, str]:
        """OUT -> IN: what the second iteration reads of the first one, where that reads another tensor."""
        layers, run, found = self._workload.layers, self._run, dict[str, str]()
        for at in range(run.first, run.first + run.size):
            for first, second in zip(layers[at].inputs, layers[at + run.size].inputs, strict=False):
                split = self._split(second.tensor)
                if split is not None and split[0] == 0 and first.tensor != second.tensor:
                    found[split[1]] = first.tensor
        return found

    def _own(self, layers: Sequence[Layer], tensors: Mapping[str, Tensor]) -> list[str]:
        """What each iteration has of its own without writing it, and views that no layer of the block names."""
        run, named = self._run, {one.tensor for layer in layers for one in (*layer.inputs, layer.output)}
        numbered = [tensor for name, tensor in tensors.items() if run.name.of(1, name) in self._workload.tensors]
        own = [tensor.name for tensor in numbered if tensor.view is None and tensor.kind not in MADE]
        bases = {tensor.name for tensor in numbered} - {*own}
        return own + [
            tensor.name
            for tensor in numbered
            if tensor.view is not None
            and tensor.view.base not in own
            and not (tensor.name in named and tensor.view.base in bases)
        ]
