"""Bytecode in the cache: used for the file that it was compiled from alone, and where it is whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from archsim.base import bytecode

STAMP = (1, 2, 3)
HOME = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that holds one module."""
    place = tmp_path / "store"
    store = bytecode.BytecodeStore(place, "tree")
    assert store.find("module", STAMP) is None
    store.keep("module", STAMP, compile("value = 7", "module.py", "exec"))
    store.write()
    return place


def test_what_was_kept_is_found_for_the_same_file(path: Path) -> None:
    found = bytecode.BytecodeStore(path, "tree").find("module", STAMP)
    assert found is not None and found.co_filename == "module.py"


def test_another_file_tree_or_module_has_none(path: Path) -> None:
    store = bytecode.BytecodeStore(path, "tree")
    assert store.find("module", (1, 2, 4)) is None and store.find("other", STAMP) is None
    assert bytecode.BytecodeStore(path, "another tree").find("module", STAMP) is None


def test_a_second_process_adds_to_it(path: Path) -> None:
    store = bytecode.BytecodeStore(path, "tree")
    store.keep("second", STAMP, compile("value = 8", "second.py", "exec"))
    store.write()
    found = bytecode.BytecodeStore(path, "tree")
    assert found.find("module", STAMP) is not None and found.find("second", STAMP) is not None


def test_a_damaged_byte_costs_the_entry_or_the_store(path: Path) -> None:
    """Wherever it lies: a module is compiled anew, and nothing else comes of it."""
    text = path.read_bytes()
    for at in range(len(text)):
        path.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
        found = bytecode.BytecodeStore(path, "tree").find("module", STAMP)
        assert found is None, at
    path.write_bytes(text[:9])
    assert bytecode.BytecodeStore(path, "tree").find("module", STAMP) is None


def test_what_is_damaged_is_not_written_again_as_sound(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])
    store = bytecode.BytecodeStore(path, "tree")
    store.keep("second", STAMP, compile("value = 8", "second.py", "exec"))
    store.write()
    found = bytecode.BytecodeStore(path, "tree")
    assert found.find("module", STAMP) is None and found.find("second", STAMP) is not None


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_file_that_others_can_write_is_not_read(path: Path) -> None:
    path.chmod(0o666)
    assert bytecode.BytecodeStore(path, "tree").find("module", STAMP) is None


@pytest.mark.slow
def test_a_process_without_bytecode_of_its_own_keeps_it_and_sees_changes(tmp_path: Path) -> None:
    """A module of the tree, changed between two processes, is the new one; caches that are off hold nothing."""
    made = "import archsim.base.made as found; print(found.value)"
    tree = tmp_path / "tree"
    for name in (
        "__init__",
        "base/__init__",
        "base/bytecode",
        "base/caches",
        "base/trust",
        "base/version",
        "base/whole_files",
    ):
        target = tree / "archsim" / f"{name}.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((HOME / "archsim" / f"{name}.py").read_text(encoding="utf-8"), encoding="utf-8")
    module, cache = tree / "archsim" / "base" / "made.py", tmp_path / "cache"
    env = {**os.environ, "PYTHONPATH": f"{tree}", "PYTHONDONTWRITEBYTECODE": "1", "ARCHSIM_CACHE": f"{cache}"}
    env.pop("ARCHSIM_NO_CACHE", None)

    def printed(**variables: str) -> str:
        asked = [sys.executable, "-c", made]
        done = subprocess.run(asked, env={**env, **variables}, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    module.write_text("value = 1\n", encoding="utf-8")
    assert printed(ARCHSIM_NO_CACHE="1") == "1" and not cache.exists()
    assert printed() == printed() == "1"
    assert len([*(cache / "bytecode").iterdir()]) == 1 and not [*tree.rglob("*.pyc")]
    module.write_text("value = 2\n", encoding="utf-8")
    assert printed() == "2"
