"""Equal blocks of layers that follow one another in a Workload, and the Workload with only a few of them.

Blocks are equal when their layers are, one by one: operators, extents, shapes, and how many layers before each operand
was made. Tensors of their own (weights, states, results) only have to have the same shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from archsim.base.arrays import IntArray
from archsim.ir.composites import within
from archsim.ir.workload import Layer, Operand, Workload

KEPT = 4  # blocks that are simulated: the first, two that are compared, and the last


@dataclass(frozen=True, slots=True)
class EqualBlocks:
    """``times`` blocks of ``size`` layers each, of which the first begins at layer number ``first``."""

    first: int
    size: int
    times: int

    @property
    def left_out(self) -> range:
        """The layers of all blocks but the first three and the last one."""
        return range(self.first + (KEPT - 1) * self.size, self.first + (self.times - 1) * self.size)

    @property
    def middle(self) -> range:
        """The layers of the third block, which stands for those that are left out."""
        begin = self.first + (KEPT - 2) * self.size
        return range(begin, begin + self.size)


class _Sources(NamedTuple):
    """By tensor: the layers that write it, and those that read it, in order."""

    makers: Mapping[str, list[int]]
    readers: Mapping[str, list[int]]


def equal_blocks(workload: Workload) -> EqualBlocks | None:
    """The blocks that spare most layers when only KEPT of them are simulated; None where that spares none."""
    sources = _sources(workload)
    numbers: dict[str, int] = {}
    forms = [
        numbers.setdefault(_form(workload, sources, at, layer), len(numbers))
        for at, layer in enumerate(workload.layers)
    ]
    found = [blocks for blocks in _candidates(np.array(forms)) if _is_closed(workload, sources, blocks)]
    return max(found, key=lambda blocks: (len(blocks.left_out), -blocks.size), default=None)


def shortened(workload: Workload, blocks: EqualBlocks) -> Workload:
    """The Workload without the layers that are left out; the last block goes on with what the third one made."""
    gone, layers = blocks.left_out, workload.layers
    sources = _sources(workload)
    kept = [
        layer if at < gone.stop else _joined(workload, sources, blocks, at)
        for at, layer in enumerate(layers)
        if at not in gone
    ]
    used = {operand.tensor for layer in kept for operand in (*layer.inputs, layer.output)}
    used |= {_base(workload, name) for name in used}
    dropped = {operand.tensor for layer in layers for operand in (*layer.inputs, layer.output)} - used
    tensors = {
        name: tensor
        for name, tensor in workload.tensors.items()
        if name not in dropped and _base(workload, name) not in dropped
    }
    views = tuple(view for view in workload.views if view.of in tensors)
    composites = within(workload.composites, (layer.name for layer in kept))
    return replace(workload, layers=tuple(kept), tensors=tensors, views=views, composites=composites)


def renamed(workload: Workload, blocks: EqualBlocks, layer: int, by: int) -> str:
    """The name of what layer number ``layer`` is ``by`` blocks later; layers beside the blocks have one name."""
    inside = blocks.first <= layer < blocks.first + blocks.times * blocks.size
    return workload.layers[layer + by * blocks.size if inside else layer].name


def _sources(workload: Workload) -> _Sources:
    makers: dict[str, list[int]] = {}
    readers: dict[str, list[int]] = {}
    for at, layer in enumerate(workload.layers):
        makers.setdefault(_base(workload, layer.output.tensor), []).append(at)
        for operand in layer.inputs:
            readers.setdefault(_base(workload, operand.tensor), []).append(at)
    return _Sources(makers, readers)


def _base(workload: Workload, name: str) -> str:
    """The tensor that a view is of, in the end; a tensor that is none itself."""
    while (view := workload.tensors[name].view) is not None:
        name = view.base
    return name


def _form(workload: Workload, sources: _Sources, at: int, layer: Layer) -> str:
    """What a layer is, wherever it stands and whatever its tensors are called."""
    inputs = [_operand(workload, operand, _from(workload, sources, at, operand)) for operand in layer.inputs]
    output = _operand(workload, layer.output, ())
    roles = layer.m, layer.n, layer.k, layer.batch, layer.whole
    rest = layer.steps, layer.guards, layer.bounds, len(layer.fused), sorted(layer.attributes.items())
    return repr((layer.op, layer.kind, list(layer.dims.items()), inputs, output, roles, rest))


def _operand(workload: Workload, operand: Operand, origin: object) -> tuple[object, ...]:
    tensor = workload.tensors[operand.tensor]
    view = None if tensor.view is None else (tensor.view.offset, tensor.view.strides)
    base = workload.tensors[_base(workload, operand.tensor)]
    form = tensor.shape, tensor.kind, tensor.logical, view, base.state, base.format
    return operand.name, operand.role, operand.axes, operand.rows, form, origin


def _from(workload: Workload, sources: _Sources, at: int, operand: Operand) -> object:
    """Where an operand comes from: how many layers before it was made, or read by others if it is stored."""
    base = _base(workload, operand.tensor)
    made = [at - maker for maker in sources.makers.get(base, ()) if maker < at]
    if made:
        return made
    if workload.tensors[base].kind in ("weight", "state"):
        return [at - reader for reader in sources.readers[base] if reader < at][-1:]
    return base


def _candidates(forms: IntArray) -> list[EqualBlocks]:
    """The longest run of equal blocks of each size, where there are more than KEPT."""
    found = []
    for size in range(1, len(forms) // (KEPT + 1) + 1):
        alike = (forms[size:] == forms[:-size]).tolist()
        at = 0
        for same, group in groupby(alike):
            length = len(list(group))
            times = length // size + 1
            if same and times > KEPT:
                found.append(EqualBlocks(at, size, times))
            at += length
    return found


def _is_closed(workload: Workload, sources: _Sources, blocks: EqualBlocks) -> bool:
    """Whether only the last block has to do with what is left out, and finds the same in blocks that are kept."""
    gone = blocks.left_out
    last = range(gone.stop, gone.stop + blocks.size)
    for at in range(gone.stop, len(workload.layers)):
        layer = workload.layers[at]
        for operand in (*layer.inputs, layer.output):
            made = sources.makers.get(_base(workload, operand.tensor), [])
            if any(maker in gone for maker in made) and (
                at not in last or any(maker - len(gone) < blocks.first for maker in made)
            ):
                return False
    return True


def _joined(workload: Workload, sources: _Sources, blocks: EqualBlocks, at: int) -> Layer:
    """A layer behind what is left out, with the operands of the layer as far back in the fourth block for those that
    are made there, wholly or in part."""
    gone, layer = blocks.left_out, workload.layers[at]
    before = workload.layers[at - len(gone)]

    def is_left_out(operand: Operand) -> bool:
        return any(maker in gone for maker in sources.makers.get(_base(workload, operand.tensor), ()))

    inputs = tuple(
        replace(operand, tensor=before.inputs[place].tensor) if is_left_out(operand) else operand
        for place, operand in enumerate(layer.inputs)
    )
    output = replace(layer.output, tensor=before.output.tensor) if is_left_out(layer.output) else layer.output
    return replace(layer, inputs=inputs, output=output)
