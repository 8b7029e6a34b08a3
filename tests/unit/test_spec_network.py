"""Networks in chip files: what they mean, their text, their peaks."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from fixtures_grid import GRID, grid
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ConfigError
from archsim.base.registry import PLUGINS_VARIABLE
from archsim.spec import load
from archsim.spec.network import core_of, instance, part_of
from archsim.spec.peaks import bisection_bytes_per_s, lines, link_bytes_per_s, port_bytes_per_s

TOPOLOGIES = {
    "mesh": ("[4, 2]", "[3, 1]", 8),
    "torus": ("[4, 4]", "[3, 3]", 16),
    "ring": ("[6]", "[5]", 6),
    "crossbar": ("[12]", "[0]", 12),
    "bus": ("[12]", "[1]", 12),
    "fat_tree": ("[2, 3]", "[11]", 8),
    "tree": ("[3, 2]", "[3]", 7),
}


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
from archsim.facts.noc.topologies.crossbar import build as crossbar


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
