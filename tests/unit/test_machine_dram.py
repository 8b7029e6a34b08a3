"""The command-by-command DRAM in the machine: limits of the DMA engines, standing energy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archsim.energy.account import account
from archsim.energy.chip import tables_for
from archsim.facts.dram import catalogue
from archsim.facts.dram.device import ControllerPolicy
from archsim.ir.activity import Activity
from archsim.ir.asm.parser import parse_program
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.interface import BurstAsker, Transfer
from archsim.spec.architecture import Architecture
from archsim.spec.memories import DramControl
from archsim.system import simulate
from tests.unit.fixtures_gather import chip, gather

TEXT = """
program one on golden
layer l
tensor x in dram at 0 bytes 4096 dtype int8 role inputs shape [4096] preloaded
tensor e in l1 at 0 bytes 4096 dtype int8 role inputs shape [4096]
queue load engine load unit dma:
    MOVE l.load [c=4096] role inputs src x{c:1} dst e{c:1}
"""


def with_ddr4(dma: str, requests: int | None = None, **fields: object) -> Architecture:
    """The golden chip on two channels of DDR4-2400; ``requests`` of its DMA engines."""
    base = chip(dma=dma)
    found = {"standard": "ddr4", "speed_mts": 2400, "width_bits": 64, "channels": 2, **fields}
    dram = replace(base.memories[0], capacity_bytes=2**34, bytes_per_cycle=None, **found)
    return replace(base, memories=(dram, *base.memories[1:]), dma=replace(base.dma, requests=requests))


def load_ps(dma: str, requests: int | None = None, **fields: object) -> int:
    (record,) = simulate(parse_program(TEXT), with_ddr4(dma, requests, **fields)).records["load"]
    return record.phases[0][1]


@pytest.mark.parametrize("outstanding", [1, 2, 5, 64])
def test_a_move_has_so_many_bursts_under_way(outstanding: int) -> None:
    """The engine's limit reaches the memory: as the controller alone with it; 64 bursts of 64 are no limit."""
    part = catalogue.dram("ddr4", 2400, 64, 2, 2**34)
    alone = DramController(part, ControllerPolicy())
    alone.submit(0, [Transfer(0, False, 0, 4096, outstanding=outstanding)])
    (done,) = alone.advance(10**12)
    found = load_ps(f"{{name: dma, outstanding: {outstanding}}}")
    assert found == -(-done.time_ps // 1000) * 1000
    free = load_ps("{name: dma}")
    assert found > free if outstanding < 6 else found == free


def alone_ps(*askers: BurstAsker) -> int:
    """The move on the controller alone, seen at an edge of 1 GHz."""
    alone = DramController(catalogue.dram("ddr4", 2400, 64, 2, 2**34), ControllerPolicy())
    alone.submit(0, [Transfer(0, False, 0, 4096, askers=askers)])
    (done,) = alone.advance(10**12)
    return -(-done.time_ps // 1000) * 1000


@pytest.mark.parametrize("requests", [1, 2, 8])
def test_an_engine_offers_so_many_bursts_a_cycle(requests: int) -> None:
    """The engine's key reaches the memory, at the engine's clock; a port's at the memory's, and both hold together."""
    engine, port = BurstAsker(("engine", 0), requests, 10**9), BurstAsker(("port", -1), requests, 1_200_000_000)
    usual, slow, control = "{name: dma}", "{name: dma, clock: 100 MHz}", DramControl(requests=requests)
    assert load_ps(usual, requests) == alone_ps(engine)
    assert load_ps(usual, control=control) == alone_ps(port)
    assert load_ps(usual, requests, control=control) == alone_ps(engine, port)
    assert load_ps(slow, requests) > max(640_000 // requests - 10_000, 2 * load_ps(slow) if requests < 3 else 0)


@pytest.mark.parametrize("fidelity", ["exact", "fast"])
def test_rows_and_what_is_written_are_offered_alike(fidelity: str) -> None:
    """Of a gather and of the moves that write its rows, one burst in ten cycles of 1 GHz; of either model."""
    slow = "{name: dma, clock: 100 MHz}"
    found = [simulate(gather(), with_ddr4(slow, requests, fidelity=fidelity)) for requests in (1, None)]
    for name, least in (("load", 40 - 5), ("store", 5 * 4 - 5)):  # bursts of 64 B, one in each row of 32 B
        slower, faster = (sum(record.end_ps - record.start_ps for record in each.records[name]) for each in found)
        assert slower >= least * 10_000 and slower > faster, name
    assert found[0].counts["l", "dram", "read_bytes"] == found[1].counts["l", "dram", "read_bytes"]


def test_a_run_that_begins_while_a_burst_is_held_back_is_not_taken_for_another() -> None:
    """A burst of an engine of 10 MHz has ended before the next one may be offered: that is part of the state."""
    part = catalogue.dram("ddr4", 2400, 64, 1, 2**34)
    states = []
    for askers in ((), (BurstAsker(("engine", 0), 1, 10**7),)):
        model = DramController(part, ControllerPolicy(refresh="none"))
        model.submit(0, [Transfer(0, False, 0, 64, askers=askers)])
        (done,) = model.advance(10**12)
        states.append([model.entry(at_ps, align=False) for at_ps in (done.time_ps, done.time_ps + 10**6)])
    (free, free_later), (held, held_later) = states
    assert held != free and held_later == free_later


def standing(activity: Activity, on: Architecture) -> float:
    """Joules of the DRAM that are neither commands nor bits."""
    energy = account(activity, on, tables_for(on))
    opened = energy.dynamic_zj[("_static", "dram", "row_open_ps")]
    return (energy.static_zj["dram"] + opened) * 1e-21


@pytest.mark.parametrize("fidelity", ["exact", "fast"])
def test_standing_power_is_that_of_open_rows_and_of_none(fidelity: str) -> None:
    """DDR4: 412.8 mW a channel from the first activate on, 326.4 mW before, two channels; no refresh so early."""
    on = with_ddr4("{name: dma}", fidelity=fidelity)
    activity = simulate(parse_program(TEXT), on)
    opened = activity.counts["_static", "dram", "row_open_ps"]
    both = 2 * activity.total_ps
    cycles = -(-activity.total_ps * 12 // 10**4)  # of 1.2 GHz; seen in cycle 1, activates in cycle 2
    assert opened == (2 * (cycles - 2) * 10**4 // 12 if fidelity == "exact" else both)
    assert standing(activity, on) == pytest.approx((0.4128 * opened + 0.3264 * (both - opened)) * 1e-12)
