"""A group of layers from a user's seat: attention whose scores never leave the chip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tools.commands import Archsim
from tests.unit.fixtures_groups import attention

pytestmark = pytest.mark.slow  # processes of their own

HEADS, ROWS, WIDTH = 12, 128, 16
EACH = HEADS * ROWS * WIDTH  # bytes of q, k, v and of the context, in int8


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A workload, and the mapping that makes one group of it: a head at a time, 32 rows in a pass."""
    paths = tmp_path / "attention.yaml", tmp_path / "group.yaml"
    for path, text in zip(paths, attention(HEADS, ROWS, 32), strict=True):
        path.write_text(text, encoding="utf-8")
    return str(paths[0]), str(paths[1])


def summary(archsim: Archsim, *arguments: str) -> dict[str, Any]:
    done = archsim("run", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_attention_moves_what_it_has_to_and_is_faster(archsim: Archsim, tmp_path: Path, files: tuple[str, str]) -> None:
    """All operands once, the result once; the report is written, and its mapping gives the same run."""
    model, mapping = files
    page = tmp_path / "report"
    grouped = summary(archsim, model, "--on", "edge_npu", "--mapping", mapping, "--out", str(page))
    assert (grouped["dram"]["read_bytes"], grouped["dram"]["write_bytes"]) == (3 * EACH, EACH)
    assert grouped["macs"] == 2 * HEADS * ROWS * ROWS * WIDTH
    plain = summary(archsim, model, "--on", "edge_npu", "--schedule", "layers")
    assert grouped["cycles_total"] < plain["cycles_total"]
    assert (page / "report.html").stat().st_size > 10_000
    again = summary(archsim, model, "--on", "edge_npu", "--mapping", str(page / "mappings.yaml"))
    assert again["cycles_total"] == grouped["cycles_total"]


def test_it_is_verified_and_listed(archsim: Archsim, files: tuple[str, str]) -> None:
    model, mapping = files
    done = archsim("verify", model, "--on", "edge_npu", "--mapping", mapping)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "verified"
    listing = archsim("asm", model, "--on", "edge_npu", "--mapping", mapping).stdout
    assert "ring scores@heads in l1" in listing and "tensor scores" not in listing
    told = archsim("map", model, "--on", "edge_npu", "--mapping", mapping, "--gap")
    assert told.returncode == 0, told.stderr
