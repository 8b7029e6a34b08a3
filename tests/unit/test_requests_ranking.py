"""What the compiler expects of a layer where engines or ports offer few DRAM requests a cycle, against the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.lab.run.job import Job
from archsim.lab.run.offchip import outer_rates
from archsim.lab.run.run import execute
from archsim.spec.architecture import Architecture
from archsim.spec.load import load, loads, names
from archsim.spec.load import replace as vary
from tests.tools.commands import GOLDEN

CONSTANT = "standard: constant, bandwidth: 8 GB/s, latency: 0 ns, capacity: 16 MiB"
HZ, BURST = 1_600_000_000, 64  # of DDR4-3200 in 64 b


def chip(dma: str = "", dram: str = "") -> Architecture:
    """The golden chip with two channels of DDR4-3200, an array of 64x64 and memories to match."""
    text = (GOLDEN / "chip.yaml").read_text(encoding="utf-8")
    text = text.replace(CONSTANT, f"standard: ddr4, speed: 3200 MT/s, width: 64 b, channels: 2, capacity: 16 GiB{dram}")
    text = text.replace("{name: dma}", f"{{name: dma{dma}}}").replace("shape: [4, 4]", "shape: [64, 64]")
    return loads(text.replace("size: 8 KiB", "size: 256 KiB").replace("size: 4 KiB", "size: 64 KiB"))


@pytest.mark.parametrize(
    ("dma", "dram", "offered"),
    [
        ("", "", float("inf")),
        (", requests: 1", "", 1e9 * BURST),
        (", requests: 1, clock: 0.25 GHz", "", 0.25e9 * BURST),
        (", requests: 3, clock: 2 GHz", "", 3 * HZ * BURST),
        (", requests: 2", ", requests: 1", HZ * BURST),
    ],
)
def test_one_engine_offers_no_more_than_its_own(dma: str, dram: str, offered: float) -> None:
    """So many bursts in a cycle of its clock or of the DRAM's, whichever is slower, through a port that has its own."""
    assert outer_rates(chip(dma, dram))["dram"].engine_bytes_per_s == offered


@pytest.mark.parametrize("name", names())
def test_rates_are_known_of_every_chip_that_limits_its_memory(name: str) -> None:
    """Behind a network whose ports are those of another memory, too."""
    plain = load(name)
    timed = [part.name for part in plain.memories if part.kind == "dram" and part.standard != "constant"]
    limited = vary(plain, {f"{part}.requests": 1 for part in timed})
    for part in timed:
        free, found = (outer_rates(chip)[part] for chip in (plain, limited))
        assert free.engine_bytes_per_s == float("inf") > found.engine_bytes_per_s
        assert found.peak_bytes_per_s <= free.peak_bytes_per_s


def test_layers_that_only_read_are_ranked_by_the_engine_that_reads(tmp_path: Path) -> None:
    """The store engine's requests are of no use to them: with them the same bytes were expected in
    half of the time."""
    (tmp_path / "fc.csv").write_text("Layer,M,N,K,\nfc,1,512,512,\n", encoding="utf-8")
    for engines in ("", ", channels: 2"):  # of which weights have one to themselves
        done = execute(Job(tmp_path / "fc.csv", chip(f", requests: 1, clock: 0.25 GHz{engines}")))
        assert done.built.mapping is not None
        layer, simulated = done.built.mapping.layers[0], done.result.cycles_total
        assert 512 * 512 / (0.25 * BURST) <= layer.bound_cycles <= simulated <= 1.15 * layer.expected_cycles
