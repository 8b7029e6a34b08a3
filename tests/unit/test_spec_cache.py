"""The cache part and the DMA engines' keys in chip files: canonical form, numbers, mistakes."""

from __future__ import annotations

import pytest

from archsim.base.errors import ConfigError, NotBuiltError
from archsim.energy.chip import tables_for
from archsim.spec.load import loads, replace, to_yaml
from tests.unit.fixtures_gather import CACHE, chip


def test_a_cache_is_a_part_of_its_own() -> None:
    found = chip(CACHE)
    (cache,) = found.caches
    assert (cache.sets, cache.ways, cache.line_bytes, cache.hit_cycles) == (16, 2, 32, 5)
    assert cache.tag_bits == 24 - 4 - 5  # 16 MiB of DRAM, 16 sets, 32 bytes
    assert found.cache("tables") is cache and found.cache("weights") is None
    assert cache not in found.memories and cache in list(found.parts())


@pytest.mark.parametrize("cache", [CACHE, CACHE.replace("latency", "clock: 500 MHz, latency"), ""])
def test_the_canonical_text_loads_to_an_equal_chip(cache: str) -> None:
    dma = "{channels: 2, row_setup: 3 cycles, run_setup: 1 cycles, outstanding: 8}"
    found = chip(cache, dma)
    assert loads(to_yaml(found), file=found.name) == found
    assert ("outstanding: 8" in to_yaml(found)) and "outstanding" not in to_yaml(chip(cache))


def test_keys_can_be_set() -> None:
    varied = replace(chip(CACHE), {"rows.ways": 4, "dma.channels": 2, "dma.outstanding": 16})
    assert (varied.caches[0].sets, varied.dma.channels, varied.dma.outstanding) == (8, 2, 16)


def test_tags_cost_energy_and_area() -> None:
    cache = tables_for(chip(CACHE)).parts["rows"]
    plain = tables_for(chip(CACHE.replace("ways: 2", "ways: 1"))).parts["rows"]
    assert cache.charges["lookups"] > 0 and cache.charges["read_accesses"] == plain.charges["read_accesses"]
    assert cache.charges["lookups"] > plain.charges["lookups"]  # two tags are read at once
    stated = tables_for(chip(CACHE.replace("ways: 2", "ways: 2, energy: {lookup: 3 pJ}"))).parts["rows"]
    assert stated.charges["lookups"] == 3 * 10**9


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("line: 32 B", "line: 24 B", "rows.line: found '24 B'; allowed a power of two"),
        ("word: 8 B", "word: 64 B", "rows.word: found '64 B'; allowed at most 32 B, the line"),
        ("size: 1 KiB", "size: 1000 B", "rows.size: found '1000 B'; allowed multiples of ways x line = 64 B"),
        ("policy: lru", "policy: random", "rows.policy"),
        ("ways: 2", "ways: 1000", "whole numbers 1 to 512"),
        ("[tables]", "[tabels]", "did you mean 'tables'"),
        ("word: 8 B", "word: 8 B, ports: {shared: 1, read: 1}", "found `shared` beside `read`"),
    ],
)
def test_mistakes(old: str, new: str, message: str) -> None:
    text = CACHE.replace("latency", "policy: lru, latency").replace(old, new)
    with pytest.raises(ConfigError) as error:
        chip(text)
    assert message in str(error.value)


def test_a_cache_stands_between_dram_and_the_rest() -> None:
    twice = CACHE + CACHE.replace("name: rows", "name: more")
    with pytest.raises(NotBuiltError, match="'tables' goes through cache 'rows' already"):
        chip(twice)
    text = to_yaml(chip(CACHE)).replace("keeps: all", "keeps: [inputs, weights, outputs, partials]")
    with pytest.raises(ConfigError, match="rows.keeps: found 'tables', which no dram above it keeps"):
        loads(text)


def test_as_many_rows_under_way_as_are_at_least_one() -> None:
    with pytest.raises(ConfigError, match="dma.outstanding"):
        chip(dma="{outstanding: 0}")
