"""Where results cannot go is said before the work."""

from __future__ import annotations

from errno import EACCES
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.base.writable import check_directory, check_file


def test_outputs_are_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they cannot be written, whatever the user may do; nothing is made by asking."""
    check_directory(tmp_path / "new" / "deeper")
    check_file(tmp_path / "map.yaml")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "taken").write_text("x")
    with pytest.raises(ConfigError, match=r"taken/deeper: cannot be written \(Not a directory\)"):
        check_directory(tmp_path / "taken" / "deeper")
    with pytest.raises(ConfigError, match=r"cannot be written \(Is a directory\)"):
        check_file(tmp_path)
    with pytest.raises(ConfigError, match=r"map.yaml: cannot be written \(No such file or directory\)"):
        check_file(tmp_path / "none" / "map.yaml")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(ConfigError, match=r"new: cannot be written \(Permission denied\)"):
        check_directory(tmp_path / "new")
    with pytest.raises(ConfigError, match=r"taken: cannot be written \(Permission denied\)"):
        check_file(tmp_path / "taken")


def test_what_cannot_be_asked_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name beyond what the system takes, and a parent that may not be searched."""
    for check in (check_directory, check_file):
        with pytest.raises(ConfigError, match=r"cannot be written \(File name too long\)"):
            check(tmp_path / ("n" * 300))

    def closed(_: Path, **__: object) -> None:
        raise PermissionError(EACCES, "Permission denied")

    monkeypatch.setattr(Path, "stat", closed)
    for check in (check_directory, check_file):
        with pytest.raises(ConfigError, match=r"new: cannot be written \(Permission denied\)"):
            check(tmp_path / "new")
