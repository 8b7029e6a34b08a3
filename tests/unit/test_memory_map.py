"""What lies where in memories over a run, and how it is drawn."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import archsim
from archsim.ir.program import Ring
from archsim.lab.run.job import Job, build
from archsim.lab.run.memory_map import _layer_of, _side_by_side, memory_map
from archsim.report.charts.addresses import addresses as drawn
from archsim.report.run.html import render


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    found: dict[str, Any] = archsim.run("hand_tracking", "edge_npu", net=False).summary
    return found


def test_all_that_stays_and_all_windows_are_in_it(summary: dict[str, Any]) -> None:
    built = build(Job("hand_tracking", "edge_npu"))
    assert built.mapping is not None
    found = summary["details"]["memory_map"]
    assert list(found) == ["l1"] and found["l1"]["size_bytes"] == 2 << 20
    by_kind: dict[str, list[str]] = {}
    for block in found["l1"]["blocks"]:
        by_kind.setdefault(block["kind"], []).append(block["name"])
        assert block["base"] >= 0 and block["base"] + block["size_bytes"] <= found["l1"]["size_bytes"]
    assert set(by_kind["kept"]) == {place.tensor for place in built.mapping.placements if place.memory == "l1"}
    assert set(by_kind["window"]) == {each.tensor for group in built.mapping.groups for each in group.windows}
    assert set(by_kind["tiles"]) <= {layer.layer for layer in built.mapping.layers}


def test_what_lives_at_a_time_lies_apart(summary: dict[str, Any]) -> None:
    """Tensors that stay and windows, by the layers between which they are needed."""
    names = [row["name"] for row in summary["layers"]]
    blocks = [block for block in summary["details"]["memory_map"]["l1"]["blocks"] if block["kind"] != "tiles"]
    for one, other in combinations(blocks, 2):
        lives = [range(names.index(each["first"]), names.index(each["last"]) + 1) for each in (one, other)]
        meets = max(life.start for life in lives) < min(life.stop for life in lives)
        apart = one["base"] + one["size_bytes"] <= other["base"] or other["base"] + other["size_bytes"] <= one["base"]
        assert apart or not meets, (one, other)


def test_it_is_drawn_with_its_groups(summary: dict[str, Any]) -> None:
    picture = drawn(summary, "l1")
    blocks = summary["details"]["memory_map"]["l1"]["blocks"]
    groups = summary["details"]["groups"]
    assert picture.count("<rect") == 1 + len(blocks) + len(groups)
    assert f"{groups[0]['layers'][0]}, {groups[0]['layers'][1]}" in picture
    heights = [float(found) for found in re.findall(r'<rect [^>]*?height="([0-9.]+)"', picture)]
    assert max(heights) == 220.0
    page = render(summary)
    assert '<h2 id="memory">Memory over time</h2>' in page and "tensors that stay" in page


def test_without_groups_or_kept_tensors_there_is_none() -> None:
    layers = archsim.run("hand_tracking", "edge_npu", schedule="layers", net=False).summary
    assert "groups" not in layers["details"] and layers["details"]["memory_map"]["l1"]
    assert "groups" not in drawn(layers, "l1")
    product = archsim.run("gemm_4096", "edge_npu", net=False).summary
    assert "memory_map" not in product["details"]
    assert 'id="memory"' not in render(product)


def test_a_program_and_a_network_without_some_blocks_have_none(tmp_path: Path) -> None:
    assert "memory_map" not in archsim.run("tests/golden/program.asm", "tests/golden/chip.yaml").summary["details"]
    job = Job("bert_base", "edge_npu", parameters={"seq": 64}, repeat="steady")
    assert memory_map(build(job)) == {}


def test_what_lies_side_by_side_is_one_stretch() -> None:
    """A gap parts it, and what overlaps or touches does not."""
    rings = [
        Ring("y@a", "l1", base, size, 1, "inputs", "int8", "load", ())
        for base, size in ((0, 16), (16, 8), (20, 8), (32, 4))
    ]
    assert list(_side_by_side(rings)) == [(0, 28), (32, 4)]


def test_a_layer_may_be_called_as_rings_are() -> None:
    """The operand stands behind its name, and may be a stage of one."""
    assert _layer_of("y@1@a", {"y", "y@1"}) == "y@1"
    assert _layer_of("y@a@l2", {"y"}) == "y"
