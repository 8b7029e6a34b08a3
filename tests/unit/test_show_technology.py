"""Figures of a node as ``show technology`` prints them."""

from __future__ import annotations

import pytest

from archsim.base.errors import ConfigError
from archsim.lab.files.show_technology import technology
from archsim.spec.locate import config_files
from archsim.spec.part import STATUSES


def rows(name: str) -> dict[str, list[str]]:
    """Key -> value, status and source of each line."""
    lines = [line.split(maxsplit=3) for line in technology(name).splitlines()]
    return {key: rest for key, *rest in lines}


@pytest.mark.parametrize("name", [*config_files("technology"), "6nm", "22nm"])
def test_every_figure_has_a_status_and_a_source(name: str) -> None:
    found = rows(name)
    assert {"voltage_v", "arithmetic.int8.multiply_pj", "arithmetic.fp32.add_pj", "sram.cell_um2_per_bit"} <= {*found}
    for key, row in found.items():
        assert row[1] in STATUSES and len(row[2]) > 5, key


def test_values_and_statuses() -> None:
    assert rows("45nm")["arithmetic.int8.multiply_pj"][:2] == ["0.2", "measured"]
    assert rows("5nm")["arithmetic.int8.multiply_pj"][:2] == ["0.049", "claimed"]
    assert rows("5nm")["arithmetic.int4.add_pj"][1] == "estimated"
    assert rows("16nm")["arithmetic.fp32.multiply_pj"][1] == "derived"
    assert rows("6nm")["arithmetic.int8.multiply_pj"][1] == "claimed"  # the less sure one of 5 and 7 nm
    assert rows("14nm")["arithmetic.int8.multiply_pj"][1] == "derived"
    assert rows("7nm")["sram.word_64.points"][:2] == ["8", "derived"]
    with pytest.raises(ConfigError, match=r"no technology table '2nm'"):
        technology("2nm")
