"""Recorded optimal mappings: what they do, cost and where they lie; files that cannot be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.lab.validate.mapping_files import read
from archsim.lab.validate.suite import default_reference
from mapper.looptree.conventions import ACCELFORGE
from mapper.looptree.cost import evaluate
from mapper.looptree.search.space import Space, check
from mapper.looptree.text import parse, write

FILES = sorted((default_reference("mapping") / "accelforge").glob("*.json"))


def test_all_are_here() -> None:
    assert len(FILES) == 14


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_mapping(path: Path) -> None:
    """Law 17: actions, energy and latency as recorded within 1e-6, inexact tiles (4096 / 187 = 22 trips) among them."""
    recorded = read(path)
    nest = recorded.nest
    cost = evaluate(nest, recorded.hierarchy, ACCELFORGE)
    assert {key: cost.actions.get(key, 0) for key in recorded.actions} == pytest.approx(recorded.actions, rel=1e-6)
    assert cost.energy_j == pytest.approx(recorded.energy_j, rel=1e-6)
    assert cost.latency_s == pytest.approx(recorded.latency_s, rel=1e-6)
    check(nest, Space(recorded.einsum, recorded.hierarchy, ACCELFORGE, recorded.factors))
    assert parse(write(nest)) == nest.nodes


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("objective", "edpp", r"objective: found 'edpp'.*did you mean 'edp'"),
        ("shape", {"M": 4, "K": 0, "N": 2}, r"shape.K: found 0; allowed integers from 1"),
        ("shape", {"M": 4, "K": 1, "N": 2, "Z": 3}, r"shape.Z: not a dim"),
        ("shape", {"M": 4, "K": 1, "N": 2, "macs": 9}, r"shape.macs: found 9; the dims give 8"),
        ("mapping_text", "T-x in [0..2) shape=1", "mapping_text, dim: found 'x'"),
        ("mapping_text", "[W in Main] T-m in [0..2) shape=1", "mapping_text, memory: found 'Main'"),
        ("mapping_text", "T-m in [0..2.5) shape=51.2", "'shape=51.2': tiles that are not whole are not read"),
        ("mapping_text", "T-m in [0..4) shape=32", "dim 'm' still has tiles of 32"),
        ("levels", [], "the last one must be of kind 'compute'"),
        ("options", {"max_fused_loops": 2}, "fused layers are not read"),
        ("actions_bits", {"a|b": 1}, "einsum|action|level"),
        ("energy_j", "much", "not in the form of a recorded mapping"),
    ],
)
def test_bad_values(tmp_path: Path, key: str, value: object, reason: str) -> None:
    data = json.loads(FILES[0].read_text()) | {key: value}
    (tmp_path / "bad.json").write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=f"bad.json: .*{reason}"):
        read(tmp_path / "bad.json")


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ConfigError, match="not JSON"):
        read(tmp_path / "bad.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ConfigError, match="key 'shape' is missing"):
        read(tmp_path / "bad.json")


def test_a_grouped_convolution(tmp_path: Path) -> None:
    """Every operand has the groups as a dim of its own."""
    data = json.loads(next(path for path in FILES if "3x3" in path.stem).read_text())
    macs = data["shape"]["macs"]
    data["shape"] |= {"G": 4, "macs": 4 * macs}
    data["mapping_text"] = data["mapping_text"].replace("MAC computes", "T-g in [0..4) shape=1 MAC computes")
    (tmp_path / "grouped.json").write_text(json.dumps(data))
    einsum = read(tmp_path / "grouped.json").einsum
    assert all("g" in operand.whole_dims for operand in einsum.operands)
    assert einsum.macs == 4 * macs


def test_a_depthwise_convolution(tmp_path: Path) -> None:
    """Without M the filters and outputs have the channels of the inputs."""
    data = json.loads(next(path for path in FILES if "3x3" in path.stem).read_text())
    m = data["shape"].pop("M")
    data["shape"]["macs"] //= m
    data["mapping_text"] = re.sub(r"\S+-m in \[\S+ shape=\d+ ", "", data["mapping_text"])
    (tmp_path / "depthwise.json").write_text(json.dumps(data))
    recorded = read(tmp_path / "depthwise.json")
    assert [sorted(operand.dims) for operand in recorded.einsum.operands] == [list("cnpqrs"), list("crs"), list("cnpq")]
    assert recorded.einsum.macs == data["shape"]["macs"]
