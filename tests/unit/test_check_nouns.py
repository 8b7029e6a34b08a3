"""Checkers of Workload and ModelMapping, each on broken variants of the golden one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from archsim.base.errors import MappingError, ModelError
from archsim.ir.check.mapping import check_mapping
from archsim.ir.check.workload import check_workload
from archsim.ir.mapping import Keep, Loop, ModelMapping, Placement
from archsim.ir.text import mapping_from_yaml, workload_from_yaml
from archsim.ir.workload import Axis, Layer, Operand, Tensor, VectorStep, View, Workload
from archsim.lab.run import job
from archsim.lab.run.job import Job, build
from tests.laws.test_cores_laws import networked
from tests.unit.fixtures_check import GOLDEN, chip


def golden_text(name: str) -> str:
    return (Path(GOLDEN) / name).read_text(encoding="utf-8")


WORKLOAD = workload_from_yaml(golden_text("workload.yaml"))
MAPPING = mapping_from_yaml(golden_text("mapping.yaml"))


def layer(number: int, /, **changes: Any) -> Workload:
    layers = [*WORKLOAD.layers]
    layers[number] = replace(layers[number], **changes)
    return replace(WORKLOAD, layers=tuple(layers))


def operand(name: str, /, **changes: Any) -> Workload:
    """One operand of conv1 changed."""
    conv = WORKLOAD.layers[0]
    inputs = tuple(replace(o, **changes) if o.name == name else o for o in conv.inputs)
    return layer(0, inputs=inputs, output=replace(conv.output, **changes) if name == "out" else conv.output)


def tensor(name: str, /, **changes: Any) -> Workload:
    return replace(WORKLOAD, tensors={**WORKLOAD.tensors, name: replace(WORKLOAD.tensors[name], **changes)})


def with_view(view: View, shape: tuple[int, ...] = (4, 4)) -> Workload:
    return replace(WORKLOAD, tensors={**WORKLOAD.tensors, "v": Tensor("v", shape, "activation", view=view)})


def axes_of(name: str) -> tuple[Axis, ...]:
    conv: Layer = WORKLOAD.layers[0]
    found: Operand = next(o for o in (*conv.inputs, conv.output) if o.name == name)
    return found.axes


WORKLOADS: list[tuple[Callable[[], Workload], str]] = [
    (lambda: replace(WORKLOAD, batch=0), "batch 0"),
    (lambda: tensor("x", name="z"), "is listed as 'x'"),
    (lambda: tensor("x", shape=(1, 0, 12, 8)), "allowed extents of 1 or more"),
    (lambda: tensor("x", logical=(0, 1, 2)), "does not permute its 4 axes"),
    (lambda: with_view(View("y3", 0, (4, 1))), "is a view of 'y3', which is not a tensor"),
    (lambda: with_view(View("y1", 0, (4,))), "one stride for each axis"),
    (lambda: with_view(View("y1", 2300, (4, 1))), "reaches element 2315 of 'y1', which has 2304"),
    (lambda: replace(WORKLOAD, layers=WORKLOAD.layers * 2), "layer 'conv1' is there twice"),
    (lambda: layer(0, dims={**WORKLOAD.layers[0].dims, "h": 0}), "dim 'h' of 0"),
    (lambda: layer(0, whole=("z",)), "whole dim 'z'"),
    (lambda: layer(0, k=("r", "s")), "its parts name (h, w, k, r, s), its dims are (h, w, k, r, s, c)"),
    (lambda: layer(0, steps=(VectorStep((), -1),)), "fewer than 0 passes"),
    (lambda: operand("a", tensor="xx"), "layer 'conv1' (Conv): operand 'a': no tensor 'xx'"),
    (lambda: operand("a", role="input"), "role 'input'; allowed inputs, weights, outputs, tables, kv (did you mean"),
    (lambda: operand("a", axes=axes_of("a")[1:]), "gives 3 indices to 'x' of 4 axes"),
    (lambda: operand("a", axes=(*axes_of("a")[:3], Axis((("q", 1),)))), "no dim 'q'"),
    (lambda: operand("out", axes=(*axes_of("out")[:3], Axis((("k", 1),), 1))), "is indexed 1 to 16; it has 0 to 15"),
    (lambda: operand("bias", name="a"), "two operands of one name"),
    (lambda: operand("b", name="bb"), "is a matmul without operand 'b'"),
    (lambda: operand("out", name="layers"), "calls its output operand 'layers'; allowed 'out'"),
    (lambda: operand("a", axes=(Axis((), 2**40), *axes_of("a")[1:])), "allowed within 2^40"),
    (lambda: operand("a", axes=(Axis((), -(2**40)), *axes_of("a")[1:])), "allowed within 2^40"),
    (lambda: replace(WORKLOAD, layers=WORKLOAD.layers[::-1]), "reads 'y1', which no earlier layer writes"),
    (lambda: operand("out", tensor="x", axes=axes_of("out")[:3] + (Axis(()),)), "writes 'x', which is an input"),
]


@pytest.mark.parametrize(("broken", "message"), WORKLOADS, ids=[message for _, message in WORKLOADS])
def test_workload(broken: Callable[[], Workload], message: str) -> None:
    with pytest.raises(ModelError) as error:
        check_workload(broken())
    assert message in str(error.value)


def test_views_and_host_layers_are_accepted() -> None:
    check_workload(with_view(View("y1", 2288, (4, 1))))
    check_workload(layer(0, kind="host", m=(), n=(), k=()))


def mapped(number: int, /, **changes: Any) -> ModelMapping:
    layers = [*MAPPING.layers]
    layers[number] = replace(layers[number], **changes)
    return replace(MAPPING, layers=tuple(layers))


def placed(*more: Placement) -> ModelMapping:
    return replace(MAPPING, placements=(*MAPPING.placements, *more))


MAPPINGS: list[tuple[Callable[[], ModelMapping], str]] = [
    (lambda: replace(MAPPING, objective="speed"), "objective 'speed'; allowed latency, energy, edp"),
    (lambda: replace(MAPPING, dtypes={"inputs": "int9"}), "dtype 'int9' of inputs (did you mean"),
    (lambda: replace(MAPPING, layers=MAPPING.layers[:1]), "does not list the workload's layers in order: 1 of 2"),
    (lambda: replace(MAPPING, layers=MAPPING.layers[::-1]), "it has 'conv2' where the workload has 'conv1'"),
    (lambda: mapped(0, unit="mxuu"), "has no unit 'mxuu' (did you mean 'mxu'?)"),
    (lambda: mapped(0, evaluated=3, space=2), "3 candidates evaluated of 2"),
    (lambda: mapped(0, resident=("c",)), "no resident operand 'c'"),
    (lambda: mapped(0, nodes=(Loop("x", 2),)), "node 0: no dim 'x'"),
    (lambda: mapped(0, nodes=(Loop("h", 4), Loop("h", 5))), "node 1: tiles of 5 of 'h'; allowed 1 to 4"),
    (lambda: mapped(0, nodes=(Loop("h", 4, "row"),)), "no fan-out 'row'"),
    (lambda: mapped(0, nodes=(Keep("aa", "l1", 2, 0),)), "no operand 'aa'"),
    (lambda: mapped(0, nodes=(Keep("a", "l2", 2, 0),)), "no explicit memory 'l2'; there are: dram, l1, acc"),
    (lambda: mapped(0, nodes=(Keep("a", "l1", -1, 0),)), "-1 slots reserved at 0"),
    (lambda: mapped(0, nodes=(Keep("a", "l1", 2, 3),)), "allowed 0 or more, 0 to 1"),
    (lambda: placed(Placement("z", "dram", 8192, 8, 0, 1)), "placement of 'z': no such tensor"),
    (lambda: placed(Placement("x", "drum", 8192, 8, 0, 1)), "no memory 'drum' (did you mean 'dram'?)"),
    (lambda: placed(Placement("x", "l1", 8192, 8, 0, 1)), "needs bytes [8192, 8200) of 'l1', which has 8192"),
    (lambda: placed(Placement("y2", "dram", 1000, 8, 0, 1)), "tensors 'x' and 'y2' share bytes of 'dram'"),
]


@pytest.mark.parametrize(("broken", "message"), MAPPINGS, ids=[message for _, message in MAPPINGS])
def test_mapping(broken: Callable[[], ModelMapping], message: str) -> None:
    with pytest.raises(MappingError) as error:
        check_mapping(broken(), WORKLOAD, chip())
    assert message in str(error.value)


def test_placements_may_take_turns() -> None:
    check_mapping(placed(Placement("y2", "dram", 0, 8, 1, 1)), WORKLOAD, chip())


def test_a_layer_may_be_spread_over_the_cores_of_a_network() -> None:
    """By the network's name, on a chip that has one."""
    spread = mapped(0, nodes=(Loop("h", 4, "grid"), Loop("h", 2)))
    with pytest.raises(MappingError, match="no fan-out 'grid'"):
        check_mapping(spread, WORKLOAD, chip())
    check_mapping(spread, WORKLOAD, networked(chip(), "mesh", (2, 1)))


def test_every_mapping_that_is_compiled_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that no file states is our own fault, with the exit code of such."""
    seen = []

    def refuse(mapping: ModelMapping, *_: object) -> None:
        seen.append(mapping)
        raise MappingError("no unit")

    monkeypatch.setattr(job, "check_mapping", refuse)
    with pytest.raises(MappingError, match="no unit") as caught:
        build(Job(WORKLOAD, chip()))
    assert caught.value.exit_code == 1 and seen[0].workload == WORKLOAD.name
