"""One-file extensions: found by file name, loaded by name, plugins included."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from archsim.base import registry
from archsim.base.errors import ConfigError
from archsim.facts.dataflows.catalogue import KIND as DATAFLOWS
from archsim.facts.dram.catalogue import KIND as STANDARDS

STANDARD = "USUAL_CHANNEL = (16, 1024)\ndef dram(speed_mts, width_bits, channels, capacity_bytes): ...\n"


def test_built_in_extensions_are_listed_sorted_without_helpers() -> None:
    found = list(registry.modules(DATAFLOWS))
    assert found == sorted(found)
    assert {"output_stationary", "weight_stationary", "input_stationary", "dot_product"} <= set(found)
    assert not {"fold", "systolic", "catalogue", "__init__"} & set(found)
    assert "lpddr5" in registry.modules(STANDARDS)
    assert registry.modules(registry.Kind("thing", "archsim.no_such_room", "things")) == {}


def test_load_by_name_and_nearest_name() -> None:
    assert registry.load(DATAFLOWS, "weight_stationary").__name__ == f"{DATAFLOWS.package}.weight_stationary"
    with pytest.raises(
        ConfigError, match=r"no dataflow 'weight_stationry' \(did you mean 'weight_stationary'\?\); known: d"
    ):
        registry.load(DATAFLOWS, "weight_stationry")


def test_plugins_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    (first / "dram_standards").mkdir(parents=True)
    (second / "dataflows").mkdir(parents=True)
    (first / "dram_standards" / "ddr9.py").write_text("from ._shared import SPEEDS_MTS\n" + STANDARD)
    (first / "dram_standards" / "_shared.py").write_text("SPEEDS_MTS = (9,)\n")
    (second / "dataflows" / "mine.py").write_text("def fold(nest): return nest\n")
    (second / "dataflows" / "_helper.py").write_text("def other(): return 1\n")
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, os.pathsep.join((str(first), str(second))))
    assert registry.load(STANDARDS, "ddr9").SPEEDS_MTS == (9,)
    assert registry.load(STANDARDS, "ddr9") is registry.load(STANDARDS, "ddr9")
    assert "mine" in registry.modules(DATAFLOWS)
    assert "_helper" not in registry.modules(DATAFLOWS)
    assert "_shared" not in registry.modules(STANDARDS)


@pytest.mark.parametrize("text", ["raise RuntimeError('boom')", "def broken(:"])
def test_a_broken_plugin_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "dram_standards").mkdir()
    (tmp_path / "dram_standards" / "bad.py").write_text(text)
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, str(tmp_path))
    with pytest.raises(ConfigError, match=r"bad\.py: the extension cannot be imported"):
        registry.load(STANDARDS, "bad")


def test_two_files_cannot_claim_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dram_standards").mkdir()
    (tmp_path / "dram_standards" / "lpddr5.py").write_text("")
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, str(tmp_path))
    with pytest.raises(ConfigError, match="two files claim the name 'lpddr5'"):
        registry.modules(STANDARDS)


def test_a_missing_plugin_directory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, "/no/such/directory")
    with pytest.raises(ConfigError, match="/no/such/directory"):
        registry.modules(DATAFLOWS)
