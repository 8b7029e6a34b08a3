"""Where results cannot go is said before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.errors import ConfigError
from archsim.outputs import check_directory, check_file


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
