"""`requests` of a chip: what engines and ports offer to DRAM in a cycle, from the chip's keys to cycles."""

from __future__ import annotations

import pytest

import archsim as ax
from archsim.lab.run.offchip import outer_rates

pytestmark = pytest.mark.slow  # compiles the controller


def test_requests_a_cycle_reach_the_run(model: str) -> None:
    """Of engines, of the DRAM's port, and the rate at which mappings are ranked."""
    slow = {"dma.clock": "100 MHz"}
    usual, engine, port = (
        ax.run(model, on="edge_npu", set={**slow, **few}).result.cycles_total
        for few in ({}, {"dma.requests": 1}, {"dram.requests": 1})
    )
    assert engine > 1.1 * usual and port > usual
    chip = ax.load_chip("edge_npu")
    rates = [outer_rates(chip.replace({**slow, key: 1}))["dram"] for key in ("dma.requests", "dram.requests")]
    assert [rate.peak_bytes_per_s for rate in rates] == [2 * 32 * 100e6, 32 * 800e6]  # load and store engine; the port
    assert outer_rates(chip)["dram"].peak_bytes_per_s == 51.2e9
