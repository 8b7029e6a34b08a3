"""Prices of networks: published wires and flip-flops, sizes, overrides; each count charged once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archsim.base.errors import ConfigError, SimulationError
from archsim.energy.account import account
from archsim.energy.chip import tables_for
from archsim.energy.technology import load_technology
from archsim.ir.activity import Activity
from archsim.ir.bandwidth import BandwidthTrace
from archsim.spec.architecture import Architecture
from archsim.spec.load import loads

CHIP = """
name: grid
technology: {node: 45nm, voltage: 0.9 V}
clock: 1 GHz
hierarchy:
  - dram: {name: dram, standard: constant, bandwidth: 25.6 GB/s, capacity: 1 GiB, keeps: all}
  - sram: {name: l2, size: 64 KiB, word: 32 B, keeps: all}
  - noc: {name: mesh, topology: mesh, shape: [2, 2], link: 32 B, attach: {l2: [[0, 0]]}}
  - sram: {name: l1, size: 16 KiB, word: 16 B, keeps: all}
  - array: {name: mxu, shape: [4, 4], rates: {int8: 1}}
"""
COUNTS = {("a", "mesh", "router_flits"): 1000, ("a", "mesh", "link_flits"): 700, ("b", "mesh", "link_flits"): 1}


def chip(**values: object) -> Architecture:
    return loads(CHIP, {key.replace("__", "."): value for key, value in values.items()})


def test_a_flit_is_priced_by_its_bits_lines_and_length() -> None:
    found = chip()
    technology, tables = load_technology("45nm"), tables_for(found)
    bits, ports = 256, (4, 3, 3, 3)  # two links and a node each, and l2 at the first
    lines_mm = 2 * sum(ports) / 4 * bits * technology.crossbar_track_um.value * 1e-3
    wire, bit = technology.wire_pj_per_bit_mm.value, technology.register_pj_per_bit.value
    expected = bits * (2 * bit + lines_mm * wire) * (1 + technology.arbitration_share.value)
    assert tables.pj("mesh", "router_flits") == pytest.approx(expected)
    assert tables.pj("mesh", "link_flits") == pytest.approx(256 * 1.0 * 0.081)
    buffers_mm2 = sum(ports) * 4 * 8 * bits * 6 * 4e-6 / technology.density_mtr_per_mm2.value
    crossbars_mm2 = sum(port**2 for port in ports) * (bits * 0.28e-3) ** 2
    assert tables.parts["mesh"].area_mm2 == pytest.approx(buffers_mm2 + crossbars_mm2)
    assert tables.parts["mesh"].leakage_w == pytest.approx(buffers_mm2 * 8.633e-3)


def test_wider_and_longer_costs_more() -> None:
    one, wide, far = (
        tables_for(chip(**values)) for values in ({}, {"mesh__link": "64 B"}, {"mesh__link_length": "3 mm"})
    )
    assert wide.pj("mesh", "router_flits") > 2 * one.pj("mesh", "router_flits")
    assert wide.pj("mesh", "link_flits") == pytest.approx(2 * one.pj("mesh", "link_flits"))
    assert far.pj("mesh", "link_flits") == pytest.approx(3 * one.pj("mesh", "link_flits"))
    assert far.pj("mesh", "router_flits") == one.pj("mesh", "router_flits")
    low = tables_for(chip(technology__voltage="0.45 V"))
    assert low.pj("mesh", "router_flits") == pytest.approx(one.pj("mesh", "router_flits") / 4)


def test_parts_of_cores_are_priced_for_all_cores() -> None:
    one, four = (tables_for(chip(mesh__shape=shape)) for shape in ([1, 1], [2, 2]))
    assert four.parts["l1"].area_mm2 == pytest.approx(4 * one.parts["l1"].area_mm2)
    assert four.parts["l2"].area_mm2 == pytest.approx(one.parts["l2"].area_mm2)
    assert four.pj("l1", "read_accesses") == one.pj("l1", "read_accesses")


def test_a_chip_states_its_own_figures_of_a_network() -> None:
    tables = tables_for(chip(mesh__energy={"router": "2 pJ", "link": "0.5 pJ"}, mesh__area="7 mm2"))
    assert (tables.pj("mesh", "router_flits"), tables.pj("mesh", "link_flits")) == (2, 0.5)
    assert tables.parts["mesh"].area_mm2 == 7
    with pytest.raises(ConfigError, match="mesh.energy: no action 'hop'; allowed: router, link"):
        tables_for(chip(mesh__energy={"hop": "2 pJ"}))


def test_flits_are_charged_once_each() -> None:
    found = chip(mesh__energy={"router": "2 pJ", "link": "0.5 pJ"}, mesh__leakage="0 W")
    tables = tables_for(found)
    activity = replace(_idle(), counts=COUNTS)
    energy = account(activity, found, tables)
    assert energy.by_part_zj()["mesh"] == 10**9 * (2 * 1000) + 5 * 10**8 * 701
    assert energy.by_layer_zj()["b"] == 5 * 10**8
    assert sum(energy.by_part_zj().values()) == sum(energy.by_layer_zj().values()) == energy.total_zj
    with pytest.raises(SimulationError, match="part 'mesh' has no energy for action 'hops'"):
        account(replace(activity, counts={("a", "mesh", "hops"): 1}), found, tables)


def _idle() -> Activity:
    return Activity(
        program="p",
        total_ps=10**6,
        clock_hz=10**9,
        records={},
        counts={},
        dram={},
        bandwidth=BandwidthTrace({}),
        fidelity={},
    )
