"""Mistakes in networks of chip files: each message has its place, what was found, and what is allowed."""

from __future__ import annotations

import pytest
from fixtures_grid import GRID, grid

from archsim.base.errors import ConfigError, NotBuiltError
from archsim.spec import load

SECOND = "  - noc: {name: two, topology: mesh, shape: [2, 2], link: 8 B, attach: {}}\n  - parallel:"
MISTAKES = [
    ("topology: mesh", "topology: mehs", "10:7: mesh.topology: found 'mehs'; allowed bus,", "(did you mean 'mesh'?)"),
    ("topology: mesh", "topology: crossbar", "11:7: mesh.shape: found 4x2; allowed 1 dimension(s)"),
    ("shape: [4, 2]", "shape: [4, 0]", "mesh.shape: found [4, 0]; allowed a list of 1 to 4 whole numbers 1 to 4096"),
    ("shape: [4, 2]", "shape: [4096, 4096]", "mesh.shape: found 4096x4096; allowed at most 1024 nodes"),
    ("topology: mesh\n      shape: [4, 2]", "topology: fat_tree\n      shape: [64, 64]", "allowed at most 1024 nodes"),
    (
        "l2: [[0, 0], [3, 1]]",
        "l2: [[0, 0], [4, 1]]",
        "14:22: mesh.attach.l2[1]: found [4, 1]; allowed [0, 0] to [3, 1]",
    ),
    (
        "l2: [[0, 0], [3, 1]]",
        "l2: [[0]]",
        "mesh.attach.l2[0]: found [0]; allowed [0, 0] to [3, 1], a router of the mesh",
    ),
    ("l2: [[0, 0], [3, 1]]", "l2: []", "mesh.attach.l2: found a list of 0; allowed a list of coordinates"),
    ("l2: [[0, 0], [3, 1]]", "l2: [[0, 0], []]", "mesh.attach.l2: found a list of 2; allowed a list of coordinates"),
    ("l2: [[0, 0], [3, 1]]", "l2: [[0, 0], 3]", "mesh.attach.l2: found a list of 2; allowed a list of coordinates"),
    ("l2: [[0, 0], [3, 1]]", "l2: [[0, 0], [3, 1.5]]", "mesh.attach.l2: found a list of 2; allowed a list"),
    ("l2: [[0, 0], [3, 1]]", "l2: 3", "mesh.attach.l2: found 3; allowed a list of coordinates"),
    ("l2: [[0", "l3: [[0", "mesh.attach.l3: no part 'l3'; allowed explicit memories above the network: dram, l2"),
    ("l2: [[0", "darm: [[0", "mesh.attach.darm: no part 'darm'", "did you mean 'dram'?", "no port of 'l2'"),
    ("l2: [[0", "l1: [[0", "mesh.attach.l1: found 'l1', which is below the network: every core has its own"),
    ("l2: [[0", "mxu: [[0", "mesh.attach.mxu: found 'mxu', which is below the network"),
    (
        "l2: [[0",
        "dram: [[0",
        "mesh.attach: no port of 'l2', through which inputs, weights,",
        "allowed `l2: [[0, 0]]` or",
    ),
    ("link: 32 B", "link: 32 B\n      packet: 16 B", "13:7: mesh.packet: found 16 B; allowed at least 32 B, one flit"),
    ("link: 32 B", "link: 32 B\n      message: 48 B", "mesh.message: found 48 B; allowed at least 64 B, the packet"),
    (
        "link: 32 B",
        "link: 32 B\n      packet: 256 B",
        "mesh.buffer: found 8 flits; a packet of 256 B is 8 flits of 32 B",
    ),
    (
        "link: 32 B",
        "link: 8 B",
        "mesh.buffer: found 8 flits; a packet of 64 B is 8 flits of 8 B and 1 of",
        "at least 9",
    ),
    ("topology: mesh", "topology: torus\n      vcs: 1", "mesh.vcs: found 1; allowed at least 2"),
    (
        "link: 32 B",
        "link: 32 B\n      speculative: true\n      vc_allocator: wavefront",
        "mesh.speculative: found true",
    ),
    ("link: 32 B", "link: 32\n", "12:7: mesh.link: found 32, a bare number"),
    ("link: 32 B", "lnik: 32 B", "12:7: mesh.lnik: unknown key 'lnik'", "did you mean 'link'?"),
    ("16 B, keeps: all", "16 B, keeps: [weights]", "l2.keeps: 'inputs' has no keeper below the network 'mesh'"),
    ("l1, size: 256 KiB", "l1, filled_by: array, size: 256 KiB", "l2.keeps: 'inputs' has no keeper below the network"),
    ("word: 32 B", "word: 32 B, ports: {array: {read: 1}}", "l2.ports.array: has no meaning above a network"),
]


@pytest.mark.parametrize("case", MISTAKES, ids=[case[2][:60] for case in MISTAKES])
def test_mistakes_in_networks(case: tuple[str, ...]) -> None:
    old, new, *says = case
    with pytest.raises(ConfigError) as error:
        grid(old, new)
    for words in says:
        assert words in str(error.value), str(error.value)


def test_ports_whose_routes_can_block_one_another_are_refused_when_the_chip_is_read() -> None:
    tree = GRID.replace("topology: mesh", "topology: fat_tree").replace("[4, 2]", "[2, 3]")
    assert load.loads(tree.replace("[[0, 0], [3, 1]]", "[[0], [3]]")).cores == 8
    with pytest.raises(ConfigError, match=r"mesh.attach: network fat_tree: routes that can block one another"):
        load.loads(tree.replace("[[0, 0], [3, 1]]", "[[4], [5], [7]]"))


def test_a_bus_inside_another_network_is_refused_when_the_chip_is_read() -> None:
    outer = "  - noc: {name: package, topology: mesh, shape: [2], link: 32 B, attach: {l2: [[0]]}}\n  - noc:"
    bus = GRID.replace("topology: mesh", "topology: bus").replace("[4, 2]", "[4]").replace("  - noc:", outer)
    with pytest.raises(ConfigError, match=r"mesh.attach: network bus in mesh: routes that can block one another"):
        load.loads(bus.replace("l2: [[0, 0], [3, 1]]", "package: [[0]]"))


@pytest.mark.parametrize("topology", ["crossbar", "bus"])
def test_options_that_a_topology_would_ignore_are_refused(topology: str) -> None:
    text = GRID.replace("topology: mesh", f"topology: {topology}").replace("[4, 2]", "[8]")
    text = text.replace("[[0, 0], [3, 1]]", "[[0]]")
    assert load.loads(text).cores == 8
    with pytest.raises(ConfigError, match="mesh.routing: found 'yx', which has no meaning"):
        load.loads(text, {"mesh.routing": "yx"})
    if topology == "crossbar":
        with pytest.raises(ConfigError, match="mesh.link_length: has no meaning for a crossbar"):
            load.loads(text, {"mesh.link_length": "2 mm"})


def test_a_packet_need_not_fit_a_buffer_without_multicast() -> None:
    """With it, at either fidelity: a run may choose between them."""
    assert grid(mesh__packet="256 B", mesh__multicast=False).cores == 8
    with pytest.raises(ConfigError, match="mesh.buffer: found 8 flits"):
        grid(mesh__packet="256 B", mesh__fidelity="link")
    assert grid(mesh__packet="256 B", mesh__buffer=9).cores == 8


def test_a_router_of_flits_has_as_many_ports_as_a_word_holds() -> None:
    text = GRID.replace("topology: mesh", "topology: crossbar").replace("[4, 2]", "[60]")
    text = text.replace("[[0, 0], [3, 1]]", "[[0], [0]]")
    with pytest.raises(ConfigError, match="mesh.shape: found a router of 62 ports, attached ones"):
        load.loads(text)
    assert load.loads(text, {"mesh.shape": [58]}).cores == 58
    assert load.loads(text, {"mesh.fidelity": "link"}).cores == 60


OWN = "dram: {name: own, standard: constant, bandwidth: 1 GB/s, capacity: 1 GiB, keeps: all}"
CACHE = "cache: {name: c, size: 1 KiB, line: 64 B, ways: 1, word: 4 B, keeps: [tables]}"
LATER = [
    ("  - parallel:", SECOND, "l1: a sram between the networks 'mesh' and 'two' is not built yet"),
    (
        "topology: mesh",
        "topology: point_to_point",
        "mesh.topology: 'point_to_point' needs a list of links, which",
    ),
    ("l2: [[0, 0]", "host: [[0, 0]", "mesh.attach.host: a host at a port of a network is not built yet"),
    ("  - parallel:", f"  - {OWN}\n  - parallel:", "own: a dram below a network is not built yet"),
    ("  - noc:", f"  - {CACHE}\n  - noc:", "c: a cache in a chip with a network is not built yet"),
]


@pytest.mark.parametrize(("old", "new", "says"), LATER, ids=[case[2][:40] for case in LATER])
def test_what_is_not_built_with_networks_says_so(old: str, new: str, says: str) -> None:
    with pytest.raises(NotBuiltError) as error:
        grid(old, new)
    assert says in str(error.value) and error.value.exit_code == 2


def test_a_network_below_an_array_is_refused() -> None:
    text = GRID.replace("  - parallel:\n      - array", "  - array").replace(
        "      - vector: {name: vpu, lanes: 64}\n", ""
    )
    noc = "  - noc: {name: low, topology: mesh, shape: [2, 2], link: 8 B}\n"
    start, end = text.index("  - noc:"), text.index("  - sram: {name: l1")
    with pytest.raises(ConfigError, match="low: found below the array 'mxu'; allowed above it"):
        load.loads(text[:start] + text[end:] + noc)
