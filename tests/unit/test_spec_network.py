"""Networks in chip files: what they mean, their text, their peaks, and mistakes in them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.errors import ConfigError, NotBuiltError
from archsim.registry import PLUGINS_VARIABLE
from archsim.spec import load
from archsim.spec.architecture import Architecture
from archsim.spec.network import core_of, instance, part_of
from archsim.spec.peaks import bisection_bytes_per_s, lines, link_bytes_per_s, port_bytes_per_s

GRID = """\
name: grid
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
hierarchy:
  - host: {launch: 2 us, link: 16 GB/s, compute: 50 GFLOP/s}
  - dram: {name: dram, standard: constant, bandwidth: 25.6 GB/s, capacity: 1 GiB, keeps: all}
  - sram: {name: l2, size: 4 MiB, banks: 16, word: 32 B, keeps: all}
  - noc:
      name: mesh
      topology: mesh
      shape: [4, 2]
      link: 32 B
      attach:
        l2: [[0, 0], [3, 1]]
  - sram: {name: l1, size: 256 KiB, banks: 8, word: 16 B, keeps: all}
  - parallel:
      - array: {name: mxu, shape: [16, 16], rates: {int8: 1}}
      - vector: {name: vpu, lanes: 64}
"""
TOPOLOGIES = {
    "mesh": ("[4, 2]", "[3, 1]", 8),
    "torus": ("[4, 4]", "[3, 3]", 16),
    "ring": ("[6]", "[5]", 6),
    "crossbar": ("[12]", "[0]", 12),
    "bus": ("[12]", "[1]", 12),
    "fat_tree": ("[2, 3]", "[11]", 8),
    "tree": ("[3, 2]", "[3]", 7),
}


def grid(old: str = "", new: str = "", **values: object) -> Architecture:
    assert GRID.count(old) >= 1
    return load.loads(GRID.replace(old, new, 1), {key.replace("__", "."): value for key, value in values.items()})


def test_what_stands_below_a_network_exists_once_for_each_core() -> None:
    chip = grid()
    assert chip.noc is not None
    assert chip.cores == chip.noc.cores == 8
    assert [part.copies for part in chip.parts()] == [1, 1, 8, 1, 8, 8, 8, 1]
    assert chip.noc.inside == ("l1",)
    assert chip.instances(chip.memory("l2")) == ("l2",)
    assert chip.instances(chip.memory("l1"))[7] == instance("l1", 7) == "l1[7]"
    assert chip.memory("l1[7]") is chip.memory("l1")
    assert (part_of("l1[7]"), core_of("l1[7]"), core_of("l1")) == ("l1", 7, None)
    assert chip.peak_macs_per_cycle == 8 * 256


def test_routers_count_the_ports_of_links_nodes_and_attached_parts() -> None:
    noc = grid().noc
    assert noc is not None
    assert noc.ports == ((4, 4), (4, 4), (4, 4), (3, 3), (3, 3), (4, 4), (4, 4), (4, 4))
    assert (noc.links, noc.bisection_links, noc.packet_flits, noc.link_bits) == (20, 2, 3, 256)


def test_a_bus_takes_from_its_arbiter_and_gives_at_its_end() -> None:
    text = GRID.replace("topology: mesh", "topology: bus").replace("[4, 2]", "[4]").replace("[3, 1]", "[0]")
    noc = load.loads(text.replace("[0, 0]", "[0]")).noc
    assert noc is not None
    assert noc.ports == ((4 + 2, 1), (1, 4 + 2))


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_topology_has_a_text_form(topology: str) -> None:
    shape, port, cores = TOPOLOGIES[topology]
    text = GRID.replace("topology: mesh", f"topology: {topology}").replace("[4, 2]", shape)
    chip = load.loads(text.replace("[[0, 0], [3, 1]]", f"[{port}]"))
    assert chip.cores == cores
    again = load.loads(load.to_yaml(chip))
    assert again == chip
    assert load.to_yaml(again) == load.to_yaml(chip)
    assert "mesh.link" in chip.sources and "mesh.attach.l2" in chip.sources


def test_clocks_are_inherited_through_a_network() -> None:
    chip = grid("      link: 32 B", "      link: 32 B\n      clock: 500 MHz")
    assert [chip.memory("l2").clock_hz, chip.memory("l1").clock_hz, chip.arrays[0].clock_hz] == [
        10**9,
        5 * 10**8,
        5 * 10**8,
    ]
    assert chip.dma.clock_hz == 10**9
    assert load.loads(load.to_yaml(chip)) == chip


def test_peaks_of_link_bisection_ports_and_all_cores() -> None:
    chip = grid()
    assert chip.noc is not None
    assert link_bytes_per_s(chip.noc) == 32 * 10**9
    assert bisection_bytes_per_s(chip.noc) == port_bytes_per_s(chip.noc, "l2") == 64 * 10**9
    found = "\n".join(lines(chip))
    assert (
        "mesh: 8 cores on a mesh 4x2, link 32 GB/s each way, bisection 64 GB/s each way; ports: l2 64 GB/s (2)" in found
    )
    assert "mxu: peak int8 2048 MAC/cycle = 4.096 TOP/s (8 cores)" in found
    assert "each of 8 cores" in found


def test_values_set_by_key_path() -> None:
    chip = load.replace(grid(), {"mesh.shape": [4, 4], "mesh.fidelity": "link", "mesh.attach.dram": [[0, 3]]})
    assert chip.noc is not None
    assert (chip.cores, chip.noc.fidelity, chip.noc.attach["dram"]) == (16, "link", ((0, 3),))
    assert chip.noc.attach["l2"] == ((0, 0), (3, 1))
    assert load.loads(load.to_yaml(chip)) == chip
    with pytest.raises(ConfigError, match=re.escape("no such key path in this chip (did you mean 'mesh.packet'?)")):
        load.replace(grid(), {"mesh.paket": "64 B"})


def test_extends_changes_a_network(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(GRID)
    child = tmp_path / "wide.yaml"
    child.write_text("name: wide\nextends: grid.yaml\nhierarchy:\n  - noc: {name: mesh, link: 64 B, shape: [4, 8]}\n")
    chip = load.load(child)
    assert chip.noc is not None
    assert (chip.cores, chip.noc.link_bytes, chip.noc.attach["l2"]) == (32, 64, ((0, 0), (3, 1)))


STAR = '''
"""Star: one router in the middle of all nodes."""
from archsim.noc.topologies.crossbar import build as crossbar


def build(shape, link_delay_cycles=1):
    return crossbar(shape, link_delay_cycles)
'''


def test_a_new_topology_file_is_a_word_in_chips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "star.py").write_text(STAR)
    text = (
        GRID.replace("topology: mesh", "topology: star").replace("[4, 2]", "[5]").replace("[[0, 0], [3, 1]]", "[[0]]")
    )
    with pytest.raises(ConfigError, match="mesh.topology: found 'star'; allowed bus, crossbar"):
        load.loads(text)
    monkeypatch.setenv(PLUGINS_VARIABLE, str(tmp_path))
    assert load.loads(text).cores == 5


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    torus=st.booleans(),
    link=st.sampled_from(("8 B", "24 B", "64 B")),
    ports=st.lists(st.integers(0, 63), min_size=1, max_size=4),
    keys=st.fixed_dictionaries(
        {},
        optional={
            "vcs": st.integers(2, 8),
            "link_delay": st.integers(1, 9),
            "header": st.integers(0, 3),
            "request": st.integers(0, 3),
            "fidelity": st.sampled_from(("flit", "link")),
            "routing": st.sampled_from(("xy", "yx")),
            "clock": st.sampled_from(("500 MHz", "1.5 GHz")),
        },
    ),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_grid_reads_back_with_its_ports_counted(
    shape: list[int], torus: bool, link: str, ports: list[int], keys: dict[str, object]
) -> None:
    """A router has a way in and out for each neighbour, its node, and each port attached; the text says all of it."""
    places = list(itertools.product(*(range(size) for size in shape)))
    attach = [list(places[port % len(places)]) for port in ports]
    text = GRID.replace("topology: mesh", f"topology: {'torus' if torus else 'mesh'}").replace("[4, 2]", str(shape))
    text = text.replace("[[0, 0], [3, 1]]", str(attach)).replace("link: 32 B", f"link: {link}")
    chip = load.loads(text, {"mesh.buffer": 32, **{f"mesh.{key}": value for key, value in keys.items()}})
    assert chip.noc is not None
    assert chip.cores == len(places)
    ways = sum(inputs for inputs, _ in chip.noc.ports)
    assert ways == sum(outputs for _, outputs in chip.noc.ports) == chip.noc.links + len(places) + len(ports)
    again = load.loads(load.to_yaml(chip))
    assert again == chip and load.to_yaml(again) == load.to_yaml(chip)


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


def test_a_router_has_as_many_ports_as_the_kernel_holds() -> None:
    text = GRID.replace("topology: mesh", "topology: crossbar").replace("[4, 2]", "[60]")
    text = text.replace("[[0, 0], [3, 1]]", "[[0], [0]]")
    with pytest.raises(ConfigError, match="mesh.shape: found a router of 62 ports, attached ones"):
        load.loads(text)
    assert load.loads(text, {"mesh.shape": [58]}).cores == 58
    assert load.loads(text, {"mesh.fidelity": "link", "mesh.multicast": False}).cores == 60


OWN = "dram: {name: own, standard: constant, bandwidth: 1 GB/s, capacity: 1 GiB, keeps: all}"
CACHE = "cache: {name: c, size: 1 KiB, line: 64 B, ways: 1, word: 4 B, keeps: [tables]}"
LATER = [
    ("  - parallel:", SECOND, "two: a second network is not built yet"),
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
