"""Networks of many nodes and the pages that show them: sizes allowed, loads of links, what wider links give."""

from __future__ import annotations

import numpy as np
import pytest

from archsim.base.errors import ConfigError
from archsim.facts.noc.catalogue import network
from archsim.lab.run.job import Job, load_chip
from archsim.lab.what_if.variants import variants
from archsim.noc.channel_load import link_loads
from archsim.noc.traffic import by_name
from archsim.noc.ways import ShortestWays
from archsim.report.charts.network import RAMP, legend
from archsim.report.charts.network import network as drawn
from archsim.spec.load import replace


@pytest.mark.parametrize(("topology", "shape"), [("mesh", (9999, 9999)), ("fat_tree", (2, 9999)), ("ring", (1025,))])
def test_networks_that_are_too_large_are_refused_before_they_are_built(topology: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="shape: found .*; allowed at most 1024 nodes"):
        network(topology, shape)


@pytest.mark.parametrize(("topology", "shape"), [("mesh", (4, 3)), ("crossbar", (6,)), ("fat_tree", (2, 3))])
@pytest.mark.parametrize("name", ["uniform", "hotspot_0_3"])
def test_loads_of_links_are_those_of_every_pair(topology: str, shape: tuple[int, ...], name: str) -> None:
    """Where there is one way alone: each pair's share on every link of its way."""
    found, routes = network(topology, shape)
    pattern = by_name(name, len(found.nodes), found.shape)
    ways, flow = ShortestWays(found, routes), dict.fromkeys(found.links, 0.0)
    for source in range(len(found.nodes)):
        for target in pattern.drawn:
            if source != target:
                for link in ways.links(source, target):
                    flow[link] += 1 / len(pattern.drawn)
    assert np.allclose(link_loads(found, routes, pattern), list(flow.values()))


@pytest.mark.parametrize("chip", ["mtia_v2i", "simba", "a100"])
def test_what_ifs_widen_every_network(chip: str) -> None:
    """Each has links of twice the bytes, and packets of as many flits; between chips twice the lanes."""
    architecture = load_chip(Job("eye_tracking", chip))
    assert architecture.noc is not None
    levels = tuple(level.name for level in architecture.noc.levels)
    wide = tuple(f"{name} {what} x2" for name in levels for what in ("links", "lanes"))
    named = [found for found in variants(architecture) if found.name in wide]
    wider = {found.name: replace(architecture, found.keys) for found in named}
    assert len(wider) == len(architecture.noc.levels)
    for level, (name, found) in zip(architecture.noc.levels, wider.items(), strict=True):
        assert found.noc is not None and name.startswith(level.name)
        other = next(each for each in found.noc.levels if each.name == level.name)
        if level.phy is not None:
            assert other.phy is not None and other.phy.bytes_per_s == 2 * level.phy.bytes_per_s
        else:
            assert other.link_bytes == 2 * level.link_bytes
            assert found.noc.packet_flits == architecture.noc.packet_flits


def shown(flits: int) -> dict[str, object]:
    """A row of two routers of which one link took ``flits`` of 1,000 cycles, another half of that."""
    nodes = [{"name": f"core[{n}]", "router": n, "sent_flits": 0, "received_flits": 0} for n in range(3)]
    return {
        "name": "mesh", "places": [[0], [1], [2]], "routers": 3, "cycles": 1000, "nodes": nodes,
        "links": [[0, 1, flits], [1, 2, flits // 2], [2, 1, 0]],
    }  # fmt: skip


def test_the_map_is_scaled_to_the_busiest_link() -> None:
    for flits in (10, 1000):
        picture = drawn(shown(flits))
        assert picture.count(RAMP[5]) == 1 and picture.count(RAMP[3]) == 1 and picture.count(RAMP[0]) == 1
        assert legend(shown(flits))[-1][1] == f"to {flits / 10:.1f} %"
    assert len(legend(shown(0))) == 1
