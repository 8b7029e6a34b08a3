"""Embeddings from a user's seat: patterns, warnings, caches in the summary and the pages, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tools.commands import GOLDEN, Archsim

pytestmark = pytest.mark.slow  # a process for each command

WORKLOAD = """
schema: archsim.workload/1
name: words
source: "by definition: a test"
parameters: {batch: 2}
layers:
  - embedding: {name: emb, rows: 400, dim: 16, lookups: [batch, 12], reduce: sum,
                distribution: zipf, exponent: 1.2, seed: 3}
  - dense: {name: fc, out: 8, act: relu}
"""
CACHE = "  - cache: {name: rows, size: 512 B, line: 16 B, ways: 4, word: 8 B, keeps: [tables]}\n  - dma: {name: dma}\n"


@pytest.fixture
def words(tmp_path: Path) -> str:
    path = tmp_path / "words.yaml"
    path.write_text(WORKLOAD)
    return str(path)


@pytest.fixture
def cached(tmp_path: Path) -> str:
    path = tmp_path / "cached.yaml"
    path.write_text((GOLDEN / "chip.yaml").read_text().replace("  - dma: {name: dma}\n", CACHE))
    return str(path)


def test_a_cache_is_in_the_summary_and_on_the_pages(archsim: Archsim, words: str, cached: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = archsim("run", words, "--on", cached, "--out", str(out))
    assert done.returncode == 0 and "Cache rows held" in done.stdout
    summary = json.loads((out / "summary.json").read_text())
    cache = summary["details"]["caches"]["rows"]
    assert cache["hits"] + cache["misses"] == 2 * 12 and cache["hits"] > 0
    assert summary["energy_breakdown_j"]["rows"] > 0
    emb = next(layer for layer in summary["layers"] if layer["name"] == "emb.rows")
    assert emb["op"] == "EmbeddingBag" and emb["dram_read_bytes"] == 16 * cache["misses"]
    for page in ("report.md", "report.html"):
        assert "Cache rows held" in (out / page).read_text()
    assert "lookups" not in summary["provenance"]["options"]


def test_without_a_cache_nothing_is_said_of_one(archsim: Archsim, words: str, chip: str) -> None:
    done = archsim("run", words, "--on", chip, "--format", "json")
    assert "caches" not in json.loads(done.stdout)["details"]
    assert "Cache" not in archsim("run", words, "--on", chip).stdout


def test_a_stated_pattern_takes_the_place_of_the_files(archsim: Archsim, words: str, cached: str) -> None:
    one = "trace(" + ", ".join(["7"] * 24) + ")"
    done = archsim("run", words, "--on", cached, "--lookups", f"emb.rows={one}", "--format", "json")
    summary = json.loads(done.stdout)
    assert summary["details"]["caches"]["rows"]["misses"] == 1
    assert summary["provenance"]["options"]["lookups"] == {"emb.rows": one}
    assert archsim("verify", words, "--on", cached, "--lookups", f"emb.rows={one}").stdout.endswith("verified\n")


def test_the_listing_runs_without_the_model(archsim: Archsim, words: str, cached: str, tmp_path: Path) -> None:
    listing = archsim("asm", words, "--on", cached).stdout
    assert "GATHER emb.rows" in listing and "zipf(exponent=1.2, seed=3)" in listing
    (tmp_path / "words.asm").write_text(listing)
    done = archsim("run", str(tmp_path / "words.asm"), "--on", cached, "--format", "json")
    model = archsim("run", words, "--on", cached, "--format", "json")
    assert json.loads(done.stdout)["cycles_total"] == json.loads(model.stdout)["cycles_total"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("emb", "allowed NODE=PATTERN"),
        ("fc=uniform(seed=0)", "no look-up of rows is called 'fc'"),
        ("emb.rows=gauss(seed=0)", "expected a distribution: uniform, zipf, trace"),
        ("emb.rows=trace(1, 2)", "its trace has 2 rows"),
    ],
)
def test_mistakes(archsim: Archsim, words: str, chip: str, option: str, message: str) -> None:
    done = archsim("run", words, "--on", chip, "--lookups", option)
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_program_has_its_patterns_already(archsim: Archsim, chip: str) -> None:
    done = archsim("run", str(GOLDEN / "program.asm"), "--on", chip, "--lookups", "emb=uniform(seed=0)")
    assert done.returncode == 2 and "--lookups: the Program" in done.stderr
