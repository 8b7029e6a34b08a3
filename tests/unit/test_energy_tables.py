"""Energy tables: published figures, interpolation, overrides, voltage, errors."""

from __future__ import annotations

import pytest
from fixtures_chip import small_chip

from archsim.base.errors import ConfigError, SimulationError
from archsim.energy.chip import mapped_energies, tables_for
from archsim.energy.chip_tables import ChipTables
from archsim.energy.dram import load_dram
from archsim.energy.sram import log_line
from archsim.energy.structures import load_structures
from archsim.energy.technology import load_technology
from archsim.spec.dtypes import BITS
from archsim.spec.locate import config_files
from archsim.spec.part import SourcedNumber


@pytest.fixture(scope="module")
def tables() -> ChipTables:
    return tables_for(small_chip())


def test_mac_is_multiply_plus_add_of_the_published_table(tables: ChipTables) -> None:
    assert tables.pj("mxu", "mac") == pytest.approx(0.2 + 0.1)  # Horowitz: int8 multiply, int32 add
    wide = tables_for(small_chip(), {"inputs": "bf16", "weights": "int8", "accumulate": "fp32"})
    assert wide.pj("mxu", "mac") == pytest.approx(0.6794 + 0.9)  # the wider factor decides
    seven = tables_for(small_chip(technology__node="7nm", technology__voltage="0.75 V"))
    assert seven.pj("mxu", "mac") == pytest.approx(0.07 + 0.03)  # TPUv4i Table 2


def test_sram_access_at_a_published_point(tables: ChipTables) -> None:
    assert tables.pj("l1", "read_accesses") == pytest.approx(25.87)  # 64 KiB bank, 64 b word
    assert tables.pj("l1", "write_accesses") == pytest.approx(19.65)
    assert tables.pj("acc", "read_accesses") == pytest.approx(14.32)  # 16 KiB bank, 256 b word
    assert tables.pj("l1", "read_bytes") == 0  # the same bytes are charged per access
    assert tables.parts["l1"].leakage_w == pytest.approx(2 * 1.67e-6)


@pytest.mark.parametrize("node", ["65nm", "45nm", "22nm", "7nm", "3nm"])
@pytest.mark.parametrize("bits", [8, 64, 128, 256, 1024, 2048])
def test_sram_grows_with_size(node: str, bits: int) -> None:
    sram = load_technology(node).sram
    for column in ("read_pj", "write_pj", "leakage_uw"):
        figures = [sram.bank(column, size * 1024, bits).value for size in (0.25, 1, 3, 4, 16, 50, 900, 2**14, 2**15)]
        assert figures == sorted(figures), column
        assert figures[0] > 0


def test_a_layer_in_another_pair_has_the_arrays_prices_at_it(tables: ChipTables) -> None:
    """Of that layer alone, and of the array alone; leakage and area stay."""
    wide = tables_for(small_chip(), {"inputs": "bf16", "weights": "bf16", "accumulate": "fp32"})
    found = tables_for(small_chip(), pairs={"fc": ("bf16", "bf16"), "same": ("int8", "int8")})
    for action in ("mac", "register_read.a", "wire.b"):
        assert found.pj("mxu", action, "fc") == wide.pj("mxu", action) > tables.pj("mxu", action)
        assert found.pj("mxu", action, "same") == found.pj("mxu", action) == tables.pj("mxu", action)
    assert found.pj("l1", "read_accesses", "fc") == tables.pj("l1", "read_accesses")
    assert found.parts == tables.parts
    assert found.sources()["mxu.energy.mac bf16xbf16"] == wide.sources()["mxu.energy.mac"]


def test_sram_widths_lie_between_and_beyond_the_points() -> None:
    sram = load_technology("45nm").sram
    at = {bits: sram.bank("read_pj", 65536, bits).value for bits in (8, 64, 128, 256)}
    assert at[8] == at[64] == pytest.approx(25.87)
    assert at[128] == pytest.approx((25.87 * 51.8) ** 0.5)  # the middle in logs
    assert sram.bank("read_pj", 4 * 65536, 1024).value == pytest.approx(4 * 51.8)  # four banks side by side
    assert sram.bank("read_pj", 512, 64).source.startswith("estimated: beyond the points")
    assert not sram.bank("read_pj", 65536, 64).source.startswith("estimated")


def test_power_law_through_points() -> None:
    points = ((1.0, 2.0), (4.0, 4.0), (16.0, 4.0))
    assert log_line(points, 2.0) == pytest.approx(2 * 2**0.5)
    assert log_line(points, 4.0) == pytest.approx(4.0)
    assert log_line(points, 0.25) == pytest.approx(1.0)
    assert log_line(points, 64.0) == pytest.approx(4.0)


def test_dram_by_command(tables: ChipTables) -> None:
    assert tables.pj("dram", "pin_read_bytes") == pytest.approx(8 * 15.73)
    assert tables.pj("dram", "activates") == pytest.approx(3450)
    assert tables.parts["dram"].leakage_w == pytest.approx(2 * 0.3264)  # two channels, no row open
    assert tables.pj("dram", "row_open_ps") == pytest.approx((412.8 - 326.4) * 1e-3)
    assert tables.parts["dram"].scope == "dram"
    half = tables_for(small_chip(dram__width="32 b"))
    assert half.pj("dram", "activates") == pytest.approx(3450 / 2)
    assert half.pj("dram", "pin_read_bytes") == tables.pj("dram", "pin_read_bytes")


def test_ddr4_commands_reproduce_the_total_of_a_recorded_run() -> None:
    """DRAMsim3, 100,000 sequential reads: 420,765 cycles of 0.83 ns, 1052 activates, 44 refreshes, 470 uJ.

    Here the row buffers are taken as always open, and ours has 10 pJ/bit of I/O that DRAMsim3 does not.
    """
    ddr4 = load_dram("ddr4")
    pj = 100_000 * 512 * (ddr4.read_pj_per_bit.value - 10) + 1052 * ddr4.activate_pj.value + 44 * ddr4.refresh_pj.value
    pj += ddr4.background_mw.value * 420_765 * 0.83
    assert pj == pytest.approx(566_406_729.6 * 0.83, rel=0.01)


def test_voltage_scales_dynamic_and_logic_by_its_square_and_cells_by_its_cube(tables: ChipTables) -> None:
    high = tables_for(small_chip(technology__voltage="1.8 V"))
    for part, action in (("mxu", "mac"), ("l1", "read_accesses"), ("vpu", "lane_ops"), ("mxu", "wire.acc")):
        assert high.pj(part, action) == pytest.approx(4 * tables.pj(part, action))
    assert high.parts["mxu"].leakage_w == pytest.approx(4 * tables.parts["mxu"].leakage_w)
    assert high.parts["l1"].leakage_w == pytest.approx(8 * tables.parts["l1"].leakage_w)
    assert high.pj("dram", "pin_read_bytes") == tables.pj("dram", "pin_read_bytes")
    assert "x (1.8 V / 0.9 V)^2" in high.sources()["l1.energy.read"]


def test_slow_functions_cost_their_cycles(tables: ChipTables) -> None:
    assert tables.pj("vpu", "lane_ops") == pytest.approx(3.1 + 0.1)
    assert tables.pj("vpu", "exp") == pytest.approx(4 * 3.2)
    assert tables.pj("vpu", "sqrt") == tables.pj("vpu", "lane_ops")  # no rate given: one pass, as in its timing


def test_a_combining_move_is_an_addition_at_its_format(tables: ChipTables) -> None:
    """Horowitz, 45 nm: an addition of 8 b takes 0.03 pJ, of 32 b 0.1 pJ, in floating point 0.9 pJ."""
    found = [tables.pj("dma", f"combine.{dtype}") for dtype in ("int8", "int32", "fp32")]
    assert found == pytest.approx([0.03, 0.1, 0.9])
    assert tables_for(small_chip(technology__voltage="1.8 V")).pj("dma", "combine.int32") == pytest.approx(0.4)
    assert tables_for(small_chip(dma__energy={"combine": "7 pJ"})).pj("dma", "combine.int32") == 7


def test_large_register_files_are_small_memories() -> None:
    found = {}
    for name, size in {"small": "64 B", "large": "512 B"}.items():
        registers = [{"name": "rf", "keeps": ["weights"], "size": size}]
        found[name] = tables_for(small_chip(mxu__registers=registers))
    assert found["small"].pj("mxu", "register_read.b") == pytest.approx(8 * 0.01036)
    assert found["large"].pj("mxu", "register_read.b") > 8 * 0.01036
    assert found["large"].pj("mxu", "register_read.a") == found["small"].pj("mxu", "register_read.a")


def test_a_chip_states_its_own_figures() -> None:
    chip = small_chip(
        l1__energy={"read": "5 pJ"}, dram__energy={"write": "2 pJ"}, mxu__area="3 mm2", mxu__leakage="7 mW"
    )
    tables = tables_for(chip)
    assert tables.pj("l1", "read_accesses") == 5
    assert tables.pj("l1", "write_accesses") == pytest.approx(19.65)
    assert tables.pj("dram", "pin_write_bytes") == 16  # stated per bit
    assert tables.area_breakdown_mm2()["mxu"] == 3
    assert tables.parts["mxu"].leakage_nw == 7_000_000


def test_an_unknown_action_of_a_chip_names_those_allowed() -> None:
    with pytest.raises(
        ConfigError, match=r"l1\.energy: no action 'raed' \(did you mean 'read'\?\); allowed: read, write"
    ):
        tables_for(small_chip(l1__energy={"raed": "5 pJ"}))


def test_nothing_counted_is_free(tables: ChipTables) -> None:
    with pytest.raises(SimulationError, match="no energy for action 'teleports'"):
        tables.charge_zj("l1", "teleports")
    with pytest.raises(SimulationError, match="unknown part 'l9'"):
        tables.charge_zj("l9", "read_accesses")


def test_unknown_tables_name_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no technology table '45mm' .*did you mean '45nm'.*known: 12nm, 16nm,"):
        load_technology("45mm")
    with pytest.raises(ConfigError, match="no DRAM energy table 'ddr9'"):
        load_dram("ddr9")
    with pytest.raises(ConfigError, match="no energy for dtype 'posit8'"):
        load_technology("7nm").number_format("posit8")


@pytest.mark.parametrize("node", config_files("technology"))
def test_every_format_has_figures(node: str) -> None:
    technology = load_technology(node)
    assert set(technology.arithmetic) == set(BITS)
    for dtype in BITS:
        unit = technology.number_format(dtype)
        for figure in (unit.multiply_pj, unit.add_pj):
            assert figure.value > 0
            assert len(figure.source) > 10


@pytest.mark.parametrize("standard", config_files("dram"))
def test_every_dram_standard_has_figures(standard: str) -> None:
    table = load_dram(standard)
    assert table.name == standard
    assert table.read_pj_per_bit.value > 0
    assert all(isinstance(f, SourcedNumber) and f.source for f in (table.activate_pj, table.refresh_pj))
    assert table.interface in {"", *load_structures().memories}


def test_area_counts_the_dram_interface_and_not_the_host(tables: ChipTables) -> None:
    area = tables.area_breakdown_mm2()
    assert area["dram interface"] == pytest.approx(4 * (1.45 + 90.45 / 6.084))  # DDR of 128 b
    assert "host" not in area
    assert area["dma"] == 0


def test_mapped_energies_for_the_compiler() -> None:
    found = mapped_energies(small_chip()).pj
    assert found["l1", "read"] == pytest.approx(25.87 / 8)
    assert found["dram", "write"] == pytest.approx(8 * 14.98)
