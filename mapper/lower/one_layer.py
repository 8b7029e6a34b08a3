"""The Program of one layer by itself: what it reads lies ready, in DRAM or where it stays on chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from archsim.ir.mapping import LayerMapping
from archsim.ir.program import Program
from archsim.ir.workload import Layer, Tensor, TensorKind, Workload
from archsim.spec.architecture import Architecture
from mapper.allocate.placement import Lifetime
from mapper.allocate.residency import Residency
from mapper.lower.model import Lowering, Mapped
from mapper.options import Given, Options
from mapper.problem.packed import base_of, scales_named
from mapper.problem.problem import Problem

ALWAYS = Lifetime(-1, 1)


def lower_alone(
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    options: Options,
    problem: Problem,
    residency: Residency,
    mapping: LayerMapping,
) -> Program:
    """The Program of ``problem`` under ``mapping``, beside the tensors that stay on chip while it runs."""
    index = [layer.name for layer in workload.layers].index(problem.layer.name)
    stays = {found.tensor: replace(found, life=ALWAYS) for found in residency.at(index)}
    mapped = Mapped(
        Residency(residency.capacity, stays),
        (problem,),
        (replace(mapping, layer=problem.layer.name),),
        frozenset(),
    )
    network = single(workload, problem.layer)
    return Lowering(network, architecture, dtypes, replace(options, given=Given())).lower(mapped).program


def single(workload: Workload, layer: Layer) -> Workload:
    """A workload of one layer: its inputs are given, its output is asked for."""
    made = base_of(workload, layer.output.tensor)
    tensors: dict[str, Tensor] = {}
    for operand in (*layer.inputs, layer.output):
        name = operand.tensor
        while name not in tensors:
            tensor = workload.tensors[name]
            tensors[name] = replace(tensor, kind=_kind(tensor, made=base_of(workload, name) == made))
            tensors |= {scales: workload.tensors[scales] for scales in scales_named(workload, name)}
            name = tensor.view.base if tensor.view is not None else name
    return replace(workload, layers=(layer,), tensors=tensors, views=(), composites=())


def nameless(network: Workload) -> str:
    """What a network of one layer is, whatever its layer and tensors are called: equal ones have equal texts."""
    (layer,) = network.layers
    numbers = {name: number for number, name in enumerate(network.tensors)}
    tensors = [
        (
            item.shape,
            item.kind,
            item.logical,
            item.format,
            item.view and (numbers[item.view.base], replace(item.view, base="")),
        )
        for item in network.tensors.values()
    ]
    operands = [(numbers[item.tensor], replace(item, tensor="")) for item in (*layer.inputs, layer.output)]
    plain = replace(layer, name="", fused=(), inputs=(), output=replace(layer.output, tensor=""))
    return repr((tensors, operands, plain, network.dtype))


def _kind(tensor: Tensor, made: bool) -> TensorKind:
    if made:
        return "output"
    return "weight" if tensor.kind == "weight" else "input"
