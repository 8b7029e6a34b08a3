"""Layers in a row run as groups where that is expected to be better, and only where they may."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

import archsim
from archsim.base.errors import ConfigError
from archsim.ir.workload import Workload
from archsim.lab.run.job import Job, build
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.report.run.layouts import tables
from archsim.report.run.run_sentences import sentences
from archsim.spec.load import load
from archsim.system import simulate
from mapper.compile import Compiled, compile_model
from mapper.fusion.candidates import chains, shared_loops, tiles
from mapper.options import BEST, LAYERS, Options

BOTTLENECK = """
schema: archsim.workload/1
name: bottleneck
source: "estimated: a block of MobileNetV2, small"
inputs: {x: [1, 16, 40, 40]}
layers:
  - conv: {name: expand, out_channels: 96, kernel: 1, act: relu}
  - conv: {name: depthwise, kernel: 3, pad: 1, groups: depthwise, act: relu}
  - conv: {name: project, out_channels: 16, kernel: 1}
"""
ATTENTION = """
schema: archsim.workload/1
name: attention
source: "estimated: heads of BERT, fewer rows"
inputs: {q: [1, 4, 256, 64], k: [1, 4, 256, 64], v: [1, 4, 256, 64]}
layers:
  - einsum: {equation: "b h s d, b h t d -> b h s t", inputs: [q, k], name: scores}
  - softmax: {name: shares, input: scores}
  - einsum: {equation: "b h s t, b h t e -> b h s e", inputs: [shares, v], name: context}
"""
BRANCHES = """
schema: archsim.workload/1
name: branches
source: "estimated: small"
inputs: {x: [1, 8, 16, 16]}
layers:
  - conv: {name: first, out_channels: 8, kernel: 1}
  - conv: {name: left, input: first, out_channels: 8, kernel: 3, pad: 1}
  - conv: {name: right, input: first, out_channels: 8, kernel: 3, pad: 1}
  - add: {name: both, inputs: [left, right]}
"""


@pytest.fixture(params=[BOTTLENECK, ATTENTION], ids=["bottleneck", "attention"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A workload whose layers are better run together."""
    found = tmp_path / "model.yaml"
    found.write_text(request.param)
    return found


def workload(path: Path) -> Workload:
    return archsim.load_model(path)


def compiled(path: Path, schedule: str, objective: str = "latency", **values: object) -> Compiled:
    chip = load("edge_npu", values)
    return compile_model(workload(path), chip, Options(objective, schedule=schedule))


def cycles(made: Compiled) -> int:
    """On edge_npu, whose clock has a period of 1 ns."""
    return simulate(made.program, load("edge_npu")).total_ps // 1000


def test_layers_run_together_in_less_time(path: Path) -> None:
    apart, together = compiled(path, LAYERS), compiled(path, BEST)
    assert apart.mapping.groups == ()
    (group,) = together.mapping.groups
    assert [member.layer for member in group.members] == [layer.name for layer in workload(path).layers]
    assert cycles(together) < 0.9 * cycles(apart)


def test_what_is_expected_of_a_group_is_near_what_it_takes(path: Path) -> None:
    together = compiled(path, BEST)
    launch = 2000
    expected = sum(mapping.expected_cycles for mapping in together.mapping.layers)
    assert abs(expected / (cycles(together) - launch) - 1) < 0.12


def test_a_group_is_found_again_the_same(path: Path) -> None:
    assert compiled(path, BEST).program == compiled(path, BEST).program


def test_results_and_windows_are_those_of_the_model(path: Path) -> None:
    outcome = verify(VerifyOptions(Job(path, "edge_npu", schedule="best"), numbers="int", interleavings=3))
    assert outcome.met and outcome.checks[0].rows


@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_less_energy_is_found_too(path: Path, objective: str) -> None:
    small = {"l1.size": "128KiB"}
    figures = [
        archsim.run(path, on="edge_npu", objective=objective, set=small, schedule=schedule, net=False)
        for schedule in (LAYERS, BEST)
    ]
    energies = [found.result.energy_j for found in figures]
    assert energies[1] <= energies[0] * 1.005


def test_no_group_where_windows_have_no_room(path: Path) -> None:
    assert compiled(path, BEST, **{"l1.size": "6KiB"}).mapping.groups == ()


def test_what_others_read_too_is_no_window(tmp_path: Path) -> None:
    path = tmp_path / "branches.yaml"
    path.write_text(BRANCHES)
    network = workload(path)
    names = [[network.layers[index].name for index in chain] for chain in chains(network)]
    assert ["first", "left"] not in names and ["first", "left", "right"] in names


def test_loops_are_over_rows_of_the_last_result(path: Path) -> None:
    network = workload(path)
    last = network.layers[-1]
    found = list(shared_loops(last))
    assert found
    for loops in found:
        assert all(dim in last.dims and dim not in last.n and 1 <= tile < last.dims[dim] for dim, tile in loops)
    assert tiles(40) == [10, 5, 3, 2] and tiles(3) == [1] and tiles(1) == []


def test_groups_of_several_cores_are_not_built(path: Path) -> None:
    chip = load("simba")
    made = compile_model(workload(path), chip, Options(schedule=BEST))
    assert made.mapping.groups == ()


def test_a_schedule_that_there_is_not_is_refused(path: Path) -> None:
    with pytest.raises(ConfigError, match="schedule: found 'fastest'; allowed layers, best"):
        archsim.run(path, on="edge_npu", schedule="fastest")


def test_the_net_keeps_layers_one_by_one_where_that_is_better(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that only seem better are not kept."""
    from mapper.fusion import chances
    from mapper.fusion.forecast import GroupForecast

    monkeypatch.setattr(chances, "forecast", lambda costs, passes: GroupForecast(0.0, (0.0,) * len(costs)))
    apart = archsim.run(path, on="edge_npu", schedule="layers", net=False).result.cycles_total
    kept = archsim.run(path, on="edge_npu", schedule="best", net=True).result
    assert kept.cycles_total <= apart * 1.005


def test_a_report_shows_what_ran_together(path: Path) -> None:
    summary = archsim.run(path, on="edge_npu", schedule="best", net=False).summary
    (group,) = summary["details"]["groups"]
    names = [layer.name for layer in workload(path).layers]
    assert group["layers"] == names and len(group["windows"]) == len(names) - 1
    (row,) = tables(summary)["groups"].rows
    assert row[:2] == (group["name"], len(names))
    said = (
        f"{len(names)} layers ran together, in 1 group with passes of their own; 2 results between them stayed on chip."
    )
    assert said in sentences(summary)
    assert "groups" not in archsim.run(path, on="edge_npu", schedule="layers", net=False).summary["details"]


@pytest.mark.parametrize("size", ["128KiB", "256KiB"])
def test_what_a_group_holds_over_its_passes_waits_for_the_bytes(size: str) -> None:
    """In a small memory it lies where layers before the group still work; the Program checker would refuse it."""
    summary = archsim.run("squeezenet", on="edge_npu", set={"l1.size": size}, schedule="best", net=False).summary
    assert summary["details"]["groups"]


def test_what_is_placed_stays_where_it_is(path: Path, tmp_path: Path) -> None:
    """A group would lengthen the lives of tensors of which a file says where they lie."""
    network = workload(path)
    name = network.layers[0].inputs[0].tensor
    size = prod(network.tensors[name].shape)
    stated = tmp_path / "places.yaml"
    stated.write_text(f"schema: archsim.mapping/1\nplacements:\n- {name} in dram at 0 bytes {size} layers -1 to 0\n")
    built = build(Job(path, "edge_npu", mapping=stated, schedule="best"))
    assert built.mapping is not None and built.mapping.groups == ()
