"""What the compiler expects a region of a DRAM to take is what the fast DRAM model takes for it alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.ir.footprint import ByteFootprint
from archsim.lab.run.offchip import device_of
from archsim.lab.run.stream_rates import SampledRates
from archsim.memory.dram.interface import Transfer
from archsim.memory.offchip import build_model
from archsim.spec import load
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory

REGIONS = st.builds(
    ByteFootprint,
    offset=st.integers(0, 200),
    run_bytes=st.sampled_from([1, 28, 32, 64, 300, 4096]),
    outer=st.lists(st.tuples(st.integers(2, 40), st.sampled_from([64, 96, 1024, 4096, 65536])), max_size=2).map(tuple),
)


def _part(chip: str) -> tuple[Architecture, Memory]:
    architecture = load.load(chip, None)
    part = next(memory for memory in architecture.memories if memory.kind == "dram")
    return architecture, replace(part, fidelity="fast")


@pytest.mark.parametrize("chip", ["edge_npu", "ar_soc", "tpu_v1"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(region=REGIONS, write=st.booleans())
def test_a_region_takes_what_the_fast_model_takes(chip: str, region: ByteFootprint, write: bool) -> None:
    architecture, part = _part(chip)
    rates = SampledRates(device_of(part), part.control, architecture.dma)
    model = build_model(part)
    latency_ps = model._sampler.latency_ps[write]  # type: ignore[attr-defined]
    axes = tuple(extent for extent, _ in region.outer), tuple(stride for _, stride in region.outer)
    limit = architecture.dma.outstanding
    model.submit(0, [Transfer(0, write, region.offset, region.run_bytes, *axes, limit)])
    (done,) = model.advance(10**15)
    expected_ps = 1e12 * rates.seconds(region, write=write)
    clock_ps = 1e12 / device_of(part).device.clock_hz
    assert done.time_ps - latency_ps == pytest.approx(expected_ps, rel=1e-6, abs=2 * clock_ps)
    assert region.size_bytes / float(model.peak_bytes_per_s or 1) <= rates.most * expected_ps / 1e12 * (1 + 1e-9)
