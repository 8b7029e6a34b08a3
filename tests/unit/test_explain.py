"""map --explain: what bounds a layer, what came second, what larger chips would give."""

from __future__ import annotations

import json

import pytest

from archsim.base.errors import MappingError
from archsim.cli.app import main
from archsim.lab.run.job import Job, build
from archsim.lab.what_if import explain
from archsim.lab.what_if.explain import Explanation, explained
from archsim.report.run import explanation
from archsim.report.run.explanation import to_json
from mapper.search.ties import BAND


@pytest.fixture(scope="module")
def told() -> Explanation:
    return explained(Job("eye_tracking", "edge_npu"), "stage1")


def test_what_was_chosen_has_the_figures_of_the_search(told: Explanation) -> None:
    mapping = build(Job("eye_tracking", "edge_npu", schedule="layers")).mapping
    assert mapping is not None
    searched = next(layer for layer in mapping.layers if layer.layer == "stage1")
    assert told.chosen.mapping.nodes == searched.nodes
    assert told.chosen.mapping.bound_cycles == searched.bound_cycles <= told.chosen.cycles
    assert told.chosen.cycles == pytest.approx(max(told.chosen.resources.values()), abs=1)
    assert told.chosen.bounded_by == "array"
    assert {"array", "vector unit", "load engine", "dram pins", "l1 read ports"} <= set(told.chosen.resources)


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_the_runner_up_is_worse_or_ties(objective: str) -> None:
    found = explained(Job("eye_tracking", "edge_npu", objective=objective), "stage2")
    assert found.second is not None and found.second.mapping.nodes != found.chosen.mapping.nodes
    chosen, second = ([value for _, value in one.ranked(objective)] for one in (found.chosen, found.second))
    assert chosen[0] <= second[0] * (1 + BAND)
    lost = found.lost_by
    if lost is None:
        assert chosen == second
    else:
        assert lost[1] > lost[2]


def test_larger_chips_never_do_worse(told: Explanation) -> None:
    """Law 47: what fits a smaller memory fits a larger one, so twice a memory never costs cycles."""
    names = [row.name for row in told.doubled]
    assert {"l1 size x2", "l1 ports x2", "acc size x2", "dram channels x2", "mxu columns x2"} <= set(names)
    for row in told.doubled:
        assert row.cycles is not None and row.energy_pj is not None and row.bounded_by
        if "columns" not in row.name:  # a wider array may drain longer than it saves
            assert row.cycles <= told.chosen.cycles
    assert min(row.cycles or 0 for row in told.doubled) < told.chosen.cycles


def test_json_and_table_say_the_same(told: Explanation, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["map", "eye_tracking", "--on", "edge_npu", "--explain", "stage1", "--format", "json"])
    assert not caught.value.code
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "archsim.explain/1" and found == json.loads(explanation.to_json(told.to_json()))
    table = explanation.to_table(told.to_json())
    assert f"bounded by: array, {told.chosen.cycles:,} cycles" in table
    assert "The runner-up " in table and "mxu columns x2" in table


def test_the_least_of_any_looptree_is_below_what_was_chosen(told: Explanation) -> None:
    assert not isinstance(told.least, str) and told.least.cycles.proven and told.least.energy_pj.proven
    assert told.chosen.cycles / 2 < told.least.cycles.figure <= told.chosen.mapping.bound_cycles
    assert told.chosen.accesses_pj / 2 < told.least.energy_pj.figure <= told.chosen.accesses_pj
    found = told.to_json()["least"]["cycles"]
    assert found["figure"] * (1 + found["chosen_above_percent"] / 100) == pytest.approx(told.chosen.cycles)
    table = explanation.to_table(told.to_json())
    assert f"Any LoopTree of it takes at least {told.least.cycles.figure:,.0f} cycles (chosen: +" in table


def test_layers_without_a_least_say_why() -> None:
    pooled = explained(Job("squeezenet", "edge_npu"), "maxpool_3_55x55x64")
    assert pooled.to_json()["least"] == {"reason": "the layer is no matmul"}
    assert "is not known: the layer is no matmul." in explanation.to_table(pooled.to_json())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--explain", "stag1"], "--explain: no layer 'stag1' in eye_tracking (did you mean 'stage1'?)"),
        (["--format", "json"], "what --explain"),
        (["--explain", "stage1", "--layer", "stage1"], "--layer and --explain"),
    ],
)
def test_bad_use_exits_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["map", "eye_tracking", "--on", "edge_npu", *arguments])
    out, err = capsys.readouterr()
    assert caught.value.code == 2 and out == "" and words in " ".join(err.replace("\u2502", " ").split())


def test_a_larger_chip_that_cannot_be_mapped_says_why_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise MappingError("nothing fits\nl1 has 4 KiB")

    monkeypatch.setattr(explain, "_again", refused)
    found = explained(Job("eye_tracking", "edge_npu"), "stage1").doubled
    assert found and {(each.cycles, each.reason) for each in found} == {(None, "nothing fits")}


def test_json_has_letters_as_they_are_and_only_numbers() -> None:
    assert "caf\N{LATIN SMALL LETTER E WITH ACUTE}" in to_json({"layer": "caf\N{LATIN SMALL LETTER E WITH ACUTE}"})
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"cycles": float("nan")})
