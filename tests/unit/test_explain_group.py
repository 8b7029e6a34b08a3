"""map --explain of layers that run in groups: what a cut costs, why neighbours are not in it, a larger memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import archsim
from archsim.base.errors import ConfigError
from archsim.lab.run.job import Job, build
from archsim.lab.what_if.explain import explained
from archsim.report.run.explanation import to_table
from mapper.fusion.candidates import MOST_MEMBERS, barrier, chains
from tests.unit.test_fusion import ATTENTION, BOTTLENECK, BRANCHES


def group(folder: Path, text: str, layer: str, **options: Any) -> dict[str, Any]:
    """What is told of the group of a layer, as JSON."""
    path = folder / "model.yaml"
    path.write_text(text)
    found: dict[str, Any] = explained(Job(path, "edge_npu", **options), layer).to_json()["group"]
    return found


def test_a_cut_costs_what_the_group_spares(tmp_path: Path) -> None:
    found = group(tmp_path, BOTTLENECK, "depthwise")
    built = build(Job(tmp_path / "model.yaml", "edge_npu"))
    assert built.mapping is not None
    (own,) = built.mapping.groups
    assert found["layers"] == [member.layer for member in own.members] == ["expand", "depthwise", "project"]
    assert found["loops"] == {loop.dim: loop.tile for loop in own.loops}
    assert found["together"]["cycles"] < found["apart"]["cycles"]
    assert [cut["behind"] for cut in found["cuts"]] == ["expand", "depthwise"]
    assert all(found["together"]["cycles"] < cut["cycles"] <= found["apart"]["cycles"] for cut in found["cuts"])
    assert found["beside"] == []
    assert found["larger"] == {"memory": "l1", "layers": found["layers"]}


def test_neighbours_that_cannot_be_in_it_say_why(tmp_path: Path) -> None:
    text = BRANCHES + "  - conv: {name: behind, input: both, out_channels: 8, kernel: 1}\noutputs: [both, behind]\n"
    found = group(tmp_path, text, "right")
    (behind,) = [each for each in found["beside"] if each["layer"] == "behind"]
    assert behind["reason"] == "both is an output of the model, or a part or the whole of other tensors"
    assert behind["group"] == []


def test_a_neighbour_that_could_be_in_it_is_compared(tmp_path: Path) -> None:
    """In a longer network a group ends where another one begins, and both figures are there."""
    found = explained(Job("hand_tracking", "edge_npu"), "block1").to_json()["group"]
    (behind,) = found["beside"]
    assert behind["layer"] == "block2_expand" and behind["group"][0] == "block2_expand"
    assert behind["together"]["cycles"] > found["together"]["cycles"]
    assert behind["apart"]["cycles"] > found["together"]["cycles"]


def test_what_does_not_fit_says_so(tmp_path: Path) -> None:
    found = group(tmp_path, ATTENTION, "scores", values={"l1.size": "32KiB"})
    assert found["layers"] == ["scores"] and found["cuts"] == []
    (shares,) = found["beside"]
    assert shares["reason"].startswith("they do not fit: ")


def test_the_table_reads_as_sentences(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(BOTTLENECK)
    text = to_table(explained(Job(path, "edge_npu"), "expand").to_json())
    assert "By its forecasts the search runs 3 layers together, expand to project: passes over p in tiles of" in text
    assert "cut behind depthwise" in text and "one by one" in text
    assert "With l1 twice as large it would be the same." in text
    alone = to_table(explained(Job("hand_tracking", "edge_npu", values={"l1.size": "2MiB"}), "block4").to_json())
    assert "is in another group" in alone or "is not in it, since" in alone


def test_nothing_is_told_where_groups_are_not_asked_for(tmp_path: Path) -> None:
    assert group(tmp_path, BOTTLENECK, "expand", schedule="layers") is None
    path = tmp_path / "model.yaml"
    assert explained(Job(path, "mtia_v2i"), "expand").to_json()["group"] is None
    with pytest.raises(ConfigError, match="no layer 'expnd'"):
        group(tmp_path, BOTTLENECK, "expnd")


@pytest.mark.parametrize("model", ["squeezenet", "hand_tracking", "dlrm_small", "bert_base_block"])
def test_chains_are_the_layers_that_nothing_keeps_apart(model: str) -> None:
    network = archsim.load_model(model)
    count = len(network.layers)
    free = [
        range(first, stop)
        for first in range(count)
        for stop in range(first + 2, min(first + MOST_MEMBERS, count) + 1)
        if not barrier(network, range(first, stop))
    ]
    assert free == list(chains(network))
    assert barrier(network, range(count)) or count <= MOST_MEMBERS
