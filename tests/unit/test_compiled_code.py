"""Compiled code is read only from where nobody else can write, sealed, and found by its content."""

from __future__ import annotations

import importlib.util
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest

from archsim.base import caches, compiled, entries, sealed, trust
from archsim.base.compiled import _Files

SOURCE = "def twice(number):\n    return 2 * number\n"
NAME = "digest"
owned = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of folders")


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, in a process that was told nothing; the user's own cache and /tmp are elsewhere too."""
    root = tmp_path / "cache"
    monkeypatch.setattr(entries, "_told", {})
    monkeypatch.setenv(caches.FOLDER_VARIABLE, str(root))
    monkeypatch.delenv(caches.OFF_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield root
    sys.modules.pop("tools.doubling", None)


def kernel(clone: Path, folder: Path | None) -> Any:
    """The kernel of a source tree, as an import of it makes it."""
    clone.mkdir(exist_ok=True)
    (clone / "doubling.py").write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("tools.doubling", clone / "doubling.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[spec.name] = module
    made = numba.njit(module.twice)
    if folder is not None:
        made._cache = compiled.CompiledCache(made.py_func, folder)
    return made


def ran(clone: Path, folder: Path | None) -> tuple[int, int]:
    """(found in the cache, compiled) by a fresh kernel that is called once."""
    made = kernel(clone, folder)
    assert made(21) == 42
    return sum(made.stats.cache_hits.values()), sum(made.stats.cache_misses.values())


def own_place() -> Path:
    found = sealed.place(NAME)
    assert found is not None
    return found


def files(folder: Path, ending: str) -> list[Path]:
    return sorted(folder.rglob(f"*.{ending}"))


class Planted:
    """A pickle that leaves a trace when it is opened."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


def test_a_second_clone_finds_what_the_first_has_compiled(tmp_path: Path) -> None:
    folder = own_place()
    assert ran(tmp_path / "one", folder) == (0, 1)
    assert ran(tmp_path / "one", folder) == (1, 0)
    assert ran(tmp_path / "two", folder) == (1, 0)
    (other,) = files(folder, "nbi")
    assert other.parent.name == "tools" and other.name.startswith("doubling.twice-")


def test_other_sources_are_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = own_place()
    ran(tmp_path / "one", folder)
    monkeypatch.setitem(globals(), "SOURCE", SOURCE.replace("2 * number", "number + 21"))
    assert ran(tmp_path / "two", folder) == (0, 1)


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "planted", "another's"])
def test_damaged_files_are_compiled_again_with_one_warning(
    ending: str, damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """None of them is unpickled: not even what was planted in a folder that is the user's own."""
    folder = own_place()
    ran(tmp_path / "one", folder)
    (file,) = files(folder, ending)
    right, trace = file.read_bytes(), tmp_path / "trace"
    wrong = {
        "cut": right[:-1],
        "bit": right[:-1] + bytes([right[-1] ^ 1]),
        "empty": b"",
        "planted": pickle.dumps(Planted(trace)),
        "another's": files(folder, "nbc" if ending == "nbi" else "nbi")[0].read_bytes(),
    }
    file.write_bytes(wrong[damage])
    assert ran(tmp_path / "one", folder) == (0, 1)
    told = capsys.readouterr().err
    assert told.count("warning:") == 1 and str(file) in told and "compiled again" in told
    assert not trace.exists() and ran(tmp_path / "one", folder) == (1, 0)


@owned
@pytest.mark.parametrize("loose", ["cache", "cache/numba", f"cache/numba/{NAME}"])
def test_a_planted_pickle_in_a_folder_of_all_is_not_opened(
    loose: str, tmp_path: Path, cached: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sealed as ours are, under the name of ours: whatever folder above it is the loose one."""
    folder, trace = own_place(), tmp_path / "trace"
    ran(tmp_path / "one", folder)
    planted = pickle.dumps(Planted(trace))
    for file in [*files(folder, "nbi"), *files(folder, "nbc")]:
        file.write_bytes(sealed.sealed(file.name, planted))
    (tmp_path / loose).chmod(0o777)
    place = own_place()
    assert place.is_relative_to(tmp_path / "home") and stat.S_IMODE(place.stat().st_mode) & 0o022 == 0
    assert ran(tmp_path / "one", place) == (0, 1) and not trace.exists()
    assert own_place() == place and ran(tmp_path / "one", place) == (1, 0)
    told = capsys.readouterr().err
    assert told.count("warning:") == 1 and f"others may write to {tmp_path / loose}" in told and str(place) in told
    (tmp_path / loose).chmod(0o755)  # the trap works: where it is trusted it springs
    ran(tmp_path / "one", folder)
    assert trace.is_dir()


@owned
def test_a_file_that_others_may_write_is_not_opened(tmp_path: Path) -> None:
    folder = own_place()
    ran(tmp_path / "one", folder)
    (file,) = files(folder, "nbc")
    file.chmod(0o666)
    assert ran(tmp_path / "one", folder) == (0, 1) and "others may write to" in entries.told()[0]
    file.unlink()
    (tmp_path / "elsewhere").write_bytes(b"")
    file.symlink_to(tmp_path / "elsewhere")
    assert ran(tmp_path / "one", folder) == (0, 1)


@owned
def test_whose_folders_are_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    assert trust.distrust(inner) == ""
    inner.parent.chmod(0o777)
    assert trust.distrust(inner) == f"others may write to {inner.parent}"
    inner.parent.chmod(0o1777)  # as /tmp: others cannot rename what is the user's
    assert trust.distrust(inner) == "" and trust.distrust(inner.parent) != ""
    inner.chmod(0o1777)
    assert trust.distrust(inner) == f"others may write to {inner}"
    inner.chmod(0o755)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    told = trust.distrust(inner)
    assert told == ("" if user == 0 else f"{inner} belongs to another user ({user})")


@owned
def test_a_group_of_the_users_own_is_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import grp
    import pwd
    from types import SimpleNamespace

    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o775)
    group = folder.stat().st_gid
    user = SimpleNamespace(pw_name="ada", pw_gid=group)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: user)
    for name, members, trusted in (("ada", ["ada"], True), ("ada", ["bob"], False), ("staff", [], False)):
        found = SimpleNamespace(gr_name=name, gr_mem=members)
        monkeypatch.setattr(grp, "getgrgid", lambda gid, found=found: found)
        assert (trust.distrust(folder) == "") is trusted


def test_what_cannot_be_kept_costs_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = own_place()

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)
    assert ran(tmp_path / "one", folder) == (0, 1)
    told = capsys.readouterr().err
    assert told.count("warning:") == 1 and "No space left on device" in told
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_without_any_folder_kernels_are_compiled_in_memory(
    tmp_path: Path, cached: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("cache", "home", f"archsim-{os.geteuid() if hasattr(os, 'geteuid') else ''}".rstrip("-")):
        (tmp_path / name).write_text("a file")
    assert sealed.place(NAME) is None
    told = capsys.readouterr().err
    assert told.count("warning:") == 1 and "anew in every process" in told
    assert ran(tmp_path / "one", None) == (0, 1)


def test_files_of_all_functions_are_warned_of_by_their_common_folder() -> None:
    root: Any = _Files._root
    assert root.fget(SimpleNamespace(_cache_path="/cache/numba/one")) == Path("/cache/numba")
    assert root.fget(SimpleNamespace(_cache_path="/cache/numba/two")) == Path("/cache/numba")
