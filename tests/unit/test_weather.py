"""Full disks, damaged and locked files, signals: one message, the exit code of the contract, nothing half written."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from archsim.base import writable
from archsim.base.errors import ConfigError
from archsim.lab.sweep.store import FILE
from tests.tools import weather
from tests.tools.weather import Case, called


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return weather.world(tmp_path_factory.mktemp("weather") / "world")


@pytest.fixture
def copy(world: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(world, tmp_path / "copy"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [c for c in weather.cases() if c.place != "noc --plot"], ids=lambda c: f"{c.place}, {c.weather}"
)
def test_one_message_and_nothing_half_written(case: Case, copy: Path) -> None:
    told = case.run(copy)
    assert case.complaints(told) == []
    assert not case.is_of_cache or told.out == case.calm(copy)
    assert [path for path in copy.rglob("*.part")] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("show", "chips"), ("run", "@model.csv", "--on", "@chip.yaml", "--format", "json")]
)
def test_a_full_standard_output(arguments: tuple[str, ...], world: Path) -> None:
    told = weather.stdout_full(*[text.replace("@", f"{world}/") for text in arguments])
    assert told.code == 2
    assert told.err.splitlines() == ["error: standard output: cannot be written (No space left on device)"]


@pytest.mark.slow
def test_what_was_changed_by_hand_is_worked_out_again(world: Path, copy: Path) -> None:
    """Any column of any row; the table is that of a sweep that nobody touched, and the next one says nothing."""
    changes = (
        "seconds = seconds + 1",
        "status = 'impossible'",
        "reason = 'x'",
        "sha256 = 'x'",
        "numbers = x'00'",
        "design = ''",
    )
    for change in changes:
        weather.edited(f"update rows set {change} where point = 2")(copy)
        code, _, err = called("sweep", str(copy / "sweep.yaml"), "--out", str(copy / "swept"), "--resume")
        assert code == 0 and err.count("was changed after it was written") == 1, change
    assert called("sweep", str(copy / "sweep.yaml"), "--out", str(copy / "swept"), "--resume")[2] == ""
    found, calm = (pd.read_parquet(place / "swept" / "results.parquet") for place in (copy, world))
    pd.testing.assert_frame_equal(found, calm)


@pytest.mark.slow
def test_a_sweep_goes_on_where_the_disk_was_full(world: Path, tmp_path: Path) -> None:
    arguments = ("sweep", str(world / "sweep.yaml"), "--out", str(tmp_path / "out"))
    with weather.index_full():
        assert called(*arguments)[0] == 2
    with weather.disk_full(99):
        assert called(*arguments, "--resume")[0] == 2
    assert not (tmp_path / "out" / "results.parquet").exists()
    with closing(sqlite3.connect(tmp_path / "out" / FILE)) as base:
        assert base.execute("select count(*) from rows").fetchone() == (4,)
    assert called(*arguments, "--resume")[0] == 0
    found, calm = (pd.read_parquet(p / "results.parquet") for p in (tmp_path / "out", world / "swept"))
    pd.testing.assert_frame_equal(found, calm)


def test_files_are_replaced_whole(tmp_path: Path) -> None:
    """Links stay links, closed files stay as they are, folders that were made for nothing go again."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("before")
    link.symlink_to(real)
    writable.write(link, "after")
    assert link.is_symlink() and real.read_text() == "after"
    assert writable.write(tmp_path / ("n" * 255), b"\x00").read_bytes() == b"\x00"
    with pytest.raises(ConfigError, match="Is a directory"):
        writable.write(tmp_path, "x")
    with weather.disk_full(), pytest.raises(ConfigError, match="No space left"):
        writable.write_all(tmp_path / "a" / "b", {"one": "1", "two": "2"})
    assert not (tmp_path / "a").exists()
    with weather.disk_full(1), pytest.raises(ConfigError):
        writable.write_all(tmp_path, {"real": "1", "two": "2"})
    assert real.read_text() == "after" and not (tmp_path / "two").exists()


def test_sigterm_is_an_interrupt_with_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from archsim.lab.files import show

    def stopped(_: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("went on")

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(show, "listing", stopped)
    assert called("show", "chips")[0] == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before

    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "listing", interrupted)
    assert called("show", "chips")[0] == 130
