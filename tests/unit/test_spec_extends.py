"""Variants of chips, and where chips are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.base.registry import CONFIGS_VARIABLE
from archsim.spec import load

SMALL = """\
name: small
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
hierarchy:
  - dram: {name: dram, standard: constant, bandwidth: 25.6 GB/s, latency: 3.5 ns, capacity: 1 GiB, keeps: all}
  - sram: {name: l1, size: 64 KiB, banks: 4, word: 16 B, keeps: all}
  - parallel:
      - array: {name: mxu, shape: [4, 8], rates: {int8: 1, bf16: 0.5, int8xint4: 2}}
      - vector: {name: vpu, lanes: 16}
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def test_extends_merges_by_part_name(tmp_path: Path) -> None:
    write(tmp_path, "small", SMALL.replace("clock:", 'source: "a paper"\nclock:'))
    variant = write(
        tmp_path,
        "big",
        """
name: big
extends: small.yaml
source: "estimated: a guess"
hierarchy:
  - sram: {name: l1, size: 128 KiB, keeps: [inputs, weights, outputs]}
  - sram: {name: acc, size: 8 KiB, word: 32 B, keeps: [partials]}
  - array: {name: mxu, shape: [16, 16], rates: {fp16: 1/2}}
  - host: {launch: 1 us, link: 1 GB/s, compute: 1 GFLOP/s}
""",
    )
    chip = load.load(variant)
    assert [memory.name for memory in chip.memories] == ["dram", "l1", "acc"]
    assert chip.memory("l1").capacity_bytes == 2**17
    assert chip.memory("l1").banks == 4
    assert chip.arrays[0].rows == 16
    assert set(chip.arrays[0].rates) == {
        ("int8", "int8"),
        ("bf16", "bf16"),
        ("int8", "int4"),
        ("fp16", "fp16"),
    }
    assert chip.host is not None
    assert chip.host.launch_ps == 10**6
    assert chip.sources["l1.banks"] == "a paper"
    assert chip.sources["l1.size"] == "estimated: a guess"
    assert chip.source == "estimated: a guess"


EXTENDS = [
    (
        "name: x\nextends: edge_npo\n",
        "x.yaml:2:1: extends: found 'edge_npo'; no chip",
        "did you mean 'edge_npu'?",
    ),
    ("name: x\nextends: nowhere.yaml\n", "x.yaml:2:1: extends: found 'nowhere.yaml'", "no such file"),
    ("name: x\nextends: x.yaml\n", "x.yaml:2:1: extends", "a circle: x -> x"),
    ("name: x\nextends: [edge_npu]\n", "x.yaml:2:1: extends", "a chip's name or a path"),
    ("extends: edge_npu\n", "name: missing", "a name"),
    ("name: x\nextends: edge_npu\nhierarchy:\n  - dram: {name: l1}\n", "x.yaml:4:5: l1", "allowed sram"),
    (
        "name: x\nextends: edge_npu\nhierarchy:\n  - sram: {name: l1, size: 0 B}\n",
        "x.yaml:4:22: l1.size",
        "'0 B'",
    ),
]


@pytest.mark.parametrize(("text", "place", "says"), EXTENDS, ids=[case[1] for case in EXTENDS])
def test_mistakes_in_extends(tmp_path: Path, text: str, place: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        load.load(write(tmp_path, "x", text))
    assert place in str(error.value)
    assert says in str(error.value)


def test_circles_over_two_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a", "name: a\nextends: b.yaml\n")
    with pytest.raises(ConfigError, match="a circle: b -> a -> b"):
        load.load(write(tmp_path, "b", "name: b\nextends: ./a.yaml\n"))


def test_a_chip_in_an_extra_directory_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one-file extension: a new chip needs no change anywhere else, and may stand in for a shipped one."""
    (tmp_path / "accelerators").mkdir()
    write(tmp_path / "accelerators", "small", SMALL)
    monkeypatch.setenv(CONFIGS_VARIABLE, str(tmp_path))
    assert "small" in load.names()
    assert load.load("small").name == "small"
    monkeypatch.setenv(CONFIGS_VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(ConfigError, match="missing"):
        load.names()


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match=r"no chip 'tpu_v1x'.*did you mean 'tpu_v1'"):
        load.load("tpu_v1x")
    with pytest.raises(ConfigError, match="no such file"):
        load.load("no/such/chip.yaml")
