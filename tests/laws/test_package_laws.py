"""Laws of chips whose networks stand in one another: what Programs on them take, count and compute."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from archsim.energy.chip import tables_for
from archsim.ir.activity import Activity
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.spec import load
from archsim.system import simulate
from mapper.compile import compile_model
from tests.laws.many_cores import CHIP, gemm_cores, grid, one, to_cores
from tests.tools.layers import Net

pytestmark = pytest.mark.slow  # compiles the routers

INNER = "- noc: {name: mesh, topology: mesh, shape: [2, 2], link: 32 B, attach: {dram: [[0, 0]], l2: [[0, 0], [1, 1]]}}"
LEVELS = """\
- noc: {name: package, topology: SHAPE, phy: PHY, attach: {dram: [[0]], l2: [[0], [1]]}}
  - noc: {name: mesh, topology: mesh, shape: [2, 1], link: 32 B, attach: {package: [[0, 0]]}}"""
PHY = "{lanes: 16, rate: 8 GT/s, latency: 10 ns, energy: 1 pJ}"
OUTERS = ["ring, shape: [2]", "crossbar, shape: [2]", "mesh, shape: [2]"]


def packaged(outer: str = OUTERS[0], phy: str = PHY) -> str:
    """The chip of four cores, two in each of two chiplets, whose links take a flit for two cycles."""
    levels = LEVELS.replace("SHAPE", outer).replace("PHY", phy)
    if outer.startswith("crossbar"):
        levels = levels.replace(f"phy: {phy}", "link: 32 B").replace("[[0], [1]]", "[[0], [0]]")
    assert INNER in CHIP
    return CHIP.replace(INNER, levels)


def flits(activity: Activity) -> Counter[tuple[str, str]]:
    found = Counter[tuple[str, str]]()
    for (_, part, action), count in activity.counts.items():
        if action.endswith("_flits"):
            found[part, action] += count
    return found


@pytest.mark.parametrize("fidelity", ["flit", "link"])
def test_law_30_a_move_over_a_slow_link_takes_its_rate(fidelity: str) -> None:
    """Law 30: bytes to a core of the other chiplet cross one slow link: two cycles a flit, headers too; those to a core
    beside the port do not."""
    chip = grid(packaged().replace("l2: [[0], [1]]", "l2: [[0]]"), noc={"fidelity": fidelity})
    size = 1 << 14
    near = simulate(one(0, to_cores("m", "s", (0,), size)), chip)
    far = simulate(one(2, to_cores("m", "s", (2,), size)), chip)
    sent = size // 32 * 3 // 2
    assert flits(near)["package", "link_flits"] == 0
    assert flits(far)["package", "link_flits"] == sent + 2  # and the request, a flit and a header
    assert near.total_ps < 1000 * (sent + 100) and 2000 * sent <= far.total_ps < 2000 * (sent + 50)


@pytest.mark.parametrize("fidelity", ["flit", "link"])
@pytest.mark.parametrize("outer", OUTERS)
def test_law_37_flits_of_all_levels_are_charged_once(outer: str, fidelity: str) -> None:
    """Laws 30, 37: counts of each level are the flits of its own links, and no link carries more than its rate."""
    chip = grid(packaged(outer), noc={"fidelity": fidelity})
    activity = simulate(gemm_cores(4, 2), chip)
    stats, counted = activity.noc, flits(activity)
    assert stats is not None and stats.levels == ("mesh", "package") and len(stats.router_levels) == stats.routers
    through = Counter[str]()
    for link in stats.links:
        ends = {stats.router_levels[link.source], stats.router_levels[link.target]}
        through["gateway" if len(ends) > 1 else stats.levels[ends.pop()]] += link.flits
    assert counted["mesh", "link_flits"] == through["mesh"]
    assert counted["package", "link_flits"] == through["package"]
    routers = counted["mesh", "router_flits"] + counted["package", "router_flits"]
    assert routers == sum(stats.node_in) + sum(link.flits for link in stats.links)
    assert all(link.flits * period <= stats.cycles + period for link, period in zip(
        stats.links, stats.periods or [1.0] * len(stats.links), strict=True))  # fmt: skip
    if not outer.startswith("crossbar"):
        assert tables_for(chip).pj("package", "link_flits") == 256


@pytest.mark.parametrize("fidelity", ["flit", "link"])
def test_law_46_faster_links_between_chips_are_not_slower(fidelity: str) -> None:
    """Law 46: the more lanes the sooner, to the network on one chip of the same routers."""
    ends = [
        simulate(gemm_cores(4, 3), grid(packaged(phy=PHY.replace("16", lanes)), noc={"fidelity": fidelity})).total_ps
        for lanes in ("2", "4", "8", "16", "32")
    ]
    assert ends == sorted(ends, reverse=True) and 10 * ends[0] > 11 * ends[-1]


MESH = packaged("mesh, shape: [2, 2]").replace("shape: [2, 1]", "shape: [2, 2]")
MESH = MESH.replace("{dram: [[0]], l2: [[0], [1]]}", "{dram: [[1, 1]], l2: [[0, 0]]}")


def test_law_42_a_package_computes_the_numbers(tmp_path: Path) -> None:
    """Law 42: a network of convolutions on 2x2 chiplets of 2x2 cores is computed right, to the last integer."""
    path = tmp_path / "chip.yaml"
    path.write_text(MESH, encoding="utf-8")
    assert load.load(path).cores == 16
    outcome = verify(VerifyOptions(Job("eye_tracking", str(path))))
    assert outcome.met and [check.numbers for check in outcome.checks] == ["float64", "int8"]


@pytest.mark.parametrize("seed", range(8))
def test_law_38_layers_on_a_package_take_their_bound(seed: int) -> None:
    """Law 38: the bound of a layer alone never exceeds the simulated latency; many lanes between chiplets, which shared
    operands have to pass, never make what is expected longer, and make it shorter where all chiplets work. In between
    the few spreads that are searched may differ."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 16 + seed % 9, 16, 8 + seed % 11))
    net.conv(x, "y", 8 + seed % 13, 1 + seed % 3, 1 + seed % 2, (seed % 2, 0, 1, 0))
    workload = net.done("y")
    for fidelity in ("flit", "link"):
        expected = []
        for lanes in (1, 2, 16):
            chip = grid(MESH.replace("lanes: 16", f"lanes: {lanes}"), noc={"fidelity": fidelity})
            compiled = compile_model(workload, chip)
            expected.append(compiled.mapping.layers[0].expected_cycles)
            assert compiled.mapping.layers[0].bound_cycles * 1000 <= simulate(compiled.program, chip).total_ps
        assert expected[2] == min(expected)
        assert expected[0] > expected[2] or seed > 1
