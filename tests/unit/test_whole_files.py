"""Files of caches and of results are written by one core: whole or not there, and only results wait for the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from archsim.base import entries, whole_files, writable
from archsim.base.errors import ConfigError
from tests.tools.weather import disk_full, no_rename


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Files that the disk was waited for."""
    found: list[int] = []
    monkeypatch.setattr(os, "fsync", found.append)
    return found


def test_results_wait_for_the_disk_and_caches_do_not(tmp_path: Path, synced: list[int]) -> None:
    entries.replace(tmp_path / "entry", b"1", mode=0o600)
    assert synced == [] and (tmp_path / "entry").stat().st_mode & 0o777 == 0o600
    writable.write_all(tmp_path / "out", {"one": "1", "two": b"2"})
    assert len(synced) == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["entry", "one", "out", "two"]


def test_whatever_fails_nothing_is_left_beside(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")
    for fault in (disk_full(3), no_rename()):
        with fault, pytest.raises(OSError):
            entries.replace(tmp_path / "file", b"after that")
    for fault in (disk_full(3), no_rename()):
        with fault, pytest.raises(ConfigError, match="file: cannot be written"):
            writable.write(tmp_path / "file", "after that")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_a_name_beside_is_new_each_time_and_short_enough(tmp_path: Path) -> None:
    """So two threads that write one file do not meet in the same place."""
    names = {whole_files.beside(tmp_path / ("n" * 255)).name for _ in range(3)}
    assert len(names) == 3 and all(len(name) <= 255 and name.startswith(".") for name in names)
    taken = tmp_path / "taken"
    taken.touch()
    with pytest.raises(FileExistsError):
        whole_files.put(taken, b"")
