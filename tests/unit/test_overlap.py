"""What layers are expected to take in their network: first tiles that come in beside the layer before."""

from __future__ import annotations

import pytest

from archsim.lab.run.job import Job
from archsim.lab.what_if.gap import MappingGap, mapping_gap
from mapper.overlap import Gap

IDLE = Gap(window=300.0, last=50.0, busy=400.0, in_order=False)


@pytest.fixture(scope="module", params=["edge_npu", "nvdla_large"])
def found(request: pytest.FixtureRequest) -> MappingGap:
    return mapping_gap(Job("squeezenet", request.param))


def test_layers_alone_and_the_network_take_what_is_expected(found: MappingGap) -> None:
    large = [row for row in found.layers if row.alone_cycles >= 10_000]
    off = sorted(abs(row.off) / row.alone_cycles for row in large)
    assert off[len(off) // 2] <= 0.01 and off[-1] <= 0.08
    assert found.cycles_total == pytest.approx(found.expected_cycles, rel=0.02)


@pytest.mark.parametrize("chip", ["tpu_v4i", "a100"])
def test_layers_of_many_cores_take_about_what_is_expected_alone(chip: str) -> None:
    """All of them together, since most are small; what weights wait for is in it, and not in the network's."""
    found = mapping_gap(Job("squeezenet", chip))
    alone, expected = (
        sum(getattr(row, name) for row in found.layers) for name in ("alone_cycles", "expected_alone_cycles")
    )
    assert alone == pytest.approx(expected, rel=0.08)
    assert found.cycles_total == pytest.approx(found.expected_cycles, rel=0.2)


def test_weights_that_come_in_before_are_not_waited_for(found: MappingGap) -> None:
    assert any(row.expected_cycles < row.expected_alone_cycles for row in found.layers)
    assert sum(row.expected_cycles for row in found.layers) < sum(row.expected_alone_cycles for row in found.layers)


def test_a_layer_that_leaves_dram_time_pays_nothing() -> None:
    assert IDLE.shared(1000, early=[100.0], spared=100) == (1000, 100)


def test_no_more_is_spared_than_the_layer_before_has_time_for() -> None:
    assert IDLE.shared(1000, early=[500.0], spared=500) == (1000, 300)


def test_a_layer_that_waits_for_dram_pays_for_the_next_one() -> None:
    assert IDLE._replace(busy=1000.0).shared(1000, early=[100.0], spared=100) == (1100, 100)


def test_last_results_stand_behind_what_is_on_its_way() -> None:
    in_order = IDLE._replace(in_order=True)
    assert in_order.shared(1000, early=[200.0], spared=200) == (1000, 200)
    assert in_order.shared(1000, early=[600.0], spared=600) == (1350, 600)
    assert in_order._replace(last=0.0).shared(1000, early=[600.0], spared=600) == (1000, 600)


def test_results_that_are_written_between_two_transfers_hold_nobody_up() -> None:
    """The next layer then waits for what is left of its own."""
    in_order = IDLE._replace(in_order=True)
    assert in_order.shared(1000, early=[100.0, 100.0], spared=200) == (1000, 200)
    assert in_order.shared(1000, early=[500.0, 100.0], spared=600) == (1000, 250)
