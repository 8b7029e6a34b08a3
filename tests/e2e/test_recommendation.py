"""A recommendation model from a user's seat: popular rows and rows of a file, bytes of look-ups, hits, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tools.commands import GOLDEN, Archsim
from tests.tools.small_recommendation import POOLING, WIDTH, written

pytestmark = pytest.mark.slow  # a process for each command

CACHE = "  - cache: {name: rows, size: 512 B, line: 8 B, ways: 4, word: 8 B, keeps: [tables]}\n  - dma: {name: dma}\n"


@pytest.fixture
def cached(tmp_path: Path) -> str:
    path = tmp_path / "cached.yaml"
    path.write_text((GOLDEN / "chip.yaml").read_text().replace("  - dma: {name: dma}\n", CACHE))
    return str(path)


def test_rows_of_a_run(archsim: Archsim, tmp_path: Path, cached: str) -> None:
    """The same seed gives the same result; popular rows are held more often; each look-up hits or misses once."""
    model, out = str(written(tmp_path)), tmp_path / "out"
    popular = ("--parameter", "batch=32", "distribution=zipf", "alpha=1.5", "seed=7")
    done = archsim("run", model, "--on", cached, *popular, "--out", str(out))
    assert done.returncode == 0 and "Cache rows held" in done.stdout
    summary = json.loads((out / "summary.json").read_text())
    asked = {"batch": 32, "distribution": "zipf", "alpha": 1.5, "seed": 7}
    assert summary["provenance"]["options"]["parameters"] == asked and (out / "report.html").exists()
    again = json.loads(archsim("run", model, "--on", cached, *popular, "--format", "json").stdout)
    assert again["cycles_total"] == summary["cycles_total"] and again["dram"] == summary["dram"]
    uniform = json.loads(archsim("run", model, "--on", cached, "--batch", "32", "--format", "json").stdout)
    caches = [found["details"]["caches"]["rows"] for found in (summary, uniform)]
    assert all(cache["hits"] + cache["misses"] == 32 * sum(POOLING) for cache in caches)
    assert caches[0]["hits"] > caches[1]["hits"]
    for found, cache in zip((summary, uniform), caches, strict=True):
        rows = [layer for layer in found["layers"] if layer["op"] in ("GatherRows", "EmbeddingBag")]
        assert sum(layer["dram_read_bytes"] for layer in rows) == WIDTH * cache["misses"]


def test_rows_of_a_file(archsim: Archsim, tmp_path: Path, cached: str) -> None:
    """One sample three times: each of its rows misses once."""
    trace = tmp_path / "rows.txt"
    trace.write_text("1 2 3 4 5 6\n" * 3)
    model = str(written(tmp_path))
    done = archsim("run", model, "--on", cached, "--parameter", "batch=3", f"trace={trace}", "--format", "json")
    cache = json.loads(done.stdout)["details"]["caches"]["rows"]
    assert (cache["misses"], cache["hits"]) == (6, 12)
    wrong = archsim("run", model, "--on", cached, "--parameter", "batch=4", f"trace={trace}")
    assert wrong.returncode == 2 and "has 3 samples; batch is 4" in wrong.stderr and "Traceback" not in wrong.stderr
