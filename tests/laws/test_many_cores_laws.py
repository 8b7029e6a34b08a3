"""Laws of chips with several cores on a network."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.ir.activity import Activity
from archsim.ir.check.form.declarations import commands_of
from archsim.ir.check.program import check
from archsim.sim.attribution import attribute
from archsim.sim.critical import critical_cycles, critical_path
from archsim.sim.events import EventLoop, SideModel
from archsim.sim.mac_breakdown import mac_breakdown, peak_macs_per_cycle
from archsim.spec.load import loads
from archsim.system import simulate
from tests.laws.builders import move, program, queue, tensor, vector
from tests.laws.many_cores import CHIP, gemm_cores, grid, network, one, to_cores
from tests.laws.shared_gemm import CORES, shared_gemm
from tests.tools.mutants import ORDERS, Subject, judge, mutants


class Chopped:
    """A model that is told to run in many small stretches."""

    def __init__(self, model: SideModel, seed: int) -> None:
        self._model = model
        self._random = random.Random(seed)
        self._now_ps = 0

    def submit(self, at_ps: int, requests: Sequence[Any], /) -> None:
        self._model.submit(at_ps, requests)
        self._now_ps = at_ps

    def advance(self, until_ps: int, /) -> Sequence[Any]:
        """As the model, with stops on the way."""
        while self._now_ps < until_ps and self._model.next_event_ps() is not None:
            stop_ps = min(until_ps, self._now_ps + self._random.randint(1, 300_000))
            found = self._model.advance(stop_ps)
            self._now_ps = stop_ps
            if found:
                self._now_ps = found[0].time_ps
                return found
        return self._model.advance(until_ps)

    def next_event_ps(self) -> int | None:
        return self._model.next_event_ps()


@pytest.mark.parametrize("standard", ["constant", "ddr4"])
@pytest.mark.parametrize("seed", range(3))
def test_law_34_network_and_dram_in_one_event_loop(seed: int, standard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 34: network and DRAM that are run in stretches of random length end everything at the same picosecond."""
    dram = "standard: ddr4, speed: 2400 MT/s, width: 64 b, channels: 2"
    text = CHIP.replace("standard: constant, bandwidth: 64 B/cycle, latency: 20 cycles", dram)
    chip = grid(text if standard == "ddr4" else CHIP)
    listing = gemm_cores(4, 2, size=32)
    whole = simulate(listing, chip)
    attach = EventLoop.attach
    monkeypatch.setattr(EventLoop, "attach", lambda event_loop, model: attach(event_loop, Chopped(model, seed)))
    chopped = simulate(listing, chip)
    assert chopped.records == whole.records
    assert chopped.counts == whole.counts
    assert chopped.bandwidth == whole.bandwidth
    assert chopped.noc == whole.noc


def private(work: Sequence[int]) -> Activity:
    """Cores that compute, each in its own memory, so many cycles."""
    stores = [tensor(f"t{core}", f"l1[{core}]", size=2**12) for core in range(len(work))]
    queues = [
        queue(f"core[{core}].vector", vector("v", f"t{core}", f"t{core}", cycles))
        for core, cycles in enumerate(work)
        if cycles
    ]
    return simulate(program(*queues, tensors=stores), grid())


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2000), min_size=4, max_size=4).filter(any))
def test_law_31_private_cores(work: list[int]) -> None:
    """Law 31: p private cores with work w take max w, and imbalance is the sum of max - w."""
    activity = private(work)
    cube = attribute(activity)
    assert cube.cycles_total == max(work)
    rows = cube.time_breakdown()
    waited = sum(rows[f"core[{core}].vector"]["imbalance"] for core in range(4))
    assert waited == sum(max(work) - cycles for cycles in work)


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 4), st.integers(1, 3), st.sampled_from([8, 20, 32]))
def test_law_35_sums_over_cores(cores: int, tiles: int, size: int) -> None:
    """Law 35: each unit of each core sums to cycles_total, MAC slots to cycles x the peak of all cores, the critical
    path to the run.
    """
    chip = grid()
    activity = simulate(gemm_cores(cores, tiles, size), chip)
    cube = attribute(activity)
    assert len(cube.rows) == 4 * 4
    assert {sum(row.values()) for row in cube.rows.values()} == {cube.cycles_total}
    slots = mac_breakdown(activity, chip, cube)
    assert peak_macs_per_cycle(chip) == 4 * 4 * 4
    assert sum(slots.values()) == cube.cycles_total * 64
    assert slots["useful"] == cores * tiles * size**3
    critical = critical_cycles(critical_path(activity), activity.clock_hz)
    assert sum(sum(layer.values()) for layer in critical.values()) == cube.cycles_total
    assert sum(layer.get("noc", 0) for layer in critical.values()) > 0


@pytest.mark.parametrize("ends", [("s", "t0"), ("t0", "s")])
@pytest.mark.parametrize("key", ["l2__banks", "l1__banks"])
def test_law_36_slow_ports_are_not_the_networks(ends: tuple[str, str], key: str) -> None:
    """Law 36: faster ports gain no more than the part of the critical path that is theirs, and wider links nothing."""

    def cycles(**values: object) -> tuple[int, int]:
        """Of the run, and those of the ports on its critical path."""
        activity = simulate(one(0, move("m", *ends, 8192)), grid(**values))
        critical = critical_cycles(critical_path(activity), activity.clock_hz)
        total = attribute(activity).cycles_total
        return total, sum(layer.get("sram_port", 0) for layer in critical.values())

    slow = {key: 1, key.replace("banks", "word"): "1 B"}
    (total, ports), (ideal, _) = cycles(**slow), cycles()
    assert total > 4 * ideal and total - ideal <= ports
    assert cycles(**slow, mesh__link="1 KiB", mesh__packet="1 KiB")[0] >= total - ideal


def test_law_28_a_multicast_is_read_once() -> None:
    """Law 28: of a multicast the source reads once, each core writes, and links carry the edges of a tree."""
    chip = grid()
    sizes = (4096, 10_000)
    for size in sizes:
        activity = simulate(one(0, to_cores("m", "x", (0, 1, 2, 3), size)), chip)
        counts = {key[1:]: count for key, count in activity.counts.items()}
        assert counts["dram", "read_bytes"] == size
        assert counts["l1", "write_bytes"] == 4 * size
        apart = sum(
            simulate(one(0, to_cores("m", "x", (core,), size)), chip).counts.get(("one", "mesh", "link_flits"), 0)
            for core in range(4)
        )
        assert counts["mesh", "link_flits"] < apart
        assert activity.noc is not None
        assert sum(link.flits for link in activity.noc.links) == counts["mesh", "link_flits"]


def subject() -> Subject:
    """The GEMM of four cores with small integers."""
    draw = np.random.default_rng(3)
    loaded = {name: draw.integers(-4, 5, (16, 8)).astype(float) for name in ("a", "w")}
    product = loaded["a"] @ loaded["w"].T
    expected = {"y": product, "total": product.reshape(CORES, 4, 16).sum(0)}
    text = CHIP.replace("  - sram: {name: l1", "  - dma: {name: dma, channels: 2}\n  - sram: {name: l1")
    listing = shared_gemm()
    shaped = {"y": (16, 16), "total": (4, 16)}
    assert all(expected[name].shape == shape for name, shape in shaped.items())
    return Subject("shared_gemm", listing, loads(text), loaded, expected)


def test_law_42_cores_that_share_a_product() -> None:
    """Law 42: rows to each core, weights multicast and sums reduced give the product under 20 random orders."""
    each = subject()
    check(each.program, each.chip)
    assert judge(each, each.program, ORDERS) == ""
    assert ORDERS >= 20
    activity = simulate(each.program, each.chip)
    assert activity.counts["gemm", "mxu", "mac"] == 16 * 16 * 8
    assert network(each.chip).name in {part for _, part, _ in activity.counts}


def test_law_42_any_token_of_any_core_removed_is_caught() -> None:
    """Law 42: each wait and each signal of each command of each core, removed one at a time, is caught."""
    each = subject()
    dropped = [(label, mutant) for kind, label, mutant in mutants(each.program) if kind == "drop token"]
    commands = [c for one in each.program.queues for c in commands_of(one.body)]
    assert len(dropped) == sum(len(c.waits) + len(c.signals) for c in commands)
    assert [label for label, mutant in dropped if not judge(each, mutant)] == []
