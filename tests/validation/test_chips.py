"""Shipped chips against the figures that were published for them: arithmetic, bandwidths and memories, within 1 %."""

from __future__ import annotations

import pytest

from archsim.spec.architecture import Architecture
from archsim.spec.load import load
from archsim.spec.memories import Memory
from archsim.spec.peaks import dram_bytes_per_s, link_bytes_per_s, port_bytes_per_s

# Meta's Second Generation AI Chip, ISCA'25, Table 2; TPUv4i: ISCA'21; A100: TPU v4, ISCA'23, Table 5, and Table 3 of
# doi 10.1016/j.ultsonch.2023.106546 (L2, shared memory); Simba: abstracts of MICRO'19 and VLSI'19.
TOPS = [
    ("mtia_v2i", "int8", 354),
    ("mtia_v2i", "fp16", 177),
    ("tpu_v4i", "bf16", 138),
    ("a100", "bf16", 312),
    ("a100", "int8", 624),
    ("simba_chiplet", "int8", 4.01),
    ("simba", "int8", 127.8),
]
DRAM_GB_S = [("mtia_v2i", 204.8), ("mtia_v1", 176), ("tpu_v4i", 614), ("a100", 2039)]
SRAM = [  # chip, memory, MB (in decimal units unless stated as binary), TB/s read of all of them together
    ("mtia_v2i", "shared_sram", 256e6, 2.7),
    ("mtia_v2i", "local_memory", 64 * 384 * 1024, 64 * 1.0),
    ("mtia_v1", "shared_sram", 128e6, 0.8),
    ("mtia_v1", "local_memory", 64 * 128 * 1024, 64 * 0.4),
    ("tpu_v4i", "cmem", 128 << 20, 2.0),
    ("a100", "l2", 40 << 20, 7.219),
    ("a100", "shared_memory", 108 * 164 * 1024, 23.101 * 108 / 128),
]
CORES = [("mtia_v2i", 64), ("mtia_v1", 64), ("tpu_v4i", 4), ("a100", 108), ("simba_chiplet", 16), ("simba", 576)]


def ops_per_s(chip: Architecture, dtype: str) -> float:
    (array,) = chip.arrays
    return float(2 * array.rows * array.cols * array.rate(dtype, dtype) * array.copies * array.clock_hz)


@pytest.mark.parametrize(("name", "dtype", "tops"), TOPS)
def test_peak_arithmetic(name: str, dtype: str, tops: float) -> None:
    assert ops_per_s(load(name), dtype) == pytest.approx(tops * 1e12, rel=0.01)


def test_mtia_v1_has_whole_multipliers() -> None:
    """Published as 64 x 1.6 = 102.4 TOPS: 1024 multipliers at 0.8 GHz are 1.638, rounded before the sum."""
    whole = ops_per_s(load("mtia_v1"), "int8")
    assert round(whole / 64 / 1e12, 1) * 64 == pytest.approx(102.4)
    assert ops_per_s(load("mtia_v1"), "fp16") == whole / 2


@pytest.mark.parametrize(("name", "gigabytes"), DRAM_GB_S)
def test_dram_bandwidth(name: str, gigabytes: float) -> None:
    assert float(dram_bytes_per_s(load(name).memories[0]) or 0) == pytest.approx(gigabytes * 1e9, rel=0.01)


def together(memory: Memory, *, write: bool) -> float:
    return float(memory.copies * memory.bytes_per_cycle_of_all(write=write) * memory.clock_hz)


@pytest.mark.parametrize(("name", "part", "size", "terabytes"), SRAM)
def test_memories(name: str, part: str, size: float, terabytes: float) -> None:
    memory = load(name).memory(part)
    assert memory.capacity_bytes * memory.copies == pytest.approx(size, rel=0.01)
    assert together(memory, write=False) == pytest.approx(terabytes * 1e12, rel=0.01)


def test_cmem_is_written_at_half_the_rate() -> None:
    assert together(load("tpu_v4i").memory("cmem"), write=True) == pytest.approx(1e12, rel=0.01)


def test_vmem_and_cmem_are_144_mb() -> None:
    chip = load("tpu_v4i")
    assert sum(chip.memory(part).capacity_bytes * chip.memory(part).copies for part in ("vmem", "cmem")) == 144 << 20


@pytest.mark.parametrize(("name", "cores"), CORES)
def test_cores_and_their_ports(name: str, cores: int) -> None:
    """The ports of a shared memory carry what it can give."""
    chip = load(name)
    assert chip.noc is not None and chip.cores == cores
    for part in chip.noc.shared:
        memory = chip.memory(part)
        if memory.kind == "sram":
            assert port_bytes_per_s(chip.noc, part) >= 0.99 * together(memory, write=False)


def test_the_networks_of_mtia_differ_as_published() -> None:
    """ISCA'25, section 3.1: 3.3 times the bandwidth; links of powers of two give 3.4."""
    new, old = load("mtia_v2i").noc, load("mtia_v1").noc
    assert new is not None and old is not None
    assert link_bytes_per_s(new) / link_bytes_per_s(old) == pytest.approx(3.3, rel=0.03)
