"""Tables of numbers through the schema: what is refused, where, and with what is allowed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.energy.chip import MOST_MM2, tables_for
from archsim.energy.dram import read_dram
from archsim.energy.technology import read_technology
from archsim.lab.files.check_files import check_file
from archsim.spec import load
from archsim.spec.locate import config_files

NODE, DRAM, LINK = (config_files(kind) for kind in ("technology", "dram", "links"))
MISTAKES = [
    (NODE["7nm"], "value: 0.0019", "value: -0.0019", "registers.pj_per_bit.value: found -0.0019; allowed a n"),
    (NODE["7nm"], "value: 0.0019", "value: 1e25", "found '1e25'; allowed a number 0 to 1000, in pJ"),
    (NODE["7nm"], "value: 0.0019", "value: x", "registers.pj_per_bit.value: found 'x'; allowed a number 0 to 1000"),
    (NODE["7nm"], "voltage_v: {value: 0.75,", "voltage_v: {valu: 0.75,", "voltage_v.valu: unknown key 'valu'; allow"),
    (NODE["7nm"], "value: 0.75, status", "value: -0.75, status", "voltage_v.value: found -0.75; allowed a number 0."),
    (NODE["7nm"], "derived, source: aladdin_mac", "derived", "logic.leakage_mw_per_mm2.source: missing"),
    (NODE["7nm"], "\nwire:", "\nwiree:", "wiree: unknown key 'wiree'; allowed arithmetic,"),
    (NODE["7nm"], "pj_per_bit_mm", "pj_per_bit", "wire.pj_per_bit: unknown key 'pj_per_bit'; allowed pj_per_bit_m"),
    (NODE["7nm"], "  int16:", "  int17:", "arithmetic.int17: found 'int17'; allowed int4, int8, uint8,"),
    (NODE["7nm"], "[4, 0.6605, 0.7028, 0.3977]", "[4, 0.6605]", "sram.word_64.points[1]: found a list of 2;"),
    (NODE["7nm"], "[4, 0.6605,", "[4, 0,", "sram.word_64.points[1]: found [4, 0, 0.7028, 0.3977]; allowed"),
    (NODE["7nm"], "[16, 1.491,", "[3, 1.491,", "sram.word_64.points[2]: found the size 3 behind 4; allowed sizes that"),
    (NODE["7nm"], "[size_kib, read_pj,", "[read_pj, size_kib,", "sram.columns: found [read_pj, size_kib, write_pj,"),
    (NODE["7nm"], "schema: archsim.technology/2", "schema: archsim.technolgy/2", "(did you mean 'archsim.technology"),
    (DRAM["ddr4"], "width_bits: 64\nact", "width_bits: 0\nact", "width_bits: found 0; allowed a number above 0 to"),
    (DRAM["ddr4"], "idd0_ma: 48", "idd0: 48", "currents.idd0: unknown key 'idd0'; allowed devices, idd0_ma,"),
    (DRAM["ddr4"], "value: 3450", "value: [3450]", "activate_pj.value: found a list of 1; allowed a number 0 to 1e8"),
    (LINK["grs"], "lanes: 4", "lanes: 0", "lanes: found 0; allowed whole numbers 1 to 4096"),
    (LINK["grs"], "rate: 25 GT/s", "rate: 1 rocket", "rate: found '1 rocket'; allowed a transfer rate with one of the"),
    (LINK["grs"], "latency: 20 ns", "latncy: 20 ns", "latncy: unknown key 'latncy'; allowed coding,"),
    (LINK["grs"], "  coding:", "  codng:", "sources.codng: found 'codng'; allowed lanes, rate, coding,"),
    (LINK["grs"], '  coding: "estimated: raw bits beside a forwarded clock"\n', "", "coding: no source; allowed one"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "said"), MISTAKES, ids=[said for *_, said in MISTAKES])
def test_a_mistake_in_a_table_names_its_place_and_what_is_allowed(
    path: Path, old: str, new: str, said: str, tmp_path: Path
) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    changed = tmp_path / path.name
    changed.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        check_file(changed)
    assert said in str(error.value)
    lines = re.findall(rf"{re.escape(str(changed))}:(\d+):(\d+): ", str(error.value))
    assert lines
    assert all(int(line) <= text.count("\n") + 1 for line, _ in lines)


def test_every_mistake_of_a_table_is_told_at_once(tmp_path: Path) -> None:
    text = NODE["45nm"].read_text(encoding="utf-8")
    path = tmp_path / "45nm.yaml"
    path.write_text(text.replace("value: ", "value: -"), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        check_file(path)
    assert str(error.value).startswith(f"{text.count('value: ')} problems:")


@pytest.mark.parametrize("path", [*NODE.values(), *DRAM.values(), *LINK.values()], ids=lambda path: path.stem)
def test_check_takes_every_table_that_is_shipped(path: Path) -> None:
    assert path.stem in check_file(path)


def test_a_table_of_ones_own_is_the_same_as_the_shipped_one(tmp_path: Path) -> None:
    for path, read in ((NODE["7nm"], read_technology), (DRAM["ddr4"], read_dram)):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        assert read(tmp_path / path.name) == read(path)


def test_a_chip_that_nobody_can_build_is_refused(tmp_path: Path) -> None:
    chip = load.load("edge_npu", {"l1.size": "16 TiB"})
    with pytest.raises(ConfigError, match=rf"l1: found an area of .* mm2 of the whole chip; .* {MOST_MM2:,} mm2"):
        tables_for(chip)
    path = tmp_path / "large.yaml"
    path.write_text(load.to_yaml(chip), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"large\.yaml:\d+:\d+: l1: found an area"):
        check_file(path)
    with pytest.raises(ConfigError, match=r"l1.area: found '1e25 mm2'; allowed 0 mm2 to 10000 mm2"):
        load.load("edge_npu", {"l1.area": "1e25 mm2"})
