"""The shipped chips: complete, sourced, with the published figures; and the page made from the schema."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from archsim.spec import canonical, load
from archsim.spec.architecture import ROLES
from archsim.spec.dtypes import BITS
from archsim.spec.peaks import dram_bytes_per_s, lines
from tests.tools.chip_page import chip_page

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "chip.yaml"
PEAK = {
    "a100": 108 * 2048,
    "mi210": 104 * 512,
    "mtia_v1": 65536,
    "mtia_v2i": 131072,
    "simba": 36 * 1024,
    "simba_chiplet": 1024,
    "tpu_v3": 2 * 128 * 128,
    "tpu_v4": 8 * 128 * 128,
    "tpu_v4i": 65536,
    "tpu_v6e": 4 * 256 * 256 * 2,
    "ar_soc": 1024,
    "edge_npu": 1024,
    "gemmini_16x16": 256,
    "mtia_v2i_pe": 2048,
    "nvdla_large": 2048,
    "scalesim_32x32": 1024,
    "tpu_v1": 65536,
}
SHIPPED = tuple(sorted(PEAK))


def test_shipped_chips_are_all_there() -> None:
    assert set(SHIPPED) <= set(load.names())
    assert list(load.names()) == sorted(load.names())


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_chips(name: str) -> None:
    chip = load.load(name)
    assert chip.name == name
    assert chip.description
    assert chip.peak_macs_per_cycle == PEAK[name]
    assert chip.host is not None or name == "scalesim_32x32"
    assert chip.vectors
    for role in ROLES:
        assert chip.path(role)
    for role in ("inputs", "weights", "outputs", "partials"):
        assert chip.inner(role).kind == "sram"
    for role in ("inputs", "weights", "outputs"):
        assert chip.outer(role).kind == "dram"


@pytest.mark.parametrize("name", SHIPPED)
def test_canonical_text_is_that_of_a_document_written_at_once(name: str) -> None:
    """Its pieces are kept and put together: the same text as of the document that it states, sources too."""
    text = load.to_yaml(load.load(name))
    head = "".join(line + "\n" for line in text.splitlines() if line.startswith("# "))
    stated = yaml.safe_load(text)
    sources = {"sources": stated.pop("sources")}
    assert text == head + canonical._dump(stated, canonical._Dumper) + yaml.safe_dump(
        sources, sort_keys=False, allow_unicode=True, width=10**6
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_every_number_of_a_shipped_chip_has_a_source(name: str) -> None:
    sources = load.load(name).sources
    assert sources
    assert [path for path, text in sources.items() if text == "user"] == []
    own_words = load.load(name).source
    assert [path for path, text in sources.items() if text == own_words] == [], "say it at the number itself"


@pytest.mark.parametrize("name", [*SHIPPED, str(GOLDEN)])
def test_canonical_text_loads_to_an_equal_chip(name: str) -> None:
    chip = load.load(name)
    text = load.to_yaml(chip)
    again = load.loads(text)
    assert again == chip
    assert load.to_yaml(again) == text
    assert len(chip.sha256) == 64


def test_the_golden_chip_is_small_and_round() -> None:
    chip = load.load(GOLDEN)
    assert chip.name == "golden"
    assert chip.memory("dram").bytes_per_cycle == 8
    assert chip.peak_macs_per_cycle == 16


def test_published_figures() -> None:
    tpu, mtia, edge = (load.load(name) for name in ("tpu_v1", "mtia_v2i_pe", "edge_npu"))
    assert float(2 * tpu.peak_macs_per_cycle * tpu.clock_hz) == pytest.approx(92e12, rel=0.01)
    assert float(dram_bytes_per_s(tpu.memory("weight_memory")) or 0) == pytest.approx(34e9, rel=0.01)
    assert tpu.memory("accumulators").capacity_bytes == 4096 * 256 * 4
    assert float(64 * 2 * mtia.peak_macs_per_cycle * mtia.clock_hz) == pytest.approx(354e12, rel=0.01)
    local = mtia.memory("local_memory")
    assert local.bytes_per_cycle_of("array", write=False) * local.clock_hz == pytest.approx(1e12, rel=0.01)
    assert dram_bytes_per_s(edge.memory("dram")) == 51_200_000_000
    assert "51.2 GB/s" in lines(edge)[0]


def test_the_page_in_docs_is_current() -> None:
    """docs/chip.md is what the schema says; to renew it: python -m tests.tools.chip_page > docs/chip.md."""
    assert (ROOT / "docs" / "chip.md").read_text(encoding="utf-8") == chip_page()


def test_dtypes_agree_with_the_intermediate_representation() -> None:
    dtypes = pytest.importorskip("archsim.ir.dtypes")
    shared = BITS.keys() & dtypes.BYTES.keys()
    assert {"int8", "int16", "int32", "fp16", "bf16", "fp32", "fp8"} <= shared
    assert all(BITS[name] == 8 * dtypes.BYTES[name] for name in shared)
