"""Groups of layers in a network of which blocks were left out: those of the whole follow from the third block's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import archsim as ax
from archsim.base.errors import ConfigError
from archsim.ir.blocks import EqualBlocks, equal_blocks, shortened
from archsim.ir.group_blocks import groups_of_all
from archsim.ir.schedule import Group, Member, SharedKeep, SharedLoop, TensorWindow
from archsim.ir.workload import Workload
from archsim.lab.run import net
from archsim.lab.run.job import BlocksApartError, BuiltJob, CompileRequest, Job, build
from archsim.lab.run.replay_blocks import lengthened
from archsim.spec.architecture import Architecture
from tests.unit.test_equal_blocks import workload

ENCODER = {"seq": 64}


@pytest.fixture
def network(tmp_path: Path) -> tuple[Workload, EqualBlocks, Workload]:
    """Of 9 blocks of 2 layers: the whole, its blocks, and what is left with 4 of them."""
    whole = workload(tmp_path, 9)
    blocks = equal_blocks(whole)
    assert blocks == EqualBlocks(1, 2, 9)
    return whole, blocks, shortened(whole, blocks)


def group(network: Workload, *places: int) -> Group:
    """Layers of a network by their numbers, of which all but the last have windows."""
    layers = [network.layers[place] for place in places]
    last = layers[-1].name
    windows = tuple(TensorWindow(layer.output.tensor, "l1", 2) for layer in layers[:-1])
    shared = (SharedLoop(last, "m", 8), SharedKeep(layers[0].name, "b", "l1", 1))
    return Group(f"{layers[0].name}..{last}", tuple(Member(layer.name) for layer in layers), shared, windows)


def test_groups_inside_blocks_are_in_each_of_them(network: tuple[Workload, EqualBlocks, Workload]) -> None:
    whole, blocks, short = network
    kept = tuple(group(short, first, first + 1) for first in (1, 3, 5, 7))
    assert groups_of_all(kept, whole, blocks, short) == tuple(group(whole, at, at + 1) for at in range(1, 19, 2))


def test_what_only_other_blocks_have_is_not_repeated(network: tuple[Workload, EqualBlocks, Workload]) -> None:
    whole, blocks, short = network
    kept = (group(short, 0, 1), group(short, 7, 8, 9))
    assert groups_of_all(kept, whole, blocks, short) == (group(whole, 0, 1), group(whole, 17, 18, 19))


def test_groups_over_the_ends_of_blocks_are_over_all_of_these(network: tuple[Workload, EqualBlocks, Workload]) -> None:
    whole, blocks, short = network
    kept = tuple(group(short, first, first + 1) for first in (2, 4, 6, 8))
    assert groups_of_all(kept, whole, blocks, short) == tuple(group(whole, at, at + 1) for at in range(2, 20, 2))


@pytest.mark.parametrize(
    "places",
    [
        [(4, 5)],
        [(6, 7)],
        [(4, 5), (5, 6, 7)],
        [(4, 5, 6, 7)],
        [(2, 3, 4, 5), (6, 7)],
        [(3, 4, 5, 6, 7, 8, 9)],
        [(3, 4)],
    ],
)
def test_the_third_block_stands_for_none_that_differs(
    network: tuple[Workload, EqualBlocks, Workload], places: list[tuple[int, ...]]
) -> None:
    """Where it begins otherwise than it ends."""
    whole, blocks, short = network
    assert groups_of_all([group(short, *each) for each in places], whole, blocks, short) is None


def test_a_whole_encoder_runs_in_the_groups_that_it_has_without_blocks() -> None:
    exact, spared = (
        build(Job("bert_base", "edge_npu", parameters=ENCODER, schedule="best", repeat=repeat))
        for repeat in ("exact", "steady")
    )
    assert exact.mapping is not None and spared.mapping is not None
    assert spared.left_out and len(spared.program.layers) < len(exact.program.layers)
    assert len(exact.mapping.groups) >= 12
    assert spared.mapping.groups == exact.mapping.groups
    assert spared.mapping.layers == exact.mapping.layers


def test_a_steady_run_of_groups_sums_up_as_an_exact_one() -> None:
    exact, steady = (
        ax.run("bert_base", "edge_npu", parameters=ENCODER, schedule="best", repeat=repeat, net=False).summary
        for repeat in ("exact", "steady")
    )
    assert steady["provenance"]["repeat"]["blocks"]
    assert steady["details"]["groups"] == exact["details"]["groups"]
    assert sum(layer["cycles_critical"] for layer in steady["layers"]) == steady["cycles_total"]
    assert steady["cycles_total"] == pytest.approx(exact["cycles_total"], rel=0.01)
    assert steady["energy_j"] == pytest.approx(exact["energy_j"], rel=0.01)
    for key in ("read_bytes", "write_bytes"):
        assert steady["dram"][key] == exact["dram"][key]
    for unit, causes in steady["time_breakdown"].items():
        assert sum(causes.values()) == steady["cycles_total"], unit


def test_where_groups_tell_blocks_apart_all_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """And who insists on leaving some out is told so."""
    monkeypatch.setattr("archsim.lab.run.replay_blocks.groups_of_all", lambda *_: None)
    monkeypatch.setattr("archsim.lab.run.job._LEAST_LEFT_OUT", 0)
    job = Job("bert_base", "edge_npu", parameters=ENCODER, schedule="best", repeat="auto")
    assert not build(job).left_out
    with pytest.raises(ConfigError, match="--repeat steady: groups of layers tell equal blocks apart; allowed with"):
        ax.run("bert_base", "edge_npu", parameters=ENCODER, schedule="best", repeat="steady", net=False)


def test_where_layers_of_blocks_run_otherwise_all_are_simulated() -> None:
    """The third block stands for the others where what its groups leave room for is there in the second one too."""
    job = Job("bert_base", "edge_npu", parameters=ENCODER, schedule="best", repeat="steady")
    found = build(job)
    assert found.lowered is not None and found.left_out
    (part,) = found.left_out
    name = part.short.layers[part.blocks.middle[0]].name
    other = tuple(
        replace(each, resident=(*each.resident, "x")) if each.layer == name else each for each in found.lowered.layers
    )
    assert lengthened(found.lowered, found.left_out) is not None
    assert lengthened(replace(found.lowered, layers=other), found.left_out) is None
    assert lengthened(replace(found.lowered, layers=other, groups=()), found.left_out) is not None


def test_another_objective_whose_blocks_differ_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for a part of the blocks gets it, whatever other objectives would have chosen."""
    own = net.compiled

    def refused(job: Job, chip: Architecture, asked: CompileRequest) -> BuiltJob:
        if asked.options.objective != "latency":
            raise BlocksApartError("apart")
        return own(job, chip, asked)

    monkeypatch.setattr(net, "compiled", refused)
    job = Job("bert_base", "edge_npu", parameters=ENCODER, repeat="steady", net=True)
    found = net.caught(job)
    assert set(found.net["tried"]) <= {"latency", "layers", "in turn"} and found.built.left_out


@pytest.mark.slow
def test_commands_that_are_called_alike_are_not_mixed_up() -> None:
    """Passes below two shared loops have commands of one text."""
    found = [
        ax.run(
            "gpt2:prefill", "edge_npu", parameters={"prompt": 768}, schedule="best", repeat=repeat, net=False
        ).summary
        for repeat in ("steady", "exact")
    ]
    steady, exact = found
    assert steady["provenance"]["repeat"]["blocks"]
    assert steady["details"]["groups"] == exact["details"]["groups"]
    assert steady["cycles_total"] == pytest.approx(exact["cycles_total"], rel=0.001)
    assert [layer["name"] for layer in steady["layers"]] == [layer["name"] for layer in exact["layers"]]
