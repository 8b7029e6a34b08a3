"""Networks in networks and physical links in chip files: what they mean, and mistakes with their places."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from fixtures_package import PACKAGE, package

from archsim.base.errors import ArchsimError, NotBuiltError
from archsim.energy.chip import tables_for
from archsim.report.run.noc_rows import where
from archsim.spec import load, table_files
from archsim.spec import topology as chip_topology
from archsim.spec.architecture import Architecture
from archsim.spec.keys import keys_of
from archsim.spec.locate import config_files
from archsim.spec.network import Noc, Phy
from archsim.spec.table_files import preset
from tests.tools.commands import ROOT


def network(chip: Architecture) -> Noc:
    assert chip.noc is not None
    return chip.noc


def test_cores_are_those_of_all_chiplets() -> None:
    chip = package()
    noc = network(chip)
    assert (chip.cores, noc.cores, noc.copies, [level.name for level in noc.levels]) == (16, 16, 4, ["mesh", "package"])
    assert chip.instances(chip.memory("l1"))[-1] == "l1[15]" and chip.memory("l1").copies == 16
    assert [part.name for part in chip.parts()][:5] == ["dram", "l2", "l1", "package", "mesh"]
    topology, _, ports = chip_topology.network(noc)
    assert ports == {"dram": (16,), "l2": (17,)}
    assert [topology.nodes[core].router for core in (0, 3, 4, 15)] == [0, 3, 4, 15]
    assert topology.levels == (0,) * 16 + (1,) * 4
    assert sum(inputs for inputs, _ in noc.ports) * 4 + sum(inputs for inputs, _ in noc.outer[0].ports) == len(
        topology.links
    ) + len(topology.nodes)


def test_a_flit_takes_a_link_for_what_its_bits_take_the_lanes() -> None:
    """64 B at 1 GHz over 32 GB/s, and 31.5 GB/s; 64 B over wires of 16 B at half the clock."""
    assert network(package()).outer[0].period == 2
    assert network(package(package__phy="pcie_gen4_x16")).outer[0].period == Fraction(65, 32)
    wires = package("phy: ucie_standard", "link: 16 B\n      clock: 500 MHz", mesh__clock="1 GHz")
    assert network(wires).outer[0].period == 8
    topology, _, _ = chip_topology.network(network(wires))
    assert {link.delay_cycles for link in topology.links if link.level == 1} == {2}


def test_buffers_behind_a_phy_keep_its_links_busy() -> None:
    outer = network(package(package__phy__latency="100 ns")).outer[0]
    back = 1 + 2 * (1 + 100) + 2 + 1  # switch, wires there and back, routing and channel, the rest of the flit
    assert outer.far_buffer_flits == -(-back // 2)
    assert network(package()).outer[0].far_buffer_flits == 8


@pytest.mark.parametrize("values", [{}, {"package.phy": "nvlink4"}, {"package.topology": "torus", "mesh.vcs": 2}])
def test_the_canonical_text_is_the_same_chip(values: dict[str, object]) -> None:
    chip = load.loads(PACKAGE, values)
    text = load.to_yaml(chip)
    assert load.loads(text) == chip
    assert "phy: {lanes:" in text and "package.phy.latency: " in text
    single = load.loads(PACKAGE.replace("phy: ucie_standard", "link: 32 B"), {})
    assert load.loads(load.to_yaml(single)) == single


def test_routers_are_called_by_their_places_in_each_network() -> None:
    """Not by those of the drawing, which spreads the copies over one plane."""
    noc = network(load.load("simba"))
    found = chip_topology.topology(noc)
    assert (found.routers, len(found.within)) == (612, 612)
    names = {"places": found.coordinates, "within": found.within, "router_levels": found.levels}
    rows = names | {"levels": [level.name for level in noc.levels]}
    assert where(rows, 16 * 7 + 6) == "mesh [2, 1] of package [1, 1]"
    assert where(rows, 576 + 14) == "package [2, 2]"


def test_three_levels() -> None:
    """Packages on a board: the outermost network has the ports, the others are joined to the one around them."""
    board = "noc: {name: board, topology: ring, shape: [2], phy: nvlink4, attach: {dram: [[0]], l2: [[1]]}}"
    text = PACKAGE.replace("  - noc:\n      name: package", f"  - {board}\n  - noc:\n      name: package")
    text = text.replace("attach: {dram: [[1, 1]], l2: [[0, 0]]}", "attach: {board: [[0, 0]]}")
    chip = load.loads(text)
    noc = network(chip)
    assert (chip.cores, [level.copies for level in noc.levels]) == (32, [8, 2, 1])
    assert load.loads(load.to_yaml(chip)) == chip
    topology, _, ports = chip_topology.network(noc)
    assert (topology.routers, topology.levels[-6:], ports) == (42, (1, 1, 1, 1, 2, 2), {"dram": (32,), "l2": (33,)})


def test_one_network_of_chips() -> None:
    """Without one inside: a board of chips of a core each; the flit is the network's own."""
    text = PACKAGE[: PACKAGE.index("  - noc:\n      name: mesh")] + PACKAGE[PACKAGE.index("  - sram: {name: l1") :]
    with pytest.raises(ArchsimError, match="package.link: missing; allowed the bytes of a flit, also beside `phy`"):
        load.loads(text)
    chip = load.loads(text.replace("phy: ucie", "link: 64 B\n      phy: ucie"))
    topology, _, _ = chip_topology.network(network(chip))
    assert chip.cores == 4 and {(link.period, link.delay_cycles) for link in topology.links} == {(Fraction(2), 2)}
    assert load.loads(load.to_yaml(chip)) == chip


def test_energy_of_a_flit_by_level() -> None:
    tables = tables_for(package(mesh__link_length="2 mm", package__phy__power="10 mW"))
    assert tables.pj("package", "link_flits") == pytest.approx(512 * 0.5)
    assert tables.pj("mesh", "link_flits") == pytest.approx(2 * tables_for(package()).pj("mesh", "link_flits"))
    static = tables.parts["package"].leakage_w - tables_for(package()).parts["package"].leakage_w
    assert static == pytest.approx(8 * 0.01) and tables.parts["package"].kind == "noc"
    one = load.loads(PACKAGE, {"package.shape": [2, 1], "package.attach": {"dram": [[1, 0]], "l2": [[0, 0]]}})
    assert tables_for(one).parts["mesh"].area_mm2 == pytest.approx(tables.parts["mesh"].area_mm2 / 2)


@pytest.mark.parametrize("name", sorted(config_files("links")))
def test_every_number_of_a_preset_has_a_source(name: str) -> None:
    found = table_files.preset(name).mapping
    assert set(found) == {item.key.name for item in keys_of(Phy)}
    assert all(node.source for node in found.values())
    chip = package(package__phy=name, mesh__link="256 B", mesh__packet="256 B")
    assert all(chip.sources[f"package.phy.{key}"] == node.source for key, node in found.items())


def test_a_preset_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCHSIM_CONFIGS", str(tmp_path))
    (tmp_path / "links").mkdir()
    path = tmp_path / "links" / "mine.yaml"
    path.write_text("schema: archsim.link/1\nlanes: 8\nrate: 8 GT/s\nlatency: 1 ns\nenergy: 1 pJ\nsource: here\n")
    with pytest.raises(ArchsimError, match=r"mine.yaml:2:1: lanes: no source; allowed one in `sources`"):
        package(package__phy="mine")
    path.write_text(path.read_text() + "sources: {lanes: a, rate: a, latency: a, energy: a}\n")
    assert network(package(package__phy="mine")).outer[0].period == 8
    path.write_text(path.read_text().replace("link/1", "phy/1"))
    with pytest.raises(ArchsimError, match="schema: found 'archsim.phy/1'; allowed archsim.link/1"):
        package(package__phy="mine")


PHY, GATE = "phy: ucie_standard", "{package: [[0, 0]]}"
INNER = "  - noc:\n      name: mesh"
OUTER_SHAPE = "topology: mesh\n      shape: [2, 2]\n      phy"
INNER_SHAPE = "      shape: [2, 2]\n      link"
MISTAKES = [
    (
        PHY,
        "phy: ucie_standrd",
        "11:7: package.phy: found 'ucie_standrd'; allowed grs,",
        "did you mean 'ucie_standard'?",
    ),
    (PHY, "phy: {lanes: 16}", "package.phy.rate: missing; allowed 1 MT/s to 1000 GT/s"),
    (PHY, "phy: 16 GB/s", "package.phy: found '16 GB/s'; allowed grs,"),
    (PHY, "vcs: 2", "package.link: missing; allowed the bytes", "package.vcs: is stated by the innermost network"),
    (PHY, "phy: grs\n      fidelity: link", "is stated by the innermost network, for all levels; allowed as mesh.fid"),
    (PHY, "phy: grs\n      link: 8 B", "12:7: package.link: has no meaning beside `phy`"),
    (PHY, "phy: grs\n      clock: 2 GHz", "package.clock: has no meaning beside `phy`"),
    (PHY, "phy: grs\n      link_delay: 2", "package.link_delay: has no meaning beside `phy`"),
    (PHY, "phy: ucie_advanced", "11:7: package.phy: found a link of 128 GB/s, which a flit of 64 B at 1 GHz takes for"),
    (PHY, "link: 128 B", "for 0.5 cycles; allowed at least 1: fewer lanes, or a wider mesh.link"),
    (
        "link: 64 B",
        "link: 64 B\n      clock: 1.0000001 GHz",
        "11:7: package.phy: found a link of 32 GB/s",
        "whole numbers",
    ),
    (GATE, "{}", "mesh.attach: no router that is joined to the network 'package' around it"),
    (GATE, "{package: [[2, 0]]}", "mesh.attach.package[0]: found [2, 0]; allowed [0, 0] to [1, 1]"),
    (GATE, "{package: [[0, 0]], l2: [[0, 0]]}", "mesh.attach.l2: found 'l2'", "the network around it: package"),
    ("l2: [[0, 0]]}", "}", "package.attach: no port of 'l2', through which"),
    (INNER_SHAPE, INNER_SHAPE.replace("[2, 2]", "[32, 32]"), "mesh.shape: found 4096 cores in all copies of the"),
    (
        OUTER_SHAPE,
        OUTER_SHAPE.replace("mesh", "torus").replace("[2, 2]", "[3, 2]"),
        "mesh.vcs: found 1; allowed at least 2, without which packets of a ring",
    ),
]


@pytest.mark.parametrize("case", MISTAKES, ids=[case[2][:60] for case in MISTAKES])
def test_mistakes(case: tuple[str, ...]) -> None:
    old, new, *says = case
    values = {"mesh__vcs": 1} if "mesh.vcs" in says[0] else {}
    with pytest.raises(ArchsimError) as error:
        package(old, new, **values)
    for words in says:
        assert words in str(error.value), str(error.value)


SRAM = "  - sram: {name: l3, size: 1 MiB, banks: 8, word: 32 B, keeps: all}\n"
LATER = [
    (
        INNER,
        SRAM + INNER,
        "l3: a sram between the networks 'package' and 'mesh' is not built yet; allowed above 'package' or below 'mes",
    ),
    (GATE, "{package: [[0, 0], [1, 1]]}", "mesh.attach.package: 2 routers joined to the network around it are not"),
]


@pytest.mark.parametrize(("old", "new", "says"), LATER)
def test_what_is_not_built_says_so(old: str, new: str, says: str) -> None:
    with pytest.raises(NotBuiltError) as error:
        package(old, new)
    assert says in str(error.value)


def test_a_phy_needs_links() -> None:
    text = PACKAGE.replace(
        "topology: mesh\n      shape: [2, 2]\n      phy", "topology: crossbar\n      shape: [4]\n      phy"
    )
    text = text.replace("{dram: [[1, 1]], l2: [[0, 0]]}", "{dram: [[0]], l2: [[0]]}")
    with pytest.raises(ArchsimError, match="package.phy: has no meaning for a crossbar"):
        load.loads(text)


def test_another_mistake_does_not_put_a_preset_in_doubt() -> None:
    """A source of nothing elsewhere in the file is the only problem."""
    with pytest.raises(ArchsimError) as error:
        load.loads(PACKAGE.replace("clock:", "sources: {clok: x}\nclock:", 1))
    assert "clok" in str(error.value) and "phy" not in str(error.value)


def test_an_estimate_of_a_link_is_called_one_and_other_numbers_name_the_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "links").mkdir()
    text = (ROOT / "configs" / "links" / "grs.yaml").read_text(encoding="utf-8")
    (tmp_path / "links" / "mine.yaml").write_text(text.replace("name: grs", "name: mine"), encoding="utf-8")
    monkeypatch.setenv("ARCHSIM_CONFIGS", str(tmp_path))
    said = {key: node.source for key, node in preset("mine").mapping.items()}
    stated = yaml.safe_load(text)["sources"]
    assert said == {key: text if text.startswith("estimated:") else f"mine: {text}" for key, text in stated.items()}
